//! The tasks of a run, and one move of one of them, of the device or of the worker.

use super::{Device, Flight};
use crate::engine::{BoxedOp, Engine};
use crate::ops::OpResult;
use crate::stops::Hold;
use crate::units::TaskId;
use crate::world::Env;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;

/// Who can move.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Actor {
    /// A task, by its place.
    Task(usize),
    /// The device ends what it knows by this number.
    Device(u64),
    /// The worker completes what ended.
    Worker,
}

/// Where a task is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stand {
    /// Between two operations, or before the first.
    Between,
    /// Held at a point.
    At(Hold),
    /// It waits for something.
    Blocked,
    /// It has done all its operations.
    Ended,
}

/// A task and its operations: the number of each, and what does it.
pub struct Task<'a> {
    /// Its name.
    pub name: String,
    /// Its number in the engine.
    pub id: TaskId,
    todo: VecDeque<(usize, BoxedOp<'a>)>,
    running: Option<(usize, BoxedOp<'a>)>,
    stand: Stand,
}

impl<'a> Task<'a> {
    /// A task that has not begun. Futures of the engine do nothing before they are polled.
    pub fn new(
        name: String,
        id: TaskId,
        ops: impl IntoIterator<Item = (usize, BoxedOp<'a>)>,
    ) -> Self {
        let todo: VecDeque<_> = ops.into_iter().collect();
        let stand = if todo.is_empty() { Stand::Ended } else { Stand::Between };
        Self { name, id, todo, running: None, stand }
    }
    /// Where it is.
    pub const fn stand(&self) -> Stand {
        self.stand
    }
}

/// Told the number of an operation before it goes on, to prepare the engine and the device.
pub type Before<'a, E, D> = Box<dyn FnMut(usize, &Engine<E>, &mut D) + 'a>;

/// Tasks, the engine that they run in, and its device.
pub struct Room<'a, E: Env, D> {
    /// The engine.
    pub engine: &'a Engine<E>,
    /// The device.
    pub device: &'a mut D,
    pub(super) tasks: Vec<Task<'a>>,
    results: Vec<(usize, OpResult)>,
    before: Option<Before<'a, E, D>>,
}

impl<'a, E: Env, D: Device<E>> Room<'a, E, D> {
    /// Tasks that have not begun.
    pub const fn new(engine: &'a Engine<E>, device: &'a mut D, tasks: Vec<Task<'a>>) -> Self {
        Self { engine, device, tasks, results: Vec::new(), before: None }
    }
    /// Has somebody told before an operation goes on.
    pub fn tell_before(&mut self, before: Before<'a, E, D>) {
        self.before = Some(before);
    }
    /// The tasks.
    pub fn tasks(&self) -> &[Task<'a>] {
        &self.tasks
    }
    /// Results of operations by their number, in the order in which they ended.
    pub fn results(&self) -> &[(usize, OpResult)] {
        &self.results
    }
    /// Whether every task has ended.
    pub fn has_ended(&self) -> bool {
        self.tasks.iter().all(|task| task.stand == Stand::Ended)
    }
    /// What the device has in flight.
    pub fn flights(&self) -> Vec<Flight> {
        self.device.flights()
    }
    /// Names of the tasks that have not ended.
    pub fn unfinished(&self) -> Vec<&str> {
        let left = self.tasks.iter().filter(|task| task.stand != Stand::Ended);
        left.map(|task| task.name.as_str()).collect()
    }
    /// Who could move, and how far that departs from the usual course: 1 where a task that could go
    /// on must stand back, and 1 for each thing in flight that is overtaken. Of tasks that wait
    /// nobody knows before they are tried.
    pub fn options(&self, last: Option<Actor>) -> Vec<(Actor, u32)> {
        let able = |at: usize| matches!(self.tasks[at].stand, Stand::Between | Stand::At(_));
        let last = last.filter(|last| matches!(last, Actor::Task(at) if able(*at)));
        let stands_back = u32::from(last.is_some());
        let mut all: Vec<(Actor, u32)> = last.iter().map(|last| (*last, 0)).collect();
        for (at, task) in self.tasks.iter().enumerate() {
            let actor = Actor::Task(at);
            if task.stand != Stand::Ended && last != Some(actor) {
                all.push((actor, stands_back));
            }
        }
        for (overtaken, flight) in self.flights().iter().enumerate() {
            all.push((Actor::Device(flight.number), stands_back + overtaken as u32));
        }
        if self.engine.has_work() {
            all.push((Actor::Worker, stands_back));
        }
        all
    }
    /// Lets one of them move; false if it cannot, and nothing was changed then.
    pub fn go(&mut self, actor: Actor) -> bool {
        match actor {
            Actor::Task(at) => self.run(at),
            Actor::Device(number) => {
                let ended = self.device.end(self.engine, number);
                self.drain();
                ended
            }
            Actor::Worker => {
                let any = self.engine.has_work();
                self.engine.work();
                self.drain();
                any
            }
        }
    }
    /// Lets a task run to its next point.
    fn run(&mut self, at: usize) -> bool {
        let task = &mut self.tasks[at];
        let before = self.engine.progress();
        let waits = task.stand == Stand::Blocked;
        self.engine.release(task.id);
        if task.running.is_none() {
            task.running = task.todo.pop_front();
        }
        let Some((op, future)) = &mut task.running else { return false };
        let op = *op;
        if let Some(before) = &mut self.before {
            before(op, self.engine, self.device);
        }
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        task.stand = match polled {
            Poll::Ready(result) => {
                task.running = None;
                self.results.push((op, result));
                if task.todo.is_empty() { Stand::Ended } else { Stand::Between }
            }
            Poll::Pending => self.engine.hold_of(task.id).map_or(Stand::Blocked, Stand::At),
        };
        let still = task.stand == Stand::Blocked;
        let sent = self.drain();
        !(waits && still) || sent || self.engine.progress() != before
    }
    /// Hands to the device what the engine asks for; whether that was anything.
    fn drain(&mut self) -> bool {
        let mut any = false;
        while let Some(effect) = self.engine.poll_effect() {
            self.device.start(self.engine, effect);
            any = true;
        }
        any
    }
}
