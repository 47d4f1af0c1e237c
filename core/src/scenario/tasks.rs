//! The tasks of a scenario file, and who of them goes when.

use super::fields::{Problem, number};
use super::raw::{Raw, RawKswapd, RawOp, RawStep};
use super::{MAIN, MAX_FILE, MAX_PRESSURE, MAX_STEPS, MAX_TASKS, Order, Pressure};
use crate::tasks::{CLOCK, DEVICE, FLUSHER, KSWAPD, Point, Step, WORKER};
use crate::units::{Pages, Pos};
use toml::Spanned;

/// The tasks that operations name, in the order in which they first appear; main before all.
pub(super) fn build_tasks(ops: &[Spanned<RawOp>]) -> Result<Vec<String>, Problem> {
    let mut tasks = vec![MAIN.to_owned()];
    for name in ops.iter().filter_map(|op| op.get_ref().task.as_ref()) {
        let text = name.get_ref();
        if [DEVICE, WORKER, CLOCK, KSWAPD].contains(&text.as_str()) || text.starts_with(FLUSHER) {
            let message = format!("no task can be called `{text}`: schedules mean something else");
            return Err((name.span(), message));
        }
        if text.len() > 64 {
            let message = format!("task has {} bytes: expected a name of 64 at most", text.len());
            return Err((name.span(), message));
        }
        if tasks.contains(text) {
            continue;
        }
        if tasks.len() == MAX_TASKS {
            let message = format!("task is the {MAX_TASKS}th besides main: expected fewer");
            return Err((name.span(), message));
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
    let seed = raw.run.as_ref().map(|run| &run.seed);
    let idle = [
        ("seed", seed.map(Spanned::span)),
        ("[kswapd]", raw.kswapd.as_ref().map(|kswapd| kswapd.pages.span())),
        ("[[schedule]]", raw.schedule.first().map(Spanned::span)),
    ];
    if let [_] = tasks
        && let Some((name, Some(place))) = idle.into_iter().find(|(_, place)| place.is_some())
    {
        let message = format!(
            "{name} says who goes next, and no [[op]] has a `task` of its own: leave it out, or \
             say `task` in some of them"
        );
        return Err((place, message));
    }
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
                let message =
                    format!("a schedule has at most {MAX_STEPS} steps: leave this one out");
                return Err((step.span(), message));
            }
            let others = [
                Some(DEVICE),
                Some(WORKER),
                waits(raw).then_some(CLOCK),
                raw.dirty.as_ref().map(|_| FLUSHER),
                raw.kswapd.as_ref().map(|_| KSWAPD),
            ];
            let tasks = tasks.iter().map(String::as_str);
            let known: Vec<&str> = tasks.chain(others.into_iter().flatten()).collect();
            let steps = raw.schedule.iter().map(|step| build_step(&known, step));
            Ok(Order::Schedule(steps.collect::<Result<_, _>>()?))
        }
    }
}

fn build_step(known: &[&str], entry: &Spanned<RawStep>) -> Result<Step, Problem> {
    let raw = entry.get_ref();
    let task = raw.task.get_ref().clone();
    let listed = |words: &[&str]| words.join(", ");
    if !known.contains(&task.as_str()) {
        let message = format!("no task `{task}`: expected one of {}", listed(known));
        return Err((raw.task.span(), message));
    }
    let word = raw.until.get_ref();
    let points = |reached: fn(Point) -> bool| -> Vec<&str> {
        Point::ALL.iter().filter(|point| reached(**point)).map(|one| one.name()).collect()
    };
    let known: Vec<&str> = match task.as_str() {
        DEVICE => vec![Point::IoComplete.name(), Point::FlushComplete.name()],
        WORKER => vec![Point::End.name()],
        CLOCK => vec![Point::Timer.name()],
        KSWAPD => vec![Point::OpEnd.name(), Point::End.name()],
        name if name.starts_with(FLUSHER) => points(is_of_writeback),
        _ => points(is_reached),
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
        Some(at) => Some(Pos::ZERO + *at.get_ref()),
        None => None,
    };
    let most = u64::from(u32::MAX);
    let n = raw.n.as_ref().map_or(Ok(1), |n| number("n", n, 1, most))? as u32;
    Ok(Step { task, until, at, n })
}

/// Whether anybody waits for a time.
fn waits(raw: &Raw) -> bool {
    raw.dirty.is_some() || raw.op.iter().any(|op| op.get_ref().what.get_ref() == "sleep")
}

/// Whether a task can be stopped there at all.
fn is_reached(point: Point) -> bool {
    let never = [Point::ReleaseDataFound, Point::BetweenForkLookups, Point::DioSubmitted];
    !never.contains(&point) && point != Point::Timer
}

/// Whether a flusher can be.
const fn is_of_writeback(point: Point) -> bool {
    matches!(
        point,
        Point::WbFolioLocked
            | Point::WbEofChecked
            | Point::BeforeMapBlocks
            | Point::AfterMapBlocks
            | Point::WbFolioDone
            | Point::AfterWritebackSubmit
            | Point::Blocked
    )
}

/// How much memory is taken back while tasks interleave.
pub(super) fn build_pressure(raw: &RawKswapd) -> Result<Pressure, Problem> {
    let most = u64::from(MAX_PRESSURE);
    let times = raw.times.as_ref().map_or(Ok(1), |n| number("times", n, 1, most))? as u32;
    Ok(Pressure { pages: Pages::new(number("pages", &raw.pages, 1, MAX_FILE.get())?), times })
}
