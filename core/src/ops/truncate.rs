//! A new size for a file (`xfs_setattr_size`), and what moving EOF means for pages that are mapped
//! (`pagecache_isize_extended`).

use super::direct::wait_for_all;
use super::invalidate::drop_range;
use super::sync::write_before;
use super::write::lock_folio;
use super::zero::zero_range;
use super::zone::truncate_zone;
use crate::behaviour::ZeroFlush;
use crate::cache::folio::FolioFlags;
use crate::cache::mapping::Tag;
use crate::check::mutant::Mutant;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::fs::{Manner, Provider};
use crate::locks::{Lock, Mode};
use crate::stops::StopPoint;
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, MAX_POS, Offset, Pos};
use crate::world::{Env, Inode, World};

/// Gives a file another size while nobody writes it or adds folios to it (`xfs_vn_setattr_size`).
pub(crate) async fn truncate<E: Env>(cx: &Cx<'_, E>, file: FileId, new: Pos) -> Result<(), Errno> {
    if cx.with(|world| world.is_zone(file)) {
        return truncate_zone(cx, file, new).await;
    }
    let io = cx.lock(file, Lock::Io, Mode::Exclusive).await;
    let invalidate = cx.lock(file, Lock::Invalidate, Mode::Exclusive).await;
    let result = resize(cx, file, new).await;
    drop(invalidate);
    drop(io);
    result
}

/// Gives a file whose locks are held another size: what lies between the old and the new one reads
/// as zero afterwards, and space behind the new one is free.
pub(super) async fn resize<E: Env>(cx: &Cx<'_, E>, file: FileId, new: Pos) -> Result<(), Errno> {
    let manner = cx.with(|world| world.manner(file)).ok_or(Errno::Inval)?;
    if new > cx.with(|world| world.geometry().max_file()) {
        return Err(Errno::FBig);
    }
    wait_for_all(cx, file).await;
    let (old, edge) = cx.with(|world| (world.file(file).size, world.zeroed_by_size(file, new)));
    // Before zeroing looked at the cache over unwritten blocks, XFS wrote the page of the new EOF
    // first (`xfs_truncate_page`).
    let never = cx.with(|world| world.behaviours().zero_flush == ZeroFlush::Never);
    if never && manner == Manner::Xfs && new <= old {
        write_before(cx, file, FileRange::between(new, new + Bytes::new(1))).await?;
    }
    let zeroed = zero_range(cx, file, edge).await?;
    if new != old {
        cx.with(|world| {
            world.require_no_direct(file, new);
            world.set_size(file, new);
            if new < old {
                world.know_cut(file, new);
            }
            world.step(Rule::SizeMoved, [old.get(), new.get(), 0, 0]);
        });
    }
    let behind = FileRange::between(new, Pos::new(MAX_POS));
    cx.reach(StopPoint::AfterSizeUpdate, |_| behind).await;
    eof_moved(cx, file, old, new).await;
    drop_range(cx, file, behind).await;
    cx.reach(StopPoint::AfterCut, |_| behind).await;
    let recorded = cx.with(|world| world.file(file).disk_size);
    let unrecorded = new > recorded;
    let unwritten = (zeroed || old != recorded) && !cx.mutant(Mutant::RecordsUnwritten);
    if manner == Manner::Xfs && unrecorded && unwritten {
        write_before(cx, file, FileRange::between(recorded, new)).await?;
    }
    cx.with(|world| {
        world.record_size(file, manner, (old, new));
        if new <= old {
            let from = world.geometry().round_up_block(new);
            world.free_space(file, FileRange::between(from, Pos::new(MAX_POS)), true);
        }
    });
    Ok(())
}

/// `i_size` grew: a page that holds the old EOF and blocks behind it loses the right to be stored
/// into, so that the next store reserves space for those, too; and what was stored behind the old
/// EOF goes (`pagecache_isize_extended`).
pub(crate) async fn eof_moved<E: Env>(cx: &Cx<'_, E>, file: FileId, old: Pos, new: Pos) {
    let holder = cx.with(|world| {
        let geometry = world.geometry();
        let rounded = geometry.round_up_block(old);
        let straddles = old < new
            && geometry.block_size() < geometry.page_size()
            && rounded < new
            && geometry.page_pos(geometry.page_floor(rounded)) != rounded;
        straddles.then(|| geometry.page_floor(old))
    });
    let Some(page) = holder else { return };
    while let Some(folio) = cx.with(|world| world.file(file).mapping.find(page)) {
        let index = cx.with(|world| world.folios.at(folio).index);
        if lock_folio(cx, file, index, folio).await {
            cx.with(|world| {
                if world.protect_folio(folio) {
                    world.dirty_folio(folio);
                }
                let whole = world.folio_range(folio);
                if world.has(folio, FolioFlags::DIRTY) {
                    let offset = |pos: Pos| Offset::ZERO + pos.since(whole.start());
                    world.zero_bytes(folio, offset(old), offset(new.min(whole.end())));
                }
                world.unlock(folio);
                world.step(Rule::EofPageProtected, [whole.start().get(), old.get(), 0, 0]);
            });
            return;
        }
    }
}

impl<E: Env> World<E> {
    /// How size and extents of a file change; none: a device, which has a size of its own.
    pub(super) fn manner(&self, file: FileId) -> Option<Manner> {
        let Inode { provider, driver, .. } = self.file(file);
        match provider {
            Provider::Indirect(_) | Provider::Memory => Some(Manner::Generic),
            Provider::Extents(fs) if driver.is_some() && fs.inline().is_none() => {
                Some(Manner::Generic)
            }
            Provider::BlockDev(_)
            | Provider::Zone(_)
            | Provider::Extents(_)
            | Provider::Scripted(_) => provider.manner(),
        }
    }
    /// What is zeroed in the cache before a file gets another size: all that becomes visible, and
    /// the rest of the block of the new EOF. Where buffers, or pointers, know no delayed extents,
    /// the block of an EOF alone has anything to zero (`ext4_block_truncate_page`,
    /// `block_truncate_page`); memory is zeroed where it is cut.
    fn zeroed_by_size(&self, file: FileId, new: Pos) -> FileRange {
        let Inode { provider, driver, size, .. } = self.file(file);
        let lists = matches!(provider, Provider::Extents(_) | Provider::Scripted(_));
        let from = new.min(*size);
        let to = if matches!(provider, Provider::Memory) {
            from
        } else if new > *size && lists && driver.is_none() {
            new
        } else {
            let end = self.geometry().round_up_block(from);
            if new > *size { end.min(new) } else { end }
        };
        FileRange::between(from, to)
    }
    /// The size becomes durable: in XFS always, as what it covers is written before; else never
    /// before the data that it would cover.
    fn record_size(&mut self, file: FileId, manner: Manner, (old, new): (Pos, Pos)) {
        let recorded = self.file(file).disk_size;
        let size = match manner {
            Manner::Xfs => new,
            Manner::Generic if new <= old => recorded.min(new),
            Manner::Generic if recorded == old => new,
            Manner::Generic => recorded,
        };
        if size != recorded {
            self.set_disk_size(file, size);
            self.step(Rule::SizeRecorded, [recorded.get(), size.get(), 0, 0]);
            if manner == Manner::Xfs {
                self.require_zeroed(file, FileRange::between(recorded, size));
            }
        }
    }
    /// Makes blocks a hole (`xfs_itruncate_extents`, `xfs_unmap_extent`).
    pub(crate) fn free_space(&mut self, file: FileId, range: FileRange, eof: bool) {
        if range.is_empty() {
            return;
        }
        let (any, given_up) = self.file_mut(file).provider.free(range, eof);
        self.note_extents(file);
        self.release_shared(&given_up);
        if any {
            self.step(Rule::SpaceFreed, [range.start().get(), range.end().get(), 0, 0]);
        }
    }
    /// A sync makes the size durable, too, if all data is. XFS has recorded it already.
    pub(crate) fn record_synced_size(&mut self, file: FileId) {
        let inode = self.file(file);
        let pending = [Tag::Dirty, Tag::Writeback].iter().any(|tag| inode.mapping.tagged(*tag));
        let behind = inode.disk_size < inode.size;
        if self.manner(file) == Some(Manner::Generic) && behind && !pending {
            self.record_size(file, Manner::Xfs, (inode.size, inode.size));
        }
    }
}
