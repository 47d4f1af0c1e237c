//! What would be left of files if the power went now, told from a trace alone: which blocks are on
//! the device for sure, which may be, and which are in memory only.
//!
//! Folded step by step beside a timeline. What is durable is what had completed when the last flush
//! that has ended began, with the records as they were then.

use super::model::{FileState, Mismatch, Model};
use super::rule::Rule;
use super::timeline::Recording;
use crate::block::bio::{BioOp, BioState};
use crate::geometry::Geometry;
use crate::iomap::MapType;
use crate::ordered::OrderedMap;
use crate::sort::sort;
use crate::trace::delta::{Delta, DeltaKind};
use crate::units::{BlockNo, Bytes, DevAddr, FileId, Offset, Pos};

/// What would become of the bytes that a block of a file has now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// There are none: it reads as zero, and would.
    Nothing,
    /// They are on the device, and so is the record of them.
    Durable,
    /// They are on the device or in its cache, and they, or the record of them, may be lost.
    Volatile,
    /// They are on their way: each sector is old or new.
    InFlight,
    /// They are in memory only: lost.
    Memory,
}

/// A block of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockFate {
    /// What becomes of its bytes.
    pub fate: Fate,
    /// From here to the durable size, or the end of the block, the file would hold zeros that
    /// nobody wrote: they pad what was EOF when the block was last sent.
    pub padding: Option<Pos>,
    /// An array no longer gives its bytes as they were.
    pub damaged: bool,
}

/// A file, if the power went now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileFate {
    /// The size that it would have for sure.
    pub size: Pos,
    /// Its blocks, as far as it or what is durable of it reaches.
    pub blocks: Vec<BlockFate>,
}

/// The records of a file: its size, and where its blocks are.
#[derive(Clone, Default, Debug)]
struct Records {
    size: Pos,
    extents: Vec<(u32, Bytes, MapType, DevAddr)>,
}

/// Bytes of a block that an array damages.
const DAMAGED: Bytes = Bytes::kib(4);

type AllRecords = OrderedMap<u32, Records>;

/// What is durable at one step of a trace.
#[derive(Clone, Debug)]
pub struct Survey {
    model: Model,
    at: usize,
    durable: AllRecords,
    /// Flushes that have begun: writes that had completed, and the records then.
    flushes: Vec<(u64, AllRecords)>,
    completed: u64,
    /// Writes that completed and are not flushed: when, from, to.
    cached: Vec<(u64, DevAddr, DevAddr)>,
    /// By device block, where EOF was when it was last sent.
    padded: OrderedMap<u64, Pos>,
    /// Where the partition that holds the files begins on the device, as bios told: nothing is
    /// damaged before there is one.
    partition: Bytes,
}

impl Survey {
    /// Before the first step.
    pub fn new(geometry: Geometry) -> Self {
        Self {
            model: Model::new(geometry),
            at: 0,
            durable: AllRecords::new(),
            flushes: Vec::new(),
            completed: 0,
            cached: Vec::new(),
            padded: OrderedMap::new(),
            partition: Bytes::ZERO,
        }
    }
    /// After the first `position` steps of a recording.
    pub fn seek(&mut self, recording: &Recording, position: usize) -> Result<(), Mismatch> {
        if position < self.at {
            *self = Self::new(self.model.geometry());
        }
        while self.at < position.min(recording.len()) {
            self.step(recording)?;
        }
        Ok(())
    }
    fn step(&mut self, recording: &Recording) -> Result<(), Mismatch> {
        for delta in recording.deltas(self.at) {
            self.model.apply(delta)?;
            if delta.kind == DeltaKind::BioState {
                self.bio_moved(delta.object, delta.old, delta.new);
            }
        }
        let step = recording.step(self.at);
        #[allow(clippy::wildcard_enum_match_arm, reason = "no other step makes anything durable")]
        match step.rule {
            Rule::FileOpened => {
                let file = step.args[0] as u32;
                if let Some(records) = self.records().remove(&file) {
                    self.durable.insert(file, records);
                }
            }
            Rule::FlushSent => self.flushes.push((self.completed, self.records())),
            Rule::FlushDone if !self.flushes.is_empty() => {
                let (mark, records) = self.flushes.remove(0);
                if step.args[0] == 0 {
                    self.durable = records;
                    self.cached.retain(|(completed, ..)| *completed > mark);
                }
            }
            Rule::PowerCut => {
                self.durable = self.records();
                self.flushes.clear();
                self.cached.clear();
            }
            Rule::ZoneResized => {
                // What is done to a zone is durable with it.
                let sized = |delta: &Delta| delta.kind == DeltaKind::FileDiskSize;
                let file = recording
                    .deltas(self.at)
                    .iter()
                    .find(|delta| sized(delta))
                    .map(|delta| delta.object);
                let mut all = self.records();
                if let Some((file, records)) = file.and_then(|id| Some((id, all.remove(&id)?))) {
                    for (_, len, _, addr) in &records.extents {
                        let (from, end) = (*addr, *addr + *len);
                        self.cached.retain(|(_, start, _)| *start < from || *start >= end);
                    }
                    self.durable.insert(file, records);
                }
            }
            Rule::BioRemapped => {
                let [_, on_device, on_partition, _] = step.args;
                self.partition = Bytes::new(on_device.saturating_sub(on_partition));
            }
            _ => {}
        }
        self.at += 1;
        Ok(())
    }
    fn records(&self) -> AllRecords {
        let mut all = AllRecords::new();
        for (id, file) in self.model.files() {
            let records = Records { size: file.disk_size(), extents: file.extents().collect() };
            all.insert(id.get(), records);
        }
        all
    }
    fn bio_moved(&mut self, id: u32, old: u64, new: u64) {
        let bio = self.model.bios().find(|(other, _)| *other == id).map(|(_, bio)| bio);
        let Some(bio) = bio.filter(|bio| bio.head().op == BioOp::Write) else { return };
        let (start, end) = (bio.addr(), bio.addr() + bio.len());
        if new == BioState::Done.code() && old == BioState::InFlight.code() {
            self.completed += 1;
            self.cached.push((self.completed, start, end));
        } else if new == BioState::InFlight.code() {
            let block = self.model.geometry().block_size();
            let eof = self.model.file(bio.head().file).map_or(Pos::ZERO, FileState::size);
            let (mut at, mut pos) = (start, bio.pos());
            while at < end {
                let key = at.get() / block.get();
                if pos + block > eof {
                    self.padded.insert(key, eof.max(pos));
                } else {
                    self.padded.remove(&key);
                }
                at += block;
                pos += block;
            }
        }
    }
    /// What would be left of a file.
    pub fn file(&self, id: FileId) -> Option<FileFate> {
        let file = self.model.file(id)?;
        let none = Records::default();
        let durable = self.durable.get(&id.get()).unwrap_or(&none);
        let now: Vec<_> = file.extents().collect();
        let geometry = self.model.geometry();
        let end = geometry.round_up_block(file.size().max(durable.size));
        let count = geometry.file_block_floor(end).get();
        let (dirty, sent) = (self.dirty(id, count), self.in_flight(id, count));
        let cached = self.cached_spans();
        let size = geometry.block_size();
        let damaged = |at: DevAddr| {
            let (mut all, at) = (self.model.array().damaged(), at + self.partition);
            all.any(|(one, _)| one < at + size && at < one + DAMAGED)
        };
        let blocks = (0..count).map(|block| {
            let start = Pos::ZERO + geometry.block_offset(BlockNo::new(block)).since(Offset::ZERO);
            let stop = start + geometry.block_size();
            let kept = self.place(&durable.extents, start);
            let here = self.place(&now, start);
            let recorded = here.is_some() && here == kept && stop.min(file.size()) <= durable.size;
            let fate = match here {
                _ if dirty[block as usize] => Fate::Memory,
                _ if sent[block as usize] => Fate::InFlight,
                Some(addr) if recorded && !holds(&cached, addr) => Fate::Durable,
                Some(_) => Fate::Volatile,
                None => Fate::Nothing,
            };
            let padded = kept.and_then(|addr| {
                self.padded.get(&(addr.get() / geometry.block_size().get())).copied()
            });
            let padding = padded.filter(|eof| *eof < stop.min(durable.size));
            BlockFate { fate, padding, damaged: here.is_some_and(&damaged) }
        });
        Some(FileFate { size: durable.size, blocks: blocks.collect() })
    }
    /// Where a block with data lies; the extents ascend.
    fn place(&self, extents: &[(u32, Bytes, MapType, DevAddr)], pos: Pos) -> Option<DevAddr> {
        let geometry = self.model.geometry();
        let start = |block: u32| {
            Pos::ZERO + geometry.block_offset(BlockNo::new(block.into())).since(Offset::ZERO)
        };
        let behind = extents.partition_point(|(block, ..)| start(*block) <= pos);
        let (block, len, state, addr) = extents[..behind].last()?;
        let inside = pos < start(*block) + *len && *state == MapType::Mapped;
        inside.then(|| *addr + pos.since(start(*block)))
    }
    /// What the device has in its cache only: ascending, and no two meet.
    fn cached_spans(&self) -> Vec<(DevAddr, DevAddr)> {
        let mut all: Vec<_> = self.cached.iter().map(|(_, start, end)| (*start, *end)).collect();
        sort(&mut all);
        let mut spans: Vec<(DevAddr, DevAddr)> = Vec::new();
        for (start, end) in all {
            match spans.last_mut() {
                Some(last) if start <= last.1 => last.1 = end.max(last.1),
                Some(_) | None => spans.push((start, end)),
            }
        }
        spans
    }
    /// Of the first blocks of a file, those that only memory has.
    fn dirty(&self, file: FileId, count: u64) -> Vec<bool> {
        let geometry = self.model.geometry();
        let mut found = vec![false; count as usize];
        for (_, folio) in self.model.folios().filter(|(_, folio)| folio.place().file == file) {
            let first = geometry.file_block_floor(geometry.page_pos(folio.place().index)).get();
            let shown = folio.blocks().min(count.saturating_sub(first) as u32);
            for at in (0..shown).filter(|at| folio.is_dirty(*at) || folio.is_asked(*at)) {
                found[(first + u64::from(at)) as usize] = true;
            }
        }
        found
    }
    /// Of the first blocks of a file, those whose first byte is on its way to the device.
    fn in_flight(&self, file: FileId, count: u64) -> Vec<bool> {
        let block = self.model.geometry().block_size().get();
        let mut found = vec![false; count as usize];
        let sent = |bio: &&super::model::BioRecord| {
            let writes = bio.head().op == BioOp::Write && bio.head().file == file;
            writes && bio.state() == BioState::InFlight
        };
        for bio in self.model.bios().map(|(_, bio)| bio).filter(sent) {
            let first = bio.pos().get().div_ceil(block).min(count);
            let last = (bio.pos() + bio.len()).get().div_ceil(block).min(count);
            found[first as usize..last as usize].fill(true);
        }
        found
    }
    /// How many steps were folded.
    pub const fn position(&self) -> usize {
        self.at
    }
}

/// Whether one of these ascending spans holds an address.
fn holds(spans: &[(DevAddr, DevAddr)], addr: DevAddr) -> bool {
    let behind = spans.partition_point(|(start, _)| *start <= addr);
    spans[..behind].last().is_some_and(|(_, end)| addr < *end)
}

/// Steps between two surveys that are kept.
const KEPT_EVERY: usize = 8192;

/// Surveys of one recording, so that going from step to step folds no more than what lies between.
#[derive(Clone, Debug)]
pub struct Surveys {
    now: Survey,
    kept: Vec<Survey>,
}

impl Surveys {
    /// Before the first step.
    pub fn new(geometry: Geometry) -> Self {
        let now = Survey::new(geometry);
        Self { kept: vec![now.clone()], now }
    }
    /// The survey after the first `position` steps.
    pub fn at(&mut self, recording: &Recording, position: usize) -> Result<&Survey, Mismatch> {
        let position = position.min(recording.len());
        let behind = self.kept.partition_point(|kept| kept.at <= position).saturating_sub(1);
        let nearest = &self.kept[behind];
        if self.now.at > position || self.now.at < nearest.at {
            self.now = nearest.clone();
        }
        while self.now.at < position {
            let next = (self.now.at / KEPT_EVERY + 1) * KEPT_EVERY;
            self.now.seek(recording, next.min(position))?;
            let last = self.kept.last().map_or(0, |kept| kept.at);
            if self.now.at.is_multiple_of(KEPT_EVERY) && self.now.at > last {
                self.kept.push(self.now.clone());
            }
        }
        Ok(&self.now)
    }
}
