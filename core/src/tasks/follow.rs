//! Runs tasks as a schedule says: each step lets one of them run until it is where the step says,
//! must wait, or has ended.
//!
//! A task that must wait lets the device end the oldest thing that it has in flight, unless the
//! schedule itself says what the device and the worker do.

use super::{DEVICE, Device, Flight, Point, Room, Stand, Step, WORKER};
use crate::stops::Stop;
use crate::units::Pos;
use crate::world::Env;
use thiserror::Error;

/// A schedule that cannot be followed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Broken {
    /// A step names something that is not there.
    #[error("step {step} of the schedule: {message}")]
    Step {
        /// Which, from 1.
        step: usize,
        /// What is wrong.
        message: String,
    },
    /// Tasks that wait for what nobody will do.
    #[error("these tasks wait for something that nobody will do: {0}")]
    Hangs(String),
}

/// Where a task stops, beside where the engine holds it.
#[derive(Clone, Copy)]
struct Until {
    point: Point,
    at: Option<Pos>,
    passes: u32,
}

const NOWHERE: Until = Until { point: Point::End, at: None, passes: 0 };

/// What became of the oldest thing in flight.
enum Completes {
    One,
    None,
    Stops,
}

/// Follows a schedule, then lets the tasks end in turn. `looks` is asked after every move whether
/// to go on.
pub fn follow<E: Env, D: Device<E>>(
    room: &mut Room<'_, E, D>,
    steps: &[Step],
    mut looks: impl FnMut(&Room<'_, E, D>) -> bool,
) -> Result<(), Broken> {
    let by_itself = !steps.iter().any(|step| step.task == DEVICE || step.task == WORKER);
    room.engine.hold_workers(!by_itself);
    for (nth, step) in steps.iter().enumerate() {
        let broken = |message: String| Broken::Step { step: nth + 1, message };
        match step.task.as_str() {
            DEVICE => {
                let flights = room.flights();
                let meant = |flight: &&Flight| {
                    flight.flush == (step.until == Point::FlushComplete)
                        && step.at.is_none_or(|at| flight.covers(at))
                };
                let found = flights.iter().filter(meant).nth(step.n.saturating_sub(1) as usize);
                let found = found.ok_or_else(|| broken(not_in_flight(step)))?;
                room.go(super::Actor::Device(found.number));
            }
            WORKER => {
                if !room.go(super::Actor::Worker) {
                    return Err(broken("the worker has nothing to complete".to_owned()));
                }
            }
            name => {
                let task = room.tasks.iter().position(|task| task.name == name);
                let task = task.ok_or_else(|| broken(format!("no task is called `{name}`")))?;
                if !run_task(room, task, step, by_itself, &mut looks) {
                    return Ok(());
                }
            }
        }
        if !looks(room) {
            return Ok(());
        }
    }
    room.engine.hold_workers(false);
    finish(room, &mut looks)
}

fn not_in_flight(step: &Step) -> String {
    let what = if step.until == Point::FlushComplete { "flush" } else { "bio" };
    let place = step.at.map_or_else(String::new, |at| format!(" that holds byte {}", at.get()));
    format!("the device has no {what} number {}{place} in flight", step.n)
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
        let moved = room.go(super::Actor::Task(task));
        goes_on = looks(room);
        match room.tasks[task].stand() {
            Stand::Between if until.point == Point::OpEnd && until.passes == 0 => break,
            Stand::Between => until.passes -= u32::from(until.point == Point::OpEnd),
            Stand::Blocked if by_itself => match complete(room, &mut until) {
                Completes::One => {}
                Completes::None if moved => {}
                Completes::None | Completes::Stops => break,
            },
            Stand::Blocked if moved => {}
            Stand::At(_) | Stand::Blocked | Stand::Ended => break,
        }
    }
    room.engine.hold_at(None);
    goes_on
}

/// Ends the oldest thing in flight, unless the task is to stop there.
fn complete<E: Env, D: Device<E>>(room: &mut Room<'_, E, D>, until: &mut Until) -> Completes {
    let Some(oldest) = room.flights().into_iter().next() else {
        return Completes::None;
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
    room.go(super::Actor::Device(oldest.number));
    room.engine.run_workers();
    if stops { Completes::Stops } else { Completes::One }
}

/// Lets every task run to its end, in turn.
fn finish<E: Env, D: Device<E>>(
    room: &mut Room<'_, E, D>,
    looks: &mut impl FnMut(&Room<'_, E, D>) -> bool,
) -> Result<(), Broken> {
    while !room.has_ended() {
        let mut moved = false;
        for task in 0..room.tasks.len() {
            while room.tasks[task].stand() != Stand::Ended && room.go(super::Actor::Task(task)) {
                moved = true;
                if !looks(room) {
                    return Ok(());
                }
            }
        }
        let mut until = NOWHERE;
        if !moved && !matches!(complete(room, &mut until), Completes::One) {
            return Err(Broken::Hangs(room.unfinished().join(", ")));
        }
        if !looks(room) {
            return Ok(());
        }
    }
    Ok(())
}
