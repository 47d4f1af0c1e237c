//! `folioscope explore`: every way in which the tasks of a scenario can follow each other.

use crate::error::{Failure, Outcome};
use crate::input;
use crate::out;
use crate::run::scenario::chosen;
use clap::Args;
use folioscope_core::scenario::explore::{Explored, Limits, explore, replay};
use folioscope_core::scenario::{Order, Scenario, Variant};
use folioscope_core::tasks::Step;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Most courses, and most choices of them together, where nobody says how many courses to run.
const USUAL_MOST: u64 = 1_000_000;
const USUAL_CHOICES: u64 = 3_000_000;

/// What `explore` can be told.
#[derive(Args, Debug)]
pub(crate) struct ExploreArgs {
    /// Scenario (.toml) whose operations name tasks
    scenario: PathBuf,
    /// How often a course may depart from the usual one: a task that could go on stands back, or
    /// the device ends something out of order
    #[arg(long, value_name = "N", default_value_t = 2)]
    bound: u32,
    /// Most courses that are run
    ///
    /// By itself 1000000, or as many as have 3000000 choices together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_schedules: Option<u64>,
    /// Courses by dice, from this seed on, instead of all of them
    #[arg(long, value_name = "SEED", conflicts_with = "bound")]
    seed: Option<u64>,
    /// Explore this variant only
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Run the schedule that the file gives, and check that one course
    #[arg(long, conflicts_with_all = ["bound", "max_schedules", "seed"])]
    replay: bool,
}

/// Carries the command out.
pub(crate) fn run(args: &ExploreArgs) -> Outcome<()> {
    let path = &args.scenario;
    let Some(scenario) = input::compared(path)? else {
        return Err(Failure::usage(format!(
            "{} is no scenario: expected a .toml file whose operations name tasks",
            path.display()
        )));
    };
    if scenario.tasks.len() < 2 {
        return Err(Failure::usage(format!(
            "{}: no operation names a task, so that there is one course only: give some a `task`",
            path.display()
        )));
    }
    let mut wrong = Vec::new();
    for variant in chosen(&scenario, args.variant.as_deref())? {
        let failed = if args.replay {
            replayed(&scenario, variant)?
        } else {
            explored(args, &scenario, variant)?
        };
        if failed {
            wrong.push(format!("{:?}", variant.name));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::check(format!("a course goes wrong: variant {}", wrong.join(", "))))
}

/// Runs the schedule of the file.
fn replayed(scenario: &Scenario, variant: &Variant) -> Outcome<bool> {
    let Order::Schedule(steps) = &scenario.order else {
        return Err(Failure::usage("--replay needs a file with [[schedule]] steps".to_owned()));
    };
    let wrong = replay(scenario, variant, steps);
    let says = wrong.as_deref().unwrap_or("nothing is wrong");
    out::print(&format!("{}: {says}\n", variant.name))?;
    Ok(wrong.is_some())
}

/// Runs every course, or some by dice.
fn explored(args: &ExploreArgs, scenario: &Scenario, variant: &Variant) -> Outcome<bool> {
    let ExploreArgs { bound, max_schedules, seed, .. } = *args;
    let limits = Limits {
        bound,
        most: max_schedules.unwrap_or(USUAL_MOST),
        choices: max_schedules.is_none().then_some(USUAL_CHOICES),
        seed,
    };
    let found = explore(scenario, variant, limits);
    out::print(&told(variant, limits, &found))?;
    Ok(found.failure.is_some())
}

fn told(variant: &Variant, limits: Limits, found: &Explored) -> String {
    let Explored { schedules, ends, deepest, complete, long, compared, failure } = found;
    let how = match (limits.seed, failure, complete) {
        (_, None, _) if *long => "not all: they are long; --max-schedules N runs more".to_owned(),
        (Some(seed), _, _) => format!("by dice from seed {seed}"),
        (None, Some(_), _) => "up to the first that goes wrong".to_owned(),
        (None, None, true) => format!("all with up to {} departures", limits.bound),
        (None, None, false) => format!("not all: --max-schedules {}", limits.most),
    };
    let mut out = format!(
        "{}: {schedules} schedules ({how}), {ends} different ends, longest {deepest} choices\n",
        variant.name
    );
    if !compared {
        out.push_str(
            "  bytes are not compared with orders of the operations: some depend on more, or there \
             are too many orders\n",
        );
    }
    if let Some(failure) = failure {
        writeln!(out, "  {}\n\n{}", failure.message, toml(&failure.schedule))
            .expect("a String takes everything");
    }
    out
}

fn toml(steps: &[Step]) -> String {
    let steps: Vec<String> = steps.iter().map(Step::toml).collect();
    steps.join("\n")
}
