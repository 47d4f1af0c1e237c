//! Finding moments: what is searched for, what play is to stop at, and moments that were marked.
//!
//! A search goes through the runs in slices, so that the page answers meanwhile; a new search, or
//! other runs, end it. Everything here is kept in the state and knows no browser but for the timer
//! between two slices.

use crate::session::Session;
use crate::state::State;
use core::fmt::Write as _;
use folioscope_core::link::{MOST_MARKS as MOST, Place};
use folioscope_core::search::{Event, Hunt, Query, QueryError};
use folioscope_core::sort::sort_by_key;
use gloo_timers::callback::Timeout;
use yew::{AttrValue, NodeRef};

/// Milliseconds that a slice may take.
const SLICE: f64 = 7.0;
/// Milliseconds between two tellings of a count that grows.
const REST: f64 = 100.0;
/// Moments between two looks at the clock.
const STEP: usize = 256;

/// Places of a search that are drawn before it has come to its end.
const LONG: usize = 20_000;

/// Queries to begin with, each of another kind.
pub(crate) const EXAMPLES: [&str; 6] = [
    "submit_bio",
    "dirty > 64k",
    "block 21 clean",
    "any bio crosses a stripe",
    "event flush",
    "bios > 1",
];

/// What a viewer may ask for.
#[derive(Clone, PartialEq, Debug)]
pub enum Ask {
    /// The panel opens, or closes.
    Open(bool),
    /// This is searched for.
    Type(String),
    /// The next that fits, or the one before.
    Next(bool),
    /// Jumps are between steps of this kind.
    Event(Event),
    /// The next such step, or the one before.
    Jump(bool),
    /// Play stops where what is searched for fits.
    Stop,
    /// Play stops there no more.
    Unstop(usize),
    /// This moment is marked, or its mark goes.
    Mark,
    /// The next moment that is marked.
    NextMark,
    /// A mark goes.
    Unmark(usize),
    /// The searches that are under way go on.
    Work,
}

/// Keys for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// The panel opens.
    Open,
    /// The next that fits, or the one before.
    Next(bool),
    /// The next step of a kind, or the one before.
    Jump(bool),
    /// This moment is marked.
    Mark,
    /// The next mark.
    NextMark,
}

impl From<Key> for Ask {
    fn from(key: Key) -> Self {
        match key {
            Key::Open => Self::Open(true),
            Key::Next(forward) => Self::Next(forward),
            Key::Jump(forward) => Self::Jump(forward),
            Key::Mark => Self::Mark,
            Key::NextMark => Self::NextMark,
        }
    }
}

/// A query and how far it was looked for.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) text: String,
    hunt: Hunt,
    done: bool,
}

impl Job {
    fn new(text: &str, query: &Query, session: &Session) -> Self {
        let hunt = Hunt::new(query, &session.timelines());
        Self { text: text.trim().to_owned(), hunt, done: false }
    }
    /// How many moments fit, so far.
    pub(crate) fn count(&self) -> usize {
        self.hunt.found().len()
    }
    /// Whether the whole way was looked at.
    pub(crate) const fn done(&self) -> bool {
        self.done
    }
    /// Which of those that fit a moment is, from 1.
    pub(crate) fn number(&self, at: usize) -> Option<usize> {
        self.hunt.number(at).map(|number| number + 1)
    }
}

/// A moment that was marked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    pub(crate) at: usize,
    pub(crate) words: String,
}

/// Whether play goes on from one moment to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Halt {
    /// It does.
    No,
    /// Nobody has looked yet.
    Unknown,
    /// It stops here, because of this.
    At(usize, String),
}

/// What is found, and looked for.
pub(crate) struct Find {
    pub(crate) open: bool,
    pub(crate) text: String,
    pub(crate) error: Option<QueryError>,
    pub(crate) search: Option<Job>,
    pub(crate) stops: Vec<Job>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) event: Event,
    /// The field, and whether it is to have the focus.
    pub(crate) field: NodeRef,
    focus: bool,
    /// Where the viewer wants to go once it is known.
    wanted: Option<bool>,
    timer: Option<Timeout>,
    /// When the count was told last, in milliseconds.
    told: f64,
    /// How often anything changed that the band shows.
    changes: u64,
    /// The width it was drawn for, and after how many changes.
    band: (u32, u64, AttrValue),
}

impl Default for Find {
    fn default() -> Self {
        Self {
            open: false,
            text: String::new(),
            error: None,
            search: None,
            stops: Vec::new(),
            marks: Vec::new(),
            event: Event::Bio,
            field: NodeRef::default(),
            focus: false,
            wanted: None,
            timer: None,
            told: 0.0,
            changes: 1,
            band: (0, 0, AttrValue::from("")),
        }
    }
}

impl Find {
    /// Does what is asked for; returns the moment to go to.
    pub(crate) fn ask(&mut self, session: &Session, ask: Ask) -> Option<usize> {
        let at = session.at();
        self.changes += u64::from(ask != Ask::Work);
        match ask {
            Ask::Open(open) => {
                (self.open, self.focus) = (open, open);
                if !open {
                    self.wanted = None;
                }
            }
            Ask::Type(text) => self.look_for(session, text),
            Ask::Next(forward) => {
                self.wanted = self.search.is_some().then_some(forward);
                return self.wanted(at);
            }
            Ask::Event(event) => self.event = event,
            Ask::Jump(forward) => return self.jump(session, forward),
            Ask::Stop => self.stop(session),
            Ask::Unstop(which) => {
                if which < self.stops.len() {
                    self.stops.remove(which);
                }
            }
            Ask::Mark => self.mark(session),
            Ask::NextMark => {
                let next = self.marks.iter().find(|mark| mark.at > at);
                return next.or_else(|| self.marks.first()).map(|mark| mark.at);
            }
            Ask::Unmark(which) => {
                if which < self.marks.len() {
                    self.marks.remove(which);
                }
            }
            Ask::Work => return self.wanted(at),
        }
        None
    }
    fn look_for(&mut self, session: &Session, text: String) {
        (self.search, self.error, self.wanted) = (None, None, None);
        if !text.trim().is_empty() {
            match Query::parse(&text) {
                Ok(query) => self.search = Some(Job::new(&text, &query, session)),
                Err(error) => self.error = Some(error),
            }
        }
        self.text = text;
    }
    /// Where the viewer wants to go, if that is known by now.
    fn wanted(&mut self, at: usize) -> Option<usize> {
        let (forward, job) = (self.wanted?, self.search.as_ref()?);
        let found = if forward {
            let end = job.done.then_some(0);
            job.hunt.nearest(at, true).or_else(|| job.hunt.nearest(end?, true))
        } else if job.done || job.hunt.reached() >= at {
            let back = job.hunt.nearest(at, false);
            back.or_else(|| job.hunt.nearest(usize::MAX, false).filter(|_| job.done))
        } else {
            None
        };
        if found.is_some() || job.done {
            self.wanted = None;
        }
        found
    }
    fn jump(&self, session: &Session, forward: bool) -> Option<usize> {
        let (at, last) = (session.at(), session.way().last());
        let fits = |at: &usize| {
            let steps = session.steps_at(*at);
            steps.into_iter().flatten().any(|step| self.event.is(step))
        };
        if forward { (at + 1..=last).find(fits) } else { (1..at).rev().find(fits) }
    }
    fn stop(&mut self, session: &Session) {
        let known = |job: &Job| job.text == self.text.trim();
        if self.stops.len() < MOST
            && !self.stops.iter().any(known)
            && let Ok(query) = Query::parse(&self.text)
        {
            self.stops.push(Job::new(&self.text, &query, session));
        }
    }
    fn mark(&mut self, session: &Session) {
        let at = session.at();
        match self.marks.binary_search_by_key(&at, |mark| mark.at) {
            Ok(which) => {
                self.marks.remove(which);
            }
            Err(which) if self.marks.len() < MOST => {
                self.marks.insert(which, Mark { at, words: session.place() });
            }
            Err(_) => {}
        }
    }
    /// Whether play goes on behind `from` up to `to`.
    pub(crate) fn halt(&self, from: usize, to: usize) -> Halt {
        let hits = self.stops.iter().filter_map(|job| Some((job.hunt.nearest(from, true)?, job)));
        let first = hits.filter(|(at, _)| *at <= to).min_by_key(|(at, _)| *at);
        // What nobody has looked at may hold an earlier one.
        let end = first.as_ref().map_or(to, |(at, _)| *at);
        if self.stops.iter().any(|job| !job.done && job.hunt.reached() < end) {
            return Halt::Unknown;
        }
        first.map_or(Halt::No, |(at, job)| Halt::At(at, job.text.clone()))
    }
    /// Whether there is something to tell: after a slice of work only now and then.
    pub(crate) fn tells(&mut self, work: bool) -> bool {
        let now = js_sys::Date::now();
        let tells = !work || !self.works() || now - self.told >= REST;
        if tells {
            self.told = now;
        }
        tells
    }
    /// Whether any search has not come to its end.
    pub(crate) fn works(&self) -> bool {
        self.search.iter().chain(&self.stops).any(|job| !job.done)
    }
    /// Goes on with the first search that has not come to its end, for so many moments.
    pub(crate) fn work(&mut self, session: &Session, moments: usize) {
        let job = self.search.iter_mut().chain(&mut self.stops).find(|job| !job.done);
        if let Some(job) = job {
            let before = job.count();
            job.done = job.hunt.advance(session.way(), &session.timelines(), moments);
            self.changes += u64::from(job.done || job.count() > before);
        }
    }
    /// What was searched for, stopped at and marked, in other runs: `moved` tells where a moment of
    /// before is now.
    #[must_use]
    pub(crate) fn in_other_runs(self, session: &Session, moved: impl Fn(usize) -> usize) -> Self {
        let mut find = Self { open: self.open, event: self.event, ..Self::default() };
        for stop in self.stops {
            find.text = stop.text;
            find.stop(session);
        }
        find.look_for(session, self.text);
        find.marks = self.marks;
        for mark in &mut find.marks {
            mark.at = moved(mark.at);
        }
        sort_by_key(&mut find.marks, |mark| mark.at);
        find.marks.dedup_by_key(|mark| mark.at);
        find
    }
    /// Sets up what a link names; what the runs do not have any more is left out.
    pub(crate) fn arrive(&mut self, session: &mut Session, stops: &[String], marks: &[Place]) {
        for stop in stops {
            self.text.clone_from(stop);
            self.stop(session);
        }
        self.text.clear();
        for mark in marks {
            if let (at, true) = session.find(*mark) {
                session.go(at);
                self.mark(session);
            }
        }
    }
    /// Runs change places.
    pub(crate) fn swap(&mut self) {
        for job in self.search.iter_mut().chain(&mut self.stops) {
            job.hunt.swap();
        }
        self.changes += 1;
    }
    /// Gives the field the focus if it was asked for.
    pub(crate) fn rendered(&mut self) {
        if core::mem::take(&mut self.focus)
            && let Some(field) = self.field.cast::<web_sys::HtmlInputElement>()
        {
            let _ = field.focus();
            field.select();
        }
    }

    /// Whether the band over the strip shows anything.
    pub(crate) fn has_band(&self) -> bool {
        self.search.is_some() || !self.stops.is_empty() || !self.marks.is_empty()
    }
    /// Draws the band anew if anything on it changed.
    pub(crate) fn draw(&mut self, last: usize, width: u32) {
        // A long list is drawn once, when it is whole.
        let grows = self.works() && self.search.as_ref().is_some_and(|job| job.count() > LONG);
        if !grows && (self.band.0, self.band.1) != (width, self.changes) {
            self.band = (width, self.changes, AttrValue::from(self.markup(last, width)));
        }
    }
    /// The band.
    pub(crate) fn band(&self) -> AttrValue {
        self.band.2.clone()
    }
    fn markup(&self, last: usize, width: u32) -> String {
        let mut out = format!(
            "<svg width=\"{width}\" height=\"{BAND}\" viewBox=\"0 0 {width} {BAND}\" aria-hidden=\"true\">"
        );
        let x = |at: usize| {
            let room = u64::from(width.saturating_sub(3));
            (at as u64 * room / last.max(1) as u64) as u32 + 1
        };
        let found = |job: &Job| -> Vec<u32> {
            let mut all: Vec<u32> =
                job.hunt.found().iter().map(|found| x(found.at as usize)).collect();
            all.dedup();
            all
        };
        let mut path = |class: &str, places: &[u32], shape: &str| {
            let mut all = String::new();
            for x in places {
                write!(all, "M{x} {shape}").expect("a String takes everything");
            }
            if !all.is_empty() {
                write!(out, "<path class=\"{class}\" d=\"{all}\"/>")
                    .expect("a String takes everything");
            }
        };
        if let Some(job) = &self.search {
            path("bfound", &found(job), "4v6");
        }
        for job in &self.stops {
            path("bstop", &found(job), "2l4 4-4 4-4-4z");
        }
        let marks: Vec<u32> = self.marks.iter().map(|mark| x(mark.at)).collect();
        path("bmark", &marks, "10v-10h6l-2 3 2 3h-6z");
        out + "</svg>"
    }
}

/// Height of the band in pixels.
pub(crate) const BAND: u32 = 11;

/// Does what is asked for, goes on with searches for a slice, and sees to it that the next slice
/// comes; returns the moment to go to.
pub(crate) fn update(
    State { find, session, said, .. }: &mut State,
    ask: Ask,
    again: impl FnOnce() + 'static,
) -> Option<usize> {
    let asked = matches!(ask, Ask::Next(_));
    let mut go = find.ask(session, ask);
    let end = js_sys::Date::now() + SLICE;
    while find.works() {
        find.work(session, STEP);
        if js_sys::Date::now() >= end {
            break;
        }
    }
    go = go.or_else(|| find.ask(session, Ask::Work));
    if asked && go.is_none() && find.search.as_ref().is_some_and(|job| job.done) {
        "Nothing is found".clone_into(said);
    }
    find.timer = find.works().then(|| Timeout::new(0, again));
    go
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson;

    fn session() -> Session {
        lesson::open(lesson::FIRST).0
    }
    fn finish(find: &mut Find, session: &Session) {
        while find.works() {
            find.work(session, 100);
        }
    }
    fn typed(text: &str, session: &Session) -> Find {
        let mut find = Find::default();
        find.ask(session, Ask::Type(text.to_owned()));
        finish(&mut find, session);
        find
    }

    #[test]
    fn what_is_found_is_walked_through_and_begins_again() {
        let mut session = session();
        let mut find = typed("device_flushes > 0", &session);
        assert_eq!(find.search.as_ref().map(Job::count), Some(1));
        let at = find.ask(&session, Ask::Next(true)).expect("there is one");
        session.go(at);
        assert_eq!(find.search.as_ref().and_then(|job| job.number(at)), Some(1));
        assert_eq!(find.ask(&session, Ask::Next(true)), Some(at));
        assert_eq!(find.ask(&session, Ask::Next(false)), Some(at));
        let mut find = typed("submit_bio", &session);
        session.go(0);
        let mut last = 0;
        for number in 1..=find.search.as_ref().map_or(0, Job::count) {
            let at = find.ask(&session, Ask::Next(true)).expect("there is one more");
            assert!(at > last);
            assert_eq!(find.search.as_ref().and_then(|job| job.number(at)), Some(number));
            session.go(at);
            last = at;
        }
        session.go(0);
        assert_eq!(find.ask(&session, Ask::Next(false)), Some(last));
    }

    #[test]
    fn whoever_cannot_wait_is_taken_there_once_it_is_known() {
        let session = session();
        let mut find = Find::default();
        find.ask(&session, Ask::Type("device_flushes > 3".to_owned()));
        assert_eq!(find.ask(&session, Ask::Next(true)), None);
        finish(&mut find, &session);
        assert!(find.ask(&session, Ask::Work).is_some());
        assert_eq!(find.ask(&session, Ask::Work), None, "once");
        assert_eq!(typed("no such words", &session).ask(&session, Ask::Next(true)), None);
    }

    #[test]
    fn examples_are_queries_that_find_something_or_could() {
        let session = session();
        for text in EXAMPLES {
            let find = typed(text, &session);
            assert_eq!(find.error, None, "{text}");
        }
        assert!(typed("block 7 red", &session).error.is_some_and(|error| error.column == 9));
        assert!(typed("  ", &session).error.is_none());
    }

    #[test]
    fn play_stops_where_a_condition_begins_to_hold_and_not_before_that_is_known() {
        let session = session();
        let mut find = typed("event flush", &session);
        find.ask(&session, Ask::Stop);
        find.ask(&session, Ask::Stop);
        assert_eq!(find.stops.len(), 1, "twice is once");
        assert_eq!(find.halt(0, 10), Halt::Unknown);
        finish(&mut find, &session);
        let last = session.way().last();
        let Halt::At(at, text) = find.halt(0, last) else { panic!("no stop") };
        assert_eq!(text, "event flush");
        assert_eq!(find.halt(0, at - 1), Halt::No);
        assert!(matches!(find.halt(at, last), Halt::At(next, _) if next > at));
        find.ask(&session, Ask::Unstop(0));
        assert_eq!(find.halt(0, last), Halt::No);
    }

    #[test]
    fn marks_are_kept_in_order_and_jumped_between() {
        let mut session = session();
        let mut find = Find::default();
        for at in [30, 10, 20] {
            session.go(at);
            find.ask(&session, Ask::Mark);
        }
        let places: Vec<usize> = find.marks.iter().map(|mark| mark.at).collect();
        assert_eq!(places, [10, 20, 30]);
        assert_eq!(find.ask(&session, Ask::NextMark), Some(30));
        session.go(30);
        assert_eq!(find.ask(&session, Ask::NextMark), Some(10));
        find.ask(&session, Ask::Mark);
        find.ask(&session, Ask::Unmark(0));
        assert_eq!(find.marks.len(), 1);
        find.draw(session.way().last(), 300);
        assert_eq!(find.band().matches("bmark").count(), 1);
        let mut drawn = Vec::new();
        for text in ["block 21 dirty", "block 20 dirty"] {
            find.ask(&session, Ask::Type(text.to_owned()));
            finish(&mut find, &session);
            find.draw(session.way().last(), 300);
            drawn.push(find.band());
        }
        assert_ne!(drawn[0], drawn[1], "as many found, but elsewhere");
    }

    #[test]
    fn other_runs_are_searched_for_the_same() {
        let mut session = session();
        let mut find = typed("event flush", &session);
        find.ask(&session, Ask::Stop);
        session.go(9);
        find.ask(&session, Ask::Mark);
        let mut find = find.in_other_runs(&session, |at| at + 1);
        assert_eq!((find.marks[0].at, find.stops.len(), find.works()), (10, 1, true));
        finish(&mut find, &session);
        let counts = |job: &Job| job.count();
        assert_eq!(find.search.as_ref().map(counts), find.stops.first().map(counts));
    }

    #[test]
    fn events_of_a_kind_are_jumped_between() {
        let mut session = session();
        let mut find = Find::default();
        find.ask(&session, Ask::Event(Event::Flush));
        let first = find.ask(&session, Ask::Jump(true)).expect("there is a flush");
        session.go(first);
        let second = find.ask(&session, Ask::Jump(true)).expect("there is another");
        session.go(second);
        assert_eq!(find.ask(&session, Ask::Jump(false)), Some(first));
        find.ask(&session, Ask::Event(Event::Split));
        assert_eq!(find.ask(&session, Ask::Jump(true)), None);
    }
}
