//! The picture as something to point at: cursor, inspector, zoom; and how fast it is.

use crate::READY;
use crate::page::{Page, visit};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const LEFT: &str = "\u{e012}";
const UP: &str = "\u{e013}";
const RIGHT: &str = "\u{e014}";
const DOWN: &str = "\u{e015}";
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";

async fn label(page: &Page) -> String {
    let label = page.ask("document.getElementById('stage').getAttribute('aria-label')").await;
    label.as_str().unwrap_or_default().to_owned()
}

async fn answered(page: &Page) {
    page.open(READY).await;
    page.click("#show-me").await;
    page.click("#more-lanes").await;
    page.until("document.getElementById('place').textContent.includes('submit_bio')").await;
}

/// Clicks the middle of the first mark with this class.
async fn point(page: &Page, class: &str) {
    let click = format!(
        "(() => {{ const box = document.querySelector('#stage {class}').getBoundingClientRect(); \
         const at = {{ clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, \
         bubbles: true }}; \
         document.getElementById('stage').dispatchEvent(new MouseEvent('click', at)); \
         }})()"
    );
    page.ask(&click).await;
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn a_cursor_goes_over_the_picture_by_keys_and_enter_opens_details() {
    visit(async |page: &Page| {
        answered(page).await;
        page.ask("document.getElementById('stage').focus()").await;
        page.until("document.querySelector('#stage .ring')").await;
        let first = label(page).await;
        assert!(first.starts_with("Page cache") && first.contains("block "), "{first}");
        page.keys_to("#stage", RIGHT).await;
        let second = label(page).await;
        assert_ne!(first, second);
        let said = page.ask("document.getElementById('said').textContent").await;
        assert!(said.as_str().is_some_and(|said| second.starts_with(said)), "{said} {second}");
        page.keys_to("#stage", LEFT).await;
        assert_eq!(label(page).await, first);
        page.keys_to("#stage", DOWN).await;
        let below = label(page).await;
        assert!(first.starts_with("Page cache A") && below.starts_with("Page cache B"), "{below}");
        page.keys_to("#stage", UP).await;
        assert_eq!(label(page).await, first);
        for _ in 0..3 {
            page.keys_to("#stage", DOWN).await;
        }
        assert!(label(page).await.starts_with("Bios"), "{}", label(page).await);
        let at = page.ask("document.getElementById('scrubber').value").await;
        page.keys_to("#stage", ENTER).await;
        page.until("document.querySelector('#inspector dl')").await;
        assert_eq!(page.ask("document.getElementById('scrubber').value").await, at);
        page.keys_to("#stage", ESCAPE).await;
        assert_eq!(page.count("#inspector").await, 0);
        assert_eq!(page.count("#stage svg [tabindex]").await, 0, "one tab stop");
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn pointing_at_a_bio_tells_what_it_is_where_it_lies_and_who_made_it() {
    visit(async |page: &Page| {
        answered(page).await;
        point(page, ".bsent").await;
        page.until("document.querySelector('#inspector .causes button')").await;
        let words = page.ask("document.getElementById('inspector').innerText").await;
        let words = words.as_str().unwrap_or_default();
        for part in ["bio W", "64K", "sectors from", "made by"] {
            assert!(words.contains(part), "no {part:?} in {words}");
        }
        assert!(page.count("#stage .echo").await >= 3, "blocks, mapping and device are marked");
        page.picture("inspector").await;
        let at = page.ask("document.querySelector('#inspector .causes button').dataset.step").await;
        page.click("#inspector .causes button").await;
        assert_eq!(page.ask("document.getElementById('scrubber').value").await, at);
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn the_view_is_zoomed_by_buttons_and_by_the_wheel_with_ctrl_only() {
    let cells = "document.querySelectorAll('#stage .tl, #stage .tlo').length";
    let wheel = |ctrl: bool| {
        format!(
            "(() => {{ const stage = document.getElementById('stage'); \
             const box = stage.getBoundingClientRect(); const turn = new WheelEvent('wheel', \
             {{ clientX: box.x + box.width / 2, clientY: box.y + 60, deltaY: -100, \
             ctrlKey: {ctrl}, bubbles: true, cancelable: true }}); stage.dispatchEvent(turn); \
             return turn.defaultPrevented; }})()"
        )
    };
    visit(async |page: &Page| {
        page.show(1440, "light").await;
        answered(page).await;
        page.click("#zoom-fit").await;
        page.until("!document.getElementById('pan')").await;
        page.click("#zoom-in").await;
        page.until("document.getElementById('pan')").await;
        let near = page.ask(cells).await;
        assert_eq!(page.ask(&wheel(false)).await, false, "the wheel is the page's");
        assert_eq!(page.ask(cells).await, near);
        page.click("#zoom-out").await;
        page.click("#zoom-fit").await;
        page.until("!document.getElementById('pan')").await;
        assert_eq!(page.ask(&wheel(true)).await, true);
        page.until("document.getElementById('pan')").await;
        let before = page.html("stage").await;
        let pan = "(() => { const pan = document.getElementById('pan'); pan.value = 1000; \
                   pan.dispatchEvent(new Event('input', { bubbles: true })); })()";
        page.ask(pan).await;
        page.until("document.getElementById('pan').value > 900").await;
        assert_ne!(page.html("stage").await, before);
        page.picture("zoomed").await;
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn lanes_of_a_whole_run_are_pointed_at_and_a_finger_goes_on_from_there() {
    visit(async |page: &Page| {
        page.open_with("#1/L15/5").await;
        page.until("document.querySelector('#legend')?.textContent.includes('order: read')").await;
        page.ask("document.getElementById('stage').focus()").await;
        page.until("document.querySelector('#stage .ring')").await;
        for _ in 0..12 {
            if !label(page).await.starts_with("Sent in order") {
                page.keys_to("#stage", DOWN).await;
            }
        }
        let first = label(page).await;
        assert!(first.starts_with("Sent in order") && first.contains("data read"), "{first}");
        page.keys_to("#stage", ENTER).await;
        page.until("document.querySelector('#inspector .causes button')").await;
        let words = page.ask("document.getElementById('inspector').innerText").await;
        let words = words.as_str().unwrap_or_default();
        assert!(words.contains("sectors from") && words.contains("made by"), "{words}");
        page.picture("inspector-order").await;
        page.click("#inspector [aria-label='To the right']").await;
        assert_ne!(label(page).await, first);
        page.click("#inspector [aria-label='To the left']").await;
        assert_eq!(label(page).await, first);
        // Which rules hold is read by a click, not by hovering.
        page.click("#lamp summary").await;
        page.wait_for("checked at every step so far: I1 ").await;
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

/// How long the page may take to measure itself.
const PATIENCE: Duration = Duration::from_secs(150);

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn the_page_measures_itself() {
    visit(async |page: &Page| {
        page.show(1440, "light").await;
        page.open_at("bench.html", "How fast this page is here").await;
        let start = Instant::now();
        let done = "document.getElementById('figures').dataset.done ?? null";
        let figures = loop {
            let found = page.ask(done).await;
            if let Some(found) = found.as_str() {
                break serde_json::from_str::<Value>(found).expect("figures");
            }
            assert!(start.elapsed() < PATIENCE, "it takes too long");
            tokio::time::sleep(Duration::from_millis(200)).await;
        };
        let words = page.ask("document.querySelector('.bench').innerText").await;
        println!("{}", words.as_str().unwrap_or_default());
        let figures = figures.as_object().expect("by name");
        assert_eq!(figures.len(), 7, "{words}");
        assert!(figures.values().all(|figure| figure["rounds"] != json!(0)), "{words}");
    });
}
