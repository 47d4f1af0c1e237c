//! Two runs against each other, and charts over time.

use crate::page::{Page, visit};
use crate::{READY, folioscope};
use std::path::Path;

const SCENARIO: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/scenarios/sub-page-dirty-tracking.toml");

async fn text(page: &Page, selector: &str) -> String {
    let text = page.ask(&format!("document.querySelector(\"{selector}\")?.textContent")).await;
    text.as_str().unwrap_or_default().to_owned()
}

/// Chooses an option of a list.
pub(crate) async fn choose(page: &Page, id: &str, value: &str) {
    page.ask(&format!(
        "(() => {{ const list = document.getElementById('{id}'); list.value = '{value}'; \
         list.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    ))
    .await;
}

/// Opens the scenario with its two settings, and the panel.
async fn opened(page: &Page) {
    page.open(READY).await;
    page.pick(Path::new(SCENARIO)).await;
    page.wait_for("per folio against per block").await;
    page.click("#compare-button").await;
}

fn trace(path: &Path, variant: &str) {
    let mut command = folioscope();
    command.args(["run", SCENARIO, "--variant", variant, "--trace"]).arg(path);
    let out = command.output().expect("it runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn two_runs_are_compared_swapped_and_looked_at_alone() {
    visit(async |page: &Page| {
        opened(page).await;
        let line = "[data-line=device_bytes_written] .ratio";
        assert_eq!(text(page, line).await, "A = 16 \u{d7} B");
        assert_eq!(page.count("[data-line=app_bytes_written]").await, 0, "it is equal");
        page.click("#all-counters").await;
        assert_eq!(text(page, "[data-line=app_bytes_written] .ratio").await, "A = B");
        assert!(page.count("[data-equal]").await > 0, "equal steps are folded");
        assert!(page.count("[data-difference]").await > 0);
        let at = page.ask("document.getElementById('scrubber').value").await;
        page.click("[data-only='A only']").await;
        assert!(page.html("stage").await.contains("s-hatch)"), "A wastes");
        page.keys("v").await;
        assert!(!page.html("stage").await.contains("s-hatch)"), "B does not");
        page.keys("v").await;
        assert!(page.html("stage").await.contains("s-hatch)"), "both");
        page.click("#swap").await;
        assert_eq!(text(page, line).await, "B = 16 \u{d7} A");
        assert_eq!(page.ask("document.getElementById('scrubber').value").await, at);
        page.keys("x").await;
        assert_eq!(text(page, line).await, "A = 16 \u{d7} B");
        for (width, scheme) in [(1440, "light"), (1024, "dark"), (390, "light")] {
            page.show(width, scheme).await;
            page.picture(&format!("compare-{width}-{scheme}")).await;
            let widest = page.ask("document.documentElement.scrollWidth").await;
            assert!(widest.as_u64() <= Some(width.into()), "{widest} is wider than {width}");
        }
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn differences_are_walked_through_from_both_ends() {
    visit(async |page: &Page| {
        opened(page).await;
        let at = "Number(document.getElementById('scrubber').value)";
        page.keys("\u{e011}").await;
        page.keys("n").await;
        let first = page.ask(at).await;
        page.keys("n").await;
        let second = page.ask(at).await;
        assert!(second.as_u64() > first.as_u64());
        page.keys("N").await;
        assert_eq!(page.ask(at).await, first);
        page.click("#difference-next").await;
        assert_eq!(page.ask(at).await, second);
        assert_eq!(page.count("#difference-list [data-difference][aria-current]").await, 1);
        // The first one of all, however little, is marked and has a key.
        page.keys("d").await;
        let least = page.ask(at).await;
        assert!(least.as_u64() < first.as_u64());
        let mark = "#difference-list [aria-current] .rank";
        assert_eq!(text(page, mark).await, "first");
        assert_eq!(page.count("#strip .sfirst, .timeline .sfirst").await, 1);
        // The lesson's runs differ in what goes to the device, not in what the file holds.
        assert_eq!(page.count("[data-rank='content'], [data-rank='invariant']").await, 0);
        page.click("[data-rank='device bytes']").await;
        assert_eq!(text(page, mark).await, "device bytes");
        page.click("#far").await;
        assert_eq!(page.count("[data-difference]:not(.far)").await, 0);
        page.click("[data-equal]").await;
        assert_eq!(page.count("#difference-list .folded[aria-current]").await, 1);
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn a_scenario_is_run_with_other_settings_at_the_same_step() {
    visit(async |page: &Page| {
        opened(page).await;
        page.keys("5").await;
        let place = text(page, "#place").await;
        choose(page, "setting-b", "linux-6.18").await;
        page.wait_for("per folio against linux-6.18").await;
        assert_eq!(text(page, "#place").await, place, "the step is held by its cause");
        choose(page, "setting-b", "").await;
        page.until("!document.querySelector('.claim').textContent.includes('against')").await;
        assert_eq!(page.count("#difference-list").await, 0);
        choose(page, "setting-b", "per block").await;
        page.wait_for("per folio against per block").await;
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn two_traces_are_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, two) = (folder.path().join("one.trace"), folder.path().join("two.trace"));
    trace(&one, "per folio");
    trace(&two, "per block");
    visit(async |page: &Page| {
        page.open(READY).await;
        page.pick(&one).await;
        page.wait_for("one.trace").await;
        page.click("#compare-button").await;
        page.keys_to("#file-beside", two.to_str().expect("a plain path")).await;
        page.wait_for("one.trace against two.trace").await;
        let line = "[data-line=device_bytes_written] .ratio";
        assert_eq!(text(page, line).await, "A = 16 \u{d7} B");
        std::fs::write(&two, b"no trace").expect("it can be written");
        page.keys_to("#file-beside", two.to_str().expect("a plain path")).await;
        page.wait_for("this is not a folioscope trace").await;
        assert_eq!(text(page, line).await, "A = 16 \u{d7} B", "the page is intact");
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn measures_are_drawn_under_the_timeline() {
    visit(async |page: &Page| {
        opened(page).await;
        choose(page, "measure", "wasted").await;
        page.until("document.querySelector('#chart .carea.waste')").await;
        page.keys("\u{e010}").await;
        let now = text(page, "#chart-now").await;
        assert_eq!(now, "written though clean: A 1.4 MiB \u{b7} B 0 B, 1.4 MiB at most");
        assert!(page.count("#chart-table tbody tr").await > 5, "the same as a table");
        choose(page, "measure", "dirty").await;
        page.until("document.querySelector('#chart .cline')").await;
        // A click on the chart goes there.
        page.keys("\u{e011}").await;
        page.click("#chart").await;
        let at = page.ask("Number(document.getElementById('scrubber').value)").await;
        assert!(at.as_u64() > Some(100), "{at}");
        for (width, scheme) in [(1440, "dark"), (390, "light")] {
            page.show(width, scheme).await;
            page.picture(&format!("chart-{width}-{scheme}")).await;
        }
        choose(page, "measure", "").await;
        page.until("!document.getElementById('chart')").await;
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}
