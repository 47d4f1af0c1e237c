//! A scenario file as a stream: whether it can be judged, and what is found.

use super::check::{Blind, Failure};
use super::simulated::replay_variant;
use crate::scenario::{Action, FileSystem, Scenario, Variant};
use crate::units::FileId;

/// What came of checking a scenario with one of its settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every operation did what it must.
    Agrees,
    /// One did not.
    Wrong(Failure),
    /// It cannot be judged as a whole, or from an operation on: why.
    Unjudged(String),
}

/// Runs the operations of a scenario one after another, and compares each with what it makes of
/// plain arrays of bytes.
pub fn judge(scenario: &Scenario, variant: &Variant) -> Verdict {
    if let Some(why) = unjudged(scenario.of(variant)) {
        return Verdict::Unjudged(why);
    }
    match replay_variant(scenario, variant) {
        Ok(None) => Verdict::Agrees,
        Ok(Some(Blind { at, why })) => {
            let before = if at == 0 { String::new() } else { format!(", {at} before it agree") };
            Verdict::Unjudged(format!("operation {}: {why}{before}", at + 1))
        }
        Err(failure) => Verdict::Wrong(failure),
    }
}

/// Why plain arrays of bytes say nothing about a scenario.
fn unjudged(scenario: &Scenario) -> Option<String> {
    let zoned = |file: &FileSystem| matches!(file, FileSystem::Zone(_));
    if scenario.zones.is_some() || scenario.files.iter().any(|file| zoned(&file.fs)) {
        return Some("a zone takes writes at its pointer only: see what `run` gives".to_owned());
    }
    if scenario.free_blocks.is_some() {
        let why = "which operation meets the end of the space (`free_blocks`) depends on what was \
                   reserved: see what `run` gives";
        return Some(why.to_owned());
    }
    if !scenario.keeps_bytes() {
        return Some("its array has lost more members than it can do without".to_owned());
    }
    let buffered = |file: FileId| scenario.files[file.get() as usize].driver.is_some();
    scenario.ops.iter().enumerate().find_map(|(at, op)| {
        let why = match op.action {
            Action::PowerCut(_) => "the power is cut: `crash` judges that",
            Action::Array(_) => "something is done to members of the array: see what `run` gives",
            Action::Reflink { source, .. } if buffered(op.file) || buffered(source) => {
                "a file that keeps its blocks in buffers shares none"
            }
            Action::Pread { .. }
            | Action::Pwrite { .. }
            | Action::Reflink { .. }
            | Action::Fadvise(..)
            | Action::Fsync
            | Action::Fdatasync
            | Action::Syncfs
            | Action::Reclaim(_)
            | Action::Sleep(_)
            | Action::MmapLoad(_)
            | Action::MmapStore { .. }
            | Action::Msync(_)
            | Action::SyncRange(..)
            | Action::Truncate(_)
            | Action::Fallocate(..)
            | Action::Seek { .. } => return None,
        };
        Some(format!("operation {}: {why}", at + 1))
    })
}
