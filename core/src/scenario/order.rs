//! The operations of a scenario in the order that it asks for: in turn, by its schedule, or by
//! dice.

use super::armed::Armed;
use super::perform::{Reads, perform};
use super::run::RunError;
use super::{Action, Order, Scenario};
use crate::device::sim::Sim;
use crate::dirty::flusher::flusher_task;
use crate::engine::{BackgroundTask, BoxedOp, Engine, Stuck, beside, drive};
use crate::errno::Errno;
use crate::ops::OpResult;
use crate::power::power_cut;
use crate::tasks::{
    Dice, End, Hangs, KSWAPD, KSWAPD_TASK, Kind, Room, Task, Trail, explore_one, flusher_name,
    follow,
};
use crate::units::{BdiId, Bytes};
use crate::world::Env;
use std::cell::RefCell;

/// Runs every operation; their results in the order of the file, and the steps of the schedule that
/// found nothing to do.
pub(super) fn run_ops<E: Env>(
    scenario: &Scenario,
    engine: &Engine<E>,
    sim: &mut Sim,
) -> Result<(Vec<OpResult>, Vec<usize>), RunError> {
    let armed = RefCell::new(Armed::new(scenario));
    let mut flushers = flushers(scenario, engine);
    let mut idle = Vec::new();
    let mut results: Vec<Option<OpResult>> = vec![None; scenario.ops.len()];
    let all = match scenario.order {
        Order::InTurn => (scenario.ops.as_slice(), Vec::new(), Vec::new()),
        Order::Schedule(_) | Order::Seed(_) => scenario.parts(),
    };
    let (early, at_once, late) = all;
    for (nth, result) in results.iter_mut().enumerate().take(early.len()) {
        *result = Some(alone(scenario, engine, sim, &armed, &mut flushers, (nth, None))?);
    }
    if !at_once.is_empty() {
        let mut room = room(scenario, (engine, sim), &armed, None, &mut flushers);
        match &scenario.order {
            Order::InTurn => {}
            Order::Schedule(steps) => idle = follow(&mut room, steps, |_| true)?,
            Order::Seed(seed) => throw(&mut room, *seed)?,
        }
        for (nth, result) in room.results() {
            results[*nth] = Some(*result);
        }
    }
    for nth in late {
        results[nth] = Some(alone(scenario, engine, sim, &armed, &mut flushers, (nth, None))?);
    }
    let all = results.into_iter().map(|result| result.expect("every operation ran"));
    Ok((all.collect(), idle))
}

/// The flushers of a run, one for each device.
pub(crate) fn flushers<'a, E: Env>(
    scenario: &Scenario,
    engine: &'a Engine<E>,
) -> Vec<BackgroundTask<'a>> {
    let devices = scenario.dirty.map_or(0, |dirty| dirty.devices);
    let each = (0..devices).map(|bdi| engine.flusher(BdiId::new(bdi)));
    each.map(|flusher| Box::pin(flusher) as BackgroundTask<'a>).collect()
}

/// Runs one operation while no application does anything else.
pub(super) fn alone<'a, E: Env>(
    scenario: &Scenario,
    engine: &'a Engine<E>,
    sim: &mut Sim,
    armed: &RefCell<Armed>,
    background: &mut Vec<BackgroundTask<'a>>,
    (nth, reads): (usize, Option<&Reads>),
) -> Result<OpResult, Stuck> {
    armed.borrow_mut().arm(nth, engine, sim);
    if let Action::PowerCut(kept) = scenario.ops[nth].action {
        // Whatever they were about to write is no more.
        *background = flushers(scenario, engine);
        power_cut(engine, sim, kept);
        return Ok(OpResult(Ok(Bytes::ZERO)));
    }
    if let Action::Array(act) = scenario.ops[nth].action {
        let done = sim.act(engine, act);
        return Ok(OpResult(if done { Ok(Bytes::ZERO) } else { Err(Errno::Inval) }));
    }
    let faults = armed.borrow().user(nth);
    let kept = reads.map(|reads| (reads, nth));
    drive(engine, sim, beside(perform(engine, scenario.ops[nth], faults, kept), background))
}

fn throw<E: Env>(room: &mut Room<'_, E, Sim>, seed: u64) -> Result<(), RunError> {
    room.engine.hold_everywhere(true);
    room.engine.hold_workers(true);
    let end = explore_one(room, &mut Dice::new(seed), &mut Trail::default(), |_, _| true);
    room.engine.hold_everywhere(false);
    room.engine.hold_workers(false);
    room.release();
    match end {
        End::Done | End::Known | End::Stopped => Ok(()),
        End::Hangs => Err(Hangs(room.unfinished().join(", ")).into()),
    }
}

/// The tasks with the operations that run at once, and those of the background; the faults of each
/// operation are armed while it goes on.
pub(super) fn room<'a, 'e: 'a, E: Env>(
    scenario: &Scenario,
    (engine, sim): (&'a Engine<E>, &'a mut Sim),
    armed: &'a RefCell<Armed>,
    reads: Option<&'a Reads>,
    flushers: &'a mut [BackgroundTask<'e>],
) -> Room<'a, E, Sim> {
    let (_, at_once, _) = scenario.parts();
    let each = scenario.tasks.iter().zip(0u32..).map(|(name, task)| {
        let mine = at_once.iter().filter(|nth| scenario.ops[**nth].task == task);
        let ops = mine.map(|nth| {
            let kept = reads.map(|reads| (reads, *nth));
            let faults = armed.borrow().user(*nth);
            (*nth, perform(engine, scenario.ops[*nth], faults, kept))
        });
        let ops: Vec<(usize, BoxedOp<'a>)> = ops.collect();
        Task::new(name.clone(), Scenario::task_id(task), ops)
    });
    let mut all: Vec<Task<'a>> = each.collect();
    for (flusher, bdi) in flushers.iter_mut().zip(0..) {
        let bdi = BdiId::new(bdi);
        let who = (flusher_name(bdi), flusher_task(bdi), Kind::Flusher);
        let never: BoxedOp<'a> = Box::pin(async move {
            flusher.await;
            OpResult(Ok(Bytes::ZERO))
        });
        all.push(Task::of_background(who, [never]));
    }
    if let Some(pressure) = scenario.kswapd {
        let each = (0..pressure.times).map(|_| -> BoxedOp<'a> {
            Box::pin(async move { engine.reclaim(KSWAPD_TASK, pressure.pages) })
        });
        all.push(Task::of_background((KSWAPD.to_owned(), KSWAPD_TASK, Kind::Reclaim), each));
    }
    let mut room = Room::new(engine, sim, all);
    if !scenario.faults.is_empty() {
        room.tell_before(Box::new(|nth, engine, sim| armed.borrow_mut().arm(nth, engine, sim)));
    }
    room
}
