//! What was chosen in a run, told as a schedule.

use super::{Actor, CLOCK, DEVICE, Device, Flight, Point, Room, Stand, Step, WORKER};
use crate::units::Pos;
use crate::world::Env;

/// A move, and where it ended.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Move {
    actor: Actor,
    task: String,
    until: Point,
    /// The bytes that the point is about, as far as a step can name one.
    place: Option<(Pos, Pos)>,
    /// For the device: which of those in flight that hold the place.
    n: u32,
}

/// The moves of a run so far.
#[derive(Clone, Default, Debug)]
pub struct Trail(Vec<Move>);

impl Trail {
    /// How many moves.
    pub const fn len(&self) -> usize {
        self.0.len()
    }
    /// Whether nobody moved.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Notes a move that was just made; `flights` is what was in flight before it.
    pub(super) fn note<E: Env, D: Device<E>>(
        &mut self,
        room: &Room<'_, E, D>,
        actor: Actor,
        flights: &[Flight],
    ) {
        self.0.push(match actor {
            Actor::Task(at) => {
                let task = &room.tasks()[at];
                let (until, place) = match task.stand() {
                    Stand::At(hold) => (Point::of(hold.point), Some(hold.range)),
                    Stand::Between => (Point::OpEnd, None),
                    Stand::Blocked => (Point::Blocked, None),
                    Stand::Ended => (Point::End, None),
                };
                let place = place.filter(|range| !range.is_empty());
                let place = place.map(|range| (range.start(), range.end()));
                Move { actor, task: task.name.clone(), until, place, n: 1 }
            }
            Actor::Device(number) => ended(actor, flights, number),
            Actor::Worker => {
                let task = WORKER.to_owned();
                Move { actor, task, until: Point::End, place: None, n: 1 }
            }
            Actor::Clock => {
                let task = CLOCK.to_owned();
                Move { actor, task, until: Point::Timer, place: None, n: 1 }
            }
        });
    }
    /// The schedule that makes the same moves.
    pub fn schedule(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut first = 0;
        for at in 0..self.0.len() {
            let this = &self.0[at];
            let goes_on = self.0.get(at + 1).is_some_and(|next| next.actor == this.actor);
            if goes_on && matches!(this.actor, Actor::Task(_)) {
                continue;
            }
            let run = &self.0[first..at];
            first = at + 1;
            let here = this.place.map(|(start, _)| start);
            // A stop without a place is told apart by counting every time that it is passed.
            let passes = |other: &&Move| {
                let covers =
                    |start: Pos| other.place.is_some_and(|(from, to)| from <= start && start < to);
                other.until == this.until && here.is_none_or(covers)
            };
            let n = this.n + run.iter().filter(passes).count() as u32;
            steps.push(Step { task: this.task.clone(), until: this.until, at: here, n });
        }
        steps
    }
}

/// The device ended something.
fn ended(actor: Actor, flights: &[Flight], number: u64) -> Move {
    let found = flights.iter().position(|flight| flight.number == number).unwrap_or(0);
    let this = &flights[found];
    let range = this.ranges.first().filter(|range| !range.is_empty());
    let place = range.map(|range| (range.start(), range.end()));
    let same = |other: &&Flight| {
        other.flush == this.flush && place.is_none_or(|(start, _)| other.covers(start))
    };
    let n = flights[..found].iter().filter(same).count() as u32 + 1;
    let until = if this.flush { Point::FlushComplete } else { Point::IoComplete };
    Move { actor, task: DEVICE.to_owned(), until, place, n }
}
