//! A scenario on a simulated device: the totals of each of its variants, side by side.

use super::sink::{JobSink, Limited};
use super::{RunArgs, limits};
use crate::error::{Failure, Outcome};
use crate::out::{self, Unfinished};
use folioscope_core::check::invariants::sentence;
use folioscope_core::counters::{Counter, Counters};
use folioscope_core::scenario::run::{RunError, run};
use folioscope_core::scenario::{Scenario, Variant};
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::trace::wire::{self, MAX_STEPS};
use folioscope_core::units::Pos;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Runs every variant, or the one that was asked for.
pub(super) fn run_scenario(args: &RunArgs, mut scenario: Scenario) -> Outcome<()> {
    refuse_options(args)?;
    if let Some(device) = &args.limits {
        let disk = limits::read(device)?;
        for oddity in disk.queue.oddities(disk.size) {
            eprintln!("folioscope: warning: {}: {oddity}", device.display());
        }
        (scenario.queue, scenario.partition) = (Some(disk.queue), disk.partition);
    }
    let scenario = &scenario;
    let variants = chosen(scenario, args.variant.as_deref())?;
    if let Some(path) = &args.trace {
        let [variant] = variants[..] else {
            return Err(Failure::usage(format!(
                "a trace holds one run, and the scenario has {} variants: choose with --variant {:?}",
                variants.len(),
                variants[0].name
            )));
        };
        let file = Unfinished::create("--trace", path, [args.job.as_path()])?;
        let (ran, recording) = record(scenario, variant)?;
        file.finish(&wire::encode(&ran.0, &recording))?;
        return print(args, scenario, &[(variant, ran.1)]);
    }
    let mut results = Vec::new();
    for variant in variants {
        let ran = run(scenario, variant, NoTrace).map_err(|stuck| failed_in(variant, stuck))?;
        check_invariants(scenario, variant, &ran.counters, ran.broken)?;
        note_idle(variant, &ran.idle_steps);
        results.push((variant, ran.counters));
    }
    print(args, scenario, &results)
}

/// Runs one variant and keeps its steps.
pub(crate) fn record(
    scenario: &Scenario,
    variant: &Variant,
) -> Outcome<((folioscope_core::trace::header::Header, Counters), Recording)> {
    let ran = run(scenario, variant, Limited::default());
    let ran = ran.map_err(|stuck| failed_in(variant, stuck))?;
    check_invariants(scenario, variant, &ran.counters, ran.broken)?;
    note_idle(variant, &ran.idle_steps);
    if ran.sink.is_full() {
        return Err(Failure::usage(format!(
            "variant {:?} has more than {MAX_STEPS} steps, the most that a trace holds: make its operations fewer",
            variant.name
        )));
    }
    Ok(((ran.header, ran.counters), ran.sink.recording))
}

/// The variant with this name, or all.
pub(crate) fn chosen<'a>(scenario: &'a Scenario, name: Option<&str>) -> Outcome<Vec<&'a Variant>> {
    let Some(name) = name else {
        return Ok(scenario.variants.iter().collect());
    };
    let found = scenario.variants.iter().find(|variant| variant.name == name);
    found.map(|variant| vec![variant]).ok_or_else(|| {
        let names: Vec<String> =
            scenario.variants.iter().map(|variant| format!("{:?}", variant.name)).collect();
        Failure::usage(format!(
            "--variant {name:?} is not in the scenario: expected one of {}",
            names.join(", ")
        ))
    })
}

/// Steps of a schedule that do nothing are no error: with other switches they may do something.
fn note_idle(variant: &Variant, steps: &[usize]) {
    if !steps.is_empty() {
        let steps: Vec<String> = steps.iter().map(usize::to_string).collect();
        let steps = steps.join(", ");
        eprintln!(
            "note: variant {:?}: steps of the schedule with nothing to do: {steps}",
            variant.name
        );
    }
}

fn failed_in(variant: &Variant, error: RunError) -> Failure {
    let name = &variant.name;
    match error {
        RunError::Stuck(stuck) => {
            Failure::broken(format!("variant {name:?}: {stuck}: please report this"))
        }
        RunError::Hangs(hangs) => Failure::check(format!("variant {name:?}: {hangs}")),
    }
}

/// A broken invariant is a fault of the engine, except where the scenario asks to be shown one.
fn check_invariants(
    scenario: &Scenario,
    variant: &Variant,
    counters: &Counters,
    broken: Option<(u8, Pos)>,
) -> Outcome<()> {
    let Some(first) = broken.filter(|_| !scenario.keep_going) else { return Ok(()) };
    Err(Failure::broken(format!(
        "variant {:?}: {} invariants of the engine were broken, first {}: please report this",
        variant.name,
        counters.get(Counter::BrokenInvariants),
        sentence(first)
    )))
}

/// A scenario says itself what these options say for a job.
fn refuse_options(args: &RunArgs) -> Outcome<()> {
    let given = [
        ("--target", args.target.is_some()),
        ("--verify", args.verify),
        ("--depth", args.depth.is_some()),
        ("--memory", args.memory.is_some()),
        ("--page-size", args.world.page_size.is_some()),
        ("--block-size", args.world.block_size.is_some()),
        ("--max-folio-order", args.world.max_folio_order.is_some()),
        ("--profile", args.world.profile.is_some()),
        ("--set", !args.world.switches.is_empty()),
    ];
    given.iter().find(|(_, given)| *given).map_or(Ok(()), |(name, _)| {
        Err(Failure::usage(format!(
            "{name} is for jobs of fio: a scenario says in its file what its world is, and runs on a simulated device"
        )))
    })
}

fn print(args: &RunArgs, scenario: &Scenario, results: &[(&Variant, Counters)]) -> Outcome<()> {
    if args.json {
        let variants: Vec<Value> =
            results.iter().map(|(v, counters)| json_of(v, counters)).collect();
        let value = json!({ "version": 0, "title": scenario.title, "variants": variants });
        let text = serde_json::to_string_pretty(&value).expect("plain data");
        return out::print(&(text + "\n"));
    }
    let mut out = format!("{}\n", scenario.title);
    let columns = |out: &mut String, first: &str, cells: &mut dyn Iterator<Item = String>| {
        write!(out, "{first:<24}").expect("a String takes everything");
        for cell in cells {
            write!(out, " {cell:>18}").expect("a String takes everything");
        }
        out.push('\n');
    };
    columns(&mut out, "", &mut results.iter().map(|(variant, _)| variant.name.clone()));
    for counter in Counter::ALL {
        let values: Vec<u64> = results.iter().map(|(_, counters)| counters.get(*counter)).collect();
        if values.iter().any(|value| *value > 0) {
            columns(&mut out, counter.name(), &mut values.iter().map(u64::to_string));
        }
    }
    let amplification = |counters: &Counters| {
        counters.amplification().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
    };
    columns(
        &mut out,
        "amplification",
        &mut results.iter().map(|(_, counters)| amplification(counters)),
    );
    out::print(&out)
}

fn json_of(variant: &Variant, counters: &Counters) -> Value {
    let all: Map<String, Value> =
        counters.iter().map(|(counter, value)| (counter.name().to_owned(), json!(value))).collect();
    json!({
        "name": variant.name,
        "profile": variant.profile,
        "counters": all,
        "amplification": counters.amplification(),
    })
}
