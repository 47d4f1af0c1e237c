//! The thread of an array: which rows are handled, and when (`raid5d`).

use super::rows::List;
use super::{Consistency, MemberIo, MemberIoId, Note, Purpose, ROW, Stripes};
use crate::block::bio::BioOp;
use crate::units::{MemberId, Sector};

/// Rows that are handled in one turn (`MAX_STRIPE_BATCH`).
const TURN: usize = 8;
/// Rows that read before a write, from which on none is admitted that waits (`IO_THRESHOLD`).
const READING: u32 = 1;

impl Stripes {
    /// The thread runs until a turn does nothing; whether it did anything. A submitter that waits
    /// for a row goes on as soon as there is one.
    pub fn run_thread(&mut self) -> bool {
        let mut any = false;
        loop {
            let mut worked = false;
            while let Some(row) = self.released.pop_front() {
                self.release(row);
                worked = true;
            }
            worked |= self.write_bitmap();
            self.admit_delayed();
            let turn = self.take_turn();
            worked |= !turn.is_empty();
            for row in &turn {
                self.handle(*row);
            }
            for row in turn {
                self.release(row);
            }
            if !worked {
                return any;
            }
            any = true;
        }
    }
    /// What is due of the bitmap is written, and the rows that waited for it go on.
    fn write_bitmap(&mut self) -> bool {
        if self.cache.bitmap.is_empty() {
            return false;
        }
        self.seq_flush += 1;
        if core::mem::take(&mut self.regions_due) {
            for member in (0..self.config.parity.members()).map(MemberId::new) {
                self.extra(member, Purpose::Bitmap, 1);
            }
        }
        self.seq_write = self.seq_flush;
        while let Some(row) = self.cache.bitmap.pop_front() {
            let entry = self.cache.at_mut(row);
            (entry.list, entry.refs) = (List::None, 1);
            self.release(row);
        }
        true
    }
    /// A write beside the data, of a bitmap or a log; nothing of the cache waits for its end.
    pub(super) fn extra(&mut self, member: MemberId, purpose: Purpose, rows: u64) {
        self.tally.extra += rows;
        let len = crate::units::Sectors::new(rows * ROW.get());
        let (id, start, op) = (MemberIoId(0), Sector::ZERO, BioOp::Write);
        let data = Vec::new();
        self.new_io(MemberIo { id, member, op, sync: true, start, len, data, purpose });
    }
    /// Rows that waited may read once no other row does (`raid5_activate_delayed`).
    fn admit_delayed(&mut self) {
        if self.preread_active >= READING {
            return;
        }
        while let Some(row) = self.cache.delayed.pop_front() {
            let entry = self.cache.at_mut(row);
            entry.delayed = false;
            if !entry.preread {
                entry.preread = true;
                self.preread_active += 1;
            }
            self.cache.enlist(row, List::Hold);
        }
    }
    fn take_turn(&mut self) -> Vec<u64> {
        let mut turn = Vec::new();
        while turn.len() < TURN {
            let Some(row) = self.next_row() else { break };
            let entry = self.cache.at_mut(row);
            (entry.list, entry.refs) = (List::None, 1);
            turn.push(row);
        }
        turn
    }
    /// The row that is next (`__get_priority_stripe`): one to be handled, or one that is held if no
    /// full row is on its way, or too many went before it.
    fn next_row(&mut self) -> Option<u64> {
        let held = self.cache.hold.front().copied();
        if let Some(row) = self.cache.handle.pop_front() {
            match held {
                None => self.bypass_count = 0,
                Some(_) if self.cache.at(row).started => {}
                Some(_) if held == self.last_hold => self.bypass_count += 1,
                Some(_) => {
                    self.last_hold = held;
                    self.bypass_count = self.bypass_count.saturating_sub(self.config.bypass);
                }
            }
            return Some(row);
        }
        let patience = self.config.bypass > 0 && self.bypass_count > self.config.bypass;
        if held.is_some() && (patience || self.full_writes == 0) {
            self.bypass_count = self.bypass_count.saturating_sub(self.config.bypass);
            return self.cache.hold.pop_front();
        }
        None
    }
    /// What a log gets before a row is written (`r5l_write_stripe`, `ppl_write_stripe`).
    pub(super) fn log_row(&mut self, at: Sector, blocks: u64) {
        match self.config.consistency {
            Consistency::Resync | Consistency::Bitmap => {}
            // One block says what the others are.
            Consistency::Journal => {
                let journal = MemberId::new(self.config.parity.members());
                self.extra(journal, Purpose::Log(at), 1 + blocks);
            }
            Consistency::PartialParity => {
                let p = self.config.parity.roles(at).p;
                self.extra(p, Purpose::Log(at), 2);
            }
        }
    }
    pub(super) fn note(&mut self, note: Note) {
        match note {
            Note::Full { .. } => self.tally.full += 1,
            Note::Rcw { delayed, .. } => self.tally.delayed += u64::from(delayed),
            Note::Rmw { .. } => {}
        }
        self.notes.push(note);
    }
}
