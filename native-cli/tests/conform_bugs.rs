//! `folioscope conform` on the list of bug cases: what is executed agrees, what is not says why,
//! and a case that is changed differs.

use assert_cmd::Command;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn list() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../assets/cases/bugs.json")
}

fn cases() -> Vec<Value> {
    let text = std::fs::read_to_string(list()).expect("the list");
    serde_json::from_str(&text).expect("a list")
}

fn report(path: &Path) -> Vec<Value> {
    let mut command = Command::cargo_bin("folioscope").expect("the program is built");
    let output = command.arg("conform").arg("--json").arg(path).output().expect("it runs");
    let all: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    all["cases"].as_array().expect("cases").clone()
}

/// A report of this one case.
fn report_of(case: &Value) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("one.json");
    std::fs::write(&path, json!([case]).to_string()).expect("writable");
    report(&path)
}

fn case(id: &str) -> Value {
    cases().into_iter().find(|case| case["id"] == id).expect("the case is in the list")
}

#[test]
fn every_case_in_scope_agrees() {
    const SCOPE: [&str; 9] = [
        "dirty-tracking",
        "read-path",
        "write-path",
        "writeback",
        "failed-write",
        "eof",
        "zero-punch-cow",
        "fsx-sequence",
        "direct-io-mix",
    ];
    // What these need is not executed yet.
    const LATER: [&str; 1] = ["read-03"];
    let report = report(&list());
    for row in &report {
        assert!(matches!(row["status"].as_str(), Some("agree" | "skipped")), "{row}");
    }
    for case in cases() {
        let id = case["id"].as_str().expect("an id");
        let scope = SCOPE.iter().any(|area| case["area"] == *area);
        if !scope || LATER.contains(&id) {
            continue;
        }
        let variants = case["variants"].as_array().map_or(0, Vec::len);
        let whole =
            |row: &&Value| row["id"].as_str().and_then(|row| row.split('/').next()) == Some(id);
        let mine: Vec<&Value> = report.iter().filter(whole).collect();
        assert_eq!(mine.len(), 1 + variants, "{id}");
        assert!(mine.iter().all(|row| row["status"] == "agree"), "{mine:?}");
    }
}

#[test]
fn a_changed_expectation_differs_and_says_where() {
    for (id, pointer, value, field) in [
        ("dirty-06", "/expected/after/0/folios/0/dirty", json!("0100"), "bug_after"),
        ("dirty-06", "/expected/disk/1/2", json!("D"), "bug_disk"),
        ("read-01", "/expected/read_ranges/0/1", json!(2048), "bug_read_ranges"),
        ("read-07", "/expected/bios_op/1/0/1", json!(5_242_880), "bug_bios_op"),
        ("write-01", "/expected/counters/copy_attempts/max", json!(0), "bug_counters"),
        ("write-06", "/expected/snapshots/crash1/disk_size", json!(1600), "bug_snapshots"),
        ("wb-08", "/expected/any_of/1/ret/0/err", json!("EIO"), "bug_any_of"),
        ("wb-09", "/expected/ioends/1/flags", json!([]), "bug_ioends"),
        ("wb-10", "/expected/writeback_end/0/bios", json!(2), "bug_writeback_end"),
        ("read-08", "/expected/requests/0/2", json!(12288), "bug_requests"),
        ("read-08", "/expected/all_bios/1/0", json!("data"), "bug_all_bios"),
    ] {
        let mut case = case(id);
        *case.pointer_mut(pointer).expect("it is in the case") = value;
        case.as_object_mut().expect("an object").remove("variants");
        let row = report_of(&case).remove(0);
        assert_eq!(row["status"], "differ", "{row}");
        assert_eq!(row["first_difference"]["field"], field, "{row}");
    }
}

#[test]
fn skipping_hides_no_difference_and_an_unknown_key_is_named() {
    let mut open = case("wb-09");
    open["expected"]["split_bios"] = json!([]);
    assert_eq!(report_of(&open)[0]["status"], "skipped");
    assert!(report_of(&open)[0]["why"].to_string().contains("split_bios"));
    open["expected"]["bytes"] = json!([[0, 32768, "X"]]);
    assert_eq!(report_of(&open)[0]["first_difference"]["field"], "bug_bytes");
    for (pointer, says) in [
        ("/scenario", "scenario: unknown field `colour`"),
        ("/scenario/ops/1", "operation fsync: unknown field `colour`"),
        ("/expected", "expected: unknown field `colour`"),
    ] {
        let mut wrong = case("wb-09");
        wrong.pointer_mut(pointer).expect("there")["colour"] = json!("red");
        let row = report_of(&wrong).remove(0);
        assert_eq!(row["status"], "unreadable", "{row}");
        assert!(row["why"].to_string().contains(says), "{row}");
    }
}

/// Numbers that overflow sums, or make a loop endless.
#[test]
fn a_number_that_no_place_has_is_a_sentence() {
    for (id, pointer) in [("dirty-06", "/expected/disk/1/1"), ("wb-09", "/scenario/ops/0/len")] {
        let mut wrong = case(id);
        *wrong.pointer_mut(pointer).expect("there") = json!(u64::MAX);
        let row = report_of(&wrong).remove(0);
        assert_eq!(row["status"], "unreadable", "{row}");
        let says = format!("{pointer} is 18446744073709551615: expected 1099511627776 at most");
        assert!(row["why"].to_string().contains(&says), "{row}");
    }
}

#[test]
fn what_was_there_after_an_operation_stays_when_an_earlier_one_ends_later() {
    let step = |task: &str, until: &str| json!({ "task": task, "run_until": until });
    let case = json!({
        "id": "later", "source": "", "area": "write-path", "kind": "engine",
        "profile": "linux-6.18", "fs": "generic", "title": "", "mechanism": "", "notes": "",
        "scenario": {
            "page": 4096, "bs": 4096, "folio_order": 0, "i_size": 0,
            "ops": [
                { "op": "pwrite", "off": 0, "len": 4096, "byte": "A", "task": "W" },
                { "op": "fsync", "task": "R" },
            ],
            "schedule": [step("W", "folio_locked"), step("R", "end"), step("W", "end")],
        },
        "expected": { "after": { "1": { "i_size": 0 }, "end": { "i_size": 4096 } } },
    });
    let report = report_of(&case);
    assert!(report.iter().all(|row| row["status"] == "agree"), "{report:?}");
}
