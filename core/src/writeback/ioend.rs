//! Ioends: runs of file bytes in writeback, one bio each (`iomap_add_to_ioend`).

use super::merge::CompletedIoend;
use super::{Ctx, SyncMode};
use crate::behaviour::{IoSizeClamp, WritePending};
use crate::block::bio::{BioEnd, BioHead, BioOp, MAX_BYTES, MAX_VECS};
use crate::cache::folio::FolioFlags;
use crate::cache::ifs::Half;
use crate::check::mutant::Mutant;
use crate::counters::Counter;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::fault::{FaultEffect, FaultPoint};
use crate::fs::cow::GivenUp;
use crate::iomap::{Iomap, MapType};
use crate::stops::StopPoint;
use crate::trace::rule::Rule;
use crate::units::{BioId, Bytes, DevAddr, FileId, FileRange, FolioId, Offset, Pos};
use crate::world::{Env, World};

/// Most folios of an ioend: bounds how long its completion takes (`IOEND_BATCH_SIZE`).
const MAX_FOLIOS: u32 = 4096;

/// A piece of a run that one mapping covers.
pub(super) struct Piece {
    pub(super) len: Bytes,
    /// False: it lies in a hole and is skipped.
    pub(super) added: bool,
}

/// Maps the start of a run and adds as much as the mapping covers to an ioend
/// (`iomap_writeback_range`).
pub(super) async fn write_piece<E: Env>(
    cx: &Cx<'_, E>,
    ctx: &mut Ctx,
    id: FolioId,
    run: FileRange,
    end: Pos,
) -> Result<Piece, Errno> {
    cx.reach(StopPoint::BeforeMapBlocks, |_| run).await;
    let map = cx.with(|world| world.map_piece(ctx.walk.file, id, run))?;
    cx.reach(StopPoint::AfterMapBlocks, |_| run).await;
    let all = FileRange::between(run.start(), map.range.end());
    let piece = if cx.mutant(Mutant::WritesTheMapping) { all } else { run.intersect(map.range) };
    let Some(addr) = map.addr_of(run.start()).filter(|_| map.kind != MapType::Hole) else {
        let args = [piece.start().get(), piece.len().get(), 0, 0];
        cx.with(|world| world.step(Rule::HoleSkipped, args));
        return Ok(Piece { len: piece.len(), added: false });
    };
    let Some(stripe) = ctx.stripe else {
        add_piece(cx, ctx, id, piece, piece.start(), (&map, addr), end).await?;
        return Ok(Piece { len: piece.len(), added: true });
    };
    let mut rest = piece;
    while !rest.is_empty() {
        let addr = addr + rest.start().since(piece.start());
        let part = stripe.clip(rest, addr);
        let from = cx.with(|world| {
            world.say_clipped(rest, part, &map);
            world.bytes_from(ctx.stripe, piece.start(), part)
        });
        add_piece(cx, ctx, id, part, from, (&map, addr), end).await?;
        rest = FileRange::between(part.end(), rest.end());
    }
    Ok(Piece { len: piece.len(), added: true })
}

/// Adds a piece, whose bytes lie at `from` of the file's cache, to the open ioend or to a new one.
async fn add_piece<E: Env>(
    cx: &Cx<'_, E>,
    ctx: &mut Ctx,
    id: FolioId,
    piece: FileRange,
    from: Pos,
    place: (&Iomap, DevAddr),
    end: Pos,
) -> Result<(), Errno> {
    let joined = cx.with(|world| world.join_ioend(ctx, id, (piece, from), place, end));
    if let Err((why, sent)) = joined {
        if let Some(range) = sent {
            cx.reach(StopPoint::AfterWritebackSubmit, |_| range).await;
        }
        cx.with(|world| world.begin_ioend(ctx, id, (piece, from), place, (end, why)))?;
    }
    Ok(())
}

impl<E: Env> World<E> {
    /// A mapping for the start of a run; blocks with an address, or a hole.
    fn map_piece(&mut self, file: FileId, id: FolioId, run: FileRange) -> Result<Iomap, Errno> {
        let map = match self.map_for_writeback(file, run) {
            Ok(map) => map,
            Err(errno) => {
                let args = [run.start().get(), u64::from(errno.number()), 0, 0];
                self.step(Rule::MappingFailed, args);
                self.discard_folio(id, run.start());
                return Err(errno);
            }
        };
        let stateful = self.state(id).is_some();
        self.require(stateful || run.intersect(map.range) == run, 23, run.start());
        let placed = matches!(map.kind, MapType::Mapped | MapType::Unwritten);
        if map.kind == MapType::Hole || placed && map.addr.is_some() {
            return Ok(map);
        }
        Err(self.refuse_mapping(id, &map, run.start()))
    }
    /// Writeback met a promise, or bytes that live with the inode: the kernel warns and gives up.
    fn refuse_mapping(&mut self, id: FolioId, map: &Iomap, pos: Pos) -> Errno {
        let injected = self.faults.gave(map.kind);
        self.require(injected, 27, pos);
        let args = [pos.get(), u64::from(Errno::Io.number()), 0, 0];
        self.step(Rule::MappingFailed, args);
        self.discard_folio(id, pos);
        Errno::Io
    }
    /// What was reserved for a folio from `pos` on is given back: it will not be written
    /// (`xfs_discard_folio`).
    fn discard_folio(&mut self, id: FolioId, pos: Pos) {
        let range = FileRange::between(pos, self.folio_range(id).end());
        let file = self.folios.at(id).file();
        if self.file_mut(file).provider.discard(range) {
            self.note_extents(file);
            self.step(Rule::Released, [range.start().get(), range.len().get(), 0, 0]);
        }
    }
    pub(crate) fn map_for_writeback(
        &mut self,
        file: FileId,
        run: FileRange,
    ) -> Result<Iomap, Errno> {
        self.count(Counter::BeginCalls, 1);
        let fault = self.fault(FaultPoint::MapBlocks, file, run);
        if let Some((_, FaultEffect::Fails(errno))) = fault {
            return Err(errno);
        }
        if let Some((_, FaultEffect::Gives(kind))) = fault {
            return Ok(Iomap::plain(run, kind, None, 0));
        }
        if self.mutant(Mutant::WritesPromises) {
            return Ok(self.file(file).provider.peek(run.start(), run.end()));
        }
        self.look_for_space(true);
        let World { files, config, .. } = self;
        let inode = &mut files[file.get() as usize];
        let got = inode.provider.writeback_map(run, inode.size, &mut config.space);
        self.note_extents(file);
        let (map, allocated) = got?;
        if let Some(space) = allocated {
            let args = [space.range.start().get(), space.range.len().get(), space.addr.get(), 0];
            self.step(Rule::SpaceAllocated, args);
        }
        let addr = map.addr_of(run.start()).map_or(u64::MAX, DevAddr::get);
        self.step(
            Rule::MappedForWriteback,
            [run.start().get(), run.len().get(), map.kind.code(), addr],
        );
        Ok(map)
    }
    /// Adds a piece to the open ioend, or says why it cannot and sends that one, with its range.
    fn join_ioend(
        &mut self,
        ctx: &mut Ctx,
        id: FolioId,
        (piece, from): (FileRange, Pos),
        (map, addr): (&Iomap, DevAddr),
        end: Pos,
    ) -> Result<(), (BioEnd, Option<FileRange>)> {
        let Some(open) = ctx.open else { return Err((BioEnd::Open, None)) };
        let offset = Offset::ZERO + from.since(self.folio_pos(id));
        let joined = self
            .can_add(ctx, open, id, piece, (map, addr))
            .and_then(|()| self.add_to_bio(open, id, offset, piece.len(), MAX_VECS));
        if let Err(why) = joined {
            ctx.open = None;
            let bio = &self.bio(open).bio;
            let range = bio.file_range();
            if self.behaviours().write_pending == WritePending::PerBlock {
                ctx.queued.push((open, why));
                return Err((why, None));
            }
            self.submit_bio(open, why);
            return Err((why, Some(range)));
        }
        self.add_pending(id, piece.len());
        self.count_clean(id, piece);
        self.grow_io_size(open, piece.len(), end);
        let args = [piece.start().get(), piece.len().get(), addr.get(), 0];
        self.step(Rule::IoendJoins, args);
        Ok(())
    }
    /// Makes an ioend of a piece; `why` the one before it ended.
    fn begin_ioend(
        &mut self,
        ctx: &mut Ctx,
        id: FolioId,
        (piece, from): (FileRange, Pos),
        (map, addr): (&Iomap, DevAddr),
        (end, why): (Pos, BioEnd),
    ) -> Result<(), Errno> {
        let fault = self.fault(FaultPoint::AllocIoend, ctx.walk.file, piece);
        if let Some((_, FaultEffect::Fails(errno))) = fault {
            return Err(errno);
        }
        let head = BioHead {
            op: BioOp::Write,
            sync: ctx.walk.mode == SyncMode::All && !ctx.walk.worker,
            readahead: false,
            fua: false,
            unwritten: map.kind == MapType::Unwritten,
            shared: map.shared,
            dontcache: self.has(id, FolioFlags::DROPBEHIND),
            meta: false,
            boundary: map.boundary && piece.start() == map.range.start(),
            direct: false,
            file: ctx.walk.file,
        };
        self.count_clean(id, piece);
        let bio = self.new_bio(head, addr, crate::world::Purpose::Ioend);
        let offset = Offset::ZERO + from.since(self.folio_pos(id));
        self.add_to_bio(bio, id, offset, piece.len(), MAX_VECS)
            .expect("an empty bio takes one piece");
        self.set_bio_pos(bio, piece.start());
        self.add_pending(id, piece.len());
        ctx.open = Some(bio);
        ctx.folios = 0;
        self.grow_io_size(bio, piece.len(), end);
        let args = [piece.start().get(), piece.len().get(), addr.get(), why.code()];
        self.step(Rule::IoendNew, args);
        Ok(())
    }
    /// Whether a piece may join the open ioend, and if not, why (`iomap_can_add_to_ioend`).
    fn can_add(
        &self,
        ctx: &Ctx,
        open: BioId,
        id: FolioId,
        piece: FileRange,
        (map, addr): (&Iomap, DevAddr),
    ) -> Result<(), BioEnd> {
        let bio = &self.bio(open).bio;
        if (bio.len + piece.len()).get() > MAX_BYTES {
            return Err(BioEnd::SizeLimit);
        }
        if map.boundary && piece.start() == map.range.start() {
            return Err(BioEnd::Boundary);
        }
        if bio.head.unwritten != (map.kind == MapType::Unwritten) || bio.head.shared != map.shared {
            return Err(BioEnd::TypeDiffers);
        }
        if bio.head.dontcache != self.has(id, FolioFlags::DROPBEHIND) {
            return Err(BioEnd::TypeDiffers);
        }
        if bio.pos + bio.io_size != piece.start() {
            return Err(BioEnd::FileGap);
        }
        if bio.end() != addr {
            return Err(BioEnd::SectorGap);
        }
        if ctx.folios >= MAX_FOLIOS {
            return Err(BioEnd::FolioLimit);
        }
        if ctx.stripe.is_some_and(|stripe| stripe.at_boundary(addr)) {
            return Err(BioEnd::Stripe);
        }
        Ok(())
    }
    /// The ioend counts the bytes of the file up to EOF, or whole blocks where it is not clamped.
    fn grow_io_size(&mut self, bio: BioId, len: Bytes, end: Pos) {
        let now = self.bio(bio).bio.io_size + len;
        let limit = FileRange::between(self.bio(bio).bio.pos, end).len();
        if self.behaviours().io_size_clamp == IoSizeClamp::On && now > limit {
            self.set_io_size(bio, limit);
            self.step(Rule::IoSizeClamped, [limit.get(), now.get(), 0, 0]);
        } else {
            self.set_io_size(bio, now);
        }
    }
    /// Notes and counts what of a piece nobody had changed.
    pub(crate) fn count_clean(&mut self, id: FolioId, piece: FileRange) {
        let offset = Offset::ZERO + piece.start().since(self.folio_pos(id));
        let (first, stop) = self.blocks_touched(offset, piece.len());
        let asked = self.asked_bytes(id, first, stop);
        self.count(Counter::CleanWritten, piece.len().saturating_sub(asked).get());
        let mut at = first;
        while at < stop {
            let Some(state) = self.state(id) else { return };
            let from = state.asked.next_clear(at, stop);
            let to = state.asked.next_set(from, stop);
            self.set_blocks(id, Half::Waste, (from, to), true);
            at = to;
        }
    }
    /// Whether the end of an ioend changes the file system's records, which a worker must do
    /// (`xfs_ioend_needs_wq_completion`).
    pub(crate) fn needs_worker(&self, id: BioId) -> bool {
        let bio = &self.bio(id).bio;
        let appends = bio.pos + bio.io_size > self.file(bio.head.file).disk_size;
        bio.head.unwritten || bio.head.shared || bio.head.dontcache || appends
    }
    /// The bytes of an ioend are on the device: blocks are converted, then the recorded size moves,
    /// and only then the folios leave writeback (`xfs_end_ioend`).
    pub(super) fn end_ioend(&mut self, file: FileId, ioend: &CompletedIoend) {
        let CompletedIoend { pos, len, unwritten, shared, error, .. } = *ioend;
        let range = FileRange::between(pos, pos + len);
        let result = match error.map_or(Ok(()), Err) {
            Ok(()) if unwritten => match self.fault(FaultPoint::ConvertUnwritten, file, range) {
                Some((_, FaultEffect::Fails(errno))) => Err(errno),
                Some((_, FaultEffect::Gives(_))) | None => Ok(()),
            },
            Err(_) if self.mutant(Mutant::RecordsWhatFailed) => Ok(()),
            ended => ended,
        };
        if let Err(errno) = result {
            self.record_error(file, pos, errno);
            if shared {
                let busy = self.busy_ranges(file);
                self.file_mut(file).provider.cancel_shared(range, &busy);
                self.note_extents(file);
            }
            return;
        }
        if shared {
            let given_up = self.file_mut(file).provider.remap(range);
            self.note_extents(file);
            self.release_shared(&given_up);
            self.step(Rule::Remapped, [pos.get(), len.get(), 0, 0]);
        } else if unwritten && self.file_mut(file).provider.convert(range) {
            self.note_extents(file);
            self.step(Rule::Converted, [pos.get(), len.get(), 0, 0]);
        }
        let inode = self.file(file);
        let (disk_size, end) = (inode.disk_size, (pos + len).min(inode.size));
        if end > disk_size {
            self.set_disk_size(file, end);
            self.step(Rule::DiskSizeMoved, [disk_size.get(), end.get(), 0, 0]);
        }
    }
    /// The folios of a file that are dirty or under writeback.
    fn busy_ranges(&self, file: FileId) -> Vec<FileRange> {
        let busy = FolioFlags::DIRTY | FolioFlags::WRITEBACK;
        let all = self.file(file).mapping.folios();
        let some = all.filter(|id| self.folios.at(*id).flags.get() & busy.get() != 0);
        some.map(|id| self.folio_range(id)).collect()
    }
    /// Space that a file gave up: where one place alone still has it, that is shared no longer.
    pub(crate) fn release_shared(&mut self, given_up: &GivenUp) {
        for (addr, len) in given_up {
            self.unshare_single(*addr, *len);
        }
    }
}
