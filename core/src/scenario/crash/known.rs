//! What is known of a scenario before it runs: which files may share blocks, a byte that nobody
//! writes, and whether all that the files were fits in memory.

use super::history::STALE;
use crate::scenario::{Action, MAX_HELD, Scenario};
use crate::units::{Bytes, Pos};

/// Which files may have blocks in common.
pub(super) struct Links {
    /// One for each file: it has blocks of another, or gets them, or gives some.
    linked: Vec<bool>,
    /// A block may be in one file twice.
    twice: bool,
}

impl Links {
    pub(super) fn of(scenario: &Scenario) -> Self {
        let mut linked: Vec<bool> = scenario.files.iter().map(|file| file.shared).collect();
        let mut twice = false;
        for op in &scenario.ops {
            if let Action::Reflink { source, .. } = op.action {
                linked[source.get() as usize] = true;
                linked[op.file.get() as usize] = true;
                twice = true;
            }
        }
        Self { linked, twice }
    }
    pub(super) fn may_share(&self, one: usize, other: usize) -> bool {
        self.linked[one] && self.linked[other] && (one != other || self.twice)
    }
}

/// Whether everything that the files were since their syncs fits in memory ([`MAX_HELD`]); if not,
/// a sentence.
pub fn check_histories(scenario: &Scenario) -> Result<(), String> {
    let mut sizes: Vec<Pos> = scenario.files.iter().map(|file| file.size).collect();
    let mut kept = vec![Bytes::ZERO; sizes.len()];
    for (at, op) in scenario.ops.iter().enumerate() {
        let file = op.file.get() as usize;
        match op.action {
            Action::Syncfs => kept.fill(Bytes::ZERO),
            Action::Fsync | Action::Fdatasync => kept[file] = Bytes::ZERO,
            Action::Pwrite { .. }
            | Action::MmapStore { .. }
            | Action::Truncate(_)
            | Action::Fallocate(..)
            | Action::Reflink { .. } => {
                sizes[file] = op.action.grows_to(sizes[file]);
                kept[file] += Bytes::new(sizes[file].get());
            }
            Action::Pread { .. }
            | Action::Fadvise(..)
            | Action::Reclaim(_)
            | Action::Sleep(_)
            | Action::MmapLoad(_)
            | Action::Msync(_)
            | Action::SyncRange(..)
            | Action::PowerCut(_)
            | Action::Array(_)
            | Action::Seek { .. } => {}
        }
        let all: Bytes = kept.iter().copied().sum();
        if all > MAX_HELD {
            return Err(format!(
                "what its files were after each operation since they were synced is kept, which is \
                 more than {MAX_HELD} at operation {}: sync them more often, make them smaller, or \
                 do less",
                at + 1
            ));
        }
    }
    Ok(())
}

/// A byte for what the device held before that neither the files nor the operations have.
pub(super) fn stale_byte(scenario: &Scenario) -> u8 {
    let mut used = [false; 256];
    for file in &scenario.files {
        used[usize::from(file.fill)] = true;
    }
    for op in &scenario.ops {
        if let Action::Pwrite { byte, .. } | Action::MmapStore { byte, .. } = op.action {
            used[usize::from(byte)] = true;
        }
    }
    used[0] = true;
    let free = |byte: &u8| !used[usize::from(*byte)];
    (STALE..=u8::MAX).chain(1..STALE).find(free).unwrap_or(STALE)
}
