//! The points at which a schedule can stop a task, by the words of cases and scenario files.

use crate::stops::StopPoint;
use crate::units::{BdiId, Pos};
use core::fmt::Write as _;

/// The name of the device in a schedule.
pub const DEVICE: &str = "device";
/// The name of the worker that completes what ended.
pub const WORKER: &str = "worker";
/// The name of the time, which passes up to the next moment at which somebody may go on.
pub const CLOCK: &str = "clock";
/// The name of the flusher of the first device; those of others have their number behind it.
pub const FLUSHER: &str = "flusher";
/// The name of the task that takes memory back.
pub const KSWAPD: &str = "kswapd";

/// The name of a device's flusher.
pub fn flusher_name(bdi: BdiId) -> String {
    if bdi.get() == 0 { FLUSHER.to_owned() } else { format!("{FLUSHER} {}", bdi.get()) }
}

macro_rules! points {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $stop:expr;)*) => {
        /// Where a step of a schedule ends.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Point { $($(#[$doc])* $name,)* }

        impl Point {
            /// Every point.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// Its word.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
            /// Where the engine holds a task for it; none: nowhere.
            pub const fn stop(self) -> Option<StopPoint> {
                match self { $(Self::$name => $stop,)* }
            }
        }
    };
}

points! {
    /// A write has its mapping.
    AfterBegin = "after_begin", Some(StopPoint::AfterBegin);
    /// A write or a fault has its folio locked.
    FolioLocked = "folio_locked", Some(StopPoint::FolioLocked);
    /// A write has copied its bytes.
    AfterCopy = "after_copy", Some(StopPoint::AfterCopy);
    /// The bits of a write are set.
    AfterWriteEnd = "after_write_end", Some(StopPoint::AfterWriteEnd);
    /// `i_size` is moved.
    AfterIsizeUpdate = "after_isize_update", Some(StopPoint::AfterSizeUpdate);
    /// A failed write has found cached data in what it reserved.
    ReleaseDataFound = "release_data_found", Some(StopPoint::ReleaseDataFound);
    /// A bio of a read was sent.
    AfterReadSubmit = "after_read_submit", Some(StopPoint::AfterReadSubmit);
    /// A range of a read was zeroed.
    AfterZero = "after_zero", Some(StopPoint::AfterZero);
    /// Writeback has its folio locked.
    WbFolioLocked = "wb_folio_locked", Some(StopPoint::WbFolioLocked);
    /// Writeback has compared the folio with EOF.
    WbEofChecked = "wb_eof_checked", Some(StopPoint::WbEofChecked);
    /// Writeback asks for a mapping next.
    BeforeMapBlocks = "before_map_blocks", Some(StopPoint::BeforeMapBlocks);
    /// Writeback has its mapping.
    AfterMapBlocks = "after_map_blocks", Some(StopPoint::AfterMapBlocks);
    /// Both forks are looked up in one go: nobody stops there.
    BetweenForkLookups = "between_fork_lookups", None;
    /// Writeback is done with a folio.
    WbFolioDone = "wb_folio_done", Some(StopPoint::WbFolioDone);
    /// An ioend was sent.
    AfterWritebackSubmit = "after_writeback_submit", Some(StopPoint::AfterWritebackSubmit);
    /// A truncation or a punch has dropped the cache, and not freed the blocks.
    AfterCut = "after_cut", Some(StopPoint::AfterCut);
    /// Before a bio completes.
    BeforeIoComplete = "before_io_complete", None;
    /// After a bio has completed.
    IoComplete = "io_complete", None;
    /// After a flush has completed.
    FlushComplete = "flush_complete", None;
    /// A direct write has sent its bios.
    DioSubmitted = "dio_submitted", Some(StopPoint::DirectSubmitted);
    /// Time has passed up to the next moment at which somebody may go on.
    Timer = "timer", None;
    /// An operation of the task has ended.
    OpEnd = "op_end", None;
    /// The task cannot go on, or has ended.
    Blocked = "blocked", None;
    /// The task has done all its operations.
    End = "end", None;
}

impl Point {
    /// The point with this word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|point| point.name() == name)
    }
    /// The point of a stop of the engine.
    pub fn of(stop: StopPoint) -> Self {
        let found = Self::ALL.iter().copied().find(|point| point.stop() == Some(stop));
        found.expect("every stop of the engine has a word")
    }
    /// Whether a byte of the file can say which time is meant.
    pub const fn has_place(self) -> bool {
        self.stop().is_some() || matches!(self, Self::BeforeIoComplete | Self::IoComplete)
    }
}

/// One step of a schedule: who runs, and until when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// A task, [`DEVICE`], [`WORKER`] or [`CLOCK`].
    pub task: String,
    /// Where it stops.
    pub until: Point,
    /// Only where the point is about this byte of a file; none = any.
    pub at: Option<Pos>,
    /// The n-th time, from 1.
    pub n: u32,
}

impl Step {
    /// As a table of a scenario file.
    pub fn toml(&self) -> String {
        let mut out =
            format!("[[schedule]]\ntask = {:?}\nuntil = {:?}\n", self.task, self.until.name());
        if let Some(at) = self.at {
            writeln!(out, "at = {}", at.get()).expect("a String takes everything");
        }
        if self.n > 1 {
            writeln!(out, "n = {}", self.n).expect("a String takes everything");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::{Point, Step};
    use crate::units::Pos;

    #[test]
    fn words_go_both_ways() {
        for point in Point::ALL {
            assert_eq!(Point::from_name(point.name()), Some(*point));
            assert!(point.stop().is_none_or(|stop| Point::of(stop) == *point));
        }
        assert_eq!(Point::from_name("somewhere"), None);
    }

    #[test]
    fn a_step_is_written_as_a_scenario_file_has_it() {
        let task = "a".to_owned();
        let step = Step { task, until: Point::IoComplete, at: Some(Pos::new(4096)), n: 2 };
        let text = "[[schedule]]\ntask = \"a\"\nuntil = \"io_complete\"\nat = 4096\nn = 2\n";
        assert_eq!(step.toml(), text);
    }
}
