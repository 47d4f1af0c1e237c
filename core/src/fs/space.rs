//! How much space there is, where it is limited: what files take is counted when somebody asks.

use super::extents::Extents;
use super::prealloc::Prealloc;
use super::{Fork, Provider};
use crate::errno::Errno;
use crate::geometry::Geometry;
use crate::iomap::{Intent, Iomap, MapType, Mapping};
use crate::units::{Bytes, DevAddr, FileRange, Pos};
use crate::world::{Env, Inode, World};

/// Bytes that are promised to a file with these extents, and have no place yet.
fn promised(forks: &[(Fork, Iomap)]) -> Bytes {
    let all = forks.iter().filter(|(_, map)| map.kind == MapType::Delalloc);
    all.map(|(_, map)| map.range.len()).sum()
}

/// Bytes of the device that these files take, each once, and those that are promised to them.
pub fn taken<'a>(files: impl Iterator<Item = &'a Provider>, geometry: Geometry) -> Bytes {
    let mut all = Bytes::ZERO;
    let mut placed: Vec<(DevAddr, DevAddr)> = Vec::new();
    for provider in files {
        for array in provider.arrays() {
            placed.push((array, array + geometry.block_size()));
        }
        if matches!(provider, Provider::BlockDev(_) | Provider::Zone(_)) {
            continue;
        }
        let forks = provider.forks(geometry);
        all += promised(&forks);
        for (fork, map) in forks {
            if let Some(addr) = map.addr.filter(|_| fork != Fork::Shared) {
                placed.push((addr, addr + map.range.len()));
            }
        }
    }
    placed.sort_unstable();
    let mut behind = DevAddr::ZERO;
    for (start, end) in placed {
        let from = start.max(behind);
        if from < end {
            all += Bytes::new(end.get() - from.get());
            behind = end;
        }
    }
    all
}

/// A mapping for a write, if what it reserves finds room: without speculation, if need be
/// (`xfs_buffered_write_iomap_begin` after ENOSPC).
pub(super) fn begin_within(
    fs: &mut Extents,
    range: FileRange,
    intent: Intent,
    size: Pos,
    left: Option<Bytes>,
) -> Result<Mapping, Errno> {
    let Some(left) = left else { return Ok(fs.begin(range, intent, size)) };
    for plain in [false, true] {
        let mut trial = fs.clone();
        if plain {
            trial.set_prealloc(Prealloc::Off);
        }
        let mapping = trial.begin(range, intent, size);
        if trial.held().saturating_sub(fs.held()) <= left {
            trial.set_prealloc(fs.prealloc());
            *fs = trial;
            return Ok(mapping);
        }
    }
    Err(Errno::NoSpc)
}

impl<E: Env> World<E> {
    /// From now on so many bytes are free.
    pub(crate) fn limit_space(&mut self, free: Bytes) {
        self.space_total = Some(self.space_taken() + free);
    }
    /// Bytes that files take, or were promised.
    pub fn space_taken(&self) -> Bytes {
        taken(self.files.iter().map(|inode| &inode.provider), self.geometry())
    }
    /// The allocator is about to be asked: it learns how much is free. What was promised is there.
    pub(crate) fn look_for_space(&mut self, promised: bool) {
        let free = self.space_total.map(|total| total.saturating_sub(self.space_taken()));
        let ahead = self.config.space.ahead().map(|ahead| {
            let owed = |inode: &Inode| self::promised(&inode.provider.forks(self.geometry()));
            ahead.saturating_sub(self.files.iter().map(owed).sum())
        });
        if let Some(free) = free.into_iter().chain(ahead).min() {
            self.config.space.set_left((!promised).then_some(free));
        }
    }
}
