//! The members of an array with parity as somebody finds them who takes the disks out: bytes that
//! are put there before a run, and what an array would read of them, without any I/O.

use super::run::Bench;
use super::stripes::{ROW, ROW_BYTES};
use crate::units::{MemberId, SECTOR_SIZE, Sector, Sectors};
use std::collections::BTreeSet;

impl Bench {
    /// Puts bytes where they belong; parity is to be made right afterwards.
    pub fn put(&mut self, start: Sector, bytes: &[u8]) {
        let parity = self.stripes.config().parity;
        let mut done = 0;
        while done < bytes.len() {
            let at = start + Sectors::new(done as u64 / SECTOR_SIZE);
            let len = part_of_row(at, bytes.len() - done);
            let found = parity.locate(at);
            self.disks.write(found.member, found.sector, &bytes[done..done + len]);
            done += len;
        }
    }
    /// Makes the parity of rows right, by their first sectors on the members.
    pub fn make_parity(&mut self, rows: &BTreeSet<Sector>) {
        let parity = self.stripes.config().parity;
        for row in rows {
            let roles = parity.roles(*row);
            let lost: Vec<usize> = [Some(roles.p), roles.q]
                .into_iter()
                .flatten()
                .map(|member| member.get() as usize)
                .collect();
            let blocks = self.stripes.completed(*row, self.blocks(*row), &lost);
            for (member, block) in (0..).map(MemberId::new).zip(blocks) {
                if lost.contains(&(member.get() as usize)) {
                    self.disks.write(member, *row, &block);
                }
            }
        }
    }
    fn blocks(&self, row: Sector) -> Vec<Vec<u8>> {
        let members = (0..self.stripes.config().parity.members()).map(MemberId::new);
        members.map(|member| self.disks.bytes(member, row, ROW_BYTES)).collect()
    }
    /// What the array would read of its members; false where more of them are lost than parity
    /// makes up for, and these bytes are zero.
    pub fn peek(&self, start: Sector, to: &mut [u8]) -> bool {
        let parity = self.stripes.config().parity;
        let (mut done, mut sound) = (0, true);
        while done < to.len() {
            let at = start + Sectors::new(done as u64 / SECTOR_SIZE);
            let len = part_of_row(at, to.len() - done);
            let found = parity.locate(at);
            sound &= self.peek_block(found.member, found.sector, &mut to[done..done + len]);
            done += len;
        }
        sound
    }
    fn peek_block(&self, member: MemberId, at: Sector, to: &mut [u8]) -> bool {
        let lost: Vec<usize> = self.stripes.failed_at(at).collect();
        if !lost.contains(&(member.get() as usize)) {
            self.disks.read(member, at, to);
            return true;
        }
        if lost.len() > self.stripes.config().parity.level().parities() as usize {
            to.fill(0);
            return false;
        }
        let inside = at.get() % ROW.get();
        let row = Sector::new(at.get() - inside);
        let blocks = self.stripes.completed(row, self.blocks(row), &lost);
        let from = (inside * SECTOR_SIZE) as usize;
        to.copy_from_slice(&blocks[member.get() as usize][from..from + to.len()]);
        true
    }
}

/// Bytes up to the end of the row of a sector, `most` at most.
fn part_of_row(at: Sector, most: usize) -> usize {
    let room = (ROW.get() - at.get() % ROW.get()) * SECTOR_SIZE;
    (room as usize).min(most)
}
