//! Runs tasks as a schedule says: each step lets one of them run until it is where the step says,
//! must wait, or has ended.
//!
//! A task that must wait lets the flusher write, and the oldest thing in flight end or time pass,
//! unless the schedule itself says what any of these do.

use super::{Actor, CLOCK, DEVICE, Device, Flight, Kind, Point, Room, Stand, Step, WORKER};
use crate::stops::Stop;
use crate::units::Pos;
use crate::world::Env;
use thiserror::Error;

/// Tasks that wait for what nobody will do, by name.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("these tasks wait for something that nobody will do: {0}")]
pub struct Hangs(pub String);

/// Where a task stops, beside where the engine holds it.
#[derive(Clone, Copy)]
struct Until {
    point: Point,
    at: Option<Pos>,
    passes: u32,
}

const NOWHERE: Until = Until { point: Point::End, at: None, passes: 0 };

/// What became of those who move by themselves.
enum Completes {
    One,
    None,
    Stops,
}

/// Follows a schedule, then lets the tasks end in turn. `looks` is asked after every move whether
/// to go on. Gives the numbers, from 1, of the steps that found nothing to do: with other switches
/// a schedule may name what does not come about.
pub fn follow<E: Env, D: Device<E>>(
    room: &mut Room<'_, E, D>,
    steps: &[Step],
    mut looks: impl FnMut(&Room<'_, E, D>) -> bool,
) -> Result<Vec<usize>, Hangs> {
    let flushes =
        |name: &str| room.tasks.iter().any(|task| task.kind == Kind::Flusher && task.name == name);
    let says =
        |step: &Step| [DEVICE, WORKER, CLOCK].contains(&step.task.as_str()) || flushes(&step.task);
    let by_itself = !steps.iter().any(says);
    room.engine.hold_workers(!by_itself);
    let mut idle = Vec::new();
    for (nth, step) in steps.iter().enumerate() {
        let moved = match step.task.as_str() {
            DEVICE => {
                let flights = room.flights();
                let meant = |flight: &&Flight| {
                    flight.flush == (step.until == Point::FlushComplete)
                        && step.at.is_none_or(|at| flight.covers(at))
                };
                let found = flights.iter().filter(meant).nth(step.n.saturating_sub(1) as usize);
                found.is_some_and(|found| room.go(Actor::Device(found.number)))
            }
            WORKER => room.go(Actor::Worker),
            CLOCK => (0..step.n).all(|_| room.go(Actor::Clock)),
            name => {
                let task = room.tasks.iter().position(|task| task.name == name);
                let left = task.filter(|task| room.tasks[*task].stand() != Stand::Ended);
                if let Some(task) = left
                    && !run_task(room, task, step, by_itself, &mut looks)
                {
                    return Ok(idle);
                }
                left.is_some()
            }
        };
        if !moved {
            idle.push(nth + 1);
        }
        if !looks(room) {
            return Ok(idle);
        }
    }
    room.engine.hold_workers(false);
    let ended = finish(room, &mut looks);
    room.release();
    ended.map(|()| idle)
}

/// Lets a task run until its step ends; false if whoever looks on had enough.
fn run_task<E: Env, D: Device<E>>(
    room: &mut Room<'_, E, D>,
    task: usize,
    step: &Step,
    by_itself: bool,
    looks: &mut impl FnMut(&Room<'_, E, D>) -> bool,
) -> bool {
    let passes = step.n.saturating_sub(1);
    let stop = step.until.stop();
    let id = room.tasks[task].id;
    room.engine.hold_at(stop.map(|point| Stop { task: id, point, at: step.at, passes }));
    let mut until = Until { point: step.until, at: step.at, passes };
    let mut goes_on = true;
    while goes_on && room.tasks[task].stand() != Stand::Ended {
        let moved = room.go(Actor::Task(task));
        goes_on = looks(room);
        match room.tasks[task].stand() {
            Stand::Between if until.point == Point::OpEnd && until.passes == 0 => break,
            Stand::Between => until.passes -= u32::from(until.point == Point::OpEnd),
            Stand::Blocked if moved => {}
            Stand::Blocked if by_itself => match complete(room, &mut until) {
                Completes::One => {}
                Completes::None | Completes::Stops => break,
            },
            Stand::At(_) | Stand::Blocked | Stand::Ended => break,
        }
    }
    room.engine.hold_at(None);
    goes_on
}

/// Lets one of those who move by themselves move: a flusher that has something to do, then the
/// oldest thing in flight, unless the task is to stop there, or the time if it comes before that.
fn complete<E: Env, D: Device<E>>(room: &mut Room<'_, E, D>, until: &mut Until) -> Completes {
    for task in 0..room.tasks.len() {
        if room.tasks[task].kind == Kind::Flusher && room.go(Actor::Task(task)) {
            return Completes::One;
        }
    }
    let timer = room.engine.next_timer();
    let oldest = room.flights().into_iter().next();
    let oldest = oldest.filter(|oldest| timer.is_none_or(|timer| oldest.ends <= timer));
    let Some(oldest) = oldest else {
        return if room.go(Actor::Clock) { Completes::One } else { Completes::None };
    };
    let of_bio = matches!(until.point, Point::BeforeIoComplete | Point::IoComplete);
    let meant = if of_bio {
        !oldest.flush && until.at.is_none_or(|at| oldest.covers(at))
    } else {
        oldest.flush && until.point == Point::FlushComplete
    };
    let stops = meant && until.passes == 0;
    until.passes -= u32::from(meant && !stops);
    if stops && until.point == Point::BeforeIoComplete {
        return Completes::Stops;
    }
    room.go(Actor::Device(oldest.number));
    room.engine.run_workers();
    if stops { Completes::Stops } else { Completes::One }
}

/// Lets every application run to its end, in turn.
fn finish<E: Env, D: Device<E>>(
    room: &mut Room<'_, E, D>,
    looks: &mut impl FnMut(&Room<'_, E, D>) -> bool,
) -> Result<(), Hangs> {
    while !room.has_ended() {
        let mut moved = false;
        for task in 0..room.tasks.len() {
            let of_application = room.tasks[task].kind == Kind::Application;
            while of_application
                && room.tasks[task].stand() != Stand::Ended
                && room.go(Actor::Task(task))
            {
                moved = true;
                if !looks(room) {
                    return Ok(());
                }
            }
        }
        let mut until = NOWHERE;
        if !moved && !matches!(complete(room, &mut until), Completes::One) {
            return Err(Hangs(room.unfinished().join(", ")));
        }
        if !looks(room) {
            return Ok(());
        }
    }
    Ok(())
}
