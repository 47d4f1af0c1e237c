//! Speculative preallocation: how much more than it needs a write at EOF reserves
//! (`xfs_iomap_prealloc_size`). Shortage of space and quota, which make it smaller, are not
//! modelled.

use super::extent_map::ExtentMap;
use crate::geometry::Geometry;
use crate::iomap::{Iomap, MapType};
use crate::units::{Bytes, FileRange, Pos};

/// Most blocks of an extent (`XFS_MAX_BMBT_EXTLEN`).
const MAX_EXTENT: u64 = (1 << 21) - 1;
/// Smallest reservation behind EOF (`m_allocsize_log` by default).
const SMALLEST: Bytes = Bytes::kib(64);

/// How a file is preallocated.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Prealloc {
    /// Not at all.
    #[default]
    Off,
    /// As much as the mount option `allocsize` says.
    Fixed(Bytes),
    /// Twice the stretch of blocks that ends where the write begins.
    Dynamic,
}

impl Prealloc {
    /// The end of the reservation for a write of `write` that nothing follows, in a file of `size`
    /// bytes with these extents.
    pub fn end(self, geometry: Geometry, map: &ExtentMap, write: FileRange, size: Pos) -> Pos {
        let needed = geometry.round_up_block(write.end());
        let (more, unit) = match self {
            Self::Fixed(len) => (len, len),
            Self::Dynamic if size >= Pos::ZERO + SMALLEST => {
                (dynamic(geometry, map, write.start()), SMALLEST)
            }
            Self::Off | Self::Dynamic => return needed,
        };
        if write.end() <= size {
            return needed;
        }
        let last = write.end().get().saturating_sub(1);
        let from = last / unit.get().max(1) * unit.get();
        geometry.round_up_block(Pos::new(from) + more).max(needed)
    }
}

/// Twice the blocks that lie one behind the other up to the write, as a power of two.
fn dynamic(geometry: Geometry, map: &ExtentMap, start: Pos) -> Bytes {
    let block = geometry.block_size().get();
    let smallest = SMALLEST.get() / block;
    let start = geometry.round_down_block(start);
    let mut run: u64 = 0;
    let mut behind: Option<Iomap> = None;
    while run <= MAX_EXTENT / 2 {
        let at = behind.map_or(start, |found| found.range.start());
        let Some(before) = map.ending_at(at) else { break };
        let follows = behind.is_none_or(|next| {
            before.kind != MapType::Delalloc
                && next.kind != MapType::Delalloc
                && before.addr_of(at) == next.addr
        });
        if !follows {
            break;
        }
        run += before.range.len().get() / block;
        behind = Some(before);
    }
    if run == 0 {
        return SMALLEST;
    }
    let wanted = if run * 2 > MAX_EXTENT { start.get() / block } else { run * 2 };
    let rounded = 1 << wanted.max(1).ilog2();
    Bytes::new(rounded.clamp(smallest.max(1), MAX_EXTENT.max(smallest)) * block)
}
