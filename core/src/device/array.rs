//! An array behind a simulated device: it gets every bio that the device gets, and what it does to
//! its members becomes steps and totals.
//!
//! The device's own bytes answer reads; the members hold what the run wrote, with its parity.

use super::md::mirrors::{Copies, Mirrors};
use super::md::parity::Parity;
use super::md::run::{Bench, Event, Role, Token};
use super::md::stripes::{Note, RmwLevel, StripeConfig};
use super::md::zones::{ZoneOrder, Zones};
use crate::behaviour::ArrayThread;
use crate::block::bio::{Bio, BioOp};
use crate::counters::Counter;
use crate::engine::Engine;
use crate::trace::array::{ArrayShape, RowDecision};
use crate::trace::delta::DeltaKind;
use crate::trace::rule::Rule;
use crate::units::{Bytes, MemberId, SECTOR_SIZE, Sector, Sectors};
use crate::world::Env;

/// Sectors of each member: more than any run writes.
const MEMBER: Sectors = Sectors::new(1 << 32);
/// Sectors of a row.
const ROW: u64 = 8;

/// How an array is put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayKind {
    /// RAID4, RAID5, RAID6.
    Parity {
        /// Where sectors lie.
        parity: Parity,
        /// Rows of its cache.
        rows: u32,
        /// When parity is updated from what changed.
        rmw: RmwLevel,
    },
    /// RAID0 over members of one size.
    Chunks {
        /// Members.
        members: u32,
        /// Sectors of a chunk.
        chunk: Sectors,
    },
    /// RAID1, RAID10.
    Copies {
        /// Members.
        members: u32,
        /// Sectors of a chunk; none for RAID1.
        chunk: Option<Sectors>,
        /// How many, and where.
        copies: Copies,
    },
}

enum Disks {
    Stripes(Box<Bench>),
    Zones(Zones, Sectors),
    Mirrors(Mirrors, Sectors),
}

/// An array.
pub struct Array {
    disks: Disks,
    shape: ArrayShape,
    /// Not told to the engine yet.
    new: bool,
}

impl ArrayKind {
    /// Its shape.
    pub fn shape(&self) -> ArrayShape {
        let shape = |level, members: u32, data: u32, chunk| ArrayShape {
            level,
            members: members.min(255) as u8,
            data: data.min(255) as u8,
            chunk,
        };
        match *self {
            Self::Parity { parity, .. } => {
                let level = match parity.level() {
                    super::md::parity::ParityLevel::Raid4 => 4,
                    super::md::parity::ParityLevel::Raid5 => 5,
                    super::md::parity::ParityLevel::Raid6 => 6,
                };
                shape(level, parity.members(), parity.data_members(), parity.chunk())
            }
            Self::Chunks { members, chunk } => shape(0, members, members, chunk),
            Self::Copies { members, chunk: None, .. } => shape(1, members, 1, Sectors::ZERO),
            Self::Copies { members, chunk: Some(chunk), copies } => {
                shape(10, members, members / copies.count().max(1), chunk)
            }
        }
    }
}

impl Array {
    /// An array whose members are empty; none if it cannot be.
    pub fn new(kind: ArrayKind, thread: ArrayThread) -> Option<Self> {
        let disks = match kind {
            ArrayKind::Parity { parity, rows, rmw } => {
                let config = StripeConfig { rows, rmw, ..StripeConfig::new(parity, MEMBER) };
                let token = match thread {
                    ArrayThread::SubmitterSleeps => Token::Sleep,
                    ArrayThread::EachBio => Token::EachBio,
                };
                Disks::Stripes(Box::new(Bench::new(config, token)))
            }
            ArrayKind::Chunks { members, chunk } => {
                let sizes = vec![MEMBER; members as usize];
                Disks::Zones(Zones::new(chunk, &sizes, ZoneOrder::Alternate)?, chunk)
            }
            ArrayKind::Copies { members, chunk: None, .. } => {
                Disks::Mirrors(Mirrors::all(members, MEMBER)?, MEMBER)
            }
            ArrayKind::Copies { members, chunk: Some(chunk), copies } => {
                Disks::Mirrors(Mirrors::new(members, chunk, copies, MEMBER)?, chunk)
            }
        };
        Some(Self { disks, shape: kind.shape(), new: true })
    }
    /// The array with parity that it is, if it is one.
    pub fn bench(&self) -> Option<&Bench> {
        if let Disks::Stripes(bench) = &self.disks { Some(bench) } else { None }
    }
    /// A bio arrives.
    pub(super) fn submit<E: Env>(&mut self, engine: &Engine<E>, bio: &Bio, data: &[u8]) {
        if core::mem::take(&mut self.new) {
            let mut world = engine.world();
            world.set_array(DeltaKind::ArrayShape, 0, 0, self.shape.pack());
            let ArrayShape { level, members, chunk, .. } = self.shape;
            let chunk = chunk.get() * SECTOR_SIZE;
            world.step(Rule::ArrayMade, [u64::from(level), u64::from(members), chunk, 0]);
        }
        let start = Sector::new(bio.addr.get() / SECTOR_SIZE);
        let len = Sectors::new(bio.len.get() / SECTOR_SIZE);
        let (op, sync) = (bio.head.op, bio.head.sync);
        let mut places: Vec<(MemberId, Sector, Sectors)> = Vec::new();
        let mut pieces = |chunk: Sectors, locate: &dyn Fn(Sector) -> Vec<(MemberId, Sector)>| {
            let (mut at, end) = (start, start + len);
            while at < end {
                let room = chunk.get() - at.get() % chunk.get();
                let part = Sectors::new(room.min(end.since(at).get()));
                let copies = if op == BioOp::Read { 1 } else { usize::MAX };
                places.extend(locate(at).into_iter().take(copies).map(|(of, at)| (of, at, part)));
                at += part;
            }
        };
        match &mut self.disks {
            Disks::Stripes(bench) => {
                bench.submit(op, sync, (start, len), data.to_vec());
                bench.forget_ended();
            }
            Disks::Zones(map, chunk) => {
                pieces(*chunk, &|at| map.locate(at).into_iter().collect());
            }
            Disks::Mirrors(map, chunk) => pieces(*chunk, &|at| map.locate(at)),
        }
        if !places.is_empty() {
            report_ios(engine, op, &places, [len.get() * SECTOR_SIZE, 0, 0]);
        }
        self.report(engine);
    }
    /// The submitter sleeps: what waits is handled.
    pub(super) fn settle<E: Env>(&mut self, engine: &Engine<E>) {
        if let Disks::Stripes(bench) = &mut self.disks {
            if bench.stripes.is_idle() && bench.stripes.plugged() == 0 {
                return;
            }
            bench.settle();
            bench.forget_ended();
        }
        self.report(engine);
    }
    /// Tells the engine what the array did: decisions that follow each other as one step, the I/Os
    /// of one direction as one.
    fn report<E: Env>(&mut self, engine: &Engine<E>) {
        let Disks::Stripes(bench) = &mut self.disks else { return };
        let before = bench.take_tally();
        let events = bench.take_events();
        let mut at = 0;
        while at < events.len() {
            at += match events[at] {
                Event::Note(note) => report_notes(engine, note, &events[at..]),
                Event::Io(first) => {
                    let same = |event: &Event| matches!(event, Event::Io(io) if io.op == first.op);
                    let count = events[at..].iter().take_while(|event| same(event)).count();
                    let mut bytes = [0; 3];
                    let mut places = Vec::new();
                    for event in &events[at..at + count] {
                        let Event::Io(io) = event else { continue };
                        places.push((io.member, io.start, io.len));
                        let kind = match io.role {
                            Role::Data => 0,
                            Role::P => 1,
                            Role::Q => 2,
                            Role::Extra => continue,
                        };
                        bytes[kind] += io.len.get() * SECTOR_SIZE;
                    }
                    report_ios(engine, first.op, &places, bytes);
                    count
                }
            };
        }
        let mut world = engine.world();
        for (counter, n) in [
            (Counter::RowsFull, before.full),
            (Counter::RowsRmw, before.rmw),
            (Counter::RowsRcw, before.rcw),
            (Counter::RowsDelayed, before.delayed),
            (Counter::RowsAbsorbed, before.absorbed),
        ] {
            if n > 0 {
                world.count(counter, n);
            }
        }
        if before != super::md::stripes::Tally::default() {
            world.step(Rule::RowsCounted, [before.full, before.rmw, before.rcw, before.delayed]);
        }
    }
}

/// Steps of decisions alike about rows that follow each other; how many events they are.
fn report_notes<E: Env>(engine: &Engine<E>, first: Note, events: &[Event]) -> usize {
    let words = |note: Note| match note {
        Note::Full { row } => (row, RowDecision::Full, Rule::RowsFull, [0, 0]),
        Note::Rmw { row, needed } => (row, RowDecision::Rmw, Rule::RowsRmw, [needed, 0]),
        Note::Rcw { row, needed, delayed: true, .. } => {
            (row, RowDecision::Delayed, Rule::RowsDelayed, [needed, 0])
        }
        Note::Rcw { row, needed, now, delayed: false } => {
            (row, RowDecision::Rcw, Rule::RowsRcw, [needed, now])
        }
    };
    let (start, decision, rule, args) = words(first);
    let mut count = 0;
    let mut world = engine.world();
    for event in events {
        let Event::Note(note) = event else { break };
        let (row, _, other, inputs) = words(*note);
        let next = start + Sectors::new(count * ROW);
        if (row, other, inputs) != (next, rule, args) {
            break;
        }
        world.set_array(DeltaKind::RowDecision, number(row), 0, decision.code());
        count += 1;
    }
    world.step(rule, [start.get() * SECTOR_SIZE, count, args[0].into(), args[1].into()]);
    count as usize
}

/// One step of I/Os of members in one direction; bytes of data, P and Q.
fn report_ios<E: Env>(
    engine: &Engine<E>,
    op: BioOp,
    places: &[(MemberId, Sector, Sectors)],
    [data, p, q]: [u64; 3],
) {
    let mut world = engine.world();
    let kind = if op == BioOp::Read { DeltaKind::MemberRead } else { DeltaKind::MemberWritten };
    let mut sectors = 0;
    for (member, start, len) in places {
        sectors += len.get();
        let end = (*start + *len).get().div_ceil(ROW);
        for row in start.get() / ROW..end {
            let row = row as u32;
            world.add_array(kind, member.get(), row);
        }
    }
    let (counter, rule) = match op {
        BioOp::Read => (Counter::MemberRead, Rule::MembersRead),
        BioOp::Write => (Counter::MemberWritten, Rule::MembersWritten),
    };
    let moved = Bytes::new(sectors * SECTOR_SIZE);
    world.count(counter, moved.get());
    world.step(rule, [moved.get(), data, p, q]);
}

fn number(row: Sector) -> u32 {
    (row.get() / ROW) as u32
}
