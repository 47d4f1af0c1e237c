//! Every way in which the tasks of a scenario can follow each other, and what must hold of each.
//!
//! Of each course: it ends, no invariant breaks, every read and the end are what some order of the
//! operations gives, a power cut at any moment leaves no byte that the file never had, and a sync
//! afterwards makes everything durable.

use super::armed::Armed;
use super::order::{alone, flushers, room};
use super::perform::{Reads, perform};
use super::run::{Simulated, Simulation};
use super::serial::{Allowed, Files, allowed};
use super::{Action, FileSystem, Scenario, ScenarioOp, Variant};
use crate::check::invariants::name;
use crate::counters::Counter;
use crate::device::sim::{Sim, peek_bytes};
use crate::engine::{BackgroundTask, Engine, Host, beside, drive, settle};
use crate::errno::Errno;
use crate::ops::OpResult;
use crate::tasks::{Actor, Chooser, Device, Dice, End, Search, Step, Trail, explore_one, follow};
use crate::trace::sink::NoTrace;
use crate::units::FileId;
use crate::world::World;
use core::hash::{Hash, Hasher};
use core::task::{Context, Waker};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;

type Traceless = Engine<Simulated<NoTrace>>;

/// How far a search goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How often a course may depart from the usual one: a task that could go on stands back, or
    /// the device ends something out of order.
    pub bound: u32,
    /// Most courses.
    pub most: u64,
    /// Most choices of all courses together; none: any number.
    pub choices: Option<u64>,
    /// Courses by dice, from this seed on, instead of all.
    pub seed: Option<u64>,
}

/// Something that must not be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What.
    pub message: String,
    /// The schedule that leads there.
    pub schedule: Vec<Step>,
}

/// What a search found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explored {
    /// Courses that were run, each different from all others.
    pub schedules: u64,
    /// Different ends: results, bytes in cache and on the device, sizes.
    pub ends: usize,
    /// Choices of the longest course.
    pub deepest: usize,
    /// No course below the bound was left out.
    pub complete: bool,
    /// It ended because its courses have so many choices.
    pub long: bool,
    /// Bytes could be compared with every order of the operations.
    pub compared: bool,
    /// The first course that went wrong, with as few departures as any.
    pub failure: Option<Failure>,
}

/// Runs every course, those with the fewest departures first, until one goes wrong.
pub fn explore(scenario: &Scenario, variant: &Variant, limits: Limits) -> Explored {
    let scenario = scenario.of(variant);
    let allowed = allowed(scenario);
    let mut found = Explored {
        schedules: 0,
        ends: 0,
        deepest: 0,
        complete: limits.seed.is_none(),
        long: false,
        compared: allowed.is_some(),
        failure: None,
    };
    let mut ends = BTreeSet::new();
    let mut choices = 0;
    let mut note = |found: &mut Explored, ran: Ran| {
        found.schedules += 1;
        choices += ran.trail.len() as u64;
        found.long = limits.choices.is_some_and(|most| choices >= most);
        found.deepest = found.deepest.max(ran.trail.len());
        ends.insert(ran.end);
        found.ends = ends.len();
        if let Some(message) = ran.wrong {
            found.failure = Some(Failure { message, schedule: ran.trail.schedule() });
        }
    };
    if let Some(seed) = limits.seed {
        for nth in 0..limits.most {
            let mut dice = Dice::new(seed.wrapping_add(nth));
            if let Some(ran) = run_one(scenario, variant, allowed.as_ref(), &mut dice) {
                note(&mut found, ran);
            }
            if found.failure.is_some() || found.long {
                return found;
            }
        }
        return found;
    }
    for bound in 0..=limits.bound {
        let mut search = Search::new(bound);
        loop {
            let ran = run_one(scenario, variant, allowed.as_ref(), &mut search);
            // Those with fewer departures were run before.
            if let Some(ran) = ran.filter(|_| search.spent() == bound) {
                note(&mut found, ran);
            }
            if found.failure.is_some() {
                return found;
            }
            if !search.next_course() {
                break;
            }
            if found.schedules >= limits.most || found.long {
                found.complete = false;
                return found;
            }
        }
    }
    found
}

/// Runs one course by a schedule; what goes wrong.
pub fn replay(scenario: &Scenario, variant: &Variant, steps: &[Step]) -> Option<String> {
    let scenario = scenario.of(variant);
    let allowed = allowed(scenario);
    let reads = Reads::default();
    let Simulation { engine, mut sim } = Simulation::new(scenario, variant, NoTrace);
    let armed = RefCell::new(Armed::new(scenario));
    engine.keep_going();
    let mut flushers = flushers(scenario, &engine);
    let failed = early(scenario, &engine, &mut sim, (&armed, &reads), &mut flushers);
    let mut watch = Watch::new(scenario, allowed.as_ref(), &reads);
    watch.disturbed = failed;
    let mut room = room(scenario, (&engine, &mut sim), &armed, Some(&reads), &mut flushers);
    let followed = follow(&mut room, steps, |room| {
        watch.looks(room.engine, room.device);
        watch.wrong.is_none()
    });
    if let Err(error) = followed {
        return Some(error.to_string());
    }
    watch.disturbed |= room.results().iter().any(|(_, result)| lost_something(*result));
    drop(room);
    watch.finish(&engine, &mut sim, &armed, &mut flushers);
    watch.wrong
}

/// What a course gave.
struct Ran {
    trail: Trail,
    end: u64,
    wrong: Option<String>,
}

/// What main does before the others begin; whether some of it failed with the device.
fn early<'a>(
    scenario: &Scenario,
    engine: &'a Traceless,
    sim: &mut Sim,
    (armed, reads): (&RefCell<Armed>, &Reads),
    flushers: &mut Vec<BackgroundTask<'a>>,
) -> bool {
    let mut disturbed = false;
    let (early, ..) = scenario.parts();
    for nth in 0..early.len() {
        let done = alone(scenario, engine, sim, armed, flushers, (nth, Some(reads)));
        debug_assert!(done.is_ok(), "one task alone waits for nobody");
        disturbed |= done.is_ok_and(lost_something);
    }
    disturbed
}

/// Whether what an operation gave is no fault of ours, though not all was done: the device, or its
/// space, failed.
fn lost_something(result: OpResult) -> bool {
    matches!(result.0, Err(Errno::Io | Errno::NoSpc))
}

/// Runs one course; none: it went where others had been.
fn run_one(
    scenario: &Scenario,
    variant: &Variant,
    allowed: Option<&Allowed>,
    chooser: &mut impl Chooser,
) -> Option<Ran> {
    let reads = Reads::default();
    let Simulation { engine, mut sim } = Simulation::new(scenario, variant, NoTrace);
    let armed = RefCell::new(Armed::new(scenario));
    engine.keep_going();
    let mut flushers = flushers(scenario, &engine);
    let failed = early(scenario, &engine, &mut sim, (&armed, &reads), &mut flushers);
    engine.hold_everywhere(true);
    engine.hold_workers(true);
    let mut trail = Trail::default();
    let mut watch = Watch::new(scenario, allowed, &reads);
    watch.disturbed = failed;
    let mut room = room(scenario, (&engine, &mut sim), &armed, Some(&reads), &mut flushers);
    let end = explore_one(&mut room, chooser, &mut trail, |room, actor| {
        if !matches!(actor, Actor::Task(_)) {
            watch.looks(room.engine, room.device);
        }
        watch.wrong.is_none()
    });
    let mut state = DefaultHasher::new();
    let mut results: Vec<(usize, OpResult)> = room.results().to_vec();
    results.sort_unstable_by_key(|(nth, _)| *nth);
    for (nth, result) in results {
        watch.disturbed |= lost_something(result);
        (nth, result.pack()).hash(&mut state);
    }
    match end {
        End::Known => return None,
        End::Hangs => {
            let who = room.unfinished().join(", ");
            watch.wrong = Some(format!("these tasks wait for what nobody will do: {who}"));
        }
        End::Done | End::Stopped => {}
    }
    room.release();
    drop(room);
    engine.hold_everywhere(false);
    engine.hold_workers(false);
    if watch.wrong.is_none() {
        watch.finish(&engine, &mut sim, &armed, &mut flushers);
    }
    for (nth, bytes) in reads.borrow().iter() {
        (nth, bytes).hash(&mut state);
    }
    contents(scenario, &engine, &sim).hash(&mut state);
    Some(Ran { trail, end: state.finish(), wrong: watch.wrong })
}

/// Every file as a reader sees it, and as the device has it.
fn contents(scenario: &Scenario, engine: &Traceless, sim: &Sim) -> (Files, Files) {
    let files = || (0..scenario.files.len()).map(|at| FileId::new(at as u32));
    let seen = files().map(|file| peek_bytes(engine, sim, file)).collect();
    (seen, files().map(|file| sim.durable_bytes(engine, file)).collect())
}

/// Looks for what must not be.
struct Watch<'a> {
    scenario: &'a Scenario,
    allowed: Option<&'a Allowed>,
    reads: &'a Reads,
    /// Something failed with the device, which is a result: bytes may be lost.
    disturbed: bool,
    wrong: Option<String>,
}

impl<'a> Watch<'a> {
    const fn new(scenario: &'a Scenario, allowed: Option<&'a Allowed>, reads: &'a Reads) -> Self {
        Self { scenario, allowed, reads, disturbed: false, wrong: None }
    }
    /// After something reached the device, or its completion was recorded.
    fn looks(&mut self, engine: &Traceless, sim: &Sim) {
        let Some(allowed) = self.allowed.filter(|allowed| allowed.durable) else { return };
        for (at, file) in self.scenario.files.iter().enumerate() {
            if file.extents.is_some() && self.wrong.is_none() {
                let found = sim.durable_bytes(engine, FileId::new(at as u32));
                self.wrong = allowed.wrong_cut(at, &found);
            }
        }
    }
    /// What is in flight ends, and what flushers have begun.
    fn rest(&mut self, engine: &Traceless, sim: &mut Sim, flushers: &mut [BackgroundTask<'_>]) {
        let mut polls = Context::from_waker(Waker::noop());
        loop {
            let before = engine.progress();
            for flusher in &mut *flushers {
                // None of them ends.
                let _pending = flusher.as_mut().poll(&mut polls);
            }
            let mut goes_on = engine.progress() != before;
            while let Some(effect) = engine.poll_effect() {
                sim.start(engine, effect);
                goes_on = true;
            }
            if let Some(next) = Device::<Simulated<NoTrace>>::flights(sim).first() {
                sim.end(engine, next.number);
                engine.run_workers();
                self.looks(engine, sim);
            } else if !goes_on {
                return;
            }
        }
    }
    /// After the tasks: what was begun ends, main goes on, and everything is made durable.
    fn finish<'e>(
        &mut self,
        engine: &'e Traceless,
        sim: &mut Sim,
        armed: &RefCell<Armed>,
        flushers: &mut Vec<BackgroundTask<'e>>,
    ) {
        self.rest(engine, sim, flushers);
        settle(engine, sim);
        let (_, _, late) = self.scenario.parts();
        for nth in late {
            let reads = Some(self.reads);
            match alone(self.scenario, engine, sim, armed, flushers, (nth, reads)) {
                Ok(result) => self.disturbed |= lost_something(result),
                Err(_) => self.say(|| format!("operation {nth} waits for what nobody will do")),
            }
        }
        let broken = engine.counters().get(Counter::BrokenInvariants);
        if broken > 0 {
            self.say(|| format!("{broken} invariants were broken"));
        }
        if let Some((number, pos)) = engine.look(|world| world.broken_invariants().first().copied())
        {
            self.say(|| format!("invariant {} does not hold at {pos}", name(number)));
        }
        if !self.may_lose(engine) {
            self.compare(engine, sim);
            self.sync(engine, sim, flushers);
        }
    }
    /// Whether bytes may be lost: something fails on purpose, or a device that can fail by itself
    /// did.
    fn may_lose(&self, engine: &Traceless) -> bool {
        let Scenario { faults, free_blocks, zones, array, .. } = self.scenario;
        let by_itself = zones.is_some() || array.is_some();
        !faults.is_empty()
            || free_blocks.is_some()
            || by_itself && (self.disturbed || engine.look(World::any_write_failed))
    }
    fn say(&mut self, message: impl FnOnce() -> String) {
        if self.wrong.is_none() {
            self.wrong = Some(message());
        }
    }
    /// Compares what was read, and the end, with every order of the operations.
    fn compare(&mut self, engine: &Traceless, sim: &Sim) {
        let Some(allowed) = self.allowed else { return };
        let reads = self.reads.borrow();
        let wrong = reads.iter().find_map(|(nth, bytes)| allowed.wrong_read(nth, bytes));
        let end = || {
            let (seen, _) = contents(self.scenario, engine, sim);
            if !allowed.cut {
                return allowed.wrong_end(&seen);
            }
            seen.iter().enumerate().find_map(|(file, found)| allowed.wrong_cut(file, found))
        };
        if self.wrong.is_none() {
            self.wrong = wrong.or_else(end);
        }
    }
    /// A sync makes everything durable.
    fn sync(&mut self, engine: &Traceless, sim: &mut Sim, flushers: &mut [BackgroundTask<'_>]) {
        for at in 0..self.scenario.files.len() {
            let op = ScenarioOp { task: 0, file: FileId::new(at as u32), action: Action::Fsync };
            let synced = beside(perform(engine, op, Vec::new(), None), flushers);
            if drive(engine, sim, synced).is_err() {
                self.say(|| format!("a sync of file {at} waits for what nobody will do"));
            }
        }
        if self.may_lose(engine) {
            return;
        }
        let (seen, durable) = contents(self.scenario, engine, sim);
        let kept = self.scenario.files.iter().map(|file| file.fs != FileSystem::Memory);
        for (at, kept) in kept.enumerate() {
            if kept && seen[at] != durable[at] {
                self.say(|| {
                    format!("a sync leaves file {at} other on the device than in the cache")
                });
            }
        }
    }
}
