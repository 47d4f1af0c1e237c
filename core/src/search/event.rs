//! Kinds of steps that people jump between.

use crate::trace::rule::Rule;
use crate::trace::step::Step;

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $words:literal, [$($rule:ident),+];)*) => {
        /// A kind of steps that people jump between.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Event { $($(#[$doc])* $name,)* }

        impl Event {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// The word in queries.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
            /// The words for people.
            pub const fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)* }
            }
            const fn has(self, rule: Rule) -> bool {
                match self { $(Self::$name => matches!(rule, $(Rule::$rule)|+),)* }
            }
        }
    };
}

events! {
    /// An operation starts.
    Op = "op", "operation starts", [OpStarts, SyncStarts];
    /// A bio is handed on.
    Bio = "bio", "bio submitted", [BioSubmitted];
    /// A bio ends, well or not.
    BioEnd = "bio-end", "bio ended", [BioCompleted, IoendFailed];
    /// A queue or a stripe cuts a bio.
    Cut = "cut", "bio cut", [BioSplit, StripeClipped];
    /// The device is given a request.
    Request = "request", "request issued", [RequestIssued];
    /// Bios join a request.
    Merge = "merge", "bios merged", [BackMerged, FrontMerged];
    /// The device is told to flush.
    Flush = "flush", "device flushed", [FlushSent];
    /// A folio comes into the cache.
    Folio = "folio", "folio added", [FolioMade, FolioMadeForRead];
    /// A folio leaves it.
    FolioGone = "folio-gone", "folio removed", [FolioRemoved, DirectDrops];
    /// A large folio becomes smaller ones.
    Split = "split", "folio split", [FolioSplit];
    /// Blocks are read from the device.
    Read = "read", "read from the device", [
        RunRead, ReadAdded, BufferReadFirst, BuffersToRead, FolioJoinsRead, MetadataRead
    ];
    /// A window is read ahead.
    Readahead = "readahead", "readahead", [ReadaheadWindow, ReadaheadPages];
    /// A write copies into a folio.
    Copy = "copy", "bytes copied in", [Copied, Stored];
    /// The file system gives a mapping.
    Mapping = "mapping", "mapping given", [
        Mapped, MappedForWriteback, DirectMapped, BlocksFound, BlocksBoundary, BlocksAllocated,
        BlocksReserved
    ];
    /// A folio goes under writeback.
    Writeback = "writeback", "writeback starts", [WritebackStarts, BuffersToWrite];
    /// Clean blocks go with dirty ones.
    Waste = "waste", "clean blocks written", [DirtyRun, UptodateRun];
    /// Its writeback ends.
    WritebackEnd = "writeback-end", "writeback ends", [WritebackEnds];
    /// A size moves, in memory or on the device.
    Size = "size", "file size moves", [SizeMoved, DiskSizeMoved, SizeRecorded];
    /// Somebody waits.
    Wait = "wait", "somebody waits", [
        WaitsForWriteback, WaitsForLock, WaitsToShare, WaitsToExclude, DirectWaits
    ];
    /// A task pauses as too much is dirty.
    Pause = "pause", "task pauses", [Paused];
    /// A page fault.
    PageFault = "page-fault", "page fault", [MadeWritable, PageMapped];
    /// The array decides about rows.
    Rows = "rows", "array rows written", [RowsFull, RowsRmw, RowsRcw, RowsDelayed];
    /// Something that was armed goes wrong.
    Fault = "fault", "fault", [
        FaultFired, FaultGives, DeviceFails, BeyondDevice, DeviceDelays, DeviceGone, FlushFails,
        FlushLies, MemberFails, ZoneRefuses, PowerCut
    ];
    /// An error is kept or told.
    Error = "error", "error", [ErrorRecorded, ErrorReported, ErrorChecked, MappingFailed];
    /// An invariant breaks.
    Broken = "broken", "invariant broken", [InvariantBroken];
}

impl Event {
    /// Whether a step is of this kind.
    pub const fn is(self, step: &Step) -> bool {
        let [_, _, written, asked] = step.args;
        self.has(step.rule) && (!matches!(self, Self::Waste) || written > asked)
    }
    /// The kind with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|one| one.word() == word).copied()
    }
}
