//! `folioscope conform`: the goldens, and what it says of everything else.

use assert_cmd::Command;
use serde_json::Value;
use std::path::PathBuf;

fn conform() -> Command {
    let mut command = Command::cargo_bin("folioscope").expect("the program is built");
    command.arg("conform");
    command
}

fn goldens() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../assets/goldens")
}

fn json(command: &mut Command) -> Value {
    let output = command.arg("--json").output().expect("it runs");
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

#[test]
fn the_engine_agrees_with_what_the_kernel_did() {
    let report = json(conform().arg(goldens()));
    let total = &report["total"];
    assert_eq!(total["differ"], 0, "{report}");
    assert_eq!(total["fields_compared"], total["fields_agree"]);
    assert!(total["fields_compared"].as_u64() > Some(2000));
    // Groups that need nothing that is missing are compared as a whole.
    for case in report["cases"].as_array().expect("a list") {
        let id = case["id"].as_str().expect("an id");
        let whole = ["d_", "w_", "h_"].iter().any(|group| id.starts_with(group));
        assert!(!whole || case["status"] == "agree", "{case}");
    }
}

#[test]
fn a_golden_that_is_changed_differs_and_says_where() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("changed.json");
    let text = std::fs::read_to_string(goldens().join("d_sub_block.json")).expect("a golden");
    for (good, bad, field) in [
        ("\"pos\":0,\"order\":4", "\"pos\":0,\"order\":3", "folios_added"),
        ("\"len\":4096,\"added\":4096", "\"len\":4096,\"added\":512", "ioend_adds"),
        (
            "\"ranges\":[[\"f0\",4096,4096]]",
            "\"ranges\":[[\"f0\",8192,4096]]",
            "bios_by_file_offset",
        ),
        ("[5000,100,15]", "[5000,100,16]", "content"),
    ] {
        let changed = text.replace(good, bad);
        assert_ne!(changed, text, "{good} is in the golden");
        std::fs::write(&path, changed).expect("writable");
        let report = json(conform().arg(&path));
        assert_eq!(report["cases"][0]["first_difference"]["field"], field, "{report}");
        conform().arg(&path).assert().code(1);
    }
}

#[test]
fn a_known_difference_is_listed_and_one_that_agrees_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let known = folder.path().join("known.toml");
    let entry = |field: &str| {
        format!(
            "[[difference]]\nid = \"d_sub_block\"\nfield = \"{field}\"\nreason = \"for a test\"\n"
        )
    };
    std::fs::write(&known, entry("folios_added")).expect("writable");
    let golden = goldens().join("d_sub_block.json");
    let agrees = conform().arg(&golden).arg("--known").arg(&known).assert().code(1);
    let said = String::from_utf8_lossy(&agrees.get_output().stdout).into_owned();
    assert!(said.contains("folios_added agrees now, take it off"), "{said}");
    let text = std::fs::read_to_string(&golden).expect("a golden");
    let changed = folder.path().join("changed.json");
    std::fs::write(&changed, text.replace("\"pos\":0,\"order\":4", "\"pos\":0,\"order\":3"))
        .expect("writable");
    let report = json(conform().arg(&changed).arg("--known").arg(&known));
    assert_eq!(report["cases"][0]["status"], "listed");
    conform().arg(&changed).arg("--known").arg(&known).assert().success();
}

#[test]
fn what_is_no_golden_is_told_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("x.json");
    for (text, code, says) in [
        ("", 2, "not JSON"),
        ("{", 2, "not JSON"),
        ("[]", 0, "skipped"),
        ("{}", 0, "skipped"),
        ("{\"id\":\"x\",\"ops\":[]}", 2, "not a golden: missing field"),
    ] {
        std::fs::write(&path, text).expect("writable");
        let assert = conform().arg(&path).assert().code(code);
        let output = assert.get_output();
        let all = [&output.stdout[..], &output.stderr[..]].concat();
        let all = String::from_utf8_lossy(&all);
        assert!(all.contains(says), "{text}: {all}");
    }
    conform().arg(folder.path().join("missing.json")).assert().code(2);
    std::fs::remove_file(&path).expect("it is there");
    conform().arg(folder.path()).assert().code(2);
}

/// Numbers that no kernel gives end in one sentence and exit code 2: no panic, no endless run.
#[test]
fn a_golden_with_absurd_numbers_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("absurd.json");
    let text = std::fs::read_to_string(goldens().join("w_seq_100k.json")).expect("a golden");
    let golden: Value = serde_json::from_str(&text).expect("JSON");
    for (place, value) in [
        ("/files", serde_json::json!([])),
        ("/ops/0/repeat", serde_json::json!(u64::MAX)),
        ("/ops/0/off", serde_json::json!(1u64 << 63)),
        ("/ops/0/len", serde_json::json!(u64::MAX)),
        ("/maps/0/sector", serde_json::json!(1u64 << 63)),
        ("/extent_changes/0/extents/0/len", serde_json::json!(u64::MAX)),
        ("/after/f0/extents/0/sector", serde_json::json!(u64::MAX)),
        ("/device/limits/max_sectors_kb", serde_json::json!(u64::MAX)),
        ("/kernel", serde_json::json!("2.4.0")),
    ] {
        let mut absurd = golden.clone();
        *absurd.pointer_mut(place).unwrap_or_else(|| panic!("{place} is there")) = value;
        std::fs::write(&path, absurd.to_string()).expect("writable");
        let output = conform().arg(&path).output().expect("it runs");
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{place}: {words}");
        assert_eq!(words.lines().count(), 1, "{place}: {words}");
    }
}
