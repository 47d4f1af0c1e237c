//! `folioscope crash`: the power is cut at every step of runs, and what is left is looked at.

use crate::error::{Failure, Outcome};
use crate::input;
use crate::out;
use clap::Args;
use folioscope_core::scenario::crash::{
    Failed, Looked, Thoroughness, check_histories, generate, sweep,
};
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::{Scenario, Variant};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

/// Of so many states one is mounted by an engine and read through it.
const MOUNT_EVERY: u32 = 16;
/// Most bytes that are compared where nobody says at how many moments to look.
const COMPARED: u64 = 8 << 30;
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
    /// Look at every Nth moment only; if not given, at as many as can be compared in a while
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    every: Option<u64>,
    /// Seed of the first random scenario, and of the states
    #[arg(long, value_name = "N", default_value_t = 0,
        value_parser = clap::value_parser!(u64).range(..=u64::MAX - 1_000_000))]
    seed: u64,
    /// Print the scenario of the seed, and run nothing
    #[arg(long, conflicts_with_all = ["file", "runs", "states", "every"])]
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
        check_histories(&scenario)
            .map_err(|why| Failure::usage(format!("{}: {why}", path.display())))?;
        total.run(&scenario, (args.states, args.every), args.seed, None)?;
    } else {
        for seed in args.seed..args.seed + args.runs {
            let text = generate(seed);
            let scenario = parse_scenario("generated", &text).map_err(|error| {
                Failure::broken(format!("seed {seed}: {error}: please report this"))
            })?;
            // Their files are short.
            let every = args.every.or(Some(1));
            total.run(&scenario, (args.states, every), seed, Some(&text))?;
        }
    }
    let Looked { passed, moments, states, mounted, sectors } = total.looked;
    let moments =
        if passed == moments { moments.to_string() } else { format!("{moments} of {passed}") };
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

/// Looks at all moments, or where that would compare more than [`COMPARED`] at every so many: a run
/// that looks at the first one only says how many there are.
fn sweep_in_a_while(
    scenario: &Scenario,
    variant: &Variant,
    how: Thoroughness,
) -> Result<Looked, Failed> {
    let bytes: u64 = scenario.grown().iter().map(|size| size.get()).sum();
    let each = u64::from(how.states).saturating_mul(bytes);
    let first = sweep(scenario, variant, Thoroughness { every: u64::MAX, states: 1, ..how })?;
    let every = first.passed.saturating_mul(each).div_ceil(COMPARED).max(1);
    sweep(scenario, variant, Thoroughness { every, ..how })
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
        (states, every): (u32, Option<u64>),
        seed: u64,
        text: Option<&str>,
    ) -> Outcome<()> {
        let how = Thoroughness {
            every: every.unwrap_or(1),
            states,
            mount_every: MOUNT_EVERY,
            seed,
            data_first: true,
        };
        for variant in &scenario.variants {
            self.runs += 1;
            let swept = match every {
                Some(_) => sweep(scenario, variant, how),
                None => sweep_in_a_while(scenario, variant, how),
            };
            let found = match swept {
                Ok(looked) => {
                    self.looked += looked;
                    continue;
                }
                Err(Failed::Found(found)) => found,
                Err(gone @ Failed::Gone) => {
                    let name = &variant.name;
                    return Err(Failure::usage(format!("variant {name:?}: {gone}")));
                }
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
