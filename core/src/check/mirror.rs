//! The engine's own state as a [`Model`], to be compared with the one that its trace describes.

use crate::block::submit::{request_word, seg_word};
use crate::buffer::Driver;
use crate::buffer::state::{BufferBit, addr_word};
use crate::cache::folio::FolioFlags;
use crate::cache::ifs::Half;
use crate::frames::FrameStore;
use crate::locks::Lock;
use crate::ops::OpResult;
use crate::ops::life::head_word;
use crate::trace::delta::{ABSENT, Delta, DeltaKind};
use crate::trace::model::{Model, Place};
use crate::units::{Bytes, FileId, FolioId, Offset, Pos};
use crate::world::{Env, World, extent_words, kind_of};

struct Builder(Model);

impl Builder {
    fn put(&mut self, kind: DeltaKind, object: u32, aux: u32, new: u64) {
        let old = if kind == DeltaKind::FolioPlace { ABSENT } else { 0 };
        if old != new {
            let delta = Delta { kind, object, aux, old, new };
            self.0.apply(&delta).expect("a fresh model takes everything once");
        }
    }
}

impl<E: Env> World<E> {
    /// The state that a complete trace of this world describes, without tallies.
    pub fn snapshot(&self) -> Model {
        let mut out = Builder(Model::new(self.geometry()));
        self.snapshot_files(&mut out);
        for (row, _) in self.folios.iter() {
            self.snapshot_folio(&mut out, FolioId::new(row));
        }
        self.snapshot_bios(&mut out);
        for (id, op) in &self.ops {
            out.put(DeltaKind::OpHead, id.get(), 0, head_word(op));
            out.put(DeltaKind::OpPos, id.get(), 0, op.pos.get());
            out.put(DeltaKind::OpLen, id.get(), 0, op.len.get());
            out.put(DeltaKind::OpRet, id.get(), 0, op.result.map_or(0, OpResult::pack));
        }
        for (kind, object, aux, word) in self.array.words() {
            out.put(kind, object, aux, word);
        }
        for (counter, value) in self.counters.iter() {
            out.put(DeltaKind::Counter, counter.code(), 0, value);
        }
        for ((gauge, of), value) in self.dirt.iter().flat_map(|dirt| dirt.gauges().iter()) {
            out.put(DeltaKind::Gauge, gauge.code(), of, value);
        }
        out.0
    }
    fn snapshot_files(&self, out: &mut Builder) {
        for (at, inode) in self.files.iter().enumerate() {
            let id = at as u32;
            out.put(DeltaKind::FileOpen, id, 0, 1);
            out.put(DeltaKind::FileSize, id, 0, inode.size.get());
            out.put(DeltaKind::FileDiskSize, id, 0, inode.disk_size.get());
            out.put(DeltaKind::FileDirect, id, 0, u64::from(inode.direct));
            out.put(DeltaKind::ZonePointer, id, 0, inode.provider.zone_pointer().get());
            out.put(DeltaKind::FileDriver, id, 0, inode.driver.map_or(0, Driver::code));
            for (fork, extent) in inode.provider.forks(self.geometry()) {
                for (kind, block, word) in extent_words(self.geometry(), fork, &extent) {
                    out.put(kind, id, block, word);
                }
            }
            for (lock, sem) in Lock::ALL.iter().zip(&inode.locks) {
                for (owner, of) in sem.uses() {
                    out.put(crate::locks::kind_of(*lock), id, owner, of.pack());
                }
            }
            for (index, shadow) in &inode.shadows {
                let geometry = self.geometry();
                let block = geometry.file_block_floor(geometry.page_pos(index)).get() as u32;
                out.put(DeltaKind::Shadow, id, block, shadow.pack());
            }
        }
    }
    fn snapshot_folio(&self, out: &mut Builder, id: FolioId) {
        let folio = self.folios.at(id);
        let place = Place { file: folio.file(), index: folio.index, order: folio.order };
        out.put(DeltaKind::FolioPlace, id.get(), 0, place.pack());
        out.put(DeltaKind::FolioPfn, id.get(), 0, folio.pfn().get());
        out.put(DeltaKind::FolioFlags, id.get(), 0, folio.flags.get());
        let Some(state) = self.state(id) else { return };
        for half in [Half::Uptodate, Half::Dirty, Half::Asked, Half::Waste] {
            let bits = state.half(half);
            for at in 0..bits.words() {
                out.put(kind_of(half), id.get(), at as u32, bits.word(at));
            }
        }
        if let Some(ring) = &state.ring {
            for bit in BufferBit::ALL {
                let bits = ring.bits(bit);
                for at in 0..bits.words() {
                    out.put(bit.kind(), id.get(), at as u32, bits.word(at));
                }
            }
            for at in 0..state.uptodate.len() {
                out.put(DeltaKind::BufferAddr, id.get(), at, addr_word(ring.addr(at)));
            }
        }
        out.put(DeltaKind::FolioReadPending, id.get(), 0, state.read_pending.get());
        out.put(DeltaKind::FolioWritePending, id.get(), 0, state.write_pending.get());
    }
    fn snapshot_bios(&self, out: &mut Builder) {
        for (id, entry) in &self.bios {
            let (id, bio) = (id.get(), &entry.bio);
            out.put(DeltaKind::BioHead, id, 0, bio.head.pack());
            out.put(DeltaKind::BioAddr, id, 0, bio.addr.get());
            out.put(DeltaKind::BioLen, id, 0, bio.len.get());
            out.put(DeltaKind::BioPos, id, 0, bio.pos.get());
            out.put(DeltaKind::BioIoSize, id, 0, bio.io_size.get());
            out.put(DeltaKind::BioState, id, 0, entry.state.code());
            out.put(DeltaKind::BioEnd, id, 0, entry.end.code());
            out.put(DeltaKind::BioRequest, id, 0, request_word(entry.request));
            for (at, cut) in entry.cuts.iter().enumerate() {
                out.put(DeltaKind::BioCut, id, at as u32, *cut);
            }
            for (at, seg) in bio.segs.iter().enumerate() {
                out.put(DeltaKind::BioSegAt, id, at as u32, seg_word(seg));
                out.put(DeltaKind::BioSegLen, id, at as u32, seg.len.get());
            }
        }
        for (id, entry) in &self.queue.requests {
            let id = id.get();
            out.put(DeltaKind::RequestHead, id, 0, entry.head.pack());
            out.put(DeltaKind::RequestAddr, id, 0, entry.addr.get());
            out.put(DeltaKind::RequestLen, id, 0, entry.len.get());
            out.put(DeltaKind::RequestState, id, 0, entry.state.code());
        }
    }
    /// Copies a block's bytes from the cache if they are valid there.
    pub(crate) fn peek_cached(&self, file: FileId, at: Pos, to: &mut [u8]) -> bool {
        let geometry = self.geometry();
        let Some(id) = self.file(file).mapping.find(geometry.page_floor(at)) else { return false };
        let folio = self.folios.at(id);
        let offset = Offset::ZERO + at.since(geometry.page_pos(folio.index));
        let block = geometry.block_floor(offset).get() as u32;
        let valid = folio.flags.has(FolioFlags::UPTODATE)
            || self.state(id).is_some_and(|state| state.uptodate.get(block));
        if valid {
            to.copy_from_slice(self.memory.bytes(folio.pfn(), offset, Bytes::new(to.len() as u64)));
        }
        valid
    }
}
