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
    let number = |key: &str| total[key].as_u64().expect("a number");
    // Every field that differs has an entry of its own.
    let known = include_str!("../../assets/conform/known-differences.toml");
    let entries = known.lines().filter(|line| *line == "[[difference]]").count() as u64;
    assert_eq!(number("fields_compared") - number("fields_agree"), entries);
    assert!(number("fields_compared") > 8200 && number("listed") <= 9, "{total}");
    assert_eq!(number("skipped"), 0, "{total}");
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

/// A row of a queue that is changed differs, with each memory layout of the case, too.
#[test]
fn what_the_queue_did_is_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("changed.json");
    for (golden, place, field) in [
        ("w_seq_1m", "/splits/0/new_sector", "splits"),
        ("w_seq_1m", "/requests/0/sectors", "requests"),
        ("ra_dontneed", "/per_run/1/splits/0/new_sector", "splits"),
        ("ra_dontneed", "/per_run/3/requests/1/sector", "requests"),
        ("ra_phys_reversed", "/merges/2/sector", "merges"),
    ] {
        let text = std::fs::read_to_string(goldens().join(format!("{golden}.json")));
        let mut changed: Value =
            serde_json::from_str(&text.expect("a golden")).expect("it is JSON");
        let number = changed.pointer_mut(place).expect("it is in the golden");
        *number = serde_json::json!(number.as_u64().expect("a number") + 8);
        std::fs::write(&path, changed.to_string()).expect("writable");
        let report = json(conform().arg(&path));
        assert_eq!(report["cases"][0]["first_difference"]["field"], field, "{place}: {report}");
    }
}

/// Guests: each row changed is found, in the case whose row it is.
#[test]
fn what_a_guests_queue_did_is_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("changed.json");
    let stable = goldens().join("guests/stable.json");
    std::fs::copy(stable, folder.path().join("stable.json")).expect("writable");
    for (file, good, bad, case, field) in [
        ("k618_B", "[\"D\",\"vda\",\"WS\",", "[\"D\",\"vda\",\"W\",", "", "guest_requests"),
        (
            "k612_A_r6n8c64",
            "[\"vdh\",\"R\",6144,128]",
            "[\"vdh\",\"R\",6144,120]",
            "k612/A_r6n8c64_dio_kchunks",
            "guest_member_requests",
        ),
        (
            "k612_A_r6n8c64",
            "[\"vdb\",\"R\",[[6144,128,16]]]",
            "[\"vdc\",\"R\",[[6144,128,16]]]",
            "k612/A_r6n8c64_dio_kchunks",
            "guest_member_bios",
        ),
        ("k61_C", "\"R\",528480,32", "\"R\",528480,24", "k61/C_none_dio", "guest_bios"),
        (
            "k73_C",
            "map 128/1048576 to 0",
            "map 128/1044480 to 0",
            "k73/C_gfs2_jdata_read_seq",
            "guest_blocks",
        ),
        (
            "k73_C",
            "[\"D\",\"vdb\",\"RA\",46472,2048",
            "[\"D\",\"vdb\",\"RA\",46472,2040",
            "k73/C_gfs2_jdata_read_seq",
            "guest_requests",
        ),
    ] {
        let text = std::fs::read_to_string(goldens().join(format!("guests/{file}.json")));
        let text = text.expect("a golden");
        let changed = text.replacen(good, bad, 1);
        assert_ne!(changed, text, "{good} is in the golden");
        std::fs::write(&path, changed).expect("writable");
        let report = json(conform().arg(&path));
        let mut cases = report["cases"].as_array().expect("a list").iter();
        let first = cases.find(|case| case["status"] == "differ").expect("one differs");
        assert!(case.is_empty() || first["id"] == case, "{first}");
        assert_eq!(first["first_difference"]["field"], field, "{first}");
    }
}

#[test]
fn a_golden_of_guests_holds_many_cases_and_says_what_it_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("changed.json");
    let text = std::fs::read_to_string(goldens().join("guests/k618_B.json")).expect("a golden");
    let case = |report: &Value, id: &str| -> Value {
        let cases = report["cases"].as_array().expect("a list");
        cases.iter().find(|case| case["id"] == id).expect("a case").clone()
    };
    let unknown = text.replacen("io /mnt/f6 truncate 530k", "io /mnt/f6 reflink 530k", 1);
    assert_ne!(unknown, text, "the command is in the golden");
    std::fs::write(&path, unknown).expect("writable");
    let report = json(conform().arg(&path));
    let partly = case(&report, "k618/B6_truncate_punch");
    assert!(partly["left_out"].as_str().is_some_and(|what| what.contains("reflink")), "{partly}");
    for (good, bad, field) in [
        ("[131,262144,2,64]", "[131,262144,3,32]", "guest_folios_added"),
        ("\"RA\",704,2048", "\"RA\",704,2040", "guest_bios"),
        ("ino 0x83 nr_pages 256", "ino 0x83 nr_pages 255", "guest_iomap"),
        ("\"faultin\":[[4096,1]]", "\"faultin\":[[4096,2]]", "guest_faultin"),
    ] {
        let changed = text.replacen(good, bad, 1);
        assert_ne!(changed, text, "{good} is in the golden");
        std::fs::write(&path, changed).expect("writable");
        let report = json(conform().arg(&path));
        let first = report["cases"].as_array().expect("a list").iter();
        let mut first = first.filter(|case| case["status"] == "differ");
        assert_eq!(first.next().expect("one differs")["first_difference"]["field"], field);
        conform().arg(&path).assert().code(1);
    }
    std::fs::write(&path, "{\"common\":{},\"cases\":[]}").expect("writable");
    conform().arg(&path).assert().code(2);
    let bad =
        "{\"common\":{\"kernel\":\"6.18.1\"},\"cases\":[{\"id\":\"B\",\"stack\":\"xfs on x\"}]}";
    std::fs::write(&path, bad).expect("writable");
    let output = conform().arg(&path).assert().code(2).get_output().stderr.clone();
    assert!(String::from_utf8_lossy(&output).contains("k618/B: missing field"));
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
