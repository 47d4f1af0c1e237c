//! What a guest's trace says of the request queue of its device.
//!
//! These rows name no program, so they count where they begin in a bio that the operation's own
//! program submitted for a file, or for a block of the file system's own that a mapping took.

use super::format::{folded, name, number, text};
use crate::conform::queue::QueueRows;
use serde_json::{Value, json};

/// Sectors that counted bios cover: first, and the one behind the last.
pub(super) type Covered = Vec<(u64, u64)>;

/// Adds an event row, if it is one of the queue's and begins in `covered`.
pub(super) fn push(rows: &mut QueueRows, row: &[Value], covered: &Covered) {
    let list = match name(row) {
        "D" => &mut rows.requests,
        "M" | "F" => &mut rows.merges,
        "X" => &mut rows.splits,
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
