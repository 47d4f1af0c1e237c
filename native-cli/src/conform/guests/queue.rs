//! What happened in the request queue of a guest's device: requests issued, bios merged and bios
//! split, as rows of sectors.
//!
//! These rows name no program, so they count where they begin in a bio that the operation's own
//! program submitted for a file, or for a block of the file system's own that a mapping took.

use super::format::{folded, name, number, text};
use serde_json::{Value, json};

/// Rows of one operation, by kind.
#[derive(Default)]
pub(super) struct QueueRows {
    pub(super) requests: Vec<Value>,
    pub(super) merges: Vec<Value>,
    pub(super) splits: Vec<Value>,
}

/// Sectors that counted bios cover: first, and the one behind the last.
pub(super) type Covered = Vec<(u64, u64)>;

impl QueueRows {
    /// Adds an event row, if it is one of these and begins in `covered`.
    pub(super) fn push(&mut self, row: &[Value], covered: &Covered) {
        let list = match name(row) {
            "D" => &mut self.requests,
            "M" | "F" => &mut self.merges,
            "X" => &mut self.splits,
            _ => return,
        };
        let (Some(sector), Some(second)) = (number(row, 3), number(row, 4)) else { return };
        // A flush carries nothing.
        if second == 0 {
            return;
        }
        let split = name(row) == "X";
        let step = if split { second.saturating_sub(sector) } else { second };
        for nth in 0..folded(row) {
            let at = sector + nth * step;
            if !covered.iter().any(|(start, end)| (*start..*end).contains(&at)) {
                continue;
            }
            let rw = text(row, 2);
            list.push(match name(row) {
                "D" => json!([rw, at, second]),
                "X" => json!([rw, at, second + nth * step]),
                how => json!([how, rw, at, second]),
            });
        }
    }
}
