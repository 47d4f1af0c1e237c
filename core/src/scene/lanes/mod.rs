//! One file a lane: each draws the state of all runs in its own band and returns its height.

pub(super) mod bios;
pub(super) mod cache;
mod comb;
pub(super) mod device;
pub(super) mod file;
pub(super) mod history;
pub(super) mod left;
pub(super) mod mapping;
pub(super) mod marks;
pub(super) mod members;
pub(super) mod order;
pub(super) mod requests;
pub(super) mod returns;
pub(super) mod tally;

use super::fixed::{Fx, px};
use crate::sort::sort;

/// Most bios, requests or extents that are drawn one by one.
const MANY: usize = 120;

/// Parts of an axis as stretches that are alike and meet, two pixels wide at least; what falls into
/// the pixels of another is that, or makes it the more notable of both.
fn joined<T: Copy + Ord>(mut parts: Vec<(Fx, Fx, T)>) -> Vec<(Fx, Fx, T)> {
    sort(&mut parts);
    let mut found: Vec<(Fx, Fx, T)> = Vec::new();
    for (x0, x1, what) in parts {
        let x1 = x1.max(x0 + px(2));
        match found.last_mut() {
            Some(last) if x1 <= last.1 => last.2 = last.2.max(what),
            Some(last) if x0 <= last.1 && last.2 == what => last.1 = x1,
            last => {
                let clear = last.map_or(x0, |last| x0.max(last.1));
                found.push((clear, x1, what));
            }
        }
    }
    found
}
