//! What a viewer asks to see: lanes, width, range, theme. It says nothing about the run itself.

use super::Side;
use super::limits::Limits;
use crate::trace::survey::FileFate;
use crate::units::{FileId, FileRange};
use std::borrow::Cow;

/// A lane of the picture, from top to bottom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Lane {
    /// The ruler of bytes and the running operation.
    File,
    /// Folios and their blocks.
    Cache,
    /// How each folio got its marks of use: before or after anybody could see it; shown only where
    /// it is asked for, as are the other lanes of a whole run.
    Marks,
    /// What stands behind the file.
    Mapping,
    /// I/O being built or in flight.
    Bios,
    /// What the block layer made of it; shown only where there is a request queue.
    Requests,
    /// The sector axis.
    Device,
    /// What went to the device, in its order; of a whole run.
    Order,
    /// The disks of an array, stripe by stripe; shown only where there is one.
    Members,
    /// How often each block was written.
    Tally,
    /// What a remount would find if the power went now; shown only where it is asked for.
    Left,
    /// Who wrote the bytes that a read would return; of a whole run.
    Returns,
    /// What was sent, one row each; of a whole run.
    History,
    /// Which user memory was checked before copies, one row each; of a whole run.
    Checks,
}

impl Lane {
    /// Every lane, from top to bottom.
    pub const ALL: [Self; 14] = [
        Self::File,
        Self::Cache,
        Self::Marks,
        Self::Mapping,
        Self::Bios,
        Self::Requests,
        Self::Device,
        Self::Order,
        Self::Members,
        Self::Tally,
        Self::Left,
        Self::Returns,
        Self::History,
        Self::Checks,
    ];
    /// Lanes that tell of a whole run: where nobody asks for them they are not shown.
    pub const OF_THE_RUN: [Self; 6] =
        [Self::Marks, Self::Order, Self::Left, Self::Returns, Self::History, Self::Checks];
    /// Lanes that are shown where nobody says which.
    pub fn usual() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|lane| !Self::OF_THE_RUN.contains(lane))
    }
    /// The name beside the lane.
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "File",
            Self::Cache => "Page cache",
            Self::Mapping => "Mapping",
            Self::Bios => "Bios",
            Self::Requests => "Requests",
            Self::Device => "Device",
            Self::Members => "Members",
            Self::Tally => "Times written",
            Self::Left => "After remount",
            Self::Marks => "Marks of use",
            Self::Order => "Sent in order",
            Self::Returns => "read() returns",
            Self::History => "History",
            Self::Checks => "Memory checks",
        }
    }
    /// The word in links and options.
    pub const fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Cache => "cache",
            Self::Mapping => "mapping",
            Self::Bios => "bios",
            Self::Requests => "requests",
            Self::Device => "device",
            Self::Members => "members",
            Self::Tally => "times",
            Self::Left => "left",
            Self::Marks => "marks",
            Self::Order => "order",
            Self::Returns => "returns",
            Self::History => "history",
            Self::Checks => "checks",
        }
    }
    /// Whether its rows are high enough for a large plate.
    pub(super) const fn is_high(self) -> bool {
        match self {
            Self::Cache
            | Self::Tally
            | Self::Left
            | Self::Marks
            | Self::Order
            | Self::Returns
            | Self::History
            | Self::Checks => true,
            Self::File
            | Self::Mapping
            | Self::Bios
            | Self::Requests
            | Self::Device
            | Self::Members => false,
        }
    }
    /// The lane with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|lane| lane.word() == word)
    }
}

/// How much of a lane is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum LaneMode {
    /// All of it.
    #[default]
    Full,
    /// A strip of 16 pixels without words.
    Strip,
    /// Nothing.
    Hidden,
}

/// How much of each lane is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lanes([LaneMode; Lane::ALL.len()]);

impl Default for Lanes {
    /// The usual ones.
    fn default() -> Self {
        Lane::usual().fold(Self::only(&[]), |lanes, lane| lanes.with(lane, LaneMode::Full))
    }
}

impl Lanes {
    /// Only these lanes.
    #[must_use]
    pub fn only(lanes: &[Lane]) -> Self {
        let mode = |lane| if lanes.contains(&lane) { LaneMode::Full } else { LaneMode::Hidden };
        Self(Lane::ALL.map(mode))
    }
    /// How much of this lane.
    pub const fn get(self, lane: Lane) -> LaneMode {
        self.0[lane as usize]
    }
    /// With this lane changed.
    #[must_use]
    pub const fn with(mut self, lane: Lane, mode: LaneMode) -> Self {
        self.0[lane as usize] = mode;
        self
    }
    /// Whether anything of the lane is drawn.
    pub fn shows(self, lane: Lane) -> bool {
        self.get(lane) != LaneMode::Hidden
    }
}

/// Which colours.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Theme {
    /// On a light ground.
    Light,
    /// On a dark ground.
    Dark,
    /// As the viewer prefers.
    #[default]
    Auto,
}

impl Theme {
    /// The word in links and options.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
            Self::Auto => "auto",
        }
    }
    /// The theme with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Light, Self::Dark, Self::Auto].into_iter().find(|theme| theme.word() == word)
    }
}

/// What a viewer asks to see.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// Width in pixels; 320 at least.
    pub width: u32,
    /// How much of each lane.
    pub lanes: Lanes,
    /// Which colours.
    pub theme: Theme,
    /// The claim above the picture.
    pub title: Option<String>,
    /// Legend, figures and evidence under the picture; a page that has its own turns them off.
    pub caption: bool,
    /// The bytes to show; none = all that the run ever touches.
    pub range: Option<FileRange>,
    /// Which file.
    pub file: FileId,
    /// Goes before every id, so that many pictures fit on one page. Letters and digits only.
    pub prefix: String,
    /// What the whole run needs, so that nothing jumps from step to step. It costs a replay: keep
    /// [`Limits::of`] where many steps are drawn. None = found out at each drawing.
    pub limits: Option<Limits>,
    /// By run, what a remount would find of the file now. It costs a replay: keep
    /// [`crate::trace::survey::Surveys`] where many steps are drawn. Empty = found out at each
    /// drawing that shows it.
    pub left: Vec<Option<FileFate>>,
}

impl View {
    /// The lanes that are drawn, from top to bottom: those that are shown and have anything to
    /// show.
    pub(super) fn shown<'a>(&'a self, limits: &'a Limits) -> impl Iterator<Item = Lane> + 'a {
        let some = |lane: &Lane| match lane {
            Lane::Requests => limits.request_rows > 0,
            Lane::Members => !limits.stripes.is_empty(),
            Lane::Marks => limits.courses.iter().any(|course| !course.marks.is_empty()),
            Lane::Order => limits.courses.iter().any(|course| !course.sent.is_empty()),
            Lane::History => limits.courses.iter().any(|course| !course.history.is_empty()),
            Lane::Checks => limits.courses.iter().any(|course| !course.checks.is_empty()),
            Lane::File
            | Lane::Cache
            | Lane::Mapping
            | Lane::Bios
            | Lane::Device
            | Lane::Tally
            | Lane::Left
            | Lane::Returns => true,
        };
        Lane::ALL.into_iter().filter(|lane| self.lanes.shows(*lane)).filter(some)
    }
    /// What the whole run needs: kept, or found out now.
    pub(super) fn limits_of(&self, sides: &[Side<'_>]) -> Cow<'_, Limits> {
        let find = || Cow::Owned(Limits::of(sides, self.file, self.range));
        self.limits.as_ref().map_or_else(find, Cow::Borrowed)
    }
}

impl Default for View {
    fn default() -> Self {
        Self {
            width: 1040,
            lanes: Lanes::default(),
            theme: Theme::Auto,
            title: None,
            caption: true,
            range: None,
            file: FileId::new(0),
            prefix: "f".to_owned(),
            limits: None,
            left: Vec::new(),
        }
    }
}
