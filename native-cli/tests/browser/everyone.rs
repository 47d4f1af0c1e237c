//! The page for everyone: axe-core finds nothing on any view, in light and dark.
//!
//! Its script is no part of this workspace: `cargo xtask test` fetches it and names it in
//! `AXE_CORE`.

use crate::READY;
use crate::open::trace;
use crate::page::{Page, visit};
use serde_json::json;
use std::path::PathBuf;

/// A view, and what is clicked on the way to it.
const VIEWS: [(&str, &[&str]); 15] = [
    ("question", &[]),
    ("answer", &["#show-me"]),
    ("end", &["#show-me", "[data-stop='5']"]),
    ("mapping and bios", &["#show-me", "#more-lanes"]),
    ("why", &["#show-me", "#why-button"]),
    ("search", &["#show-me", "#find-button"]),
    ("compare", &["#show-me", "#compare-button"]),
    ("table", &["#show-me", "[data-form=Table]"]),
    ("both", &["#show-me", "[data-form=Both]"]),
    ("gallery", &["#nav-lessons"]),
    ("another lesson", &["#nav-lessons", "[data-lesson='8']", "#show-me"]),
    ("example", &["#nav-lessons", "[data-example=data-before-map-large]"]),
    ("editor", &["#nav-sandbox", "[data-table=world]"]),
    ("share", &["#show-me", "#share-button"]),
    ("help", &["#help-button"]),
];

/// The script of axe-core, if it is there.
fn script() -> Option<String> {
    let path = std::env::var_os("AXE_CORE").map(PathBuf::from).filter(|path| path.is_file());
    let Some(path) = path else {
        println!("SKIPPED: axe-core is missing: `cargo xtask test` fetches it with npm");
        return None;
    };
    Some(std::fs::read_to_string(path).expect("the script is text"))
}

/// What axe-core objects to on the page as it is: rule, help, and the first places.
async fn objections(page: &Page, axe: &str) -> Vec<String> {
    page.client.execute(axe, Vec::new()).await.expect("the script runs");
    // Those that are off by default, too, and those of the newest standard.
    let tags = json!({ "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa",
        "best-practice", "experimental"] });
    let run = "const done = arguments[1]; axe.run(document, arguments[0]).then(
        found => done(found.violations.map(one => `${one.id}: ${one.help}: ` +
            one.nodes.slice(0, 3).map(node => `${node.html} ${node.failureSummary}`).join('; '))),
        error => done([`axe-core failed: ${error}`]))";
    let found = page.client.execute_async(run, vec![tags]).await.expect("it answers");
    let found = found.as_array().expect("a list").iter();
    found.map(|one| one.as_str().unwrap_or("not in words").to_owned()).collect()
}

/// Waits until nothing moves: the way to an answer has ended, and so has every fade.
async fn settle(page: &Page) {
    page.until("document.querySelector('#stage svg, #twin:not(.vh), #gallery')").await;
    page.until("document.getAnimations().every(one => one.playState !== 'running')").await;
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn axe_finds_nothing_on_any_view() {
    let Some(axe) = script() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = trace(folder.path());
    visit(async |page: &Page| {
        let mut found = Vec::new();
        let mut look = async |name: &str, width: u32, scheme: &str| {
            settle(page).await;
            for words in objections(page, &axe).await {
                found.push(format!("{name}, {width} pixels, {scheme}: {words}"));
            }
        };
        for (width, scheme) in [(1440, "light"), (1440, "dark"), (390, "light")] {
            page.show_quietly(width, scheme).await;
            // So high that the bar at the bottom covers nothing.
            let size =
                json!({ "width": width, "height": 3000, "deviceScaleFactor": 1, "mobile": false });
            page.devtools("Emulation.setDeviceMetricsOverride", size).await;
            for (name, clicks) in VIEWS {
                page.open(READY).await;
                for click in clicks {
                    page.until(&format!("document.querySelector({})", json!(click))).await;
                    page.click(click).await;
                }
                look(name, width, scheme).await;
            }
            page.open(READY).await;
            page.click("#show-me").await;
            settle(page).await;
            page.keys_to("#stage", "\u{e007}").await;
            page.until("document.querySelector('#inspector dl')").await;
            look("inspector", width, scheme).await;
            page.open(READY).await;
            page.pick(&path).await;
            page.wait_for("lesson.trace").await;
            look("trace of the terminal", width, scheme).await;
            let wrong = folder.path().join("picture.png");
            std::fs::write(&wrong, b"\x89PNG\r\n").expect("it can be written");
            page.pick(&wrong).await;
            page.wait_for("this is not a folioscope trace").await;
            look("alert", width, scheme).await;
        }
        assert!(found.is_empty(), "axe-core objects:\n{}", found.join("\n"));
        // It does find what is wrong.
        page.ask("document.querySelector('main').append(document.createElement('button'))").await;
        let found = objections(page, &axe).await;
        assert!(found.iter().any(|words| words.starts_with("button-name")), "{found:?}");
    });
}

/// What is shown though it is too small for a finger.
const TOO_SMALL: &str = "[...document.querySelectorAll('button, select, input[type=range]')]
    .filter(one => one.checkVisibility() && !one.closest('dialog'))
    .filter(one => one.getBoundingClientRect().height < 44)
    .map(one => one.outerHTML.slice(0, 80))";

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn every_target_at_390_pixels_is_as_large_as_a_finger() {
    visit(async |page: &Page| {
        page.show(390, "light").await;
        page.open(READY).await;
        assert_eq!(page.ask(TOO_SMALL).await, json!([]));
        page.click("#show-me").await;
        settle(page).await;
        page.click("[data-stop='5']").await;
        assert_eq!(page.ask(TOO_SMALL).await, json!([]));
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn the_page_is_laid_out_anew_at_200_percent_and_never_scrolls_sideways() {
    visit(async |page: &Page| {
        // 1440 by 780 pixels at 200 percent.
        let size = json!({ "width": 720, "height": 390, "deviceScaleFactor": 2, "mobile": false });
        page.devtools("Emulation.setDeviceMetricsOverride", size).await;
        page.open(READY).await;
        page.click("#show-me").await;
        page.click("#more-lanes").await;
        settle(page).await;
        // Less a bar to scroll by.
        let wide = "document.documentElement.scrollWidth <= 720";
        assert_eq!(page.ask(wide).await, true);
        page.picture("zoom-200").await;
        page.click("[data-form=Both]").await;
        assert_eq!(page.ask(wide).await, true);
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn forced_colours_replace_every_colour_of_the_page_and_its_picture() {
    visit(async |page: &Page| {
        page.emulate(1440, &[("forced-colors", "active"), ("prefers-color-scheme", "dark")]).await;
        page.open(READY).await;
        page.click("#show-me").await;
        page.until("document.getElementById('place').textContent.includes('submit_bio')").await;
        let system = "(name => { const probe = document.createElement('i'); probe.style.color = name; \
            document.body.append(probe); const found = getComputedStyle(probe).color; \
            probe.remove(); return found; })";
        for (part, name) in [(".asked", "Highlight"), (".tlane", "CanvasText"), (".bg", "Canvas")] {
            let same = format!(
                "getComputedStyle(document.querySelector('#stage {part}')).fill === {system}('{name}')"
            );
            assert_eq!(page.ask(&same).await, true, "{part} is not {name}");
        }
        // Words on a plate can be told from it.
        let plate = "(one => [one.color, one.backgroundColor])(
            getComputedStyle(document.getElementById('next-stop')))";
        let colours = page.ask(plate).await;
        assert_ne!(colours[0], colours[1], "the words of the button are lost");
        let adjusts = "getComputedStyle(document.getElementById('next-stop')).forcedColorAdjust";
        assert_eq!(page.ask(adjusts).await, "none", "a plate lies under the words");
        page.picture("forced-colours").await;
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn nothing_moves_for_who_wants_less_motion_and_bits_never_do() {
    let moving = "document.getAnimations().map(one => one.effect.target)
        .filter(one => one.closest('#stage')).map(one => one.getAttribute('class'))";
    visit(async |page: &Page| {
        page.show_quietly(1440, "light").await;
        page.open(READY).await;
        page.click("#show-me").await;
        page.click("#more-lanes").await;
        for _ in 0..12 {
            page.keys(".").await;
            assert_eq!(page.ask(moving).await, json!([]));
        }
        page.show(1440, "light").await;
        for _ in 0..12 {
            page.keys(",").await;
            let classes = page.ask(moving).await;
            for class in classes.as_array().expect("a list") {
                let words = class.as_str().unwrap_or_default();
                assert!(words.split(' ').any(|word| word == "moves"), "{words} moves");
            }
        }
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn paper_gets_the_picture_on_a_light_ground_and_no_controls() {
    visit(async |page: &Page| {
        page.show(1440, "dark").await;
        page.open(READY).await;
        page.click("#show-me").await;
        page.until("document.getElementById('place').textContent.includes('submit_bio')").await;
        page.devtools("Emulation.setEmulatedMedia", json!({ "media": "print" })).await;
        let shown = |selector: &str| {
            format!("document.querySelector('{selector}')?.checkVisibility() ?? false")
        };
        for gone in [".top", ".transport", ".tools", ".next"] {
            assert_eq!(page.ask(&shown(gone)).await, false, "{gone} is printed");
        }
        for stays in ["#stage svg", "#legend", "#sentence", "#counters"] {
            assert_eq!(page.ask(&shown(stays)).await, true, "{stays} is not printed");
        }
        let ground = "getComputedStyle(document.documentElement).getPropertyValue('--bg')";
        assert_eq!(page.ask(ground).await, "#f7f8fa");
        page.picture("print").await;
    });
}
