//! The page as a person meets it: served by the program, in a real browser.
//!
//! Ignored by a plain `cargo test`, which needs no browser; `cargo xtask test` runs them.

mod background;
mod chrome;
mod compare;
mod edit;
mod everyone;
mod find;
mod grips;
mod lesson;
mod offline;
mod open;
mod page;
mod share;
mod stage;
mod why;

use page::{Page, visit};
use serde_json::json;
use std::process::Command;
use std::time::Duration;

/// What the page says once it runs.
const READY: &str = "How much goes to the disk?";

/// The program that is tested: the one that a release holds if its path is given, else the one that
/// cargo built for the tests.
fn folioscope() -> Command {
    let program = std::env::var_os("FOLIOSCOPE");
    Command::new(program.unwrap_or_else(|| env!("CARGO_BIN_EXE_folioscope").into()))
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn the_page_runs_within_a_second_and_without_complaint() {
    visit(async |page: &Page| {
        let mut fastest = Duration::MAX;
        for _ in 0..3 {
            fastest = fastest.min(page.open(READY).await);
        }
        let paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime";
        println!(
            "ready to answer after {fastest:?}, first paint after {} ms",
            page.ask(paint).await
        );
        assert!(fastest < Duration::from_secs(1), "ready after {fastest:?} at best");
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn the_page_fits_every_width_and_follows_the_colour_scheme() {
    visit(async |page: &Page| {
        for width in [1440, 1024, 390] {
            let mut grounds = Vec::new();
            for scheme in ["light", "dark"] {
                page.show(width, scheme).await;
                page.open(READY).await;
                page.picture(&format!("ask-{width}-{scheme}")).await;
                page.click("#show-me").await;
                page.until("document.getElementById('place').textContent.includes('submit_bio')")
                    .await;
                page.picture(&format!("answer-{width}-{scheme}")).await;
                page.click("[data-stop='5']").await;
                page.picture(&format!("end-{width}-{scheme}")).await;
                grounds.push(page.ask("getComputedStyle(document.body).backgroundColor").await);
                let widest = page.ask("document.documentElement.scrollWidth").await;
                assert!(widest.as_u64() <= Some(width.into()), "{widest} is wider than {width}");
            }
            assert_ne!(grounds[0], grounds[1], "light and dark look the same");
        }
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn a_page_that_cannot_load_its_module_says_so() {
    visit(async |page: &Page| {
        page.devtools("Network.enable", json!({})).await;
        page.devtools("Network.setBlockedURLs", json!({ "urls": ["*.wasm"] })).await;
        page.open("Folioscope could not start").await;
    });
}
