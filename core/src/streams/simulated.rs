//! The engine on a simulated device, as what a stream runs on.

use super::check::{Failure, Subject};
use super::expect::{Abilities, Expectation};
use super::generate::Generator;
use super::model::Model;
use super::worlds::{WORLDS, World};
use super::{Step, put_steps, steps_of};
use crate::behaviour::ZeroFlush;
use crate::check::invariants::{name, words};
use crate::device::sim::{Landed, peek_bytes};
use crate::iomap::MapType;
use crate::ops::OpResult;
use crate::scenario::random::Random;
use crate::scenario::run::{Simulation, header_of};
use crate::scenario::{FileSystem, Scenario, StartFile};
use crate::trace::sink::{NoTrace, Sink};
use crate::trace::timeline::Recording;
use crate::trace::wire;
use crate::units::{FileId, FileRange, Pos};

/// One scenario that runs.
pub struct Simulated<S: Sink> {
    simulation: Simulation<S>,
    file: FileId,
    /// What the other files must hold at the end.
    others: Vec<(FileId, Vec<u8>)>,
    faults: bool,
}

/// The bytes of a file at its start.
fn start_bytes(file: &StartFile) -> Vec<u8> {
    let Some(extents) = &file.extents else { return vec![file.fill; file.size.get() as usize] };
    let mut bytes = vec![0; file.size.get() as usize];
    let whole = FileRange::between(Pos::ZERO, file.size);
    for extent in extents.iter().filter(|extent| extent.state == MapType::Mapped) {
        let held = extent.range.intersect(whole);
        bytes[held.start().get() as usize..held.end().get() as usize].fill(file.fill);
    }
    bytes
}

/// The file that the operations of a scenario are about: that of the first one.
fn file_of(scenario: &Scenario) -> FileId {
    scenario.ops.first().map_or(FileId::new(0), |op| op.file)
}

/// Whether anything fails in a scenario.
fn has_faults(scenario: &Scenario) -> bool {
    !scenario.faults.is_empty()
}

/// What the file of a scenario can do.
fn abilities(scenario: &Scenario, file: FileId) -> Abilities {
    let start = &scenario.files[file.get() as usize];
    let fixed = start.extents.is_none().then_some(start.size);
    let reshapes = fixed.is_none() && start.fs == FileSystem::Extents;
    let hides_tail = scenario.variants[0].behaviours.zero_flush != ZeroFlush::Never;
    Abilities { geometry: scenario.geometry, reshapes, fixed, hides_tail }
}

impl<S: Sink> Simulated<S> {
    fn new(scenario: &Scenario, file: FileId, faults: bool, sink: S) -> Self {
        let mut simulation = Simulation::new(scenario, &scenario.variants[0], sink);
        simulation.engine.keep_going();
        if faults {
            simulation.sim.watch();
        }
        let others =
            scenario.files.iter().enumerate().map(|(at, file)| (FileId::new(at as u32), file));
        let others = others.filter(|(id, _)| *id != file);
        let others = others.map(|(id, file)| (id, start_bytes(file))).collect();
        Self { simulation, file, others, faults }
    }
}

impl<S: Sink> Subject for Simulated<S> {
    fn perform(
        &mut self,
        step: &Step,
        mut dest: &mut [u8],
        mut source: &[u8],
    ) -> Result<OpResult, String> {
        let done = self.simulation.perform(&step.op, &mut dest, &mut source, &step.faults);
        done.map_err(|stuck| stuck.to_string())
    }
    fn size(&mut self) -> Result<Pos, String> {
        Ok(self.simulation.engine.size(self.file))
    }
    fn landed(&mut self) -> Vec<Landed> {
        if !self.faults {
            return Vec::new();
        }
        let mut all = self.simulation.sim.take_landed();
        all.retain(|landed| landed.file == self.file);
        all
    }
    fn check_state(&mut self) -> Result<(), String> {
        self.simulation.engine.look(|world| {
            let broken = world.broken_invariants().first().copied();
            broken.or(world.first_broken()).map_or(Ok(()), |(number, pos)| {
                Err(format!("{} is broken at {pos}: {}", name(number), words(number)))
            })
        })
    }
    fn durable(&mut self, len: usize) -> Option<Vec<u8>> {
        let mut bytes = self.simulation.sim.durable_bytes(&self.simulation.engine, self.file);
        bytes.truncate(len);
        Some(bytes)
    }
    fn check_end(&mut self, expectation: &mut Expectation) -> Result<(), String> {
        let Simulation { engine, sim } = &self.simulation;
        let seen = peek_bytes(engine, sim, self.file);
        expectation.model.look(0, &seen).map_err(|at| {
            let (got, want) = (seen[at], expectation.model.bytes()[at]);
            format!("byte {at} ({at:#x}) is {got:#04x} at the end, expected {want:#04x}")
        })?;
        // Where a write of new copies of shared blocks fails, they are given back though a store
        // may have made the folio dirty again meanwhile (`xfs_end_ioend`): it is then written in
        // place.
        let others = if expectation.model.lost() { &[][..] } else { &self.others };
        for (id, want) in others {
            if peek_bytes(engine, sim, *id) != *want {
                return Err(format!("file {} changed, which nobody wrote to", id.get()));
            }
        }
        Ok(())
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
        let file = self.world.file();
        let abilities = abilities(scenario, file);
        let bytes = start_bytes(&scenario.files[file.get() as usize]);
        let model = Model::new(bytes, self.faults);
        let mut generator = Generator::new(self.world, random, self.faults, abilities.hides_tail);
        let mut subject = Simulated::new(scenario, file, self.faults, sink);
        let Self { count, .. } = *self;
        let result =
            super::check::run(&mut subject, abilities, model, &mut generator, count, steps);
        (result, subject.simulation.engine.into_sink())
    }
}

/// Runs the operations of a scenario once more and checks them.
pub fn replay(scenario: &Scenario) -> Result<(), Failure> {
    let file = file_of(scenario);
    if let Some(at) = scenario.ops.iter().position(|op| op.file != file) {
        let what = "it is about another file: only operations on one file can be checked";
        return Err(Failure { at, what: what.to_owned() });
    }
    let faults = has_faults(scenario);
    let model = Model::new(start_bytes(&scenario.files[file.get() as usize]), faults);
    let mut subject = Simulated::new(scenario, file, faults, NoTrace);
    super::check::replay(&mut subject, abilities(scenario, file), model, &steps_of(scenario))
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
