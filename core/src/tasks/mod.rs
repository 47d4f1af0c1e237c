//! Several tasks at once, and who goes next: by a schedule, by a seed, or every way there is.
//!
//! A task runs until it comes to a point where it can be held ([`crate::stops`]), must wait, or
//! ends an operation. There somebody chooses who moves next: a task, the device, which ends one
//! thing that it has in flight, the worker that completes what ended, or the time. The flusher and
//! `kswapd`, where there are any, are tasks like others, but nobody waits for their end. A schedule
//! names these choices as (task, point, which time), never as a count of polls, so that it outlives
//! changes of the engine.
//!
//! Each run starts from nothing: nothing is copied or undone, a choice is tried by running again.

mod follow;
mod point;
mod room;
mod search;
mod trail;

pub use follow::{Hangs, follow};
pub use point::{CLOCK, DEVICE, FLUSHER, KSWAPD, Point, Step, WORKER, flusher_name};
pub use room::{Actor, Before, Kind, Room, Stand, Task};
pub use search::{Chooser, Dice, End, Search, explore_one};
pub use trail::Trail;

use crate::engine::{Engine, Host};
use crate::units::{FileRange, Pos, TaskId, Time};
use crate::world::Env;

/// Something that a device has in flight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flight {
    /// What the device knows it by.
    pub number: u64,
    /// It is a flush, and no bio.
    pub flush: bool,
    /// The bytes of files that its bios hold; none for the file system's own.
    pub ranges: Vec<FileRange>,
    /// When it would end by itself.
    pub ends: Time,
}

/// The task that takes memory back.
pub const KSWAPD_TASK: TaskId = TaskId::new(999);

impl Flight {
    /// Whether it holds this byte of a file.
    pub fn covers(&self, at: Pos) -> bool {
        self.ranges.iter().any(|range| range.start() <= at && at < range.end())
    }
}

/// A device that ends what it has in flight in the order that somebody else chooses.
pub trait Device<E: Env>: Host<E> {
    /// What is in flight, in the order in which it would end by itself.
    fn flights(&self) -> Vec<Flight>;
    /// Ends one of them; false if there is no such.
    fn end(&mut self, engine: &Engine<E>, number: u64) -> bool;
    /// Time passes, and nothing ends.
    fn pass(&mut self, engine: &Engine<E>, to: Time);
}
