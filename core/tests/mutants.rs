//! Every invariant of this table notices the rule that keeps it: the smallest scenario is run as it
//! is, and nothing is broken; then with the rule left out, and this invariant breaks.

use folioscope_core::check::invariants::{END_BEHIND_START, REQUEST_COVERS, REQUEST_FITS, name};
use folioscope_core::check::mutant::Mutant;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::Simulation;
use folioscope_core::streams::steps_of;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::{FileId, Order, PageIndex};
use std::collections::BTreeSet;

/// A world of small pages, with one file: sizes, what else the file has, then the operations.
fn world(sizes: (u64, u64), file: &str, ops: &str) -> String {
    let (page, block) = sizes;
    format!(
        "version = 0\ntitle = \"least\"\n[world]\npage_size = {page}\nblock_size = {block}\n\
         max_folio_order = 0\nreadahead = 0\nkeep_going = true\n{file}\n{ops}\n"
    )
}

/// `[[op]]` entries from lines.
fn ops(lines: &[&str]) -> String {
    let entry = |line: &&str| format!("[[op]]\n{}\n", line.replace("; ", "\n"));
    lines.iter().map(entry).collect()
}

struct Case {
    number: u8,
    mutant: Mutant,
    scenario: String,
    /// What else breaks: without the rule it cannot hold either.
    also: &'static [u8],
    /// A dirty folio lies at the second page, as if it had been there before.
    seeded: bool,
}

fn case(number: u8, mutant: Mutant, scenario: String) -> Case {
    Case { number, mutant, scenario, also: &[], seeded: false }
}

fn cases() -> Vec<Case> {
    const EMPTY: &str = "[[file]]\nname = \"f\"";
    const FULL: &str = "[[file]]\nname = \"f\"\nsize = 256";
    let small = (64, 16);
    let apart = "[queue]\n[[file]]\nname = \"f\"\nsize = 16384";
    let mixed = "[queue]\nmax_size = 4096\n[[file]]\nname = \"f\"\nsize = 8192\n\
                 [[file.extent]]\nat = 0\nlen = 4096\ntype = \"mapped\"\nsector = 8000\n\
                 [[file.extent]]\nat = 4096\nlen = 4096\ntype = \"unwritten\"\nsector = 8008";
    let shared = "[[file]]\nname = \"g\"\nsize = 64\n[[file]]\nname = \"f\"\nshares = \"g\"";
    let bad_memory = "[[fault]]\nat = \"fault_in\"\nop = 0\ncopied = 0\n";
    vec![
        case(
            9,
            Mutant::ReadsHalfAFolio,
            world((64, 64), FULL, &ops(&["do = \"pread\"; len = 64"])),
        ),
        case(13, Mutant::OldMapping, world(small, EMPTY, &ops(&["do = \"pwrite\"; len = 16"]))),
        case(
            14,
            Mutant::ZeroSkipsABlock,
            world(
                small,
                "[[file]]\nname = \"f\"\nsize = 8",
                &ops(&["do = \"pwrite\"; at = 100; len = 1"]),
            ),
        ),
        case(
            16,
            Mutant::UnsharesHoles,
            world(
                small,
                shared,
                &ops(&[
                    "do = \"pwrite\"; len = 1; file = \"f\"",
                    "do = \"fallocate\"; mode = \"punch\"; at = 32; len = 16; file = \"f\"",
                    "do = \"fallocate\"; mode = \"unshare\"; at = 32; len = 16; file = \"f\"",
                ]),
            ),
        ),
        // What is stored into then is dirty and not uptodate.
        Case {
            also: &[6],
            ..case(
                18,
                Mutant::MapsBeforeReading,
                world(
                    small,
                    EMPTY,
                    &ops(&["do = \"pwrite\"; len = 16", "do = \"mmap_store\"; len = 1"]),
                ),
            )
        },
        case(
            19,
            Mutant::ZeroesBehindEof,
            world(
                small,
                "[[file]]\nname = \"f\"\nprealloc = 192",
                &ops(&["do = \"pwrite\"; at = 12; len = 1", "do = \"pwrite\"; at = 161; len = 1"]),
            ),
        ),
        Case {
            number: END_BEHIND_START,
            mutant: Mutant::WritesAtEof,
            scenario: world(small, "[[file]]\nname = \"f\"\nsize = 64", &ops(&["do = \"fsync\""])),
            also: &[],
            seeded: true,
        },
        case(
            33,
            Mutant::KeepsReservation,
            world(small, EMPTY, &(ops(&["do = \"pwrite\"; len = 32"]) + bad_memory)),
        ),
        case(
            REQUEST_COVERS,
            Mutant::MergesApart,
            world(
                (4096, 4096),
                apart,
                &ops(&[
                    "do = \"pwrite\"; len = 4096",
                    "do = \"pwrite\"; at = 8192; len = 4096",
                    "do = \"syncfs\"",
                ]),
            ),
        ),
        case(
            REQUEST_FITS,
            Mutant::MergesTooMuch,
            world((4096, 4096), mixed, &ops(&["do = \"pwrite\"; len = 8192", "do = \"syncfs\""])),
        ),
    ]
}

/// The invariants that break in a run.
fn broken(case: &Case, mutant: Option<Mutant>) -> BTreeSet<u8> {
    let scenario = parse_scenario("least", &case.scenario).expect("it is a scenario");
    let mut run = Simulation::new(&scenario, &scenario.variants[0], Recording::default());
    let mut all = BTreeSet::new();
    if case.seeded {
        let file = FileId::new(0);
        let bits = [(true, true); 4];
        assert!(run.engine.seed(file, PageIndex::new(1), Order::ZERO, &bits, &[1; 64]));
    }
    run.engine.set_mutant(mutant);
    for step in steps_of(&scenario) {
        let len = step.op.action.touched().len().get() as usize;
        let (mut dest, source) = (vec![0; len], vec![1; len]);
        let (mut dest, mut source) = (dest.as_mut_slice(), source.as_slice());
        run.perform(&step.op, &mut dest, &mut source, &step.faults).expect("nothing hangs");
        all.extend(
            run.engine
                .look(folioscope_core::world::World::broken_invariants)
                .iter()
                .map(|one| one.0),
        );
    }
    let trace = run.engine.into_sink();
    let steps = (0..trace.len()).map(|at| trace.step(at));
    all.extend(
        steps.filter(|step| step.rule == Rule::InvariantBroken).map(|step| step.args[0] as u8),
    );
    all
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "no rule is left out in release")]
fn each_rule_that_is_left_out_breaks_its_invariant() {
    for case in cases() {
        let named = |all: BTreeSet<u8>| all.into_iter().map(name).collect::<Vec<_>>();
        let (mutant, number) = (case.mutant, case.number);
        assert_eq!(named(broken(&case, None)), Vec::<String>::new(), "{mutant:?} is not left out");
        let want = case.also.iter().copied().chain([number]).collect();
        let got = named(broken(&case, Some(mutant)));
        assert_eq!(got, named(want), "{mutant:?} is left out");
    }
}
