//! Filling disks that took the place of members, row by row: some rows now, the others later
//! (`md_do_sync`).
//!
//! Up to the row that it has come to a member that is filled is read like all others; behind it the
//! member is written, and counts as failed. How far it has come is noted on the members, behind
//! what was made so far, and a power cut takes nothing of that away.

use super::run::Bench;
use super::stripes::{Pass, ROW};
use crate::units::{MemberId, Sector};

/// What filling did.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Rebuilt {
    /// Members that were being filled, and rows of each that were made.
    pub filled: Vec<(MemberId, u64)>,
    /// The row of the members at which it stopped, as too many of its blocks are lost.
    pub stopped: Option<Sector>,
}

impl Bench {
    /// An empty disk takes the place of a member, once nothing is under way.
    pub fn replace(&mut self, member: MemberId) {
        self.settle();
        self.change_disk(member);
        self.stripes.replace(member);
        self.note_progress();
    }
    /// Reads every row as a whole, from the first to the last.
    pub fn pass(&mut self, pass: Pass) {
        let rows = self.stripes.config().member.get() / ROW.get();
        self.pass_rows(pass, 0..rows);
        if pass == Pass::Repair {
            self.stripes.set_resync_from(None);
        }
    }
    /// Reads these rows as a whole, in ascending order; for a rebuild all rows before each of them
    /// hold what they should, and the first that cannot be made ends it and is given back.
    pub fn pass_rows(&mut self, pass: Pass, rows: impl IntoIterator<Item = u64>) -> Option<Sector> {
        for row in rows {
            let at = Sector::new(row * ROW.get());
            if pass == Pass::Rebuild && !self.stripes.can_make(at) {
                return Some(at);
            }
            if !self.stripes.pass(at, pass) {
                self.settle();
                assert!(self.stripes.pass(at, pass), "nothing will free a row");
            }
            self.settle();
            if pass == Pass::Rebuild {
                self.stripes.recovered(at + ROW);
            }
        }
        None
    }
    /// Fills members that were replaced. Of these rows, which ascend, and of which no other holds
    /// anything, the next `most` that some member lacks; none: all of them.
    pub fn rebuild(&mut self, rows: impl IntoIterator<Item = u64>, most: Option<u64>) -> Rebuilt {
        let filling: Vec<(MemberId, Sector)> = self.stripes.filling().collect();
        let Some(from) = filling.iter().map(|(_, at)| at.get() / ROW.get()).min() else {
            return Rebuilt::default();
        };
        let mut rest = rows.into_iter().skip_while(|row| *row < from).peekable();
        let (mut made, mut stopped) = (Vec::new(), None);
        while most.is_none_or(|most| (made.len() as u64) < most)
            && let Some(row) = rest.next()
        {
            stopped = self.pass_rows(Pass::Rebuild, [row]);
            if stopped.is_some() {
                break;
            }
            made.push(row);
        }
        if stopped.is_none() && rest.peek().is_none() {
            self.stripes.recovered(Sector::ZERO + self.stripes.config().member);
        }
        self.note_progress();
        let of = |from: Sector| made.iter().filter(|row| **row >= from.get() / ROW.get()).count();
        let filled = filling.iter().map(|(member, from)| (*member, of(*from) as u64)).collect();
        Rebuilt { filled, stopped }
    }
}
