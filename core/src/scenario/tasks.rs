//! The tasks of a scenario file, and who of them goes when.

use super::fields::{Problem, number};
use super::file::size;
use super::raw::{Raw, RawOp, RawStep};
use super::{MAIN, MAX_STEPS, MAX_TASKS, Order};
use crate::tasks::{DEVICE, Point, Step, WORKER};
use crate::units::Pos;
use toml::Spanned;

/// The tasks that operations name, in the order in which they first appear; main before all.
pub(super) fn build_tasks(ops: &[Spanned<RawOp>]) -> Result<Vec<String>, Problem> {
    let mut tasks = vec![MAIN.to_owned()];
    for name in ops.iter().filter_map(|op| op.get_ref().task.as_ref()) {
        let text = name.get_ref();
        if text == DEVICE || text == WORKER {
            let message = format!("no task can be called `{text}`: schedules mean something else");
            return Err((name.span(), message));
        }
        if text.is_empty() || text.len() > 64 || text.chars().any(char::is_control) {
            let message = "expected a name of 1 to 64 bytes without control characters";
            return Err((name.span(), message.to_owned()));
        }
        if tasks.contains(text) {
            continue;
        }
        if tasks.len() == MAX_TASKS {
            return Err((name.span(), format!("more than {MAX_TASKS} tasks")));
        }
        tasks.push(text.clone());
    }
    Ok(tasks)
}

/// The place of the task of an operation.
pub(super) fn task_of(tasks: &[String], op: &RawOp) -> u32 {
    let name = op.task.as_ref().map_or(MAIN, |name| name.get_ref().as_str());
    tasks.iter().position(|task| task == name).unwrap_or(0) as u32
}

/// Who goes when.
pub(super) fn build_order(tasks: &[String], raw: &Raw) -> Result<Order, Problem> {
    let seed = raw.run.as_ref().and_then(|run| run.seed.as_ref());
    let seeded = seed.map(|seed| number("seed", seed, 0, i64::MAX as u64)).transpose()?;
    match (seeded, raw.schedule.first()) {
        (None, None) => Ok(Order::InTurn),
        (Some(seed), None) => Ok(Order::Seed(seed)),
        (Some(_), Some(step)) => {
            let message = "the file has a `seed` that chooses who goes next: leave out one of them";
            Err((step.span(), message.to_owned()))
        }
        (None, Some(_)) => {
            if let Some(step) = raw.schedule.get(MAX_STEPS) {
                return Err((step.span(), format!("more than {MAX_STEPS} steps")));
            }
            let steps = raw.schedule.iter().map(|step| build_step(tasks, step));
            Ok(Order::Schedule(steps.collect::<Result<_, _>>()?))
        }
    }
}

fn build_step(tasks: &[String], entry: &Spanned<RawStep>) -> Result<Step, Problem> {
    let raw = entry.get_ref();
    let task = raw.task.get_ref().clone();
    let listed = |words: &[&str]| words.join(", ");
    if !(tasks.contains(&task) || task == DEVICE || task == WORKER) {
        let known: Vec<&str> = tasks.iter().map(String::as_str).chain([DEVICE, WORKER]).collect();
        let message = format!("no task `{task}`: expected one of {}", listed(&known));
        return Err((raw.task.span(), message));
    }
    let word = raw.until.get_ref();
    let known: Vec<&str> = match task.as_str() {
        DEVICE => vec![Point::IoComplete.name(), Point::FlushComplete.name()],
        WORKER => vec![Point::End.name()],
        _ => Point::ALL.iter().filter(|point| is_reached(**point)).map(|one| one.name()).collect(),
    };
    let point = Point::from_name(word).filter(|_| known.contains(&word.as_str()));
    let Some(until) = point else {
        let message = format!("`{task}` has no point `{word}`: expected {}", listed(&known));
        return Err((raw.until.span(), message));
    };
    let at = match &raw.at {
        Some(at) if !until.has_place() => {
            let message = format!("`{word}` is about no byte of a file: leave out `at`");
            return Err((at.span(), message));
        }
        Some(at) => Some(Pos::ZERO + size(at)?),
        None => None,
    };
    let most = u64::from(u32::MAX);
    let n = raw.n.as_ref().map_or(Ok(1), |n| number("n", n, 1, most))? as u32;
    Ok(Step { task, until, at, n })
}

/// Whether a task can be stopped there at all.
const fn is_reached(point: Point) -> bool {
    !matches!(point, Point::ReleaseDataFound | Point::BetweenForkLookups | Point::DioSubmitted)
}
