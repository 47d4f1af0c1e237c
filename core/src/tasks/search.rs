//! Every way in which tasks can follow each other, up to a bound (stateless model checking with a
//! bound on departures from the usual course), and one way by the dice.
//!
//! Nothing is left out below the bound: a choice is dropped only if the task could not move, which
//! leaves everything as it was. That time passes is the usual course where nobody else could move
//! at no cost.

use super::{Actor, Device, Room, Trail};
use crate::world::Env;

/// Chooses who moves next.
pub trait Chooser {
    /// These could move now, each with what it costs.
    fn offer(&mut self, options: Vec<(Actor, u32)>);
    /// One of them that was not refused; none: nobody is left to be tried.
    fn pick(&mut self) -> Option<Actor>;
    /// The one that was picked cannot move.
    fn refused(&mut self);
    /// The one that was picked has moved.
    fn moved(&mut self);
    /// Whether everybody who was offered was refused.
    fn all_refused(&self) -> bool;
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Every task has ended.
    Done,
    /// Somebody waits for what nobody will do.
    Hangs,
    /// It went where others had been: nothing new.
    Known,
    /// Whoever looked on had enough.
    Stopped,
}

/// Runs the tasks of a room to their end, as somebody chooses; `looks` is asked after every move
/// whether to go on.
pub fn explore_one<E: Env, D: Device<E>>(
    room: &mut Room<'_, E, D>,
    chooser: &mut impl Chooser,
    trail: &mut Trail,
    mut looks: impl FnMut(&Room<'_, E, D>, Actor) -> bool,
) -> End {
    let mut last = None;
    while !room.has_ended() {
        chooser.offer(room.options(last));
        let flights = room.flights();
        let actor = loop {
            let Some(actor) = chooser.pick() else {
                return if chooser.all_refused() { End::Hangs } else { End::Known };
            };
            if room.go(actor) {
                break actor;
            }
            chooser.refused();
        };
        chooser.moved();
        trail.note(room, actor, &flights);
        last = Some(actor);
        if !looks(room, actor) {
            return End::Stopped;
        }
    }
    End::Done
}

/// Choices at one moment.
struct Frame {
    options: Vec<(Actor, u32)>,
    chosen: usize,
}

impl Frame {
    /// Whether somebody but the time may move without a departure, as far as is known.
    fn has_usual(&self) -> bool {
        self.options.iter().any(|(actor, cost)| *actor != Actor::Clock && *cost == 0)
    }
}

/// Goes through every course that departs from the usual one no more than a bound.
pub struct Search {
    bound: u32,
    frames: Vec<Frame>,
    depth: usize,
    spent: u32,
}

impl Search {
    /// A search that has not begun.
    pub const fn new(bound: u32) -> Self {
        Self { bound, frames: Vec::new(), depth: 0, spent: 0 }
    }
    /// Goes on to the next course; false if there is none.
    pub fn next_course(&mut self) -> bool {
        (self.depth, self.spent) = (0, 0);
        while let Some(frame) = self.frames.last_mut() {
            frame.chosen += 1;
            if frame.chosen < frame.options.len() {
                return true;
            }
            self.frames.pop();
        }
        false
    }
    /// How far the course just run departed from the usual one.
    pub const fn spent(&self) -> u32 {
        self.spent
    }
}

impl Chooser for Search {
    fn offer(&mut self, options: Vec<(Actor, u32)>) {
        if self.depth == self.frames.len() {
            let left = self.bound - self.spent;
            let kept = |one: &(Actor, u32)| one.1 <= left || one.0 == Actor::Clock;
            let options = options.into_iter().filter(kept).collect();
            self.frames.push(Frame { options, chosen: 0 });
        }
    }
    fn pick(&mut self) -> Option<Actor> {
        let left = self.bound - self.spent;
        let frame = self.frames.get_mut(self.depth)?;
        let usual = frame.has_usual();
        let (actor, cost) = frame.options.get_mut(frame.chosen)?;
        if *actor == Actor::Clock && !usual {
            *cost = 0;
        }
        (*cost <= left).then_some(*actor)
    }
    fn refused(&mut self) {
        if let Some(frame) = self.frames.get_mut(self.depth) {
            frame.options.remove(frame.chosen);
        }
    }
    fn moved(&mut self) {
        let left = self.bound - self.spent;
        if let Some(frame) = self.frames.get_mut(self.depth) {
            let usual = frame.has_usual();
            frame.options.retain(|(actor, cost)| *actor != Actor::Clock || !usual || *cost <= left);
            self.spent += frame.options.get(frame.chosen).map_or(0, |one| one.1);
        }
        self.depth += 1;
    }
    fn all_refused(&self) -> bool {
        self.frames.get(self.depth).is_none_or(|frame| frame.options.is_empty())
    }
}

/// One course by the dice (splitmix64): the same seed throws the same everywhere.
pub struct Dice {
    state: u64,
    options: Vec<(Actor, u32)>,
    picked: usize,
}

impl Dice {
    /// Dice with a seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed, options: Vec::new(), picked: 0 }
    }
    const fn throw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

impl Chooser for Dice {
    fn offer(&mut self, options: Vec<(Actor, u32)>) {
        self.options = options;
    }
    fn pick(&mut self) -> Option<Actor> {
        let n = self.options.len() as u64;
        self.picked = self.throw().checked_rem(n)? as usize;
        self.options.get(self.picked).map(|(actor, _)| *actor)
    }
    fn refused(&mut self) {
        self.options.remove(self.picked);
    }
    fn moved(&mut self) {}
    fn all_refused(&self) -> bool {
        self.options.is_empty()
    }
}
