//! The lesson as a person takes it: answer, stops, steps, keys, slider; and its figures against
//! those of the terminal.

use crate::page::{Page, visit};
use crate::{READY, folioscope};
use serde_json::Value;

/// The counters that the page shows.
const SHOWN: [&str; 5] = [
    "app_bytes_written",
    "device_bytes_written",
    "clean_bytes_written",
    "write_bios",
    "device_flushes",
];

async fn at(page: &Page) -> u64 {
    let value = page.ask("document.getElementById('scrubber').value").await;
    value.as_str().and_then(|value| value.parse().ok()).expect("a number")
}

async fn text(page: &Page, id: &str) -> String {
    let text = page.ask(&format!("document.getElementById('{id}').textContent")).await;
    text.as_str().unwrap_or_default().to_owned()
}

/// Waits until the way to the proof of an answer has ended: nothing moves any more.
async fn settle(page: &Page) {
    page.until("document.getElementById('place').textContent.includes('submit_bio')").await;
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn the_lesson_is_answered_and_walked_through() {
    visit(async |page: &Page| {
        page.open(READY).await;
        assert_eq!(page.count("#counters").await, 0, "nothing is given away");
        assert!(!page.html("stage").await.contains("s-hatch)"), "no waste before the answer");
        let ask = at(page).await;
        page.click("[data-answer='1']").await;
        settle(page).await;
        page.wait_for("16 \u{d7}").await;
        assert!(text(page, "sentence").await.contains("(B), 4 KiB go down"));
        assert!(page.html("stage").await.contains("s-hatch)"), "the waste is hatched");
        let proof = at(page).await;
        assert!(proof > ask);
        page.click("#next-stop").await;
        assert!(text(page, "why").await.contains("iomap_find_dirty_range"));
        assert!(at(page).await < proof);
        page.click("#next-stop").await;
        assert!(page.html("stage").await.contains("Bios"));
        page.click("#next-stop").await;
        page.wait_for("In the end the app wrote 96 KiB, A sent 1.5 MiB, B sent 96 KiB.").await;
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn every_answer_has_its_own_words_and_the_same_proof() {
    visit(async |page: &Page| {
        let mut said = Vec::new();
        for answer in ["[data-answer='0']", "[data-answer='2']", "#show-me"] {
            page.open(READY).await;
            page.click(answer).await;
            settle(page).await;
            let words = text(page, "sentence").await;
            assert!(words.contains("64 KiB") && !said.contains(&words), "{words}");
            said.push(words);
        }
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn time_goes_both_ways_by_buttons_keys_and_slider() {
    visit(async |page: &Page| {
        page.open(READY).await;
        let ask = at(page).await;
        page.click("#forward").await;
        assert!(at(page).await > ask);
        page.click("#back").await;
        page.keys("[").await;
        let before = at(page).await;
        assert!(before < ask);
        page.keys("]").await;
        assert!(at(page).await > before);
        page.keys("5").await;
        let half = at(page).await;
        page.keys(".").await;
        assert!(at(page).await > half);
        page.keys(",").await;
        page.keys(",").await;
        assert!(at(page).await < half);
        page.keys("n").await;
        assert!(text(page, "place").await.contains("submit_bio"));
        page.keys("\u{e010}").await;
        let end = at(page).await;
        page.keys("\u{e011}").await;
        assert_eq!(at(page).await, 0);
        let value = page.ask("document.getElementById('scrubber').getAttribute('aria-valuetext')");
        assert!(value.await.as_str().is_some_and(|words| words.starts_with("op 0 of 49")));
        // The slider is scrubbed as a person would: it moves, then settles and says where it is.
        let scrub = format!(
            "(() => {{ const slider = document.getElementById('scrubber'); slider.value = {end}; \
             for (const kind of ['input', 'change']) \
             slider.dispatchEvent(new Event(kind, {{ bubbles: true }})); }})()"
        );
        page.ask(&scrub).await;
        assert_eq!(at(page).await, end);
        let said = text(page, "said").await;
        assert!(said.contains("op 49 of 49") && said.chars().count() <= 160, "{said}");
        // A control that uses a key keeps it.
        page.ask("document.getElementById('grain').focus()").await;
        page.keys_to("#grain", "5").await;
        assert_eq!(at(page).await, end);
        page.keys("?").await;
        page.until("document.getElementById('help').open").await;
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn play_stops_when_asked_and_never_begins_by_itself() {
    visit(async |page: &Page| {
        page.open(READY).await;
        let ask = at(page).await;
        page.keys(" ").await;
        page.until(&format!("document.getElementById('scrubber').value > {ask} + 1")).await;
        page.keys(" ").await;
        let label = "document.getElementById('play').getAttribute('aria-label')";
        assert_eq!(page.ask(label).await, "Play");
        let rest = at(page).await;
        page.click("#why-button").await;
        assert_eq!(at(page).await, rest);
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn the_page_counts_what_the_terminal_counts() {
    let scenario =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/scenarios/sub-page-dirty-tracking.toml");
    let out = folioscope().args(["run", scenario, "--json"]).output().expect("it runs");
    let terminal: Value = serde_json::from_slice(&out.stdout).expect("it prints JSON");
    visit(async |page: &Page| {
        page.open(READY).await;
        page.click("#show-me").await;
        page.click("#last").await;
        for (at, side) in ["A", "B"].into_iter().enumerate() {
            for counter in SHOWN {
                let wanted = &terminal["variants"][at]["counters"][counter];
                for when in ["now", "whole"] {
                    let cell = format!(
                        "document.querySelector('[data-counter={counter}][data-side={side}][data-when={when}]').dataset.value"
                    );
                    let found = page.ask(&cell).await;
                    assert_eq!(found.as_str(), Some(&*wanted.to_string()), "{side} {counter}");
                }
            }
        }
        assert_eq!(page.ask("document.getElementById('lamp').dataset.broken").await, "0");
        assert!(text(page, "lamp").await.contains("invariants hold"));
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn the_tables_say_what_the_picture_shows() {
    visit(async |page: &Page| {
        page.open(READY).await;
        page.click("#show-me").await;
        settle(page).await;
        assert_eq!(
            page.ask("document.querySelector('#stage svg').getAttribute('aria-hidden')").await,
            "true"
        );
        let cache = "document.querySelector('#twin [data-lane=cache][data-side=A]').textContent";
        let words = page.ask(cache).await;
        assert!(words.as_str().is_some_and(|words| words.contains("though clean")), "{words}");
        page.click("[data-form=Table]").await;
        assert_eq!(page.count("#stage svg").await, 0);
        page.wait_for("blocks 16 to 20").await;
    });
}
