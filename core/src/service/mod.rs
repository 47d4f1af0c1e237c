//! The engine behind a message: what a host that runs it elsewhere asks for, and what comes back.
//!
//! Both are bytes, so that they cross to a worker of a browser, a process or a network as they are.
//! A reply holds whole traces ([`crate::trace::wire`]): whoever shows them needs no engine.

mod answer;
mod bytes;
mod form;

pub use answer::{Library, answer, beforehand};

use crate::lesson::Told;
use crate::link::Moment;
pub use crate::scenario::form::{
    Addable, Checked, Field, Input, Section, Splice, Wrong, means, quoted,
};

/// Most operations of a scenario that is run for a host that waits.
pub const MAX_OPS: usize = 10_000;
/// Most bytes that such a scenario may hold or touch.
pub const MAX_TOUCHED: u64 = 64 << 20;

/// What is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// What there is to open.
    Contents,
    /// A lesson of the library, by its number.
    Lesson(u32),
    /// A scenario of the library, by its name.
    Example(String),
    /// The text of a scenario file.
    Scenario(String),
    /// The text of a scenario file, to be looked at and not run.
    Check(String),
    /// The text of a scenario file, and settings to run it with: names of its variants, or of
    /// profiles.
    Settings(String, Vec<String>),
    /// What a fragment holds that names no scenario of the library.
    Link(String),
    /// The fragment for the text of a moment and its scenario.
    Pack(String),
}

impl Request {
    /// The name of the file that holds the reply, where it can be made beforehand.
    pub fn file_name(&self) -> Option<String> {
        match self {
            Self::Contents => Some("contents".to_owned()),
            Self::Lesson(number) => Some(format!("lesson-{number}")),
            Self::Example(_)
            | Self::Scenario(_)
            | Self::Check(_)
            | Self::Settings(..)
            | Self::Link(_)
            | Self::Pack(_) => None,
        }
    }
}

/// What comes back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// What there is to open.
    Contents(Contents),
    /// Runs.
    Opened(Box<Opened>),
    /// A text as a form, and what is wrong with it.
    Checked(Box<Checked>),
    /// A fragment.
    Packed(String),
    /// One sentence that says why not, without a full stop.
    Refused(String),
}

/// What the library has.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Contents {
    /// Its lessons, in the order of their numbers.
    pub lessons: Vec<Entry>,
    /// Its other scenarios: name and title.
    pub examples: Vec<(String, String)>,
}

/// A lesson of the library.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its number.
    pub number: u32,
    /// Its title.
    pub title: String,
    /// What it is about, in one sentence.
    pub point: String,
    /// Its proof as SVG, for the styles of the page.
    pub picture: String,
}

/// Runs of a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opened {
    /// Its title.
    pub title: String,
    /// The file of the scenario.
    pub scenario: String,
    /// Each run: its setting, and its trace.
    pub runs: Vec<(String, Vec<u8>)>,
    /// Names of all of its variants.
    pub variants: Vec<String>,
    /// The lesson that they belong to.
    pub lesson: Option<Told>,
    /// The moment that a link names.
    pub moment: Option<Moment>,
}
