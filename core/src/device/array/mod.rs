//! An array behind a simulated device: it gets every bio that the device gets, its members hold the
//! bytes, and what it does to them becomes steps and totals.

mod acts;
mod bytes;
mod doubt;
mod report;

use super::md::Members;
use super::md::mirrors::{Copies, Mirrors};
use super::md::parity::Parity;
use super::md::plain::{Map, Plain};
use super::md::run::{Bench, Token};
use super::md::stripes::{ArrayBioId, Consistency, RmwLevel, StripeConfig};
use super::md::zones::{ZoneOrder, Zones};
use crate::behaviour::ArrayThread;
use crate::block::bio::{Bio, BioOp};
use crate::engine::Engine;
use crate::errno::Errno;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::trace::array::ArrayShape;
use crate::units::{BioId, DevAddr, SECTOR_SIZE, Sector, Sectors};
use crate::world::Env;
pub use acts::ArrayAct;
use doubt::Doubt;
use std::collections::BTreeMap;

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
        /// What keeps parity right over a power cut.
        consistency: Consistency,
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

#[derive(Clone, Debug)]
enum Disks {
    Stripes(Box<Bench>),
    Plain(Box<Plain>),
}

/// The end of a bio: the result, and what it read.
pub(super) type Ended = (Result<(), Errno>, Vec<u8>);

/// A bio, or one of the parts that its queue cut it into: which, and where it begins.
type BioPart = (BioId, DevAddr);

/// An array.
#[derive(Clone, Debug)]
pub struct Array {
    disks: Disks,
    shape: ArrayShape,
    /// Not told to the engine yet.
    new: bool,
    /// Members that have failed before anything is done.
    failed: Members,
    /// Rows of the array that hold something: sectors over the sectors of a row.
    used: OrderedSet<u64>,
    /// Bios that are with the rows.
    asked: OrderedMap<ArrayBioId, BioPart>,
    ended: BTreeMap<BioPart, Ended>,
    doubt: Doubt,
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

impl ArrayKind {
    /// How many members may fail, whichever, before bytes are gone.
    pub fn tolerates(&self) -> u32 {
        match *self {
            Self::Parity { parity, .. } => parity.members() - parity.data_members(),
            Self::Chunks { .. } => 0,
            Self::Copies { members, chunk: None, .. } => members.saturating_sub(1),
            Self::Copies { copies, .. } => copies.count().saturating_sub(1),
        }
    }
}

impl Array {
    /// An array whose members are empty; none if it cannot be.
    pub fn new(kind: ArrayKind, thread: ArrayThread) -> Option<Self> {
        let plain = |map, members| Disks::Plain(Box::new(Plain::new(map, members)));
        let disks = match kind {
            ArrayKind::Parity { parity, rows, rmw, consistency } => {
                let new = StripeConfig::new(parity, MEMBER);
                let config = StripeConfig { rows, rmw, consistency, ..new };
                let token = match thread {
                    ArrayThread::SubmitterSleeps => Token::Sleep,
                    ArrayThread::EachBio => Token::EachBio,
                };
                Disks::Stripes(Box::new(Bench::new(config, token)))
            }
            ArrayKind::Chunks { members, chunk } => {
                let sizes = vec![MEMBER; members as usize];
                let zones = Zones::new(chunk, &sizes, ZoneOrder::Alternate)?;
                plain(Map::Chunks(zones, chunk), members)
            }
            ArrayKind::Copies { members, chunk: None, .. } => {
                plain(Map::Copies(Mirrors::all(members, MEMBER)?, MEMBER), members)
            }
            ArrayKind::Copies { members, chunk: Some(chunk), copies } => {
                let mirrors = Mirrors::new(members, chunk, copies, MEMBER)?;
                plain(Map::Copies(mirrors, chunk), members)
            }
        };
        Some(Self {
            disks,
            shape: kind.shape(),
            new: true,
            failed: Members::NONE,
            used: OrderedSet::default(),
            asked: OrderedMap::default(),
            ended: BTreeMap::new(),
            doubt: Doubt::default(),
        })
    }
    /// The array with parity that it is, if it is one.
    pub fn bench(&self) -> Option<&Bench> {
        if let Disks::Stripes(bench) = &self.disks { Some(bench) } else { None }
    }
    /// A bio arrives, with as much of its data as is to be written.
    pub(super) fn submit<E: Env>(&mut self, engine: &Engine<E>, bio: &Bio, data: &[u8]) {
        self.introduce(engine);
        let start = Sector::new(bio.addr.get() / SECTOR_SIZE);
        let (op, sync) = (bio.head.op, bio.head.sync);
        let bytes = if op == BioOp::Write { data.len() as u64 } else { bio.len.get() };
        let len = Sectors::new(bytes / SECTOR_SIZE);
        if len.is_zero() {
            self.ended.insert((bio.id, bio.addr), (Ok(()), Vec::new()));
            return;
        }
        if op == BioOp::Write && self.is_broken() {
            self.ended.insert((bio.id, bio.addr), (Err(Errno::Io), Vec::new()));
            return;
        }
        if op == BioOp::Write {
            self.use_rows(start, len);
            self.written_anew(engine, start, len);
        }
        match &mut self.disks {
            Disks::Stripes(bench) => {
                if cfg!(debug_assertions) {
                    bench.stripes.set_mutant(engine.world().mutant);
                }
                let id = bench.submit(op, sync, (start, len), data.to_vec());
                self.asked.insert(id, (bio.id, bio.addr));
            }
            Disks::Plain(plain) => {
                let (result, read, ios) = match op {
                    BioOp::Read => plain.read(start, len),
                    BioOp::Write => {
                        let (result, ios) = plain.write(start, data);
                        (result, Vec::new(), ios)
                    }
                };
                self.ended.insert((bio.id, bio.addr), (result, read));
                report::ios(engine, op, &ios, ([len.get() * SECTOR_SIZE, 0, 0, 0], false));
            }
        }
        self.report(engine);
    }
    /// Whether it has lost more members than it can do without: then nothing is written any more,
    /// also where enough is left (`MD_BROKEN` in `md_submit_bio`; kernels before 5.19 look at each
    /// row by itself). A member that is filled counts as lost.
    fn is_broken(&self) -> bool {
        match &self.disks {
            Disks::Stripes(bench) => bench.stripes.is_broken(),
            Disks::Plain(plain) => plain.is_broken(),
        }
    }
    /// The submitter sleeps: what waits is handled. Whether there was anything.
    pub(super) fn settle<E: Env>(&mut self, engine: &Engine<E>) -> bool {
        let Disks::Stripes(bench) = &mut self.disks else { return false };
        if bench.stripes.is_idle() && bench.stripes.plugged() == 0 {
            return false;
        }
        bench.settle();
        self.report(engine);
        true
    }
    /// The end of a bio, once it has ended.
    pub(super) fn take_ended<E: Env>(&mut self, engine: &Engine<E>, bio: &Bio) -> Ended {
        let part = (bio.id, bio.addr);
        if !self.ended.contains_key(&part) {
            self.settle(engine);
        }
        self.ended.remove(&part).unwrap_or((Ok(()), Vec::new()))
    }
    fn use_rows(&mut self, start: Sector, len: Sectors) {
        let end = (start + len).get().div_ceil(ROW);
        for row in start.get() / ROW..end {
            self.used.insert(row);
        }
    }
}
