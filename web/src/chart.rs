//! The chart under the timeline: one measure over the steps of the runs. The runs are gone through
//! once, in slices; after that neither a step nor another width looks at them again.

use crate::session::Session;
use crate::state::State;
use folioscope_core::scene::chart::{draw, most, value};
use folioscope_core::trace::curve::{Curves, Measure};
use gloo_timers::callback::Timeout;
use yew::AttrValue;

/// Milliseconds that a slice may take.
const SLICE: f64 = 7.0;
/// Moments between two looks at the clock.
const STEP: usize = 256;
/// Height of the chart in pixels.
pub(crate) const TALL: u32 = 44;

/// What a viewer may ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// This measure is drawn, or none.
    Choose(Option<Measure>),
    /// What is under way goes on.
    Work,
}

/// What is drawn.
#[derive(Default)]
pub(crate) struct Chart {
    pub(crate) measure: Option<Measure>,
    curves: Option<Curves>,
    timer: Option<Timeout>,
    drawn: Option<(u32, Measure, bool)>,
    markup: AttrValue,
}

impl Chart {
    /// Height that it takes under the strip.
    pub(crate) fn height(&self) -> u32 {
        if self.measure.is_some() { TALL } else { 0 }
    }
    /// The curves, once all of the runs was looked at.
    pub(crate) fn whole(&self) -> Option<&Curves> {
        self.curves.as_ref().filter(|curves| curves.done())
    }
    /// Whether the runs have to be gone through, or to the end.
    pub(crate) fn works(&self) -> bool {
        self.measure.is_some() && self.whole().is_none()
    }
    /// Goes on for so many moments.
    pub(crate) fn work(&mut self, session: &Session, moments: usize) {
        let (way, runs) = (session.way(), session.timelines());
        let curves = self.curves.get_or_insert_with(|| Curves::new(way, &runs));
        curves.advance(way, &runs, moments);
    }
    /// Draws it anew if anything on it changed.
    pub(crate) fn draw(&mut self, width: u32) {
        let (Some(measure), Some(curves)) = (self.measure, &self.curves) else { return };
        let wanted = Some((width, measure, curves.done()));
        if self.drawn != wanted && curves.done() {
            self.markup = AttrValue::from(draw(curves, measure, width, TALL));
            self.drawn = wanted;
        }
    }
    /// It as SVG.
    pub(crate) fn markup(&self) -> AttrValue {
        self.markup.clone()
    }
    /// Runs change places.
    pub(crate) fn swap(&mut self) {
        if let Some(curves) = &mut self.curves {
            curves.swap();
        }
        self.drawn = None;
    }
    /// The values of the moment that is shown, and the greatest of all: `A 64 KiB · B 4 KiB, 64
    /// KiB at most`.
    pub(crate) fn says(&self, session: &Session) -> String {
        let Some(measure) = self.measure else { return String::new() };
        let Some(curves) = self.whole() else { return "looking\u{2026}".to_owned() };
        let now = session.runs().iter().enumerate().map(|(at, run)| {
            let now = value(measure, measure.of(run.timeline().model()));
            format!("{} {now}", session.label(at)).trim_start().to_owned()
        });
        let now: Vec<String> = now.collect();
        format!("{}, {} at most", now.join(" \u{b7} "), value(measure, most(curves, measure)))
    }
}

/// Does what is asked for.
pub(crate) fn update(state: &mut State, ask: Ask) {
    if let Ask::Choose(measure) = ask {
        state.chart.measure = measure;
        (state.chart.drawn, state.chart.markup) = (None, AttrValue::default());
    }
    state.chart.timer = None;
}

/// Goes on for a slice if there is anything to do, and sees to it that the next slice comes.
pub(crate) fn tend(state: &mut State, width: u32, again: impl FnOnce() + 'static) {
    let State { chart, session, .. } = state;
    if chart.works() && chart.timer.is_none() {
        let end = js_sys::Date::now() + SLICE;
        while chart.works() {
            chart.work(session, STEP);
            if js_sys::Date::now() >= end {
                break;
            }
        }
        chart.timer = chart.works().then(|| Timeout::new(0, again));
    }
    chart.draw(width);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson;

    #[test]
    fn the_chart_of_the_lesson_says_what_its_runs_hold() {
        let (mut session, lesson) = lesson::open(lesson::FIRST);
        let mut chart = Chart { measure: Some(Measure::Wasted), ..Chart::default() };
        while chart.works() {
            chart.work(&session, 50);
        }
        session.go(0);
        assert_eq!(chart.says(&session), "A 0 B \u{b7} B 0 B, 1.4 MiB at most");
        session.go(lesson.told.stops[4].at);
        assert_eq!(chart.says(&session), "A 1.4 MiB \u{b7} B 0 B, 1.4 MiB at most");
        chart.draw(600);
        assert!(chart.markup().contains("carea waste"));
    }
}
