//! A moment of a run as the fragment of a link: what was run, where in its run, how it is looked
//! at, and what was seen when the link was made.
//!
//! ```text
//! #1/L7/2                            lesson 7 at its second stop
//! #1/L7/2/at-3-21-1/lanes-file/...   the same, at a moment and with a view of one's own
//! #1/E/append-race/at-3-21-1/...     a scenario that comes with the page
//! #1/S/eJyrV...                      any other scenario: base64url of a deflated text
//! ```
//!
//! The first number is the version; it rises with every change that an older page would misread,
//! and links of every version stay readable. A place in a run is an operation, a rule and how
//! often that rule fired in it: step numbers change with every correction of the engine.
//!
//! [`Fragment::read`] reads all but what is packed, which a host may leave to somebody who is
//! better at it; [`Link`] reads all.

mod pack;
mod seen;
mod words;

use crate::scene::view::Lane;
use crate::trace::address::Address;
use crate::units::{FileId, FileRange};
pub use pack::{MAX_FRAGMENT, MAX_PLAIN};
pub use seen::{Seen, Since};
use thiserror::Error;

/// Newest version. What version 1 can say is written as it: stops and marks came with 2.
pub const VERSION: u32 = 2;
/// Most conditions that play stops at, and most marks.
pub const MOST_MARKS: usize = 20;
/// Longest name of a scenario that comes with the page.
const MAX_NAME: usize = 80;

/// What a link opens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Link {
    /// What comes with the page; without a moment, where it opens by itself.
    BuiltIn(BuiltIn, Option<Box<Moment>>),
    /// A scenario at a moment of its run.
    Scenario(Box<Shared>),
}

/// What comes with the page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BuiltIn {
    /// A lesson at a stop.
    Lesson {
        /// Its number in the gallery.
        number: u32,
        /// Its stop, from 1, as people count.
        stop: u32,
    },
    /// A scenario, by its name.
    Example(String),
}

/// A scenario with a moment of its run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shared {
    /// Where, and how it is looked at.
    pub moment: Moment,
    /// The scenario file.
    pub scenario: String,
}

/// A moment of a run, and how it is looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Version of the engine that ran it.
    pub engine: String,
    /// Where in the run.
    pub place: Place,
    /// How it is looked at.
    pub view: View,
    /// The settings of the runs, by the names of variants or profiles; none = the first variants.
    pub runs: Vec<String>,
    /// What each run gave when the link was made, in order.
    pub seen: Vec<Seen>,
    /// What play is to stop at, in the words of a search.
    pub stops: Vec<String>,
    /// Places that were marked.
    pub marks: Vec<Place>,
}

/// Where one stands on the common way of the runs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Place {
    /// The run that moved to get there: 0 for A, also where both did, 1 for B.
    pub side: u8,
    /// Where that run is.
    pub address: Address,
}

/// How a picture is looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// Which file.
    pub file: FileId,
    /// Which bytes of it; none = what the page shows by itself.
    pub range: Option<FileRange>,
    /// Lanes that are shown.
    pub lanes: Vec<Lane>,
    /// One run alone: 0 for A.
    pub only: Option<usize>,
    /// As a picture, or as tables.
    pub form: Form,
    /// Whether the rule that fired is shown.
    pub why: bool,
    /// Whether the whole file is shown rather than the folio that a lesson is about.
    pub whole: bool,
    /// Whether the answer to a lesson's question is shown.
    pub told: bool,
}

/// How the stage is shown.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Form {
    /// As a picture.
    #[default]
    Picture,
    /// As tables.
    Table,
    /// As both.
    Both,
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 3] = [Self::Picture, Self::Table, Self::Both];
    /// The word in links.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Picture => "picture",
            Self::Table => "table",
            Self::Both => "both",
        }
    }
}

/// Why a link cannot be made or opened.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LinkError {
    /// It does not begin as links do.
    #[error("this is no link to a moment: expected `#1/L`, `#1/E` or `#1/S` and more after it")]
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

/// A fragment, of which nothing is unpacked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fragment<'a> {
    /// What comes with the page.
    BuiltIn(BuiltIn, Option<Box<Moment>>),
    /// A scenario and a moment of its run, for [`Shared::unpack`].
    Packed(&'a str),
}

impl<'a> Fragment<'a> {
    /// Reads a fragment, with or without `#`.
    pub fn read(fragment: &'a str) -> Result<Self, LinkError> {
        let fragment = fragment.strip_prefix('#').unwrap_or(fragment);
        if fragment.len() > MAX_FRAGMENT {
            return Err(LinkError::TooLong(fragment.len()));
        }
        let (version, rest) = fragment.split_once('/').ok_or(LinkError::Unknown)?;
        let version: u32 = version.parse().map_err(|_| LinkError::Unknown)?;
        if version > VERSION {
            return Err(LinkError::Newer(version));
        }
        let (kind, rest) = rest.split_once('/').ok_or(LinkError::Unknown)?;
        if version == 0 {
            return Err(LinkError::Unknown);
        }
        if kind == "S" {
            return Ok(Self::Packed(rest));
        }
        let (name, moment) = match rest.split_once('/') {
            Some((name, moment)) => (name, Some(moment)),
            None => (rest, None),
        };
        let built_in = BuiltIn::read(kind, name).ok_or(LinkError::Unknown)?;
        let moment = moment.map(|moment| words::read(moment, words::SHORT).map(Box::new));
        Ok(Self::BuiltIn(built_in, moment.transpose()?))
    }
}

impl BuiltIn {
    fn read(kind: &str, name: &str) -> Option<Self> {
        if kind == "E" {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            let fits = (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(fits);
            return fits.then(|| Self::Example(name.to_owned()));
        }
        let number = kind.strip_prefix('L')?.parse().ok()?;
        let stop = name.parse().ok().filter(|stop| *stop > 0)?;
        Some(Self::Lesson { number, stop })
    }
    /// The fragment that opens it, without `#`, at a moment if one is given.
    pub fn to_fragment(&self, moment: Option<&Moment>) -> String {
        let version = moment.map_or(1, Moment::version);
        let mut out = match self {
            Self::Lesson { number, stop } => format!("{version}/L{number}/{stop}"),
            Self::Example(name) => format!("{version}/E/{name}"),
        };
        if let Some(moment) = moment {
            out.push('/');
            out.push_str(&words::write(moment, words::SHORT));
        }
        out
    }
}

impl Moment {
    /// The oldest version that can say it.
    const fn version(&self) -> u32 {
        if self.stops.is_empty() && self.marks.is_empty() { 1 } else { 2 }
    }
    /// As text: a few lines, of which none is empty.
    pub fn to_text(&self) -> String {
        words::write(self, words::LINES)
    }
    /// A moment as text.
    pub fn from_text(text: &str) -> Result<Self, LinkError> {
        words::read(text, words::LINES)
    }
}

impl Shared {
    /// As text: the lines of the moment, an empty one, and the scenario.
    pub fn to_text(&self) -> String {
        format!("{}\n\n{}", self.moment.to_text(), self.scenario)
    }
    /// The fragment of such a text, without `#`.
    pub fn pack(text: &str) -> Result<String, LinkError> {
        let head = text.split_once("\n\n").map_or("", |(head, _)| head);
        let version = words::read(head, words::LINES).map_or(1, |moment| moment.version());
        let fragment = format!("{version}/S/{}", pack::pack(text)?);
        if fragment.len() > MAX_FRAGMENT {
            return Err(LinkError::TooLong(fragment.len()));
        }
        Ok(fragment)
    }
    /// What a fragment holds.
    pub fn unpack(packed: &str) -> Result<Self, LinkError> {
        let text = pack::unpack(packed)?;
        let parts = text.split_once("\n\n");
        let (moment, scenario) = parts.ok_or(LinkError::Damaged("its scenario is missing"))?;
        Ok(Self { moment: Moment::from_text(moment)?, scenario: scenario.to_owned() })
    }
}

impl Link {
    /// The fragment, without `#`.
    pub fn to_fragment(&self) -> Result<String, LinkError> {
        match self {
            Self::BuiltIn(built_in, moment) => Ok(built_in.to_fragment(moment.as_deref())),
            Self::Scenario(shared) => Shared::pack(&shared.to_text()),
        }
    }
    /// Reads a fragment, with or without `#`.
    pub fn from_fragment(fragment: &str) -> Result<Self, LinkError> {
        match Fragment::read(fragment)? {
            Fragment::BuiltIn(built_in, moment) => Ok(Self::BuiltIn(built_in, moment)),
            Fragment::Packed(packed) => {
                Shared::unpack(packed).map(|shared| Self::Scenario(Box::new(shared)))
            }
        }
    }
}

#[cfg(test)]
mod tests;
