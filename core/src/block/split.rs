//! Cutting a bio where the limits of the queue want it (`__bio_split_to_limits`).
//!
//! The first part goes on at once and merges with nothing before it; the rest is submitted again.

use super::bio::{Bio, BioSeg, BioVec};
use super::limits::QueueLimits;
use crate::units::{Bytes, DevAddr};

/// Why a bio is cut where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutWhy {
    /// It would be longer than a request may be.
    Length,
    /// It would cross a multiple of the chunk.
    Chunk,
    /// It has more pieces of memory than the device takes.
    Segments,
    /// Two pieces of memory do not join as the device needs it.
    Gap,
}

impl CutWhy {
    /// Every reason, in the order of its code.
    pub const ALL: [Self; 4] = [Self::Length, Self::Chunk, Self::Segments, Self::Gap];
    /// The code used in deltas.
    pub const fn code(self) -> u64 {
        self as u64
    }
    /// The reason with this code.
    pub fn from_code(code: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
    /// Words for a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Length => "more than a request may have",
            Self::Chunk => "it crosses a chunk of the device",
            Self::Segments => "it has more pieces of memory than the device takes",
            Self::Gap => "two pieces of memory leave a gap that the device cannot take",
        }
    }
}

impl QueueLimits {
    /// Bytes that an I/O which begins at `at` may have by its place alone, and what sets them
    /// (`get_max_io_size`).
    pub fn room_at(&self, at: DevAddr) -> (Bytes, CutWhy) {
        let mut most = (self.bytes.get(), CutWhy::Length);
        if !self.chunk.is_zero() {
            let left = self.chunk.get() - at.get() % self.chunk.get();
            if left < most.0 {
                most = (left, CutWhy::Chunk);
            }
        }
        let start = at.get() % self.physical.get();
        let end = (start + most.0) / self.physical.get() * self.physical.get();
        let len = if end > start {
            end - start
        } else {
            most.0 / self.logical.get() * self.logical.get()
        };
        // A chunk that is no multiple of a block still cannot hold less than one.
        (Bytes::new(len).max(self.logical), most.1)
    }
    /// Where a bio whose memory lies in `vecs` must be cut first, and why; none if it may stay as
    /// it is (`bio_split_rw_at`). `page` is the size of a page frame.
    pub fn first_cut(&self, at: DevAddr, vecs: &[BioVec], page: Bytes) -> Option<(Bytes, CutWhy)> {
        let (room, why) = self.room_at(at);
        let (mut done, mut segments) = (Bytes::ZERO, 0);
        let mut end_of_last: Option<u64> = None;
        for vec in vecs {
            let phys = vec.pfn.get() * page.get() + vec.offset.get();
            if let Some(end) = end_of_last
                && !self.gap.is_zero()
                && !(end | phys).is_multiple_of(self.gap.get())
            {
                return Some((self.cut(done), CutWhy::Gap));
            }
            let mut left = vec.len.get();
            let mut from = phys;
            while left > 0 {
                if segments == self.segments {
                    return Some((self.cut(done), CutWhy::Segments));
                }
                let piece = self.segment_at(from).get().min(left);
                if done + Bytes::new(piece) > room {
                    return Some((self.cut(room), why));
                }
                (segments, done) = (segments + 1, done + Bytes::new(piece));
                (from, left) = (from + piece, left - piece);
            }
            end_of_last = Some(phys + vec.len.get());
        }
        None
    }
    /// A part ends at a whole block.
    fn cut(&self, len: Bytes) -> Bytes {
        Bytes::new(len.get() / self.logical.get() * self.logical.get()).max(self.logical)
    }
}

/// The parts that the limits cut a bio into, in order, each but the last with the reason; one part
/// if it may stay whole.
pub fn split(bio: &Bio, limits: &QueueLimits, page: Bytes) -> Vec<(Bio, Option<CutWhy>)> {
    let mut parts = Vec::new();
    let mut rest = bio.clone();
    while let Some((len, why)) = limits.first_cut(rest.addr, &rest.vecs, page) {
        if len >= rest.len {
            break;
        }
        let (first, then) = cut(&rest, len);
        parts.push((first, Some(why)));
        rest = then;
    }
    parts.push((rest, None));
    parts
}

/// A bio as two: its first `len` bytes, and the rest.
fn cut(bio: &Bio, len: Bytes) -> (Bio, Bio) {
    let (mut first, mut rest) = (bio.clone(), bio.clone());
    (first.len, rest.len) = (len, bio.len - len);
    first.io_size = bio.io_size.min(len);
    rest.io_size = bio.io_size.saturating_sub(len);
    (rest.addr, rest.pos) = (bio.addr + len, bio.pos + len);
    let vec = |vec: &BioVec, len, skip| BioVec { len, offset: vec.offset + skip, ..*vec };
    first.vecs = pieces(&bio.vecs, Bytes::ZERO, len, |vec| vec.len, vec);
    rest.vecs = pieces(&bio.vecs, len, rest.len, |vec| vec.len, vec);
    let seg = |seg: &BioSeg, len, skip| BioSeg {
        len,
        offset: seg.offset + skip,
        pos: seg.pos + skip,
        ..*seg
    };
    first.segs = pieces(&bio.segs, Bytes::ZERO, len, |seg| seg.len, seg);
    rest.segs = pieces(&bio.segs, len, rest.len, |seg| seg.len, seg);
    (first, rest)
}

/// The parts of `all` within `[from, from + len)` of the bytes that they hold together.
fn pieces<T>(
    all: &[T],
    from: Bytes,
    len: Bytes,
    size: impl Fn(&T) -> Bytes,
    part: impl Fn(&T, Bytes, Bytes) -> T,
) -> Vec<T> {
    let (mut at, mut out) = (Bytes::ZERO, Vec::new());
    let end = from + len;
    for one in all {
        let (start, stop) = (at.max(from), (at + size(one)).min(end));
        if start < stop {
            out.push(part(one, stop - start, start - at));
        }
        at += size(one);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::bio::{BioHead, BioOp};
    use crate::units::{BioId, FileId, FolioId, Offset, Pfn, Pos, TaskId};

    const PAGE: Bytes = Bytes::kib(4);

    /// A bio of one page a vec, `gap` frames apart.
    fn bio(addr: u64, pages: u64, step: u64) -> Bio {
        let vec = |n| BioVec { pfn: Pfn::new(n * step), offset: Offset::ZERO, len: PAGE };
        let seg = |n| BioSeg {
            folio: FolioId::new(n as u32),
            offset: Offset::ZERO,
            len: PAGE,
            pos: Pos::new(n * 4096),
        };
        Bio {
            id: BioId::new(0),
            head: BioHead { op: BioOp::Write, ..BioHead::read(FileId::new(0)) },
            addr: DevAddr::new(addr),
            len: Bytes::new(pages * 4096),
            io_size: Bytes::new(pages * 4096),
            segs: (0..pages).map(seg).collect(),
            vecs: (0..pages).map(vec).collect(),
            task: TaskId::new(0),
            pos: Pos::ZERO,
        }
    }

    fn cuts(bio: &Bio, limits: &QueueLimits) -> Vec<(u64, u64)> {
        let parts = split(bio, limits, PAGE);
        parts.iter().map(|(part, _)| (part.addr.get() / 512, part.len.get() / 512)).collect()
    }

    #[test]
    fn the_stripe_of_an_array_cuts_as_7_3_does() {
        let limits = QueueLimits { chunk: Bytes::new(768 * 512), ..QueueLimits::NONE };
        let all = cuts(&bio(256 * 512, 512, 1), &limits);
        assert_eq!(
            all,
            [(256, 512), (768, 768), (1536, 768), (2304, 768), (3072, 768), (3840, 512)]
        );
    }

    #[test]
    fn length_ends_at_a_physical_block_if_it_can() {
        let limits = QueueLimits {
            bytes: Bytes::new(60 * 512),
            physical: Bytes::kib(4),
            ..QueueLimits::NONE
        };
        assert_eq!(cuts(&bio(512, 16, 1), &limits), [(1, 55), (56, 56), (112, 17)]);
        let tiny = QueueLimits { bytes: Bytes::new(3 * 512), ..limits };
        assert_eq!(cuts(&bio(512, 1, 1), &tiny)[0], (1, 3));
    }

    #[test]
    fn pieces_of_memory_cut_only_where_they_do_not_join() {
        let limits = QueueLimits { segments: 4, ..QueueLimits::NONE };
        assert_eq!(cuts(&bio(0, 10, 2), &limits), [(0, 32), (32, 32), (64, 16)]);
        let gap = QueueLimits { gap: Bytes::kib(4), ..QueueLimits::NONE };
        assert_eq!(cuts(&bio(0, 10, 2), &gap).len(), 1);
        let mut odd = bio(0, 2, 2);
        odd.vecs[1].offset = Offset::new(512);
        let parts = split(&odd, &gap, PAGE);
        assert_eq!(parts[0].1, Some(CutWhy::Gap));
    }

    #[test]
    fn parts_hold_every_byte_once_and_keep_their_memory() {
        for (chunk, bytes, segments) in [(4608, 1 << 20, 7), (12288, 9216, 3), (0, 512, 128)] {
            let limits = QueueLimits {
                chunk: Bytes::new(chunk),
                bytes: Bytes::new(bytes),
                segments,
                ..QueueLimits::NONE
            };
            let whole = bio(1024, 9, 3);
            let (mut at, mut pos) = (whole.addr, whole.pos);
            for (part, _) in split(&whole, &limits, PAGE) {
                assert_eq!((part.addr, part.pos), (at, pos));
                assert_eq!(part.vecs.iter().map(|vec| vec.len).sum::<Bytes>(), part.len);
                assert_eq!(part.segs.iter().map(|seg| seg.len).sum::<Bytes>(), part.len);
                assert!(part.len.get() <= bytes && part.vecs.len() as u64 <= segments);
                let frame = |vec: &BioVec| vec.pfn.get() / 3 * 4096 + vec.offset.get();
                assert_eq!(frame(&part.vecs[0]), pos.get());
                (at, pos) = (at + part.len, pos + part.len);
            }
            assert_eq!(at, whole.end());
        }
    }
}
