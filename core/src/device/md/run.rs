//! An array with parity over simulated disks that hold real bytes: the smallest host of
//! [`Stripes`], for tables, tests and comparisons.
//!
//! One token says when the thread of the array runs; it is the only freedom that a schedule has.

use super::disks::Disks;
use super::field;
use super::log::Log;
use super::parity::Roles;
use super::stripes::{
    ArrayBio, ArrayBioId, Consistency, Ended, MemberIo, Note, Purpose, ROW_BYTES, StripeConfig,
    Stripes, Tally,
};
use crate::block::bio::BioOp;
use crate::device::store::Store;
use crate::device::volatile::Choose;
use crate::errno::Errno;
use crate::units::{Bytes, MemberId, SECTOR_SIZE, Sector, Sectors};
use std::collections::VecDeque;

/// When the thread of the array runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token {
    /// Only when the submitter sleeps or unplugs, as on one processor.
    Sleep,
    /// After each bio: nothing of the next one can fill its rows.
    EachBio,
}

/// What a member's block is to its row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Data.
    Data,
    /// P.
    P,
    /// Q.
    Q,
    /// A bitmap or a log.
    Extra,
}

/// An I/O of a member that was carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Which member.
    pub member: MemberId,
    /// Direction.
    pub op: BioOp,
    /// Somebody waited for it.
    pub sync: bool,
    /// First sector of the member's data.
    pub start: Sector,
    /// Sectors.
    pub len: Sectors,
    /// What the block is to its row.
    pub role: Role,
    /// Which run of the array's thread sent it: those of one run are in one plug.
    pub turn: u32,
}

/// What an array did, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// It decided about a row.
    Note(Note),
    /// It sent an I/O to a member.
    Io(Seen),
}

/// Totals of I/Os of members.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Sums {
    /// I/Os and sectors read: data, P, Q, others.
    pub read: [(u64, u64); 4],
    /// The same, written.
    pub written: [(u64, u64); 4],
}

impl Sums {
    /// Sectors of all I/Os.
    pub fn sectors(&self) -> u64 {
        self.read.iter().chain(&self.written).map(|(_, sectors)| sectors).sum()
    }
}

/// What an array found when the power was back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assembled {
    /// Blocks of the journal, which were written again.
    Replayed(u64),
    /// Rows of the log of partial parities, whose parity is right.
    Mended(u64),
    /// Nothing: parity of any row may be wrong until all are checked.
    Unclean,
}

/// An array with its disks.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The array.
    pub stripes: Stripes,
    pub(super) disks: Disks,
    token: Token,
    flying: VecDeque<MemberIo>,
    events: Vec<Event>,
    /// Rows whose writes stand in a log, until they are on their members for good.
    log: Log,
    sums: Sums,
    told: Tally,
    ended: Vec<Ended>,
    next: u32,
    turns: u32,
    /// Rows that their member cannot read: member, first sector.
    bad: Vec<(MemberId, Sector)>,
    /// Writes that still reach a disk before the power goes; none: it stays.
    power: Option<u64>,
    /// No member failed, was damaged, or lost what it had taken: parity is as the array made it.
    intact: bool,
}

impl Bench {
    /// An array over empty disks.
    pub fn new(config: StripeConfig, token: Token) -> Self {
        Self {
            stripes: Stripes::new(config),
            disks: Disks::new(config.parity.members()),
            token,
            flying: VecDeque::new(),
            events: Vec::new(),
            log: Log::default(),
            sums: Sums::default(),
            told: Tally::default(),
            ended: Vec::new(),
            next: 0,
            turns: 0,
            bad: Vec::new(),
            power: None,
            intact: true,
        }
    }
    /// The bytes of a member.
    pub fn disk(&self, member: MemberId) -> &Store {
        self.disks.store(member)
    }
    /// Whether the parity of a row is not that of its data; not asked where members hold no bytes,
    /// or lost any.
    pub fn has_wrong_parity(&self, row: Sector) -> bool {
        self.stripes.config().bytes && self.intact && !self.fits(row)
    }
    /// Whether the bytes of a row's parity on the members are those of its data there.
    pub fn fits(&self, row: Sector) -> bool {
        let parity = self.stripes.config().parity;
        let page = |member: MemberId| self.disks.bytes(member, row, ROW_BYTES);
        let Roles { p, q } = parity.roles(row);
        let is_data = |member: &MemberId| *member != p && Some(*member) != q;
        let data = (0..parity.members()).map(MemberId::new).filter(is_data);
        let data: Vec<(u32, Vec<u8>)> =
            data.map(|one| (parity.slot(row, one), page(one))).collect();
        let len = ROW_BYTES.get() as usize;
        let of_p = field::p_of(data.iter().map(|(_, page)| page.as_slice()), len);
        let of_q = || field::q_of(data.iter().map(|(slot, page)| (*slot, page.as_slice())), len);
        of_p == page(p) && q.is_none_or(|q| of_q() == page(q))
    }
    /// What the array did since this was asked last, in order.
    pub fn take_events(&mut self) -> Vec<Event> {
        core::mem::take(&mut self.events)
    }
    /// Rows by decision since this was asked last.
    pub fn take_tally(&mut self) -> Tally {
        let now = self.stripes.tally();
        now.since(core::mem::replace(&mut self.told, now))
    }
    /// Bios that have ended since this was asked last.
    pub fn take_ended(&mut self) -> Vec<Ended> {
        core::mem::take(&mut self.ended)
    }
    /// Totals since this was asked last.
    pub fn take_sums(&mut self) -> Sums {
        core::mem::take(&mut self.sums)
    }
    /// Decisions since this was asked last; I/Os of members are forgotten with them.
    pub fn take_notes(&mut self) -> Vec<Note> {
        let events = self.take_events().into_iter();
        let note = |event| if let Event::Note(note) = event { Some(note) } else { None };
        events.filter_map(note).collect()
    }
    /// A member cannot read a row until it is written anew.
    pub fn spoil(&mut self, member: MemberId, row: Sector) {
        self.bad.push((member, row));
    }
    /// The power goes once so many more writes of members have reached their disks.
    pub const fn cut_power_after(&mut self, writes: u64) {
        self.intact = false;
        self.power = Some(writes);
    }
    /// An empty disk takes the place of a member.
    pub(super) fn change_disk(&mut self, member: MemberId) {
        self.intact = false;
        self.disks.replace(member);
    }
    /// How far members are filled is noted on them, behind everything that they were sent: nothing
    /// that was written before is needed of a log any more.
    pub(super) fn note_progress(&mut self) {
        self.disks.flush_all();
        self.log.flush(self.disks.mark());
    }
    /// Submits a bio. By the token the array may get to work on it at once.
    pub fn submit(
        &mut self,
        op: BioOp,
        sync: bool,
        (start, len): (Sector, Sectors),
        data: Vec<u8>,
    ) -> ArrayBioId {
        let id = ArrayBioId(self.next);
        self.next += 1;
        self.stripes.submit(ArrayBio { id, op, sync, start, len, data });
        while self.stripes.is_waiting() {
            let worked = self.turn();
            self.stripes.resume();
            assert!(worked || !self.stripes.is_waiting(), "nothing will free a row");
        }
        if self.token == Token::EachBio {
            self.settle();
        }
        id
    }
    /// The submitter unplugs, and everything ends.
    pub fn settle(&mut self) {
        self.stripes.unplug();
        while self.turn() {
            self.stripes.resume();
            self.stripes.unplug();
        }
    }
    /// The thread runs, then what it sent ends; whether anything was done.
    fn turn(&mut self) -> bool {
        self.turns += 1;
        let mut worked = self.stripes.run_thread();
        self.events.extend(self.stripes.take_notes().into_iter().map(Event::Note));
        while let Some(io) = self.stripes.poll_io() {
            self.flying.push_back(io);
        }
        worked |= !self.flying.is_empty();
        while let Some(io) = self.flying.pop_front() {
            self.carry_out(&io);
        }
        while let Some(ended) = self.stripes.poll_end() {
            self.ended.push(ended);
        }
        worked
    }
    fn carry_out(&mut self, io: &MemberIo) {
        self.record(io);
        let len = Bytes::new(io.len.get() * SECTOR_SIZE);
        let bytes = self.stripes.config().bytes;
        match io.purpose {
            Purpose::Bitmap => return,
            Purpose::Log(row) => return self.log_row(row),
            Purpose::Row(_) | Purpose::Bypass(..) => {}
        }
        match io.op {
            BioOp::Write => {
                let powered = self.power.is_none_or(|left| left > 0);
                self.power = self.power.map(|left| left.saturating_sub(1));
                if powered && bytes {
                    self.disks.write(io.member, io.start, &io.data);
                }
                // A disk that may lose what it has taken needs the log for longer.
                if powered && !self.disks.tracks_power() {
                    self.log.reached(io.start, io.member);
                }
                self.bad.retain(|(member, row)| *member != io.member || *row != io.start);
                self.stripes.member_ended(io.id, Ok(&[]));
            }
            BioOp::Read => {
                let covers = |(member, row): &(MemberId, Sector)| {
                    *member == io.member && io.start <= *row && *row < io.start + io.len
                };
                if self.bad.iter().any(covers) {
                    self.stripes.member_ended(io.id, Err(Errno::Io));
                    return;
                }
                let data =
                    if bytes { self.disks.bytes(io.member, io.start, len) } else { Vec::new() };
                self.stripes.member_ended(io.id, Ok(&data));
            }
        }
    }
    /// The writes of a row that are about to follow are in its log.
    fn log_row(&mut self, row: Sector) {
        if self.power == Some(0) {
            return;
        }
        let of_row = |io: &&MemberIo| io.op == BioOp::Write && io.purpose == Purpose::Row(row);
        let writes = self.flying.iter().filter(of_row);
        let all = writes.map(|io| (io.member, io.data.clone())).collect();
        self.log.push(row, self.disks.mark(), all);
    }
    /// The array is assembled anew after it was stopped in good order: its cache is empty.
    pub fn assemble(&mut self) {
        self.power = None;
        self.flying.clear();
        self.ended.clear();
        self.told = Tally::default();
        self.stripes = self.stripes.assembled();
    }
    /// The power is back: what the array knew is gone, and it makes of its members what it can. A
    /// journal is played again; a partial parity makes parity right for the data that is there;
    /// else every parity is in doubt until a pass over all members has made it anew.
    pub fn power_on(&mut self) -> Assembled {
        self.intact = false;
        let config = *self.stripes.config();
        self.assemble();
        let log = core::mem::take(&mut self.log);
        let stripes = &self.stripes;
        let works = |member| stripes.works(member);
        let holds = |member, row| stripes.holds(member, row);
        let found = match config.consistency {
            Consistency::Journal => Assembled::Replayed(log.replay(&mut self.disks, works)),
            Consistency::PartialParity => {
                Assembled::Mended(log.mend(&config.parity, &mut self.disks, holds))
            }
            Consistency::Resync | Consistency::Bitmap => Assembled::Unclean,
        };
        if found == Assembled::Unclean {
            self.stripes.set_resync_from(Some(Sector::ZERO));
        } else {
            self.disks.flush_all();
        }
        found
    }
    /// From now on it is known what of the members a power cut would leave.
    pub fn track_power(&mut self) {
        self.disks.track_power();
    }
    /// What is done from now on is needed by the bio of this number and by later ones.
    pub const fn set_mark(&mut self, mark: u64) {
        self.disks.set_mark(mark);
    }
    /// What the first `mark` bios need is durable.
    pub fn flush(&mut self, mark: u64) {
        self.disks.flush(mark);
        self.log.flush(mark);
    }
    /// Sectors of the members that a power cut could leave one way or another.
    pub fn unsettled(&self) -> usize {
        self.disks.unsettled()
    }
    /// The power goes and comes back: of what the members were sent since they were flushed some is
    /// there. What the first `floor` bios need is in any case.
    pub fn cut(&mut self, floor: u64, choose: &mut dyn Choose) -> Assembled {
        self.disks.cut(floor, choose);
        self.power_on()
    }
    /// A member fails before anybody could make parity right.
    pub fn fail(&mut self, member: MemberId) {
        self.intact = false;
        self.stripes.fail(member);
    }
    fn record(&mut self, io: &MemberIo) {
        let parity = self.stripes.config().parity;
        let roles = parity.roles(io.start);
        let role = match io.purpose {
            Purpose::Bitmap | Purpose::Log(_) => Role::Extra,
            Purpose::Row(_) | Purpose::Bypass(..) if io.member == roles.p => Role::P,
            Purpose::Row(_) | Purpose::Bypass(..) if Some(io.member) == roles.q => Role::Q,
            Purpose::Row(_) | Purpose::Bypass(..) => Role::Data,
        };
        let sums = match io.op {
            BioOp::Read => &mut self.sums.read,
            BioOp::Write => &mut self.sums.written,
        };
        let sum = &mut sums[role as usize];
        *sum = (sum.0 + 1, sum.1 + io.len.get());
        let MemberIo { member, op, sync, start, len, .. } = *io;
        let turn = self.turns;
        self.events.push(Event::Io(Seen { member, op, sync, start, len, role, turn }));
    }
    /// Writes, and waits.
    pub fn write(&mut self, start: Sector, data: Vec<u8>) -> Result<(), Errno> {
        let len = Sectors::new(data.len() as u64 / SECTOR_SIZE);
        let id = self.submit(BioOp::Write, true, (start, len), data);
        self.settle();
        self.result(id).0
    }
    /// Reads, and waits.
    pub fn read(&mut self, start: Sector, len: Sectors) -> Result<Vec<u8>, Errno> {
        let id = self.submit(BioOp::Read, true, (start, len), Vec::new());
        self.settle();
        let (result, data) = self.result(id);
        result.map(|()| data)
    }
    /// The end of a bio; one that has not ended would be a fault of the array.
    pub fn result(&mut self, id: ArrayBioId) -> (Result<(), Errno>, Vec<u8>) {
        let at = self.ended.iter().position(|(ended, ..)| *ended == id);
        let (_, result, data) = self.ended.swap_remove(at.expect("every bio ends"));
        (result, data)
    }
}
