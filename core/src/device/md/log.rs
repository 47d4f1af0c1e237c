//! What is written before a row is (`r5l_write_stripe`, `ppl_write_stripe`), and what an array
//! makes of it when the power is back (`r5c_recovery_flush_log`, `ppl_recover`).
//!
//! A journal holds the blocks that go to the members, and is played again. A partial parity is what
//! the blocks that stay add to parity: with it parity is made right for whatever is there of those
//! that were to be written, also where a member that stays is gone. Several entries of a row count
//! as one that writes what any of them does.

use super::disks::Disks;
use super::field;
use super::parity::Parity;
use crate::units::{Bytes, MemberId, Sector};
use std::collections::BTreeSet;

/// The writes of a row that were sent together.
#[derive(Clone, Debug)]
struct Entry {
    row: Sector,
    /// Durable with what the first so many bios need.
    mark: u64,
    /// The blocks, parity among them; none of members that have failed.
    writes: Vec<(MemberId, Vec<u8>)>,
    /// Members that do not have their block yet.
    missing: Vec<MemberId>,
}

/// Entries whose writes may not all be durable, in order.
#[derive(Clone, Default, Debug)]
pub(super) struct Log(Vec<Entry>);

impl Log {
    pub(super) fn push(&mut self, row: Sector, mark: u64, writes: Vec<(MemberId, Vec<u8>)>) {
        let missing = writes.iter().map(|(member, _)| *member).collect();
        self.0.push(Entry { row, mark, writes, missing });
    }
    /// A block has reached its member, which keeps it.
    pub(super) fn reached(&mut self, row: Sector, member: MemberId) {
        for entry in self.0.iter_mut().filter(|entry| entry.row == row) {
            entry.missing.retain(|of| *of != member);
        }
        self.0.retain(|entry| !entry.missing.is_empty());
    }
    /// What the first `mark` bios need is durable.
    pub(super) fn flush(&mut self, mark: u64) {
        self.0.retain(|entry| entry.mark > mark);
    }
    /// Writes the blocks again, in order; how many.
    pub(super) fn replay(self, disks: &mut Disks, works: impl Fn(MemberId) -> bool) -> u64 {
        let mut blocks = 0;
        for entry in self.0 {
            for (member, data) in entry.writes.iter().filter(|(member, _)| works(*member)) {
                disks.write(*member, entry.row, data);
                blocks += 1;
            }
        }
        blocks
    }
    /// Makes parity right for what is there; of how many rows. `holds`: a member holds what it
    /// should of a row.
    pub(super) fn mend(
        self,
        parity: &Parity,
        disks: &mut Disks,
        holds: impl Fn(MemberId, Sector) -> bool,
    ) -> u64 {
        let rows: BTreeSet<Sector> = self.0.iter().map(|entry| entry.row).collect();
        for row in &rows {
            let p = parity.roles(*row).p;
            let entries: Vec<&Entry> = self.0.iter().filter(|entry| entry.row == *row).collect();
            let newest = |member: MemberId| {
                let mut writes = entries.iter().rev().flat_map(|entry| &entry.writes);
                writes.find(|(of, _)| *of == member).map(|(_, data)| data)
            };
            let Some(mut sum) = newest(p).cloned().filter(|_| holds(p, *row)) else { continue };
            let written: BTreeSet<MemberId> = entries
                .iter()
                .flat_map(|entry| &entry.writes)
                .map(|(member, _)| *member)
                .filter(|member| *member != p)
                .collect();
            for member in written {
                // Of one that has failed since, or is not filled so far, what was to be written
                // counts.
                if holds(member, *row) {
                    field::add(&mut sum, newest(member).expect("it was written"));
                    field::add(&mut sum, &disks.bytes(member, *row, Bytes::kib(4)));
                }
            }
            disks.write(p, *row, &sum);
        }
        rows.len() as u64
    }
}
