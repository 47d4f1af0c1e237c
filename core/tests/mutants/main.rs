//! Every invariant of the table notices the rule that keeps it: the smallest scenario is run as it
//! is, and nothing is broken; then with the rule left out, and this invariant breaks. Without any
//! one of its operations, or of what goes wrong in it, it does not.

mod cases;

use cases::{CASES, Case, Start};
use folioscope_core::check::invariants::{INVARIANTS, Invariant, name};
use folioscope_core::check::mutant::Mutant;
use folioscope_core::fs::Provider;
use folioscope_core::fs::extents::Extents;
use folioscope_core::fs::inline::InlineData;
use folioscope_core::scenario::ScenarioOp;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::Simulation;
use folioscope_core::streams::steps_of;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::{Bytes, FileId, Order, PageIndex, Pos};
use folioscope_core::world::World;
use std::collections::BTreeSet;

/// Invariants that nothing here breaks, and where they are seen broken.
const ELSEWHERE: &[(u8, &str)] = &[
    (34, "seed_004: one way to read before a mapping is known"),
    (35, "seed_004: the same in a folio of several blocks"),
    (37, "stripes: the stale offset of a proposal"),
    (42, "direct_rules: who waits for direct I/O"),
];

/// A world of small pages: the tables of a case, then some of its operations and faults.
fn scenario(case: &Case, ops: &[&str], faults: &[&str]) -> String {
    let Case { profile, sizes: (page, block), start, .. } = *case;
    let mut text = format!(
        "version = 0\ntitle = \"least\"\nprofile = \"{profile}\"\n\
         [world]\npage_size = {page}\nblock_size = {block}\n\
         max_folio_order = 0\nreadahead = 0\nkeep_going = true\n{start}\n"
    );
    for (table, entries) in [("op", ops), ("fault", faults)] {
        for entry in entries {
            text.extend([format!("[[{table}]]\n"), entry.replace("; ", "\n"), "\n".to_owned()]);
        }
    }
    text
}

/// The invariants that break in a run.
fn broken(case: &Case, ops: &[&str], faults: &[&str], mutant: Option<Mutant>) -> BTreeSet<u8> {
    let scenario = parse_scenario("least", &scenario(case, ops, faults)).expect("a scenario");
    let mut run = Simulation::new(&scenario, &scenario.variants[0], Recording::default());
    let mut all = BTreeSet::new();
    let mut inline = None;
    match case.before {
        Start::Files => {}
        Start::DirtyFolio => {
            let (file, bits) = (FileId::new(0), [(true, true); 4]);
            assert!(run.engine.seed(file, PageIndex::new(1), Order::ZERO, &bits, &[1; 64]));
        }
        Start::Inline => {
            let mut fs = Extents::new(scenario.geometry);
            fs.set_inline(InlineData::new(Bytes::new(32), Vec::new()));
            inline = Some(run.engine.open(Pos::ZERO, Provider::Extents(fs)));
        }
    }
    run.engine.set_mutant(mutant);
    for step in steps_of(&scenario) {
        let op = ScenarioOp { file: inline.unwrap_or(step.op.file), ..step.op };
        let len = op.action.touched().len().get() as usize;
        let (mut dest, source) = (vec![0; len], vec![1; len]);
        let (mut dest, mut source) = (dest.as_mut_slice(), source.as_slice());
        let done = run.perform(&op, &mut dest, &mut source, &step.faults);
        assert!(done.is_ok() || mutant.is_some(), "nothing hangs");
        all.extend(run.engine.look(World::broken_invariants).iter().map(|one| one.0));
    }
    let trace = run.engine.into_sink();
    let steps = (0..trace.len()).map(|at| trace.step(at));
    all.extend(
        steps.filter(|step| step.rule == Rule::InvariantBroken).map(|step| step.args[0] as u8),
    );
    all
}

fn named(all: impl IntoIterator<Item = u8>) -> Vec<String> {
    all.into_iter().map(name).collect()
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "no rule is left out in release")]
fn each_rule_that_is_left_out_breaks_its_invariant() {
    let mut wrong = Vec::new();
    for case in CASES {
        let Case { number, mutant, ops, faults, .. } = *case;
        let kept = named(broken(case, ops, faults, None));
        let left_out = named(broken(case, ops, faults, Some(mutant)));
        let want = named(case.also.iter().copied().chain([number]).collect::<BTreeSet<u8>>());
        if !kept.is_empty() || left_out != want {
            wrong.push(format!("{mutant:?}: breaks {left_out:?}, not {want:?}; kept: {kept:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "no rule is left out in release")]
fn no_scenario_of_these_has_too_much() {
    let without = |all: &[&'static str], at: usize| {
        let rest = all.iter().enumerate().filter(|(nth, _)| *nth != at);
        rest.map(|(_, one)| *one).collect::<Vec<_>>()
    };
    for case in CASES {
        let Case { number, mutant, ops, faults, .. } = *case;
        for at in 0..ops.len() {
            if faults.iter().any(|fault| fault.contains("op = ")) {
                continue;
            }
            let found = broken(case, &without(ops, at), faults, Some(mutant));
            assert!(!found.contains(&number), "{mutant:?}: {:?} is too much", ops[at]);
        }
        for at in 0..faults.len() {
            let found = broken(case, ops, &without(faults, at), Some(mutant));
            assert!(!found.contains(&number), "{mutant:?}: {:?} is too much", faults[at]);
        }
    }
}

#[test]
fn every_invariant_is_seen_broken() {
    let seen: BTreeSet<u8> =
        CASES.iter().map(|case| case.number).chain(ELSEWHERE.iter().map(|one| one.0)).collect();
    let all: BTreeSet<u8> = INVARIANTS.iter().map(|one| one.number).collect();
    assert_eq!(named(seen), named(all));
}

#[test]
fn the_document_lists_what_is_checked() {
    let text = include_str!("../../../ARCHITECTURE.md");
    let (_, from) = text.split_once("| | what holds | since |\n|---|---|---|\n").expect("a table");
    let rows: Vec<&str> = from.lines().take_while(|line| line.starts_with('|')).collect();
    let row = |one: &Invariant| format!("| {} | {} | {} |", name(one.number), one.words, one.since);
    assert_eq!(rows, INVARIANTS.iter().map(row).collect::<Vec<_>>());
}
