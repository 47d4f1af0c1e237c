//! Giving a range of a file the blocks of another range, of another file or of the same one
//! (`xfs_file_remap_range`): both share them afterwards, and a write to either gets new ones.

use super::direct::wait_for_all;
use super::invalidate::drop_range;
use super::sync::write_before;
use super::zero::zero_range;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::fs::Provider;
use crate::iomap::MapType;
use crate::locks::{Lock, Mode};
use crate::trace::rule::Rule;
use crate::units::{Bytes, DevAddr, FileId, FileRange, Pos};
use crate::world::{Env, Inode, World};

/// The two ranges, equally long.
#[derive(Clone, Copy)]
struct Pair {
    src: FileId,
    dst: FileId,
    from: FileRange,
    to: FileRange,
}

/// Links `len` bytes from `from` of `src` to `to` of `dst`; up to EOF of the source where `len` is
/// zero. How many bytes were linked.
pub(crate) async fn reflink<E: Env>(
    cx: &Cx<'_, E>,
    (src, from): (FileId, Pos),
    (dst, to): (FileId, Pos),
    len: Bytes,
) -> Result<Bytes, Errno> {
    // In the order of the files, so that two that link to each other cannot wait for each other.
    let (low, high) = (src.min(dst), src.max(dst));
    let both = low != high;
    let mut held = Vec::new();
    for lock in Lock::ALL {
        held.push(cx.lock(low, lock, Mode::Exclusive).await);
        if both {
            held.push(cx.lock(high, lock, Mode::Exclusive).await);
        }
    }
    let linked = link(cx, (src, from), (dst, to), len).await;
    while let Some(one) = held.pop() {
        drop(one);
    }
    linked
}

/// The same once nobody writes either file or adds folios to it.
async fn link<E: Env>(
    cx: &Cx<'_, E>,
    (src, from): (FileId, Pos),
    (dst, to): (FileId, Pos),
    len: Bytes,
) -> Result<Bytes, Errno> {
    let pair = cx.with(|world| world.check_reflink((src, from), (dst, to), len))?;
    if pair.from.is_empty() {
        return Ok(Bytes::ZERO);
    }
    for file in [src, dst] {
        wait_for_all(cx, file).await;
    }
    write_before(cx, src, pair.from).await?;
    write_before(cx, dst, pair.to).await?;
    let size = cx.with(|world| world.file(dst).size);
    if to > size {
        zero_range(cx, dst, FileRange::between(size, to)).await?;
    }
    let dropped = cx.with(|world| {
        let whole = world.round_out(FileRange::between(to.min(size), pair.to.end()));
        let args = [whole.start().get(), whole.len().get(), 0, 0];
        world.step(Rule::ReflinkFlushes, args);
        whole
    });
    write_before(cx, dst, dropped).await?;
    drop_range(cx, dst, dropped).await;
    cx.with(|world| world.remap_blocks(pair));
    Ok(pair.from.len())
}

impl<E: Env> World<E> {
    /// What must hold of the two ranges (`generic_remap_file_range_prep`).
    fn check_reflink(
        &self,
        (src, from): (FileId, Pos),
        (dst, to): (FileId, Pos),
        len: Bytes,
    ) -> Result<Pair, Errno> {
        let geometry = self.geometry();
        self.check_kinds(src, dst)?;
        let (size, dst_size) = (self.file(src).size, self.file(dst).size);
        let at_eof = len.is_zero() && from == size;
        if from > size || from == size && !len.is_zero() {
            return Err(Errno::Inval);
        }
        let len = if len.is_zero() { size.since(from) } else { len };
        let range = |pos| FileRange::new(pos, len).ok_or(Errno::Inval);
        let (from, to) = (range(from)?, range(to)?);
        if at_eof {
            return Ok(Pair { src, dst, from, to });
        }
        let aligned = |pos: Pos| geometry.round_down_block(pos) == pos;
        if !aligned(from.start()) || !aligned(to.start()) {
            return Err(Errno::Inval);
        }
        let pair = Pair { src, dst, from, to };
        if to.start() >= geometry.max_file() {
            return Err(Errno::FBig);
        }
        // Nothing may be linked of less than it was asked for.
        let short = from.end() > size || to.end() > geometry.max_file();
        // Part of a block may be linked at the end of the source only, and to the end at least.
        let ragged = !aligned(from.end()) && (from.end() != size || to.end() < dst_size);
        let (a, b) = (geometry.block_range(from), geometry.block_range(to));
        let overlaps = src == dst && !a.intersect(b).is_empty();
        if short || ragged || overlaps { Err(Errno::Inval) } else { Ok(pair) }
    }
    /// Blocks are shared within a file system only, of those here by XFS only, and with bytes that
    /// live with the inode not at all (`do_clone_file_range`, `xfs_file_remap_range`).
    fn check_kinds(&self, src: FileId, dst: FileId) -> Result<(), Errno> {
        let (from, to) = (self.file(src), self.file(dst));
        let kind = |inode: &Inode| core::mem::discriminant(&inode.provider);
        let same = kind(from) == kind(to) && from.driver == to.driver && from.bdi == to.bdi;
        let shares = |inode: &Inode| inode.driver.is_none() && inode.provider.can_share();
        if !same {
            Err(Errno::XDev)
        } else if matches!(from.provider, Provider::BlockDev(_)) {
            Err(Errno::Inval)
        } else if !shares(from) || !shares(to) {
            Err(Errno::OpNotSupp)
        } else {
            Ok(())
        }
    }
    /// Extent by extent of the source: what the destination had goes, and written blocks are
    /// shared; holes and unwritten blocks become holes. The size moves last
    /// (`xfs_reflink_remap_blocks`, `xfs_reflink_update_dest`).
    fn remap_blocks(&mut self, pair: Pair) {
        let Pair { src, dst, from, to } = pair;
        self.require_no_direct(src, from.start());
        self.require_no_direct(dst, to.start());
        let geometry = self.geometry();
        let whole = geometry.block_range(from);
        let mut at = whole.start();
        while at < whole.end() {
            let map = self.file(src).provider.peek(at, whole.end());
            let part = FileRange::between(at, map.range.end().min(whole.end()));
            let start = to.start() + at.since(from.start());
            let target = FileRange::between(start, start + part.len());
            self.free_space(dst, target, false);
            let addr = map.addr_of(at).filter(|_| map.kind == MapType::Mapped);
            if let Some(addr) = addr {
                self.file_mut(src).provider.share(part, None);
                self.note_extents(src);
                self.file_mut(dst).provider.share(target, Some(addr));
                self.note_extents(dst);
            }
            let args = [part.start().get(), target.start().get(), part.len().get()];
            let kind = map.kind.code();
            self.step(Rule::Reflinked, [args[0], args[1], args[2], kind]);
            at = part.end();
        }
        let (size, end) = (self.file(dst).size, to.end());
        if end > size {
            let recorded = self.file(dst).disk_size;
            self.set_size(dst, end);
            self.set_disk_size(dst, end);
            self.step(Rule::SizeMoved, [size.get(), end.get(), 0, 0]);
            self.step(Rule::SizeRecorded, [recorded.get(), end.get(), 0, 0]);
        }
    }
    /// Space that a file gave up: where one place alone still has it, that is shared no longer.
    pub(crate) fn unshare_single(&mut self, addr: DevAddr, len: Bytes) {
        let geometry = self.geometry();
        let held: Vec<(FileId, FileRange, DevAddr)> = self
            .files
            .iter()
            .enumerate()
            .flat_map(|(at, inode)| {
                let extents = inode.provider.extents(geometry).into_iter();
                extents.filter_map(move |map| {
                    let range = map.range_at(addr, len)?;
                    Some((FileId::new(at as u32), range, map.addr_of(range.start())?))
                })
            })
            .collect();
        let mut edges: Vec<DevAddr> =
            held.iter().flat_map(|(_, range, at)| [*at, *at + range.len()]).collect();
        edges.sort_unstable();
        edges.dedup();
        for pair in edges.windows(2) {
            let (start, end) = (pair[0], pair[1]);
            let mut holders =
                held.iter().filter(|(_, range, at)| *at <= start && end <= *at + range.len());
            let (Some((file, range, at)), None) = (holders.next(), holders.next()) else {
                continue;
            };
            let from = range.start() + start.since(*at);
            let part = FileRange::between(from, from + end.since(start));
            self.file_mut(*file).provider.share_no_longer(part);
            self.note_extents(*file);
        }
    }
}
