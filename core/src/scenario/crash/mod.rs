//! The power is cut at every step of a run, and what is left is looked at.
//!
//! What a cut may leave changes only where a bio is sent or ends, a flush ends, a record is made or
//! an operation begins or ends; at each such moment many states are drawn: how many records beyond
//! those that are durable for sure, and for each sector that is not which of its versions. A state
//! of an earlier step with the same device and fewer records is among those of a later one, so that
//! looking there is looking after every step.

mod generate;
mod history;

use super::armed::Armed;
use super::perform::perform;
use super::run::Simulation;
use super::{Action, FileSystem, Scenario, StartFile, Variant};
use crate::check::invariants::name;
use crate::device::sim::{Sim, Timing};
use crate::device::store::Store;
use crate::device::volatile::{Everything, Nothing};
use crate::engine::{Engine, Host, Stuck, drive, settle};
use crate::fs::extent_map::Extent;
use crate::iomap::MapType;
use crate::journal::Image;
use crate::power::Sectors;
use crate::scenario::random::Random;
use crate::trace::sink::NoTrace;
use crate::units::{Bytes, DevAddr, FileId, Pos};
use crate::world::{Effect, Env};
pub use generate::generate;
pub use history::Wrong;
use history::{History, STALE, durable_by};
use std::collections::BTreeSet;

/// How thoroughly to look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thoroughness {
    /// States that are drawn at each moment.
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
    /// The run never ended.
    #[error("operation {0}: {1}")]
    Stuck(usize, Stuck),
}

/// Runs a scenario and looks at what a power cut would leave, all the way.
pub fn sweep(scenario: &Scenario, variant: &Variant, how: Thoroughness) -> Result<Looked, Failed> {
    let (scenario, variant) = (scenario.of(variant), &Variant { own: None, ..variant.clone() });
    let Simulation { engine, mut sim } =
        Simulation::with_store(scenario, variant, NoTrace, Store::stale(STALE));
    sim.track_power();
    engine.track_records();
    let contents = |at| sim.durable_bytes(&engine, FileId::new(at as u32));
    let files = (0..scenario.files.len()).map(|at| History::new(contents(at))).collect();
    let watch = Watch { scenario, variant, how, files, op: 0 };
    let mut host = Watching { sim, watch, looked: Looked::default(), seen: None, found: None };
    let mut armed = Armed::new(scenario);
    for (at, op) in scenario.ops.iter().enumerate() {
        host.watch.op = at;
        host.watch.begin(op.file, &op.action);
        host.look(&engine);
        if let Action::PowerCut(_) = op.action {
            break;
        }
        if let Action::Array(act) = op.action {
            host.sim.act(&engine, act);
            host.look(&engine);
            continue;
        }
        armed.arm(at, &engine, &mut host.sim);
        let result = drive(&engine, &mut host, perform(&engine, *op, armed.user(at), None));
        let result = result.map_err(|stuck| Failed::Stuck(at, stuck))?;
        host.look(&engine);
        host.watch.end(op.file, &op.action, result.0.ok());
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
    op: usize,
}

impl Watch<'_> {
    fn begin(&mut self, file: FileId, action: &Action) {
        let block = self.scenario.geometry.block_size().get();
        self.files[file.get() as usize].begin(action, block);
    }
    fn end(&mut self, file: FileId, action: &Action, done: Option<Bytes>) {
        let all = matches!(action, Action::Syncfs);
        for (at, history) in self.files.iter_mut().enumerate() {
            let mine = at == file.get() as usize;
            match (done, durable_by(action, done.unwrap_or(Bytes::ZERO))) {
                (None, Some(_)) if mine || all => history.failed(true),
                (None, None) if mine => {
                    history.failed(false);
                    history.lose_track_after(action);
                }
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
        let (durable, log, next) = engine.look(|world| {
            let journal = world.journal();
            (journal.durable().to_vec(), journal.log().to_vec(), journal.all())
        });
        let now = [self.sim.power_version(), next, log.len() as u64, files];
        if self.found.is_some() || self.seen == Some(now) {
            return;
        }
        self.seen = Some(now);
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
            let medium = match state {
                0 | 2 => remains.draw(floor, &mut Nothing),
                1 => remains.draw(floor, &mut Everything),
                _ => remains.draw(floor, &mut Sectors::new(&mut random)),
            };
            let mounts = state % self.watch.how.mount_every == 0;
            let result = self.watch.check(&images[records], &medium, mounts);
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

/// What is wrong, with which file.
type Problem = (usize, String, Option<Wrong>);

impl Watch<'_> {
    fn check(&self, images: &[Image], medium: &Store, mounts: bool) -> Result<(), Problem> {
        self.check_space(images)?;
        let contents: Vec<Vec<u8>> =
            (0..images.len()).map(|file| self.content(&images[file], file, medium)).collect();
        for (file, content) in contents.iter().enumerate() {
            self.files[file].look(content, self.exposes(file)).map_err(|wrong| {
                let what = match wrong {
                    Wrong::Size(size) => format!("it has {size} bytes, as it never had"),
                    Wrong::Stale(pos) => format!("byte {pos} is what the device held before"),
                    Wrong::Byte(pos, byte) => format!("byte {pos} is {byte}, as it never was"),
                };
                (file, what, Some(wrong))
            })?;
        }
        if mounts { self.check_mounted(images, medium, &contents) } else { Ok(()) }
    }
    /// The bytes of a file as its records and the medium give them.
    fn content(&self, image: &Image, file: usize, medium: &Store) -> Vec<u8> {
        let mut out = vec![0; image.size.get() as usize];
        if self.scenario.files[file].extents.is_none() {
            medium.read(DevAddr::ZERO + self.scenario.partition, &mut out);
            return out;
        }
        let geometry = self.scenario.geometry;
        for (at, extent) in &image.data {
            let start = geometry.block_offset(at).get() as usize;
            let len = geometry.blocks_bytes(extent.len).get() as usize;
            let end = (start + len).min(out.len());
            if let (MapType::Mapped, Some(addr)) = (extent.state, extent.addr)
                && start < end
            {
                medium.read(addr + self.scenario.partition, &mut out[start..end]);
            }
        }
        out
    }
    /// No two blocks of files lie in one place, unless they share it.
    fn check_space(&self, images: &[Image]) -> Result<(), Problem> {
        let geometry = self.scenario.geometry;
        let mut places: Vec<(DevAddr, DevAddr, usize)> = Vec::new();
        for (file, image) in images.iter().enumerate() {
            for extent in image.data.values() {
                if let Some(addr) = extent.addr {
                    places.push((addr, addr + geometry.blocks_bytes(extent.len), file));
                }
            }
        }
        places.sort_unstable();
        for pair in places.windows(2) {
            let [(_, end, first), (start, _, second)] = pair else { continue };
            let sharing = self.scenario.files[*first].shared && self.scenario.files[*second].shared;
            if start < end && !(first != second && sharing) {
                let what = format!("sector {} is in use twice", start.sector_floor());
                return Err((*second, what, None));
            }
        }
        Ok(())
    }
    /// A fresh engine on these records gives these bytes, counts the space that they take, and goes
    /// on from there.
    fn check_mounted(
        &self,
        images: &[Image],
        medium: &Store,
        contents: &[Vec<u8>],
    ) -> Result<(), Problem> {
        let calm = Scenario { device: Timing::Ram, ..self.scenario.clone() };
        let Simulation { engine, mut sim } =
            Simulation::with_store(&calm, self.variant, NoTrace, Store::stale(STALE));
        sim.set_bytes(medium.clone());
        for (file, image) in images.iter().enumerate() {
            engine.mount(FileId::new(file as u32), image);
        }
        for (file, content) in contents.iter().enumerate() {
            let id = FileId::new(file as u32);
            let mut bytes = vec![0; content.len() + 1];
            let mut dest = bytes.as_mut_slice();
            let flags = crate::engine::ReadFlags::default();
            let op = engine.pread(crate::units::TaskId::new(1), id, Pos::ZERO, &mut dest, flags);
            let read = drive(&engine, &mut sim, op).map(|read| read.0);
            let wrong = |what: String| (file, what, None);
            if read != Ok(Ok(Bytes::new(content.len() as u64))) {
                return Err(wrong(format!("a read after the mount gives {read:?}")));
            }
            bytes.truncate(content.len());
            if let Some(at) = bytes.iter().zip(content).position(|(one, other)| one != other) {
                return Err(wrong(format!("byte {at} is another after the mount")));
            }
        }
        let broken = engine.look(crate::world::World::broken_invariants);
        if let Some((number, pos)) = broken.first() {
            return Err((0, format!("invariant {} is broken at {pos}", name(*number)), None));
        }
        let taken = engine.look(crate::world::World::space_taken);
        let counted = self.space_of(images);
        let listed = |file: &StartFile| file.fs == FileSystem::Extents && file.extents.is_some();
        if self.scenario.files.iter().all(listed) && taken != counted {
            return Err((0, format!("{taken} are taken, and files have {counted}"), None));
        }
        Ok(())
    }
    /// Bytes of the device that these records speak of, each once.
    fn space_of(&self, images: &[Image]) -> Bytes {
        let block = self.scenario.geometry.block_size();
        let mut blocks: BTreeSet<u64> = BTreeSet::new();
        let all = images.iter().flat_map(|image| image.data.values());
        for Extent { len, addr, .. } in all.copied() {
            let Some(addr) = addr else { continue };
            for n in 0..len.get() {
                blocks.insert(addr.get() / block.get() + n);
            }
        }
        self.scenario.geometry.blocks_bytes(crate::units::Blocks::new(blocks.len() as u64))
    }
}
