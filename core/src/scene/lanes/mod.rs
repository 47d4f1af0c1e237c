//! One file a lane: each draws the state of all runs in its own band and returns its height.

pub(super) mod bios;
pub(super) mod cache;
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
