//! What a person brings: a trace of the terminal, a scenario, and files that are neither.

use crate::page::{Page, visit};
use crate::{READY, folioscope};
use std::path::{Path, PathBuf};

const SCENARIO: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/scenarios/sub-page-dirty-tracking.toml");

/// A trace as the terminal writes it.
pub(crate) fn trace(folder: &Path) -> PathBuf {
    let path = folder.join("lesson.trace");
    let mut command = folioscope();
    command.args(["run", SCENARIO, "--variant", "per folio", "--trace"]).arg(&path);
    let out = command.output().expect("it runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    path
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn a_trace_of_the_terminal_is_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path());
    visit(async |page: &Page| {
        page.open(READY).await;
        page.pick(&path).await;
        page.wait_for("lesson.trace").await;
        assert_eq!(page.count("[data-answer]").await, 0, "no question");
        assert_eq!(page.count("#why, #counters, #legend, #lamp").await, 4);
        assert!(page.html("stage").await.contains("s-hatch)"), "it opens at its first write");
        page.keys("\u{e010}").await;
        let cell = "document.querySelector('[data-counter=device_bytes_written][data-when=now]').dataset.value";
        assert_eq!(page.ask(cell).await, "1572864");
        page.show(1440, "light").await;
        page.picture("trace-1440-light").await;
        page.click("#nav-lessons").await;
        page.click("[data-lesson='7']").await;
        page.wait_for(READY).await;
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn a_scenario_is_run_and_compared() {
    visit(async |page: &Page| {
        page.open(READY).await;
        page.pick(Path::new(SCENARIO)).await;
        page.wait_for("per folio against per block").await;
        assert_eq!(page.count("[data-counter=write_bios][data-when=now]").await, 2);
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn an_example_is_chosen_from_the_gallery() {
    visit(async |page: &Page| {
        page.open(READY).await;
        page.click("#nav-lessons").await;
        page.click("[data-example=data-before-map-large]").await;
        page.wait_for("at the end against before the next mapping").await;
        page.keys("\u{e010}").await;
        page.picture("example").await;
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn what_is_no_trace_is_one_sentence_and_the_page_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = std::fs::read(trace(folder.path())).expect("it was written");
    let mut bent = whole.clone();
    bent[whole.len() / 2] ^= 0x10;
    let files: [(&str, &[u8], &str); 5] = [
        ("picture.png", b"\x89PNG\r\n", "this is not a folioscope trace"),
        ("empty.trace", b"", "the file is empty"),
        ("short.trace", &whole[..whole.len() - 9], "cut off at byte"),
        ("bent.trace", &bent, "damaged"),
        ("bad.toml", b"version = 0\ntitel = 1\n", "line 2, column 1: unknown field `titel`"),
    ];
    visit(async |page: &Page| {
        page.open(READY).await;
        for (name, bytes, words) in files {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("it can be written");
            page.pick(&path).await;
            page.until(&format!("document.getElementById('alert').innerText.includes('{name}')"))
                .await;
            let said = page.ask("document.getElementById('alert').innerText").await;
            assert!(said.as_str().is_some_and(|said| said.contains(words)), "{name}: {said}");
            assert_eq!(page.count("#stage svg").await, 1, "the page is intact");
        }
        let huge = folder.path().join("huge.trace");
        let file = std::fs::File::create(&huge).expect("it can be made");
        file.set_len(65 << 20).expect("it can be long");
        page.pick(&huge).await;
        page.wait_for("opens files of up to 64 MiB").await;
        page.click("#show-me").await;
        page.wait_for("16 \u{d7}").await;
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}
