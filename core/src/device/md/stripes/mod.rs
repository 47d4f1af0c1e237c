//! Writes to an array with parity: the cache of rows that gathers them, decides what must be read
//! first, and computes parity (`raid5.c`).
//!
//! A row is 4 KiB on every member at one sector. The host submits bios, unplugs, lets the thread
//! run, carries out I/Os of members and reports their ends; all state is plain data, and the same
//! calls give the same I/Os.

mod bytes;
mod end;
mod handle;
mod price;
mod request;
mod rows;
mod thread;

use super::parity::Parity;
use crate::block::bio::BioOp;
use crate::check::mutant::Mutant;
use crate::errno::Errno;
use crate::ordered::{Key, OrderedMap, OrderedSet};
use crate::units::{Bytes, MemberId, Sector, Sectors};
pub use end::Pass;
use rows::Cache;
use std::collections::VecDeque;

/// Sectors of a row on each member.
pub const ROW: Sectors = Sectors::new(8);
/// Bytes of a row on each member.
pub const ROW_BYTES: Bytes = Bytes::kib(4);

/// Whether parity is updated from what changed, or made anew from all data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RmwLevel {
    /// Always anew (0).
    Never,
    /// From what changed where that needs fewer reads (1, the default).
    Fewer,
    /// Also where it needs as many (2).
    NotMore,
}

/// What keeps parity right over a power cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Consistency {
    /// Nothing: the array is checked as a whole.
    Resync,
    /// A bitmap says which regions are to be checked; each region is noted before its first write.
    Bitmap,
    /// What is written goes to a log on a device of its own first.
    Journal,
    /// What parity was of the data that stays goes to the parity member's log first (RAID5).
    PartialParity,
}

/// Sizes and rules of a cache of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StripeConfig {
    /// Where sectors lie.
    pub parity: Parity,
    /// Sectors of each member.
    pub member: Sectors,
    /// Rows in the cache (`stripe_cache_size`).
    pub rows: u32,
    /// When parity is updated from what changed.
    pub rmw: RmwLevel,
    /// Full rows that may go before a held one (`preread_bypass_threshold`).
    pub bypass: u32,
    /// What keeps parity right over a power cut.
    pub consistency: Consistency,
    /// Rows hold their bytes; without, only counts and order are right.
    pub bytes: bool,
}

impl StripeConfig {
    /// An array as mdadm makes it, over members of this size.
    pub const fn new(parity: Parity, member: Sectors) -> Self {
        Self {
            parity,
            member,
            rows: 256,
            rmw: RmwLevel::Fewer,
            bypass: 1,
            consistency: Consistency::Resync,
            bytes: true,
        }
    }
    /// Sectors of the array.
    pub const fn size(&self) -> Sectors {
        let chunk = self.parity.chunk().get();
        let stripes = self.member.get() / chunk;
        Sectors::new(stripes * chunk * self.parity.data_members() as u64)
    }
}

/// A bio of the array, by a number of its host's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ArrayBioId(pub u32);

impl Key for ArrayBioId {
    fn word(self) -> u64 {
        self.0.into()
    }
    fn of_word(word: u64) -> Self {
        Self(word as u32)
    }
}

/// A bio of the array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArrayBio {
    /// Its number.
    pub id: ArrayBioId,
    /// Direction.
    pub op: BioOp,
    /// Somebody waits for it.
    pub sync: bool,
    /// First sector of the array.
    pub start: Sector,
    /// Sectors.
    pub len: Sectors,
    /// What is written; empty where bytes are not held.
    pub data: Vec<u8>,
}

/// An I/O of a member, by its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MemberIoId(pub u64);

impl Key for MemberIoId {
    fn word(self) -> u64 {
        self.0
    }
    fn of_word(word: u64) -> Self {
        Self(word)
    }
}

/// What an I/O of a member is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// A row of the cache, by its first sector.
    Row(Sector),
    /// A read that passes by the cache: bio, first byte of it.
    Bypass(ArrayBioId, Bytes),
    /// The bitmap, before the data of the member.
    Bitmap,
    /// A log of a row, before the data of the member or on a device of its own; what comes behind
    /// it waits for it.
    Log(Sector),
}

/// An I/O of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemberIo {
    /// Its number.
    pub id: MemberIoId,
    /// Which member.
    pub member: MemberId,
    /// Direction.
    pub op: BioOp,
    /// Somebody waits for it.
    pub sync: bool,
    /// First sector of the member's data.
    pub start: Sector,
    /// Sectors.
    pub len: Sectors,
    /// What is written; empty for reads, and where bytes are not held.
    pub data: Vec<u8>,
    /// What for.
    pub purpose: Purpose,
}

/// What the cache decided about a row, in the words of the kernel's trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// Parity is to be updated from what changed.
    Rmw {
        /// The row.
        row: Sector,
        /// Blocks that must be read.
        needed: u32,
        /// What either way would read: from what changed, anew. A block of a failed member counts
        /// as more than there are.
        costs: (u32, u32),
    },
    /// Parity is to be made anew.
    Rcw {
        /// The row.
        row: Sector,
        /// Blocks that must be read.
        needed: u32,
        /// Blocks that are read now.
        now: u32,
        /// The row waits for more data instead.
        delayed: bool,
        /// What either way would read, as in [`Self::Rmw`].
        costs: (u32, u32),
    },
    /// Every data block of the row is overwritten: nothing is read.
    Full {
        /// The row.
        row: Sector,
    },
}

/// How often the cache decided what.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Rows written whole.
    pub full: u64,
    /// Rows whose parity was updated from what changed.
    pub rmw: u64,
    /// Rows whose parity was made anew though not all was overwritten.
    pub rcw: u64,
    /// Rows that waited for more data.
    pub delayed: u64,
    /// Of these, rows that were then written whole.
    pub absorbed: u64,
    /// Times a submitter slept because no row was free.
    pub waits: u64,
    /// Blocks read before a write.
    pub preread: u64,
    /// Blocks computed from the others.
    pub computed: u64,
    /// Rows whose parity was found wrong.
    pub mismatches: u64,
    /// Writes of logs and bitmaps.
    pub extra: u64,
}

impl Tally {
    /// What has been added since an earlier one.
    #[must_use]
    pub const fn since(&self, before: Self) -> Self {
        Self {
            full: self.full - before.full,
            rmw: self.rmw - before.rmw,
            rcw: self.rcw - before.rcw,
            delayed: self.delayed - before.delayed,
            absorbed: self.absorbed - before.absorbed,
            waits: self.waits - before.waits,
            preread: self.preread - before.preread,
            computed: self.computed - before.computed,
            mismatches: self.mismatches - before.mismatches,
            extra: self.extra - before.extra,
        }
    }
}

/// A bio that has not ended.
#[derive(Clone, Debug)]
struct Running {
    bio: ArrayBio,
    /// Pieces of it that have not ended.
    left: u32,
    error: Option<Errno>,
    /// What was read.
    out: Vec<u8>,
}

/// A bio that is being cut into rows.
#[derive(Clone, Debug)]
struct Submission {
    bio: ArrayBioId,
    /// Which rows of data of it are still to be taken.
    to_do: Vec<bool>,
    /// Where to go on.
    at: usize,
}

/// What is known of a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Member {
    working: bool,
    /// Sectors before this one hold what they should.
    recovered: Sector,
}

/// The end of a bio: its number, the result, and what it read.
pub type Ended = (ArrayBioId, Result<(), Errno>, Vec<u8>);

/// An array with parity.
#[derive(Clone, Debug)]
pub struct Stripes {
    config: StripeConfig,
    cache: Cache,
    members: Vec<Member>,
    bios: OrderedMap<ArrayBioId, Running>,
    submissions: VecDeque<Submission>,
    /// Rows that a task holds back, in order.
    plug: Vec<u64>,
    /// Rows whose last reference may be gone, to be looked at by the thread.
    released: VecDeque<u64>,
    outputs: VecDeque<MemberIo>,
    running: OrderedMap<MemberIoId, (u64, MemberId, BioOp)>,
    bypassed: OrderedMap<MemberIoId, (ArrayBioId, Bytes, Sectors)>,
    ended: VecDeque<Ended>,
    notes: Vec<Note>,
    tally: Tally,
    next_io: u64,
    preread_active: u32,
    full_writes: u32,
    bypass_count: u32,
    last_hold: Option<u64>,
    seq_flush: u64,
    seq_write: u64,
    /// Regions of the bitmap that are noted, and that are to be.
    regions: OrderedSet<u64>,
    regions_due: bool,
    /// Rows from here on were never made right: parity cannot be trusted.
    resync_from: Option<Sector>,
    /// The last row of a batch that may grow.
    batch_last: Option<u64>,
    /// Rows that cost more than they may (B5).
    dear: Vec<Sector>,
    /// A rule that is left out.
    mutant: Option<Mutant>,
}

impl Stripes {
    /// An array whose parity is right and whose members all work.
    pub fn new(config: StripeConfig) -> Self {
        let member = Member { working: true, recovered: Sector::ZERO + config.member };
        Self {
            config,
            cache: Cache::new(config.rows),
            members: vec![member; config.parity.members() as usize],
            bios: OrderedMap::default(),
            submissions: VecDeque::new(),
            plug: Vec::new(),
            released: VecDeque::new(),
            outputs: VecDeque::new(),
            running: OrderedMap::default(),
            bypassed: OrderedMap::default(),
            ended: VecDeque::new(),
            notes: Vec::new(),
            tally: Tally::default(),
            next_io: 0,
            preread_active: 0,
            full_writes: 0,
            bypass_count: 0,
            last_hold: None,
            seq_flush: 0,
            seq_write: 0,
            regions: OrderedSet::default(),
            regions_due: false,
            resync_from: None,
            batch_last: None,
            dear: Vec::new(),
            mutant: None,
        }
    }
    /// Sizes and rules.
    pub const fn config(&self) -> &StripeConfig {
        &self.config
    }
    /// How often what was decided so far.
    pub const fn tally(&self) -> Tally {
        self.tally
    }
    /// What was decided since this was asked last.
    pub fn take_notes(&mut self) -> Vec<Note> {
        core::mem::take(&mut self.notes)
    }
    /// The next I/O that the host must carry out.
    pub fn poll_io(&mut self) -> Option<MemberIo> {
        self.outputs.pop_front()
    }
    /// The next bio that has ended.
    pub fn poll_end(&mut self) -> Option<Ended> {
        self.ended.pop_front()
    }
    /// Members that do not work, or not there.
    pub(in crate::device::md) fn failed_at(&self, at: Sector) -> impl Iterator<Item = usize> {
        let sound = move |member: &Member| member.working && at < member.recovered;
        let all = self.members.iter().enumerate();
        all.filter(move |(_, member)| !sound(member)).map(|(n, _)| n)
    }
    /// Members that do not work at all.
    pub fn lost(&self) -> usize {
        self.members.iter().filter(|member| !member.working).count()
    }
    /// The same array with an empty cache and nothing under way; what is known of its members
    /// stays.
    #[must_use]
    pub fn assembled(&self) -> Self {
        Self { members: self.members.clone(), ..Self::new(self.config) }
    }
    /// Whether a member works at all.
    pub fn works(&self, member: MemberId) -> bool {
        self.members.get(member.get() as usize).is_some_and(|member| member.working)
    }
    /// Whether a member holds what it should of a row.
    pub fn holds(&self, member: MemberId, row: Sector) -> bool {
        !self.failed_at(row).any(|at| at == member.get() as usize)
    }
    /// Whether all members do.
    pub fn is_whole(&self, row: Sector) -> bool {
        self.failed_at(row).next().is_none()
    }
    /// Whether parity makes up for those that do not.
    pub fn can_make(&self, row: Sector) -> bool {
        self.failed_at(row).count() <= self.config.parity.level().parities() as usize
    }
    /// Whether more members than parity makes up for have failed, or are not filled to their end
    /// (`has_failed`).
    pub fn is_broken(&self) -> bool {
        !self.can_make(self.last())
    }
    /// The last sector of the members: each holds what it should there if it does everywhere.
    fn last(&self) -> Sector {
        Sector::ZERO + self.config.member - Sectors::new(1)
    }
    /// Members that are filled, each with how far.
    pub fn filling(&self) -> impl Iterator<Item = (MemberId, Sector)> {
        let end = Sector::ZERO + self.config.member;
        let all = (0..).map(MemberId::new).zip(&self.members);
        let lacks =
            move |(_, member): &(MemberId, &Member)| member.working && member.recovered < end;
        all.filter(lacks).map(|(id, member)| (id, member.recovered))
    }
    /// A member fails: nothing of it can be read or written any more.
    pub fn fail(&mut self, member: MemberId) {
        if let Some(member) = self.members.get_mut(member.get() as usize) {
            *member = Member { working: false, recovered: Sector::ZERO };
        }
    }
    /// An empty disk takes the place of a member: it is written from now on, and holds nothing yet.
    pub fn replace(&mut self, member: MemberId) {
        if let Some(member) = self.members.get_mut(member.get() as usize) {
            *member = Member { working: true, recovered: Sector::ZERO };
        }
    }
    /// Rebuilding has made all rows before `at` right.
    pub fn recovered(&mut self, at: Sector) {
        for member in self.members.iter_mut().filter(|member| member.working) {
            member.recovered = member.recovered.max(at);
        }
    }
    /// Parity of rows from `at` on cannot be trusted; none: all of it can.
    pub const fn set_resync_from(&mut self, at: Option<Sector>) {
        self.resync_from = at;
    }
    /// Rows in the cache that hold something, with the number of members whose block is there.
    pub fn rows_held(&self) -> Vec<(Sector, u32)> {
        self.cache.held()
    }
    /// Whether nothing waits or runs.
    pub fn is_idle(&self) -> bool {
        self.outputs.is_empty()
            && self.running.is_empty()
            && self.bypassed.is_empty()
            && self.bios.is_empty()
            && self.cache.is_idle()
    }
}
