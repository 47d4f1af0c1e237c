//! What the operations of a scenario may leave behind, whatever goes first: a plain array of bytes
//! for each file, and every order of whole operations that keeps the order of each task.

use super::{Action, FileSystem, Scenario, ScenarioOp, StartFile};
use crate::engine::{ReadFlags, WriteFlags};
use crate::geometry::Geometry;
use crate::ops::fallocate::FallocMode;
use crate::units::{FileRange, Pos};
use std::collections::{BTreeMap, BTreeSet};

/// Most orders that are gone through.
const MAX_ORDERS: usize = 20_000;
/// Most bytes of files that are copied on the way.
const MAX_COPIED: u64 = 16 << 30;

/// Contents of every file.
pub(super) type Files = Vec<Vec<u8>>;
/// A set of bytes.
type ByteSet = [u64; 4];

/// What is allowed.
pub(super) struct Allowed {
    /// Contents after everything, one for each order; those of operations at once.
    finals: BTreeSet<Files>,
    /// What each operation may read.
    reads: BTreeMap<usize, BTreeSet<Vec<u8>>>,
    /// Every value that a byte of a file ever has, at its place.
    ever: Vec<Vec<ByteSet>>,
    /// The order of whole operations is what counts; else bytes one by one.
    whole: bool,
    /// Where each file may have a hole after a power cut, though bytes were put there: from its
    /// size at the start up to the last place from which on a part of it is made durable, and
    /// with that a size.
    holes: Vec<core::ops::Range<usize>>,
    /// What a power cut leaves is checked, too.
    pub(super) durable: bool,
    /// The power goes in the end: what is left is less than any order gives.
    pub(super) cut: bool,
}

/// The files while an order is gone through.
struct Walk<'a> {
    scenario: &'a Scenario,
    allowed: Allowed,
    orders: usize,
}

/// Everything that is allowed; none: what the operations do depends on more than their order, or
/// there are too many orders, or an array has lost the bytes.
pub(super) fn allowed(scenario: &Scenario) -> Option<Allowed> {
    let (early, at_once, late) = scenario.parts();
    // After a power cut nobody can say what operations do.
    let last = late.last().copied().filter(|nth| *nth + 1 == scenario.ops.len());
    let is_cut = |op: &ScenarioOp| matches!(op.action, Action::PowerCut(_));
    let cut = last.filter(|nth| is_cut(&scenario.ops[*nth]));
    let plain = |(nth, op): (usize, &ScenarioOp)| {
        let file = &scenario.files[op.file.get() as usize];
        #[allow(clippy::wildcard_enum_match_arm, reason = "only these two have it")]
        let nowait = match op.action {
            Action::Pread { flags: ReadFlags { nowait, .. }, .. }
            | Action::Pwrite { flags: WriteFlags { nowait, .. }, .. } => nowait,
            _ => false,
        };
        let is_link = matches!(op.action, Action::Reflink { .. } | Action::Array(_));
        let understood = !nowait && !is_link && (!is_cut(op) || cut == Some(nth));
        file.fs == FileSystem::Extents && file.extents.is_some() && understood
    };
    let fails = !scenario.faults.is_empty() || scenario.may_fill();
    if fails || !scenario.keeps_bytes() || !scenario.ops.iter().enumerate().all(plain) {
        return None;
    }
    if !few_orders(scenario, &at_once) {
        return None;
    }
    let stores = scenario.ops.iter().any(|op| matches!(op.action, Action::MmapStore { .. }));
    let moves = |op: &ScenarioOp| {
        matches!(op.action, Action::Fallocate(FallocMode::Collapse | FallocMode::Insert, _))
    };
    let files: Files = scenario.files.iter().map(StartFile::bytes).collect();
    let allowed = Allowed {
        finals: BTreeSet::new(),
        reads: BTreeMap::new(),
        ever: vec![Vec::new(); files.len()],
        whole: !stores,
        holes: (0..).zip(&files).map(|(at, bytes)| holes(scenario, at, bytes.len())).collect(),
        durable: !scenario.ops.iter().any(moves),
        cut: cut.is_some(),
    };
    let mut walk = Walk { scenario, allowed, orders: 0 };
    let mut files = files;
    walk.see(&files);
    for nth in 0..early.len() {
        walk.apply(nth, &mut files);
    }
    let mut queues: Vec<Vec<usize>> = vec![Vec::new(); scenario.tasks.len()];
    for nth in at_once.into_iter().rev() {
        queues[scenario.ops[nth].task as usize].push(nth);
    }
    walk.orders(&mut queues, &files, &late).then_some(walk.allowed)
}

/// Where a file of `size` bytes at the start may have a hole after a power cut, though bytes were
/// put there: what lies before a part that is made durable may be dirty still.
fn holes(scenario: &Scenario, file: u32, size: usize) -> core::ops::Range<usize> {
    let mine = scenario.ops.iter().filter(|op| op.file.get() == file);
    let starts = mine.filter_map(|op| synced_part(&op.action));
    size..starts.max().map_or(size, |start| size.max(start.get() as usize))
}

/// Where the part begins that an operation makes durable.
#[allow(clippy::wildcard_enum_match_arm, reason = "only these do")]
fn synced_part(action: &Action) -> Option<Pos> {
    let (range, part) = match action {
        Action::SyncRange(range, _) | Action::Msync(range) => (range, true),
        Action::Pwrite { range, flags, .. } => (range, flags.dsync || flags.direct),
        Action::Pread { range, flags } => (range, flags.direct),
        _ => return None,
    };
    part.then(|| range.start())
}

/// Whether all orders can be gone through: how many there are, and how many bytes are copied on
/// the way.
fn few_orders(scenario: &Scenario, at_once: &[usize]) -> bool {
    let mut orders: u64 = 1;
    let mut of_task = vec![0; scenario.tasks.len()];
    for (done, nth) in (1..).zip(at_once) {
        // The multinomial coefficient, one factor at a time: each quotient is whole.
        let mine: &mut u64 = &mut of_task[scenario.ops[*nth].task as usize];
        *mine += 1;
        orders = orders.saturating_mul(done) / *mine;
        if orders > MAX_ORDERS as u64 {
            return false;
        }
    }
    let held: u64 = scenario.grown().iter().map(|size| size.get()).sum();
    let ops = scenario.ops.len() as u64;
    held.saturating_mul(ops).saturating_mul(orders) <= MAX_COPIED
}

impl Walk<'_> {
    /// Goes through every order of what is left; false if there are too many.
    fn orders(&mut self, queues: &mut [Vec<usize>], files: &Files, late: &[usize]) -> bool {
        let mut any = false;
        for task in 0..queues.len() {
            let Some(nth) = queues[task].pop() else { continue };
            any = true;
            let mut next = files.clone();
            self.apply(nth, &mut next);
            let few = self.orders(queues, &next, late);
            queues[task].push(nth);
            if !few {
                return false;
            }
        }
        if !any {
            let mut end = files.clone();
            for nth in late {
                self.apply(*nth, &mut end);
            }
            self.allowed.finals.insert(end);
            self.orders += 1;
        }
        self.orders <= MAX_ORDERS
    }
    fn apply(&mut self, nth: usize, files: &mut Files) {
        let ScenarioOp { file, action, .. } = self.scenario.ops[nth];
        let copies = matches!(action, Action::Fallocate(FallocMode::Unshare, _));
        if copies && self.scenario.files[file.get() as usize].driver.is_some() {
            // ext4 has no copies to make of what it shares.
            return;
        }
        let bytes = &mut files[file.get() as usize];
        let before = bytes.clone();
        if let Some(read) = act(self.scenario.geometry, action, bytes) {
            self.allowed.reads.entry(nth).or_default().insert(read);
        }
        if *bytes != before {
            self.see(files);
        }
    }
    fn see(&mut self, files: &Files) {
        for (ever, bytes) in self.allowed.ever.iter_mut().zip(files) {
            if ever.len() < bytes.len() {
                ever.resize(bytes.len(), ByteSet::default());
            }
            for (set, byte) in ever.iter_mut().zip(bytes) {
                set[usize::from(byte >> 6)] |= 1 << (byte & 63);
            }
        }
    }
}

fn span(range: FileRange, len: usize) -> core::ops::Range<usize> {
    let end = (range.end().get() as usize).min(len);
    (range.start().get() as usize).min(end)..end
}

/// Does what an operation says to an array of bytes; what it reads.
fn act(geometry: Geometry, action: Action, bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    match action {
        Action::Pread { range, .. } | Action::MmapLoad(range) => {
            return Some(bytes[span(range, bytes.len())].to_vec());
        }
        Action::Pwrite { range, byte, .. } => {
            if !range.is_empty() {
                let end = range.end().get() as usize;
                bytes.resize(bytes.len().max(end), 0);
                bytes[span(range, end)].fill(byte);
            }
        }
        Action::MmapStore { range, byte } => {
            let place = span(range, bytes.len());
            bytes[place].fill(byte);
        }
        Action::Truncate(size) => bytes.resize(size.get() as usize, 0),
        Action::Fallocate(mode, range) => reshape(geometry, bytes, mode, range),
        // Scenarios that link files are not judged; that lose power, up to there.
        Action::Reflink { .. }
        | Action::PowerCut(_)
        | Action::Array(_)
        | Action::Sleep(_)
        | Action::Fadvise(..)
        | Action::Fsync
        | Action::Fdatasync
        | Action::Syncfs
        | Action::Reclaim(_)
        | Action::Msync(_)
        | Action::SyncRange(..)
        | Action::Seek { .. } => {}
    }
    None
}

fn reshape(geometry: Geometry, bytes: &mut Vec<u8>, mode: FallocMode, range: FileRange) {
    let grows = matches!(mode, FallocMode::Allocate | FallocMode::Zero | FallocMode::Unshare);
    let zeroes = matches!(mode, FallocMode::Punch | FallocMode::Zero | FallocMode::ZeroKeepSize);
    let aligned = geometry.block_range(range) == range;
    let size = Pos::new(bytes.len() as u64);
    if range.is_empty() {
        return;
    }
    if zeroes {
        let place = span(range, bytes.len());
        bytes[place].fill(0);
    }
    if grows && range.end() > size {
        bytes.resize(range.end().get() as usize, 0);
    }
    if mode == FallocMode::Collapse && aligned && range.end() < size {
        drop(bytes.drain(span(range, bytes.len())));
    }
    if mode == FallocMode::Insert && aligned && range.start() < size {
        let at = range.start().get() as usize;
        bytes.splice(at..at, vec![0; range.len().get() as usize]);
    }
}

/// The first place at which no array of a set has the byte that was found; lengths count, too.
fn stranger(found: &[u8], all: &[&[u8]]) -> Option<usize> {
    if !all.iter().any(|other| other.len() == found.len()) {
        return Some(found.len());
    }
    let known = |at: &usize| all.iter().any(|other| other.get(*at) == found.get(*at));
    (0..found.len()).find(|at| !known(at))
}

impl Allowed {
    /// What is wrong with the contents of all files after everything.
    pub(super) fn wrong_end(&self, found: &Files) -> Option<String> {
        if self.finals.contains(found) {
            return None;
        }
        for (file, bytes) in found.iter().enumerate() {
            let all: Vec<&[u8]> = self.finals.iter().map(|files| files[file].as_slice()).collect();
            if let Some(at) = stranger(bytes, &all) {
                return Some(told(bytes, at, &format!("at the end file {file} has")));
            }
        }
        self.whole.then(|| {
            "at the end the files have bytes that no order of the operations gives".to_owned()
        })
    }
    /// What is wrong with what an operation read.
    pub(super) fn wrong_read(&self, nth: usize, found: &[u8]) -> Option<String> {
        let all = self.reads.get(&nth)?;
        if all.contains(found) {
            return None;
        }
        let what = format!("operation {nth} read");
        let each: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
        if let Some(at) = stranger(found, &each) {
            return Some(told(found, at, &what));
        }
        self.whole.then(|| format!("{what} bytes that no order of the operations gives"))
    }
    /// What is wrong with what a power cut now would leave of a file.
    pub(super) fn wrong_cut(&self, file: usize, found: &[u8]) -> Option<String> {
        let ever = &self.ever[file];
        let known = |at: usize, byte: u8| {
            if byte == 0 && self.holes[file].contains(&at) {
                return true;
            }
            let set = ever.get(at);
            set.is_some_and(|set| set[usize::from(byte >> 6)] & 1 << (byte & 63) != 0)
        };
        let at = found.iter().enumerate().position(|(at, byte)| !known(at, *byte))?;
        Some(told(found, at, &format!("after a power cut now file {file} would have")))
    }
}

fn told(found: &[u8], at: usize, what: &str) -> String {
    match found.get(at) {
        Some(byte) => {
            let same = found[at..].iter().take_while(|other| *other == byte).count();
            format!("{what} {byte:#04x} from byte {at} on ({same} bytes), which no order gives")
        }
        None => format!("{what} {at} bytes, which no order gives"),
    }
}
