//! Runs the operations of a case as its schedule says: one task at a time, until it is where the
//! step says, must wait, or has ended.

use super::device::{Completes, Pick, complete_next, take_effects};
use super::format::{Scenario, ScheduleStep};
use super::perform::{Running, perform};
use super::run::{Got, MAIN, Shown, held};
use folioscope_core::stops::Stop;
use folioscope_core::tasks::Point;
use folioscope_core::units::{Pos, TaskId};
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

/// The task of operations that name none.
const MAIN_NAME: &str = "main";

/// A task and what it still has to do.
struct Task<'a> {
    name: &'a str,
    id: TaskId,
    ops: VecDeque<usize>,
    running: Option<(usize, Running<'a>)>,
    /// An operation has ended, and the bios that it left have not.
    settles: Option<(usize, Got)>,
}

impl Task<'_> {
    fn has_ended(&self) -> bool {
        self.ops.is_empty() && self.running.is_none() && self.settles.is_none()
    }
}

/// Where a task stops.
#[derive(Clone, Copy)]
enum Until {
    /// Where the engine holds it, or where it must wait, or at its end.
    Held,
    /// Before the completion of the bio with this byte, or after it.
    Completion { at: Option<u64>, passes: u64, before: bool },
}

/// Runs a case by its schedule.
pub(super) fn run(shown: &mut Shown, scenario: &Scenario, model: &mut Vec<u8>) {
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for (at, op) in scenario.ops.iter().enumerate() {
        if !tasks.iter().any(|task| task.name == op.task) {
            let main = op.task == MAIN_NAME;
            let id = if main { MAIN } else { TaskId::new(tasks.len() as u32 + 2) };
            let (ops, name) = (VecDeque::new(), op.task.as_str());
            tasks.push(Task { name, id, ops, running: None, settles: None });
        }
        let mine = tasks.iter_mut().find(|task| task.name == op.task).expect("made above");
        mine.ops.push_back(at);
    }
    let main_is_scheduled = scenario.schedule.iter().any(|step| step.task == MAIN_NAME);
    let first = scenario.ops.iter().position(|op| op.task != MAIN_NAME);
    let main = tasks.iter().position(|task| task.name == MAIN_NAME);
    if let (Some(main), false) = (main, main_is_scheduled) {
        while let Some(at) = tasks[main].ops.front().copied().filter(|at| Some(*at) < first) {
            tasks[main].ops.pop_front();
            shown.run_op(scenario, at, model);
            if shown.hangs {
                return;
            }
        }
    }
    for step in &scenario.schedule {
        if let Some(task) = tasks.iter_mut().find(|task| task.name == step.task) {
            let until = shown.aim(task.id, step);
            shown.run_task(scenario, task, until, model);
            shown.machine.engine.hold_at(None);
            if shown.hangs {
                return;
            }
        }
        let now = super::snapshot::snapshot(&shown.machine);
        shown.at_step.push(now);
    }
    // What is unfinished, task by task, and the rest of main after the others.
    let (mut others, mut last): (Vec<_>, Vec<_>) = tasks
        .into_iter()
        .partition(|task| task.name != MAIN_NAME || main_is_scheduled || task.running.is_some());
    for group in [&mut others, &mut last] {
        while group.iter().any(|task| !task.has_ended()) {
            let mut moved = false;
            for task in group.iter_mut() {
                moved |= shown.run_task(scenario, task, Until::Held, model);
                if shown.hangs {
                    return;
                }
            }
            if !moved {
                let stuck = group.iter().find_map(|task| task.running.as_ref().map(|run| run.0));
                return shown.hang(stuck.unwrap_or(0));
            }
        }
    }
}

impl Shown {
    /// Arms what a step stops at.
    fn aim(&self, task: TaskId, step: &ScheduleStep) -> Until {
        let at = step.arg.as_ref().and_then(|arg| arg.off);
        let passes = step.arg.as_ref().and_then(|arg| arg.n).unwrap_or(1).saturating_sub(1);
        let before = matches!(step.run_until, Point::BeforeIoComplete);
        if before || matches!(step.run_until, Point::IoComplete) {
            return Until::Completion { at, passes, before };
        }
        let stop = step.run_until.stop().map(|point| Stop {
            task,
            point,
            at: at.map(Pos::new),
            passes: u32::try_from(passes).unwrap_or(u32::MAX),
        });
        self.machine.engine.hold_at(stop);
        Until::Held
    }
    /// Lets a task run; whether it came any further.
    fn run_task<'a>(
        &mut self,
        scenario: &'a Scenario,
        task: &mut Task<'a>,
        mut until: Until,
        model: &mut Vec<u8>,
    ) -> bool {
        let mut moved = false;
        self.machine.engine.release(task.id);
        loop {
            if let Some((at, got)) = task.settles.take() {
                match self.complete(Pick::Free, &mut until) {
                    Completes::One => moved = true,
                    Completes::None => {
                        let got = self.finished(&scenario.ops[at], got);
                        self.ended(at, &scenario.ops, got, model);
                        moved = true;
                        continue;
                    }
                    Completes::Stops => {
                        task.settles = Some((at, got));
                        return true;
                    }
                }
                task.settles = Some((at, got));
                continue;
            }
            if task.running.is_none() {
                let Some(at) = task.ops.pop_front() else { return moved };
                let future = perform(&self.machine, scenario, at, task.id);
                let Some(future) = future else {
                    self.run_op(scenario, at, model);
                    if self.hangs {
                        return moved;
                    }
                    moved = true;
                    continue;
                };
                task.running = Some((at, future));
            }
            let Some((at, future)) = &mut task.running else { return moved };
            let at = *at;
            self.machine.port.borrow_mut().op = at;
            self.machine.port.borrow_mut().hold = held(&scenario.ops[at]);
            self.machine.arm(at, true);
            let before = self.machine.engine.look(|world| world.sink().len());
            let counted = self.machine.engine.counters();
            let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            let flushed = take_effects(&self.machine.engine);
            self.machine.arm(at, false);
            self.machine.port.borrow_mut().hold = None;
            let after = self.machine.engine.look(|world| world.sink().len());
            moved |= after > before || flushed;
            let mine = self.task_counts.entry(task.name.to_owned()).or_default();
            mine.push((counted, self.machine.engine.counters()));
            self.machine.follow();
            match polled {
                Poll::Ready(got) => {
                    task.running = None;
                    task.settles = Some((at, got));
                    moved = true;
                }
                Poll::Pending if self.machine.engine.is_held(task.id) => return true,
                Poll::Pending if flushed => {}
                Poll::Pending => match self.complete(Pick::Awaited, &mut until) {
                    Completes::One => moved = true,
                    Completes::None => return moved,
                    Completes::Stops => return true,
                },
            }
        }
    }
    /// Ends the oldest bio, unless the task is to stop there.
    fn complete(&self, pick: Pick<'_>, until: &mut Until) -> Completes {
        let (engine, port) = (&self.machine.engine, &self.machine.port);
        let stops = |pos: u64, end: u64| {
            let Until::Completion { at, passes, before } = until else { return None };
            if !at.is_none_or(|at| pos <= at && at < end) {
                return None;
            }
            if *passes > 0 {
                *passes -= 1;
                return None;
            }
            Some(*before)
        };
        let done = complete_next(engine, port, pick, stops);
        if matches!(done, Completes::Stops) {
            *until = Until::Held;
        }
        done
    }
}
