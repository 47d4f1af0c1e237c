//! Every scenario that is shipped, through every tool that takes one: each ends, with what is known
//! of the scenario, or with a sentence why the tool does not take it.
//!
//! The scenarios of the lessons are among them. Bounds are small, so that all of it takes seconds.

use crate::world::{end, program};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The tools, with options that bound what they do.
const TOOLS: [(&str, &[&str]); 5] = [
    ("run", &[]),
    ("render", &["--format", "svg"]),
    ("crash", &["--states", "3", "--every", "40"]),
    ("fuzz", &["--replay"]),
    ("explore", &["--bound", "1", "--max-schedules", "200"]),
];

/// What a tool ends with where that is not 0: the file, the tool, the exit code, and what it says.
/// Each of these scenarios has a variant that goes wrong so, or asks for what the tool does not do.
const OTHERWISE: &[(&str, &str, i32, &str)] = &[
    ("append-race", "explore", 1, "variant \"whole blocks\""),
    ("data-before-map-large", "fuzz", 1, "I34 is broken"),
    ("read-ended-twice", "fuzz", 1, "I34 is broken"),
    ("read-ended-twice", "render", 2, "a picture shows 2 at most"),
    ("data-before-map", "render", 2, "a picture shows 2 at most"),
    ("data-before-map-large", "render", 2, "a picture shows 2 at most"),
    ("stripe-alignment", "render", 2, "a picture shows 2 at most"),
    ("stripe-alignment-partition", "render", 2, "a picture shows 2 at most"),
    ("write-hole", "render", 2, "a picture shows 2 at most"),
    ("dirty-throttle", "crash", 2, "sync them more often"),
    ("two-devices", "crash", 2, "sync them more often"),
    ("stripe-alignment-partition", "fuzz", 1, "B3 is broken"),
    ("stripe-stale-offset", "fuzz", 1, "I37 is broken"),
    ("stripe-stale-offset", "crash", 1, "a power cut leaves what it must not in 1 runs"),
    ("write-hole", "fuzz", 2, "operation 2: the power is cut: `crash` judges that"),
    ("append-race", "fuzz", 2, "operation 5: the power is cut: `crash` judges that"),
    ("append-while-flushing", "explore", 1, "variant \"whole blocks\""),
    ("append-while-writing-back", "explore", 1, "variant \"whole blocks\""),
    ("load-while-punching", "explore", 1, "variant \"no lock\""),
    ("store-while-punching", "explore", 1, "variant \"no lock\""),
    ("write-under-pressure", "explore", 1, "variant \"trusts its mapping\""),
    ("write-while-converting", "explore", 1, "variant \"trusts its mapping\""),
];

/// Other values of the last option: of what has long courses fewer, of what shows in few moments
/// all.
const BOUNDS: [(&str, &str, &str); 3] = [
    ("two-devices", "explore", "1"),
    ("two-writers-throttled", "explore", "20"),
    ("stripe-stale-offset", "crash", "1"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/scenarios")
}

/// The scenarios in a folder, by name.
fn scenarios(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("lists");
    let paths = entries.map(|entry| entry.expect("lists").path());
    let mut all: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    all.sort();
    all
}

/// What is wrong with how a tool took a scenario.
fn wrong(path: &Path, (tool, options): (&str, &[&str])) -> Option<String> {
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let mut options = options.to_vec();
    if let Some((.., bound)) = BOUNDS.iter().find(|(file, by, _)| *file == name && *by == tool) {
        *options.last_mut().expect("a bound") = bound;
    }
    let ended = end(program().arg(tool).args(options).arg(path));
    let said = format!("{}{}", ended.out, ended.err);
    let text = std::fs::read_to_string(path).expect("reads");
    let known = OTHERWISE.iter().find(|(file, by, ..)| *file == name && *by == tool);
    let (code, says) = match known {
        Some((_, _, code, says)) => (*code, *says),
        None if tool == "explore" && !text.contains("\ntask = ") => (2, "give some a `task`"),
        None => (0, ""),
    };
    let right = ended.code == code && said.contains(says) && !said.contains("please report");
    (!right).then(|| format!("{tool} {name}: {} instead of {code}: {said:.600}", ended.code))
}

/// Carries out all cases, on several threads; what is wrong with each.
fn all_wrong<T: Sync>(cases: &[T], wrong: impl Fn(&T) -> Option<String> + Sync) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            found.extend(wrong(case));
        }
        found
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    })
}

#[test]
fn every_tool_takes_every_scenario_or_says_why_not() {
    let mut all = scenarios(&folder());
    all.extend(scenarios(&folder().join("races")));
    assert!(all.len() > 25, "{}", all.len());
    let cases: Vec<_> =
        all.iter().flat_map(|path| TOOLS.map(|tool| (path.as_path(), tool))).collect();
    let found = all_wrong(&cases, |(path, tool)| wrong(path, *tool));
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

/// Scenarios that mix features: arrays, partitions, tasks, limits on dirty pages, faults, direct
/// I/O, shared blocks, mappings. Nothing is wrong with any of them, as far as it can be judged.
#[test]
fn features_that_meet_are_no_alarm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mixed");
    let all = scenarios(&folder);
    assert!(all.len() > 20, "{}", all.len());
    let cases: Vec<_> =
        all.iter().flat_map(|path| TOOLS.map(|tool| (path.as_path(), tool))).collect();
    let found = all_wrong(&cases, |(path, (tool, options))| {
        let ended = end(program().arg(tool).args(*options).arg(path));
        let reasons = match *tool {
            "fuzz" => ["it cannot be judged: ", "it cannot be judged: "],
            "explore" => ["give some a `task`", "give some a `task`"],
            "crash" => ["its array has lost more members", "sync them more often"],
            _ => ["no reason", "no reason"],
        };
        let said = reasons.iter().any(|reason| ended.err.contains(reason));
        let right = ended.code == 0 || ended.code == 2 && said;
        (!right).then(|| format!("{tool} {}: {} {}", path.display(), ended.code, ended.err))
    });
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}
