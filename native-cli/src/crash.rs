//! `folioscope crash`: the power is cut at every step of runs, and what is left is looked at.

use crate::error::{Failure, Outcome};
use crate::input;
use crate::out;
use clap::Args;
use folioscope_core::scenario::Scenario;
use folioscope_core::scenario::crash::{Failed, Looked, Thoroughness, generate, sweep};
use folioscope_core::scenario::file::parse_scenario;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

/// Of so many states one is mounted by an engine and read through it.
const MOUNT_EVERY: u32 = 16;
/// Failures that are shown with their scenario; the others are counted.
const SHOWN: usize = 3;

/// What `crash` can be told.
#[derive(Args, Debug)]
pub(crate) struct CrashArgs {
    /// A scenario (.toml), all of its variants; random ones if not given
    file: Option<PathBuf>,
    /// Random scenarios to run
    #[arg(long, value_name = "N", default_value_t = 200, conflicts_with = "file",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    runs: u64,
    /// States to look at after every step that changed what a cut may leave
    #[arg(long, value_name = "N", default_value_t = 64,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    states: u32,
    /// Seed of the first random scenario, and of the states
    #[arg(long, value_name = "N", default_value_t = 0,
        value_parser = clap::value_parser!(u64).range(..=u64::MAX - 1_000_000))]
    seed: u64,
    /// Print the scenario of the seed, and run nothing
    #[arg(long, conflicts_with_all = ["file", "runs", "states"])]
    print: bool,
}

/// Runs the command.
pub(crate) fn crash(args: &CrashArgs) -> Outcome<()> {
    if args.print {
        return out::print(&generate(args.seed));
    }
    let begun = Instant::now();
    let mut total = Total::default();
    if let Some(path) = &args.file {
        let Some(scenario) = input::compared(path)? else {
            return Err(Failure::usage(format!(
                "{} is no scenario: name a file that ends in .toml",
                path.display()
            )));
        };
        total.run(&scenario, args.states, args.seed, None)?;
    } else {
        for seed in args.seed..args.seed + args.runs {
            let text = generate(seed);
            let scenario = parse_scenario("generated", &text).map_err(|error| {
                Failure::broken(format!("seed {seed}: {error}: please report this"))
            })?;
            total.run(&scenario, args.states, seed, Some(&text))?;
        }
    }
    let Looked { moments, states, mounted, sectors } = total.looked;
    let seconds = begun.elapsed().as_secs_f64();
    let mut text = total.shown;
    writeln!(
        text,
        "{} runs, {moments} moments, {states} states of {sectors} unsettled sectors, {mounted} of \
         them mounted and read: {} wrong, {seconds:.1} s",
        total.runs, total.wrong
    )
    .expect("a String takes everything");
    out::print(&text)?;
    match total.wrong {
        0 => Ok(()),
        wrong => {
            Err(Failure::check(format!("a power cut leaves what it must not in {wrong} runs")))
        }
    }
}

#[derive(Default)]
struct Total {
    runs: u64,
    wrong: usize,
    looked: Looked,
    shown: String,
}

impl Total {
    /// Every variant of a scenario.
    fn run(
        &mut self,
        scenario: &Scenario,
        states: u32,
        seed: u64,
        text: Option<&str>,
    ) -> Outcome<()> {
        let how = Thoroughness { states, mount_every: MOUNT_EVERY, seed, data_first: true };
        for variant in &scenario.variants {
            self.runs += 1;
            let found = match sweep(scenario, variant, how) {
                Ok(looked) => {
                    self.looked += looked;
                    continue;
                }
                Err(Failed::Found(found)) => found,
                Err(stuck @ Failed::Stuck(..)) => {
                    return Err(Failure::broken(format!(
                        "seed {seed}: {stuck}: please report this"
                    )));
                }
            };
            self.wrong += 1;
            let name = &variant.name;
            writeln!(self.shown, "seed {seed}, variant {name:?}, {found}")
                .expect("a String takes everything");
            if let Some(text) = text.filter(|_| self.wrong <= SHOWN) {
                writeln!(self.shown, "{text}").expect("a String takes everything");
            }
        }
        Ok(())
    }
}
