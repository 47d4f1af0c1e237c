//! The engine with a sink: why one write into a cold block did what it did, a line for each step.
//! The program holds all that `untraced` must not hold; `cargo xtask test` compares the two.

use folioscope_core::behaviour::{Behaviours, Profile};
use folioscope_core::cache::frame_alloc::FramePolicy;
use folioscope_core::device::sim::{Sim, Timing};
use folioscope_core::engine::{Engine, WriteFlags, drive};
use folioscope_core::frames::{Fill, HeapFrames};
use folioscope_core::fs::blockdev::BlockDev;
use folioscope_core::fs::{Provider, SpaceAllocator};
use folioscope_core::geometry::Geometry;
use folioscope_core::ops::readahead::ReadaheadLimits;
use folioscope_core::trace::header::{Header, Source};
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::units::{Bytes, DevAddr, Order, Pos, TaskId};
use folioscope_core::world::{Config, Env};

struct Traced;

impl Env for Traced {
    type Sink = Recording;
    type Frames = HeapFrames;
}

fn main() {
    let page = Bytes::kib(4);
    let geometry = Geometry::new(page, page, Order::ZERO).expect("sizes fit");
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
    let engine: Engine<Traced> = Engine::new(config, HeapFrames::new(page), Recording::default());
    let size = Bytes::kib(64);
    let file = engine.open(Pos::ZERO + size, Provider::BlockDev(BlockDev::new(size)));
    let mut source = Fill { byte: 1, len: Bytes::new(100) };
    let flags = WriteFlags { dsync: true, ..WriteFlags::default() };
    let write = engine.pwrite(TaskId::new(1), file, Pos::new(5000), &mut source, flags);
    let done = drive(&engine, &mut Sim::new(Timing::Ram), write).expect("nothing hangs");
    done.0.expect("the device is whole");
    let header = Header {
        engine: folioscope_core::ENGINE_VERSION.to_owned(),
        title: "one write into a cold block".to_owned(),
        profile: Profile::usual().name.to_owned(),
        behaviours: Behaviours::default(),
        geometry,
        source: Source::Simulated,
        tasks: Vec::new(),
    };
    let mut timeline = Timeline::new(header, engine.into_sink()).expect("a trace fits itself");
    while timeline.forward() {
        let step = timeline.current().expect("one was applied");
        println!("{:28} {}", step.rule.function(), step.rule.sentence(step.args));
    }
    while timeline.back() {}
    println!("{} steps, and back to {}", timeline.len(), timeline.position());
}
