//! The dialog that shares what is on the stage: a link, words, pictures.

use super::{Link, on};
use crate::share::scenario;
use crate::sharing::{Saved, ShareMsg, Sharing, WIDTHS};
use crate::state::State;
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::{Event, Html, TargetCast as _, html};

/// The button that opens it.
pub(crate) fn share_button(link: &Link) -> Html {
    html! {
        <button id="share-button" class="nav" aria-haspopup="dialog"
            onclick={on(link, || ShareMsg::Show)}>{ "Share\u{2026}" }</button>
    }
}

/// The dialog; it is open only while it is asked for.
pub(crate) fn share(link: &Link, state: Option<&State>, sharing: &Sharing) -> Html {
    html! {
        <dialog id="share" class="share" aria-labelledby="share-title" ref={sharing.place.clone()}>
            <h2 id="share-title">{ "Share this moment" }</h2>
            if let Some(state) = state { { content(link, state, sharing) } }
            <p id="shared" role="status">{ &sharing.said }</p>
            <button class="primary" onclick={on(link, || ShareMsg::Close)}>{ "Close" }</button>
        </dialog>
    }
}

fn content(link: &Link, state: &State, sharing: &Sharing) -> Html {
    let save = |id: &'static str, words: &'static str, what: Saved| {
        html! {
            <button {id} onclick={on(link, move || ShareMsg::Save(what))}>{ words }</button>
        }
    };
    let width = link.batch_callback(|event: Event| {
        let select: Option<HtmlSelectElement> = event.target_dyn_into();
        Some(ShareMsg::Width(select?.value().parse().ok()?).into())
    });
    let last = state.session.way().last();
    let number = |id: &'static str, words: &'static str, value: usize, to: bool| {
        let typed = link.batch_callback(move |event: Event| {
            let input: Option<HtmlInputElement> = event.target_dyn_into();
            Some(ShareMsg::Range(to, input?.value().parse().ok()?).into())
        });
        html! {
            <label>{ words }
                <input {id} type="number" min="0" max={last.to_string()} value={value.to_string()}
                    onchange={typed} />
            </label>
        }
    };
    let (from, to) = sharing.range;
    html! {
        <>
            { address(link, sharing) }
            <div class="row">
                <button id="copy-markdown" onclick={on(link, || ShareMsg::Copy(true))}>
                    { "Copy as Markdown" }</button>
                <button id="copy-text" onclick={on(link, || ShareMsg::Copy(false))}>
                    { "Copy as text, 72 columns" }</button>
            </div>
            <h3>{ "Picture" }</h3>
            <div class="row">
                <label>{ "Width " }
                    <select id="share-width" onchange={width}>
                        { for WIDTHS.iter().map(|one| html! {
                            <option value={one.to_string()} selected={*one == sharing.width}>
                                { one }
                            </option>
                        }) }
                    </select>
                </label>
                { save("save-svg", "Save SVG", Saved::Svg) }
                { save("save-png", "Save PNG", Saved::Png) }
            </div>
            <h3>{ "Moving picture" }</h3>
            <div class="row">
                { number("share-from", "From moment ", from, false) }
                { number("share-to", " to ", to, true) }
                { save("save-animated", "Save animated SVG", Saved::Animated) }
            </div>
            if scenario(state).is_some() {
                <h3>{ "What was run" }</h3>
                <div class="row">{ save("save-scenario", "Save scenario", Saved::Scenario) }</div>
            }
        </>
    }
}

fn address(link: &Link, sharing: &Sharing) -> Html {
    match &sharing.link {
        Some(Ok(url)) => html! {
            <div class="row">
                <input id="share-link" class="address" readonly=true aria-label="Link"
                    value={url.clone()} />
                <button id="copy-link" onclick={on(link, || ShareMsg::Link)}>{ "Copy link" }</button>
            </div>
        },
        Some(Err(why)) => html! { <p id="no-link" class="quietly">{ why }</p> },
        None => html! { <p class="quietly">{ "The link is being made\u{2026}" }</p> },
    }
}
