//! The picture as something to take hold of: drags that change the scenario, and keys that do the
//! same.

use crate::compare::choose;
use crate::edit::{fine, open_sandbox, text, type_over};
use crate::page::{Page, visit};
use serde_json::json;

/// A pointer on the handle with this name: down in its middle, to another place in steps, and up;
/// what the tag said before.
async fn drag(page: &Page, grip: &str, from: f64, to: f64, alt: bool) -> String {
    let down = grip.ends_with("members");
    // Parts of the handle where it is an axis, pixels from its middle where it is an edge.
    let axis = grip.starts_with("op") || grip.starts_with("partition");
    let script = format!(
        "(async () => {{ const grip = document.querySelector('[data-grip=\"{grip}\"]'); \
         const box = grip.getBoundingClientRect(); \
         const across = (part) => {axis} ? (part - 0.5) * box.width : {down} ? 0 : part; \
         const x = (part) => box.x + box.width / 2 + across(part); \
         const y = (part) => box.y + box.height / 2 + ({down} ? part : 0); \
         const send = (kind, part) => grip.dispatchEvent(new PointerEvent(kind, \
         {{ clientX: x(part), clientY: y(part), pointerId: 1, pointerType: 'touch', button: 0, \
         altKey: {alt}, bubbles: true, cancelable: true }})); \
         const frame = () => new Promise((done) => requestAnimationFrame(done)); \
         send('pointerdown', {from}); await frame(); \
         for (const n of [1, 2, 3, 4]) {{ \
         send('pointermove', {from} + ({to} - {from}) * n / 4); await frame(); }} \
         const tag = document.getElementById('tag')?.textContent ?? ''; \
         send('pointerup', {to}); await frame(); return tag; }})()"
    );
    let tag = page.ask_later(&script).await;
    tag.as_str().unwrap_or_default().to_owned()
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn a_drag_on_the_ruler_writes_and_a_click_writes_one_block() {
    visit(async |page: &Page| {
        page.show_quietly(1440, "light").await;
        open_sandbox(page).await;
        assert_eq!(drag(page, "op at", 0.51, 0.70, false).await, "write 16k at 32k");
        page.until("document.querySelectorAll('[data-op]').length === 4").await;
        fine(page).await;
        assert!(text(page).await.contains("do = \"pwrite\"\nat = \"32k\"\nlen = \"16k\""));
        assert_eq!(page.count("#tag").await, 0);
        // It stands behind the operation that was shown, and its form is open.
        page.until("document.querySelector('#form [data-key=len]')?.value === '16k'").await;
        page.until("document.querySelector('.op.here .chip').textContent.includes('16k at 32k')")
            .await;
        page.picture("grips-write").await;
        let tag = drag(page, "op at", 0.51, 0.70, true).await;
        assert!(tag.starts_with("write 1") && !tag.contains('k'), "bytes: {tag}");
        page.until("document.querySelectorAll('[data-op]').length === 5").await;
        fine(page).await;
        drag(page, "op at", 0.30, 0.30, false).await;
        page.until("document.querySelectorAll('[data-op]').length === 6").await;
        fine(page).await;
        assert!(text(page).await.contains("at = \"16k\"\nlen = \"4k\""));
        // Escape leaves it as it was.
        let escaped = "(async () => { const grip = document.querySelector('[data-grip=\"op at\"]'); \
            const box = grip.getBoundingClientRect(); \
            const frame = () => new Promise(requestAnimationFrame); \
            const send = (kind, x) => grip.dispatchEvent(new PointerEvent(kind, \
            { clientX: box.x + x, clientY: box.y + 9, pointerId: 1, button: 0, bubbles: true, \
            cancelable: true })); \
            send('pointerdown', 40); await frame(); send('pointermove', 200); await frame(); \
            const tag = document.getElementById('tag') !== null; \
            document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' })); \
            await frame(); send('pointerup', 200); await frame(); \
            return tag && document.getElementById('tag') === null; })()";
        assert_eq!(page.ask_later(escaped).await, true);
        assert_eq!(page.count("[data-op]").await, 6);
        for left in [5, 4, 3] {
            page.click("#undo").await;
            page.until(&format!("document.querySelectorAll('[data-op]').length === {left}")).await;
        }
        // The same by keys: the block under the cursor.
        fine(page).await;
        page.ask("document.getElementById('stage').focus()").await;
        let label = page.ask("document.getElementById('stage').ariaLabel").await;
        let press = |key: &str| {
            format!(
                "document.getElementById('stage').dispatchEvent(new KeyboardEvent('keydown', \
                 {{ key: {key}, altKey: true, bubbles: true, cancelable: true }}))",
                key = json!(key)
            )
        };
        page.ask(&press("Enter")).await;
        page.until("document.querySelectorAll('[data-op]').length === 4").await;
        assert!(label.as_str().is_some_and(|label| label.contains("block 0")), "{label}");
        fine(page).await;
        assert!(text(page).await.contains("do = \"pwrite\"\nat = \"0\"\nlen = \"4k\""));
        page.ask(&press("ArrowLeft")).await;
        page.until("document.getElementById('text').value.includes('max_folio_order = 3')").await;
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn edges_change_order_chunk_members_and_start_or_lead_to_their_fields() {
    visit(async |page: &Page| {
        page.show_quietly(1440, "light").await;
        open_sandbox(page).await;
        let old = text(page).await;
        let table = "[array]\nlevel = \"raid5\"\nmembers = 4\nchunk = \"64k\"\n\n\
                     [partition]\nstart = \"1m\"\n\n[[file]]";
        type_over(page, "[[file]]", table).await;
        type_over(page, "do = \"pread\"\nlen = \"64k\"", "do = \"pwrite\"\nlen = \"1m\"").await;
        fine(page).await;
        page.click("#last").await;
        for (grip, from, to, tag, line) in [
            ("array chunk", 0.0, 130.0, "chunk = 128k", "chunk = \"128k\""),
            ("array members", 0.0, 16.0, "members = 5", "members = 5"),
            ("partition start", 0.2, 0.0, "start = ", "start = "),
            ("world max_folio_order", 0.0, -200.0, "max_folio_order = ", "max_folio_order = "),
        ] {
            page.until(&format!("document.querySelector('[data-grip=\"{grip}\"]')")).await;
            let before = text(page).await;
            let said = drag(page, grip, from, to, false).await;
            assert!(said.starts_with(tag), "{grip}: {said}");
            page.until(&format!(
                "document.getElementById('text').value !== {before} && \
                 document.getElementById('text').value.includes({line})",
                before = json!(before),
                line = json!(line)
            ))
            .await;
            page.picture(&format!("grips-{}", grip.replace(' ', "-"))).await;
            fine(page).await;
            page.click("#undo").await;
            page.until(&format!("document.getElementById('text').value === {}", json!(before)))
                .await;
            fine(page).await;
            page.click("#last").await;
            // A click opens the number.
            let key = grip.rsplit(' ').next().unwrap_or_default();
            drag(page, grip, 0.2, 0.2, false).await;
            page.until(&format!("document.activeElement.dataset.key === '{key}'")).await;
        }
        assert!(text(page).await.len() > old.len());
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}

#[test]
#[ignore = "needs Chromium: run `cargo xtask test`"]
fn a_drag_changes_the_setting_that_is_shown_and_the_stripe_of_its_queue() {
    visit(async |page: &Page| {
        page.show_quietly(1440, "light").await;
        open_sandbox(page).await;
        type_over(page, "[[file]]", "[queue]\nio_opt = \"16k\"\n\n[[file]]").await;
        type_over(page, "do = \"pread\"\nlen = \"64k\"", "do = \"pwrite\"\nlen = \"1m\"").await;
        fine(page).await;
        page.click("#last").await;
        page.until("document.querySelector('[data-grip=\"queue io_opt\"]')").await;
        let said = drag(page, "queue io_opt", 0.0, 40.0, false).await;
        assert!(said.starts_with("io_opt = ") && said != "io_opt = 16k", "{said}");
        let size = said.trim_start_matches("io_opt = ");
        page.until(&format!(
            "document.getElementById('text').value.includes('io_opt = \"{size}\"')"
        ))
        .await;
        fine(page).await;
        // The second of two settings has an order of its own: that is what its folios show.
        let own = "[[variant]]\nname = \"a\"\n\n[[variant]]\nname = \"b\"\n[variant.world]\n\
                   max_folio_order = 3\n\n[[file]]";
        type_over(page, "[[file]]", own).await;
        fine(page).await;
        choose(page, "against", "own").await;
        page.until(
            "document.querySelector('h1').parentElement.textContent.includes('a against b')",
        )
        .await;
        fine(page).await;
        page.click("#last").await;
        let at = "[data-grip=\"world max_folio_order\"]";
        page.until(&format!("document.querySelector('{at}')")).await;
        let before = text(page).await;
        drag(page, "world max_folio_order", 0.0, -200.0, false).await;
        page.until(&format!("document.getElementById('text').value !== {}", json!(before))).await;
        let now = text(page).await;
        let (top, setting) = now.split_once("[variant.world]").expect("it stands there");
        let (old, _) = before.split_once("[variant.world]").expect("it stood there");
        assert_eq!(top, old, "the scenario's own table is as it was");
        assert!(!setting.contains("max_folio_order = 3"), "{setting}");
        assert!(page.count("[data-table='variant.world']").await == 1);
        assert_eq!(page.complaints().await, Vec::<String>::new());
    });
}
