//! From bios to rows (`raid5_make_request`).

use super::rows::{Batch, List, Piece, number};
use super::{ArrayBio, ArrayBioId, Consistency, MemberIo, MemberIoId, Purpose, ROW, ROW_BYTES};
use super::{Running, Stripes, Submission};
use crate::block::bio::BioOp;
use crate::errno::Errno;
use crate::units::{Bytes, MemberId, SECTOR_SIZE, Sector, Sectors};

/// Sectors that one bit of the bitmap stands for.
const REGION: u64 = 64 << 11;

impl Stripes {
    /// Takes a bio. Rows that it needs wait on the plug until [`Self::unplug`], or until no row is
    /// free. A bio beyond the end of the array fails.
    pub fn submit(&mut self, bio: ArrayBio) {
        let id = bio.id;
        let len = (bio.len.get() * SECTOR_SIZE) as usize;
        let end = bio.start + bio.len;
        let out = if bio.op == BioOp::Read && self.config.bytes { vec![0; len] } else { vec![] };
        let bad = bio.len.is_zero() || end > Sector::ZERO + self.config.size();
        let healthy = self.is_whole(self.last());
        let reads = bio.op == BioOp::Read;
        let (start, sectors) = (bio.start, bio.len);
        self.bios.insert(id, Running { bio, left: 1, error: None, out });
        if bad {
            self.end_piece(id, Err(Errno::Io));
            return;
        }
        if reads && healthy {
            self.bypass(id, start, sectors);
            self.end_piece(id, Ok(()));
            return;
        }
        self.queue_rows(id, start, sectors);
        self.go_on();
    }
    fn queue_rows(&mut self, id: ArrayBioId, start: Sector, len: Sectors) {
        let first = start.get() / ROW.get();
        let rows = (start + len).get().div_ceil(ROW.get()) - first;
        let at = self.first_row(start, len);
        let (to_do, at) = (vec![true; rows as usize], (at.get() / ROW.get() - first) as usize);
        self.submissions.push_back(Submission { bio: id, to_do, at });
    }
    /// Reads of a healthy array go to the members, cut at chunks (`chunk_aligned_read`).
    fn bypass(&mut self, id: ArrayBioId, start: Sector, len: Sectors) {
        let (mut at, end) = (start, start + len);
        while at < end {
            let chunk = self.config.parity.chunk().get();
            let room = chunk - at.get() % chunk;
            let part = Sectors::new(room.min(end.since(at).get()));
            self.read_past(id, at, part, Bytes::new(at.since(start).get() * SECTOR_SIZE));
            at += part;
        }
    }
    fn read_past(&mut self, id: ArrayBioId, at: Sector, len: Sectors, from: Bytes) {
        let found = self.config.parity.locate(at);
        let sync = self.bios[&id].bio.sync;
        let io = self.new_io(MemberIo {
            id: MemberIoId(0),
            member: found.member,
            op: BioOp::Read,
            sync,
            start: found.sector,
            len,
            data: Vec::new(),
            purpose: Purpose::Bypass(id, from),
        });
        self.bypassed.insert(io, (id, from, len));
        self.hold_bio(id);
    }
    /// The end of a read that passed by the cache; one that failed is done again through rows.
    pub(super) fn bypass_ended(
        &mut self,
        (id, from, len): (ArrayBioId, Bytes, Sectors),
        result: Result<&[u8], Errno>,
    ) {
        let Some(running) = self.bios.get_mut(&id) else { return };
        if let Ok(data) = result {
            if !running.out.is_empty() {
                let from = from.get() as usize;
                running.out[from..from + data.len()].copy_from_slice(data);
            }
        } else {
            // Rows cover whole blocks; the same bytes are read of them.
            let start = running.bio.start + Sectors::new(from.get() / SECTOR_SIZE);
            let first = running.bio.start.get() / ROW.get();
            let (row, end) = (start.get() / ROW.get(), (start + len).get().div_ceil(ROW.get()));
            let all = (running.bio.start + running.bio.len).get().div_ceil(ROW.get());
            let to_do = (first..all).map(|at| row <= at && at < end).collect();
            let at = (row - first) as usize;
            self.submissions.push_back(Submission { bio: id, to_do, at });
            self.hold_bio(id);
            self.go_on();
        }
        self.end_piece(id, Ok(()));
    }
    /// Where a bio begins to be cut: at the lowest place of its first chunks on the members
    /// (`raid5_bio_lowest_chunk_sector`).
    fn first_row(&self, start: Sector, len: Sectors) -> Sector {
        let parity = &self.config.parity;
        let first = Sector::new(start.get() / ROW.get() * ROW.get());
        let (chunk, found) = (parity.chunk().get(), parity.locate(first));
        let inside = found.sector.get() % chunk;
        if chunk - inside >= len.get() {
            return first;
        }
        // The next data member, if it comes before the end of the stripe.
        let roles = parity.roles(found.sector);
        let mut next = found.member.get() + 1;
        while next == roles.p.get() || roles.q.is_some_and(|q| q.get() == next) {
            next += 1;
        }
        if next >= parity.members() {
            return first;
        }
        first + Sectors::new(chunk - inside)
    }
    /// A submitter that waits looks again whether it can go on.
    pub fn resume(&mut self) {
        self.go_on();
    }
    /// Cuts bios into rows as far as there are rows. A submitter that must wait lets go what it
    /// holds back.
    fn go_on(&mut self) {
        while let Some(mut now) = self.submissions.pop_front() {
            while let Some(at) = next_row(&now) {
                now.at = at;
                if !self.take_row(&mut now) {
                    self.tally.waits += 1;
                    self.submissions.push_front(now);
                    self.batch_last = None;
                    self.unplug();
                    return;
                }
            }
            self.batch_last = None;
            self.end_piece(now.bio, Ok(()));
        }
    }
    /// Whether a submitter waits for a row.
    pub fn is_waiting(&self) -> bool {
        !self.submissions.is_empty()
    }
    /// Attaches a bio to one row, on every member that it covers there.
    fn take_row(&mut self, now: &mut Submission) -> bool {
        let parity = self.config.parity;
        let (op, sync, start, end) = {
            let bio = &self.bios[&now.bio].bio;
            (bio.op, bio.sync, bio.start, bio.start + bio.len)
        };
        let first = start.get() / ROW.get();
        let found = parity.locate(Sector::new((first + now.at as u64) * ROW.get()));
        let row = number(found.sector);
        let page = if self.config.bytes { ROW_BYTES.get() as usize } else { 0 };
        if !self.cache.get(row, parity.members() as usize, page) {
            return false;
        }
        let covered: Vec<(MemberId, Piece, usize)> = (0..parity.data_members())
            .filter_map(|index| {
                let at = parity.sector_of_index(index, found.sector);
                let nth = (at.get() / ROW.get()).checked_sub(first)? as usize;
                if at >= end || !now.to_do.get(nth).copied().unwrap_or(false) {
                    return None;
                }
                let (from, to) = (at.max(start), (at + ROW).min(end));
                let bytes = |sectors: Sectors| (sectors.get() * SECTOR_SIZE) as usize;
                let piece = Piece {
                    bio: now.bio,
                    offset: bytes(from.since(at)),
                    from: bytes(from.since(start)),
                    len: bytes(to.since(from)),
                };
                Some((parity.data_member(found.sector, index), piece, nth))
            })
            .collect();
        if self.overlaps(row, op, &covered) {
            self.release(row);
            return false;
        }
        for (member, piece, nth) in &covered {
            self.attach(row, *member, *piece, op);
            now.to_do[*nth] = false;
        }
        self.row_taken(row, op, sync);
        true
    }
    /// Whether a block is written by another bio that has not been taken yet, or by a batch.
    fn overlaps(&self, row: u64, op: BioOp, covered: &[(MemberId, Piece, usize)]) -> bool {
        let row = self.cache.at(row);
        if op == BioOp::Read {
            return false;
        }
        if row.batch != Batch::Alone {
            return true;
        }
        covered.iter().any(|(member, piece, _)| {
            let block = &row.blocks[member.get() as usize];
            let meets = |other: &Piece| {
                other.offset < piece.offset + piece.len && piece.offset < other.offset + other.len
            };
            block.to_write.iter().any(meets)
        })
    }
    fn attach(&mut self, row: u64, member: MemberId, piece: Piece, op: BioOp) {
        self.hold_bio(piece.bio);
        let (at, bitmap) =
            (super::rows::sector(row), self.config.consistency == Consistency::Bitmap);
        let seq = self.seq_flush + 1;
        let entry = self.cache.at_mut(row);
        let block = &mut entry.blocks[member.get() as usize];
        if op == BioOp::Read {
            block.to_read.push(piece);
            return;
        }
        let first = block.to_write.is_empty() && block.written.is_empty();
        block.to_write.push(piece);
        let mut parts: Vec<(usize, usize)> =
            block.to_write.iter().map(|piece| (piece.offset, piece.offset + piece.len)).collect();
        parts.sort_unstable();
        let reach = |end: usize, part: &(usize, usize)| {
            if part.0 <= end { end.max(part.1) } else { end }
        };
        block.overwrite = parts.iter().fold(0, reach) >= ROW_BYTES.get() as usize;
        if bitmap && first && entry.batch == Batch::Alone {
            (entry.bit_delay, entry.bitmap_seq) = (true, seq);
            self.regions_due |= self.regions.insert(at.get() / REGION);
        }
    }
    /// A row has got what a bio has for it: it joins a batch, may be read at once, and waits on the
    /// plug.
    fn row_taken(&mut self, row: u64, op: BioOp, sync: bool) {
        let data = self.config.parity.data_members() as usize;
        let entry = self.cache.at(row);
        let full = entry.blocks.iter().filter(|block| block.overwrite).count() == data;
        let can_join = op == BioOp::Write
            && full
            && entry.fresh
            && entry.batch == Batch::Alone
            && self.config.consistency != Consistency::Journal;
        if can_join {
            self.join_batch(row, sync);
            self.batch_last = Some(row);
        }
        let entry = self.cache.at_mut(row);
        entry.sync |= sync;
        (entry.handle, entry.delayed) = (true, false);
        let alone = !matches!(entry.batch, Batch::Behind(_));
        if op == BioOp::Write && sync && alone && !entry.preread {
            entry.preread = true;
            self.preread_active += 1;
        }
        if entry.on_plug {
            self.release(row);
        } else {
            self.cache.at_mut(row).on_plug = true;
            self.plug.push(row);
        }
    }
    /// A full row joins the row before it on the members (`stripe_add_to_batch_list`).
    fn join_batch(&mut self, row: u64, sync: bool) {
        let at = super::rows::sector(row);
        if at.get().is_multiple_of(self.config.parity.chunk().get()) {
            return;
        }
        let before = row - 1;
        let data = self.config.parity.data_members() as usize;
        let Some(found) = self.cache.find(before) else { return };
        let full = found.blocks.iter().filter(|block| block.overwrite).count() == data;
        if found.refs == 0 || !found.fresh || !full || found.sync != sync {
            return;
        }
        let head = match &found.batch {
            Batch::Behind(head) => *head,
            Batch::Alone | Batch::Head(_) => before,
        };
        if !self.cache.at(head).fresh {
            return;
        }
        match &mut self.cache.at_mut(head).batch {
            Batch::Head(rows) => rows.push(row),
            batch @ (Batch::Alone | Batch::Behind(_)) => *batch = Batch::Head(vec![row]),
        }
        let entry = self.cache.at_mut(row);
        entry.batch = Batch::Behind(head);
        entry.refs += 1;
        if core::mem::take(&mut entry.preread) {
            self.preread_active -= 1;
        }
    }
    /// The submitter lets go what it holds back (`raid5_unplug`).
    pub fn unplug(&mut self) {
        for row in core::mem::take(&mut self.plug) {
            self.cache.at_mut(row).on_plug = false;
            self.release(row);
        }
    }
    /// Rows that wait on the plug.
    pub fn plugged(&self) -> usize {
        self.plug.len()
    }
    /// A reference less; the last one decides where the row waits (`do_release_stripe`).
    pub(super) fn release(&mut self, row: u64) {
        let written = self.seq_write;
        let entry = self.cache.at_mut(row);
        entry.refs -= 1;
        if entry.refs > 0 {
            return;
        }
        let list = if !entry.handle {
            if core::mem::take(&mut entry.preread) {
                self.preread_active -= 1;
            }
            List::Inactive
        } else if entry.delayed && !entry.preread {
            List::Delayed
        } else if entry.bit_delay && entry.bitmap_seq > written {
            List::Bitmap
        } else {
            (entry.delayed, entry.bit_delay) = (false, false);
            List::Handle
        };
        self.cache.enlist(row, list);
    }
    pub(super) fn hold_bio(&mut self, id: ArrayBioId) {
        if let Some(running) = self.bios.get_mut(&id) {
            running.left += 1;
        }
    }
    /// A piece of a bio has ended; with the last one the bio does.
    pub(super) fn end_piece(&mut self, id: ArrayBioId, result: Result<(), Errno>) {
        let Some(running) = self.bios.get_mut(&id) else { return };
        if let Err(errno) = result {
            running.error.get_or_insert(errno);
        }
        running.left -= 1;
        if running.left == 0
            && let Some(running) = self.bios.remove(&id)
        {
            self.ended.push_back((id, running.error.map_or(Ok(()), Err), running.out));
        }
    }
    pub(super) fn new_io(&mut self, io: MemberIo) -> MemberIoId {
        let id = MemberIoId(self.next_io);
        self.next_io += 1;
        self.outputs.push_back(MemberIo { id, ..io });
        id
    }
}

/// The next row of a submission from where it is, around.
fn next_row(now: &Submission) -> Option<usize> {
    let from = |start: usize| {
        let rest = now.to_do.get(start..)?;
        rest.iter().position(|to_do| *to_do).map(|at| at + start)
    };
    from(now.at).or_else(|| from(0))
}
