//! Streams on the engine: many, on several threads; the first that goes wrong is made shorter.

use super::report::{progress_bar, report};
use super::{FuzzArgs, Switch};
use crate::error::{Failure, Outcome};
use crate::out::{self, Unfinished};
use crate::signal;
use folioscope_core::scenario::Scenario;
use folioscope_core::streams::simulated::{Case, replay};
use folioscope_core::streams::{Failure as Wrong, put_steps, worlds::World};
use folioscope_core::trace::sink::NoTrace;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The streams of a run, by number: worlds take turns.
struct Plan {
    worlds: Vec<World>,
    seed: u64,
    length: u64,
    ops: u64,
    streams: u64,
    faults: bool,
}

impl Plan {
    fn new(args: &FuzzArgs) -> Self {
        Self {
            worlds: args.geometry.0.clone(),
            seed: args.seed,
            length: args.length,
            ops: args.ops,
            streams: args.ops.div_ceil(args.length),
            faults: args.faults == Switch::On,
        }
    }
    fn case(&self, number: u64) -> Case {
        let worlds = self.worlds.len() as u64;
        Case {
            world: self.worlds[(number % worlds) as usize],
            seed: self.seed.wrapping_add(number / worlds),
            // The last one is shorter where they do not come out even.
            count: self.length.min(self.ops - number * self.length) as usize,
            faults: self.faults,
        }
    }
}

/// What the threads have in common.
struct Shared {
    /// The next stream.
    next: AtomicU64,
    /// The first stream that went wrong; all that come before it are run.
    wrong: AtomicU64,
    found: Mutex<Option<(u64, Scenario, Wrong)>>,
    ops: AtomicU64,
}

/// Runs streams until all are run or one went wrong.
pub(super) fn fuzz(args: &FuzzArgs) -> Outcome<()> {
    let save = args.save.as_deref();
    let save = save.map(|path| Unfinished::create("--save", path, [])).transpose()?;
    let plan = Plan::new(args);
    let shared = Shared {
        next: AtomicU64::new(0),
        wrong: AtomicU64::new(u64::MAX),
        found: Mutex::new(None),
        ops: AtomicU64::new(0),
    };
    signal::watch();
    let quiet = panic::take_hook();
    // A panic of the engine is a finding, and told as one.
    panic::set_hook(Box::new(|_| {}));
    let start = Instant::now();
    let bar = progress_bar(plan.ops);
    thread::scope(|scope| {
        let work = || work(&plan, &shared);
        let threads: Vec<_> = (0..args.jobs).map(|_| scope.spawn(work)).collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            bar.set_position(shared.ops.load(Ordering::Relaxed));
            thread::sleep(Duration::from_millis(50));
        }
    });
    bar.finish_and_clear();
    let found = shared.found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let outcome = match found {
        Some((number, scenario, wrong)) => {
            let case = plan.case(number);
            let faults = if case.faults { "on" } else { "off" };
            let words = format!(
                "--geometry {} --seed {} --faults {faults} --length {} --ops {}",
                case.world.name, case.seed, case.count, case.count
            );
            report(&words, scenario, wrong, save, goes_wrong)
        }
        None if signal::interrupted().load(Ordering::SeqCst) => Err(Failure::interrupted()),
        None => {
            let ops = shared.ops.load(Ordering::Relaxed);
            let seconds = start.elapsed().as_secs_f64();
            out::print(&summary(&plan, ops, seconds))
        }
    };
    panic::set_hook(quiet);
    outcome
}

fn summary(plan: &Plan, ops: u64, seconds: f64) -> String {
    let names: Vec<&str> = plan.worlds.iter().map(|world| world.name).collect();
    let faults = if plan.faults { "with faults" } else { "without faults" };
    format!(
        "{ops} operations in {} streams {faults} agree ({}): {:.2} s, {:.0} a second\n",
        plan.streams,
        names.join(", "),
        seconds,
        ops as f64 / seconds.max(1e-9),
    )
}

fn work(plan: &Plan, shared: &Shared) {
    loop {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        let over = number >= plan.streams || number > shared.wrong.load(Ordering::Relaxed);
        if over || signal::interrupted().load(Ordering::Relaxed) {
            return;
        }
        let (scenario, result) = run(&plan.case(number));
        shared.ops.fetch_add(scenario.ops.len() as u64, Ordering::Relaxed);
        let Err(wrong) = result else { continue };
        shared.wrong.fetch_min(number, Ordering::Relaxed);
        let mut found = shared.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if found.as_ref().is_none_or(|(first, ..)| number < *first) {
            *found = Some((number, scenario, wrong));
        }
    }
}

/// Runs one stream; a panic of the engine is one way to go wrong.
fn run(case: &Case) -> (Scenario, Result<(), Wrong>) {
    let (mut scenario, mut steps) = (case.scenario(), Vec::new());
    let ran = panic::catch_unwind(AssertUnwindSafe(|| {
        let (result, NoTrace) = case.run_noting(&scenario, &mut steps, NoTrace);
        result
    }));
    let result = ran.unwrap_or_else(|panic| {
        let at = steps.len().saturating_sub(1);
        Err(Wrong { at, what: words(panic.as_ref()) })
    });
    put_steps(&mut scenario, &steps);
    (scenario, result)
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the engine panicked: {}", text.unwrap_or("without words"))
}

/// How a scenario goes wrong, if it does.
fn goes_wrong(scenario: &Scenario) -> Option<Wrong> {
    let ran = panic::catch_unwind(AssertUnwindSafe(|| replay(scenario).err()));
    ran.unwrap_or_else(|panic| {
        let at = scenario.ops.len().saturating_sub(1);
        Some(Wrong { at, what: words(panic.as_ref()) })
    })
}
