//! What is done about one row (`handle_stripe`).

use super::rows::{Batch, Block, Row, Sync, number};
use super::{MemberIo, MemberIoId, Note, Purpose, ROW, RmwLevel, Stripes};
use crate::block::bio::BioOp;
use crate::check::mutant::Mutant;
use crate::errno::Errno;
use crate::units::MemberId;

/// What is known of a row before anything is decided.
struct Seen {
    /// Members whose block of the row cannot be used.
    failed: Vec<usize>,
    p: usize,
    q: Option<usize>,
    to_read: bool,
    to_write: bool,
    /// Some block is written in part.
    partial: bool,
}

impl Seen {
    fn is_parity(&self, at: usize) -> bool {
        at == self.p || Some(at) == self.q
    }
    fn has_failed(&self, at: usize) -> bool {
        self.failed.contains(&at)
    }
}

impl Stripes {
    pub(super) fn handle(&mut self, no: u64) {
        let mut row = self.cache.take(no);
        (row.handle, row.delayed) = (false, false);
        if matches!(row.batch, Batch::Behind(_)) {
            self.cache.put(row);
            return;
        }
        row.fresh = false;
        let seen = self.look(&row);
        if seen.failed.len() > self.config.parity.level().parities() as usize {
            self.give_up(&mut row, &seen);
        }
        self.want_writes(&mut row, &seen);
        self.end_writes(&mut row);
        self.end_reads(&mut row);
        let seen = self.look(&row);
        let some_failed = seen.to_write && !seen.failed.is_empty();
        if seen.to_read || seen.partial || some_failed || row.whole != Sync::None {
            self.fill(&mut row, &seen);
        }
        if seen.to_write && !row.computed {
            self.decide(&mut row, &seen);
        }
        if row.whole != Sync::None {
            self.check(&mut row);
        }
        self.end_reads(&mut row);
        self.send(row);
    }
    fn look(&self, row: &Row) -> Seen {
        let roles = self.config.parity.roles(row.at);
        let mut failed: Vec<usize> = self.failed_at(row.at).collect();
        let bad = row.blocks.iter().enumerate().filter(|(_, block)| block.bad).map(|(n, _)| n);
        for at in bad {
            if !failed.contains(&at) {
                failed.push(at);
            }
        }
        let any = |test: fn(&Block) -> bool| row.blocks.iter().any(test);
        Seen {
            failed,
            p: roles.p.get() as usize,
            q: roles.q.map(|q| q.get() as usize),
            to_read: any(|block| !block.to_read.is_empty()),
            to_write: any(|block| !block.to_write.is_empty()),
            partial: any(|block| !block.to_write.is_empty() && !block.overwrite),
        }
    }
    /// More members failed than parity makes up for: writes fail, and reads of what these members
    /// hold unless it is in the cache; the other members are read (`handle_failed_stripe`).
    fn give_up(&mut self, row: &mut Row, seen: &Seen) {
        row.whole = Sync::None;
        let rows = row.batched();
        self.give_up_one(row, seen);
        for other in rows {
            let mut other = self.cache.take(other);
            self.give_up_one(&mut other, seen);
            self.cache.put(other);
        }
        self.dissolve(row);
    }
    fn give_up_one(&mut self, row: &mut Row, seen: &Seen) {
        for (at, block) in row.blocks.iter_mut().enumerate() {
            // Whether its member holds what was taken is not known.
            block.uptodate &= block.written.is_empty();
            block.overwrite = false;
            let mut lost = core::mem::take(&mut block.to_write);
            lost.append(&mut block.written);
            if seen.has_failed(at) && !block.uptodate {
                lost.append(&mut block.to_read);
            }
            for piece in lost {
                self.end_piece(piece.bio, Err(Errno::Io));
            }
        }
        if core::mem::take(&mut row.full_write) {
            self.full_writes -= 1;
        }
    }
    /// Parity is computed: data that was taken, and parity, are to be written.
    fn want_writes(&mut self, row: &mut Row, seen: &Seen) {
        if !core::mem::take(&mut row.computed) {
            return;
        }
        if core::mem::take(&mut row.preread) {
            self.preread_active -= 1;
        }
        let want = |row: &mut Row| {
            let mut count = 0;
            for (at, block) in row.blocks.iter_mut().enumerate() {
                if block.locked && (!block.written.is_empty() || seen.is_parity(at)) {
                    block.want_write = true;
                    count += 1;
                }
            }
            count
        };
        let count = want(row);
        self.price_writes(row, count);
        self.log_row(row.at, count);
        for other in row.batched() {
            let mut other = self.cache.take(other);
            let count = want(&mut other);
            self.price_writes(&other, count);
            self.log_row(other.at, count);
            self.cache.put(other);
        }
    }
    /// Writes whose block is on its member end.
    fn end_writes(&mut self, row: &mut Row) {
        let rows = row.batched();
        let ready = |row: &Row| row.blocks.iter().all(|block| !block.locked);
        // A batch ends as a whole.
        let all = ready(row) && rows.iter().all(|no| ready(self.cache.at(*no)));
        if !rows.is_empty() && !all {
            return;
        }
        let mut any = self.end_written(row);
        for other in rows {
            let mut other = self.cache.take(other);
            any |= self.end_written(&mut other);
            self.cache.put(other);
        }
        if any {
            if core::mem::take(&mut row.full_write) {
                self.full_writes -= 1;
            }
            self.dissolve(row);
        }
    }
    fn end_written(&mut self, row: &mut Row) -> bool {
        let mut any = false;
        for block in &mut row.blocks {
            if block.locked || block.want_write || block.written.is_empty() {
                continue;
            }
            any = true;
            for piece in core::mem::take(&mut block.written) {
                self.end_piece(piece.bio, Ok(()));
            }
        }
        any
    }
    /// The rows of a batch are rows of their own again (`break_stripe_batch_list`).
    fn dissolve(&mut self, row: &mut Row) {
        let rows = row.batched();
        row.batch = Batch::Alone;
        for other in rows {
            let entry = self.cache.at_mut(other);
            (entry.batch, entry.fresh) = (Batch::Alone, false);
            entry.handle = !entry.is_quiet();
            self.released.push_back(other);
        }
    }
    /// Reads are answered from blocks that are there.
    fn end_reads(&mut self, row: &mut Row) {
        for block in &mut row.blocks {
            if !block.uptodate || block.to_read.is_empty() {
                continue;
            }
            for piece in core::mem::take(&mut block.to_read) {
                self.copy_out(piece, &block.page);
                self.end_piece(piece.bio, Ok(()));
            }
        }
    }
    /// Blocks that something needs are read, or computed from the others once these are there
    /// (`handle_stripe_fill`).
    fn fill(&mut self, row: &mut Row, seen: &Seen) {
        for at in (0..row.blocks.len()).rev() {
            let block = &row.blocks[at];
            if block.locked || block.uptodate || !self.needs(row, seen, at) {
                continue;
            }
            if seen.has_failed(at) {
                self.compute(row, seen);
            } else {
                let block = &mut row.blocks[at];
                (block.locked, block.want_read) = (true, true);
            }
        }
    }
    fn needs(&self, row: &Row, seen: &Seen, at: usize) -> bool {
        let block = &row.blocks[at];
        if !block.to_read.is_empty() || !block.to_write.is_empty() && !block.overwrite {
            return true;
        }
        if row.whole != Sync::None {
            return true;
        }
        let failed = || seen.failed.iter().map(|at| &row.blocks[*at]);
        if failed().any(|block| !block.to_read.is_empty()) {
            return true;
        }
        if seen.failed.is_empty() || !seen.to_write {
            return false;
        }
        // In-sync blocks wait until the row may read before its write.
        if !seen.has_failed(at) && !row.preread {
            return false;
        }
        // Neither way can go on: everything is read, and what is missing computed.
        let n = row.blocks.len() as u32;
        let (rmw, rcw) = costs(row, seen);
        if row.preread && rmw > n && rcw > n {
            return true;
        }
        let incomplete = |at: &&usize| {
            let block = &row.blocks[**at];
            !seen.is_parity(**at) && !block.uptodate && !block.overwrite
        };
        let touched = |at: &usize| !row.blocks[*at].to_write.is_empty();
        let mut failed = seen.failed.iter().filter(incomplete);
        if failed.clone().any(touched) {
            return true;
        }
        self.forced_rcw(row, seen) && failed.next().is_some()
    }
    fn forced_rcw(&self, row: &Row, seen: &Seen) -> bool {
        let untrusted = self.resync_from.is_some_and(|from| row.at >= from);
        self.config.rmw == RmwLevel::Never || untrusted && seen.failed.is_empty()
    }
    /// Computes what the failed members hold, if all else of the row is there.
    fn compute(&mut self, row: &mut Row, seen: &Seen) {
        let there = |at: usize| row.blocks[at].uptodate;
        let others = (0..row.blocks.len()).filter(|at| !seen.has_failed(*at));
        if !others.into_iter().all(there) {
            return;
        }
        self.rebuild(row, &seen.failed);
        for at in &seen.failed {
            row.blocks[*at].uptodate = true;
            self.tally.computed += 1;
        }
        row.handle = true;
    }
    /// Reads what a write needs, or takes its data and computes parity
    /// (`handle_stripe_dirtying`).
    fn decide(&mut self, row: &mut Row, seen: &Seen) {
        let n = row.blocks.len() as u32;
        let members = 0..row.blocks.len();
        let (mut rmw, mut rcw) = costs(row, seen);
        let costs = (rmw, rcw);
        let for_rmw = |row: &Row, at: usize| for_rmw(row, seen, at);
        let for_rcw = |row: &Row, at: usize| for_rcw(row, seen, at);
        let anew = self.forced_rcw(row, seen);
        if anew || self.mutant(Mutant::ReadsTheRow) {
            (rcw, rmw) = (1, 2);
        }
        let equal = self.config.rmw == RmwLevel::NotMore;
        if (rmw < rcw || rmw == rcw && equal) && rmw > 0 {
            self.note(Note::Rmw { row: row.at, needed: rmw, costs });
            let now = self.want_reads(row, seen, &for_rmw);
            self.price_reads(row, (now, anew), &seen.failed);
        }
        if (rcw < rmw || rcw == rmw && !equal) && rcw > 0 {
            let needed: Vec<usize> = members.clone().filter(|at| for_rcw(row, *at)).collect();
            rcw = needed.len() as u32;
            let now = self.want_reads(row, seen, &for_rcw);
            self.price_reads(row, (now, anew), &seen.failed);
            if !row.preread && needed.iter().any(|at| seen.has_failed(*at)) {
                // It is computed, once the row may read all others.
                (row.delayed, row.handle, row.was_delayed) = (true, true, true);
            }
            if rcw > 0 {
                let delayed = row.delayed;
                self.note(Note::Rcw { row: row.at, needed: rcw, now, delayed, costs });
            }
        }
        if rcw > n && rmw > n && !row.preread {
            row.delayed = true;
            row.handle = true;
        }
        let quiet = row.blocks.iter().all(|block| !block.locked);
        let whole = row
            .blocks
            .iter()
            .any(|block| !block.to_write.is_empty() && !block.overwrite && !block.uptodate);
        if quiet && (rcw == 0 || rmw == 0) && !row.bit_delay && !whole {
            self.reconstruct(row, seen, rcw == 0);
        }
    }
    /// Reads the blocks that a decision needs, if the row may; else it waits for more data.
    fn want_reads(
        &mut self,
        row: &mut Row,
        seen: &Seen,
        needed: &dyn Fn(&Row, usize) -> bool,
    ) -> u32 {
        let mut now = 0;
        for at in (0..row.blocks.len()).rev() {
            if !needed(row, at) || seen.has_failed(at) {
                continue;
            }
            if row.preread {
                let block = &mut row.blocks[at];
                (block.locked, block.want_read) = (true, true);
                now += 1;
                self.tally.preread += 1;
            } else {
                (row.delayed, row.handle, row.was_delayed) = (true, true, true);
            }
        }
        now
    }
    /// Takes the data of waiting writes and computes parity, of all rows of the batch
    /// (`schedule_reconstruction`).
    fn reconstruct(&mut self, row: &mut Row, seen: &Seen, anew: bool) {
        let data = self.config.parity.data_members() as usize;
        let full = row.blocks.iter().filter(|block| block.overwrite).count() == data;
        if full {
            self.tally.absorbed += u64::from(row.was_delayed);
        }
        let rows = row.batched();
        for done in core::iter::once(row.at).chain(rows.iter().map(|no| super::rows::sector(*no))) {
            match (full, anew) {
                (true, _) => self.note(Note::Full { row: done }),
                (false, true) => self.tally.rcw += 1,
                (false, false) => self.tally.rmw += 1,
            }
        }
        self.take_data(row, seen.p, seen.q, anew);
        for other in rows {
            let mut other = self.cache.take(other);
            self.take_data(&mut other, seen.p, seen.q, anew);
            self.cache.put(other);
        }
        if full && !row.full_write {
            row.full_write = true;
            self.full_writes += 1;
        }
        (row.computed, row.handle, row.was_delayed) = (true, true, false);
    }
    /// Hands on what a row wants: members from the last to the first, of each all rows of the batch
    /// (`ops_run_io`).
    fn send(&mut self, row: Row) {
        let (no, at) = (number(row.at), row.at);
        let rows = row.batched();
        self.cache.put(row);
        let all: Vec<u64> = core::iter::once(no).chain(rows).collect();
        for member in (0..self.members.len()).rev() {
            for one in &all {
                self.send_block(*one, member, no);
            }
        }
        debug_assert!(self.cache.at(no).at == at);
    }
    fn send_block(&mut self, no: u64, member: usize, head: u64) {
        let working = self.members[member].working;
        let bytes = self.config.bytes;
        let row = self.cache.at_mut(no);
        let (at, sync) = (row.at, row.sync);
        let block = &mut row.blocks[member];
        let (read, write) =
            (core::mem::take(&mut block.want_read), core::mem::take(&mut block.want_write));
        if !read && !write {
            return;
        }
        if !working {
            // Nothing of it can be written; parity has it.
            block.locked = false;
            self.cache.at_mut(head).handle = true;
            return;
        }
        let op = if write { BioOp::Write } else { BioOp::Read };
        let data = if write && bytes { block.page.clone() } else { Vec::new() };
        row.refs += 1;
        row.started = true;
        let member = MemberId::new(member as u32);
        let io = self.new_io(MemberIo {
            id: MemberIoId(0),
            member,
            op,
            sync: sync && write,
            start: at,
            len: ROW,
            data,
            purpose: Purpose::Row(at),
        });
        self.running.insert(io, (no, member, op));
    }
}

/// Whether a block must be read before parity can be updated from what changes.
fn for_rmw(row: &Row, seen: &Seen, at: usize) -> bool {
    let block = &row.blocks[at];
    let missing = !block.locked && !block.uptodate;
    missing && (!block.to_write.is_empty() || seen.is_parity(at))
}

/// Whether a block must be read before parity can be made anew.
fn for_rcw(row: &Row, seen: &Seen, at: usize) -> bool {
    let block = &row.blocks[at];
    !block.locked && !block.uptodate && !block.overwrite && !seen.is_parity(at)
}

/// Blocks to be read for either way; one that cannot be read counts as more than there are.
fn costs(row: &Row, seen: &Seen) -> (u32, u32) {
    let n = row.blocks.len();
    let cost = |at: usize| if seen.has_failed(at) { 2 * n as u32 } else { 1 };
    let sum = |test: fn(&Row, &Seen, usize) -> bool| {
        (0..n).filter(|at| test(row, seen, *at)).map(cost).sum()
    };
    (sum(for_rmw), sum(for_rcw))
}
