//! The header: what there is to see, how to bring one's own, colours, help; and the sentence for
//! what could not be opened.

use super::{Link, on};
use crate::app::Msg;
use crate::browser::Colours;
use crate::edit::Edit;
use crate::open::MAX_BYTES;
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::{Event, Html, NodeRef, TargetCast as _, html};

/// The header.
pub(crate) fn top(
    link: &Link,
    (gallery, editing): (bool, bool),
    colours: Colours,
    picker: &NodeRef,
) -> Html {
    let picked = link.batch_callback(|event: Event| {
        let input: Option<HtmlInputElement> = event.target_dyn_into();
        let input = input?;
        let file = input.files().and_then(|files| files.get(0))?;
        // The same file may be picked again.
        input.set_value("");
        Some(Msg::Open(file))
    });
    let chosen = link.batch_callback(|event: Event| {
        let select: Option<HtmlSelectElement> = event.target_dyn_into();
        Some(Msg::Colours(Colours::of_word(&select?.value())))
    });
    let title = format!(
        "Open a trace that folioscope wrote, a scenario, a job of fio or a listing of filefrag -v, of up to {} MiB",
        MAX_BYTES >> 20
    );
    html! {
        <header class="top">
            <span class="brand">
                <svg width="20" height="18" viewBox="0 0 20 18" aria-hidden="true">
                    <path class="logo" d="M0 1.5 8.5 4v13.5L0 15zM20 1.5 11.5 4v13.5L20 15z" />
                </svg>
                { "Folioscope" }
            </span>
            <nav aria-label="What to see">
                <button id="nav-lessons" class="nav" aria-current={gallery.then_some("page")}
                    onclick={on(link, || Msg::Gallery)}>{ "Lessons" }</button>
                <button id="nav-sandbox" class="nav" aria-pressed={editing.to_string()}
                    title="Change the scenario, and see what the disk gets"
                    onclick={on(link, || Edit::Toggle)}>{ "Sandbox" }</button>
                <button id="nav-open" class="nav" title={title}
                    onclick={on(link, || Msg::Pick)}>{ "Open\u{2026}" }</button>
                { super::share_button(link) }
                <input id="file" class="vh" type="file" tabindex="-1" aria-hidden="true"
                    accept=".trace,.fst,.toml,.txt,.fio,.job,application/octet-stream" ref={picker} onchange={picked} />
            </nav>
            <label class="colours">
                <span class="vh">{ "Colours" }</span>
                <select id="colours" onchange={chosen}>
                    { for Colours::ALL.iter().map(|(one, word)| html! {
                        <option value={*word} selected={*one == colours}>{ *word }</option>
                    }) }
                </select>
            </label>
            <button id="help-button" class="square" aria-label="Keys and help"
                onclick={on(link, || Msg::Help(true))}>{ "?" }</button>
        </header>
    }
}

/// What went wrong, until it is put away.
pub(crate) fn alert(link: &Link, words: Option<&str>) -> Html {
    html! {
        <div id="alert" role="alert">
            if let Some(words) = words {
                <p class="alert">
                    <span>{ words }</span>
                    <button class="quiet" onclick={on(link, || Msg::Dismiss)}>{ "Close" }</button>
                </p>
            }
        </div>
    }
}
