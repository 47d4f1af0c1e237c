//! `fuzz`: random streams of operations, checked against a plain array of bytes.
//!
//! On the engine in every world, or on a real file of this kernel (`target`). A stream that goes
//! wrong is made as short as can be and written as a scenario, which `--replay` checks again.

mod engine;
mod report;
mod target;

use crate::error::{Failure, Outcome};
use crate::input;
use crate::out;
use clap::{Args, ValueEnum};
use folioscope_core::scenario::Scenario;
use folioscope_core::streams::judge::{Verdict, judge};
use folioscope_core::streams::worlds::{WORLDS, World};
use std::path::PathBuf;

/// What `fuzz` can be told.
#[derive(Args, Clone, Debug)]
pub(crate) struct FuzzArgs {
    /// How many operations to run, in all worlds together
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    ops: u64,
    /// Where chance begins; the same number gives the same operations everywhere
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The world: a name, or `all`
    #[arg(long, value_name = "NAME", default_value = "all", value_parser = worlds)]
    geometry: Worlds,
    /// Whether memory, space and device fail now and then
    #[arg(long, value_enum, default_value_t = Switch::Off)]
    faults: Switch,
    /// Operations of a stream, which begins with a fresh world
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    length: u64,
    /// Threads
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=256))]
    jobs: u64,
    /// Where to write the shortest scenario that goes wrong; else it is printed
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Run on files of this kernel in this folder instead: unnamed ones, which leave nothing behind
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["geometry", "faults", "jobs"])]
    target: Option<PathBuf>,
    /// Run the operations of a scenario file, such as one that was saved, and check them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ops", "seed", "geometry", "faults", "target"])]
    replay: Option<PathBuf>,
}

/// On or off.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Switch {
    /// Yes.
    On,
    /// No.
    Off,
}

#[derive(Clone, Debug)]
struct Worlds(Vec<World>);

fn worlds(name: &str) -> Result<Worlds, String> {
    if name == "all" {
        return Ok(Worlds(WORLDS.to_vec()));
    }
    World::named(name).map(|world| Worlds(vec![world])).ok_or_else(|| {
        let known: Vec<&str> = WORLDS.iter().map(|world| world.name).collect();
        format!("no world is called so: expected all, {}", known.join(", "))
    })
}

/// Runs what was asked for.
pub(crate) fn fuzz(args: &FuzzArgs) -> Outcome<()> {
    if let Some(folder) = &args.target {
        return target::fuzz(args, folder);
    }
    match &args.replay {
        Some(path) => {
            let name = path.display().to_string();
            let Some(scenario) = input::compared(path)? else {
                let sentence = format!("{name} is no scenario: name one, such as --save writes it");
                return Err(Failure::usage(sentence));
            };
            if scenario.files.is_empty() {
                return Err(Failure::usage(format!("{name} has no file: add a [[file]]")));
            }
            replay(&name, &scenario)
        }
        None => engine::fuzz(args),
    }
}

/// Checks the operations of a scenario with each of its settings, and says what was checked.
fn replay(name: &str, scenario: &Scenario) -> Outcome<()> {
    let (mut wrong, mut unjudged) = (Vec::new(), Vec::new());
    for variant in &scenario.variants {
        let several = scenario.variants.len() > 1;
        let of = if several { format!("variant {:?}: ", variant.name) } else { String::new() };
        match judge(scenario, variant) {
            Verdict::Agrees => {
                let (ops, files) = (scenario.ops.len(), scenario.files.len());
                out::print(&format!(
                    "{name}: {of}{ops} operations, one after another, agree with plain arrays \
                     of the bytes of {files} files\n"
                ))?;
            }
            Verdict::Wrong(failure) => {
                wrong.push(format!("{of}operation {}: {}", failure.at + 1, failure.what));
            }
            Verdict::Unjudged(why) => unjudged.push((of, why)),
        }
    }
    // What all of them have in common is said once.
    let same = unjudged.len() == scenario.variants.len()
        && unjudged.windows(2).all(|pair| pair[0].1 == pair[1].1);
    if same {
        unjudged.truncate(1);
    }
    let told = unjudged.iter().map(|(of, why)| {
        let of = if same { "" } else { of.as_str() };
        format!("{of}it cannot be judged: {why}")
    });
    let all: Vec<String> = wrong.iter().cloned().chain(told).collect();
    let sentence = format!("{name}: {}", all.join("; "));
    match (wrong.is_empty(), unjudged.is_empty()) {
        (true, true) => Ok(()),
        (false, _) => Err(Failure::check(sentence)),
        (true, false) => Err(Failure::usage(sentence)),
    }
}
