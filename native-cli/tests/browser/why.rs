//! Why: who calls the function of a step in the kernel of the run, and invariants that fail.

use crate::READY;
use crate::page::{Page, visit};
use std::path::Path;

const BROKEN: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/scenarios/stripe-stale-offset.toml");

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn a_step_has_its_callers_by_the_names_of_its_kernel() {
    visit(async |page: &Page| {
        page.open(READY).await;
        page.click("#show-me").await;
        page.until("document.getElementById('place').textContent.includes('submit_bio')").await;
        page.click("#why-button").await;
        let stack = "document.querySelector('#why .stack').textContent";
        let said = page.ask(stack).await;
        let way =
            "linux-6.1: vfs_fsync_range \u{203a} file_write_and_wait_range \u{203a} do_writepages";
        assert!(said.as_str().is_some_and(|said| said.starts_with(way)), "{said}");
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn the_lamp_leads_to_the_step_that_broke_an_invariant() {
    visit(async |page: &Page| {
        page.open(READY).await;
        page.pick(Path::new(BROKEN)).await;
        page.wait_for("stripe-stale-offset.toml").await;
        page.keys("\u{e011}").await;
        page.wait_for("later: to the next").await;
        assert_eq!(page.ask("document.getElementById('lamp').dataset.broken").await, "0");
        let place = "Number(document.querySelector('#lamp [data-broken-at]').dataset.brokenAt)";
        let wanted = page.ask(place).await;
        page.click("#lamp [data-broken-at]").await;
        let at = "Number(document.getElementById('scrubber').value)";
        assert_eq!(page.ask(at).await, wanted);
        assert_ne!(page.ask("document.getElementById('lamp').dataset.broken").await, "0");
        let words = page.ask("document.querySelector('#lamp li').textContent").await;
        assert!(words.as_str().is_some_and(|words| words.contains("I37")), "{words}");
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}
