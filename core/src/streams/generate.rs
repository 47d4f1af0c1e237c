//! What a stream does next: chosen by weight from a seed, near what was done before, near EOF, at
//! the edges of blocks and pages.

use super::Step;
use super::expect::is_direct;
use super::faults::Chosen;
use super::worlds::World;
use crate::block::bio::BioOp;
use crate::engine::{ReadFlags, WriteFlags};
use crate::ops::advise::Advice;
use crate::ops::fallocate::FallocMode;
use crate::ops::readahead::Pattern;
use crate::ops::sync::RangeSync;
use crate::scenario::random::Random;
use crate::scenario::{Action, ScenarioOp};
use crate::units::{Bytes, FileId, FileRange, Pages, Pos, SECTOR_SIZE};

/// What an operation may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Read,
    Write,
    Append,
    Store,
    Load,
    Truncate,
    Shape(FallocMode),
    Sync,
    SyncRange,
    Msync,
    Reclaim,
    Advise,
    Seek,
    Link,
}

/// Weights of what changes no size and no extents; of 100.
const PLAIN: [(What, u64); 11] = [
    (What::Read, 27),
    (What::Write, 30),
    (What::Append, 5),
    (What::Store, 8),
    (What::Load, 4),
    (What::Sync, 5),
    (What::SyncRange, 5),
    (What::Msync, 2),
    (What::Reclaim, 5),
    (What::Advise, 5),
    (What::Seek, 4),
];
/// Weights of what does.
const SHAPING: [(What, u64); 11] = [
    (What::Truncate, 8),
    (What::Shape(FallocMode::Punch), 5),
    (What::Shape(FallocMode::Zero), 3),
    (What::Shape(FallocMode::ZeroKeepSize), 2),
    (What::Shape(FallocMode::Allocate), 2),
    (What::Shape(FallocMode::AllocateKeepSize), 2),
    (What::Shape(FallocMode::Collapse), 3),
    (What::Shape(FallocMode::Insert), 2),
    (What::Shape(FallocMode::Unshare), 1),
    (What::Link, 4),
    (What::Read, 2),
];

/// Chooses operations.
#[derive(Clone, Debug)]
pub struct Generator {
    world: World,
    random: Random,
    faults: bool,
    /// Stores through a mapping may reach behind EOF.
    tail: bool,
    /// How long the file gets.
    limit: u64,
    /// Where the last operation ended.
    last: u64,
    /// Counts writes, so that each has a byte of its own.
    byte: u8,
}

impl Generator {
    /// For a file of a world; `faults`: some operations meet one; `tail`: stores through a mapping
    /// may reach behind EOF.
    pub fn new(world: World, random: Random, faults: bool, tail: bool) -> Self {
        let mut random = random;
        // Most files are small: what meets is what breaks.
        let limit = world.limit >> [0, 1, 2, 2][random.below(4) as usize];
        let limit = if world.reshapes() { limit } else { world.limit };
        Self { world, random, faults, tail, limit, last: 0, byte: 0 }
    }
    /// The next operation; the files have so many bytes.
    pub fn next(&mut self, sizes: &[Pos]) -> Step {
        let file = self.file();
        let size = sizes[file.get() as usize].get();
        let what = self.choose();
        let action = self.action(what, size, sizes);
        if !action.touched().is_empty() {
            self.last = action.touched().end().get();
        }
        let fault = if self.faults && self.random.one_in(8) { self.fault(&action) } else { None };
        let faults = fault.into_iter().map(|fault| fault.kind(file)).collect();
        Step { op: ScenarioOp { task: 0, file, action }, faults }
    }
    /// Mostly the file that the world is about; now and then the one that shares blocks with it.
    fn file(&mut self) -> FileId {
        if self.world.shares() && self.random.one_in(6) {
            return self.world.other();
        }
        self.world.file()
    }
    fn choose(&mut self) -> What {
        let shaping = self.world.reshapes() && self.random.below(10) < 3;
        let table: &[(What, u64)] = if shaping { &SHAPING } else { &PLAIN };
        let mut left = self.random.below(table.iter().map(|(_, weight)| weight).sum());
        for (what, weight) in table {
            if left < *weight {
                let possible = *what != What::Link || self.world.shares();
                return if possible { *what } else { What::Read };
            }
            left -= weight;
        }
        What::Read
    }
    fn action(&mut self, what: What, size: u64, sizes: &[Pos]) -> Action {
        match what {
            What::Read => {
                let start = self.place(size);
                let nowait = self.random.one_in(16);
                let dontcache = self.random.one_in(16);
                let range = between(start, start + self.length());
                let direct = self.random.one_in(8);
                if direct {
                    let flags = ReadFlags { nowait, direct, ..ReadFlags::default() };
                    return Action::Pread { range: self.aligned(range), flags };
                }
                let flags = ReadFlags { dontcache, nowait, ..ReadFlags::default() };
                Action::Pread { range, flags }
            }
            What::Write | What::Append => {
                let start = if what == What::Append { size } else { self.place(size) };
                let flags = WriteFlags {
                    dsync: self.random.one_in(24),
                    dontcache: self.random.one_in(16),
                    nowait: self.random.one_in(24),
                    ..WriteFlags::default()
                };
                let len = self.length();
                let range = self.inside(start, len);
                if self.random.one_in(8) {
                    let flags = WriteFlags { direct: true, dontcache: false, ..flags };
                    return Action::Pwrite { range: self.aligned(range), byte: self.byte(), flags };
                }
                Action::Pwrite { range, byte: self.byte(), flags }
            }
            What::Store | What::Load => {
                let range = self.mapped(size, what == What::Load || self.tail);
                if what == What::Load {
                    return Action::MmapLoad(range);
                }
                Action::MmapStore { range, byte: self.byte() }
            }
            What::Truncate => Action::Truncate(Pos::new(self.new_size(size))),
            What::Shape(mode) => Action::Fallocate(mode, self.shape(mode, size)),
            What::Sync => match self.random.below(4) {
                0 => Action::Fdatasync,
                1 => Action::Syncfs,
                _ => Action::Fsync,
            },
            What::SyncRange => {
                let wait = self.random.one_in(2);
                let flags = RangeSync { wait_before: wait, write: true, wait_after: wait };
                Action::SyncRange(self.anywhere(size), flags)
            }
            What::Msync => Action::Msync(self.anywhere(size)),
            What::Reclaim => Action::Reclaim(Pages::new(1 + self.random.below(16))),
            What::Advise => {
                let advice = match self.random.below(8) {
                    0 => Advice::Pattern(Pattern::Normal),
                    1 => Advice::Pattern(Pattern::Sequential),
                    2 => Advice::Pattern(Pattern::Random),
                    3 => Advice::WillNeed,
                    _ => Advice::DontNeed,
                };
                Action::Fadvise(self.anywhere(size), advice)
            }
            What::Link => self.link(size, sizes),
            What::Seek => {
                Action::Seek { pos: Pos::new(self.place(size)), data: self.random.one_in(2) }
            }
        }
    }
    /// A byte that the last 250 writes did not have, never zero.
    const fn byte(&mut self) -> u8 {
        self.byte = self.byte % 250 + 1;
        self.byte
    }
    /// A place of the file, or a little behind it: often at an edge, at EOF, or where the last
    /// operation ended.
    fn place(&mut self, size: u64) -> u64 {
        let (page, block) = self.world.units();
        let any = self.random.below(self.limit);
        let at = match self.random.below(8) {
            0 => any / page * page,
            1 => any / block * block,
            2 => (any / block * block).saturating_sub(1),
            3 => size.saturating_sub(self.random.below(block)),
            4 => self.last,
            _ => any,
        };
        at.min(self.limit - 1)
    }
    fn length(&mut self) -> u64 {
        let (page, block) = self.world.units();
        let most = (self.limit / 4).clamp(2, 16 * 1024);
        let len = match self.random.below(8) {
            0 => 1 + self.random.below(8),
            1 => block * (1 + self.random.below(4)),
            2 => page * (1 + self.random.below(2)),
            3 | 4 => 1 + self.random.below(block),
            5 | 6 => 1 + self.random.below(most / 4 + 1),
            _ => 1 + self.random.below(most),
        };
        len.min(most)
    }
    /// A range that ends within the limit.
    fn inside(&self, start: u64, len: u64) -> FileRange {
        let start = start.min(self.limit - 1);
        between(start, (start + len).min(self.limit))
    }
    /// A range for direct I/O: mostly whole blocks, else whole sectors, now and then neither.
    fn aligned(&mut self, range: FileRange) -> FileRange {
        let (_, block) = self.world.units();
        let unit = match self.random.below(8) {
            0 => return range,
            1..4 => block.min(SECTOR_SIZE),
            _ => block,
        };
        let start = range.start().get() / unit * unit;
        let end = range.end().get().min(self.limit) / unit * unit;
        between(start, end.max(start + unit))
    }
    /// Blocks of either file become those of a file; now and then such as cannot.
    fn link(&mut self, mine: u64, sizes: &[Pos]) -> Action {
        let source = self.file();
        let size = sizes[source.get() as usize].get();
        let (from, to, len) = (self.place(size), self.place(mine), self.length());
        if self.random.one_in(16) {
            return Action::Reflink { source, from: Pos::new(from), range: between(to, to + len) };
        }
        let (_, block) = self.world.units();
        let from = from.min(size.saturating_sub(1)) / block * block;
        let len = len.next_multiple_of(block);
        let len = match self.random.below(4) {
            0 => 0,
            _ => len.min(size.saturating_sub(from)),
        };
        let to = to / block * block;
        Action::Reflink { source, from: Pos::new(from), range: between(to, to + len) }
    }
    fn anywhere(&mut self, size: u64) -> FileRange {
        if self.random.one_in(4) {
            return between(0, self.limit.max(size));
        }
        let start = self.place(size);
        between(start, start + self.length())
    }
    /// A range that a mapping of the file reaches: inside EOF, rarely up to the end of its page,
    /// very rarely beyond.
    fn mapped(&mut self, size: u64, tail: bool) -> FileRange {
        let (page, _) = self.world.units();
        let start = if size == 0 { 0 } else { self.place(size).min(size - 1) };
        let end = start + self.length();
        let end = match self.random.below(32) {
            0 if tail => end,
            1..5 if tail => end.min(size.next_multiple_of(page)),
            _ => end.min(size),
        };
        between(start, end.max(start))
    }
    fn new_size(&mut self, size: u64) -> u64 {
        match self.random.below(8) {
            0 => 0,
            1 => size,
            2 => size + self.random.below(64).min(self.limit.saturating_sub(size)),
            _ => self.place(size),
        }
    }
    fn shape(&mut self, mode: FallocMode, size: u64) -> FileRange {
        let (_, block) = self.world.units();
        let (start, len) = (self.place(size), self.length());
        let moves = matches!(mode, FallocMode::Collapse | FallocMode::Insert);
        // Now and then one that is refused.
        if !moves || self.random.one_in(16) {
            return between(start, start + len);
        }
        let len = len.next_multiple_of(block);
        if mode == FallocMode::Collapse {
            let most = size.saturating_sub(1) / block * block;
            let start = (start / block * block).min(most.saturating_sub(len));
            return between(start, start + len);
        }
        let start = (start / block * block).min(size.saturating_sub(1) / block * block);
        // A file that is long enough gets no more inserted.
        if size + len > self.limit {
            return between(size.next_multiple_of(block), size.next_multiple_of(block) + len);
        }
        between(start, start + len)
    }
    /// What is to fail while an action runs.
    fn fault(&mut self, action: &Action) -> Option<Chosen> {
        let range = action.touched();
        let kind = self.random.below(6);
        let inside = self.random.below(range.len().get().max(1));
        let after = self.random.below(3) as u32;
        match kind {
            0 if matches!(action, Action::Pwrite { .. }) => {
                Some(Chosen::BadMemory(Bytes::new(inside)))
            }
            0 => None,
            1 => Some(Chosen::NoSpace(range.start() + Bytes::new(inside))),
            2 => Some(Chosen::NoMemory(range.start() + Bytes::new(inside))),
            3 => Some(Chosen::DeviceError(BioOp::Read, after)),
            4 if is_direct(action) => Some(Chosen::StaysCached(range.start() + Bytes::new(inside))),
            _ if self.world.forgets() => None,
            _ => Some(Chosen::DeviceError(BioOp::Write, after)),
        }
    }
}

fn between(start: u64, end: u64) -> FileRange {
    FileRange::new(Pos::new(start), Bytes::new(end - start))
        .expect("streams stay far below the end")
}
