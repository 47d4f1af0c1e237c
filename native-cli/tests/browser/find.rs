//! Searching, jumping, stops of play and marks, as a person uses them.

use crate::READY;
use crate::page::{Page, visit};

const AT: &str = "Number(document.getElementById('scrubber').value)";
const ENTER: &str = "\u{e007}";
const SHIFT_ENTER: &str = "\u{e008}\u{e007}";
const ESCAPE: &str = "\u{e00c}";

async fn at(page: &Page) -> u64 {
    page.ask(AT).await.as_u64().expect("a number")
}

async fn text(page: &Page, id: &str) -> String {
    let text = page.ask(&format!("document.getElementById('{id}')?.textContent")).await;
    text.as_str().unwrap_or_default().to_owned()
}

/// Types a query over the one before, and waits until the whole run was looked at.
async fn search(page: &Page, query: &str) {
    page.keys("/").await;
    page.until("document.activeElement?.id === 'query'").await;
    page.keys_to("#query", "\u{e009}a").await;
    page.keys_to("#query", query).await;
    page.until("/found|of/.test(document.getElementById('found').textContent)").await;
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn steps_are_found_by_words_and_by_what_holds() {
    visit(async |page: &Page| {
        page.open(READY).await;
        page.click("#show-me").await;
        page.keys("\u{e011}").await;
        search(page, "blkdev_issue_flush").await;
        let all = text(page, "found").await;
        assert!(all.ends_with(" found"), "{all}");
        assert_eq!(page.count("#strip .bfound").await, 1, "the strip shows where");
        assert_eq!(at(page).await, 0, "whoever types goes nowhere");
        page.keys_to("#query", ENTER).await;
        let first = at(page).await;
        assert!(first > 0 && text(page, "found").await.starts_with("1 of "));
        page.keys_to("#query", ENTER).await;
        assert!(at(page).await > first);
        page.keys_to("#query", SHIFT_ENTER).await;
        assert_eq!(at(page).await, first);
        // The last follows before the first.
        page.keys("F").await;
        let last = at(page).await;
        assert!(last > first);
        page.keys("f").await;
        assert_eq!(at(page).await, first);
        search(page, "device_flushes > 0").await;
        page.keys_to("#query", ENTER).await;
        assert!(text(page, "found").await.starts_with("1 of 1"));
        page.keys_to("#query", "99").await;
        page.until("document.getElementById('found').textContent === 'not found'").await;
        page.keys_to("#query", ENTER).await;
        assert_eq!(text(page, "said").await, "Nothing is found");
        page.keys_to("#query", ESCAPE).await;
        assert_eq!(page.count("#find").await, 0);
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn a_query_that_cannot_be_read_says_where_and_examples_help() {
    visit(async |page: &Page| {
        page.open(READY).await;
        page.click("#show-me").await;
        page.click("#find-button").await;
        page.until("document.activeElement?.id === 'query'").await;
        page.click("[data-query='dirty > 64k']").await;
        page.until("/found|of/.test(document.getElementById('found').textContent)").await;
        assert_eq!(page.count("#find [data-query]").await, 0);
        page.keys_to("#query", "\u{e009}a").await;
        page.keys_to("#query", "block 7 red").await;
        let said = text(page, "query-error").await;
        assert!(said.contains("Column 9: `red` was found, expected one of clean"), "{said}");
        assert_eq!(
            page.ask("document.querySelector('#query-error mark').textContent").await,
            "red"
        );
        assert_eq!(page.ask("document.getElementById('query').ariaInvalid").await, "true");
        for (width, scheme) in [(1440, "light"), (1024, "dark"), (390, "light")] {
            page.show(width, scheme).await;
            page.picture(&format!("find-{width}-{scheme}")).await;
            let widest = page.ask("document.documentElement.scrollWidth").await;
            assert!(widest.as_u64() <= Some(width.into()), "{widest} is wider than {width}");
        }
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn one_jumps_between_steps_of_a_kind_and_marks() {
    visit(async |page: &Page| {
        page.open(READY).await;
        page.click("#show-me").await;
        page.keys("\u{e011}").await;
        page.click("#find-button").await;
        page.ask(
            "(() => { const kind = document.getElementById('event'); kind.value = 'flush'; \
             kind.dispatchEvent(new Event('change', { bubbles: true })); })()",
        )
        .await;
        page.click("#event-next").await;
        let first = at(page).await;
        assert!(text(page, "place").await.contains("blkdev_issue_flush"));
        page.keys("m").await;
        page.keys("e").await;
        let second = at(page).await;
        assert!(second > first);
        page.keys("E").await;
        assert_eq!(at(page).await, first);
        page.keys("e").await;
        page.click("#mark").await;
        assert_eq!(page.count("[data-mark]").await, 2);
        assert_eq!(page.count("#strip .bmark").await, 1);
        page.keys("'").await;
        assert_eq!(at(page).await, first);
        page.keys("'").await;
        assert_eq!(at(page).await, second);
        page.click(&format!("[data-mark='{first}'] .link")).await;
        assert_eq!(at(page).await, first);
        page.keys("m").await;
        assert_eq!(page.count("[data-mark]").await, 1);
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn play_stops_where_a_condition_begins_to_hold() {
    visit(async |page: &Page| {
        page.open(READY).await;
        page.click("#show-me").await;
        page.keys("\u{e011}").await;
        search(page, "any bio > 4k").await;
        page.click("#add-stop").await;
        assert_eq!(page.count("[data-stop-at='any bio > 4k']").await, 1);
        assert_eq!(page.count("#strip .bstop").await, 1);
        page.keys("f").await;
        let wanted = at(page).await;
        page.keys("\u{e011}").await;
        page.ask(
            "(() => { const speed = document.getElementById('speed'); speed.value = 5; \
             speed.dispatchEvent(new Event('change', { bubbles: true })); })()",
        )
        .await;
        page.keys(" ").await;
        page.until(&format!("{AT} === {wanted}")).await;
        page.until("document.getElementById('play').ariaLabel === 'Play'").await;
        assert!(text(page, "said").await.starts_with("Stopped at any bio > 4k: op "));
        page.click("[data-stop-at] .quiet:last-child").await;
        assert_eq!(page.count("[data-stop-at], #strip .bstop").await, 0);
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn stops_and_marks_travel_with_the_address() {
    visit(async |page: &Page| {
        page.open(READY).await;
        page.click("#show-me").await;
        // Nothing plays any more, and the place of the mark is not the first.
        page.keys("\u{e010}").await;
        search(page, "any bio > 4k").await;
        page.click("#add-stop").await;
        page.click("#mark").await;
        let marked = at(page).await;
        assert_ne!(marked, 0);
        page.until("location.hash.startsWith('#2/L7/') && location.hash.includes('/mark-')").await;
        page.keys("\u{e011}").await;
        page.until("location.hash.includes('place-0-')").await;
        page.ask("location.reload()").await;
        page.wait_for(READY).await;
        page.until("document.querySelectorAll('#strip .bstop, #strip .bmark').length === 2").await;
        assert_eq!(at(page).await, 0);
        page.keys("'").await;
        assert_eq!(at(page).await, marked);
        page.click("#find-button").await;
        page.until("document.querySelector('[data-stop-at=\"any bio > 4k\"]')").await;
        page.click("[data-stop-at] .quiet:last-child").await;
        page.click("[data-mark] .quiet:last-child").await;
        page.until("location.hash.startsWith('#1/L7/')").await;
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}
