//! A moment of a run as the fragment of a link: the whole scenario, where in its run, how it is
//! looked at, and what was seen when the link was made.
//!
//! ```text
//! #1/L7/3            lesson 7 at stop 3
//! #1/S/eJyrV...      a scenario: base64url of a deflated text
//! ```
//!
//! The first number is the version; it rises with every change that an older page would misread,
//! and links of every version stay readable. A place in a run is an operation, a rule and how
//! often that rule fired in it: step numbers change with every correction of the engine.

mod pack;
mod words;

use crate::scene::view::Lane;
use crate::trace::address::Address;
use crate::units::{FileId, FileRange};
pub use pack::{MAX_FRAGMENT, MAX_PLAIN};
use thiserror::Error;

/// Version that is written.
pub const VERSION: u32 = 1;

/// What a link opens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Link {
    /// A lesson, by its number, at a stop.
    Lesson {
        /// Its number in the gallery.
        number: u32,
        /// Its stop, from 0.
        stop: u32,
    },
    /// A scenario at a moment of its run.
    Scenario(Box<Shared>),
}

/// A moment of the run of a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shared {
    /// Version of the engine that ran it.
    pub engine: String,
    /// Where in the run.
    pub place: Address,
    /// How it is looked at.
    pub view: View,
    /// What each run gave when the link was made, in order.
    pub seen: Vec<Seen>,
    /// The scenario file.
    pub scenario: String,
}

/// How a picture is looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// Which file.
    pub file: FileId,
    /// Which bytes of it; none = all.
    pub range: Option<FileRange>,
    /// Lanes that are shown.
    pub lanes: Vec<Lane>,
}

/// What a run gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Its steps.
    pub steps: u64,
    /// The checksum of its trace file.
    pub crc: u32,
}

/// Why a link cannot be made or opened.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LinkError {
    /// It does not begin as links do.
    #[error("this is no link to a moment: expected `#1/L` or `#1/S` and more after it")]
    Unknown,
    /// A newer page made it.
    #[error(
        "the link has version {0}, and this page reads up to {VERSION}: reload it, or open the link where it was made"
    )]
    Newer(u32),
    /// It is too long to be read.
    #[error(
        "the link has {0} characters, {MAX_FRAGMENT} is the most: share the scenario as a file"
    )]
    TooLong(usize),
    /// What it holds is too long.
    #[error("what the link holds is longer than {MAX_PLAIN} bytes: share the scenario as a file")]
    TooLarge,
    /// It was cut, or changed on its way.
    #[error("the link is damaged ({0}): copy it again, whole")]
    Damaged(&'static str),
    /// A line of what it holds is not understood.
    #[error("the link says `{0}`, which is not understood: copy it again, or make a new one")]
    Line(String),
}

impl Link {
    /// The fragment, without `#`.
    pub fn to_fragment(&self) -> Result<String, LinkError> {
        match self {
            Self::Lesson { number, stop } => Ok(format!("{VERSION}/L{number}/{stop}")),
            Self::Scenario(shared) => {
                let packed = pack::pack(&words::write(shared))?;
                let fragment = format!("{VERSION}/S/{packed}");
                if fragment.len() > MAX_FRAGMENT {
                    return Err(LinkError::TooLong(fragment.len()));
                }
                Ok(fragment)
            }
        }
    }
    /// Reads a fragment, with or without `#`.
    pub fn from_fragment(fragment: &str) -> Result<Self, LinkError> {
        let fragment = fragment.strip_prefix('#').unwrap_or(fragment);
        if fragment.len() > MAX_FRAGMENT {
            return Err(LinkError::TooLong(fragment.len()));
        }
        let (version, rest) = fragment.split_once('/').ok_or(LinkError::Unknown)?;
        let version: u32 = version.parse().map_err(|_| LinkError::Unknown)?;
        if version > VERSION {
            return Err(LinkError::Newer(version));
        }
        if version == 0 {
            return Err(LinkError::Unknown);
        }
        match rest.split_once('/') {
            Some(("S", packed)) => {
                words::read(&pack::unpack(packed)?).map(|shared| Self::Scenario(Box::new(shared)))
            }
            Some((lesson, stop)) => {
                let number = lesson.strip_prefix('L').and_then(|number| number.parse().ok());
                let (number, stop) = number.zip(stop.parse().ok()).ok_or(LinkError::Unknown)?;
                Ok(Self::Lesson { number, stop })
            }
            None => Err(LinkError::Unknown),
        }
    }
}

#[cfg(test)]
mod tests;
