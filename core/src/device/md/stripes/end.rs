//! Ends of I/Os of members, and rows that are read as a whole: checks, and rebuilding a member.

use super::rows::{Row, Sync, number};
use super::{MemberIoId, ROW_BYTES, Stripes};
use crate::block::bio::BioOp;
use crate::errno::Errno;
use crate::units::Sector;

/// What a row is to be read for as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pass {
    /// Wrong parity is counted.
    Check,
    /// Wrong parity is counted and corrected.
    Repair,
    /// What members do not hold yet is written to them.
    Rebuild,
}

impl Stripes {
    /// An I/O of a member has ended; a read with what it read, unless bytes are not held.
    pub fn member_ended(&mut self, id: MemberIoId, result: Result<&[u8], Errno>) {
        if let Some(what) = self.bypassed.remove(&id) {
            self.bypass_ended(what, result);
            return;
        }
        let Some((no, member, op)) = self.running.remove(&id) else { return };
        let row = self.cache.at_mut(no);
        let block = &mut row.blocks[member.get() as usize];
        block.locked = false;
        match (op, result) {
            (BioOp::Read, Ok(data)) => {
                block.uptodate = true;
                if !block.page.is_empty() {
                    block.page.copy_from_slice(data);
                }
            }
            // It is made from the others and written anew.
            (BioOp::Read, Err(_)) => (block.uptodate, block.bad) = (false, true),
            (BioOp::Write, Ok(_)) => block.bad = false,
            // The kernel takes a member out that cannot be written.
            (BioOp::Write, Err(_)) => {
                block.uptodate = false;
                self.fail(member);
            }
        }
        let head = match &self.cache.at(no).batch {
            super::rows::Batch::Behind(head) => *head,
            super::rows::Batch::Alone | super::rows::Batch::Head(_) => no,
        };
        self.cache.at_mut(head).handle = true;
        if head != no {
            // The head must look at its batch again.
            self.cache.at_mut(head).refs += 1;
            self.released.push_back(head);
        }
        self.released.push_back(no);
    }
    /// Begins to read a row as a whole; false if no row is free, or its members' blocks are in use.
    pub fn pass(&mut self, at: Sector, pass: Pass) -> bool {
        let members = self.config.parity.members() as usize;
        let page = if self.config.bytes { ROW_BYTES.get() as usize } else { 0 };
        let no = number(at);
        if !self.cache.get(no, members, page) {
            return false;
        }
        let row = self.cache.at_mut(no);
        if !row.is_quiet() || row.whole != Sync::None || row.batch != super::rows::Batch::Alone {
            self.release(no);
            return false;
        }
        row.whole = match pass {
            Pass::Check => Sync::Check { repair: false },
            Pass::Repair => Sync::Check { repair: true },
            Pass::Rebuild => Sync::Rebuild,
        };
        (row.handle, row.fresh) = (true, false);
        // A check looks at the members, not at what the cache believes.
        if pass != Pass::Rebuild {
            row.blocks.iter_mut().for_each(|block| block.uptodate = false);
        }
        self.release(no);
        true
    }
    /// All of the row is there: parity is compared, or the missing blocks are written.
    pub(super) fn check(&mut self, row: &mut Row) {
        if !row.blocks.iter().all(|block| block.uptodate && !block.locked) {
            return;
        }
        let whole = core::mem::replace(&mut row.whole, Sync::None);
        let roles = self.config.parity.roles(row.at);
        let (p, q) = (roles.p.get() as usize, roles.q.map(|q| q.get() as usize));
        let write = |row: &mut Row, at: usize| {
            (row.blocks[at].locked, row.blocks[at].want_write) = (true, true);
        };
        match whole {
            Sync::None => {}
            Sync::Check { repair } => {
                let (new_p, new_q) = self.parities_of(row, p, q);
                let wrong_p = new_p != row.blocks[p].page;
                let wrong_q = q.is_some_and(|q| new_q.as_ref() != Some(&row.blocks[q].page));
                self.tally.mismatches += u64::from(wrong_p || wrong_q);
                if repair && wrong_p {
                    row.blocks[p].page = new_p;
                    write(row, p);
                }
                if let (true, Some(q), Some(new_q)) = (repair && wrong_q, q, new_q) {
                    row.blocks[q].page = new_q;
                    write(row, q);
                }
            }
            Sync::Rebuild => {
                let fresh: Vec<usize> =
                    self.failed_at(row.at).filter(|at| self.members[*at].working).collect();
                for at in fresh {
                    write(row, at);
                }
            }
        }
        // What a member could not read is written anew.
        for at in 0..row.blocks.len() {
            if row.blocks[at].bad {
                write(row, at);
            }
        }
    }
}
