//! The records of the file systems as transactions, and how many of them are on the device.
//!
//! Kept only where somebody wants to cut the power ([`World::track_records`]). Each change of the
//! extents of a file, and of its recorded size, is a transaction. They become durable in their
//! order: at the latest when a sync forces the log (what it waited for is on the device before the
//! log is), and sooner where the log was written for another reason, which flushes the device
//! first. So a record is never durable before the data that it speaks of: what had completed when
//! it was made. A file in the manner of ext2 has no log: its records reach the device in their
//! order, but whenever they like, without any order to its data. Promises and the CoW fork are in
//! memory alone; bytes that live with the inode are durable with a sync only.

use crate::fs::extent_map::{Extent, ExtentChange};
use crate::fs::{Fork, Provider};
use crate::iomap::MapType;
use crate::ordered::OrderedMap;
use crate::units::{BlockNo, FileId, Pos};
use crate::world::{Env, World};

/// What the device knows of a file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Image {
    /// The recorded size.
    pub size: Pos,
    /// Its extents, by first block; reservations are not among them.
    pub data: OrderedMap<BlockNo, Extent>,
    /// Stretches that it shares with other files.
    pub shared: OrderedMap<BlockNo, Extent>,
}

impl Image {
    /// The record of a change arrives.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Size(size) => self.size = *size,
            Change::Extents(all) => {
                for (fork, at, extent) in all {
                    let map = match fork {
                        Fork::Data => &mut self.data,
                        Fork::Shared => &mut self.shared,
                        Fork::Cow => continue,
                    };
                    match extent {
                        Some(extent) if extent.state != MapType::Delalloc => {
                            map.insert(*at, *extent);
                        }
                        Some(_) | None => {
                            map.remove(at);
                        }
                    }
                }
            }
        }
    }
}

/// What a transaction changes of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// The recorded size.
    Size(Pos),
    /// The extents that start at these blocks; none = none does.
    Extents(Vec<(Fork, BlockNo, Option<Extent>)>),
}

/// A transaction that is not on the device for sure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commit {
    /// Whose.
    pub file: FileId,
    /// What.
    pub change: Change,
    /// Where a log orders it after data: the writes that had completed when it was made.
    pub after: u64,
}

/// The transactions of a world.
#[derive(Clone, Default, Debug)]
pub struct Journal {
    on: bool,
    durable: Vec<Image>,
    log: Vec<Commit>,
    forced: u64,
}

impl Journal {
    /// What is durable for sure, by file.
    pub fn durable(&self) -> &[Image] {
        &self.durable
    }
    /// The transactions that may be durable, oldest first.
    pub fn log(&self) -> &[Commit] {
        &self.log
    }
    /// How many transactions there were so far.
    pub fn all(&self) -> u64 {
        self.forced + self.log.len() as u64
    }
    /// The first `all` transactions are durable.
    fn force(&mut self, all: u64) {
        let Self { durable, log, forced, .. } = self;
        let n = all.saturating_sub(*forced) as usize;
        for commit in log.drain(..n.min(log.len())) {
            *forced += 1;
            if let Some(image) = durable.get_mut(commit.file.get() as usize) {
                image.apply(&commit.change);
            }
        }
    }
}

impl<E: Env> World<E> {
    /// From now on the records of file systems are kept as transactions; all that there is now is
    /// durable.
    pub(crate) fn track_records(&mut self) {
        let images = (0..self.files.len()).map(|at| self.image_of(FileId::new(at as u32)));
        let durable = images.collect();
        self.journal = Journal { on: true, durable, ..Journal::default() };
    }
    /// The transactions.
    pub const fn journal(&self) -> &Journal {
        &self.journal
    }
    fn image_of(&self, file: FileId) -> Image {
        let inode = self.file(file);
        let mut image = Image { size: inode.disk_size, ..Image::default() };
        let geometry = self.geometry();
        let all = inode.provider.forks(geometry).into_iter().map(|(fork, map)| {
            let len = geometry.block_floor(crate::units::Offset::ZERO + map.range.len());
            let len = len.since(BlockNo::new(0));
            let extent = Extent { len, state: map.kind, addr: map.addr };
            (fork, geometry.file_block_floor(map.range.start()), Some(extent))
        });
        image.apply(&Change::Extents(all.collect()));
        image
    }
    /// A file is open: what it starts with is durable.
    pub(crate) fn journal_open(&mut self, file: FileId) {
        if self.journal.on {
            let image = self.image_of(file);
            self.journal.durable.push(image);
        }
    }
    /// The recorded size of a file changed.
    #[inline]
    pub(crate) fn journal_size(&mut self, file: FileId, size: Pos) {
        if self.journal.on {
            self.journal_commit(file, Change::Size(size));
        }
    }
    /// Extents of a file changed.
    #[inline]
    pub(crate) fn journal_extents(&mut self, file: FileId, changes: &[(Fork, ExtentChange)]) {
        let recorded = |extent: &Option<Extent>| {
            extent.as_ref().is_some_and(|extent| extent.state != MapType::Delalloc)
        };
        let counts = |fork: Fork, change: &ExtentChange| {
            fork != Fork::Cow && (recorded(&change.1) || recorded(&change.2))
        };
        if self.journal.on && changes.iter().any(|(fork, change)| counts(*fork, change)) {
            let all = changes.iter().map(|(fork, (at, _, new))| (*fork, *at, *new)).collect();
            self.journal_commit(file, Change::Extents(all));
        }
    }
    fn journal_commit(&mut self, file: FileId, change: Change) {
        let logged = !matches!(self.file(file).provider, Provider::Indirect(_));
        let after = if logged { self.writes_completed } else { 0 };
        self.journal.log.push(Commit { file, change, after });
    }
    /// A sync forced the log up to here, which the device has now.
    pub(crate) fn journal_forced(&mut self, all: u64) {
        if self.journal.on {
            self.journal.force(all);
        }
    }
    /// Of the transactions that are not durable for sure, the first `records` are, and the others
    /// never were.
    pub(crate) fn journal_cut(&mut self, records: usize) -> Vec<Image> {
        let all = self.journal.forced + records as u64;
        self.journal.force(all);
        self.journal.log.clear();
        self.journal.durable.clone()
    }
    /// The records are as the device has them: what is done to get there is no transaction.
    pub(crate) fn journal_quietly(&mut self, work: impl FnOnce(&mut Self)) {
        let on = core::mem::replace(&mut self.journal.on, false);
        let quiet = self.know_quietly(true);
        work(self);
        self.know_quietly(quiet);
        self.journal.on = on;
    }
}
