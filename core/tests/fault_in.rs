//! What it costs to make user memory present before each copy: exact counts, and a published table.

mod common;

use common::{TASK, geometry};
use folioscope_core::behaviour::{Behaviours, Profile, WriteChunk};
use folioscope_core::cache::frame_alloc::FramePolicy;
use folioscope_core::counters::Counter;
use folioscope_core::device::sim::{Sim, Timing};
use folioscope_core::engine::{Engine, WriteFlags, drive};
use folioscope_core::errno::Errno;
use folioscope_core::frames::{Fill, FrameStore};
use folioscope_core::fs::blockdev::BlockDev;
use folioscope_core::fs::{Provider, SpaceAllocator};
use folioscope_core::ops::readahead::ReadaheadLimits;
use folioscope_core::scenario::fit::FAULT_IN_FIT;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::units::{Bytes, DevAddr, FileId, Offset, Pages, Pfn, Pos};
use folioscope_core::world::{Config, Env};

const PAGE: u64 = 4096;
const CHUNK: u64 = 2 << 20;

/// Memory that keeps nothing, for streams of any length.
struct Forgets([u8; PAGE as usize]);

impl FrameStore for Forgets {
    fn allocate(&mut self, _first: Pfn, _count: Pages) -> Result<(), Errno> {
        Ok(())
    }
    fn release(&mut self, _first: Pfn, _count: Pages) {}
    fn bytes(&self, _first: Pfn, _offset: Offset, len: Bytes) -> &[u8] {
        &self.0[..len.get() as usize]
    }
    fn bytes_mut(&mut self, _first: Pfn, _offset: Offset, len: Bytes) -> &mut [u8] {
        &mut self.0[..len.get() as usize]
    }
}

struct Streams;

impl Env for Streams {
    type Sink = NoTrace;
    type Frames = Forgets;
}

/// `dd` to a block device whose mapping has no large folios.
struct Device {
    engine: Engine<Streams>,
    sim: Sim,
    file: FileId,
}

impl Device {
    fn new(behaviours: Behaviours) -> Self {
        let geometry = geometry(PAGE, PAGE, 0);
        let config = Config {
            geometry,
            behaviours,
            stable_writes: false,
            frames: FramePolicy::Packed,
            space: SpaceAllocator::new(DevAddr::ZERO, None),
            readahead: ReadaheadLimits::usual(geometry),
            queue: None,
            partition: Bytes::ZERO,
        };
        let engine = Engine::new(config, Forgets([0; PAGE as usize]), NoTrace);
        let size = Bytes::new(1 << 33);
        let file = engine.open(Pos::ZERO + size, Provider::BlockDev(BlockDev::new(size)));
        Self { engine, sim: Sim::new(Timing::Ram), file }
    }
    /// Writes `len` bytes at `at`; how many touches it took.
    fn write(&mut self, at: u64, len: u64) -> u64 {
        let before = self.engine.counters().get(Counter::UserTouches);
        let mut source = Fill { byte: 1, len: Bytes::new(len) };
        let flags = WriteFlags::default();
        let op = self.engine.pwrite(TASK, self.file, Pos::new(at), &mut source, flags);
        let done = drive(&self.engine, &mut self.sim, op).expect("nothing hangs");
        assert_eq!(done.0, Ok(Bytes::new(len)));
        self.engine.counters().get(Counter::UserTouches) - before
    }
}

fn profile(name: &str) -> Behaviours {
    Profile::named(name).expect("a profile").behaviours
}

/// Pages of the windows that a write is cut into: at multiples of the chunk in the *file*.
fn windows(at: u64, len: u64) -> Vec<u64> {
    let mut out = Vec::new();
    let mut pos = at;
    while pos < at + len {
        let end = ((pos / CHUNK + 1) * CHUNK).min(at + len);
        out.push((end - pos) / PAGE);
        pos = end;
    }
    out
}

#[test]
fn a_window_of_n_pages_is_touched_in_a_triangle_or_along_its_diagonal() {
    let triangle = |n: u64| n * (n + 1) / 2;
    assert_eq!(triangle(512), 131_328);
    for n in (1..40).chain([511, 512]) {
        assert_eq!(Device::new(profile("linux-6.6")).write(CHUNK, n * PAGE), triangle(n));
        for fixed in ["linux-6.1", "linux-6.12", "linux-6.18"] {
            assert_eq!(Device::new(profile(fixed)).write(CHUNK, n * PAGE), n, "{fixed}");
        }
    }
    // The same write elsewhere in the file is cut elsewhere.
    let mut device = Device::new(profile("linux-6.6"));
    let want = |at, len| windows(at, len).into_iter().map(triangle).sum::<u64>();
    assert_eq!(device.write(0, 512 * PAGE), triangle(512));
    assert_eq!(device.write(CHUNK * 5 - PAGE, 512 * PAGE), 1 + triangle(511));
    assert_eq!(device.write(CHUNK * 9 - 256 * PAGE, 512 * PAGE), 2 * triangle(256));
    assert_eq!(device.write(CHUNK * 13 + PAGE, 2000 * PAGE), want(PAGE, 2000 * PAGE));
    // A buffer that does not lie as the file does ends rounds inside its pages.
    assert_eq!(device.write(CHUNK * 20 + 100, 2 * PAGE), 2 + 2 + 1);
}

/// Block size in KiB, touches a page, and MB/s seen before and after, of the patch's commit
/// message; then what the fit says of "before".
const TABLE: [(u64, f64, f64, f64, f64); 6] = [
    (400, 47.2, 334.0, 339.0, 336.0),
    (800, 87.5, 278.0, 330.0, 290.0),
    (1600, 148.5, 204.0, 332.0, 194.0),
    (2200, 177.1, 170.0, 333.0, 168.0),
    (3000, 198.2, 150.0, 333.0, 152.0),
    (4500, 217.7, 139.0, 333.0, 141.0),
];

fn stream(behaviours: Behaviours, block: u64, most: u64) -> f64 {
    // Where a block lies in its chunk comes back after this many bytes.
    let (mut a, mut b) = (block, CHUNK);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    let period = (block / a * CHUNK).min(block * most);
    let mut device = Device::new(behaviours);
    let touches: u64 = (0..period).step_by(block as usize).map(|at| device.write(at, block)).sum();
    touches as f64 / (period / PAGE) as f64
}

#[test]
fn the_published_table_comes_out() {
    let before = profile("linux-6.6");
    let after = Behaviours { write_chunk: WriteChunk::MappingMax, ..before };
    for (kib, touches, seen_before, seen_after, fitted) in TABLE {
        let ran = stream(before, kib << 10, u64::MAX >> 32);
        assert!((ran - touches).abs() < 0.05 + 1e-9, "{kib} KiB: {ran} touches a page");
        let says = FAULT_IN_FIT.mb_per_second(ran);
        assert!((says - fitted).abs() < 0.75, "{kib} KiB: the fit says {says} MB/s");
        assert!((says / seen_before - 1.0).abs() < 0.1, "{kib} KiB: {says} for {seen_before} MB/s");
        let ran = stream(after, kib << 10, 16);
        assert!((ran - 1.0).abs() < 1e-9, "{kib} KiB after: {ran} touches a page");
        let says = FAULT_IN_FIT.mb_per_second(ran);
        assert!((says / seen_after - 1.0).abs() < 0.1, "{kib} KiB: {says} for {seen_after} MB/s");
    }
    // As blocks grow the loss has a limit: a whole chunk's triangle.
    assert!((FAULT_IN_FIT.mb_per_second(256.5) - 122.0).abs() < 0.75);
}
