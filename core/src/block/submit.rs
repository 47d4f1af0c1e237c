//! How a bio is built, handed on, and ended.

use super::bio::{Bio, BioEnd, BioHead, BioOp, BioSeg, BioState, BioVec, MAX_BYTES};
use super::limits::QueueLimits;
use super::request::Part;
use super::split::split;
use crate::behaviour::ReadPending;
use crate::cache::folio::FolioFlags;
use crate::cache::ifs::Half;
use crate::cache::mapping::Tag;
use crate::check::mutant::Mutant;
use crate::counters::Counter;
use crate::errno::Errno;
use crate::trace::delta::DeltaKind;
use crate::trace::rule::Rule;
use crate::trace::sink::Sink;
use crate::trace::step::Context;
use crate::units::{BioId, Bytes, DevAddr, FolioId, Offset, Pos, RequestId, TaskId};
use crate::world::{BioEntry, Caller, Effect, Env, Purpose, World};

impl<E: Env> World<E> {
    pub(crate) fn bio(&self, id: BioId) -> &BioEntry {
        &self.bios[&id]
    }
    pub(super) fn bio_mut(&mut self, id: BioId) -> &mut BioEntry {
        self.bios.get_mut(&id).expect("a bio that exists")
    }
    /// A bio without bytes.
    pub(crate) fn new_bio(&mut self, head: BioHead, addr: DevAddr, purpose: Purpose) -> BioId {
        let id = BioId::new(self.next_bio);
        self.next_bio += 1;
        let bio = Bio {
            id,
            head,
            addr,
            len: Bytes::ZERO,
            io_size: Bytes::ZERO,
            segs: Vec::new(),
            vecs: Vec::new(),
            task: self.caller.task,
            pos: Pos::ZERO,
        };
        let entry = BioEntry {
            bio,
            purpose,
            state: BioState::Building,
            end: BioEnd::Open,
            deferred: false,
            error: None,
            request: None,
            cuts: Vec::new(),
            parts: 1,
            requests: Vec::new(),
        };
        self.bios.insert(id, entry);
        self.note(DeltaKind::BioHead, id.get(), 0, 0, head.pack());
        self.note(DeltaKind::BioAddr, id.get(), 0, 0, addr.get());
        id
    }
    /// Adds a piece of a folio to a bio of at most `capacity` vecs, or says why it cannot
    /// (`bio_add_folio`): a vec is a physically contiguous stretch, so a neighbour in memory needs
    /// no new one.
    pub(crate) fn add_to_bio(
        &mut self,
        id: BioId,
        folio: FolioId,
        offset: Offset,
        len: Bytes,
        capacity: usize,
    ) -> Result<(), BioEnd> {
        let geometry = self.geometry();
        let row = self.folios.at(folio);
        let vec = BioVec { pfn: row.pfn(), offset, len };
        let seg = BioSeg {
            folio,
            offset,
            len,
            pos: geometry.page_pos(row.index) + offset.since(Offset::ZERO),
        };
        let bio = &mut self.bio_mut(id).bio;
        if (bio.len + len).get() > MAX_BYTES {
            return Err(BioEnd::SizeLimit);
        }
        let phys = |vec: &BioVec| vec.pfn.get() * geometry.page_size().get() + vec.offset.get();
        let full = bio.vecs.len() >= capacity;
        match bio.vecs.last_mut() {
            Some(last) if phys(last) + last.len.get() == phys(&vec) => last.len += len,
            Some(_) if full => return Err(BioEnd::VecsFull),
            Some(_) | None => bio.vecs.push(vec),
        }
        let old_len = bio.len;
        bio.len += len;
        let new_len = bio.len;
        let first = bio.segs.is_empty();
        let grown = match bio.segs.last_mut() {
            Some(last) if last.folio == folio && last.offset + last.len == offset => {
                last.len += len;
                Some(last.len)
            }
            Some(_) | None => None,
        };
        if grown.is_none() {
            bio.segs.push(seg);
        }
        let at = (bio.segs.len() - 1) as u32;
        let raw = id.get();
        if let Some(now) = grown {
            self.note(DeltaKind::BioSegLen, raw, at, (now - len).get(), now.get());
        } else {
            self.note(DeltaKind::BioSegAt, raw, at, 0, seg_word(&seg));
            self.note(DeltaKind::BioSegLen, raw, at, 0, len.get());
        }
        self.note(DeltaKind::BioLen, raw, 0, old_len.get(), new_len.get());
        if first {
            self.bio_mut(id).bio.pos = seg.pos;
            self.note(DeltaKind::BioPos, raw, 0, 0, seg.pos.get());
        }
        Ok(())
    }
    /// Gives a bio the application's memory, for the bytes of the file from `pos` on.
    pub(crate) fn fill_bio(&mut self, id: BioId, pos: Pos, len: Bytes, vecs: Vec<BioVec>) {
        let bio = &mut self.bio_mut(id).bio;
        (bio.pos, bio.len, bio.vecs) = (pos, len, vecs);
        self.note(DeltaKind::BioPos, id.get(), 0, 0, pos.get());
        self.note(DeltaKind::BioLen, id.get(), 0, 0, len.get());
    }
    pub(crate) fn set_io_size(&mut self, id: BioId, size: Bytes) {
        let old = core::mem::replace(&mut self.bio_mut(id).bio.io_size, size);
        self.note(DeltaKind::BioIoSize, id.get(), 0, old.get(), size.get());
    }
    /// The file position that an ioend says it has, where its memory is another's.
    pub(crate) fn set_bio_pos(&mut self, id: BioId, pos: Pos) {
        let old = core::mem::replace(&mut self.bio_mut(id).bio.pos, pos);
        self.note(DeltaKind::BioPos, id.get(), 0, old.get(), pos.get());
    }
    /// The bytes of a bio that has no folio.
    pub(crate) fn set_bio_len(&mut self, id: BioId, len: Bytes) {
        let old = core::mem::replace(&mut self.bio_mut(id).bio.len, len);
        self.note(DeltaKind::BioLen, id.get(), 0, old.get(), len.get());
    }
    fn set_bio_state(&mut self, id: BioId, state: BioState) {
        let old = core::mem::replace(&mut self.bio_mut(id).state, state);
        self.note(DeltaKind::BioState, id.get(), 0, old.code(), state.code());
    }
    /// Nothing more is added to a bio, for the reason `end`, and its way to completion begins.
    fn close_bio(&mut self, id: BioId, end: BioEnd) {
        let deferred = self.bio(id).purpose == Purpose::Ioend && self.needs_worker(id);
        let entry = self.bio_mut(id);
        entry.deferred = deferred;
        let old = core::mem::replace(&mut entry.end, end);
        self.note(DeltaKind::BioEnd, id.get(), 0, old.code(), end.code());
        self.set_bio_state(id, BioState::InFlight);
    }
    /// A bio is completed with an error instead of being sent: its walk failed elsewhere
    /// (`ioend_writeback_end_bio` from `writeback_submit`).
    pub(crate) fn fail_bio(&mut self, id: BioId, errno: Errno) {
        self.close_bio(id, BioEnd::LastRange);
        let bio = &self.bio(id).bio;
        let args = [u64::from(id.get()), bio.addr.get(), bio.len.get(), u64::from(errno.number())];
        self.step(Rule::IoendFailed, args);
        self.end_bio(id, Err(errno));
    }
    /// Hands a bio to the request queue, or straight to the device. `end` says why nothing more is
    /// added.
    pub(crate) fn submit_bio(&mut self, id: BioId, end: BioEnd) {
        self.close_bio(id, end);
        let bio = self.bio(id).bio.clone();
        if bio.head.shared {
            let range = bio.file_range();
            self.file_mut(bio.head.file).provider.send_shared(range);
            self.note_extents(bio.head.file);
        }
        self.count(
            match bio.head.op {
                BioOp::Read => Counter::ReadBios,
                BioOp::Write => Counter::WriteBios,
            },
            1,
        );
        let args = [u64::from(id.get()), bio.addr.get(), bio.len.get(), end.code()];
        self.step(Rule::BioSubmitted, args);
        if self.config.queue.is_some() && self.bio(id).purpose == Purpose::Ioend {
            self.require_in_stripe(bio.addr, bio.len, bio.pos);
        }
        if let Some(mut device) = self.at_submit.take() {
            let ended = device(&bio, &mut self.memory);
            self.at_submit = Some(device);
            if let Some(result) = ended {
                let caller = self.caller;
                self.caller = Caller { op: None, context: Context::Softirq, ..caller };
                self.end_bio(id, result);
                self.run_workers();
                self.caller = caller;
                return;
            }
        }
        if let Some(limits) = self.config.queue {
            self.send_parts(&bio, limits);
        } else {
            let addr = bio.addr + self.config.partition;
            self.effects.push_back(Effect::Submit(Bio { addr, ..bio }));
        }
    }
    /// The bio as the whole disk knows it: a partition's start is added (`blk_partition_remap`).
    pub(super) fn placed(&self, bio: &Bio) -> Bio {
        Bio { addr: bio.addr + self.config.partition, ..bio.clone() }
    }
    /// Cuts a bio where the queue's limits want it, and hands the parts on in order.
    fn send_parts(&mut self, bio: &Bio, limits: QueueLimits) {
        let placed = self.placed(bio);
        if !self.config.partition.is_zero() {
            let (old, new) = (bio.addr.get(), placed.addr.get());
            self.step(Rule::BioRemapped, [u64::from(bio.id.get()), new, old, bio.len.get()]);
        }
        if limits.first_cut(placed.addr, &placed.vecs, self.geometry().page_size()).is_none() {
            return self.send_part(placed, Part::Whole, limits);
        }
        let parts = split(&placed, &limits, self.geometry().page_size());
        self.bio_mut(bio.id).parts = parts.len() as u32;
        for (part, why) in parts {
            let Some(why) = why else {
                self.send_part(part, Part::Last, limits);
                continue;
            };
            let id = bio.id.get();
            let at = part.end().get();
            let entry = self.bio_mut(bio.id);
            let nth = entry.cuts.len() as u32;
            entry.cuts.push(at | why.code());
            self.note(DeltaKind::BioCut, id, nth, 0, at | why.code());
            self.count(Counter::SplitBios, 1);
            self.step(Rule::BioSplit, [u64::from(id), part.addr.get(), at, why.code()]);
            self.send_part(part, Part::First, limits);
        }
    }
    fn send_part(&mut self, bio: Bio, part: Part, limits: QueueLimits) {
        if limits.requests {
            self.queue_bio(&bio, part, limits);
        } else {
            self.effects.push_back(Effect::Submit(bio));
        }
    }
    /// One part of a bio ended, or all of a bio that has one part; with the last one the bio ends.
    /// An error of one part is the bio's (`bio_chain`).
    pub(crate) fn end_part(
        &mut self,
        id: BioId,
        request: Option<RequestId>,
        result: Result<(), Errno>,
    ) {
        let Some(entry) = self.bios.get_mut(&id) else { return };
        if entry.state != BioState::InFlight {
            return;
        }
        if let Err(errno) = result {
            entry.error.get_or_insert(errno);
        }
        // A host that ends bios ends parts in the order in which it got them.
        let first = (!entry.requests.is_empty()).then(|| entry.requests[0]);
        let of = request.or(first);
        entry.requests.retain(|id| Some(*id) != of);
        entry.parts = entry.parts.saturating_sub(1);
        let (left, result) = (entry.parts, entry.error.map_or(Ok(()), Err));
        if let Some(of) = of {
            self.bio_of_request_ended(of);
        }
        if left == 0 {
            self.end_bio(id, result);
        } else {
            let error = result.err().map_or(0, |errno| u64::from(errno.number()));
            self.step(Rule::PartCompleted, [u64::from(id.get()), u64::from(left), error, 0]);
        }
    }
    /// A bio ended: what waits for its bytes may go on.
    pub(crate) fn end_bio(&mut self, id: BioId, result: Result<(), Errno>) {
        let Some(entry) = self.bios.get_mut(&id) else { return };
        if entry.state != BioState::InFlight {
            return;
        }
        entry.error = result.err();
        let (purpose, deferred) = (entry.purpose, entry.deferred);
        let segs = entry.bio.segs.clone();
        let (len, op, task) = (entry.bio.len, entry.bio.head.op, entry.bio.task);
        let (addr, unwritten) = (entry.bio.addr, entry.bio.head.unwritten);
        self.caller.task = task;
        if result.is_ok() {
            let counter = match op {
                BioOp::Read => Counter::DeviceRead,
                BioOp::Write => Counter::DeviceWritten,
            };
            self.count(counter, len.get());
            if op == BioOp::Write {
                self.know_written(addr, len);
            }
            self.set_bio_state(id, BioState::Done);
        } else {
            self.count(Counter::FailedBios, 1);
            self.set_bio_state(id, BioState::Failed);
        }
        let error = result.err().map_or(0, |errno| u64::from(errno.number()));
        self.step(Rule::BioCompleted, [u64::from(id.get()), len.get(), error, 0]);
        match purpose {
            Purpose::SyncRead => {}
            Purpose::Direct(op) => self.direct_bio_ended(op, result),
            Purpose::ReadFolio => {
                for seg in &segs {
                    if result.is_ok() {
                        self.set_range_uptodate(seg.folio, seg.offset, seg.len);
                    }
                    let done = match self.behaviours().read_pending {
                        ReadPending::Segments => Bytes::new(1),
                        ReadPending::Additive | ReadPending::FolioSize => seg.len,
                    };
                    if result.is_err() && self.mutant(Mutant::FailedReadStaysPending) {
                        self.end_folio_read(seg.folio);
                    } else {
                        self.read_bytes_done(seg.folio, done);
                    }
                }
            }
            Purpose::Ioend => {
                self.ioend_ended(id, deferred);
                return;
            }
            Purpose::Buffer(io) => self.buffer_bio_ended(io, &segs, unwritten, result),
        }
        // A trace keeps it until its task goes on; a waiting reader takes it itself.
        if !E::Sink::ON && !purpose.is_waited_for() {
            self.bios.remove(&id);
        }
    }
    /// Bytes of a read ended; the last ones end the folio's read (`iomap_finish_folio_read`).
    pub(crate) fn read_bytes_done(&mut self, id: FolioId, len: Bytes) {
        let pos = self.folio_pos(id);
        if let Some(state) = self.state(id) {
            let pending = state.read_pending;
            self.require(pending >= len, 25, pos);
            self.set_read_pending(id, pending.saturating_sub(len));
            if pending > len {
                return;
            }
        }
        self.end_folio_read(id);
    }
    /// Nothing of the folio's read is left: it is unlocked, and uptodate if every block is
    /// (`folio_end_read`).
    pub(crate) fn end_folio_read(&mut self, id: FolioId) {
        let pos = self.folio_pos(id);
        self.require(self.has(id, FolioFlags::LOCKED), 35, pos);
        let all = self.state(id).is_some_and(|state| state.uptodate.all());
        if all {
            self.raise(id, FolioFlags::UPTODATE);
        }
        self.lower(id, FolioFlags::LOCKED);
        let uptodate = u64::from(self.has(id, FolioFlags::UPTODATE));
        self.step(Rule::ReadEnds, [pos.get(), uptodate, 0, 0]);
    }
    /// Bytes of a folio's writeback ended (`iomap_finish_folio_write`).
    pub(crate) fn end_folio_piece(&mut self, seg: &BioSeg) {
        let blocks = self.blocks_touched(seg.offset, seg.len);
        self.set_blocks(seg.folio, Half::Waste, blocks, false);
        self.write_bytes_done(seg.folio, seg.len);
    }
    /// `len` bytes of the folio need no more writing; the last ones end its writeback.
    pub(crate) fn write_bytes_done(&mut self, id: FolioId, len: Bytes) {
        let pos = self.folio_pos(id);
        if let Some(state) = self.state(id) {
            let pending = state.write_pending;
            self.require(pending >= len && !pending.is_zero(), 25, pos);
            self.set_write_pending(id, pending.saturating_sub(len));
            if pending > len {
                return;
            }
        }
        self.end_writeback(id);
    }
    /// The folio's writeback ends (`folio_end_writeback`).
    pub(crate) fn end_writeback(&mut self, id: FolioId) {
        self.account_written(id);
        self.lower(id, FolioFlags::WRITEBACK);
        let folio = self.folios.at(id);
        let (file, index) = (folio.file(), folio.index);
        self.file_mut(file).mapping.set_tag(Tag::Writeback, index, false);
        let reclaim = self.has(id, FolioFlags::RECLAIM);
        if reclaim {
            self.lower(id, FolioFlags::RECLAIM);
        }
        self.step(Rule::WritebackEnds, [self.folio_pos(id).get(), 0, 0, 0]);
        if reclaim {
            self.rotate_reclaimable(id);
        }
        self.drop_behind(id);
    }
    /// Takes a folio that is to be dropped behind its I/O out of the cache, if it is clean and
    /// nobody uses it (`folio_end_dropbehind`).
    pub(crate) fn drop_behind(&mut self, id: FolioId) {
        if self.has(id, FolioFlags::DROPBEHIND) && self.is_idle(id) {
            self.remove_folio(id);
        }
    }
    /// Drops the records of what `task` had finished before, so that the picture shows the
    /// present. Without a trace none are kept.
    pub(crate) fn retire(&mut self, task: TaskId) {
        if !E::Sink::ON {
            return;
        }
        let done = |entry: &BioEntry| matches!(entry.state, BioState::Done | BioState::Failed);
        // What waits for the worker has ended, and is not completed.
        let waits = |id: BioId| self.deferred.contains(&id);
        let bios: Vec<BioId> = self
            .bios
            .iter()
            .filter(|(id, entry)| entry.bio.task == task && done(entry) && !waits(*id))
            .map(|(id, _)| id)
            .collect();
        for id in &bios {
            let entry = self.bios.remove(id).expect("listed above");
            self.note_bio_gone(&entry);
        }
        let ops: Vec<_> = self
            .ops
            .iter()
            .filter(|(_, op)| op.task == task && op.result.is_some())
            .map(|(id, op)| (id, *op))
            .collect();
        for (id, op) in &ops {
            self.ops.remove(id);
            self.note_op_gone(*id, op);
        }
        let requests = self.retire_requests(task);
        if requests || !(bios.is_empty() && ops.is_empty()) {
            self.step(Rule::Retired, [0; 4]);
        }
    }
    pub(crate) fn note_bio_gone(&mut self, entry: &BioEntry) {
        let id = entry.bio.id.get();
        for (at, seg) in entry.bio.segs.iter().enumerate().rev() {
            self.note(DeltaKind::BioSegLen, id, at as u32, seg.len.get(), 0);
            self.note(DeltaKind::BioSegAt, id, at as u32, seg_word(seg), 0);
        }
        for (at, cut) in entry.cuts.iter().enumerate().rev() {
            self.note(DeltaKind::BioCut, id, at as u32, *cut, 0);
        }
        self.note(DeltaKind::BioEnd, id, 0, entry.end.code(), 0);
        self.note(DeltaKind::BioIoSize, id, 0, entry.bio.io_size.get(), 0);
        self.note(DeltaKind::BioPos, id, 0, entry.bio.pos.get(), 0);
        self.note(DeltaKind::BioLen, id, 0, entry.bio.len.get(), 0);
        self.note(DeltaKind::BioAddr, id, 0, entry.bio.addr.get(), 0);
        self.note(DeltaKind::BioState, id, 0, entry.state.code(), 0);
        self.note(DeltaKind::BioRequest, id, 0, request_word(entry.request), 0);
        self.note(DeltaKind::BioHead, id, 0, entry.bio.head.pack(), 0);
    }
}

/// A bio's request as the trace packs it: 0 = none.
pub(crate) fn request_word(request: Option<RequestId>) -> u64 {
    request.map_or(0, |id| u64::from(id.get()) + 1)
}

/// Folio and offset of a piece as the trace packs them.
pub(crate) fn seg_word(seg: &BioSeg) -> u64 {
    u64::from(seg.folio.get()) << 32 | seg.offset.get()
}
