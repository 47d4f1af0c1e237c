//! One change of one word of state, with its old value, so that undoing it is a swap.
//!
//! A delta says which object changed (`object`: the number of a file, folio, bio, request or
//! operation), which word of it (`kind`, and `aux` where there are several) and both values. What
//! the words mean is written at each kind; [`super::model::Model`] holds the state they describe.

/// Value of [`DeltaKind::FolioPlace`] for a folio that is not in the cache.
pub const ABSENT: u64 = u64::MAX;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $text:literal;)*) => {
        /// Which word of state a delta changes.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum DeltaKind { $($(#[$doc])* $name = $code,)* }

        impl DeltaKind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// The short name used in trace text.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
            /// The kind with this code.
            pub const fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$name),)* _ => None }
            }
        }
    };
}

kinds! {
    /// File: `i_size` in bytes.
    FileSize = 1, "i_size";
    /// File: the size the file system has recorded durably (`disk_size`), in bytes.
    FileDiskSize = 2, "disk_size";
    /// File: length in bytes of the extent that starts at block `aux`; 0 = none starts there.
    ExtentLen = 3, "extent.len";
    /// File: place of that extent: device address << 3 | [`super::model::ExtentState`] code.
    ExtentAt = 4, "extent.at";
    /// Folio: see [`super::model::Place`]; [`ABSENT`] = not cached.
    FolioPlace = 5, "folio";
    /// Folio: first page frame number.
    FolioPfn = 6, "pfn";
    /// Folio: [`crate::cache::folio::FolioFlags`].
    FolioFlags = 7, "flags";
    /// Folio: word `aux` of the uptodate bits (0 throughout without block state).
    FolioUptodate = 8, "uptodate";
    /// Folio: word `aux` of the dirty bits (0 throughout without block state or tracking).
    FolioDirty = 9, "dirty";
    /// Folio: word `aux` of the blocks that the application changed since they were last written.
    /// No kernel keeps it; it tells wasted writes from asked ones.
    FolioAsked = 10, "asked";
    /// Folio: `read_bytes_pending`.
    FolioReadPending = 11, "read_pending";
    /// Folio: `write_bytes_pending`.
    FolioWritePending = 12, "write_pending";
    /// Bio: [`crate::block::bio::BioHead`] packed; 0 = no such bio.
    BioHead = 13, "bio";
    /// Bio: first device byte.
    BioAddr = 14, "bio.addr";
    /// Bio: bytes.
    BioLen = 15, "bio.len";
    /// Bio: file position of its first byte (`io_offset` of an ioend).
    BioPos = 16, "bio.pos";
    /// Bio: `io_size` of its ioend; 0 for reads.
    BioIoSize = 17, "io_size";
    /// Bio: piece `aux`: folio number << 32 | byte offset in the folio.
    BioSegAt = 18, "seg.at";
    /// Bio: piece `aux`: bytes.
    BioSegLen = 19, "seg.len";
    /// Bio: [`crate::block::bio::BioState`] code.
    BioState = 20, "bio.state";
    /// Bio: [`crate::block::bio::BioEnd`] code: why nothing more was added.
    BioEnd = 21, "bio.end";
    /// Operation: kind code | task << 8 | file << 40; 0 = no such operation.
    OpHead = 22, "op";
    /// Operation: file position.
    OpPos = 23, "op.pos";
    /// Operation: bytes.
    OpLen = 24, "op.len";
    /// Operation: result: 0 while running, else 1 + bytes, or `1 << 63` | errno.
    OpRet = 25, "op.ret";
    /// A counter: `object` is its code.
    Counter = 26, "count";
    /// Folio: word `aux` of the blocks that are on their way to the device though nobody changed
    /// them.
    FolioWaste = 27, "waste";
    /// File: 1 while it is open.
    FileOpen = 28, "open";
    /// File: as [`Self::ExtentLen`], in the CoW fork.
    CowLen = 70, "cow.len";
    /// File: as [`Self::ExtentAt`], in the CoW fork.
    CowAt = 71, "cow.at";
    /// File: length in bytes of the shared stretch that starts at block `aux`; 0 = none starts
    /// there.
    SharedLen = 72, "shared.len";
    /// Request: [`crate::block::bio::BioHead`] of the bio that it was allocated for; 0 = no such
    /// request.
    RequestHead = 40, "request";
    /// Request: first device byte.
    RequestAddr = 41, "request.addr";
    /// Request: bytes.
    RequestLen = 42, "request.len";
    /// Request: [`crate::block::request::RequestState`] code.
    RequestState = 43, "request.state";
    /// Bio: 1 + the number of its request; 0 = none.
    BioRequest = 44, "bio.request";
    /// A gauge: `object` is its code, `aux` the number of what it is of
    /// ([`crate::gauges::Gauge`]).
    Gauge = 95, "gauge";
    /// File: what a reclaimed folio left where it started, at block `aux`:
    /// [`crate::cache::workingset::Shadow`]; 0 = nothing.
    Shadow = 50, "shadow";
    /// File: direct reads and writes of it in flight (`i_dio_count`).
    FileDirect = 80, "dio";
    /// File: where the next write to its zone goes, in bytes from its start.
    ZonePointer = 81, "zone_pointer";
    /// File: what operation `aux` has to do with the inode lock: [`crate::locks::LockUse`]; 0 =
    /// nothing.
    IoLock = 85, "i_rwsem";
    /// File: the same of the invalidate lock.
    InvalidateLock = 86, "invalidate_lock";
    /// Bio: where its queue cut it for the `aux`th time: device byte, with the code of the
    /// reason in the bits below a sector; 0 = not so often.
    BioCut = 120, "bio.cut";
    /// Folio: word `aux` of the buffers that are locked. This and the following are 0 throughout
    /// for a folio without buffers.
    BufferLocked = 110, "bh.locked";
    /// Folio: word `aux` of the buffers whose place is known.
    BufferMapped = 111, "bh.mapped";
    /// Folio: word `aux` of the buffers that were just allocated.
    BufferNew = 112, "bh.new";
    /// Folio: word `aux` of the buffers that are promised, without a place.
    BufferDelay = 113, "bh.delay";
    /// Folio: word `aux` of the buffers that have a place where nothing was written.
    BufferUnwritten = 114, "bh.unwritten";
    /// Folio: word `aux` of the buffers behind which mapping takes a read.
    BufferBoundary = 115, "bh.boundary";
    /// Folio: word `aux` of the buffers that are part of the folio's read.
    BufferAsyncRead = 116, "bh.async_read";
    /// Folio: word `aux` of the buffers that are part of the folio's writeback.
    BufferAsyncWrite = 117, "bh.async_write";
    /// Folio: 1 + the device address of the block of buffer `aux`; 0 = not known.
    BufferAddr = 118, "bh.addr";
    /// File: code of the [`crate::buffer::Driver`] that keeps its blocks in buffers; 0 = iomap.
    FileDriver = 119, "driver";
    /// The array behind the device: [`super::array::ArrayShape`]; 0 = there is none.
    ArrayShape = 121, "array";
    /// Member of the array: times that its block of row `aux` was read.
    MemberRead = 122, "member.read";
    /// Member of the array: times that its block of row `aux` was written.
    MemberWritten = 123, "member.written";
    /// Row of the array: [`super::array::RowDecision`] code; 0 = nothing was decided yet.
    RowDecision = 124, "row";
    /// Member of the array: [`super::array::MemberState`] code; 0 = it works.
    MemberState = 146, "member";
    /// Row of the array: [`super::array::RowCosts`] of the last decision; 0 = there was nothing to
    /// weigh.
    RowCosts = 147, "row.costs";
    /// Row of the array: blocks of it that its cache holds; 0 = it is not there.
    RowHeld = 148, "row.held";
    /// Stripe of the array: who holds its parity: [`super::array::StripeParity`]; 0 = not known
    /// yet.
    StripeParity = 149, "stripe.parity";
    /// Row of the array: 1 where its parity is not that of its data.
    RowUnfit = 155, "row.unfit";
    /// Block of 4 KiB of the array that is no longer what it was though nobody wrote it: where it
    /// lies: [`super::array::DamagedAt`]; 0 = it is as it should be.
    BlockDamaged = 156, "block.damaged";
    /// Member of the array that is filled: rows from its start on up to which it holds what it
    /// should.
    MemberFilled = 175, "member.filled";
}

/// One change of one word of state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delta {
    /// Which word.
    pub kind: DeltaKind,
    /// Of which file, folio, bio, request, operation or counter.
    pub object: u32,
    /// Which of several words.
    pub aux: u32,
    /// The value before.
    pub old: u64,
    /// The value after.
    pub new: u64,
}

impl Delta {
    /// The change that takes this one back.
    #[must_use]
    pub const fn inverse(self) -> Self {
        Self { old: self.new, new: self.old, ..self }
    }
}
