//! Recordings built by hand: 4 KiB overwrites in cached 64 KiB folios, each followed by fdatasync.

use super::Side;
use crate::behaviour::DirtyTracking;
use crate::block::bio::{BioEnd, BioHead, BioOp, BioState};
use crate::cache::folio::FolioFlags;
use crate::counters::Counter;
use crate::geometry::Geometry;
use crate::trace::delta::{ABSENT, Delta, DeltaKind};
use crate::trace::header::{Header, Source};
use crate::trace::model::{ExtentState, FileState, Place};
use crate::trace::rule::Rule;
use crate::trace::step::{Context, Step};
use crate::trace::timeline::{Recording, Timeline};
use crate::units::{Bytes, DevAddr, FileId, OpId, Order, PageIndex, Sector, TaskId, Time};
use std::collections::BTreeMap;

pub(super) const PAGE: u64 = 65_536;
pub(super) const BLOCK: u64 = 4096;
const PER_FOLIO: u64 = PAGE / BLOCK;
/// Steps of one write with its fdatasync.
pub(super) const STEPS: usize = 10;
/// Of these, the one whose bio is in flight.
pub(super) const IN_FLIGHT: usize = 7;

#[derive(Default)]
pub(super) struct Builder {
    words: BTreeMap<(DeltaKind, u32, u32), u64>,
    pending: Vec<Delta>,
    pub(super) recording: Recording,
}

impl Builder {
    pub(super) fn get(&self, kind: DeltaKind, object: u32, aux: u32) -> u64 {
        let fresh = if kind == DeltaKind::FolioPlace { ABSENT } else { 0 };
        self.words.get(&(kind, object, aux)).copied().unwrap_or(fresh)
    }
    pub(super) fn set(&mut self, kind: DeltaKind, object: u32, aux: u32, new: u64) {
        let old = self.get(kind, object, aux);
        if old != new {
            self.pending.push(Delta { kind, object, aux, old, new });
            self.words.insert((kind, object, aux), new);
        }
    }
    pub(super) fn add(&mut self, counter: Counter, n: u64) {
        let old = self.get(DeltaKind::Counter, counter.code(), 0);
        self.set(DeltaKind::Counter, counter.code(), 0, old + n);
    }
    pub(super) fn step(&mut self, rule: Rule, args: [u64; 4]) {
        let step = Step {
            time: Time::new(self.recording.len() as u64 * 1000),
            task: TaskId::new(1),
            op: Some(OpId::new(0)),
            context: Context::Task,
            rule,
            args,
        };
        self.recording.push(step, &self.pending);
        self.pending.clear();
    }
    pub(super) fn file(&mut self, folios: u64) {
        let size = folios * PAGE;
        self.set(DeltaKind::FileOpen, 0, 0, 1);
        self.set(DeltaKind::FileSize, 0, 0, size);
        self.set(DeltaKind::FileDiskSize, 0, 0, size);
        let addr: DevAddr = Sector::new(98_304).addr();
        self.set(DeltaKind::ExtentLen, 0, 0, size);
        let at = FileState::pack_extent(ExtentState::Mapped, Some(addr));
        self.set(DeltaKind::ExtentAt, 0, 0, at);
        self.step(Rule::FileOpened, [0, size, 0, 0]);
    }
    pub(super) fn folio(&mut self, index: u32) {
        let file = FileId::new(0);
        let place = Place { file, index: PageIndex::new(index.into()), order: Order::ZERO };
        self.set(DeltaKind::FolioPlace, index, 0, place.pack());
        self.set(DeltaKind::FolioFlags, index, 0, flags(FolioFlags::NONE));
        self.set(DeltaKind::FolioUptodate, index, 0, 0xffff);
        self.step(Rule::FolioMade, [0, index.into(), PAGE, 0]);
    }
    fn op(&mut self, id: u32, kind: u64, pos: u64, len: u64) {
        self.set(DeltaKind::OpHead, id, 0, kind | (1 << 8));
        self.set(DeltaKind::OpPos, id, 0, pos);
        self.set(DeltaKind::OpLen, id, 0, len);
        self.step(Rule::OpStarts, [kind, len, pos, 0]);
    }
    fn op_ends(&mut self, id: u32, kind: u64, len: u64) {
        self.set(DeltaKind::OpRet, id, 0, len + 1);
        self.step(Rule::OpEnds, [kind, len + 1, 0, 0]);
    }
    /// One overwrite of a block and its way to the device.
    fn write(&mut self, n: u32, block: u64, tracking: DirtyTracking) {
        let (folio, bit) = ((block / PER_FOLIO) as u32, 1u64 << (block % PER_FOLIO));
        self.op(2 * n, 2, block * BLOCK, BLOCK);
        self.set(DeltaKind::FolioAsked, folio, 0, bit);
        if tracking == DirtyTracking::PerBlock {
            self.set(DeltaKind::FolioDirty, folio, 0, bit);
        }
        self.set(DeltaKind::FolioFlags, folio, 0, flags(FolioFlags::DIRTY));
        self.add(Counter::AppWritten, BLOCK);
        self.step(Rule::BitsSet, [block % PER_FOLIO, block % PER_FOLIO, 0, 0]);
        self.op_ends(2 * n, 2, BLOCK);
        self.op(2 * n + 1, 5, 0, 0);
        self.set(DeltaKind::FolioFlags, folio, 0, flags(FolioFlags::WRITEBACK));
        self.step(Rule::WritebackFolio, [u64::from(folio) * PAGE, PAGE, 0, 0]);
        self.send(n, block, tracking);
        self.op_ends(2 * n + 1, 5, 0);
    }
    fn send(&mut self, n: u32, block: u64, tracking: DirtyTracking) {
        let (folio, bit) = ((block / PER_FOLIO) as u32, 1u64 << (block % PER_FOLIO));
        let whole = tracking == DirtyTracking::PerFolio;
        let (first, blocks) = if whole { (0, PER_FOLIO) } else { (block % PER_FOLIO, 1) };
        let pos = u64::from(folio) * PAGE + first * BLOCK;
        let head = BioHead {
            op: BioOp::Write,
            sync: true,
            readahead: false,
            fua: false,
            unwritten: false,
            shared: false,
            dontcache: false,
            meta: false,
            boundary: false,
            direct: false,
            file: FileId::new(0),
        };
        let addr = Sector::new(98_304).addr() + Bytes::new(pos);
        self.set(DeltaKind::BioHead, n, 0, head.pack());
        self.set(DeltaKind::BioAddr, n, 0, addr.get());
        self.set(DeltaKind::BioLen, n, 0, blocks * BLOCK);
        self.set(DeltaKind::BioPos, n, 0, pos);
        self.set(DeltaKind::BioSegAt, n, 0, (u64::from(folio) << 32) | (first * BLOCK));
        self.set(DeltaKind::BioSegLen, n, 0, blocks * BLOCK);
        self.set(DeltaKind::FolioAsked, folio, 0, 0);
        self.set(DeltaKind::FolioDirty, folio, 0, 0);
        if whole {
            self.set(DeltaKind::FolioWaste, folio, 0, 0xffff & !bit);
            self.add(Counter::CleanWritten, 15 * BLOCK);
        }
        self.step(Rule::IoendNew, [pos, blocks * BLOCK, addr.get(), 0]);
        self.set(DeltaKind::BioState, n, 0, BioState::InFlight.code());
        let end = if whole { BioEnd::LastRange } else { BioEnd::FileGap };
        self.set(DeltaKind::BioEnd, n, 0, end.code());
        self.add(Counter::WriteBios, 1);
        self.step(Rule::BioSubmitted, [n.into(), addr.get(), blocks * BLOCK, end.code()]);
        self.set(DeltaKind::BioState, n, 0, BioState::Done.code());
        self.add(Counter::DeviceWritten, blocks * BLOCK);
        self.step(Rule::BioCompleted, [n.into(), blocks * BLOCK, 0, 0]);
        self.set(DeltaKind::FolioWaste, folio, 0, 0);
        self.set(DeltaKind::FolioFlags, folio, 0, flags(FolioFlags::NONE));
        for kind in [DeltaKind::BioSegAt, DeltaKind::BioSegLen] {
            self.set(kind, n, 0, 0);
        }
        for kind in [DeltaKind::BioAddr, DeltaKind::BioLen, DeltaKind::BioPos] {
            self.set(kind, n, 0, 0);
        }
        self.set(DeltaKind::BioState, n, 0, 0);
        self.set(DeltaKind::BioEnd, n, 0, 0);
        self.set(DeltaKind::BioHead, n, 0, 0);
        self.step(Rule::WritebackEnds, [u64::from(folio) * PAGE, 0, 0, 0]);
    }
    pub(super) fn timeline(self, profile: &str, tracking: DirtyTracking) -> Timeline {
        let geometry = Geometry::new(Bytes::new(PAGE), Bytes::new(BLOCK), Order::ZERO);
        let mut header = Header {
            engine: "0.1.0".to_owned(),
            title: "Sub-page dirty tracking".to_owned(),
            profile: profile.to_owned(),
            behaviours: crate::behaviour::Profile::named(profile).expect("known").behaviours,
            geometry: geometry.expect("fits"),
            source: Source::Simulated,
            tasks: Vec::new(),
        };
        header.behaviours.dirty_tracking = tracking;
        Timeline::new(header, self.recording).expect("the builder keeps old values")
    }
}

fn flags(more: FolioFlags) -> u64 {
    (FolioFlags::UPTODATE | FolioFlags::BLOCK_STATE).with(more).get()
}

/// The seed in small: `folios` cached folios, and these blocks overwritten one by one.
pub(super) fn overwrites(tracking: DirtyTracking, folios: u32, blocks: &[u64]) -> Timeline {
    let mut builder = Builder::default();
    builder.file(folios.into());
    for folio in 0..folios {
        builder.folio(folio);
    }
    for (n, block) in blocks.iter().enumerate() {
        builder.write(n as u32, *block, tracking);
    }
    let profile = if tracking == DirtyTracking::PerFolio { "linux-6.1" } else { "linux-6.12" };
    builder.timeline(profile, tracking)
}

/// Blocks of the seed's first writes, the last of them in the second folio.
pub(super) const BLOCKS: [u64; 12] = [3, 17, 9, 28, 1, 22, 14, 30, 7, 19, 5, 21];

/// Both runs of the seed, stopped while the last bio is in flight.
pub(super) fn seed() -> (Timeline, Timeline) {
    let make = |tracking| {
        let mut timeline = overwrites(tracking, 2, &BLOCKS);
        timeline.seek(3 + (BLOCKS.len() - 1) * STEPS + IN_FLIGHT);
        timeline
    };
    (make(DirtyTracking::PerFolio), make(DirtyTracking::PerBlock))
}

/// Two runs as sides.
pub(super) fn sides<'a>(a: &'a Timeline, b: &'a Timeline) -> [Side<'a>; 2] {
    [
        Side { label: "A", name: "linux-6.1", timeline: a },
        Side { label: "B", name: "linux-6.6", timeline: b },
    ]
}
