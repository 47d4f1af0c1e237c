//! The inspector, the cursor on the picture with its keys, and the tools that zoom.

use super::{Link, on};
use crate::app::{Act, Hold};
use crate::looking::{Glance, PARTS};
use crate::stage::Picture;
use crate::state::State;
use folioscope_core::scene::inspect::Cause;
use folioscope_core::scene::spots::Move;
use web_sys::{Element, HtmlInputElement};
use yew::{
    Callback, FocusEvent, Html, InputEvent, KeyboardEvent, MouseEvent, TargetCast as _, html,
};

/// A click on the picture, or a tap.
pub(crate) fn pointed(link: &Link) -> Callback<MouseEvent> {
    link.batch_callback(|event: MouseEvent| {
        // The event was caught at the root of the page: the picture is found from its target.
        let target: Option<Element> = event.target_dyn_into();
        let place = target?.closest("#stage").ok()??.get_bounding_client_rect();
        let at = |client: i32, edge: f64| client - edge.round() as i32;
        let (x, y) = (at(event.client_x(), place.left()), at(event.client_y(), place.top()));
        Some(Act::Look(Glance::At(x, y)).into())
    })
}

/// The picture takes the focus.
pub(crate) fn focused(link: &Link) -> Callback<FocusEvent> {
    link.callback(|_: FocusEvent| Act::Look(Glance::Focus))
}

/// Keys while the picture has the focus; with Alt they change what is edited.
pub(crate) fn keys(link: &Link, edits: bool) -> Callback<KeyboardEvent> {
    link.batch_callback(move |event: KeyboardEvent| {
        if event.ctrl_key() || event.meta_key() || (event.alt_key() && !edits) {
            return None;
        }
        let glance = glance(&event.key(), event.shift_key())?;
        let message = match glance {
            _ if !event.alt_key() => Act::Look(glance).into(),
            Glance::Go(to) => Hold::Step(to).into(),
            Glance::Open => Hold::Write.into(),
            Glance::At(..)
            | Glance::Focus
            | Glance::Close
            | Glance::In(_)
            | Glance::Out(_)
            | Glance::Fit
            | Glance::To(_) => return None,
        };
        event.prevent_default();
        Some(message)
    })
}

fn glance(key: &str, shift: bool) -> Option<Glance> {
    Some(match (key, shift) {
        ("ArrowLeft", false) => Glance::Go(Move::Left),
        ("ArrowRight", false) => Glance::Go(Move::Right),
        ("ArrowLeft", true) => Glance::Go(Move::FolioLeft),
        ("ArrowRight", true) => Glance::Go(Move::FolioRight),
        ("ArrowUp", _) => Glance::Go(Move::Up),
        ("ArrowDown", _) => Glance::Go(Move::Down),
        ("Enter", _) => Glance::Open,
        ("Escape", _) => Glance::Close,
        ("+" | "=", _) => Glance::In(None),
        ("-", _) => Glance::Out(None),
        _ => return None,
    })
}

/// What the picture is called while it has the focus: where the cursor is, and what is there.
pub(crate) fn label(picture: &Picture) -> String {
    let here = picture.found.as_ref().map(|found| found.words.as_str());
    let keys = "arrows go from thing to thing, Enter opens details";
    here.map_or_else(|| format!("Picture: {keys}"), |words| format!("{words}. {keys}"))
}

/// What is known of the thing under the cursor.
pub(crate) fn inspector(link: &Link, state: &State, picture: &Picture) -> Html {
    if !state.looking.inspects {
        return html! {};
    }
    let close = on(link, || Act::Look(Glance::Close));
    let Some(found) = &picture.found else {
        return html! {
            <section id="inspector" class="inspector" aria-label="Inspector">
                <p class="quietly">{ "What was looked at is not here at this step." }</p>
                <button class="quiet" onclick={close}>{ "Close" }</button>
            </section>
        };
    };
    let side = found.run;
    let cause = |cause: &Cause| {
        let at = state.session.way().reach(side, cause.position);
        html! {
            <li>
                <span class="quietly">{ cause.what }{ " " }</span>
                <button class="link" data-step={at.to_string()}
                    onclick={on(link, move || Act::Go(at))}>{ &cause.sentence }</button>
                <span class="code">{ cause.function }</span>
            </li>
        }
    };
    // What is too narrow for a finger is reached from beside it.
    let go = |label: &'static str, sign: &'static str, to: Move| {
        html! {
            <button class="segment" aria-label={label}
                onclick={on(link, move || Act::Look(Glance::Go(to)))}>{ sign }</button>
        }
    };
    let details = &found.details;
    html! {
        <section id="inspector" class="inspector" aria-label="Inspector">
            <h2>
                if !found.label.is_empty() { <span class="run">{ &found.label }</span> }
                { &details.name }
                <span class="differs">{ &details.state }</span>
            </h2>
            <dl>
                { for details.rows.iter().map(|(what, value)| html! {
                    <div><dt>{ *what }</dt><dd>{ value }</dd></div>
                }) }
            </dl>
            if !details.causes.is_empty() {
                <ul class="causes">{ for details.causes.iter().map(cause) }</ul>
            }
            <div class="segments">
                { go("To the left", "\u{2039}", Move::Left) }
                { go("To the right", "\u{203a}", Move::Right) }
                <button class="quiet" onclick={close}>{ "Close" }</button>
            </div>
        </section>
    }
}

/// More and less of the file, and which part of it.
pub(crate) fn zoom(link: &Link, picture: &Picture) -> Html {
    let button =
        |id: &'static str, words: &'static str, sign: &'static str, glance: Glance, off| {
            html! {
                <button {id} class="segment" aria-label={words} title={words} disabled={off}
                    onclick={on(link, move || Act::Look(glance))}>{ sign }</button>
            }
        };
    let moved = link.batch_callback(|event: InputEvent| {
        let input: Option<HtmlInputElement> = event.target_dyn_into();
        Some(Act::Look(Glance::To(input?.value().parse().ok()?)).into())
    });
    let all = picture.part.is_none();
    html! {
        <>
            <div class="segments" role="group" aria-label="Zoom">
                { button("zoom-out", "Show more of the file", "\u{2212}", Glance::Out(None), all) }
                { button("zoom-in", "Show less of the file", "+", Glance::In(None), false) }
                { button("zoom-fit", "Fit all of the file", "Fit", Glance::Fit, all) }
            </div>
            if let Some(part) = picture.part {
                <input id="pan" type="range" min="0" max={PARTS.to_string()} step="25"
                    value={part.to_string()} aria-label="Which part of the file" oninput={moved} />
            }
        </>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_picture_leave_those_of_time_alone() {
        for key in [" ", ",", ".", "[", "]", "Home", "End", "0", "9", "n", "?", "Tab"] {
            assert_eq!(glance(key, false), None, "{key}");
        }
        assert_eq!(glance("ArrowLeft", true), Some(Glance::Go(Move::FolioLeft)));
    }
}
