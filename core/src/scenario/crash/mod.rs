//! The power is cut at every step of a run, and what is left is looked at.
//!
//! What a cut may leave changes only where a bio is sent or ends, a flush ends, a record is made or
//! an operation begins or ends; at each such moment many states are drawn: how many records beyond
//! those that are durable for sure, and for each sector that is not which of its versions. A state
//! of an earlier step with the same device and fewer records is among those of a later one, so that
//! looking there is looking after every step.

mod generate;
mod history;
mod known;
mod state;

use super::armed::Armed;
use super::order::flushers;
use super::perform::perform;
use super::run::Simulation;
use super::{Action, FileSystem, Scenario, Variant};
use crate::behaviour::ZeroFlush;
use crate::device::array::ArrayAct;
use crate::device::sim::Sim;
use crate::device::store::Store;
use crate::device::volatile::{Everything, Nothing};
use crate::engine::{Engine, Host, Stuck, beside, drive, settle};
use crate::errno::Errno;
use crate::power::Sectors;
use crate::scenario::random::Random;
use crate::trace::sink::NoTrace;
use crate::units::{Bytes, FileId, Pos};
use crate::world::{Effect, Env};
pub use generate::generate;
pub use history::Wrong;
use history::{History, durable_by};
pub use known::check_histories;
use known::{Links, stale_byte};

/// How thoroughly to look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thoroughness {
    /// Every so many moments are looked at: 1 is all of them.
    pub every: u64,
    /// States that are drawn at each of them.
    pub states: u32,
    /// Of so many states one is mounted by an engine and read through it.
    pub mount_every: u32,
    /// Where the drawing begins.
    pub seed: u64,
    /// Records wait for the data that they speak of, as a log sees to. Without it the look must
    /// find something: that tests the look.
    pub data_first: bool,
}

/// What was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Looked {
    /// Moments at which what a cut may leave had changed.
    pub passed: u64,
    /// Those of them that were looked at.
    pub moments: u64,
    /// States that were looked at.
    pub states: u64,
    /// Of these, states that were mounted and read.
    pub mounted: u64,
    /// Sectors that could be one thing or another, in all.
    pub sectors: u64,
}

impl core::ops::AddAssign for Looked {
    fn add_assign(&mut self, more: Self) {
        self.passed += more.passed;
        self.moments += more.moments;
        self.states += more.states;
        self.mounted += more.mounted;
        self.sectors += more.sectors;
    }
}

/// A state in which something is wrong.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "at moment {moment}, in operation {op}, with {records} of {all} open records (state {state}): \
     file {file:?}: {what}"
)]
pub struct Found {
    /// Which moment, from 0.
    pub moment: u64,
    /// The operation that ran or was next, from 0.
    pub op: usize,
    /// The records beyond those that were durable for sure, of how many.
    pub records: usize,
    /// How many there were.
    pub all: usize,
    /// Which of the states drawn at this moment.
    pub state: u32,
    /// The file.
    pub file: String,
    /// What is wrong there, in words.
    pub what: String,
    /// The same, where it is about bytes.
    pub wrong: Option<Wrong>,
}

/// Why a sweep ended early.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failed {
    /// A state is not as it should be.
    #[error(transparent)]
    Found(#[from] Box<Found>),
    /// There is nothing to look at.
    #[error("its array has lost more members than it can do without")]
    Gone,
    /// The run never ended.
    #[error("operation {0}: {1}")]
    Stuck(usize, Stuck),
}

/// Runs a scenario and looks at what a power cut would leave, all the way.
pub fn sweep(scenario: &Scenario, variant: &Variant, how: Thoroughness) -> Result<Looked, Failed> {
    let (scenario, variant) = (scenario.of(variant), &Variant { own: None, ..variant.clone() });
    if !scenario.keeps_bytes() {
        return Err(Failed::Gone);
    }
    let stale = stale_byte(scenario);
    let Simulation { engine, mut sim } =
        Simulation::with_store(scenario, variant, NoTrace, Store::stale(stale));
    sim.track_power();
    engine.track_records();
    let contents = |at| sim.durable_bytes(&engine, FileId::new(at as u32));
    let files = (0..scenario.files.len()).map(|at| History::new(contents(at), stale)).collect();
    let links = Links::of(scenario);
    let watch = Watch { scenario, variant, how, files, links, stale, op: 0 };
    let mut host = Watching { sim, watch, looked: Looked::default(), seen: None, found: None };
    let mut armed = Armed::new(scenario);
    let mut background = flushers(scenario, &engine);
    let mut failed = scenario.array_failed;
    for (at, op) in scenario.ops.iter().enumerate() {
        host.watch.op = at;
        host.watch.begin(op.file, &op.action);
        host.look(&engine);
        if let Action::PowerCut(_) = op.action {
            break;
        }
        if let Action::Array(act) = op.action {
            if let ArrayAct::Fail(member) = act {
                failed = failed.with(member);
                // Bytes that nobody has any more are nothing to look at.
                if scenario.array.is_some_and(|array| failed.count() > array.tolerates()) {
                    break;
                }
            }
            host.sim.act(&engine, act);
            host.look(&engine);
            continue;
        }
        armed.arm(at, &engine, &mut host.sim);
        let bad_memory = armed.user(at);
        let spoils = !bad_memory.is_empty();
        let performed = beside(perform(&engine, *op, bad_memory, None), &mut background);
        let result = drive(&engine, &mut host, performed);
        let result = result.map_err(|stuck| Failed::Stuck(at, stuck))?;
        host.look(&engine);
        host.watch.end(op.file, &op.action, result.0, spoils);
        host.look(&engine);
    }
    settle(&engine, &mut host);
    host.look(&engine);
    match host.found {
        Some(found) => Err(Failed::Found(found)),
        None => Ok(host.looked),
    }
}

/// What is known of the run besides the device.
struct Watch<'a> {
    scenario: &'a Scenario,
    variant: &'a Variant,
    how: Thoroughness,
    files: Vec<History>,
    links: Links,
    /// What the device held before.
    stale: u8,
    op: usize,
}

impl Watch<'_> {
    fn begin(&mut self, file: FileId, action: &Action) {
        let block = self.scenario.geometry.block_size().get();
        let keeps = self.variant.behaviours.zero_flush != ZeroFlush::Never;
        let mine = file.get() as usize;
        self.files[mine].begin(action, block, keeps);
        if let Action::Reflink { source, from, range } = *action {
            let source = source.get() as usize;
            self.links.add(source, mine);
            let given = self.files[source].given(from, range.len());
            self.files[mine].link(range.start(), given);
        }
        let changes = matches!(
            action,
            Action::Pwrite { .. }
                | Action::MmapStore { .. }
                | Action::Truncate(_)
                | Action::Fallocate(..)
                | Action::Reflink { .. }
        );
        if changes {
            for other in 0..self.files.len() {
                if self.links.may_share(mine, other) {
                    self.files[other].shared_with(action);
                }
            }
        }
    }
    /// An operation ended; `spoils`: the memory that it was given was bad.
    fn end(&mut self, file: FileId, action: &Action, result: Result<Bytes, Errno>, spoils: bool) {
        let done = result.ok();
        if spoils {
            self.files[file.get() as usize].spoiled();
        }
        let all = matches!(action, Action::Syncfs);
        for (at, history) in self.files.iter_mut().enumerate() {
            let mine = at == file.get() as usize;
            match (done, durable_by(action, done.unwrap_or(Bytes::ZERO))) {
                (None, Some(_)) if mine || all => history.failed(true),
                (None, None) if mine => history.gave_up(action, result.err()),
                (Some(done), None) if mine => history.done(action, done),
                (Some(_), Some(range)) if mine || all => {
                    if range.start() == Pos::ZERO && range.end() > Pos::new(1 << 60) {
                        history.synced();
                    } else {
                        history.range_synced(range);
                    }
                }
                (Some(_) | None, _) => {}
            }
        }
    }
    /// Whether a device keeps a file; one in memory is gone with the power.
    fn kept(&self, file: usize) -> bool {
        self.scenario.files[file].fs != FileSystem::Memory
    }
    /// Whether the file system of a file orders no data before its records.
    fn exposes(&self, file: usize) -> bool {
        self.scenario.files[file].fs == FileSystem::Ext2
    }
}

/// A simulated device at whose every move somebody looks what would be left of it.
struct Watching<'a> {
    sim: Sim,
    watch: Watch<'a>,
    looked: Looked,
    /// What there was to see the last time.
    seen: Option<[u64; 4]>,
    found: Option<Box<Found>>,
}

impl<E: Env> Host<E> for Watching<'_> {
    fn start(&mut self, engine: &Engine<E>, effect: Effect) {
        self.sim.start(engine, effect);
        self.look(engine);
    }
    fn wait(&mut self, engine: &Engine<E>) -> bool {
        self.look(engine);
        let moved = self.sim.wait(engine);
        self.look(engine);
        moved
    }
}

impl Watching<'_> {
    /// Looks at many states, if anything changed since the last time.
    fn look<E: Env>(&mut self, engine: &Engine<E>) {
        let files = self.watch.files.iter().map(|file| file.version).sum();
        let now = engine.look(|world| {
            let journal = world.journal();
            [self.sim.power_version(), journal.all(), journal.log().len() as u64, files]
        });
        if self.found.is_some() || self.seen == Some(now) {
            return;
        }
        self.seen = Some(now);
        self.looked.passed += 1;
        if !(self.looked.passed - 1).is_multiple_of(self.watch.how.every) {
            return;
        }
        let (durable, log) = engine.look(|world| {
            let journal = world.journal();
            (journal.durable().to_vec(), journal.log().to_vec())
        });
        let remains = self.sim.remains();
        // The records as each of these transactions leaves them.
        let mut images = vec![durable];
        for commit in &log {
            let mut next = images.last().expect("one at least").clone();
            next[commit.file.get() as usize].apply(&commit.change);
            images.push(next);
        }
        let floors: Vec<u64> = core::iter::once(0)
            .chain(log.iter().scan(0, |most, commit| {
                *most = commit.after.max(*most);
                Some(*most)
            }))
            .collect();
        self.looked.sectors += remains.sectors() as u64;
        for state in 0..self.watch.how.states {
            let moment = self.looked.moments;
            let mut random =
                Random::new(self.watch.how.seed ^ moment << 20 ^ u64::from(state) << 1);
            let records = match state {
                0 => 0,
                1 | 2 => log.len(),
                _ => random.below(log.len() as u64 + 1) as usize,
            };
            let floor = if self.watch.how.data_first { floors[records] } else { 0 };
            let left = match state {
                0 | 2 => remains.draw(floor, &mut Nothing),
                1 => remains.draw(floor, &mut Everything),
                _ => remains.draw(floor, &mut Sectors::new(&mut random)),
            };
            let mounts = state % self.watch.how.mount_every == 0;
            let images = self.watch.at_pointers(&images[records], left.zoned.as_ref());
            let result = self.watch.check(&images, &left, mounts);
            self.looked.states += 1;
            self.looked.mounted += u64::from(mounts);
            if let Err((file, what, wrong)) = result {
                let file = self.watch.scenario.files[file].name.clone();
                let (op, all) = (self.watch.op, log.len());
                self.found =
                    Some(Box::new(Found { moment, op, records, all, state, file, what, wrong }));
                return;
            }
        }
        self.looked.moments += 1;
    }
}
