//! Finding a step: by the words of its sentence, or by what holds in the state after it.
//!
//! A query about the state finds where it *begins* to hold, so that asking again goes on to the
//! next time and does not stop at every step in between. Going through a trace costs one fold of
//! it; what a query asks for is kept up to date from the changes of each step and never counted
//! anew.

mod blocks;
mod condition;
mod event;
mod parse;
mod sweep;
mod words;

use crate::trace::delta::Delta;
use crate::trace::model::Model;
use crate::trace::step::Step;
use crate::trace::timeline::Timeline;
use condition::Watch;
pub use event::Event;
pub use parse::QueryError;
pub use sweep::{Found, Hunt, Sweep};
use words::Words;

/// What is looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Query {
    /// Words, in small letters, that a step's function or sentence contains.
    Text(String),
    /// A step of this kind.
    Event(Event),
    /// What is to hold, all of it.
    State(State),
}

/// Conditions that hold together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State(Vec<condition::Condition>);

impl Query {
    /// Reads a query. What begins like a question about the state is one; all else is text.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        parse::query(text)
    }
    /// The nearest position behind `from` that fits, or before it; none if there is none. A
    /// position is a number of applied steps: the step that fits is the one before.
    pub fn find(&self, timeline: &Timeline, from: usize, forward: bool) -> Option<usize> {
        let from = from.min(timeline.len());
        match self {
            Self::Text(text) => {
                let mut words = Words::new(text);
                find_step(timeline, |step| words.fit(step), from, forward)
            }
            Self::Event(event) => find_step(timeline, |step| event.is(step), from, forward),
            Self::State(State(conditions)) => {
                let model = timeline.model_at(from);
                let watches =
                    conditions.iter().map(|one| Watch::new(one, timeline, &model)).collect();
                let walk = Walk { timeline, model, watches, position: from };
                if forward { walk.forward() } else { walk.back() }
            }
        }
    }
}

fn find_step(
    timeline: &Timeline,
    mut fits: impl FnMut(&Step) -> bool,
    from: usize,
    forward: bool,
) -> Option<usize> {
    let fits = |position: &usize| fits(timeline.recording().step(position - 1));
    if forward { (from + 1..=timeline.len()).find(fits) } else { (1..from).rev().find(fits) }
}

/// A way through a trace with what is watched.
struct Walk<'a> {
    timeline: &'a Timeline,
    model: Model,
    watches: Vec<Watch>,
    position: usize,
}

impl Walk<'_> {
    fn holds(&self) -> bool {
        self.watches.iter().all(|watch| watch.holds(&self.model))
    }
    fn step(&mut self, forward: bool) {
        let at = if forward { self.position } else { self.position - 1 };
        let deltas = self.timeline.recording().deltas(at);
        self.watches.iter_mut().for_each(|watch| watch.before(&self.model, deltas));
        let mut apply =
            |delta: &Delta| self.model.apply(delta).expect("the trace was checked as a whole");
        if forward {
            deltas.iter().for_each(&mut apply);
        } else {
            deltas.iter().rev().for_each(|delta| apply(&delta.inverse()));
        }
        self.watches.iter_mut().for_each(|watch| watch.after(&self.model));
        self.position = if forward { at + 1 } else { at };
    }
    fn forward(mut self) -> Option<usize> {
        let mut held = self.holds();
        while self.position < self.timeline.len() {
            self.step(true);
            let holds = self.holds();
            if holds && !held {
                return Some(self.position);
            }
            held = holds;
        }
        None
    }
    fn back(mut self) -> Option<usize> {
        // Where it holds now, it began to do so here or before: that is not before this place.
        let mut later = None;
        while self.position > 0 {
            self.step(false);
            match (self.holds(), later) {
                (false, Some(began)) => return Some(began),
                (true, _) => later = Some(self.position),
                (false, None) => {}
            }
        }
        later
    }
}

#[cfg(test)]
mod tests;
