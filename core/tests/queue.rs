//! The request queue: what joins a request, what a plug holds and when it lets go.

mod common;

use common::events::block_events;
use common::{Host, TASK};
use folioscope_core::behaviour::{Behaviours, PlugOrder};
use folioscope_core::block::bio::BioOp;
use folioscope_core::block::limits::QueueLimits;
use folioscope_core::cache::frame_alloc::FramePolicy;
use folioscope_core::counters::{Counter, Counters};
use folioscope_core::device::fault::DeviceFault;
use folioscope_core::device::sim::{Sim, Timing};
use folioscope_core::engine::{Engine, WriteFlags, drive};
use folioscope_core::frames::{Fill, HeapFrames};
use folioscope_core::fs::extents::Extents;
use folioscope_core::fs::{Provider, SpaceAllocator};
use folioscope_core::geometry::Geometry;
use folioscope_core::iomap::MapType;
use folioscope_core::ops::readahead::ReadaheadLimits;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::{Bytes, DevAddr, FileId, FileRange, Order, Pos};
use folioscope_core::world::Config;

const BLOCK: u64 = 4096;

/// A file whose blocks lie on these blocks of the device, behind a request queue.
struct Rig {
    engine: Engine<Host<Recording>>,
    sim: Sim,
    file: FileId,
    geometry: Geometry,
}

impl Rig {
    fn new(blocks: &[u64], plug_order: PlugOrder, limits: QueueLimits) -> Self {
        let size = Bytes::new(BLOCK);
        let geometry = Geometry::new(size, size, Order::ZERO).expect("sizes fit");
        let config = Config {
            geometry,
            behaviours: Behaviours { plug_order, ..Behaviours::default() },
            stable_writes: false,
            frames: FramePolicy::Scattered,
            space: SpaceAllocator::new(DevAddr::new(1 << 30), None),
            readahead: ReadaheadLimits::default(),
            queue: Some(limits),
            partition: Bytes::ZERO,
        };
        let engine = Engine::new(config, HeapFrames::new(size), Recording::default());
        let mut extents = Extents::new(geometry);
        for (at, block) in (0..).zip(blocks) {
            let range = FileRange::between(Pos::new(at * BLOCK), Pos::new((at + 1) * BLOCK));
            let addr = DevAddr::new(block * BLOCK);
            extents.map_mut().set(range, MapType::Mapped, Some(addr));
        }
        let end = Pos::new(blocks.len() as u64 * BLOCK);
        let file = engine.open(end, Provider::Extents(extents));
        Self { engine, sim: Sim::new(Timing::Ram), file, geometry }
    }
    fn whole(&self) -> FileRange {
        FileRange::between(Pos::ZERO, self.engine.size(self.file))
    }
    /// All of the file in one batch.
    fn readahead(&mut self) {
        let op = self.engine.readahead(TASK, self.file, self.whole());
        drive(&self.engine, &mut self.sim, op).expect("nothing hangs").0.expect("it succeeds");
        folioscope_core::engine::settle(&self.engine, &mut self.sim);
    }
    fn write(&mut self, block: u64) {
        let mut source = Fill { byte: 7, len: Bytes::new(BLOCK) };
        let (at, flags) = (Pos::new(block * BLOCK), WriteFlags::default());
        let op = self.engine.pwrite(TASK, self.file, at, &mut source, flags);
        drive(&self.engine, &mut self.sim, op).expect("nothing hangs").0.expect("it succeeds");
    }
    fn counters(&self) -> Counters {
        self.engine.counters()
    }
    /// The block layer's events of these kinds.
    fn events(self, kinds: &[&str]) -> Vec<String> {
        let all = block_events(self.geometry, &self.engine.into_sink());
        let wanted = |event: &String| kinds.iter().any(|kind| event.starts_with(kind));
        all.into_iter().filter(wanted).collect()
    }
}

fn fifo(blocks: &[u64]) -> Rig {
    Rig::new(blocks, PlugOrder::Fifo, QueueLimits::USUAL)
}

#[test]
fn only_the_last_request_of_a_plug_takes_a_bio_at_its_back_or_front() {
    // 20 follows 10 by no request; 9 goes in front of nothing but the last, and 11 behind it.
    let mut rig = fifo(&[10, 20, 21, 19, 11]);
    rig.readahead();
    let counters = rig.counters();
    assert_eq!(counters.get(Counter::ReadBios), 4, "20 and 21 are one bio");
    assert_eq!(counters.get(Counter::Requests), 3);
    assert_eq!(counters.get(Counter::FrontMerges), 1);
    assert_eq!(counters.get(Counter::BackMerges), 0);
    assert_eq!(
        rig.events(&["rq_issue"]),
        ["rq_issue RA 80 + 8", "rq_issue RA 152 + 24", "rq_issue RA 88 + 8"]
    );
}

#[test]
fn a_plug_is_issued_oldest_first_or_newest_first() {
    let issued = |order| {
        let mut rig = Rig::new(&[10, 20, 30], order, QueueLimits::USUAL);
        rig.readahead();
        rig.events(&["rq_issue", "rq_complete"])
    };
    assert_eq!(
        issued(PlugOrder::Fifo),
        [
            "rq_issue RA 80 + 8",
            "rq_issue RA 160 + 8",
            "rq_issue RA 240 + 8",
            "rq_complete RA 80 + 8",
            "rq_complete RA 160 + 8",
            "rq_complete RA 240 + 8",
        ]
    );
    assert_eq!(
        issued(PlugOrder::Lifo)[..3],
        ["rq_issue RA 240 + 8", "rq_issue RA 160 + 8", "rq_issue RA 80 + 8"]
    );
}

#[test]
fn a_plug_holds_32_requests_and_none_behind_a_long_one() {
    let scattered: Vec<u64> = (0..40).map(|n| n * 2).collect();
    let mut rig = fifo(&scattered);
    rig.readahead();
    assert_eq!(rig.counters().get(Counter::Requests), 40);
    assert_eq!(rig.events(&["plug", "unplug"]), ["plug", "unplug 32", "plug"]);
    // 32 blocks are 128 KiB; one less may be followed by another request.
    for (run, unplugs) in [(31, 0), (32, 1)] {
        let mut blocks: Vec<u64> = (100..100 + run).collect();
        blocks.push(10);
        let mut rig = fifo(&blocks);
        rig.readahead();
        assert_eq!(rig.events(&["unplug"]).len(), unplugs, "behind {run} blocks");
    }
}

#[test]
fn a_request_does_not_grow_beyond_the_limits_of_the_queue() {
    let requests = |limits| {
        let mut rig = Rig::new(&[10, 9, 8, 7], PlugOrder::Fifo, limits);
        rig.readahead();
        rig.counters().get(Counter::Requests)
    };
    let usual = QueueLimits::USUAL;
    assert_eq!(requests(usual), 1);
    assert_eq!(requests(QueueLimits { bytes: Bytes::kib(8), ..usual }), 2);
    assert_eq!(requests(QueueLimits { segments: 3, ..usual }), 2);
}

#[test]
fn fsync_has_no_plug_and_the_flusher_has_one() {
    // Two ioends that follow each other on the device, but not in the file.
    let merged = |sync: bool| {
        let mut rig = fifo(&[10, 30, 11]);
        rig.write(0);
        rig.write(2);
        let (engine, sim) = (&rig.engine, &mut rig.sim);
        let result = if sync {
            drive(engine, sim, engine.fsync(TASK, rig.file, false))
        } else {
            drive(engine, sim, engine.syncfs(TASK))
        };
        result.expect("nothing hangs").0.expect("it succeeds");
        rig.events(&["plug", "rq_issue"])
    };
    assert_eq!(merged(true), ["rq_issue WS 80 + 8", "rq_issue WS 88 + 8"]);
    assert_eq!(merged(false), ["plug", "rq_issue W 80 + 16"]);
}

#[test]
fn a_request_that_fails_fails_all_its_bios_and_nothing_else() {
    let mut rig = fifo(&[10, 9, 20]);
    let place = Some((DevAddr::new(9 * BLOCK), DevAddr::new(9 * BLOCK + 1)));
    let fault = DeviceFault { place, ..DeviceFault::eio(BioOp::Read, 0, 1) };
    rig.sim.add_fault(fault);
    rig.readahead();
    assert_eq!(rig.counters().get(Counter::FailedBios), 2);
    let ends = rig.events(&["read"]);
    let words =
        |at: u64, ok: u64| format!("read of {:#x} ends in softirq, uptodate {ok}", at * BLOCK);
    assert_eq!(ends, [words(1, 0), words(0, 0), words(2, 1)]);
}
