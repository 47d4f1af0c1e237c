//! Switches: what a patch changes is one named switch with named values. A profile names a set.
//!
//! "Before" and "after" are two settings of one engine. A switch that no code reads yet does not
//! stand here.

use core::fmt;

macro_rules! switch {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $value:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $($(#[$vdoc])* $value,)* }

        impl $name {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$value,)*];
            /// The name of the value.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$value => $text,)* }
            }
            /// The value with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

switch! {
    /// Which blocks of a dirty folio writeback writes.
    DirtyTracking {
        /// All that are uptodate: dirt is known per folio only (before 6.6).
        PerFolio = "per-folio",
        /// Those whose dirty bit is set, by the rules of the second RFC (2023): the bits of the
        /// whole asked length are set, and only those up to EOF are cleared.
        PerBlockRfc2 = "per-block-rfc2",
        /// Those whose dirty bit is set, as merged in 6.6.
        PerBlock = "per-block",
    }
}

switch! {
    /// Into how large pieces a buffered write is cut, and which folios it asks for.
    WriteChunk {
        /// A page at a time, into one-page folios (before 6.6).
        Page = "page",
        /// As much as a huge page holds (2 MiB with pages of 4 KiB), whatever the mapping's folios
        /// are (6.6 to 6.9). No folio has two pages.
        MaxOrder = "max-order",
        /// Up to the mapping's largest folio (6.10).
        MappingMax = "mapping-max",
    }
}

switch! {
    /// Whether the size that an ioend counts for the file ends at EOF.
    IoSizeClamp {
        /// Whole blocks.
        Off = "off",
        /// Byte-accurate (6.13).
        On = "on",
    }
}

switch! {
    /// How the window of pages that are read ahead, and the order of their folios, are chosen.
    ReadaheadRules {
        /// One routine for a miss and for a hit of the mark: a window that its own mark would
        /// trigger
        /// at once takes in the next one. The mark is rounded up to a folio; folios of order 1 are
        /// avoided (before 6.11).
        OneRoutine = "one-routine",
        /// A routine each; the order is that of the marked folio and two more (6.11).
        FolioOrder = "folio-order",
        /// The order is kept with the window, and the window's end is aligned to it (6.17).
        WindowOrder = "window-order",
    }
}

switch! {
    /// How much of a folio that is read alone one mapping is used for.
    ReadFolioStep {
        /// One run of blocks; the next run asks for a mapping again (before 6.11).
        Run = "run",
        /// As much as the mapping covers.
        Mapping = "mapping",
    }
}

switch! {
    /// When a read bio that could still grow is sent.
    ReadSubmission {
        /// At the end of the whole read.
        AtEnd = "at-end",
        /// Before the next mapping is asked for, which may need a read of its own (7.3).
        BeforeNextMapping = "before-next-mapping",
        /// Before the next mapping, but only where the file system says that asking for it takes a
        /// read: the reviewer's way (2024).
        BoundaryFlag = "boundary-flag",
        /// Each range at once: no kernel does it.
        Immediate = "immediate",
    }
}

switch! {
    /// How a folio with block state counts what is still to be read of it; at zero its read ends.
    ReadPending {
        /// Pieces of bios, each added before the bio before it is sent (before 5.10).
        Segments = "segments",
        /// Bytes, added in the same way (5.10 to 6.18).
        Additive = "additive",
        /// All its bytes at once; whoever fills it takes off what needs no I/O at the end (6.19).
        FolioSize = "folio-size",
    }
}

switch! {
    /// Which blocks lose their dirty bit when a byte range is cleared.
    ClearRounding {
        /// All that the range touches.
        Outward = "outward",
        /// Those that lie wholly in it; setting and clearing no byte changes nothing (2026).
        Inward = "inward",
    }
}

switch! {
    /// Which completed ioends become one.
    IoendMerge {
        /// Neighbours with equal flags.
        Flags = "flags",
        /// Those whose private data is the same, too (2026).
        Private = "private",
    }
}

switch! {
    /// In which order the requests of a plug are issued when its task does it.
    PlugOrder {
        /// The newest first (before 6.12).
        Lifo = "lifo",
        /// The oldest first.
        Fifo = "fifo",
    }
}

switch! {
    /// Which blocks the first store to a page of a folio makes dirty.
    MkwriteDirt {
        /// All of the folio, also those beyond EOF.
        WholeFolio = "whole-folio",
        /// Those up to the block of EOF (2026).
        UpToEof = "up-to-eof",
    }
}

switch! {
    /// When a write makes its folio count as used.
    FirstAccess {
        /// After the copy, by an atomic operation (up to 3.15).
        MarkAfterVisible = "mark-after-visible",
        /// At the lookup; a new folio by a plain store before it can be seen (3.16).
        InitBeforeVisible = "init-before-visible",
        /// Never (4.7).
        None = "none",
    }
}

switch! {
    /// How the bytes of a folio whose write has not ended are counted while it is mapped.
    WritePending {
        /// Each block as it is added. The writeback mark is set after that, and what is to be sent
        /// waits until the folio is unlocked (before 6.9).
        PerBlock = "per-block",
        /// Each range as it is added, and one more until all are (6.9).
        Biased = "biased",
        /// All of the folio at first; what was not added is taken off in the end (6.19).
        FolioSize = "folio-size",
    }
}

switch! {
/// What zeroing does where the device reads as zero but the cache over it is dirty.
    ZeroFlush {
        /// Skips it (before 6.12).
        Never = "never",
        /// Writes the cache first and asks again, over holes and unwritten blocks (6.12).
        HoleOrUnwritten = "hole-or-unwritten",
        /// The same, but a dirty block of which the range has only the end is zeroed by itself
        /// (6.13 to 6.18).
        AfterFirstBlock = "after-first-block",
        /// Writes it over unwritten blocks only (2026).
        Unwritten = "unwritten",
    }
}

switch! {
    /// How a large folio that loses some of its pages is split.
    FolioSplit {
        /// Into the smallest folios.
        Uniform = "uniform",
        /// Into halves of halves around the page where it loses them (6.15).
        NonUniform = "non-uniform",
    }
}

switch! {
    /// What inserting a range writes back before the file grows.
    InsertFlush {
        /// Nothing.
        None = "none",
        /// The folio that holds EOF (7.3).
        EofFolio = "eof-folio",
    }
}

switch! {
    /// What ends bios where a stripe of a device ends of which parts are expensive.
    StripeAlignment {
        /// Nothing (up to 7.0).
        None = "none",
        /// Writeback cuts its bios there, counting from the start of its partition (proposed 2025).
        Iomap = "iomap",
        /// The same, counting from the start of the disk, where the stripes are.
        IomapDevice = "iomap-device",
        /// As proposed in review: what is left of a piece takes its bytes from the piece's start
        /// again. No kernel has it.
        IomapStaleOffset = "iomap-stale-offset",
        /// The queue of RAID4/5/6 cuts bios of any origin (7.1).
        BlockSplit = "block-split",
    }
}

switch! {
    /// Whether somebody is said to wait for the bios of a direct read.
    DirectReads {
        /// No.
        Plain = "plain",
        /// Yes, as for those of a write (6.18).
        Sync = "sync",
    }
}

switch! {
    /// How a buffered write to a block device goes.
    BdevWrite {
        /// Page by page, as in `generic_perform_write` (before 6.6).
        Generic = "generic",
        /// Through iomap, whose mapping says that buffers keep the blocks (6.6).
        Iomap = "iomap",
    }
}

switch! {
    /// Whether a write looks, once it has the folio, if its mapping still says the truth.
    MappingCheck {
        /// It does not: what was unwritten when it was asked is zeroed, whatever was written there
        /// meanwhile (before 6.2).
        None = "none",
        /// It does, and asks again if not.
        Cookie = "cookie",
    }
}

switch! {
    /// How large the folios of files are that keep their blocks in buffers.
    BufferFolios {
        /// Pages (before 6.16).
        Smallest = "smallest",
        /// As large as those of iomap, for block devices and ext4.
        Large = "large",
    }
}

switch! {
    /// Whether readers that add or fill folios keep out who frees the blocks behind them.
    InvalidateLock {
        /// Nobody takes the lock: no kernel does that; it shows what the lock is for.
        Off = "off",
        /// Readers share it, truncate and fallocate have it alone (before 6.12).
        On = "on",
        /// So does a write of XFS that begins behind EOF, while it zeroes up to its start (6.12).
        OverGaps = "over-gaps",
    }
}

switch! {
    /// Which request mq-deadline sends next where no deadline has passed.
    DeadlineNext {
        /// The one behind the last, as it was known when that was sent (before 6.5).
        Latter = "latter",
        /// The first at or behind the place of the last.
        Position = "position",
    }
}

switch! {
    /// When the thread of an array handles rows that a bio has given it.
    ArrayThread {
        /// Once the submitter sleeps: the next bios may fill the row. So it is on one processor.
        SubmitterSleeps = "submitter-sleeps",
        /// After each bio: what its end leaves of a row is handled by itself.
        EachBio = "each-bio",
    }
}

macro_rules! behaviours {
    ($($name:ident: $switch:ident,)*) => {
        /// One value for every switch.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct Behaviours {
            $(#[doc = concat!("See [`", stringify!($switch), "`].")] pub $name: $switch,)*
        }

        impl Behaviours {
            /// The name of every switch.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name),)*];
            /// The switches by name and value.
            pub fn switches(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
                [$((stringify!($name), self.$name.name()),)*].into_iter()
            }
            /// The values that a switch can have; none: no switch has this name.
            pub fn values(name: &str) -> Option<Vec<&'static str>> {
                match name {
                    $(stringify!($name) => {
                        Some($switch::ALL.iter().map(|value| value.name()).collect())
                    })*
                    _ => None,
                }
            }
            /// Sets one switch by name and value; the error names what was expected.
            pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
                let known: Vec<&str> = match name {
                    $(stringify!($name) => {
                        if let Some(found) = $switch::from_name(value) {
                            self.$name = found;
                            return Ok(());
                        }
                        $switch::ALL.iter().map(|value| value.name()).collect()
                    })*
                    _ => {
                        let known = Self::NAMES.join(", ");
                        return Err(format!("no switch `{name}`: expected one of {known}"));
                    }
                };
                let known = known.join(", ");
                Err(format!("{name} cannot be `{value}`: expected one of {known}"))
            }
        }
    };
}

behaviours! {
    dirty_tracking: DirtyTracking,
    write_chunk: WriteChunk,
    io_size_clamp: IoSizeClamp,
    readahead_rules: ReadaheadRules,
    read_folio_step: ReadFolioStep,
    read_submission: ReadSubmission,
    read_pending: ReadPending,
    clear_rounding: ClearRounding,
    ioend_merge: IoendMerge,
    plug_order: PlugOrder,
    mkwrite_dirt: MkwriteDirt,
    first_access: FirstAccess,
    write_pending: WritePending,
    zero_flush: ZeroFlush,
    folio_split: FolioSplit,
    insert_flush: InsertFlush,
    stripe_alignment: StripeAlignment,
    direct_reads: DirectReads,
    mapping_check: MappingCheck,
    invalidate_lock: InvalidateLock,
    bdev_write: BdevWrite,
    buffer_folios: BufferFolios,
    deadline_next: DeadlineNext,
    array_thread: ArrayThread,
}

/// How a profile is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Evidence {
    /// Compared with what this kernel did.
    Seen,
    /// Read in its source only.
    ByReading,
}

impl Evidence {
    /// Words that stand beside the profile's name.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Seen => "seen",
            Self::ByReading => "by reading",
        }
    }
}

/// A named set of switches: a kernel release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Such as `linux-6.18`.
    pub name: &'static str,
    /// How we know.
    pub evidence: Evidence,
    /// The switches.
    pub behaviours: Behaviours,
}

const LINUX_5_15: Behaviours = Behaviours {
    dirty_tracking: DirtyTracking::PerFolio,
    write_chunk: WriteChunk::Page,
    io_size_clamp: IoSizeClamp::Off,
    readahead_rules: ReadaheadRules::OneRoutine,
    read_folio_step: ReadFolioStep::Run,
    read_submission: ReadSubmission::AtEnd,
    read_pending: ReadPending::Additive,
    clear_rounding: ClearRounding::Outward,
    ioend_merge: IoendMerge::Flags,
    plug_order: PlugOrder::Lifo,
    mkwrite_dirt: MkwriteDirt::WholeFolio,
    first_access: FirstAccess::None,
    write_pending: WritePending::PerBlock,
    zero_flush: ZeroFlush::Never,
    folio_split: FolioSplit::Uniform,
    insert_flush: InsertFlush::None,
    stripe_alignment: StripeAlignment::None,
    direct_reads: DirectReads::Plain,
    mapping_check: MappingCheck::None,
    invalidate_lock: InvalidateLock::On,
    bdev_write: BdevWrite::Generic,
    buffer_folios: BufferFolios::Smallest,
    deadline_next: DeadlineNext::Latter,
    array_thread: ArrayThread::SubmitterSleeps,
};
/// Of kernels before iomap: what the switches say, and no more.
const LINUX_3_15: Behaviours =
    Behaviours { first_access: FirstAccess::MarkAfterVisible, ..LINUX_5_15 };
const LINUX_3_16: Behaviours =
    Behaviours { first_access: FirstAccess::InitBeforeVisible, ..LINUX_5_15 };
const LINUX_6_6: Behaviours = Behaviours {
    dirty_tracking: DirtyTracking::PerBlock,
    write_chunk: WriteChunk::MaxOrder,
    mapping_check: MappingCheck::Cookie,
    bdev_write: BdevWrite::Iomap,
    deadline_next: DeadlineNext::Position,
    ..LINUX_5_15
};
const LINUX_6_12: Behaviours = Behaviours {
    write_chunk: WriteChunk::MappingMax,
    readahead_rules: ReadaheadRules::FolioOrder,
    zero_flush: ZeroFlush::HoleOrUnwritten,
    invalidate_lock: InvalidateLock::OverGaps,
    read_folio_step: ReadFolioStep::Mapping,
    write_pending: WritePending::Biased,
    plug_order: PlugOrder::Fifo,
    ..LINUX_6_6
};
const LINUX_6_18: Behaviours = Behaviours {
    io_size_clamp: IoSizeClamp::On,
    readahead_rules: ReadaheadRules::WindowOrder,
    zero_flush: ZeroFlush::AfterFirstBlock,
    folio_split: FolioSplit::NonUniform,
    direct_reads: DirectReads::Sync,
    buffer_folios: BufferFolios::Large,
    ..LINUX_6_12
};
const LINUX_7_3: Behaviours = Behaviours {
    read_submission: ReadSubmission::BeforeNextMapping,
    read_pending: ReadPending::FolioSize,
    write_pending: WritePending::FolioSize,
    zero_flush: ZeroFlush::HoleOrUnwritten,
    insert_flush: InsertFlush::EofFolio,
    stripe_alignment: StripeAlignment::BlockSplit,
    ..LINUX_6_18
};
const NEXT: Behaviours = Behaviours {
    clear_rounding: ClearRounding::Inward,
    ioend_merge: IoendMerge::Private,
    mkwrite_dirt: MkwriteDirt::UpToEof,
    zero_flush: ZeroFlush::Unwritten,
    ..LINUX_7_3
};

/// The profiles that differ by the switches there are, oldest first.
pub const PROFILES: &[Profile] = &[
    profile("linux-3.15", Evidence::ByReading, LINUX_3_15),
    profile("linux-3.16", Evidence::ByReading, LINUX_3_16),
    profile("linux-5.15", Evidence::ByReading, LINUX_5_15),
    profile("linux-6.1", Evidence::Seen, LINUX_5_15),
    profile("linux-6.6", Evidence::ByReading, LINUX_6_6),
    profile("linux-6.12", Evidence::Seen, LINUX_6_12),
    USUAL,
    profile("linux-7.3", Evidence::Seen, LINUX_7_3),
    profile("next", Evidence::ByReading, NEXT),
];

/// The profile of a run that names none.
const USUAL: Profile = profile("linux-6.18", Evidence::Seen, LINUX_6_18);

const fn profile(name: &'static str, evidence: Evidence, behaviours: Behaviours) -> Profile {
    Profile { name, evidence, behaviours }
}

impl Profile {
    /// The profile with this name.
    pub fn named(name: &str) -> Option<Self> {
        PROFILES.iter().copied().find(|profile| profile.name == name)
    }
    /// The profile of a run that names none.
    pub const fn usual() -> Self {
        USUAL
    }
}

impl Default for Behaviours {
    /// Those of a run that names no profile.
    fn default() -> Self {
        Profile::usual().behaviours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for value in DirtyTracking::ALL {
            assert_eq!(DirtyTracking::from_name(value.name()), Some(*value));
        }
        for profile in PROFILES {
            assert_eq!(Profile::named(profile.name), Some(*profile));
        }
        assert_eq!(Profile::named("linux-2.4"), None);
    }
}
