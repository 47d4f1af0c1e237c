//! The course of a whole run, for lanes that show it as one picture: found by the replay that finds
//! the limits, so that no drawing folds the run from its start.
//!
//! Each thing in it knows from which position on it is there; a drawing takes those up to its own.

mod history;
mod marks;
mod returns;
mod sent;

pub(super) use history::{Part, Past, What};
pub(super) use marks::{Mark, MarkKind};
pub(super) use returns::{Change, Writer, writers};
pub(super) use sent::{Own, Sent};

use crate::trace::model::Model;
use crate::trace::timeline::Recording;
use crate::units::FileId;

/// Most things of a kind that are kept of a run.
const MOST: usize = 1 << 16;

/// What happened in a run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Course {
    /// What was sent.
    pub(super) history: Vec<Past>,
    /// What was checked before copies.
    pub(super) checks: Vec<Past>,
    /// How folios got their marks of use.
    pub(super) marks: Vec<Mark>,
    /// What went to the device.
    pub(super) sent: Vec<Sent>,
    /// Who wrote bytes of the file.
    pub(super) bytes: Vec<Change>,
}

impl Course {
    /// Takes in a step of a recording; the model is the state after it.
    pub(super) fn step(&mut self, model: &Model, recording: &Recording, at: usize, file: FileId) {
        let seen = Seen { model, recording, at, file };
        history::step((&mut self.history, &mut self.checks), &seen);
        marks::step(&mut self.marks, &seen);
        sent::step(&mut self.sent, &seen);
        returns::step(&mut self.bytes, &seen);
    }
    /// At the end of the run.
    pub(super) fn finish(&mut self) {
        sent::finish(&mut self.sent);
    }
}

/// A step that was taken.
struct Seen<'a> {
    model: &'a Model,
    recording: &'a Recording,
    at: usize,
    file: FileId,
}

impl Seen<'_> {
    /// The position after it.
    const fn position(&self) -> usize {
        self.at + 1
    }
}

/// The things that are there at a position, of those in the order of theirs.
pub(super) fn so_far<T>(all: &[T], position: usize, at: impl Fn(&T) -> usize) -> &[T] {
    &all[..all.partition_point(|one| at(one) <= position)]
}

/// Adds one unless there are too many.
fn keep<T>(all: &mut Vec<T>, one: T) {
    if all.len() < MOST {
        all.push(one);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Side;
    use super::super::fixture::overwrites;
    use super::super::limits::Limits;
    use super::*;
    use crate::behaviour::DirtyTracking;

    #[test]
    fn things_of_a_course_come_in_order_and_no_later_than_the_end() {
        let run = overwrites(DirtyTracking::PerFolio, 2, &[5, 21, 5]);
        let side = [Side { label: "", name: "", timeline: &run }];
        let course = Limits::of(&side, FileId::new(0), None).courses.remove(0);
        assert_eq!((course.history.len(), course.sent.len()), (3, 3));
        assert!(course.history.windows(2).all(|two| two[0].at < two[1].at));
        let done = course.sent.iter().map(|sent| sent.done.expect("it ended"));
        assert!(done.zip(&course.sent).all(|(done, sent)| sent.at < done && done <= run.len()));
        assert!(so_far(&course.history, course.history[1].at, |past| past.at).len() == 2);
        assert!(so_far(&course.history, course.history[1].at - 1, |past| past.at).len() == 1);
    }
}
