//! Space of a file without its bytes: allocated ahead, punched out, taken out of the middle or put
//! in (`xfs_file_fallocate`).

use super::direct::wait_for_all;
use super::invalidate::drop_range;
use super::sync::write_before;
use super::truncate::resize;
use super::unshare::unshare;
use super::zero::zero_range;
use crate::behaviour::InsertFlush;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::fs::{Manner, Provider};
use crate::locks::{Lock, Mode};
use crate::ops::OpKind;
use crate::stops::StopPoint;
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, MAX_POS, Pos};
use crate::world::{Env, Inode, World};

/// What `fallocate` is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FallocMode {
    /// Unwritten blocks where there are none; the file grows to the end of the range.
    Allocate,
    /// The same without growing (`FALLOC_FL_KEEP_SIZE`).
    AllocateKeepSize,
    /// A hole (`FALLOC_FL_PUNCH_HOLE`).
    Punch,
    /// Unwritten blocks instead of what was there; the file grows (`FALLOC_FL_ZERO_RANGE`).
    Zero,
    /// The same without growing.
    ZeroKeepSize,
    /// The range is taken out, what lies behind moves down (`FALLOC_FL_COLLAPSE_RANGE`).
    Collapse,
    /// A hole is put in, what lies behind moves up (`FALLOC_FL_INSERT_RANGE`).
    Insert,
    /// Shared blocks get own copies, then as `Allocate` (`FALLOC_FL_UNSHARE_RANGE`).
    Unshare,
}

impl FallocMode {
    /// The operation that it is.
    pub(crate) const fn op(self) -> OpKind {
        match self {
            Self::Allocate => OpKind::Allocate,
            Self::AllocateKeepSize => OpKind::AllocateKeepSize,
            Self::Punch => OpKind::Punch,
            Self::Zero => OpKind::Zero,
            Self::ZeroKeepSize => OpKind::ZeroKeepSize,
            Self::Collapse => OpKind::Collapse,
            Self::Insert => OpKind::Insert,
            Self::Unshare => OpKind::Unshare,
        }
    }
}

/// What all modes are about.
#[derive(Clone, Copy)]
struct Target {
    file: FileId,
    range: FileRange,
    manner: Manner,
}

/// Changes the space of a range while nobody writes the file or adds folios to it.
pub(crate) async fn fallocate<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    mode: FallocMode,
    range: FileRange,
) -> Result<(), Errno> {
    let io = cx.lock(file, Lock::Io, Mode::Exclusive).await;
    let invalidate = cx.lock(file, Lock::Invalidate, Mode::Exclusive).await;
    let result = reshape(cx, file, mode, range).await;
    drop(invalidate);
    drop(io);
    result
}

/// Follows `xfs_file_fallocate`; file systems in the plain manner write nothing back for it.
async fn reshape<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    mode: FallocMode,
    range: FileRange,
) -> Result<(), Errno> {
    if range.is_empty() {
        return Err(Errno::Inval);
    }
    if range.end() > cx.with(|world| world.geometry().max_file()) {
        return Err(Errno::FBig);
    }
    let manner = cx.with(|world| world.reshapes(file, mode)).ok_or(Errno::OpNotSupp)?;
    wait_for_all(cx, file).await;
    let target = Target { file, range, manner };
    match mode {
        FallocMode::Allocate => {
            preallocate(cx, target)?;
            grow(cx, target).await
        }
        FallocMode::AllocateKeepSize => preallocate(cx, target),
        FallocMode::Punch => punch(cx, target).await,
        FallocMode::Zero => {
            punch(cx, target).await?;
            preallocate(cx, target)?;
            grow(cx, target).await
        }
        FallocMode::ZeroKeepSize => {
            punch(cx, target).await?;
            preallocate(cx, target)
        }
        FallocMode::Collapse => collapse(cx, target).await,
        FallocMode::Insert => insert(cx, target).await,
        FallocMode::Unshare => {
            unshare(cx, file, range).await?;
            write_before(cx, file, range).await?;
            preallocate(cx, target)?;
            grow(cx, target).await
        }
    }
}

/// The file reaches to the end of the range at least (`xfs_falloc_setsize`).
async fn grow<E: Env>(cx: &Cx<'_, E>, target: Target) -> Result<(), Errno> {
    let size = cx.with(|world| world.file(target.file).size);
    if target.range.end() > size {
        resize(cx, target.file, target.range.end()).await?;
    }
    Ok(())
}

/// Fills the holes of the blocks that the range touches (`xfs_alloc_file_space`).
fn preallocate<E: Env>(cx: &Cx<'_, E>, target: Target) -> Result<(), Errno> {
    cx.with(|world| {
        let range = world.geometry().block_range(target.range);
        world.look_for_space(false);
        let World { files, config, .. } = world;
        let provider = &mut files[target.file.get() as usize].provider;
        let done = provider.preallocate(range, &mut config.space);
        world.note_extents(target.file);
        if done.is_ok() {
            world.step(Rule::SpacePreallocated, [range.start().get(), range.len().get(), 0, 0]);
        }
        done
    })
}

/// Frees the whole blocks of the range and zeroes its edges (`xfs_free_file_space`).
async fn punch<E: Env>(cx: &Cx<'_, E>, target: Target) -> Result<(), Errno> {
    let Target { file, range, manner } = target;
    cx.with(|world| world.require_no_direct(file, range.start()));
    let inner = cx.with(|world| {
        let geometry = world.geometry();
        let start = geometry.round_up_block(range.start());
        FileRange::between(start, geometry.round_down_block(range.end()))
    });
    if manner == Manner::Generic {
        cx.with(|world| world.protect_edges(file, range));
        drop_range(cx, file, inner).await;
        cx.reach(StopPoint::AfterCut, |_| inner).await;
        zero_inside(cx, file, FileRange::between(range.start(), inner.start().min(range.end())))
            .await?;
        zero_inside(cx, file, FileRange::between(inner.end(), range.end())).await?;
        cx.with(|world| world.free_space(file, inner, false));
        return Ok(());
    }
    flush_and_drop(cx, file, range).await?;
    cx.reach(StopPoint::AfterCut, |_| range).await;
    cx.with(|world| world.free_space(file, inner, false));
    zero_inside(cx, file, range).await?;
    let (size, page) = cx.with(|world| {
        let (geometry, size) = (world.geometry(), world.file(file).size);
        (size, geometry.page_pos(geometry.page_floor(size)))
    });
    // The page of EOF may be mapped: writing it zeroes what lies behind EOF.
    if range.start() < size && range.end() >= size && page < size {
        write_before(cx, file, FileRange::between(page, Pos::new(MAX_POS))).await?;
    }
    Ok(())
}

/// Zeroes a range through the cache as far as it lies inside EOF.
async fn zero_inside<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
) -> Result<bool, Errno> {
    let inside = cx.with(|world| range.intersect(world.whole(file)));
    zero_range(cx, file, inside).await
}

/// Writes a range back and drops it, rounded out to pages and blocks (`xfs_flush_unmap_range`).
async fn flush_and_drop<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
) -> Result<(), Errno> {
    let whole = cx.with(|world| world.round_out(range));
    write_before(cx, file, whole).await?;
    drop_range(cx, file, whole).await;
    Ok(())
}

/// Whether the range consists of whole blocks, as moving them demands.
fn aligned<E: Env>(cx: &Cx<'_, E>, range: FileRange) -> bool {
    cx.with(|world| world.geometry().block_range(range) == range)
}

/// Takes the range out (`xfs_falloc_collapse_range`).
async fn collapse<E: Env>(cx: &Cx<'_, E>, target: Target) -> Result<(), Errno> {
    let Target { file, range, .. } = target;
    let size = cx.with(|world| world.file(file).size);
    if !aligned(cx, range) || range.end() >= size {
        return Err(Errno::Inval);
    }
    punch(cx, target).await?;
    prepare_shift(cx, file, range.start()).await?;
    cx.with(|world| {
        world.file_mut(file).provider.shift_down(range);
        world.note_extents(file);
        world.step(Rule::ExtentsMovedDown, [range.end().get(), range.len().get(), 0, 0]);
    });
    resize(cx, file, size - range.len()).await
}

/// Puts a hole in (`xfs_falloc_insert_range`).
async fn insert<E: Env>(cx: &Cx<'_, E>, target: Target) -> Result<(), Errno> {
    let Target { file, range, .. } = target;
    let (size, largest, flush) = cx.with(|world| {
        let flush = world.behaviours().insert_flush == InsertFlush::EofFolio;
        (world.file(file).size, world.geometry().max_file(), flush)
    });
    if !aligned(cx, range) || range.start() >= size {
        return Err(Errno::Inval);
    }
    if size + range.len() > largest {
        return Err(Errno::FBig);
    }
    if flush {
        write_before(cx, file, FileRange::between(size, size + Bytes::new(1))).await?;
    }
    resize(cx, file, size + range.len()).await?;
    prepare_shift(cx, file, range.start()).await?;
    cx.with(|world| {
        world.file_mut(file).provider.shift_up(range);
        world.note_extents(file);
        world.step(Rule::ExtentsMovedUp, [range.start().get(), range.len().get(), 0, 0]);
    });
    Ok(())
}

/// The cache from one block before the place on is written and dropped: what it holds will lie
/// elsewhere (`xfs_prepare_shift`).
async fn prepare_shift<E: Env>(cx: &Cx<'_, E>, file: FileId, from: Pos) -> Result<(), Errno> {
    let rest = cx.with(|world| {
        let geometry = world.geometry();
        let start = world.round_out(FileRange::between(from, from)).start();
        let before = start.get().saturating_sub(geometry.block_size().get());
        FileRange::between(Pos::new(before), world.file(file).size)
    });
    flush_and_drop(cx, file, rest).await
}

impl<E: Env> World<E> {
    /// How a file changes its space in this way; none: it does not (`ext4_fallocate` knows no
    /// shared blocks, ext2 and zonefs have no such call).
    fn reshapes(&self, file: FileId, mode: FallocMode) -> Option<Manner> {
        let Inode { provider, driver, .. } = self.file(file);
        let lists = matches!(provider, Provider::Extents(_) | Provider::Scripted(_));
        let knows = lists && (driver.is_none() || mode != FallocMode::Unshare);
        self.manner(file).filter(|_| knows)
    }
    /// A range grown to whole pages, or blocks where these are larger.
    pub(super) fn round_out(&self, range: FileRange) -> FileRange {
        let geometry = self.geometry();
        let unit = geometry.page_size().max(geometry.block_size()).get();
        let start = range.start().get() / unit * unit;
        FileRange::between(Pos::new(start), Pos::new(range.end().get().next_multiple_of(unit)))
    }
    /// Pages that reach out of a range lose the right to be stored into: some of their blocks will
    /// have no space (`ext4_truncate_folio`).
    fn protect_edges(&mut self, file: FileId, range: FileRange) {
        let geometry = self.geometry();
        for pos in [range.start(), range.end()] {
            let folio = self.file(file).mapping.find(geometry.page_floor(pos));
            if let Some(folio) = folio
                && self.protect_folio(folio)
            {
                self.dirty_folio(folio);
            }
        }
    }
}
