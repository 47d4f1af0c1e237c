//! Ioends: runs of file bytes in writeback, one bio each (`iomap_add_to_ioend`).

use super::{Ctx, SyncMode};
use crate::behaviour::IoSizeClamp;
use crate::block::bio::{BioEnd, BioHead, BioOp, MAX_BYTES, MAX_VECS};
use crate::cache::folio::FolioFlags;
use crate::cache::ifs::Half;
use crate::counters::Counter;
use crate::errno::Errno;
use crate::fault::{FaultEffect, FaultPoint};
use crate::fs::Provider;
use crate::fs::cow::GivenUp;
use crate::iomap::{Iomap, MapType};
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

impl<E: Env> World<E> {
    /// Maps the start of a run and adds as much as the mapping covers to an ioend.
    pub(super) fn write_piece(
        &mut self,
        ctx: &mut Ctx,
        id: FolioId,
        run: FileRange,
        end: Pos,
    ) -> Result<Piece, Errno> {
        let file = ctx.walk.file;
        let map = match self.map_for_writeback(file, run) {
            Ok(map) => map,
            Err(errno) => {
                let args = [run.start().get(), u64::from(errno.number()), 0, 0];
                self.step(Rule::MappingFailed, args);
                self.discard_folio(id, run.start());
                return Err(errno);
            }
        };
        let piece = run.intersect(map.range);
        let stateful = self.state(id).is_some();
        self.require(stateful || piece == run, 23, run.start());
        let (Some(addr), MapType::Mapped | MapType::Unwritten) =
            (map.addr_of(run.start()), map.kind)
        else {
            if map.kind != MapType::Hole {
                return self.refuse_mapping(id, &map, run.start());
            }
            self.step(Rule::HoleSkipped, [piece.start().get(), piece.len().get(), 0, 0]);
            return Ok(Piece { len: piece.len(), added: false });
        };
        self.add_to_ioend(ctx, id, piece, (&map, addr), end)?;
        Ok(Piece { len: piece.len(), added: true })
    }
    /// Writeback met a promise, or bytes that live with the inode: the kernel warns and gives up.
    fn refuse_mapping(&mut self, id: FolioId, map: &Iomap, pos: Pos) -> Result<Piece, Errno> {
        let injected = self.faults.gave(map.kind);
        self.require(injected, 27, pos);
        let args = [pos.get(), u64::from(Errno::Io.number()), 0, 0];
        self.step(Rule::MappingFailed, args);
        self.discard_folio(id, pos);
        Err(Errno::Io)
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
    fn map_for_writeback(&mut self, file: FileId, run: FileRange) -> Result<Iomap, Errno> {
        self.count(Counter::BeginCalls, 1);
        let fault = self.faults.fire(FaultPoint::MapBlocks, run);
        if let Some((_, FaultEffect::Fails(errno))) = fault {
            return Err(errno);
        }
        if let Some((_, FaultEffect::Gives(kind))) = fault {
            return Ok(Iomap::plain(run, kind, None, 0));
        }
        let World { files, config, .. } = self;
        let got = files[file.get() as usize].provider.writeback_map(run, &mut config.space);
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
    fn add_to_ioend(
        &mut self,
        ctx: &mut Ctx,
        id: FolioId,
        piece: FileRange,
        (map, addr): (&Iomap, DevAddr),
        end: Pos,
    ) -> Result<(), Errno> {
        let offset = Offset::ZERO + piece.start().since(self.folio_pos(id));
        let (first, stop) = self.blocks_touched(offset, piece.len());
        let asked = self.asked_bytes(id, first, stop);
        let args = |extra| [piece.start().get(), piece.len().get(), addr.get(), extra];
        let joined = match ctx.open {
            Some(open) => self
                .can_add(ctx, open, id, piece, (map, addr))
                .and_then(|()| self.add_to_bio(open, id, offset, piece.len(), MAX_VECS)),
            None => Err(BioEnd::Open),
        };
        match joined {
            Ok(()) => {
                self.mark_waste(id, first, stop);
                let open = ctx.open.expect("joined it");
                self.grow_io_size(open, piece.len(), end);
                self.step(Rule::IoendJoins, args(0));
            }
            Err(why) => {
                if let Some(open) = ctx.open.take() {
                    self.submit_bio(open, why);
                }
                let fault = self.faults.fire(FaultPoint::AllocIoend, piece);
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
                    file: ctx.walk.file,
                };
                self.mark_waste(id, first, stop);
                let bio = self.new_bio(head, addr, crate::world::Purpose::Ioend);
                self.add_to_bio(bio, id, offset, piece.len(), MAX_VECS)
                    .expect("an empty bio takes one piece");
                ctx.open = Some(bio);
                ctx.folios = 0;
                self.grow_io_size(bio, piece.len(), end);
                self.step(Rule::IoendNew, args(why.code()));
            }
        }
        self.count(Counter::CleanWritten, piece.len().saturating_sub(asked).get());
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
    /// Notes which blocks of a run nobody had changed.
    fn mark_waste(&mut self, id: FolioId, first: u32, stop: u32) {
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
    pub(crate) fn end_ioend(&mut self, id: BioId, result: Result<(), Errno>) {
        let bio = &self.bio(id).bio;
        let (file, pos, len, io_size) = (bio.head.file, bio.pos, bio.len, bio.io_size);
        let (unwritten, shared) = (bio.head.unwritten, bio.head.shared);
        let range = FileRange::between(pos, pos + len);
        let result = match result {
            Ok(()) if unwritten => match self.faults.fire(FaultPoint::ConvertUnwritten, range) {
                Some((_, FaultEffect::Fails(errno))) => Err(errno),
                Some((_, FaultEffect::Gives(_))) | None => Ok(()),
            },
            ended => ended,
        };
        if let Err(errno) = result {
            self.record_error(file, pos, errno);
            if shared {
                self.file_mut(file).provider.cancel_shared(range);
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
        let (disk_size, end) = (inode.disk_size, (pos + io_size).min(inode.size));
        if end > disk_size {
            self.set_disk_size(file, end);
            self.step(Rule::DiskSizeMoved, [disk_size.get(), end.get(), 0, 0]);
        }
    }
    /// Space that a file gave up: where one other file alone still has it, it shares it no longer.
    fn release_shared(&mut self, given_up: &GivenUp) {
        let geometry = self.geometry();
        for (addr, len) in given_up {
            let held: Vec<(usize, FileRange)> = self
                .files
                .iter()
                .enumerate()
                .flat_map(|(at, inode)| {
                    let extents = inode.provider.extents(geometry).into_iter();
                    extents.filter_map(move |map| Some((at, map.range_at(*addr, *len)?)))
                })
                .collect();
            let [(first, _), rest @ ..] = held.as_slice() else { continue };
            if rest.iter().any(|(at, _)| at != first) {
                continue;
            }
            for (at, range) in &held {
                if let Provider::Extents(fs) = &mut self.files[*at].provider {
                    fs.set_shared(*range, false);
                }
                self.note_extents(FileId::new(*at as u32));
            }
        }
    }
}
