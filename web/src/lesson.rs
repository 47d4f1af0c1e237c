//! An open lesson: where its stops are on the way of its runs, and what is said to an answer.

use crate::session::Session;
use folioscope_core::lesson::Told;
use folioscope_core::link::BuiltIn;

/// The lesson that the page opens with.
pub(crate) const FIRST: u32 = 7;

/// The fragment that opens it.
pub(crate) fn address() -> String {
    BuiltIn::Lesson { number: FIRST, stop: 1 }.to_fragment(None)
}

/// What a viewer thinks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// One of the answers, by its place.
    Choice(usize),
    /// None: they want to be shown.
    Shown,
}

/// A lesson whose stops are moments of a session.
pub struct Lesson {
    /// What it says; `at` of its stops are moments.
    pub told: Told,
}

impl Lesson {
    /// The lesson that came with these runs.
    pub fn new(mut told: Told, session: &Session) -> Self {
        for stop in &mut told.stops {
            stop.at = session.way().reach(0, stop.at);
        }
        Self { told }
    }
    /// The last of its stops.
    pub fn last_stop(&self) -> usize {
        self.told.stops.len() - 1
    }
    /// What there is to say to an answer.
    pub fn verdict(&self, answer: Answer) -> &str {
        let answer = match answer {
            Answer::Choice(at) => self.told.answers.get(at),
            Answer::Shown => None,
        };
        answer.map_or(&self.told.shown, |answer| &answer.says)
    }
}

/// A lesson as the engine that comes with the page gives it.
#[cfg(test)]
pub(crate) fn open(number: u32) -> (Session, Lesson) {
    use folioscope_core::service::{Reply, Request};
    let reply = folioscope_web_engine::answer(&Request::Lesson(number).encode());
    match Reply::decode(&reply) {
        Ok(Reply::Opened(opened)) => {
            let (session, lesson) = crate::open::opened(*opened).expect("it opens");
            (session, lesson.expect("it is a lesson"))
        }
        other => panic!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lesson_says_what_its_runs_show() {
        let (session, lesson) = open(FIRST);
        let told = &lesson.told;
        assert_eq!(told.answers[1].text, "64 KiB");
        let at = |stop: usize| told.stops[stop].at;
        assert!(at(2) < at(1) && at(0) < at(2));
        assert_eq!(at(4), session.way().last());
        assert_ne!(lesson.verdict(Answer::Choice(0)), lesson.verdict(Answer::Choice(2)));
        assert_eq!(lesson.verdict(Answer::Choice(9)), lesson.verdict(Answer::Shown));
    }
}
