//! Lessons: a scenario, the places in its runs worth standing at, and a sentence for each.
//!
//! A lesson holds no numbers. Its sentences name values (`{A.writing / B.writing}`), which are
//! looked up in the runs when it is opened; a place is named by what happens there, so that a
//! lesson outlives corrections of the engine or says that it does not.

mod file;
mod spot;
mod told;
mod words;

pub use file::parse_lesson;
pub use spot::Spot;
pub use told::{MAX_RUNS, Told, ToldAnswer, ToldStop};
pub use words::{Moment, Words};

use crate::scene::view::Lane;
use crate::units::FileRange;

/// Fewest stops of a lesson.
pub const MIN_STOPS: usize = 3;
/// Most stops of a lesson.
pub const MAX_STOPS: usize = 7;

/// A lesson as its file says it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lesson {
    /// Its number in the gallery.
    pub number: u32,
    /// Its title.
    pub title: String,
    /// What it is about, in one sentence.
    pub point: Words,
    /// The name of its scenario.
    pub scenario: String,
    /// The part of the file that its stops show; none = the folio that the question is about.
    pub focus: Option<FileRange>,
    /// What there is to predict.
    pub question: Question,
    /// The stops, the question's own first.
    pub stops: Vec<Stop>,
}

/// A question with answers to choose from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// The question.
    pub ask: Words,
    /// The figure that stands beside the proof, if there is one.
    pub figure: Option<Words>,
    /// What is said to somebody who asks to be shown.
    pub shown: Words,
    /// The answers.
    pub answers: Vec<Answer>,
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// What is on its chip.
    pub text: Words,
    /// What is said to it.
    pub says: Words,
}

/// A place to stand at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    /// Its name on the rail.
    pub title: String,
    /// One sentence.
    pub says: Words,
    /// Where in the run.
    pub at: Spot,
    /// Lanes that are shown.
    pub lanes: Vec<Lane>,
    /// Whether the rule that fired is shown.
    pub why: bool,
    /// Whether the whole file is shown rather than the folio that the lesson is about.
    pub whole: bool,
}
