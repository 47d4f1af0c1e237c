//! The rules that a step can name: each with the kernel function that it follows and a sentence
//! that is rendered, on demand, from the rule's inputs.
//!
//! In a sentence `{n}` is input n as a number, `{nb}` as bytes for people, `{nx}` in hex, `{ns}` as
//! the sector of a device byte, `{nt}` as a mapping type, `{nr}` as the reason a bio ended, `{no}`
//! as an operation, `{nd}` as a result, `{nk}` as a lock, `{nw}` as the reason of a cut, `{nl}` and
//! `{nh}` its low and high half; `{na}` is all or none, `{np}` the end of the bio before, `{nf}` a
//! point of faults, `{ne}` the name of an error, `{ni}` that of an invariant, `{nq}` what becomes
//! of a file after a chunk of it.

use super::step::Grain;
use crate::block::bio::BioEnd;
use crate::block::split::CutWhy;
use crate::dirty::flusher::After;
use crate::errno::Errno;
use crate::fault::FaultPoint;
use crate::iomap::MapType;
use crate::ops::{OpKind, OpResult};
use crate::units::{Bytes, DevAddr};
use core::fmt::Write as _;

macro_rules! rules {
    ($(
        $(#[$doc:meta])*
        $name:ident = $code:literal, $grain:ident, $function:literal, $text:literal;
    )*) => {
        /// A rule of the engine.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u16)]
        pub enum Rule { $($(#[$doc])* $name = $code,)* }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// The code in the wire format; never used again for another rule.
            pub const fn code(self) -> u16 {
                self as u16
            }
            /// The rule with this code.
            pub const fn from_code(code: u16) -> Option<Self> {
                match code { $($code => Some(Self::$name),)* _ => None }
            }
            /// How coarse its steps are.
            pub const fn grain(self) -> Grain {
                match self { $(Self::$name => Grain::$grain,)* }
            }
            /// The kernel function that it follows.
            pub const fn function(self) -> &'static str {
                match self { $(Self::$name => $function,)* }
            }
            const fn template(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

rules! {
    /// An operation starts.
    OpStarts = 1, Op, "vfs", "{0o} of {2b} at {1x} starts";
    /// An operation on a whole file starts.
    SyncStarts = 55, Op, "vfs", "{0o} starts";
    /// An operation ends.
    OpEnds = 2, Op, "vfs", "{0o} returns {1d}";
    /// The file system gave a mapping.
    Mapped = 3, Function, "iomap_iter", "mapping: {2t} from {0x}, {1b}, device sector {3s}";
    /// A folio was in the cache.
    FolioFound = 4, Function, "__filemap_get_folio", "page {0} is cached in a folio of order {1}: used up to its end";
    /// A folio was made.
    FolioMade = 5, Function, "__filemap_get_folio", "new folio of order {0} at page {1}: {2b} are left in the chunk, and index, limits and neighbours allow no more";
    /// A read made a folio.
    FolioMadeForRead = 6, Function, "filemap_create_folio", "new folio of order {0} at page {1}, to be read";
    /// The write covers the whole folio.
    WholeFolio = 7, Function, "__iomap_write_begin", "the write covers the whole folio: no read, no block state";
    /// Block state was allocated.
    StateAllocated = 8, Function, "ifs_alloc", "block state for {0} blocks: {1a} uptodate, {2a} dirty, as the folio itself";
    /// The folio has every byte.
    AlreadyUptodate = 9, Delta, "__iomap_write_begin", "the folio is uptodate: nothing to read";
    /// The run is overwritten whole.
    RunOverwritten = 10, Delta, "__iomap_write_begin", "the run of {1b} at {0x} is overwritten whole: no read";
    /// The run is zeroed instead of read.
    RunZeroed = 11, Function, "iomap_block_needs_zeroing", "the run of {1b} at {0x} has no data on the device ({2t}): zeroed where the write does not reach";
    /// The run is read before it is modified.
    RunRead = 12, Function, "iomap_read_folio_sync", "the run of {1b} at {0x} is not uptodate and its edge is kept: the whole run is read first";
    /// Bytes were copied from the application.
    Copied = 13, Function, "copy_folio_from_iter_atomic", "{2b} of {1b} copied to {0x}";
    /// The copy could not be used.
    CopyRejected = 14, Function, "iomap_write_end", "only {2b} of {1b} could be copied and the folio is not uptodate: none of it counts";
    /// Bits after a copy.
    BitsSet = 15, Function, "iomap_write_end", "blocks {0} to {1} of the folio become uptodate and dirty";
    /// The folio became dirty.
    FolioDirtied = 16, Delta, "filemap_dirty_folio", "the folio at {0x} was clean and is now dirty";
    /// `i_size` moved.
    SizeMoved = 17, Function, "i_size_write", "i_size moves from {0} to {1} bytes";
    /// The user buffer was touched.
    FaultedIn = 18, Delta, "fault_in_iov_iter_readable", "{1b} of the user buffer from byte {0}: touched pages: {3}, present: {2b}";
    /// The folio is complete and unlocked.
    ReadEnds = 19, Function, "folio_end_read", "read of the folio at {0x} ends, uptodate: {1}";
    /// A read copies bytes out.
    CopiedOut = 20, Function, "filemap_read", "{1b} from {0x} copied to the application";
    /// The folio was in the cache when the run began.
    FolioSeeded = 70, Function, "start", "folio of order {0} at page {1}: in the cache from the start";
    /// Bits of a byte range were changed by themselves.
    BitsChanged = 71, Function, "iomap_clear_range_dirty", "bits of {2b} from byte {1} of the folio at {0x} change";
    /// Writeback takes a folio.
    WritebackFolio = 21, Function, "writeback_iter", "folio of {1b} at {0x} is dirty: taken, its dirty mark cleared for I/O";
    /// The folio lies beyond EOF.
    BeyondEof = 22, Function, "iomap_writeback_handle_eof", "the folio at {0x} lies beyond EOF at {1}: skipped, stays clean";
    /// The folio straddles EOF.
    TailZeroed = 23, Function, "iomap_writeback_handle_eof", "the folio at {0x} straddles EOF at {1}: its tail is zeroed in memory";
    /// A dirty run was found.
    DirtyRun = 24, Function, "iomap_find_dirty_range", "blocks {0} to {1} are dirty: {2b} to write, {3b} of it asked for";
    /// An uptodate run stands in for a dirty one.
    UptodateRun = 25, Function, "iomap_writepage_map", "blocks {0} to {1} are uptodate in a dirty folio: {2b} to write, {3b} of it asked for";
    /// The range goes to nobody.
    HoleSkipped = 26, Function, "iomap_writeback_range", "{1b} at {0x} lie in a hole: truncated under us, skipped";
    /// A new ioend begins.
    IoendNew = 27, Function, "iomap_alloc_ioend", "new bio for {1b} at {0x}, sector {2s}; {3p}";
    /// The range joins the ioend.
    IoendJoins = 28, Function, "iomap_can_add_to_ioend", "{1b} at {0x} join the bio: file offset and sector {2s} follow on, the type is the same";
    /// `io_size` was clamped.
    IoSizeClamped = 29, Delta, "iomap_add_to_ioend", "io_size ends at EOF: {0b} instead of {1b}";
    /// A bio was handed on.
    BioSubmitted = 30, Function, "submit_bio", "bio {0}: {2b} at sector {1s} submitted; it {3r}";
    /// The open ioend of a walk that failed.
    IoendFailed = 160, Function, "iomap_submit_ioend", "a part of this walk failed: bio {0}, {2b} at sector {1s}, is not sent and completes with error {3}";
    /// A bio completed.
    BioCompleted = 31, Function, "bio_endio", "bio {0} of {1b} completes, error {2}";
    /// A folio's writeback ended.
    WritebackEnds = 32, Function, "folio_end_writeback", "the last bytes of the folio at {0x} are on the device: writeback ends";
    /// Unwritten blocks became written ones.
    Converted = 33, Function, "xfs_iomap_write_unwritten", "{1b} at {0x}: unwritten becomes written";
    /// Completed ioends became one.
    IoendsMerged = 164, Function, "iomap_ioend_try_merge", "{2} completed bios follow each other: the {1b} at {0x} are recorded as one";
    /// New blocks took the place of shared ones.
    Remapped = 161, Function, "xfs_reflink_end_cow", "{1b} at {0x}: the new blocks take the place of the shared ones";
    /// `disk_size` moved.
    DiskSizeMoved = 34, Function, "xfs_setfilesize", "disk_size moves from {0} to {1} bytes";
    /// A reservation became space.
    SpaceAllocated = 35, Function, "xfs_bmapi_convert_delalloc", "the reservation of {1b} at {0x} gets space at sector {2s}, as unwritten blocks";
    /// Somebody waits for writeback.
    WaitsForWriteback = 36, Function, "folio_wait_writeback", "waits until the folio at {0x} is written";
    /// Somebody waits for the lock.
    WaitsForLock = 37, Function, "folio_lock", "waits for the lock of the folio at {0x}";
    /// The device is told to flush.
    FlushSent = 38, Function, "blkdev_issue_flush", "the device is told to make its cache durable";
    /// The flush is done.
    FlushDone = 39, Function, "blkdev_issue_flush", "the device's cache is durable, error {0}";
    /// The mapping remembers an error.
    ErrorRecorded = 40, Function, "mapping_set_error", "error {0} at {1x} is kept for the next fsync of each open file";
    /// An error was reported.
    ErrorReported = 41, Function, "file_check_and_advance_wb_err", "error {0} is reported once to this file";
    /// An invariant is broken.
    InvariantBroken = 42, Function, "check", "invariant {0i} is broken at {1x}";
    /// A gap before a write beyond EOF is zeroed.
    GapZeroed = 43, Function, "iomap_zero_range", "the write starts beyond EOF: [{0}, {1}) must read as zero";
    /// A mapping is skipped while zeroing.
    ZeroSkipped = 44, Function, "iomap_zero_iter", "{1b} at {0x} are {2t}: they read as zero already";
    /// Bytes of a folio were zeroed.
    Zeroed = 45, Function, "iomap_zero_iter", "{1b} at {0x} zeroed in the cache";
    /// Space of a failed write was released.
    Released = 46, Function, "iomap_write_delalloc_release", "the write failed: the reservation of {1b} at {0x} is given back";
    /// Reads zero a run.
    ReadZeroed = 47, Function, "iomap_readpage_iter", "{1b} at {0x} are {2t} or beyond EOF: zeroed, no I/O";
    /// A read range joins or starts a bio.
    ReadAdded = 48, Function, "iomap_bio_read_folio_range", "{1b} at {0x} are read from sector {2s}";
    /// A folio left the cache.
    FolioRemoved = 49, Function, "filemap_remove_folio", "the folio at {0x} leaves the cache";
    /// Old records of finished work are dropped from the picture.
    Retired = 50, Delta, "trace", "records of finished work are dropped";
    /// The file as device gets its size.
    TargetSized = 51, Function, "ftruncate", "the target file is set to {0} bytes";
    /// A failed mapping in writeback.
    MappingFailed = 52, Function, "iomap_writeback_folio", "no mapping for {0x}: error {1}, the reservation is dropped";
    /// Writeback's mapping.
    MappedForWriteback = 54, Function, "iomap_writeback_range", "{1b} at {0x} still to be mapped: {2t}, sector {3s}";
    /// A read found nothing.
    ReadaheadMiss = 56, Function, "page_cache_sync_ra", "page {0} is not cached and {1l} pages are asked for; the window was {2l} pages";
    /// A read reached the marked folio.
    ReadaheadHit = 57, Function, "page_cache_async_ra", "the folio at page {0} carries the readahead mark: time for the window after one of {2l} pages";
    /// A window is read.
    ReadaheadWindow = 58, Function, "page_cache_ra_order", "window: {1l} pages from page {0} in folios of order {1h} at most, the mark {2} pages before its end";
    /// Pages are read one by one.
    ReadaheadPages = 59, Function, "page_cache_ra_unbounded", "{1} pages from page {0} in the smallest folios, the mark {2} pages before their end (0 = none)";
    /// Bytes that live with the inode.
    InlineCopied = 60, Function, "iomap_read_inline_data", "{1b} at {0x} live with the inode: copied, the rest of the folio zeroed";
    /// Bytes were given to the inode.
    InlineWritten = 162, Function, "iomap_write_end_inline", "{1b} at {0x} are copied back to the inode; the folio stays clean";
    /// Bytes moved from the inode to a block.
    Unstuffed = 163, Function, "gfs2_unstuff_dinode", "{0b} find no more room with the inode: they get a block at sector {1s}, and their folio is dirty";
    /// Pages of a mapping became readable without a fault.
    PageMapped = 61, Function, "filemap_map_pages", "{1} pages from page {0} on are mapped";
    /// The first store to a page of a folio.
    MadeWritable = 62, Function, "iomap_page_mkwrite", "a store to a page that is not writable: space for all {1b} of its folio at {0x}, and every block becomes dirty";
    /// Bytes were stored through a mapping.
    Stored = 63, Function, "store", "{1b} stored at {0x} through the mapping";
    /// Folios are handed to the file system to be read.
    FoliosToRead = 64, Function, "iomap_readahead", "{0} pages are to be read, as readahead: {1}";
    /// The file system reads a block of its own.
    MetadataRead = 65, Function, "iomap_begin", "{1b} of the file system's own at sector {0s} are read before it can give a mapping";
    /// A use of a folio that was not marked.
    Referenced = 100, Delta, "folio_mark_accessed", "the folio at {0x} is used: an atomic operation sets its referenced mark";
    /// A second use: active once the batch drains.
    ActivationQueued = 101, Delta, "folio_mark_accessed", "the folio at {0x} is used again: the mark goes, and it waits to become active";
    /// A further use while it waits.
    ActivationWaits = 115, Delta, "folio_mark_accessed", "the folio at {0x} is used again: the mark goes, and it waits to become active already";
    /// A second use before the folio reached a list.
    ActivatedInBatch = 102, Delta, "folio_mark_accessed", "the folio at {0x} is used again before it reached a list: the mark goes, and it is active";
    /// A second use, but another CPU holds the folio back.
    NotActivated = 103, Delta, "folio_mark_accessed", "the folio at {0x} is used again, but waits in the batch of another CPU: the mark goes, and nothing else";
    /// Folios become active.
    ActivationsDrained = 104, Delta, "folio_activate", "{0} folios that waited for it move to the active list";
    /// The mark before anybody can see the folio.
    InitReferenced = 105, Delta, "init_page_accessed", "the new folio at {0x} gets its referenced mark by a plain store: nobody can see it yet";
    /// Reclaim takes a folio.
    ScanTakes = 106, Function, "shrink_folio_list", "the folio at {0x} is clean and was not used twice: taken";
    /// Reclaim would take a folio that must be written.
    ScanMarks = 107, Function, "shrink_folio_list", "the folio at {0x} is dirty or being written: marked, to be taken once it is clean";
    /// Reclaim finds a folio in use.
    ScanActivates = 108, Function, "folio_check_references", "the folio at {0x} is mapped and was used again: it becomes active";
    /// Reclaim leaves a folio.
    ScanKeeps = 109, Function, "shrink_folio_list", "the folio at {0x} is locked, or mapped and was used: it stays";
    /// A folio is active no more.
    Deactivated = 110, Delta, "shrink_active_list", "the folio at {0x} was active longest: back to the inactive list, which is too short";
    /// A folio is the next to be taken.
    Rotated = 111, Delta, "folio_rotate_reclaimable", "reclaim waits for the folio at {0x}: it is the next to go";
    /// A reclaimed page is needed again, soon.
    RefaultActivates = 112, Function, "workingset_refault", "page {0} is back after {1} pages were evicted or activated, and {2} are active: it should have stayed, and is active at once";
    /// A reclaimed page is needed again, late.
    RefaultTooLate = 113, Function, "workingset_refault", "page {0} is back after {1} pages were evicted or activated, and only {2} are active: it could not have stayed";
    /// A write may dirty more.
    NotThrottled = 116, Delta, "balance_dirty_pages", "the write at {0x} may dirty more";
    /// A write would have to wait.
    WouldSleep = 117, Delta, "balance_dirty_pages", "too much is dirty: the write at {0x} sleeps before it dirties more";
    /// A write that may not wait would have to.
    MayNotSleep = 118, Delta, "balance_dirty_pages", "too much is dirty, and the write at {0x} may not sleep: EAGAIN";
    /// A folio goes under writeback: before it is mapped, or since all of it is (before 6.9).
    WritebackStarts = 119, Function, "folio_start_writeback", "the folio at {0x} goes under writeback, bytes pending: {1}";
    /// A task need not pause.
    BelowFreerun = 220, Delta, "balance_dirty_pages", "{0} pages are dirty or being written, and up to {1} nobody pauses: the task asks again after {2}";
    /// Where the dirty pages stand.
    DirtyPosition = 221, Delta, "wb_position_ratio", "{0l} pages are dirty or being written, the setpoint is {0h} and the limit {1l}: {1h}/1024 of the rate; {2l} of them are this device's, whose share is {2h}: {3}/1024";
    /// A chunk of a file ended.
    ChunkEnds = 222, Delta, "requeue_inode", "{1} pages of file {0} are on their way: {2q}";
    /// A task pauses.
    Paused = 223, Function, "balance_dirty_pages", "{0} pages were dirtied where {1} a second may be: the task pauses for {2} ms, after {3} ms that count already";
    /// A pause would be too short.
    PausePutOff = 224, Delta, "balance_dirty_pages", "{0} pages are due {1} ms, and {2} ms count already: less than {3} ms are left, no pause now";
    /// A pause is over.
    PauseEnded = 225, Function, "io_schedule_timeout", "the pause of {0} ms is over: the task asks again after {1} pages";
    /// A task does something else for a while.
    Thinks = 226, Function, "nanosleep", "the task does something else for {0} ms";
    /// The limits on dirty pages.
    DirtyLimitsSet = 227, Function, "domain_dirty_limits", "{0} pages can be dirty: the flusher writes above {1}, nobody dirties more at {2}, nobody pauses up to {3}";
    /// The limit moved.
    DirtyLimitMoved = 228, Delta, "update_dirty_limit", "the limit moves from {0} to {1} pages: the hard limit is {2}, and {3} are dirty";
    /// What a device writes.
    BandwidthEstimated = 229, Delta, "wb_update_write_bandwidth", "{0} pages were written in {1} ms: the device writes {2} pages/s, {3} smoothed";
    /// What tasks may dirty.
    RatelimitStepped = 230, Delta, "wb_update_dirty_ratelimit", "dirtied at {0} pages/s; {1} would keep the balance: the rate of a task goes from {2} to {3}";
    /// The flusher writes because too much is dirty.
    BackgroundWriteback = 231, Function, "wb_check_background_flush", "{1} pages are dirty, {0} of them this device's, and {2} may be: the flusher writes";
    /// The flusher writes what is old.
    PeriodicWriteback = 232, Function, "wb_check_old_data_flush", "{0} pages are dirty: the flusher looks for files dirty for {1} ms";
    /// Files are taken up.
    FilesQueued = 233, Delta, "queue_io", "{0} files were not finished, and {1} became dirty by {2} ms: taken up in this order";
    /// A chunk of a file begins.
    ChunkBegins = 234, Function, "writeback_sb_inodes", "file {0} is dirty for {3} ms: up to {1} pages from page {2} on";
    /// A copy into a file without a device.
    KeptInMemory = 114, Function, "shmem_write_end", "{1b} are in the folio at {0x}, the rest of it is zero: dirty for ever, and never written back";
    /// Part of a folio goes.
    TailCut = 120, Function, "truncate_inode_partial_folio", "the folio at {2x} reaches out of the range that goes: {1b} from {0x} on are zeroed in memory";
    /// A large folio became smaller ones.
    FolioSplit = 121, Function, "folio_split", "the folio of order {1} at {0x} is split around page {2}: {3} folios, each where it was in memory";
    /// A large folio stays whole.
    SplitRefused = 122, Function, "iomap_release_folio", "the folio of order {1} at {0x} is dirty: its block state is not given up, it is not split";
    /// Blocks became a hole.
    SpaceFreed = 123, Function, "xfs_bunmapi_range", "blocks from {0x} to {1x} become a hole";
    /// `disk_size` was set together with `i_size`.
    SizeRecorded = 124, Function, "xfs_setattr_size", "the recorded size becomes {1} instead of {0} bytes";
    /// The page of the old EOF.
    EofPageProtected = 125, Function, "pagecache_isize_extended", "blocks behind the old EOF at {1} are now inside the file: the next store to the folio at {0x} faults";
    /// Holes got space.
    SpacePreallocated = 126, Function, "xfs_alloc_file_space", "{1b} at {0x}: where nothing was there are unwritten blocks now";
    /// Extents move towards the start.
    ExtentsMovedDown = 127, Function, "xfs_bmap_collapse_extents", "extents from {0x} on move down by {1b}";
    /// Extents move towards the end.
    ExtentsMovedUp = 128, Function, "xfs_bmap_insert_extents", "extents from {0x} on move up by {1b}";
    /// Zeroing met dirty cache.
    ZeroFlushes = 129, Function, "iomap_zero_iter_flush_and_stale", "the cache from {0x} on was dirty and a mapping is {2t}: {1b} are written first, then the mapping is asked for again";
    /// A seek has its answer.
    SeekAnswers = 130, Function, "iomap_seek_data", "from {0x} on the first place that answers is {1x}: {2t} there";
    /// Shared blocks are to be copied.
    Unshared = 131, Function, "iomap_unshare_iter", "{1b} at {0x} share their blocks: dirty as they are, so that they get others";
    /// A direct read or write begins.
    DirectBegins = 170, Function, "iomap_dio_rw", "direct I/O of {1b} at {0x}: cached data of the range is written and waited for, which a write then drops";
    /// A folio left for a direct write.
    DirectDrops = 171, Function, "invalidate_inode_pages2_range", "the folio at {0x} goes as a whole, {1b} of it in the range of the direct write";
    /// A folio could not leave for a direct write.
    DirectKeeps = 172, Function, "invalidate_inode_pages2_range", "the folio at {0x} stays: dirty again, or not to be released (error {1})";
    /// The whole write goes through the cache.
    DirectFallsBack = 173, Function, "iomap_dio_rw", "{1b} at {0x} are written through the cache instead";
    /// Bytes of a mapping go to the device, or come from it.
    DirectMapped = 174, Function, "iomap_dio_bio_iter", "{1b} at {0x} are {2t}, sector {3s}: bios over the application's memory";
    /// A direct read finds nothing on the device.
    DirectZeroed = 175, Function, "iomap_dio_hole_iter", "{1b} at {0x} are {2t}: the application's memory is zeroed, no I/O";
    /// The rest of a block that was not written before.
    DirectPads = 176, Function, "iomap_dio_zero", "{1b} at {0x} share a block with the direct write: zeroed on the device";
    /// A mapping that direct I/O cannot use.
    DirectRefused = 177, Function, "iomap_dio_iter", "{1b} at {0x} are {2t}: nothing that direct I/O can use, error {3}";
    /// All bios of a direct read or write are sent.
    DirectSent = 178, Function, "iomap_dio_rw", "all of it is sent: {1b} at {0x}, {2} bios have not ended; somebody waits: {3}";
    /// The records after a direct write.
    DirectRecorded = 179, Function, "iomap_dio_complete", "{1b} at {0x} are on the device: records first, then the cache is dropped once more, error {2}";
    /// A direct write found its range dirty afterwards.
    DirectCollides = 180, Function, "dio_warn_stale_pagecache", "the range was stored to meanwhile: the write at {0x} succeeds, the next fsync tells EIO";
    /// Nothing is in flight any more.
    DirectEnds = 181, Function, "inode_dio_end", "the direct I/O at {0x} ends with {1d}: {2} of the file are in flight";
    /// Somebody waits for direct I/O.
    DirectWaits = 182, Function, "inode_dio_wait", "waits until no direct I/O of the file is in flight: {0} are";
    /// A direct write needs the file for itself.
    DirectRetries = 183, Function, "xfs_file_dio_write_unaligned", "{1b} at {0x} are not whole blocks of data: once more, with the file locked for itself";
    /// Inline bytes of a direct read.
    DirectInline = 184, Function, "iomap_dio_inline_iter", "{1b} at {0x} live with the inode: copied to the application";
    /// A zone is to be empty.
    ZoneReset = 415, Function, "zonefs_inode_zone_mgmt", "the zone from sector {0s} on is reset: it is to be empty";
    /// A zone is to be full.
    ZoneFinished = 416, Function, "zonefs_inode_zone_mgmt", "the zone from sector {0s} on is finished: it is to take no write any more";
    /// A file that is a zone is as long as that is written.
    ZoneResized = 417, Function, "zonefs_file_truncate", "the file is as long as its zone is written: {1b} instead of {0b}";
    /// The zone's write pointer moved.
    ZonePointerMoved = 185, Function, "zonefs_file_dio_write", "the next write to the zone goes to {1x} instead of {0x}";
    /// Blocks of one file became blocks of another, too.
    Reflinked = 186, Function, "xfs_reflink_remap_extent", "{2b} at {1x} have the blocks of the source at {0x}: both share them ({3t})";
    /// Files are being linked.
    ReflinkFlushes = 187, Function, "xfs_reflink_remap_prep", "both ranges are written and waited for, and the cache of {1b} at {0x} of the destination is dropped";
    /// Files of the world are opened.
    FileOpened = 53, Op, "open", "file {0} of {1b} is opened";
    /// A bio got a request of its own.
    RequestAllocated = 80, Function, "blk_mq_get_new_requests", "request {0} for bio {1}: {3b} at sector {2s}";
    /// A request waits in the plug of its task.
    RequestPlugged = 81, Function, "blk_add_rq_to_plug", "request {0} waits in the task's plug, the number of its requests is {1}";
    /// A bio follows on behind the last request of the plug.
    BackMerged = 82, Function, "bio_attempt_back_merge", "bio {0} goes to the back of request {1}, which has {3b} at sector {2s} now";
    /// A bio ends where the last request of the plug begins.
    FrontMerged = 83, Function, "bio_attempt_front_merge", "bio {0} goes to the front of request {1}, which has {3b} at sector {2s} now";
    /// The plug ends.
    Unplugged = 84, Function, "blk_finish_plug", "the plug ends and lets its requests go: {0}";
    /// The task of a plug sleeps.
    UnpluggedToSleep = 85, Function, "blk_flush_plug", "the task is about to sleep: its plug lets its requests go: {0}";
    /// A plug can hold no more.
    UnpluggedFull = 86, Function, "blk_add_rq_to_plug", "the plug is full, or its last request long: it lets its requests go: {0}";
    /// A request waits for a worker.
    RequestInserted = 87, Function, "blk_mq_insert_request", "request {0} is inserted: a worker will issue it";
    /// A fault that somebody armed.
    FaultFired = 205, Function, "fault", "a fault is armed for {0f} at {1x}: it fails, {2e}";
    /// A fault that gives a mapping.
    FaultGives = 206, Function, "fault", "a fault is armed for {0f} at {1x}: the mapping is {2t}";
    /// The device fails a bio.
    DeviceFails = 207, Function, "device", "the device fails bio {0} of {1b} with {2e}; {3b} of it reach the medium";
    /// A bio is not for this device.
    BeyondDevice = 440, Function, "bio_check_eod", "bio {0} of {1b} at sector {2s} ends behind the end of the device, which has {3b}: it fails with EIO";
    /// The device is in no hurry.
    DeviceDelays = 208, Function, "device", "the device lets bio {0} of {1b} wait until others have ended: {2}";
    /// The device is gone.
    DeviceGone = 209, Function, "device", "the device is gone: from now on everything fails with {0e}";
    /// The device flushes nothing.
    FlushFails = 210, Function, "device", "the device fails the flush with {0e}";
    /// The device says that it flushed.
    FlushLies = 211, Function, "device", "the device says that its cache is durable, and does nothing";
    /// The power goes.
    PowerCut = 212, Op, "power", "the power goes and comes back: folios that were dirty: {0}, bios in flight: {1}, records that are lost: {2}; files are what the device has of them";
    /// An error that nobody was told of ends an operation.
    ErrorChecked = 213, Function, "filemap_check_errors", "the mapping keeps {0e} from a writeback, which is told here";
    /// A request was handed to the device.
    RequestIssued = 88, Function, "blk_mq_start_request", "request {0} is issued: {2b} at sector {1s}, bios in it: {3}";
    /// The device is done with a request.
    RequestCompleted = 89, Function, "blk_mq_end_request", "request {0} of {1b} completes, error {2}: its bios end in order";
    /// An operation waits to share a lock.
    WaitsToShare = 190, Function, "rwsem_down_read_slowpath", "waits for {0k}: operation {1} has it or came first";
    /// An operation waits to have a lock alone.
    WaitsToExclude = 191, Function, "rwsem_down_write_slowpath", "waits for {0k}: operation {1} has it or came first";
    /// An operation that waited has the lock.
    LockTaken = 192, Function, "rwsem_mark_wake", "has {0k} now";
    /// An operation that may not wait would have to.
    LockRefused = 193, Function, "down_read_trylock", "{0k} is not free, and this may not wait: EAGAIN";
    /// A bio is larger than the limits of the queue allow.
    BioSplit = 280, Function, "bio_submit_split", "bio {0} is cut at sector {2s}: the part from sector {1s} goes first, the rest is submitted again; {3w}";
    /// The file system's device is a partition.
    BioRemapped = 281, Function, "blk_partition_remap", "bio {0} of {3b}: sector {2s} of the partition is sector {1s} of the disk";
    /// A part of a bio is done.
    PartCompleted = 282, Function, "bio_chain_endio", "a part of bio {0} completes, parts left: {1}, error so far: {2}";
    /// Writeback ends a bio where a stripe of the device does.
    StripeClipped = 283, Function, "iomap_add_to_ioend", "{1b} at {0x} fit before the next stripe at sector {2s}: the other {3b} go on in a new bio";
    /// A folio got buffers.
    BuffersCreated = 250, Function, "create_empty_buffers", "{0} buffers for the folio: {1a} uptodate, {2a} dirty, as the folio itself";
    /// The file system said where blocks lie.
    BlocksFound = 251, Function, "get_block", "{2b} of {1b} asked for from {0x} lie at sector {3s}";
    /// The same, up to a boundary.
    BlocksBoundary = 252, Function, "get_block", "{2b} of {1b} asked for from {0x} lie at sector {3s}; mapping what follows takes a read (boundary)";
    /// Blocks were allocated.
    BlocksAllocated = 253, Function, "get_block", "{2b} from {0x} are new blocks at sector {3s}";
    /// Blocks were promised.
    BlocksReserved = 254, Function, "ext4_da_get_block_prep", "{2b} from {0x} are promised, without a place";
    /// There are no blocks.
    BlocksHole = 255, Function, "get_block", "nothing lies behind {2b} from {0x}: a hole";
    /// What a write does not cover of a new block is zeroed.
    NewBlockZeroed = 256, Function, "__block_write_begin_int", "{1b} at {0x} of a new block hold zeros: the write does not cover them";
    /// A block is read before it is modified.
    BufferReadFirst = 257, Function, "__block_write_begin_int", "the write covers the block at {0x} only in part: its {1b} are read first, from sector {2s}";
    /// Buffers after a copy.
    BuffersCommitted = 258, Function, "block_commit_write", "buffers {0} up to {1} become uptodate and dirty; {2} were looked at";
    /// Folios are to be read.
    BufferFoliosToRead = 259, Function, "mpage_readahead", "{0} pages are to be read through buffers, readahead: {1}";
    /// A folio cannot be read as a whole.
    ReadConfused = 260, Function, "do_mpage_readpage", "the folio at {0x} cannot be read in one piece: what there is is sent, and each block by itself";
    /// A folio joins a read bio.
    FolioJoinsRead = 261, Function, "do_mpage_readpage", "{1b} of the folio at {0x} join the read bio, sector {2s}";
    /// The end of a folio is a hole.
    FolioTailZeroed = 262, Function, "do_mpage_readpage", "{1b} at {0x} are a hole, or lie beyond EOF: zeroed";
    /// A block is a hole.
    BufferZeroed = 263, Function, "block_read_full_folio", "the block of {1b} at {0x} is a hole, or lies beyond EOF: zeroed";
    /// Blocks of a folio are read.
    BuffersToRead = 264, Function, "block_read_full_folio", "{1} buffers of the folio at {0x} are read, one bio each";
    /// The read of one block ended.
    BufferReadEnds = 265, Function, "end_buffer_async_read", "the block at {0x} is read; {1} other buffers looked at, one still under way: {2}";
    /// Blocks of a folio are written.
    BuffersToWrite = 266, Function, "block_write_full_folio", "{1} buffers of the folio at {0x} are dirty: writeback starts";
    /// The write of a block ended.
    BufferWriteEnds = 267, Function, "end_buffer_async_write", "blocks up to the one at {0x} are on the device; {1} buffers looked at, one still under way: {2}";
    /// A buffer was locked.
    FolioRedirtied = 268, Function, "folio_redirty_for_writepage", "a buffer of the folio at {0x} is locked and nobody may wait: the folio stays dirty";
    /// A block joins a write bio.
    BufferJoinsWrite = 269, Function, "io_submit_add_bh", "the block of {1b} at {0x} joins the bio, sector {2s}";
    /// A folio joins a write bio.
    FolioJoinsWrite = 270, Function, "__mpage_writepage", "{1b} of the folio at {0x} join the bio, sector {2s}";
    /// A folio cannot be written as a whole.
    WriteConfused = 271, Function, "__mpage_writepage", "the folio at {0x} cannot be written in one piece: what there is is sent, and each dirty buffer by itself";
    /// Requests of a plug go to the scheduler.
    ScheduledNext = 272, Function, "dd_dispatch_request", "mq-deadline sends request {0} next: the last one began at sector {1s}";
    /// The device is an array.
    ArrayMade = 284, Op, "md_run", "the device is an array of level {0} with {1} members and chunks of {2b}";
    /// Rows are written whole.
    RowsFull = 285, Function, "handle_stripe_dirtying", "{1} rows from sector {0s} of the members: all data is there, nothing is read";
    /// Parity is updated from what changes.
    RowsRmw = 286, Function, "handle_stripe_dirtying", "{1} rows from sector {0s} of the members: {2} blocks of each are read, what changes is added to parity";
    /// Parity is made anew.
    RowsRcw = 287, Function, "handle_stripe_dirtying", "{1} rows from sector {0s} of the members: {2} blocks of each are missing, {3} are read now, parity is made anew";
    /// Rows wait for more data.
    RowsDelayed = 288, Function, "handle_stripe_dirtying", "{1} rows from sector {0s} of the members: {2} blocks of each are missing, they wait for more data";
    /// Members are read.
    MembersRead = 289, Function, "ops_run_io", "{0b} are read from the members: data {1b}, P {2b}, Q {3b}";
    /// Members are written.
    MembersWritten = 290, Function, "ops_run_io", "{0b} are written to the members: data {1b}, P {2b}, Q {3b}";
    /// Members are written, and a log of it.
    MembersLogged = 413, Function, "ops_run_io", "{0b} are written to the members: data {1b}, parity {2b}, and before them {3b} to the log of what is under way";
    /// Members are written, and the bitmap.
    MembersNoted = 414, Function, "ops_run_io", "{0b} are written to the members: data {1b}, parity {2b}, and before them {3b} of the bitmap of what is under way";
    /// What became of rows.
    RowsCounted = 291, Delta, "raid5d", "rows so far handled: whole {0}, parity updated {1}, parity made anew {2}, delayed {3}";
    /// The two ways to make parity of rows are weighed.
    RowsWeighed = 350, Delta, "handle_stripe_dirtying", "parity from what changes would read {0} blocks of each row, parity anew {1}; a block of a failed member counts as more than there are";
    /// A member of an array fails.
    MemberFails = 351, Op, "md_error", "member {0} fails: nothing of it can be read or written any more";
    /// A member of an array is replaced.
    MemberReplaced = 352, Op, "raid5_add_disk", "an empty disk takes the place of member {0}: it is written, and not read before it is filled";
    /// It holds everything.
    MemberFilled = 353, Op, "md_do_sync", "{1b} of member {0} are made from the others: it works";
    /// Some of what it should hold is there.
    MemberFilledSoFar = 410, Op, "md_do_sync", "{1b} of member {0} are made from the others: up to sector {2s} it is read like them, and behind it written only";
    /// A later part of it is filled.
    FillingGoesOn = 411, Op, "md_do_sync", "members that were replaced are filled from sector {0s} on";
    /// What it should hold cannot be made.
    FillingStops = 412, Op, "md_do_sync", "filling stops at sector {0s} of the members: too much of that row is lost";
    /// All of an array is read.
    ArrayChecked = 354, Op, "md_do_sync", "{0} rows are read from all members; parity or a copy is wrong in {1} of them";
    /// All of an array is made right.
    ArrayRepaired = 355, Op, "md_do_sync", "{0} rows are read from all members; parity or a copy was wrong in {1} of them and is right now";
    /// The power is back, and a journal is played again.
    JournalReplayed = 356, Op, "r5c_recovery_flush_log", "{0b} of the journal are written to the members again: data and parity fit together";
    /// The power is back, and partial parities are there.
    ParityMended = 357, Op, "ppl_recover", "parity of {1} rows is made right for the data that is there, from the log of partial parities";
    /// The power is back, and nothing says what was under way.
    ArrayUnclean = 358, Op, "raid5_run", "the array was not stopped in good order: parity of any row may not fit its data before all are made anew";
    /// Nothing made parity fit.
    ParityUnfit = 370, Op, "raid5_run", "parity of {0} rows does not fit their data: a block of them that is lost now is made wrong";
    /// What a member took with it is made from parity that does not fit.
    BlocksDamaged = 371, Op, "ops_run_compute5", "{0b} that nobody wrote since are not what they were: parity that they are made from does not fit";
    /// A write is not where a zone takes one.
    ZoneRefuses = 360, Function, "device", "the device refuses bio {0} at sector {1s}: its zone takes the next write at sector {2s}, as far as it fits";
    /// An array cannot serve a bio.
    ArrayBioFails = 359, Function, "raid5_make_request", "bio {0} fails with {1e}: more members are lost than the array makes up for";
    /// A sync asks the flushers.
    SyncAsked = 310, Function, "wb_queue_work", "the flushers are asked to write everything that is dirty, and this task waits for them; they wait for what is being written already: {0}";
    /// A flusher writes for a sync.
    SyncWriteback = 311, Function, "wb_writeback", "a sync asks for everything: {0} files are dirty, and the flusher waits for what of them is being written already: {1}";
}

impl Rule {
    /// Whether an operation begins with a step of this rule.
    pub const fn starts_op(self) -> bool {
        matches!(self, Self::OpStarts | Self::SyncStarts)
    }
    /// The sentence with its inputs filled in.
    pub fn sentence(self, args: [u64; 4]) -> String {
        let mut out = String::with_capacity(self.template().len() + 16);
        self.write_sentence(&mut out, args);
        out
    }
    /// Adds that sentence to a text.
    pub fn write_sentence(self, out: &mut String, args: [u64; 4]) {
        let mut rest = self.template();
        while let Some(open) = rest.find('{') {
            out.push_str(&rest[..open]);
            let close = open + rest[open..].find('}').expect("templates are balanced");
            push_arg(out, &rest[open + 1..close], args);
            rest = &rest[close + 1..];
        }
        out.push_str(rest);
    }
    /// What all of its sentences share: the words around the inputs, one part more than there are
    /// inputs.
    pub fn fixed_words(self) -> impl Iterator<Item = &'static str> {
        let parts = self.template().split('{').enumerate();
        parts.map(|(at, part)| {
            let input = if at == 0 { 0 } else { part.find('}').map_or(0, |close| close + 1) };
            &part[input..]
        })
    }
}

fn push_arg(out: &mut String, spec: &str, args: [u64; 4]) {
    let (index, form) = spec.split_at(1);
    let value = args[index.parse::<usize>().expect("templates name inputs 0 to 3")];
    let written = match form {
        "" => write!(out, "{value}"),
        "b" => write!(out, "{}", Bytes::new(value)),
        "x" => write!(out, "{value:#x}"),
        "s" if value == u64::MAX => write!(out, "none"),
        "s" => write!(out, "{}", DevAddr::new(value).sector_floor()),
        "t" => write!(out, "{}", MapType::from_code(value).map_or("?", MapType::name)),
        "r" => write!(out, "{}", BioEnd::from_code(value).map_or("?", BioEnd::words)),
        "w" => write!(out, "{}", CutWhy::from_code(value).map_or("?", CutWhy::words)),
        "l" => write!(out, "{}", value & u64::from(u32::MAX)),
        "h" => write!(out, "{}", value >> 32),
        "q" => write!(out, "{}", After::from_code(value).map_or("?", After::words)),
        "a" => write!(out, "{}", if value == 0 { "none" } else { "all" }),
        "p" => match BioEnd::from_code(value) {
            Some(BioEnd::Open) | None => write!(out, "no bio was open"),
            Some(end) => write!(out, "the bio before it {}", end.words()),
        },
        "f" => {
            let point = usize::try_from(value).ok().and_then(|at| FaultPoint::ALL.get(at));
            write!(out, "{}", point.map_or("?", |point| point.name()))
        }
        "i" => {
            let number = u8::try_from(value).unwrap_or_default();
            write!(out, "{}", crate::check::invariants::name(number))
        }
        "e" => {
            let errno = u8::try_from(value).ok().and_then(Errno::from_number);
            write!(out, "{}", errno.map_or("?", Errno::name))
        }
        "o" => write!(out, "{}", OpKind::from_code(value).map_or("?", OpKind::name)),
        "k" => write!(out, "{}", crate::locks::words(value)),
        "d" => write!(out, "{}", OpResult::unpack(value)),
        other => unreachable!("template form {other}"),
    };
    written.expect("a String takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sentence_renders_and_every_code_goes_both_ways() {
        for rule in Rule::ALL {
            let text = rule.sentence([1, 2, 3, 0]);
            assert!(!text.contains('{') && !text.is_empty(), "{rule:?}: {text}");
            assert_eq!(Rule::from_code(rule.code()), Some(*rule));
        }
        assert_eq!(Rule::from_code(0), None);
    }
}
