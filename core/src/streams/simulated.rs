//! The engine on a simulated device, as what a stream runs on.

use super::check::{Blind, Failure, Subject};
use super::expect::{Abilities, Expectation, Shapes};
use super::generate::Generator;
use super::model::Model;
use super::worlds::{WORLDS, World};
use super::{Step, put_steps, steps_of};
use crate::behaviour::{DirtyTracking, ZeroFlush};
use crate::check::invariants::{name, words};
use crate::device::sim::{Landed, Sim, peek_bytes};
use crate::engine::{BackgroundTask, Engine};
use crate::frames::BadFrom;
use crate::ops::OpResult;
use crate::scenario::armed::Armed;
use crate::scenario::random::Random;
use crate::scenario::run::{Runner, Simulated as Simulator, Simulation, header_of};
use crate::scenario::{FileSystem, Scenario, StartFile, Variant, flushers};
use crate::trace::sink::{NoTrace, Sink};
use crate::trace::timeline::Recording;
use crate::trace::wire;
use crate::units::{Bytes, FileId, Pos};

/// One scenario that runs.
pub struct Simulated<'a, S: Sink> {
    engine: &'a Engine<Simulator<S>>,
    sim: &'a mut Sim,
    /// What writes back beside the operations, where dirty pages are limited.
    flushers: Vec<BackgroundTask<'a>>,
    /// Of each file whether a device keeps it.
    kept: Vec<bool>,
    /// The faults of a scenario, which count over its operations, and how many of these there were;
    /// none: each step brings its own.
    armed: Option<(Armed, usize)>,
}

/// Whether anything fails in a scenario.
fn has_faults(scenario: &Scenario) -> bool {
    !scenario.faults.is_empty()
}

/// What the file of a scenario can do.
fn abilities(scenario: &Scenario, variant: &Variant, file: FileId) -> Abilities {
    let start = &scenario.files[file.get() as usize];
    let fixed = start.extents.is_none().then_some(start.size);
    let shapes = match (fixed, start.fs, start.driver) {
        (Some(_), ..) | (None, FileSystem::Zone(_), _) => Shapes::Fixed,
        (None, FileSystem::Extents, None) => Shapes::All,
        (None, FileSystem::Extents, Some(_)) => Shapes::Space,
        (None, FileSystem::Ext2 | FileSystem::Memory, _) => Shapes::Size,
    };
    let behaviours = &variant.behaviours;
    let (hides_tail, hides_tail_of_direct) = match behaviours.zero_flush {
        ZeroFlush::Never => (false, false),
        ZeroFlush::HoleOrUnwritten | ZeroFlush::AfterFirstBlock => (true, true),
        ZeroFlush::Unwritten => (true, false),
    };
    let memory = start.fs == FileSystem::Memory;
    // Nobody writes a file in memory back, and zeroes its tail then; a write far behind EOF zeroes
    // no buffers there.
    let zeroed = !memory && start.driver.is_none();
    let (hides_tail, hides_tail_of_direct) = (hides_tail && zeroed, hides_tail_of_direct && zeroed);
    let geometry = scenario.geometry;
    let sector = if memory { Bytes::new(1) } else { geometry.sector_size() };
    Abilities {
        geometry,
        shapes,
        fixed,
        sector,
        sector_first: true,
        links: shapes == Shapes::All,
        volume: volume(scenario, start),
        hides_tail,
        hides_tail_of_direct,
        forgets: start.driver.is_some(),
        writes_clean: behaviours.dirty_tracking == DirtyTracking::PerFolio,
    }
}

/// The file system that a file is on: as many as there are kinds of it on the devices.
fn volume(scenario: &Scenario, file: &StartFile) -> u32 {
    let kind = |file: &StartFile| {
        (core::mem::discriminant(&file.fs), file.driver, file.on, file.extents.is_none())
    };
    let same = |other: &StartFile| kind(other) == kind(file);
    scenario.files.iter().position(same).unwrap_or(0) as u32
}

/// What the files of a scenario are and hold at the start.
fn files(scenario: &Scenario, variant: &Variant, faults: bool) -> Vec<(Abilities, Model)> {
    let all = (0..).map(FileId::new).zip(&scenario.files);
    all.map(|(id, file)| (abilities(scenario, variant, id), Model::new(file.bytes(), faults)))
        .collect()
}

impl<'a, S: Sink> Simulated<'a, S> {
    fn new(
        Simulation { engine, sim }: &'a mut Simulation<S>,
        scenario: &Scenario,
        faults: bool,
    ) -> Self {
        let engine = &*engine;
        engine.keep_going();
        if faults {
            sim.watch();
        }
        let kept = scenario.files.iter().map(|file| file.fs != FileSystem::Memory).collect();
        Self { engine, sim, flushers: flushers(scenario, engine), kept, armed: None }
    }
}

impl<S: Sink> Subject for Simulated<'_, S> {
    fn perform(
        &mut self,
        step: &Step,
        mut dest: &mut [u8],
        mut source: &[u8],
    ) -> Result<OpResult, String> {
        let Self { engine, sim, flushers, armed, .. } = self;
        let done = if let Some((armed, at)) = armed {
            armed.arm(*at, engine, sim);
            let mut source = BadFrom { good: source, faults: armed.user(*at) };
            *at += 1;
            let mut runner = Runner { engine, sim, background: flushers };
            runner.perform(&step.op, &mut dest, &mut source, &[])
        } else {
            let mut runner = Runner { engine, sim, background: flushers };
            runner.perform(&step.op, &mut dest, &mut source, &step.faults)
        };
        done.map_err(|stuck| stuck.to_string())
    }
    fn size(&mut self, file: FileId) -> Result<Pos, String> {
        Ok(self.engine.size(file))
    }
    fn landed(&mut self) -> Vec<Landed> {
        self.sim.take_landed()
    }
    fn check_state(&mut self) -> Result<(), String> {
        self.engine.look(|world| {
            let broken = world.broken_invariants().first().copied();
            broken.or(world.first_broken()).map_or(Ok(()), |(number, pos)| {
                Err(format!("{} is broken at {pos}: {}", name(number), words(number)))
            })
        })
    }
    fn durable(&mut self, file: FileId, len: usize) -> Option<Vec<u8>> {
        if !self.kept[file.get() as usize] {
            return None;
        }
        let mut bytes = self.sim.durable_bytes(self.engine, file);
        bytes.truncate(len);
        Some(bytes)
    }
    fn check_end(&mut self, file: FileId, expectation: &mut Expectation) -> Result<(), String> {
        let seen = peek_bytes(self.engine, self.sim, file);
        expectation.model.look(0, &seen).map_err(|at| {
            let (got, want) = (seen[at], expectation.model.bytes()[at]);
            format!("byte {at} ({at:#x}) is {got:#04x} at the end, expected {want:#04x}")
        })
    }
}

/// A stream of the engine: the seed and the world that it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Case {
    /// Where it runs.
    pub world: World,
    /// Where its choices come from.
    pub seed: u64,
    /// Operations.
    pub count: usize,
    /// Some of them meet a fault.
    pub faults: bool,
}

impl Case {
    /// Its scenario, without operations.
    pub fn scenario(&self) -> Scenario {
        self.start().0
    }
    fn start(&self) -> (Scenario, Random) {
        let mut random = Random::new(self.seed);
        let title = format!("{} seed {}", self.world.name, self.seed);
        (self.world.scenario(&mut random, title), random)
    }
    /// Runs it: the scenario with all its operations, what went wrong, and the trace.
    pub fn run<S: Sink>(&self, sink: S) -> (Scenario, Result<(), Failure>, S) {
        let (mut scenario, mut steps) = (self.scenario(), Vec::new());
        let (result, sink) = self.run_noting(&scenario, &mut steps, sink);
        put_steps(&mut scenario, &steps);
        (scenario, result, sink)
    }
    /// The same in its scenario, which has no operations: each is noted before it is performed, so
    /// that it is known which one panicked.
    pub fn run_noting<S: Sink>(
        &self,
        scenario: &Scenario,
        steps: &mut Vec<Step>,
        sink: S,
    ) -> (Result<(), Failure>, S) {
        let (_, random) = self.start();
        let files = files(scenario, &scenario.variants[0], self.faults);
        let tail = files.iter().all(|(able, _)| able.hides_tail);
        let mut generator = Generator::new(self.world, random, self.faults, tail);
        let mut simulation = Simulation::new(scenario, &scenario.variants[0], sink);
        let mut subject = Simulated::new(&mut simulation, scenario, self.faults);
        let Self { count, .. } = *self;
        let result = super::check::run(&mut subject, files, &mut generator, count, steps);
        drop(subject);
        (result, simulation.engine.into_sink())
    }
}

/// Runs the operations of a scenario once more with its first setting, and checks them.
pub fn replay(scenario: &Scenario) -> Result<(), Failure> {
    replay_variant(scenario, &scenario.variants[0]).map(|_| ())
}

/// The same with one of its settings: where, and why, nobody could say what must be from there on.
pub(super) fn replay_variant(
    scenario: &Scenario,
    variant: &Variant,
) -> Result<Option<Blind>, Failure> {
    let scenario = scenario.of(variant);
    let faults = has_faults(scenario);
    let mut simulation = Simulation::new(scenario, variant, NoTrace);
    let mut subject = Simulated::new(&mut simulation, scenario, faults);
    subject.armed = Some((Armed::new(scenario), 0));
    super::check::replay(&mut subject, files(scenario, variant, faults), &steps_of(scenario))
}

/// A number that stands for the traces of so many streams in every world, with faults and without:
/// the same on every machine (FNV-1a).
pub fn fingerprint(streams: u64, count: usize) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for (at, world) in (0..).zip(WORLDS) {
        for seed in 0..streams {
            let case = Case { world, seed, count, faults: (at + seed) % 2 == 1 };
            let (scenario, _, recording) = case.run(Recording::default());
            let header = header_of(&scenario, &scenario.variants[0]);
            for byte in wire::encode(&header, &recording) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    hash
}
