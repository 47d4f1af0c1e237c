//! The editor: text and forms, both ways; a step that is held while the scenario changes.

use crate::READY;
use crate::page::{Page, visit};
use serde_json::{Value, json};

/// Chords of the keyboard.
const CONTROL: &str = "\u{e009}";
const RELEASE: &str = "\u{e000}";
const ENTER: &str = "\u{e007}";

pub(crate) async fn open_sandbox(page: &Page) {
    page.open(READY).await;
    page.click("#nav-lessons").await;
    page.click("[data-example=sandbox]").await;
    page.until("document.querySelector('.claim h1')?.textContent === 'Sandbox'").await;
    page.click("#nav-sandbox").await;
    fine(page).await;
}

/// Waits until the stage shows what the text says.
pub(crate) async fn fine(page: &Page) {
    page.until(
        "document.getElementById('wrong')?.dataset.state === 'fine' && \
         document.getElementById('form')?.dataset.fresh === 'true'",
    )
    .await;
}

pub(crate) async fn text(page: &Page) -> String {
    let text = page.ask("document.getElementById('text').value").await;
    text.as_str().unwrap_or_default().to_owned()
}

/// Puts other words in the place of some, as typing would.
pub(crate) async fn type_over(page: &Page, old: &str, new: &str) {
    let script = format!(
        "(() => {{ const area = document.getElementById('text'); const at = area.value.indexOf({old}); \
         area.focus(); area.setSelectionRange(at, at + {old}.length); \
         return document.execCommand('insertText', false, {new}); }})()",
        old = json!(old),
        new = json!(new)
    );
    assert_eq!(page.ask(&script).await, true, "{old} is in the text");
}

/// What a run sends to the device, as an expression.
fn cell(side: &str) -> String {
    format!(
        "document.querySelector('[data-counter=device_bytes_written][data-side={side}][data-when=whole]')?.dataset.value"
    )
}

fn is_sent(side: &str, bytes: u64) -> String {
    format!("{} === '{bytes}'", cell(side))
}

async fn sent(page: &Page, side: &str) -> Value {
    page.ask(&cell(side)).await
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn the_text_is_checked_as_it_is_typed_and_run_when_it_is_right() {
    visit(async |page: &Page| {
        open_sandbox(page).await;
        assert_eq!(sent(page, "A").await, "4096");
        type_over(page, "\"20k\"", "\"20q\"").await;
        page.until("document.getElementById('wrong').dataset.state === 'wrong'").await;
        let said = page.ask("document.getElementById('wrong').innerText").await;
        let said = said.as_str().unwrap_or_default();
        assert!(said.contains("line 22, column 6") && said.contains("expected a size"), "{said}");
        assert!(said.contains("  22 | at = \"20q\"\n     |      ^"), "{said}");
        assert_eq!(page.count(".wrong-mark").await, 1);
        assert_eq!(page.ask("document.getElementById('text').ariaInvalid").await, "true");
        assert_eq!(sent(page, "A").await, "4096", "the stage keeps what was right");
        page.click("#to-wrong").await;
        page.until("document.activeElement.id === 'text'").await;
        assert_eq!(
            page.ask("(a => a.value.slice(a.selectionStart, a.selectionEnd))(document.getElementById('text'))").await,
            "\"20q\""
        );
        page.picture("edit-wrong").await;
        type_over(page, "\"20q\"\nlen = \"4k\"", "\"20k\"\nlen = \"12k\"").await;
        page.until(&is_sent("B", 12288)).await;
        assert_eq!(sent(page, "A").await, "4096");
        let place = page.ask("document.getElementById('place').textContent").await;
        assert!(place.as_str().is_some_and(|place| place.contains("submit_bio")), "{place}");
        // What was typed comes back, one change at a time.
        page.keys_to("#text", &format!("{CONTROL}z{RELEASE}")).await;
        page.until("document.getElementById('text').value.includes('20q')").await;
        page.keys_to("#text", &format!("{CONTROL}y{RELEASE}")).await;
        page.until("document.getElementById('text').value.includes('12k')").await;
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn a_form_changes_its_value_and_nothing_else() {
    visit(async |page: &Page| {
        open_sandbox(page).await;
        let before = text(page).await;
        page.click("[data-op='1']").await;
        page.until("document.querySelector('#form [data-key=at]')?.value === '20k'").await;
        for at in ["24k", "28k"] {
            page.click("[data-step='at more']").await;
            page.until(&format!("document.querySelector('[data-key=at]').value === '{at}'")).await;
        }
        fine(page).await;
        let wanted = before.replace("\"20k\"", "\"28k\"");
        assert_eq!(text(page).await, wanted);
        page.keys_to("[data-key=len]", "\u{e013}").await;
        page.until("document.querySelector('#form [data-key=len]').value === '8k'").await;
        page.until(&is_sent("B", 8192)).await;
        // A switch of the profile, from the list of the engine.
        page.click("[data-table='']").await;
        page.until("document.querySelector('[data-more=switches]')").await;
        page.click("[data-more=switches] summary").await;
        let choose = "(() => { const select = document.querySelector('[data-key=dirty_tracking]'); \
            select.value = 'per-folio'; \
            select.dispatchEvent(new Event('change', { bubbles: true })); })()";
        page.ask(choose).await;
        page.until("document.getElementById('text').value.includes('switches = { dirty_tracking = \"per-folio\" }')").await;
        fine(page).await;
        assert!(text(page).await.contains("# A place to try things"));
        page.show(1440, "light").await;
        page.picture("edit-1440-light").await;
        let edge = |name: &str, side: &str| {
            format!("document.querySelector('{name}').getBoundingClientRect().{side}")
        };
        page.until(&format!("{} <= {}", edge(".transport", "right"), edge("#edit", "left"))).await;
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn operations_are_chips_that_move_and_go() {
    visit(async |page: &Page| {
        open_sandbox(page).await;
        let ops = async || {
            page.ask("[...document.querySelectorAll('[data-op]')].map(one => one.textContent)")
                .await
        };
        page.click("#add-sync").await;
        page.until("document.querySelector(\"[data-op='3'][aria-current]\")").await;
        fine(page).await;
        assert_eq!(
            ops().await,
            json!(["1pread 64k at 0", "2pwrite 4k at 20k", "3fsync", "4fsync"])
        );
        page.click("[data-op='2']").await;
        let alt_left = "(() => document.querySelector(\"[data-op='2']\").dispatchEvent(new KeyboardEvent(\
            'keydown', { key: 'ArrowLeft', altKey: true, bubbles: true, cancelable: true })))()";
        page.ask(alt_left).await;
        page.until("document.querySelector(\"[data-op='1']\").textContent === '2fsync'").await;
        fine(page).await;
        let drag = "(() => { const data = new DataTransfer(); \
            const at = (nth) => document.querySelector(`[data-op='${nth}']`); \
            const send = (to, kind) => to.dispatchEvent(new DragEvent(kind, \
            { dataTransfer: data, bubbles: true, cancelable: true })); \
            send(at(3), 'dragstart'); send(at(0), 'dragover'); send(at(0), 'drop'); })()";
        page.ask(drag).await;
        page.until("document.querySelector(\"[data-op='0']\").textContent === '1fsync'").await;
        fine(page).await;
        assert_eq!(
            ops().await,
            json!(["1fsync", "2pread 64k at 0", "3fsync", "4pwrite 4k at 20k"])
        );
        page.keys_to("[data-op='0']", "\u{e017}").await;
        page.until("document.querySelectorAll('[data-op]').length === 3").await;
        fine(page).await;
        page.click("#undo").await;
        page.until("document.querySelectorAll('[data-op]').length === 4").await;
        fine(page).await;
        // A block of the picture is pointed at and written, behind the operation that is shown.
        page.click("[data-op='1']").await;
        page.ask("document.getElementById('stage').focus()").await;
        page.keys_to("#stage", "\u{e015}\u{e015}").await;
        page.until("document.getElementById('add-op').innerText.includes('at ')").await;
        page.click("#add-op").await;
        page.until("document.querySelectorAll('[data-op]').length === 5").await;
        page.until("document.querySelector(\"[data-op='2'][aria-current]\")").await;
        let place = page.ask("document.getElementById('place').textContent").await;
        assert!(place.as_str().is_some_and(|place| place.starts_with("B: op 3 of 5")), "{place}");
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn a_listing_of_filefrag_and_a_job_of_fio_are_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("extents.txt");
    let listing = include_str!("../../../core/tests/data/filefrag-ext4.txt");
    std::fs::write(&path, listing).expect("it can be written");
    let job = folder.path().join("few.fio");
    std::fs::write(&job, "[few]\nrw=randwrite\nbs=4k\nsize=64k\nfsync=4\n")
        .expect("it can be written");
    let picture = folder.path().join("holiday.jpg");
    std::fs::write(&picture, b"\xff\xd8\xff\xe0").expect("it can be written");
    visit(async |page: &Page| {
        page.open(READY).await;
        page.pick(&path).await;
        page.wait_for("The mapping of frag.bin").await;
        page.click("#nav-sandbox").await;
        fine(page).await;
        assert!(text(page).await.contains("sector = 324067872"));
        page.pick(&job).await;
        page.wait_for("few: randwrite by 4 KiB").await;
        page.pick(&picture).await;
        page.wait_for("holiday.jpg: this is not a folioscope trace, no scenario (.toml)").await;
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn a_lesson_ends_in_the_sandbox_at_its_step() {
    visit(async |page: &Page| {
        page.open(READY).await;
        page.click("#show-me").await;
        page.click("[data-stop='5']").await;
        page.click("#next-stop").await;
        fine(page).await;
        assert_eq!(page.count("[data-answer]").await, 0, "no question");
        assert!(text(page).await.contains("per folio"));
        assert_eq!(sent(page, "A").await, "1572864");
        // The setting that was B stands still as A, and the edited one runs beside it.
        page.ask(
            "(() => { const select = document.getElementById('against'); select.value = '1'; \
             select.dispatchEvent(new Event('change', { bubbles: true })); })()",
        )
        .await;
        page.wait_for("per block, as it was").await;
        page.click("#auto").await;
        type_over(page, "repeat = 23", "repeat = 3").await;
        page.until("document.getElementById('wrong').innerText.includes('It can be run')").await;
        assert_eq!(sent(page, "B").await, "98304");
        page.keys_to("#text", &format!("{CONTROL}{ENTER}{RELEASE}")).await;
        page.until(&is_sent("B", 16384)).await;
        assert_eq!(sent(page, "A").await, "98304");
        for (width, scheme) in [(1024, "dark"), (390, "light")] {
            page.show(width, scheme).await;
            page.picture(&format!("edit-{width}-{scheme}")).await;
            let row = page.ask("document.querySelector('.top').clientHeight").await;
            assert!(row.as_u64() <= Some(56), "the header has one row at {width}: {row}");
            let widest = page.ask("document.documentElement.scrollWidth").await;
            assert!(widest.as_u64() <= Some(width.into()), "{widest} is wider than {width}");
        }
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}
