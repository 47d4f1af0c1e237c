//! The tasks of a run, and one move of one of them, of the device, of the worker or of the time.

use super::{Device, Flight};
use crate::engine::{BoxedOp, Engine};
use crate::ops::OpResult;
use crate::stops::Hold;
use crate::units::TaskId;
use crate::world::Env;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;

/// How often time may pass while no application goes on and no I/O ends: then these are taken to
/// wait for what nobody will do, though a flusher that looks around wakes for ever.
const PATIENCE: u32 = 100_000;

/// Who can move.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Actor {
    /// A task, by its place.
    Task(usize),
    /// The device ends what it knows by this number.
    Device(u64),
    /// The worker completes what ended.
    Worker,
    /// Time passes up to the next moment at which somebody may go on.
    Clock,
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

/// Whose a task is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An application's: a run ends when all of these have.
    Application,
    /// It writes what is dirty, where there is a reason to, and never ends.
    Flusher,
    /// It takes memory back, or does not: nobody has to wait for it.
    Reclaim,
}

/// A task and its operations: the number of each, and what does it.
pub struct Task<'a> {
    /// Its name.
    pub name: String,
    /// Its number in the engine.
    pub id: TaskId,
    /// Whose it is.
    pub kind: Kind,
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
        Self { name, id, kind: Kind::Application, todo, running: None, stand }
    }
    /// A task of the background. A flusher waits from the start: nobody knows whether it has
    /// anything to do before it is tried.
    pub fn of_background(
        (name, id, kind): (String, TaskId, Kind),
        ops: impl IntoIterator<Item = BoxedOp<'a>>,
    ) -> Self {
        let ops = ops.into_iter().map(|op| (usize::MAX, op));
        let task = Self { kind, ..Self::new(name, id, ops) };
        if kind == Kind::Flusher { Self { stand: Stand::Blocked, ..task } } else { task }
    }
    /// Where it is.
    pub const fn stand(&self) -> Stand {
        self.stand
    }
    /// Whether it can go on for sure, and would go on if nobody chose another.
    fn goes_on(&self) -> bool {
        match self.stand {
            Stand::At(_) => true,
            Stand::Between => self.kind == Kind::Application,
            Stand::Blocked | Stand::Ended => false,
        }
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
    /// How often time has passed in vain.
    waited: u32,
}

impl<'a, E: Env, D: Device<E>> Room<'a, E, D> {
    /// Tasks that have not begun.
    pub const fn new(engine: &'a Engine<E>, device: &'a mut D, tasks: Vec<Task<'a>>) -> Self {
        Self { engine, device, tasks, results: Vec::new(), before: None, waited: 0 }
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
    /// Whether every application has ended.
    pub fn has_ended(&self) -> bool {
        self.left().next().is_none()
    }
    fn left(&self) -> impl Iterator<Item = &Task<'a>> {
        let left = |task: &&Task<'a>| task.kind == Kind::Application && task.stand != Stand::Ended;
        self.tasks.iter().filter(left)
    }
    /// What the device has in flight.
    pub fn flights(&self) -> Vec<Flight> {
        self.device.flights()
    }
    /// Names of the applications that have not ended.
    pub fn unfinished(&self) -> Vec<&str> {
        self.left().map(|task| task.name.as_str()).collect()
    }
    /// Who could move, and how far that departs from the usual course: 1 where a task that could go
    /// on must stand back, and 1 for each thing in flight, or moment, that is overtaken. Of tasks
    /// that wait nobody knows before they are tried. Time, which stands last, stands still while
    /// anybody can go on.
    pub fn options(&self, last: Option<Actor>) -> Vec<(Actor, u32)> {
        let last = last.filter(|last| matches!(last, Actor::Task(at) if self.tasks[*at].goes_on()));
        let stands_back = u32::from(last.is_some());
        let mut all: Vec<(Actor, u32)> = last.iter().map(|last| (*last, 0)).collect();
        for (at, task) in self.tasks.iter().enumerate() {
            let actor = Actor::Task(at);
            if task.stand != Stand::Ended && last != Some(actor) {
                all.push((actor, stands_back));
            }
        }
        let timer = self.engine.next_timer();
        let mut late = 0;
        for (overtaken, flight) in self.flights().iter().enumerate() {
            let early = timer.is_some_and(|timer| timer < flight.ends);
            late += u32::from(!early);
            let cost = stands_back + overtaken as u32 + u32::from(early);
            all.push((Actor::Device(flight.number), cost));
        }
        if self.engine.has_work() {
            all.push((Actor::Worker, stands_back));
        }
        if timer.is_some() {
            all.push((Actor::Clock, (stands_back + late).max(1)));
        }
        all
    }
    /// Lets one of them move; false if it cannot, and nothing was changed then.
    pub fn go(&mut self, actor: Actor) -> bool {
        let moved = match actor {
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
            Actor::Clock => self.pass(),
        };
        let of_use = match actor {
            Actor::Task(at) => self.tasks[at].kind == Kind::Application,
            Actor::Device(_) => true,
            Actor::Worker | Actor::Clock => false,
        };
        if moved && of_use {
            self.waited = 0;
        }
        moved
    }
    /// Lets time pass up to the next moment at which somebody may go on.
    fn pass(&mut self) -> bool {
        let Some(to) = self.engine.next_timer().filter(|_| self.waited < PATIENCE) else {
            return false;
        };
        self.waited += 1;
        self.device.pass(self.engine, to);
        self.drain();
        true
    }
    /// Nobody is held any more.
    pub fn release(&self) {
        self.tasks.iter().for_each(|task| self.engine.release(task.id));
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
        let of_application = task.kind == Kind::Application;
        if let Some(before) = self.before.as_mut().filter(|_| of_application) {
            before(op, self.engine, self.device);
        }
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        task.stand = match polled {
            Poll::Ready(result) => {
                task.running = None;
                if of_application {
                    self.results.push((op, result));
                }
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
