//! The panel of searching: the field, what it found, jumps, what play stops at, and marks.

use super::{Link, on, raw};
use crate::app::{Act, Msg};
use crate::find::{Ask, EXAMPLES, Find, Job};
use crate::state::State;
use folioscope_core::scene::fixed::grouped;
use folioscope_core::search::{Event, QueryError};
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::{Html, InputEvent, KeyboardEvent, TargetCast as _, classes, html};

fn ask(link: &Link, ask: Ask) -> yew::Callback<yew::MouseEvent> {
    on(link, move || Msg::Find(ask.clone()))
}

/// The panel, while it is open.
pub(crate) fn find(link: &Link, state: &State) -> Html {
    let find = &state.find;
    if !find.open {
        return html! {};
    }
    html! {
        <search id="find" class="find">
            { row(link, state) }
            { error(find) }
            if find.text.trim().is_empty() { { examples(link) } }
            { lists(link, find) }
        </search>
    }
}

/// The button that opens the panel.
pub(crate) fn find_button(link: &Link, state: &State) -> Html {
    let open = state.find.open;
    html! {
        <button id="find-button" class="link" aria-pressed={open.to_string()}
            title="Search, jump, stops and marks (/)"
            onclick={ask(link, Ask::Open(!open))}>{ if open { "Hide search" } else { "Search" } }</button>
    }
}

fn row(link: &Link, state: &State) -> Html {
    let find = &state.find;
    let typed = link.batch_callback(|event: InputEvent| {
        let input: Option<HtmlInputElement> = event.target_dyn_into();
        Some(Msg::Find(Ask::Type(input?.value())))
    });
    let pressed = link.batch_callback(|event: KeyboardEvent| {
        let asks = match event.key().as_str() {
            "Enter" => Ask::Next(!event.shift_key()),
            "Escape" => Ask::Open(false),
            _ => return None,
        };
        event.prevent_default();
        Some(Msg::Find(asks))
    });
    let none = find.search.is_none();
    let wrong = find.error.is_some();
    html! {
        <div class="find-row">
            <input id="query" type="text" ref={find.field.clone()} value={find.text.clone()}
                autocomplete="off" spellcheck="false" maxlength="200"
                aria-label="Search steps: words, or what begins to hold"
                aria-invalid={wrong.then_some("true")}
                aria-describedby={wrong.then_some("query-error")}
                placeholder="words of a step, or what begins to hold: dirty > 64k"
                oninput={typed} onkeydown={pressed} />
            <span id="found" class="found">
                { find.search.as_ref().map(|job| count(job, state.session.at())) }
            </span>
            <button id="find-back" class="square" disabled={none} title="Previous (F)"
                aria-label="Previous that fits" onclick={ask(link, Ask::Next(false))}>
                { "\u{2039}" }
            </button>
            <button id="find-next" class="square" disabled={none} title="Next (f)"
                aria-label="Next that fits" onclick={ask(link, Ask::Next(true))}>
                { "\u{203a}" }
            </button>
            <button id="add-stop" disabled={none} title="Play stops where this begins to hold"
                onclick={ask(link, Ask::Stop)}>{ "Stop here" }</button>
            <button id="find-close" class="quiet" onclick={ask(link, Ask::Open(false))}>
                { "Close" }
            </button>
        </div>
    }
}

/// `3 of 17`, or how far it was looked.
fn count(job: &Job, at: usize) -> String {
    let all = grouped(job.count() as u64);
    match job.number(at) {
        _ if !job.done() => format!("{all} so far\u{2026}"),
        _ if job.count() == 0 => "not found".to_owned(),
        Some(number) => format!("{} of {all}", grouped(number as u64)),
        None => format!("{all} found"),
    }
}

/// What is wrong with the query, with the word in question marked.
fn error(find: &Find) -> Html {
    let Some(QueryError { column, message }) = &find.error else { return html! {} };
    let letters = |from: usize, to: usize| -> String {
        find.text.chars().skip(from).take(to.saturating_sub(from)).collect()
    };
    // Columns count from the first letter that is no blank.
    let blank = find.text.chars().take_while(|c| c.is_whitespace()).count();
    let from = blank + column - 1;
    let word = find.text.chars().skip(from).take_while(|c| !c.is_whitespace()).count();
    let to = from + word;
    let marked = if word == 0 { "\u{2003}".to_owned() } else { letters(from, to) };
    html! {
        <p id="query-error" class="query-error">
            <code>{ letters(0, from) }<mark>{ marked }</mark>{ letters(to, usize::MAX) }</code>
            { format!("Column {column}: {message}.") }
        </p>
    }
}

fn examples(link: &Link) -> Html {
    html! {
        <div class="find-list" role="group" aria-label="Examples">
            <span class="quietly">{ "Try" }</span>
            { for EXAMPLES.iter().map(|text| html! {
                <button class="link" data-query={*text}
                    onclick={ask(link, Ask::Type((*text).to_owned()))}>{ *text }</button>
            }) }
        </div>
    }
}

fn lists(link: &Link, find: &Find) -> Html {
    let chosen = link.batch_callback(|event: yew::Event| {
        let select: Option<HtmlSelectElement> = event.target_dyn_into();
        Some(Msg::Find(Ask::Event(Event::from_word(&select?.value())?)))
    });
    let stop = |(at, job): (usize, &Job)| {
        html! {
            <span class="entry" data-stop-at={job.text.clone()}>
                { raw(STOP) }
                <code>{ &job.text }</code>
                <span class="quietly">{ count(job, usize::MAX) }</span>
                <button class="quiet" aria-label={format!("Stop no more at {}", job.text)}
                    onclick={ask(link, Ask::Unstop(at))}>{ "\u{d7}" }</button>
            </span>
        }
    };
    let mark = |(which, mark): (usize, &crate::find::Mark)| {
        let at = mark.at;
        html! {
            <span class="entry" data-mark={at.to_string()}>
                { raw(FLAG) }
                <button class="link" onclick={on(link, move || Act::Go(at))}>{ &mark.words }</button>
                <button class="quiet" aria-label={format!("Remove the mark at {}", mark.words)}
                    onclick={ask(link, Ask::Unmark(which))}>{ "\u{d7}" }</button>
            </span>
        }
    };
    html! {
        <div class="find-list">
            <label>{ "Jump to " }
                <select id="event" onchange={chosen}>
                    { for Event::ALL.iter().map(|one| html! {
                        <option value={one.word()} selected={*one == find.event}>
                            { one.words() }
                        </option>
                    }) }
                </select>
            </label>
            <button id="event-back" class="square" title="Previous of this kind (E)"
                aria-label="Previous of this kind" onclick={ask(link, Ask::Jump(false))}>
                { "\u{2039}" }
            </button>
            <button id="event-next" class="square" title="Next of this kind (e)"
                aria-label="Next of this kind" onclick={ask(link, Ask::Jump(true))}>
                { "\u{203a}" }
            </button>
            <button id="mark" title="Mark this step, or take its mark away (m)"
                onclick={ask(link, Ask::Mark)}>{ "Mark this step" }</button>
            <span id="find-stops" class={classes!("entries")}>
                { for find.stops.iter().enumerate().map(stop) }
            </span>
            <span id="find-marks" class={classes!("entries")}>
                { for find.marks.iter().enumerate().map(mark) }
            </span>
        </div>
    }
}

/// The signs that stops and marks have on the strip.
const STOP: &str = "<svg width=\"10\" height=\"10\" aria-hidden=\"true\">\
    <path class=\"bstop\" d=\"M5 1l4 4-4 4-4-4z\"/></svg>";
const FLAG: &str = "<svg width=\"10\" height=\"11\" aria-hidden=\"true\">\
    <path class=\"bmark\" d=\"M1 10.5v-10h7l-2 3 2 3h-7z\"/></svg>";
