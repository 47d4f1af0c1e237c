//! A bio: one I/O handed to the block layer, over pieces of folios that follow each other on the
//! device.

use crate::units::{
    BioId, Bytes, DevAddr, FileId, FileRange, FolioId, Offset, Pages, Pfn, Pos, TaskId,
};

/// Direction of a bio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BioOp {
    /// Device to memory.
    Read,
    /// Memory to device.
    Write,
}

/// How far a bio has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BioState {
    /// More may be added.
    Building,
    /// Handed to the block layer.
    InFlight,
    /// Completed without error.
    Done,
    /// Completed with an error.
    Failed,
}

impl BioState {
    /// The code used in deltas.
    pub const fn code(self) -> u64 {
        match self {
            Self::Building => 0,
            Self::InFlight => 1,
            Self::Done => 2,
            Self::Failed => 3,
        }
    }
    /// The state with this code.
    pub const fn from_code(code: u64) -> Option<Self> {
        match code {
            0 => Some(Self::Building),
            1 => Some(Self::InFlight),
            2 => Some(Self::Done),
            3 => Some(Self::Failed),
            _ => None,
        }
    }
}

/// Why nothing more was added to a bio. The last four need mechanisms of later kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BioEnd {
    /// It is still open.
    Open,
    /// The operation had nothing more to add.
    LastRange,
    /// The next dirty range does not follow on in the file.
    FileGap,
    /// The next range does not follow on on the device.
    SectorGap,
    /// The next mapping is of another type (unwritten or not), or shared.
    TypeDiffers,
    /// All its vecs are in use.
    VecsFull,
    /// It would exceed the size that a bio can count.
    SizeLimit,
    /// 4096 folios: the limit that bounds completion latency.
    FolioLimit,
    /// The file system marked a boundary at the next mapping.
    Boundary,
    /// A synchronous read is sent at once.
    SyncRead,
    /// The next mapping is not asked for before what there is has been sent.
    MappingEnds,
    /// A stripe of the device ends there, of which parts are expensive.
    Stripe,
    /// It carries one buffer.
    OneBuffer,
    /// Mapping the block behind it takes a read.
    BlockBoundary,
    /// What follows in its folio is a hole.
    HoleFollows,
    /// The next folio cannot be taken as a whole.
    Confused,
}

impl BioEnd {
    /// Every reason, in the order of its code.
    pub const ALL: [Self; 16] = [
        Self::Open,
        Self::LastRange,
        Self::FileGap,
        Self::SectorGap,
        Self::TypeDiffers,
        Self::VecsFull,
        Self::SizeLimit,
        Self::FolioLimit,
        Self::Boundary,
        Self::SyncRead,
        Self::MappingEnds,
        Self::Stripe,
        Self::OneBuffer,
        Self::BlockBoundary,
        Self::HoleFollows,
        Self::Confused,
    ];
    /// The code used in deltas.
    pub fn code(self) -> u64 {
        Self::ALL.iter().position(|end| *end == self).expect("listed") as u64
    }
    /// The reason with this code.
    pub fn from_code(code: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
    /// Words for the end of a bio in a picture.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Open => "still open",
            Self::LastRange => "ends: nothing more to add",
            Self::FileGap => "ends: next block clean",
            Self::SectorGap => "ends: next sector elsewhere",
            Self::TypeDiffers => "ends: mapping type differs",
            Self::VecsFull => "ends: 256 vecs full",
            Self::SizeLimit => "ends: bio size limit",
            Self::FolioLimit => "ends: 4096 folios",
            Self::Boundary => "ends: boundary",
            Self::SyncRead => "ends: read and wait",
            Self::MappingEnds => "ends: its mapping ends",
            Self::Stripe => "ends: the stripe ends",
            Self::OneBuffer => "ends: one buffer",
            Self::BlockBoundary => "ends: block boundary",
            Self::HoleFollows => "ends: hole follows",
            Self::Confused => "ends: next by blocks",
        }
    }
}

/// What identifies a bio: direction, flags, file.
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own in the kernel")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BioHead {
    /// Direction.
    pub op: BioOp,
    /// Somebody waits for it (`S`).
    pub sync: bool,
    /// It is readahead and may fail (`A`).
    pub readahead: bool,
    /// The write must be durable when it completes (`F` behind the letter).
    pub fua: bool,
    /// The blocks are unwritten extents that completion converts.
    pub unwritten: bool,
    /// The blocks were shared and go to new space.
    pub shared: bool,
    /// Its folios are to be dropped from the cache when it ends.
    pub dontcache: bool,
    /// It is about a block of the file system's own (`M`).
    pub meta: bool,
    /// It begins at a boundary of the file system.
    pub boundary: bool,
    /// Its memory is the application's, no folio is in it.
    pub direct: bool,
    /// Whose file.
    pub file: FileId,
}

impl BioHead {
    /// A plain read for a file.
    pub const fn read(file: FileId) -> Self {
        Self {
            op: BioOp::Read,
            sync: false,
            readahead: false,
            fua: false,
            unwritten: false,
            shared: false,
            dontcache: false,
            meta: false,
            boundary: false,
            direct: false,
            file,
        }
    }
    /// As one word, never 0.
    pub fn pack(self) -> u64 {
        1 | u64::from(self.op == BioOp::Write) << 1
            | u64::from(self.sync) << 2
            | u64::from(self.readahead) << 3
            | u64::from(self.fua) << 4
            | u64::from(self.unwritten) << 5
            | u64::from(self.shared) << 6
            | u64::from(self.dontcache) << 7
            | u64::from(self.meta) << 8
            | u64::from(self.boundary) << 9
            | u64::from(self.direct) << 12
            | u64::from(self.file.get()) << 32
    }
    /// From a word; none for 0.
    pub fn unpack(word: u64) -> Option<Self> {
        let bit = |n: u32| word >> n & 1 == 1;
        bit(0).then(|| Self {
            op: if bit(1) { BioOp::Write } else { BioOp::Read },
            sync: bit(2),
            readahead: bit(3),
            fua: bit(4),
            unwritten: bit(5),
            shared: bit(6),
            dontcache: bit(7),
            meta: bit(8),
            boundary: bit(9),
            direct: bit(12),
            file: FileId::new((word >> 32) as u32),
        })
    }
    /// The letters that ftrace and blktrace print (`rwbs`), such as `RA` or `WS`.
    pub fn rwbs(self) -> String {
        let mut text = String::from(match self.op {
            BioOp::Read => "R",
            BioOp::Write => "W",
        });
        let flags = [(self.fua, 'F'), (self.readahead, 'A'), (self.sync, 'S'), (self.meta, 'M')];
        for (on, letter) in flags {
            if on {
                text.push(letter);
            }
        }
        text
    }
}

/// A piece of a folio in a bio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BioSeg {
    /// Which folio.
    pub folio: FolioId,
    /// First byte in the folio.
    pub offset: Offset,
    /// Bytes.
    pub len: Bytes,
    /// File position of the first byte.
    pub pos: Pos,
}

/// A stretch of physically contiguous memory (`bio_vec`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BioVec {
    /// First page frame.
    pub pfn: Pfn,
    /// First byte, counted from the start of that frame.
    pub offset: Offset,
    /// Bytes.
    pub len: Bytes,
}

/// Largest number of vecs of a bio (`BIO_MAX_VECS`).
pub const MAX_VECS: usize = 256;
/// Vecs that a bio gets which was asked to hold `pages`: memory comes in these sizes, and all of it
/// is used (`bio_alloc_bioset`, `bvec_alloc`).
pub fn vecs_for(pages: Pages) -> usize {
    const SIZES: [u64; 4] = [4, 16, 64, 128];
    let fits = SIZES.into_iter().find(|size| pages.get() <= *size);
    fits.map_or(MAX_VECS, |size| size as usize)
}

/// Largest number of bytes that a bio can count (`bi_size` is 32 bits wide).
pub const MAX_BYTES: u64 = u32::MAX as u64;

/// One I/O handed to the block layer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bio {
    /// Its number.
    pub id: BioId,
    /// Direction, flags, file.
    pub head: BioHead,
    /// First device byte.
    pub addr: DevAddr,
    /// Bytes.
    pub len: Bytes,
    /// `io_size` of the ioend: the bytes of the file that completion may count, clamped to EOF.
    pub io_size: Bytes,
    /// Pieces of folios, in order.
    pub segs: Vec<BioSeg>,
    /// The same memory as physically contiguous stretches.
    pub vecs: Vec<BioVec>,
    /// Who submits it.
    pub task: TaskId,
    /// File position of the first byte.
    pub pos: Pos,
}

impl Bio {
    /// The stretches of the file whose bytes it has, each with where they begin in it: one, unless
    /// it was made of buffers, which follow each other on the device only.
    pub fn file_ranges(&self) -> Vec<(FileRange, Bytes)> {
        let mut all: Vec<(FileRange, Bytes)> = Vec::new();
        let mut at = Bytes::ZERO;
        for seg in &self.segs {
            let end = seg.pos + seg.len;
            match all.last_mut() {
                Some((range, _)) if range.end() == seg.pos => {
                    *range = FileRange::between(range.start(), end);
                }
                Some(_) | None => all.push((FileRange::between(seg.pos, end), at)),
            }
            at += seg.len;
        }
        if all.is_empty() { vec![(self.file_range(), Bytes::ZERO)] } else { all }
    }
    /// The bytes of the file that its whole blocks hold, where these follow each other.
    pub fn file_range(&self) -> FileRange {
        FileRange::between(self.pos, self.pos + self.len)
    }
    /// First device byte behind it.
    pub fn end(&self) -> DevAddr {
        self.addr + self.len
    }
}
