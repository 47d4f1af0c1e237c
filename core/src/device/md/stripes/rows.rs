//! The cache of rows: which rows there are, and the lists that they wait on.

use super::ArrayBioId;
use crate::ordered::OrderedMap;
use crate::units::{Sector, Sectors};
use std::collections::VecDeque;

/// Locks of the hash, each with a list of its own (`NR_STRIPE_HASH_LOCKS`).
const LISTS: usize = 8;

/// A piece of a bio in one block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) bio: ArrayBioId,
    /// First byte of the block.
    pub(super) offset: usize,
    /// First byte of the bio's data.
    pub(super) from: usize,
    pub(super) len: usize,
}

/// One member's block of a row.
#[allow(clippy::struct_excessive_bools, reason = "each is a bit of its own in the kernel")]
#[derive(Clone, Default, Debug)]
pub(super) struct Block {
    pub(super) page: Vec<u8>,
    pub(super) uptodate: bool,
    pub(super) locked: bool,
    /// Bios cover it whole.
    pub(super) overwrite: bool,
    pub(super) want_read: bool,
    pub(super) want_write: bool,
    /// The member could not read it: it counts as failed until it was written anew.
    pub(super) bad: bool,
    pub(super) to_read: Vec<Piece>,
    pub(super) to_write: Vec<Piece>,
    pub(super) written: Vec<Piece>,
}

/// On which list a row without a reference is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum List {
    /// On none.
    None,
    /// Nothing to do.
    Inactive,
    /// To be handled.
    Handle,
    /// Waits for more data.
    Delayed,
    /// Waited, and may be read now, behind those to be handled.
    Hold,
    /// Waits for the bitmap.
    Bitmap,
}

/// How a row is written together with its neighbours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Batch {
    /// By itself.
    Alone,
    /// It stands for these, too.
    Head(Vec<u64>),
    /// Another one stands for it.
    Behind(u64),
}

/// What a row is read for as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sync {
    /// Nothing.
    None,
    /// Parity is compared; a wrong one is counted, and corrected where `repair` says so.
    Check { repair: bool },
    /// A block that its member does not hold is made.
    Rebuild,
}

/// A row.
#[allow(clippy::struct_excessive_bools, reason = "each is a bit of its own in the kernel")]
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// First sector on the members.
    pub(super) at: Sector,
    pub(super) blocks: Vec<Block>,
    pub(super) refs: u32,
    pub(super) list: List,
    pub(super) handle: bool,
    pub(super) delayed: bool,
    pub(super) preread: bool,
    pub(super) bit_delay: bool,
    pub(super) bitmap_seq: u64,
    /// Never handled since it was taken: others may join its batch.
    pub(super) fresh: bool,
    pub(super) on_plug: bool,
    pub(super) started: bool,
    pub(super) full_write: bool,
    /// Parity is computed: the next visit writes.
    pub(super) computed: bool,
    pub(super) sync: bool,
    pub(super) batch: Batch,
    pub(super) whole: Sync,
    /// It waited for more data since it was taken.
    pub(super) was_delayed: bool,
    /// Data blocks of the write that parity was computed for.
    pub(super) touched: u32,
}

impl Row {
    pub(super) fn new(at: Sector, members: usize, page: usize) -> Self {
        let block = Block { page: vec![0; page], ..Block::default() };
        Self {
            at,
            blocks: vec![block; members],
            refs: 1,
            list: List::None,
            handle: false,
            delayed: false,
            preread: false,
            bit_delay: false,
            bitmap_seq: 0,
            fresh: true,
            on_plug: false,
            started: false,
            full_write: false,
            computed: false,
            sync: false,
            batch: Batch::Alone,
            whole: Sync::None,
            was_delayed: false,
            touched: 0,
        }
    }
    /// The rows that it stands for, too.
    pub(super) fn batched(&self) -> Vec<u64> {
        match &self.batch {
            Batch::Head(rows) => rows.clone(),
            Batch::Alone | Batch::Behind(_) => Vec::new(),
        }
    }
    /// Whether nothing of it waits for anything.
    pub(super) fn is_quiet(&self) -> bool {
        let busy = |block: &Block| {
            block.locked
                || !block.to_read.is_empty()
                || !block.to_write.is_empty()
                || !block.written.is_empty()
        };
        !self.blocks.iter().any(busy)
    }
}

/// All rows, and the lists of those that nobody holds.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    rows: OrderedMap<u64, Row>,
    /// Rows that can be taken, the one that was used longest ago first; 0 less than no row: a place
    /// that was never used.
    inactive: [VecDeque<Option<u64>>; LISTS],
    pub(super) handle: VecDeque<u64>,
    pub(super) delayed: VecDeque<u64>,
    pub(super) hold: VecDeque<u64>,
    pub(super) bitmap: VecDeque<u64>,
    /// Rows on no list of idle ones.
    active: u32,
    size: u32,
    /// Somebody found no row: wait until a quarter is free.
    blocked: bool,
}

/// The number of a row: its first sector over the sectors of a row.
pub(super) const fn number(at: Sector) -> u64 {
    at.get() / super::ROW.get()
}

/// The first sector of a row.
pub(super) fn sector(row: u64) -> Sector {
    Sector::ZERO + Sectors::new(row * super::ROW.get())
}

const fn list_of(row: u64) -> usize {
    (row % LISTS as u64) as usize
}

impl Cache {
    pub(super) fn new(size: u32) -> Self {
        let mut inactive: [VecDeque<Option<u64>>; LISTS] = Default::default();
        for n in 0..size as usize {
            inactive[n % LISTS].push_back(None);
        }
        Self {
            rows: OrderedMap::default(),
            inactive,
            handle: VecDeque::new(),
            delayed: VecDeque::new(),
            hold: VecDeque::new(),
            bitmap: VecDeque::new(),
            active: 0,
            size,
            blocked: false,
        }
    }
    pub(super) fn is_idle(&self) -> bool {
        self.active == 0
    }
    pub(super) fn at(&self, row: u64) -> &Row {
        &self.rows[&row]
    }
    pub(super) fn at_mut(&mut self, row: u64) -> &mut Row {
        self.rows.get_mut(&row).expect("rows in use are there")
    }
    pub(super) fn find(&self, row: u64) -> Option<&Row> {
        self.rows.get(&row)
    }
    /// Rows of which some block is there, with the number of such blocks.
    pub(super) fn held(&self) -> Vec<(Sector, u32)> {
        let count = |row: &Row| row.blocks.iter().filter(|block| block.uptodate).count() as u32;
        let rows = self.rows.iter().map(|(_, row)| (row.at, count(row)));
        rows.filter(|(_, count)| *count > 0).collect()
    }
    /// Takes a row out, to work on it; it is put back with [`Self::put`].
    pub(super) fn take(&mut self, row: u64) -> Row {
        self.rows.remove(&row).expect("rows in use are there")
    }
    pub(super) fn put(&mut self, row: Row) {
        self.rows.insert(number(row.at), row);
    }
    /// One more reference to a row, which is found or takes the place of an idle one; false if
    /// there is none (`raid5_get_active_stripe`).
    pub(super) fn get(&mut self, row: u64, members: usize, page: usize) -> bool {
        if let Some(found) = self.rows.get_mut(&row) {
            found.refs += 1;
            if found.refs > 1 {
                return true;
            }
            let list = core::mem::replace(&mut found.list, List::None);
            if list == List::Inactive {
                self.active += 1;
            }
            self.unlist(row, list);
            return true;
        }
        let list = &mut self.inactive[list_of(row)];
        if list.is_empty() || self.blocked && self.active >= self.size / 4 * 3 {
            self.blocked = true;
            return false;
        }
        self.blocked = false;
        if let Some(Some(old)) = list.pop_front() {
            self.rows.remove(&old);
        }
        self.active += 1;
        self.rows.insert(row, Row::new(sector(row), members, page));
        true
    }
    fn unlist(&mut self, row: u64, list: List) {
        let drop = |all: &mut VecDeque<u64>| all.retain(|other| *other != row);
        match list {
            List::None => {}
            List::Inactive => self.inactive[list_of(row)].retain(|other| *other != Some(row)),
            List::Handle => drop(&mut self.handle),
            List::Delayed => drop(&mut self.delayed),
            List::Hold => drop(&mut self.hold),
            List::Bitmap => drop(&mut self.bitmap),
        }
    }
    /// A row without references goes to the end of a list.
    pub(super) fn enlist(&mut self, row: u64, list: List) {
        self.at_mut(row).list = list;
        match list {
            List::None => {}
            List::Inactive => {
                self.active -= 1;
                let entry = self.at_mut(row);
                (entry.fresh, entry.was_delayed, entry.started) = (true, false, false);
                self.inactive[list_of(row)].push_back(Some(row));
            }
            List::Handle => self.handle.push_back(row),
            List::Delayed => self.delayed.push_back(row),
            List::Hold => self.hold.push_back(row),
            List::Bitmap => self.bitmap.push_back(row),
        }
    }
}
