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
use crate::trace::delta::DeltaKind;
use crate::units::{BlockNo, Bytes, DevAddr, FileId, Offset, Pos};
use std::collections::BTreeMap;

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

type AllRecords = BTreeMap<FileId, Records>;

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
    padded: BTreeMap<u64, Pos>,
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
            padded: BTreeMap::new(),
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
                let file = FileId::new(step.args[0] as u32);
                let mut all = self.records();
                self.durable.extend(all.remove(&file).map(|records| (file, records)));
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
            _ => {}
        }
        self.at += 1;
        Ok(())
    }
    fn records(&self) -> AllRecords {
        let of = |(id, file): (FileId, &FileState)| {
            (id, Records { size: file.disk_size(), extents: file.extents().collect() })
        };
        self.model.files().map(of).collect()
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
        let durable = self.durable.get(&id).unwrap_or(&none);
        let now: Vec<_> = file.extents().collect();
        let geometry = self.model.geometry();
        let end = geometry.round_up_block(file.size().max(durable.size));
        let count = geometry.file_block_floor(end).get();
        let blocks = (0..count).map(|block| {
            let start = Pos::ZERO + geometry.block_offset(BlockNo::new(block)).since(Offset::ZERO);
            let stop = start + geometry.block_size();
            let kept = self.place(&durable.extents, start);
            let here = self.place(&now, start);
            let recorded = here.is_some() && here == kept && stop.min(file.size()) <= durable.size;
            let fate = match here {
                _ if self.is_dirty(id, start) => Fate::Memory,
                _ if self.is_in_flight(id, start) => Fate::InFlight,
                Some(addr) if recorded && !self.is_cached(addr) => Fate::Durable,
                Some(_) => Fate::Volatile,
                None => Fate::Nothing,
            };
            let padded = kept.and_then(|addr| {
                self.padded.get(&(addr.get() / geometry.block_size().get())).copied()
            });
            let padding = padded.filter(|eof| *eof < stop.min(durable.size));
            BlockFate { fate, padding }
        });
        Some(FileFate { size: durable.size, blocks: blocks.collect() })
    }
    /// Where a block with data lies.
    fn place(&self, extents: &[(u32, Bytes, MapType, DevAddr)], pos: Pos) -> Option<DevAddr> {
        let geometry = self.model.geometry();
        extents.iter().find_map(|(block, len, state, addr)| {
            let start = geometry.block_offset(BlockNo::new(u64::from(*block)));
            let start = Pos::ZERO + start.since(Offset::ZERO);
            let inside = start <= pos && pos < start + *len && *state == MapType::Mapped;
            inside.then(|| *addr + pos.since(start))
        })
    }
    fn is_cached(&self, addr: DevAddr) -> bool {
        self.cached.iter().any(|(_, start, end)| *start <= addr && addr < *end)
    }
    fn is_dirty(&self, file: FileId, pos: Pos) -> bool {
        let geometry = self.model.geometry();
        self.model.folios().any(|(_, folio)| {
            let place = folio.place();
            let start = geometry.page_pos(place.index);
            let inside = place.file == file
                && start <= pos
                && pos < start + geometry.folio_size(place.order);
            let block = || geometry.block_floor(Offset::ZERO + pos.since(start)).get() as u32;
            inside && (folio.is_dirty(block()) || folio.is_asked(block()))
        })
    }
    fn is_in_flight(&self, file: FileId, pos: Pos) -> bool {
        self.model.bios().any(|(_, bio)| {
            let here = bio.pos() <= pos && pos < bio.pos() + bio.len();
            let writes = bio.head().op == BioOp::Write && bio.head().file == file;
            writes && here && bio.state() == BioState::InFlight
        })
    }
}
