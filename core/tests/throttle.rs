//! Limits on dirty pages: who pauses, what the flusher writes and when, and what a trace keeps.

mod common;

use common::folding::Folding;
use common::{Host, TASK, geometry, header};
use folioscope_core::behaviour::Behaviours;
use folioscope_core::cache::frame_alloc::FramePolicy;
use folioscope_core::device::sim::{Sim, Timing};
use folioscope_core::dirty::DirtyConfig;
use folioscope_core::dirty::flusher::After;
use folioscope_core::engine::{BackgroundTask, Engine, WriteFlags, beside, drive};
use folioscope_core::errno::Errno;
use folioscope_core::frames::{Fill, HeapFrames};
use folioscope_core::fs::extents::Extents;
use folioscope_core::fs::{Provider, SpaceAllocator};
use folioscope_core::gauges::Gauge;
use folioscope_core::ops::readahead::ReadaheadLimits;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run_and_read;
use folioscope_core::scene::plot::{COLUMNS, Kind, Plot, render_svg, render_text};
use folioscope_core::scene::view::Theme;
use folioscope_core::stops::{Stop, StopPoint};
use folioscope_core::trace::model::Model;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::sink::{NoTrace, Sink};
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::units::{BdiId, Bytes, DevAddr, FileId, Nanos, Pages, Pos, TaskId, Time};
use folioscope_core::world::Config;
use std::path::PathBuf;

const PAGE: u64 = 4096;
const SECOND: u64 = 1_000_000_000;

/// A world whose device writes so many pages a second.
struct Machine<S: Sink> {
    engine: Engine<Host<S>>,
    sim: Sim,
}

impl<S: Sink> Machine<S> {
    fn new(pages_per_second: u64, dirty: DirtyConfig, sink: S) -> Self {
        let geometry = geometry(PAGE, PAGE, 0);
        let config = Config {
            geometry,
            behaviours: Behaviours::default(),
            stable_writes: false,
            frames: FramePolicy::Scattered,
            space: SpaceAllocator::new(DevAddr::new(1 << 20), None),
            readahead: ReadaheadLimits { window: Pages::new(4), io: Pages::new(8) },
            queue: None,
            partition: Bytes::ZERO,
        };
        let engine = Engine::new(config, HeapFrames::new(geometry.page_size()), sink);
        engine.limit_dirty(dirty);
        let timing = Timing::Queue {
            depth: 1,
            latency: Nanos::new(0),
            per_kib: Nanos::new(SECOND / (4 * pages_per_second)),
            flush: Nanos::new(0),
        };
        Self { engine, sim: Sim::new(timing) }
    }
    fn open(&self) -> FileId {
        let geometry = self.engine.look(|world| world.snapshot().geometry());
        self.engine.open(Pos::ZERO, Provider::Extents(Extents::new(geometry)))
    }
    /// Runs something beside the flusher.
    fn run<T>(&mut self, op: impl AsyncFnOnce(&Engine<Host<S>>) -> T) -> T {
        let Self { engine, sim } = self;
        let mut flushers: [BackgroundTask<'_>; 1] = [Box::pin(engine.flusher(BdiId::new(0)))];
        drive(engine, sim, beside(op(engine), &mut flushers)).expect("nothing hangs")
    }
    fn gauge(&self, gauge: Gauge) -> u64 {
        self.engine.look(|world| world.snapshot().gauges().get(gauge, 0))
    }
}

fn usual(memory: u64) -> DirtyConfig {
    DirtyConfig::usual(Pages::new(memory))
}

/// Writes some pages.
async fn write<S: Sink>(
    engine: &Engine<Host<S>>,
    file: FileId,
    (at, pages): (u64, u64),
    nowait: bool,
) -> Result<u64, Errno> {
    let mut source = Fill { byte: 7, len: Bytes::new(pages * PAGE) };
    let flags = WriteFlags { nowait, ..WriteFlags::default() };
    let done = engine.pwrite(TASK, file, Pos::new(at * PAGE), &mut source, flags).await;
    done.0.map(|bytes| bytes.get() / PAGE)
}

/// Writes 16 pages at a time, around and around in a file of 8192, until `until`: how many.
async fn writer<S: Sink>(engine: &Engine<Host<S>>, file: FileId, until: Time) -> u64 {
    let mut pages = 0;
    while engine.now() < until {
        assert_eq!(write(engine, file, (pages % 8192, 16), false).await, Ok(16));
        pages += 16;
    }
    pages
}

const fn seconds(n: u64) -> Time {
    Time::new(n * SECOND)
}

#[test]
fn a_writer_comes_down_to_what_the_device_writes() {
    for (bandwidth, end) in [(2560, 20), (10_240, 14)] {
        let mut machine = Machine::new(bandwidth, usual(8192), NoTrace);
        let file = machine.open();
        let (mut least, mut most, mut pages) = (u64::MAX, 0, 0);
        for second in 1..=end {
            let written = machine.run(async |engine| writer(engine, file, seconds(second)).await);
            if second > 8 {
                let all = machine.gauge(Gauge::Dirty) + machine.gauge(Gauge::Writeback);
                (least, most) = (least.min(all), most.max(all));
                pages += written;
            }
        }
        let mean = pages / (end - 8);
        assert!(mean.abs_diff(bandwidth) * 50 <= bandwidth, "within 2 %: {mean} of {bandwidth}");
        // It swings around the setpoint, between what is free and the limit.
        assert!(least > machine.gauge(Gauge::BackgroundThresh), "{least}");
        assert!(most <= machine.gauge(Gauge::DirtyLimit), "{most}");
        let seen = machine.gauge(Gauge::AvgWriteBandwidth);
        assert!(seen.abs_diff(bandwidth) * 5 <= bandwidth, "{seen} of {bandwidth}");
    }
}

#[test]
fn below_freerun_nobody_pauses() {
    let mut machine = Machine::new(10, usual(8192), NoTrace);
    let file = machine.open();
    let freerun = machine.gauge(Gauge::Freerun);
    machine.run(async |engine| write(engine, file, (0, freerun), false).await).expect("fits");
    assert_eq!(machine.sim.now(), Time::ZERO);
    let task =
        machine.engine.look(|world| world.snapshot().gauges().get(Gauge::TaskPaused, TASK.get()));
    assert_eq!(task, 0);
    // The next pages go over it, and once that is noticed they wait.
    machine.run(async |engine| write(engine, file, (freerun, 200), false).await).expect("fits");
    assert!(machine.sim.now() > Time::ZERO);
}

#[test]
fn who_may_not_wait_is_told_to_try_again() {
    let mut machine = Machine::new(10, usual(8192), Recording::default());
    let file = machine.open();
    let freerun = machine.gauge(Gauge::Freerun);
    let wrote = machine.run(async |engine| write(engine, file, (0, freerun + 900), true).await);
    let wrote = wrote.expect("a part of it");
    assert!(wrote > freerun && wrote < freerun + 900, "{wrote}");
    let again = machine.run(async |engine| write(engine, file, (8000, 1), true).await);
    assert_eq!(again, Err(Errno::Again));
    assert_eq!(machine.sim.now(), Time::ZERO, "nobody slept");
    let recording = machine.engine.into_sink();
    assert!(recording.steps().iter().any(|step| step.rule == Rule::MayNotSleep));
}

/// When each chunk of a file began, in milliseconds, and of which file.
fn chunks(recording: &Recording) -> Vec<(u64, u64)> {
    let steps = recording.steps().iter().filter(|step| step.rule == Rule::ChunkBegins);
    steps.map(|step| (step.time.get() / 1_000_000, step.args[0])).collect()
}

#[test]
fn what_is_old_is_written_oldest_first_and_nothing_else() {
    let mut machine = Machine::new(1000, usual(8192), Recording::default());
    let files = [machine.open(), machine.open(), machine.open()];
    let (task, nap) = (TASK, Nanos::new(SECOND));
    machine.run(async |engine| {
        // The one opened last becomes dirty first.
        for (file, at) in [(files[2], 0), (files[0], 0), (files[2], 5), (files[1], 0)] {
            write(engine, file, (at, 2), false).await.expect("room");
            engine.sleep(task, nap).await;
        }
        engine.sleep(task, Nanos::new(26 * SECOND)).await;
        assert_eq!(engine.look(|world| world.snapshot().gauges().get(Gauge::Dirty, 0)), 8);
        engine.sleep(task, Nanos::new(30 * SECOND)).await;
    });
    assert_eq!(machine.gauge(Gauge::Dirty), 0);
    // Dirtied at 0, 1 and 3 s; the flusher looks every 5 s for what is 30 s old.
    let all = chunks(&machine.engine.into_sink());
    assert_eq!(all, [(30_000, 2), (35_000, 0), (35_000, 1)]);
}

#[test]
fn a_round_gives_each_file_a_chunk() {
    let mut machine = Machine::new(100_000, usual(40_960), Recording::default());
    let files = [machine.open(), machine.open()];
    machine.run(async |engine| {
        for file in files {
            write(engine, file, (0, 2300), false).await.expect("room");
        }
        engine.sleep(TASK, Nanos::new(SECOND)).await;
    });
    // An eighth of the limit is less than 4 MiB: these are the chunk. It all goes: what is dirty
    // and being written leaves the device no share of the background limit.
    assert_eq!(machine.gauge(Gauge::DirtyLimit) / 8, 1023);
    let recording = machine.engine.into_sink();
    let ends = recording.steps().iter().filter(|step| step.rule == Rule::ChunkEnds);
    let ends: Vec<_> =
        ends.map(|step| (step.args[0], step.args[1], After::from_code(step.args[2]))).collect();
    let (more, clean) = (Some(After::Requeued), Some(After::Clean));
    let want = [(1024, more), (1024, more), (252, clean)];
    let want: Vec<_> =
        want.iter().flat_map(|(pages, after)| [(0, *pages, *after), (1, *pages, *after)]).collect();
    assert_eq!(ends, want);
}

#[test]
fn what_is_being_written_again_waits_for_its_turn() {
    let mut machine = Machine::new(100, usual(400), Recording::default());
    let file = machine.open();
    machine.run(async |engine| {
        // Above the background limit: the flusher sends it, and the same pages change again.
        write(engine, file, (0, 45), false).await.expect("room");
        engine.sleep(TASK, Nanos::new(SECOND / 100)).await;
        write(engine, file, (0, 45), false).await.expect("room");
        engine.sleep(TASK, Nanos::new(40 * SECOND)).await;
    });
    assert_eq!(machine.gauge(Gauge::Dirty), 0);
    let recording = machine.engine.into_sink();
    let ends = recording.steps().iter().filter(|step| step.rule == Rule::ChunkEnds);
    let ends: Vec<_> = ends.map(|step| (step.args[1], After::from_code(step.args[2]))).collect();
    assert_eq!(ends[0], (45, Some(After::Clean)));
    assert_eq!(ends[1], (0, Some(After::Redirtied)));
    assert_eq!(ends.last(), Some(&(45, Some(After::Clean))));
}

/// A stop that nobody reaches: a write passes every point at which it could be held.
const NOBODY: Stop =
    Stop { task: TaskId::new(99), point: StopPoint::AfterCopy, at: None, passes: 0 };

#[test]
fn writes_that_need_not_wait_pause_where_others_do() {
    let run = |stop: Option<Stop>| {
        let mut machine = Machine::new(1000, usual(500), Recording::default());
        let file = machine.open();
        machine.engine.hold_at(stop);
        machine.run(async |engine| {
            for at in [0, 100, 50, 0, 30] {
                write(engine, file, (at, 90), false).await.expect("room");
            }
        });
        machine.engine.into_sink()
    };
    let (quick, slow) = (run(None), run(Some(NOBODY)));
    assert!(quick.steps().iter().any(|step| step.rule == Rule::Paused));
    assert!(quick == slow, "the steps differ");
}

#[test]
fn the_counts_are_those_of_the_folios_and_can_be_taken_back() {
    let sink = Folding::new(geometry(PAGE, PAGE, 0));
    let mut machine = Machine::new(1000, usual(500), sink);
    let file = machine.open();
    machine.run(async |engine| {
        for round in 0..3 {
            write(engine, file, (round * 50, 120), false).await.expect("room");
            engine
                .truncate(TASK, file, Pos::new((round * 50 + 50) * PAGE + 5))
                .await
                .0
                .expect("it goes");
            engine.sleep(TASK, Nanos::new(SECOND / 100)).await;
        }
        engine.fsync(TASK, file, false).await.0.expect("durable");
    });
    assert_eq!(machine.gauge(Gauge::Dirty) + machine.gauge(Gauge::Writeback), 0);
    let header = header(geometry(PAGE, PAGE, 0), Behaviours::default());
    let recording = machine.engine.into_sink().recording;
    let rules = [Rule::Paused, Rule::PauseEnded, Rule::DirtyPosition, Rule::ChunkEnds];
    for rule in rules {
        assert!(recording.steps().iter().any(|step| step.rule == rule), "{rule:?}");
    }
    let mut timeline = Timeline::new(header.clone(), recording).expect("a trace fits itself");
    timeline.seek(usize::MAX);
    while timeline.back() {}
    assert_eq!(timeline.model(), &Model::new(header.geometry));
}

const LESSON: &str = include_str!("../../assets/scenarios/dirty-throttle.toml");

fn golden(name: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/plot").join(name);
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(&path, found).expect("can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == found, "{} differs; UPDATE_GOLDENS=1 writes it anew", path.display());
}

#[test]
fn the_scenario_of_a_writer_that_is_slowed_down_looks_as_kept() {
    let scenario = parse_scenario("scenario", LESSON).expect("a good file");
    let (run, files) =
        run_and_read(&scenario, &scenario.variants[0], Recording::default()).expect("it ends");
    assert_eq!(files.seen, files.durable);
    let timeline = Timeline::new(run.header, run.sink).expect("a trace fits itself");
    for kind in Kind::ALL {
        let plot = Plot::of(kind, &timeline, "run", COLUMNS).expect("it has gauges");
        let text = render_text(&plot);
        for line in text.lines() {
            assert!(line.chars().count() <= 72, "{line:?}");
        }
        golden(&format!("{}.txt", kind.word()), &text);
    }
    let plot = Plot::of(Kind::Dirty, &timeline, "run", 520).expect("it has gauges");
    golden("dirty.svg", &render_svg(&plot, 1040, Theme::Auto));
}

#[test]
fn bad_limits_are_told_where_and_what() {
    for (good, bad, want) in [
        (
            "memory = \"16m\"",
            "memory = 4095",
            "scenario:21:10: memory is 4095 bytes, less than a page",
        ),
        ("memory = \"16m\"\n", "", "missing field `memory`"),
        ("ratio = 20", "ratio = 101", "ratio is 101: expected 0 to 100"),
        ("ratio = 20", "ratio = 20\nbytes = 9", "`ratio` and `bytes` say the same: leave out one"),
        ("expire_centisecs = 300", "expire_centisecs = -1", "expire_centisecs is -1: expected 0"),
        ("expire_centisecs", "expire_centisec", "unknown field `expire_centisec`"),
        ("ms = 6000", "ms = 0", "ms is 0: expected 1 to 3600000"),
        ("ms = 6000", "", "`ms` is missing"),
    ] {
        let text = LESSON.replacen(&format!("\n{good}"), &format!("\n{bad}"), 1);
        assert_ne!(text, LESSON, "{good} is in the file");
        let error = parse_scenario("scenario", &text).expect_err(bad).to_string();
        assert!(error.contains(want), "{bad}: {error}");
    }
}
