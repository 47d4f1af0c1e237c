//! Writeback that gathers blocks of many folios into one bio: ext4's loop over dirty buffers
//! (`ext4_bio_write_folio`), and the common one over folios that are dirty as a whole
//! (`mpage_writepages`, as ext2 has it), which falls back to one I/O a buffer.

use super::BufferIo;
use super::Driver;
use super::get_block::get_block;
use super::state::BufferBit;
use super::writeback::{write_full_folio, write_head, write_taken_folio};
use crate::block::bio::{BioEnd, MAX_VECS};
use crate::cache::folio::FolioFlags;
use crate::cache::ifs::Half;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::iomap::MapType;
use crate::trace::rule::Rule;
use crate::units::{Blocks, Bytes, DevAddr, FileRange, FolioId, Offset, Pos};
use crate::world::{Env, Purpose, World};
use crate::writeback::Ctx;
use crate::writeback::folio::Eof;

/// Most blocks that ext4 maps at once (`MAX_WRITEPAGES_EXTENT_LEN`).
const MAX_EXTENT: Blocks = Blocks::new(2048);

/// Writes a locked dirty folio of a file in buffers, and unlocks it.
pub(crate) async fn write_folio<E: Env>(
    cx: &Cx<'_, E>,
    ctx: &mut Ctx,
    driver: Driver,
    id: FolioId,
) -> Result<(), Errno> {
    match driver {
        Driver::BlockDevice => write_full_folio(cx, &ctx.walk, id).await,
        Driver::Ext2 => write_whole_folio(cx, ctx, id).await,
        Driver::Ext4 => cx.with(|world| world.write_dirty_buffers(ctx, id)),
    }
}

/// Ext2: a folio that is dirty as a whole, with its blocks one behind the other, joins the open
/// bio; any other is written block by block (`__mpage_writepage`).
async fn write_whole_folio<E: Env>(
    cx: &Cx<'_, E>,
    ctx: &mut Ctx,
    id: FolioId,
) -> Result<(), Errno> {
    let end = cx.with(|world| {
        world.take_folio(id);
        world.handle_eof(id)
    });
    let Eof::At(end) = end else {
        cx.with(|world| world.unlock(id));
        return Ok(());
    };
    let found = if cx.with(|world| world.ring(id).is_some()) {
        cx.with(|world| world.whole_of_buffers(id))
    } else {
        map_whole(cx, ctx, id, end).await
    };
    let Some(whole) = found else {
        cx.with(|world| {
            world.step(Rule::WriteConfused, [world.folio_pos(id).get(), 0, 0, 0]);
            if let Some(open) = ctx.open.take() {
                world.submit_bio(open, BioEnd::Confused);
            }
        });
        return write_taken_folio(cx, &ctx.walk, id).await;
    };
    cx.with(|world| world.add_folio_to_write(ctx, id, &whole));
    Ok(())
}

/// A folio whose first blocks lie one behind the other.
struct Whole {
    addr: DevAddr,
    blocks: u32,
    boundary: bool,
}

/// Maps the blocks of a folio that has no buffers, up to EOF.
async fn map_whole<E: Env>(cx: &Cx<'_, E>, ctx: &Ctx, id: FolioId, end: Pos) -> Option<Whole> {
    let file = ctx.walk.file;
    let mut whole: Option<Whole> = None;
    for at in 0..cx.with(|world| world.folio_blocks(id)) {
        let range = cx.with(|world| world.buffer_range(id, at));
        if range.start() >= end {
            break;
        }
        let got = get_block(cx, file, range, true).await.ok()?;
        let addr = got.placed()?;
        let first = whole.as_ref().map_or(addr, |whole| whole.addr);
        let start = cx.with(|world| world.folio_pos(id));
        if first + range.start().since(start) != addr {
            return None;
        }
        whole = Some(Whole { addr: first, blocks: at + 1, boundary: got.boundary });
    }
    whole
}

impl<E: Env> World<E> {
    /// Ext4: the dirty buffers of the folio join the open bio as long as their blocks follow on.
    /// Promised blocks get places first, as many in one go as one mapping covers, and what was
    /// mapped in one go is sent before the next is mapped (`ext4_do_writepages`).
    fn write_dirty_buffers(&mut self, ctx: &mut Ctx, id: FolioId) -> Result<(), Errno> {
        self.take_folio(id);
        if let Eof::Beyond = self.handle_eof(id) {
            self.unlock(id);
            return Ok(());
        }
        self.ensure_dirty_buffers(id);
        let result = self.place_promised(ctx, id);
        let taken = self.take_dirty(ctx, id);
        self.set_writeback(id);
        let args = [self.folio_pos(id).get(), taken.len() as u64, 0, 0];
        self.step(Rule::BuffersToWrite, args);
        for at in &taken {
            self.add_buffer_to_write(ctx, id, *at);
        }
        self.unlock(id);
        if taken.is_empty() && self.has(id, FolioFlags::WRITEBACK) {
            self.end_writeback(id);
        }
        if let Err(errno) = result {
            let pos = self.folio_pos(id);
            self.record_error(ctx.walk.file, pos, errno);
        }
        result
    }
    /// Promised blocks of a folio get places. Where they begin a new mapping, or none is needed any
    /// more, what was gathered so far is sent.
    fn place_promised(&mut self, ctx: &mut Ctx, id: FolioId) -> Result<(), Errno> {
        let mut at = 0;
        let buffers = self.folio_blocks(id);
        self.visit_buffers(buffers);
        while at < buffers {
            // A dirty buffer that was never mapped is a hole: its write finds nothing to write.
            let promised = self.buffer_dirty(id, at) && self.buffer_is(id, BufferBit::Delay, at);
            let range = self.buffer_range(id, at);
            let inside = range.start() < self.eof_block(ctx.walk.file);
            if promised && inside {
                self.place_one(ctx, id, at, range)?;
            }
            at += 1;
        }
        Ok(())
    }
    fn place_one(
        &mut self,
        ctx: &mut Ctx,
        id: FolioId,
        at: u32,
        range: FileRange,
    ) -> Result<(), Errno> {
        let kept = ctx.placed.filter(|map| map.range.intersect(range) == range);
        let map = if let Some(map) = kept {
            map
        } else {
            let run = FileRange::between(range.start(), range.start() + self.longest_extent());
            let run = run.intersect(self.whole_blocks(ctx.walk.file));
            let map = self.map_for_writeback(ctx.walk.file, run)?.cut_to(run);
            self.record_size_of_extent(ctx.walk.file, map.range.end());
            ctx.placed = Some(map);
            map
        };
        let addr = map.addr_of(range.start()).filter(|_| map.kind != MapType::Hole);
        let addr = addr.ok_or(Errno::Io)?;
        let one = (at, at + 1);
        self.set_buffer_addr(id, at, Some(addr));
        self.set_buffers(id, BufferBit::Mapped, one, true);
        self.set_buffers(id, BufferBit::New, one, false);
        self.set_buffers(id, BufferBit::Delay, one, false);
        self.set_buffers(id, BufferBit::Unwritten, one, map.kind == MapType::Unwritten);
        Ok(())
    }
    fn longest_extent(&self) -> Bytes {
        self.geometry().blocks_bytes(MAX_EXTENT)
    }
    fn whole_blocks(&self, file: crate::units::FileId) -> FileRange {
        FileRange::between(Pos::ZERO, self.eof_block(file))
    }
    /// The size that ext4 records follows the extents that got places.
    fn record_size_of_extent(&mut self, file: crate::units::FileId, end: Pos) {
        let (old, size) = (self.file(file).disk_size, self.file(file).size);
        let new = end.min(size);
        if new > old {
            self.set_disk_size(file, new);
            self.step(Rule::DiskSizeMoved, [old.get(), new.get(), 0, 0]);
        }
    }
    /// The dirty buffers that have a place, clean from now on; those beyond EOF are clean, too.
    fn take_dirty(&mut self, ctx: &Ctx, id: FolioId) -> Vec<u32> {
        let buffers = self.folio_blocks(id);
        self.visit_buffers(buffers);
        let eof = self.eof_block(ctx.walk.file);
        let mut taken = Vec::new();
        for at in 0..buffers {
            let one = (at, at + 1);
            if self.buffer_range(id, at).start() >= eof {
                self.set_blocks(id, Half::Dirty, one, false);
                self.set_blocks(id, Half::Asked, one, false);
                self.set_blocks(id, Half::Uptodate, one, true);
            } else if self.buffer_addr(id, at).is_none() {
                // A hole, or it could not be placed: nothing to write.
                self.set_blocks(id, Half::Dirty, one, false);
                self.set_blocks(id, Half::Asked, one, false);
            } else if self.take_buffer(id, at) {
                taken.push(at);
            }
        }
        taken
    }
    /// Adds one block to the open bio, or sends that and opens another
    /// (`io_submit_add_bh`).
    fn add_buffer_to_write(&mut self, ctx: &mut Ctx, id: FolioId, at: u32) {
        let Some(addr) = self.buffer_addr(id, at) else { return };
        let unwritten = self.buffer_is(id, BufferBit::Unwritten, at);
        let range = self.buffer_range(id, at);
        let placed = ctx.placed.filter(|map| map.range.intersect(range) == range);
        let offset = self.buffer_offset(at);
        if let Some(open) = ctx.open {
            let bio = &self.bio(open).bio;
            let joined =
                if ctx.gathered != placed.map(|map| map.range.start()) && ctx.gathered.is_some() {
                    Err(BioEnd::MappingEnds)
                } else if bio.end() != addr {
                    Err(BioEnd::SectorGap)
                } else if bio.head.unwritten != unwritten {
                    Err(BioEnd::TypeDiffers)
                } else {
                    self.add_to_bio(open, id, offset, range.len(), MAX_VECS)
                };
            match joined {
                Ok(()) => ctx.gathered = placed.map(|map| map.range.start()),
                Err(why) => {
                    self.submit_bio(open, why);
                    ctx.open = None;
                }
            }
        }
        if ctx.open.is_none() {
            let head = write_head(&ctx.walk, unwritten);
            let bio = self.new_bio(head, addr, Purpose::Buffer(BufferIo::Write));
            self.add_to_bio(bio, id, offset, range.len(), MAX_VECS)
                .expect("an empty bio takes one piece");
            ctx.open = Some(bio);
            ctx.gathered = placed.map(|map| map.range.start());
        }
        let args = [range.start().get(), range.len().get(), addr.get(), 0];
        self.step(Rule::BufferJoinsWrite, args);
    }
    /// The blocks of a folio, if all are mapped, dirty and valid, one behind the other; those
    /// without a place may follow.
    fn whole_of_buffers(&mut self, id: FolioId) -> Option<Whole> {
        let buffers = self.folio_blocks(id);
        self.visit_buffers(buffers);
        let mut whole: Option<Whole> = None;
        let mut unmapped = false;
        for at in 0..buffers {
            if !self.buffer_is(id, BufferBit::Mapped, at) {
                if self.buffer_dirty(id, at) {
                    return None;
                }
                unmapped = true;
                continue;
            }
            let valid = self.buffer_dirty(id, at) && self.buffer_uptodate(id, at);
            let addr = self.buffer_addr(id, at).filter(|_| valid && !unmapped)?;
            let first = whole.as_ref().map_or(addr, |whole| whole.addr);
            if first + self.buffer_offset(at).since(Offset::ZERO) != addr {
                return None;
            }
            let boundary = self.buffer_is(id, BufferBit::Boundary, at);
            whole = Some(Whole { addr: first, blocks: at + 1, boundary });
        }
        whole
    }
    /// A folio that is written as a whole; its buffers are clean from now on.
    fn add_folio_to_write(&mut self, ctx: &mut Ctx, id: FolioId, whole: &Whole) {
        let all = self.folio_range(id);
        let len = self.geometry().blocks_bytes(Blocks::new(u64::from(whole.blocks)));
        self.count_clean(id, FileRange::between(all.start(), all.start() + len));
        if let Some(open) = ctx.open {
            let joined = if self.bio(open).bio.end() == whole.addr {
                self.add_to_bio(open, id, Offset::ZERO, len, MAX_VECS)
            } else {
                Err(BioEnd::SectorGap)
            };
            if let Err(why) = joined {
                self.submit_bio(open, why);
                ctx.open = None;
            }
        }
        if ctx.open.is_none() {
            let head = write_head(&ctx.walk, false);
            let bio = self.new_bio(head, whole.addr, Purpose::Buffer(BufferIo::WriteFolios));
            self.add_to_bio(bio, id, Offset::ZERO, len, MAX_VECS)
                .expect("an empty bio takes one piece");
            ctx.open = Some(bio);
        }
        let blocks = (0, self.folio_blocks(id));
        self.set_blocks(id, Half::Dirty, blocks, false);
        self.set_blocks(id, Half::Asked, blocks, false);
        self.set_writeback(id);
        self.unlock(id);
        let args = [all.start().get(), len.get(), whole.addr.get(), 0];
        self.step(Rule::FolioJoinsWrite, args);
        let why = if whole.boundary {
            BioEnd::BlockBoundary
        } else if len < all.len() {
            BioEnd::HoleFollows
        } else {
            return;
        };
        if let Some(open) = ctx.open.take() {
            self.submit_bio(open, why);
        }
    }
}
