//! Lists of cases, each a start state, operations and what must hold (`bugs.json`).

mod check;
mod device;
mod expect;
mod format;
mod machine;
mod missing;
mod perform;
mod run;
mod schedule;
mod snapshot;
mod start;
mod state;
mod watch;
mod words;

use super::known::Known;
use super::report::Case;
use check::Findings;
use expect::Expected;
use folioscope_core::behaviour::Profile;
use format::{RawCase, Scenario, Variant};
use machine::Machine;
use run::Shown;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The largest number of a case: 1 TiB, if it is a place.
const LARGEST: u64 = 1 << 40;

/// Whether a document is a list of cases.
pub(super) fn is_list(value: &Value) -> bool {
    value
        .as_array()
        .and_then(|list| list.first())
        .is_some_and(|case| case.get("scenario").is_some())
}

/// Every case of a list, and each of its variants.
pub(super) fn run_list(value: &Value, known: &Known) -> Vec<Case> {
    let mut out = Vec::new();
    for (at, value) in value.as_array().into_iter().flatten().enumerate() {
        let id = value.get("id").and_then(Value::as_str);
        let id = id.map_or_else(|| format!("number {at}"), str::to_owned);
        let mut variants = Vec::new();
        if let Err(why) = sane(value, &mut String::new()) {
            out.push(Case::unreadable(id, why));
            continue;
        }
        out.push(
            match read::<RawCase>(value, "the case") {
                Ok(case) => {
                    variants.clone_from(&case.variants);
                    run_case(&id, &case, known)
                }
                Err(why) => Err(why),
            }
            .unwrap_or_else(|why| Case::unreadable(id.clone(), why)),
        );
        for variant in variants {
            let id = format!("{id}/{}", variant.name);
            let case = changed(value, &variant).and_then(|case| run_case(&id, &case, known));
            out.push(case.unwrap_or_else(|why| Case::unreadable(id, why)));
        }
    }
    out
}

/// Whether no number of a case is larger than any place or size that it can mean.
fn sane(value: &Value, place: &mut String) -> Result<(), String> {
    let inside = place.len();
    let mut look = |key: &str, value: &Value| {
        place.push('/');
        place.push_str(key);
        sane(value, place)?;
        place.truncate(inside);
        Ok(())
    };
    match value {
        Value::Object(fields) => fields.iter().try_for_each(|(key, value)| look(key, value)),
        Value::Array(list) => {
            list.iter().enumerate().try_for_each(|(at, value)| look(&at.to_string(), value))
        }
        Value::Number(number) if number.as_u64().is_some_and(|number| number > LARGEST) => {
            Err(format!("{place} is {number}: expected {LARGEST} at most"))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// The case that a variant makes of its case.
fn changed(value: &Value, variant: &Variant) -> Result<RawCase, String> {
    let mut changed = value.clone();
    for (pointer, new) in &variant.set {
        put(&mut changed, pointer, new)?;
    }
    if let Some(expected) = &variant.expected {
        changed["expected"] = expected.clone();
    }
    read(&changed, "the case")
}

fn read<T: DeserializeOwned>(value: &Value, what: &str) -> Result<T, String> {
    T::deserialize(value).map_err(|error| format!("{what}: {error}"))
}

/// Replaces what a JSON pointer names; the last key of an object may be new.
fn put(value: &mut Value, pointer: &str, new: &Value) -> Result<(), String> {
    if let Some(slot) = value.pointer_mut(pointer) {
        *slot = new.clone();
        return Ok(());
    }
    let (parent, key) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    let map = value.pointer_mut(parent).and_then(Value::as_object_mut);
    let map = map.ok_or_else(|| format!("nothing is at {pointer}"))?;
    map.insert(key.replace("~1", "/").replace("~0", "~"), new.clone());
    Ok(())
}

fn run_case(id: &str, case: &RawCase, known: &Known) -> Result<Case, String> {
    let scenario: Scenario = read(&case.scenario, "scenario")?;
    let expected: Expected = read(&case.expected, "expected")?;
    Ok(run_typed(id, case, (&scenario, &expected), known))
}

fn run_typed(
    id: &str,
    case: &RawCase,
    (scenario, expected): (&Scenario, &Expected),
    known: &Known,
) -> Case {
    if let Some(why) = missing::missing(case, scenario) {
        return Case::skipped(id.to_owned(), why);
    }
    let Some(profile) = Profile::named(&case.profile) else {
        return Case::skipped(id.to_owned(), format!("the profile {}", case.profile));
    };
    let shown = catch_unwind(AssertUnwindSafe(|| {
        let mut shown = Shown::new(Machine::new(scenario, case.fs, profile)?);
        shown.run(scenario);
        Ok::<Shown, String>(shown)
    }));
    let mut found = Findings::default();
    match shown {
        Ok(Ok(shown)) => check::check(&mut found, scenario, expected, &shown),
        Ok(Err(why)) => return Case::skipped(id.to_owned(), format!("a start state: {why}")),
        Err(_) => found.field("bug_invariants", 0, json!("no panic"), json!("the engine stopped")),
    }
    if found.verdict.differences.is_empty() && !found.unchecked.is_empty() {
        return Case::skipped(id.to_owned(), found.unchecked.join(", "));
    }
    Case::compared(id.to_owned(), found.verdict, known)
}
