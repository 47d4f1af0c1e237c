//! What leaves the page: links, words and pictures; and what comes back by a link.

use crate::open::trace;
use crate::page::{Page, visit};
use crate::{READY, folioscope};
use serde_json::json;
use std::path::Path;

const SCENARIO: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/scenarios/sub-page-dirty-tracking.toml");

/// What `folioscope render` prints.
fn rendered(words: &[&str]) -> String {
    let out = folioscope().arg("render").args(words).output().expect("it runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

async fn text(page: &Page, expression: &str) -> String {
    page.ask(expression).await.as_str().unwrap_or_default().to_owned()
}

/// Opens the dialog and waits for its link.
async fn link(page: &Page) -> String {
    page.click("#share-button").await;
    page.until("document.getElementById('share').open && document.getElementById('share-link')")
        .await;
    text(page, "document.getElementById('share-link').value").await
}

/// The words that a button copies.
async fn copied(page: &Page, button: &str) -> String {
    page.click(button).await;
    page.until("document.getElementById('shared').textContent.includes('copied')").await;
    page.ask_later("navigator.clipboard.readText()").await.as_str().unwrap_or_default().to_owned()
}

/// The file that a button saves.
async fn saved(page: &Page, folder: &Path, button: &str) -> Vec<u8> {
    page.click(button).await;
    page.until("document.getElementById('shared').textContent.includes(' saved.')").await;
    let said = text(page, "document.getElementById('shared').textContent").await;
    let path = folder.join(said.trim_end_matches(" saved."));
    page.file(&path).await
}

async fn allow(page: &Page, folder: &Path) {
    let params = json!({ "behavior": "allow", "downloadPath": folder });
    page.devtools("Browser.setDownloadBehavior", params).await;
    let permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"];
    page.devtools("Browser.grantPermissions", json!({ "permissions": permissions })).await;
}

/// The scenario at one of its moments, and the steps of its runs there.
async fn scenario_at(page: &Page, moment: u32) -> (u64, u64) {
    page.pick(Path::new(SCENARIO)).await;
    page.wait_for("per folio against per block").await;
    let scrub = format!(
        "(() => {{ const slider = document.getElementById('scrubber'); slider.value = {moment}; \
         for (const kind of ['input', 'change']) \
         slider.dispatchEvent(new Event(kind, {{ bubbles: true }})); }})()"
    );
    page.ask(&scrub).await;
    let said = text(page, "document.getElementById('positions').textContent").await;
    let mut numbers = said.split_whitespace().filter_map(|word| word.parse().ok());
    (numbers.next().expect("A"), numbers.nth(1).expect("B"))
}

/// The elements of the picture with their attributes, whose order a mark that was changed does not
/// keep, and their words.
const ELEMENTS: &str = "[...document.querySelectorAll('#stage *')].map((one) => [one.tagName, \
    ...[...one.attributes].map((its) => `${its.name}=${its.value}`).sort(), \
    one.children.length ? '' : one.textContent].join(' '))";

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn page_and_terminal_make_the_same_link_text_and_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    visit(async |page: &Page| {
        allow(page, folder.path()).await;
        page.open(READY).await;
        let (a, b) = scenario_at(page, 50).await;
        let step = format!("{a},{b}");
        let url = link(page).await;
        let fragment = url.split_once('#').expect("a fragment").1;
        // The checksums of both runs are in the link.
        let lanes = "file,cache,mapping,bios,requests,device,members,times";
        let wanted = rendered(&[SCENARIO, "--format", "link", "--step", &step, "--lanes", lanes]);
        assert_eq!(format!("#{fragment}\n"), wanted);
        assert_eq!(copied(page, "#copy-link").await, url);
        assert_eq!(text(page, "location.hash").await, format!("#{fragment}"));
        let words = rendered(&[SCENARIO, "--step", &step, "--lanes", lanes]);
        assert_eq!(copied(page, "#copy-text").await, format!("{words}\n{url}\n"));
        let markdown = copied(page, "#copy-markdown").await;
        assert_eq!(markdown, format!("```text\n{words}```\n\n{url}\n"));
        let svg = rendered(&[SCENARIO, "--step", &step, "--lanes", lanes, "--format", "svg"]);
        assert!(saved(page, folder.path(), "#save-svg").await == svg.as_bytes());
        let scenario = std::fs::read(SCENARIO).expect("it is there");
        assert!(saved(page, folder.path(), "#save-scenario").await == scenario);
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn a_png_and_a_moving_picture_are_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    visit(async |page: &Page| {
        allow(page, folder.path()).await;
        page.show(1440, "light").await;
        page.open(READY).await;
        page.click("#show-me").await;
        page.until("document.getElementById('place').textContent.includes('submit_bio')").await;
        link(page).await;
        page.picture("share-1440-light").await;
        let png = saved(page, folder.path(), "#save-png").await;
        assert!(png.starts_with(b"\x89PNG\r\n"));
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four"));
        assert_eq!(number(16), 2 * 1040, "twice as fine");
        // Where styles are refused, a picture is black and packs to nearly nothing.
        assert!(png.len() > 40_000, "{} bytes", png.len());
        std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("share.png"), &png)
            .expect("writable");
        page.click("#share-from").await;
        for (id, value) in [("share-from", 30), ("share-to", 50)] {
            let set = format!(
                "(() => {{ const input = document.getElementById('{id}'); input.value = {value}; \
                 input.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
            );
            page.ask(&set).await;
        }
        let svg = saved(page, folder.path(), "#save-animated").await;
        let svg = String::from_utf8(svg).expect("text");
        assert!(svg.contains("(21 moments)") && svg.contains("rules of linux-6.1"));
        page.ask("document.getElementById('share-to').focus()").await;
        page.keys_to("#share-to", "9999\u{e007}").await;
        page.click("#save-animated").await;
        page.until(
            "document.getElementById('shared').textContent.includes('choose a shorter range')",
        )
        .await;
        assert_eq!(page.complaints().await, Vec::<String>::new());
        // Elsewhere, since the page lets nobody bring styles.
        page.client.goto("about:blank").await.expect("it opens");
        let parsed = format!(
            "new DOMParser().parseFromString({}, 'image/svg+xml').querySelectorAll('parsererror').length",
            json!(svg)
        );
        assert_eq!(page.ask(&parsed).await, 0);
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn the_address_follows_lessons_and_leads_back() {
    visit(async |page: &Page| {
        page.open(READY).await;
        assert_eq!(text(page, "location.hash").await, "", "untouched");
        page.click("#show-me").await;
        page.until("location.hash == '#1/L7/2'").await;
        page.click("#forward").await;
        page.until("location.hash.startsWith('#1/L7/2/engine-')").await;
        let (address, picture) = (text(page, "location.href").await, page.html("stage").await);
        page.click("#nav-lessons").await;
        page.click("[data-lesson='8']").await;
        page.until("location.hash == '#1/L8/1'").await;
        page.client.back().await.expect("there is a way back");
        page.until("document.querySelector('.lesson-name')?.textContent.includes('Lesson 7')")
            .await;
        assert!(page.html("stage").await == picture, "the same moment, paused");
        page.client.goto("about:blank").await.expect("it opens");
        page.client.goto(&address).await.expect("it opens");
        page.wait_for(READY).await;
        page.until("document.querySelector('#stage svg')").await;
        assert!(page.html("stage").await == picture);
        assert_eq!(
            text(page, "document.getElementById('play').getAttribute('aria-label')").await,
            "Play"
        );
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn a_scenario_comes_back_by_its_link() {
    visit(async |page: &Page| {
        page.open(READY).await;
        scenario_at(page, 44).await;
        let picture = page.ask(ELEMENTS).await;
        let url = link(page).await;
        page.client.goto("about:blank").await.expect("it opens");
        page.client.goto(&url).await.expect("it opens");
        page.wait_for("per folio against per block").await;
        page.until("document.querySelector('#stage svg')").await;
        assert_eq!(page.ask(ELEMENTS).await, picture);
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn a_bad_link_is_one_sentence_and_the_page_stays() {
    let cut = rendered(&[SCENARIO, "--format", "link", "--step", "9"]);
    let long = "1/S/".to_owned() + &"A".repeat(100 << 10);
    let folder = tempfile::tempdir().expect("a folder");
    let trace = trace(folder.path());
    let links: [(&str, &str); 8] = [
        (&long, "32768 is the most"),
        (cut[1..cut.len() / 2].trim(), "the link is damaged"),
        ("1/S/eJzt", "the link is damaged"),
        ("7/S/abc", "has version 7"),
        ("1/L7/2/%3Cimg%20src=x%20onerror=alert(1)%3E", "not understood"),
        ("1/L99/1", "there is no lesson 99"),
        ("1/E/no-such-thing", "there is no scenario"),
        ("hello", "this is no link to a moment"),
    ];
    visit(async |page: &Page| {
        for (fragment, words) in links {
            page.client.goto("about:blank").await.expect("it opens");
            page.open_with(&format!("#{fragment}")).await;
            page.wait_for(READY).await;
            page.until("document.getElementById('alert').innerText").await;
            let said = text(page, "document.getElementById('alert').innerText").await;
            assert!(said.contains(words), "{fragment:.60}: {said}");
            page.until("document.querySelector('#stage svg')").await;
        }
        // And while the page is open.
        page.click("#show-me").await;
        let hash = format!("location.hash = {}", json!(format!("#1/S/{}", "x".repeat(300))));
        page.ask(&hash).await;
        page.until("document.getElementById('alert').innerText.includes('damaged')").await;
        page.wait_for("16 \u{d7}").await;
        page.pick(&trace).await;
        page.wait_for("lesson.trace").await;
        page.until("location.hash == ''").await;
        page.click("#share-button").await;
        page.wait_for("lesson.trace is a recorded run, and no link can hold one").await;
    });
}
