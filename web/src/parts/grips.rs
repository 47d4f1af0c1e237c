//! Handles over the picture while its scenario is edited: each is dragged, or clicked for the field
//! that holds its value.

use super::Link;
use crate::app::{Hold, Msg};
use crate::edit::Editor;
use crate::grips::{Drag, Grip};
use crate::stage::Picture;
use folioscope_core::scene::fixed::whole;
use web_sys::{Element, HtmlInputElement};
use yew::{Callback, Html, PointerEvent, TargetCast as _, classes, html};

/// Where a pointer is on the stage, and the handle that it took.
fn place(event: &PointerEvent) -> Option<((f64, f64), Element)> {
    let target: Option<Element> = event.target_dyn_into();
    let target = target?;
    let stage = target.closest(".grips").ok()??.get_bounding_client_rect();
    let (x, y) = (f64::from(event.client_x()), f64::from(event.client_y()));
    Some(((x - stage.left(), y - stage.top()), target))
}

/// The handles of a picture.
pub(crate) fn grips(link: &Link, picture: &Picture, all: &[Grip], drag: Option<&Drag>) -> Html {
    let taken = link.batch_callback(|event: PointerEvent| {
        let (at, target) = place(&event)?;
        let which = target.get_attribute("data-nth")?.parse().ok()?;
        event.prevent_default();
        // Without it a fast pointer would leave the handle behind.
        let _ = target.set_pointer_capture(event.pointer_id());
        (event.button() == 0).then_some(Msg::Hold(Hold::Take(which, at)))
    });
    let moved = drag.map_or_else(Callback::noop, |_| {
        link.batch_callback(|event: PointerEvent| {
            Some(Msg::Hold(Hold::To(place(&event)?.0, event.alt_key())))
        })
    });
    let dropped = link.callback(|_: PointerEvent| Msg::Hold(Hold::Drop));
    let left = link.callback(|_: PointerEvent| Msg::Hold(Hold::Leave));
    let scene = &picture.scene;
    let text = |number: f64| near(number).to_string();
    let rect = |class: &'static str, [x, y, w, h]: [f64; 4]| {
        html! { <rect {class} x={text(x)} y={text(y)} width={text(w)} height={text(h)} /> }
    };
    let handle = |(nth, grip): (usize, &Grip)| {
        let [x, y, w, h] = grip.area;
        let (table, key) = grip.what.key();
        let down = grip.is_down().then_some("down");
        html! {
            <rect class={classes!("grip", down)} data-nth={nth.to_string()}
                data-grip={format!("{table} {key}")} x={text(x)} y={text(y)} width={text(w)}
                height={text(h)}>
                <title>{ format!("Drag: {table} {key}") }</title>
            </rect>
        }
    };
    let meant = drag.map(|drag| drag.meant(scene));
    html! {
        <svg class="grips" aria-hidden="true" width={scene.width.to_string()}
            height={scene.height.to_string()} onpointerdown={taken} onpointermove={moved}
            onpointerup={dropped} onpointercancel={left}>
            { for all.iter().enumerate().map(handle) }
            if let Some(meant) = meant {
                { for meant.ghosts.iter().map(|[x, y, w, h]| html! {
                    <path class="ghost" d={format!("M{} {}l{} {}", text(*x), text(*y), text(*w), text(*h))} />
                }) }
                { rect("meant", meant.area) }
                { tag(&meant.words, meant.area, scene.width) }
            }
        </svg>
    }
}

/// A whole number: fractions cost the module the code that writes them.
fn near(number: f64) -> i32 {
    (number + 0.5).floor() as i32
}

/// What the drag means, on a plate over where it leads.
fn tag(words: &str, [x, y, w, _]: [f64; 4], width: u32) -> Html {
    let wide = whole(words.len()) * 8 + 12;
    let x = (near(x + w) + 6).min(width.cast_signed() - wide).max(0);
    let y = (near(y) - 24).max(0);
    html! {
        <>
            <rect class="plate" x={x.to_string()} y={y.to_string()} width={wide.to_string()}
                height="20" />
            <text id="tag" x={(x + 6).to_string()} y={(y + 14).to_string()}>{ words }</text>
        </>
    }
}

/// Gives the focus to the field of the form that was asked for, once it is there.
pub(crate) fn put_focus(editor: &mut Editor) {
    let Some(key) = editor.field.take() else { return };
    let field = web_sys::window().and_then(|window| window.document()).and_then(|document| {
        let found = document.query_selector(&format!("#form [data-key={key}]")).ok().flatten();
        wasm_bindgen::JsCast::dyn_into::<HtmlInputElement>(found?).ok()
    });
    if let Some(field) = field {
        let _ = field.focus();
        field.select();
    }
}
