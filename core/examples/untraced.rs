//! The engine without a sink, and how long a cached overwrite takes: a program that must hold no
//! code of the trace (`cargo xtask test` looks for it in the binary).

use folioscope_core::behaviour::Behaviours;
use folioscope_core::cache::frame_alloc::FramePolicy;
use folioscope_core::device::sim::{Sim, Timing};
use folioscope_core::engine::{Engine, WriteFlags, drive};
use folioscope_core::frames::HeapFrames;
use folioscope_core::fs::blockdev::BlockDev;
use folioscope_core::fs::{Provider, SpaceAllocator};
use folioscope_core::geometry::Geometry;
use folioscope_core::ops::readahead::ReadaheadLimits;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::units::{Bytes, DevAddr, Order, Pos, TaskId};
use folioscope_core::world::{Config, Env};
use std::time::Instant;

struct Untraced;

impl Env for Untraced {
    type Sink = NoTrace;
    type Frames = HeapFrames;
}

const FILE: u64 = 64 << 20;

fn main() {
    let page = Bytes::kib(4);
    for order in [0, 9] {
        let geometry = Geometry::new(page, page, Order::new(order)).expect("sizes fit");
        let config = Config {
            geometry,
            behaviours: Behaviours::default(),
            stable_writes: false,
            frames: FramePolicy::Packed,
            space: SpaceAllocator::new(DevAddr::ZERO, None),
            readahead: ReadaheadLimits::default(),
            queue: None,
            partition: Bytes::ZERO,
        };
        let engine: Engine<Untraced> = Engine::new(config, HeapFrames::new(page), NoTrace);
        let device = Provider::BlockDev(BlockDev::new(Bytes::new(FILE)));
        let file = engine.open(Pos::ZERO, device);
        let mut sim = Sim::new(Timing::Ram);
        let task = TaskId::new(1);
        let mut write = |pos: u64, bytes: &[u8]| {
            let mut source = bytes;
            let flags = WriteFlags::default();
            let op = engine.pwrite(task, file, Pos::new(pos), &mut source, flags);
            drive(&engine, &mut sim, op).expect("nothing hangs").0.expect("it is cached");
        };
        let chunk = vec![1; 1 << 20];
        for at in 0..FILE >> 20 {
            write(at << 20, &chunk);
        }
        let block = vec![2; 4096];
        let (rounds, mut at) = (1_000_000u64, 1u64);
        let start = Instant::now();
        for _ in 0..rounds {
            at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            write((at >> 33) % (FILE / 4096) * 4096, &block);
        }
        let each = start.elapsed().as_nanos() / u128::from(rounds);
        println!("order {order}: {each} ns for each cached 4 KiB overwrite");
    }
}
