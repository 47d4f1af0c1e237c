//! Going through whole runs, a slice at a time, for a host that must not wait.

use super::condition::Watch;
use super::words::Words;
use super::{Event, Query, State};
use crate::trace::align::Alignment;
use crate::trace::model::Model;
use crate::trace::timeline::Timeline;

/// A way through one run from its start, that tells of each step whether it fits a query.
#[derive(Debug)]
pub struct Sweep {
    looks: Looks,
    position: usize,
}

/// How steps are looked at.
#[derive(Debug)]
enum Looks {
    Words(Words),
    Event(Event),
    State { model: Box<Model>, watches: Vec<Watch>, held: bool },
}

impl Sweep {
    /// Stands before the first step of this run.
    pub fn new(query: &Query, timeline: &Timeline) -> Self {
        let looks = match query {
            Query::Text(text) => Looks::Words(Words::new(text)),
            Query::Event(event) => Looks::Event(*event),
            Query::State(State(conditions)) => {
                let model = Box::new(Model::new(timeline.header().geometry));
                let watches: Vec<Watch> =
                    conditions.iter().map(|one| Watch::new(one, timeline, &model)).collect();
                let held = watches.iter().all(|watch| watch.holds(&model));
                Looks::State { model, watches, held }
            }
        };
        Self { looks, position: 0 }
    }
    /// Takes the next step; whether it fits. Nothing fits behind the end.
    pub fn step(&mut self, timeline: &Timeline) -> bool {
        if self.position >= timeline.len() {
            return false;
        }
        let at = self.position;
        self.position += 1;
        match &mut self.looks {
            Looks::Words(words) => words.fit(timeline.recording().step(at)),
            Looks::Event(event) => event.is(timeline.recording().step(at)),
            Looks::State { model, watches, held } => {
                let deltas = timeline.recording().deltas(at);
                for watch in &mut *watches {
                    watch.before(model, deltas);
                }
                for delta in deltas {
                    model.apply(delta).expect("the trace was checked as a whole");
                }
                for watch in &mut *watches {
                    watch.after(model);
                }
                let holds = watches.iter().all(|watch| watch.holds(model));
                let began = holds && !*held;
                *held = holds;
                began
            }
        }
    }
}

/// A moment of the common way that fits, and in which runs it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// Index of the moment.
    pub at: u32,
    /// For each run, A first, whether it fits there.
    pub sides: [bool; 2],
}

/// A search of all runs on a stage along their common way.
#[derive(Debug)]
pub struct Hunt {
    sweeps: Vec<Sweep>,
    at: usize,
    found: Vec<Found>,
}

impl Hunt {
    /// Stands at the start of the runs.
    pub fn new(query: &Query, runs: &[&Timeline]) -> Self {
        let runs = runs.iter().take(2);
        let sweeps = runs.map(|timeline| Sweep::new(query, timeline)).collect();
        Self { sweeps, at: 0, found: Vec::new() }
    }
    /// Goes on for so many moments; whether it has come to the end. The runs are those that it
    /// began with.
    pub fn advance(&mut self, way: &Alignment, runs: &[&Timeline], moments: usize) -> bool {
        let end = (self.at + moments).min(way.last());
        for at in self.at + 1..=end {
            let moved = way.moment(at).moved;
            let mut sides = [false; 2];
            for (side, (sweep, timeline)) in self.sweeps.iter_mut().zip(runs).enumerate() {
                sides[side] = moved[side] && sweep.step(timeline);
            }
            if sides != [false; 2] {
                self.found.push(Found { at: at as u32, sides });
            }
        }
        self.at = end;
        end == way.last()
    }
    /// The last moment that was looked at.
    pub const fn reached(&self) -> usize {
        self.at
    }
    /// What fits so far, in order.
    pub fn found(&self) -> &[Found] {
        &self.found
    }
    /// The nearest that fits behind a moment, or before it.
    pub fn nearest(&self, from: usize, forward: bool) -> Option<usize> {
        let at = if forward {
            self.found.partition_point(|found| found.at as usize <= from)
        } else {
            self.found.partition_point(|found| (found.at as usize) < from).checked_sub(1)?
        };
        self.found.get(at).map(|found| found.at as usize)
    }
    /// Which of those found stands at a moment, counted from 0.
    pub fn number(&self, at: usize) -> Option<usize> {
        self.found.binary_search_by_key(&at, |found| found.at as usize).ok()
    }
    /// Runs change places.
    pub fn swap(&mut self) {
        self.sweeps.reverse();
        for found in &mut self.found {
            found.sides.reverse();
        }
    }
}
