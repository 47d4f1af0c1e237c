//! Two runs against each other: which they are, which is looked at, how their counters differ, and
//! the list of their differences with equal stretches folded.

use super::{Link, on};
use crate::app::compare::Ask;
use crate::app::{Act, Msg};
use crate::compare::{Line, Row, in_bytes, lines, name, ranks, rows};
use crate::session::{Run, Session};
use crate::state::State;
use folioscope_core::behaviour::PROFILES;
use folioscope_core::scene::fixed::{grouped, plural, size};
use folioscope_core::trace::align::Difference;
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::{Event, Html, TargetCast as _, classes, html};

/// The button that opens the panel.
pub(crate) fn compare_button(link: &Link, state: &State) -> Html {
    let open = state.compare.open;
    html! {
        <button id="compare-button" class="link" aria-pressed={open.to_string()}
            onclick={on(link, || Msg::Compare(Ask::Show))}>
            { if open { "Hide compare" } else { "Compare" } }
        </button>
    }
}

/// The panel.
pub(crate) fn compare(link: &Link, state: &State) -> Html {
    let pair = state.session.compares();
    html! {
        <section id="compare" class="compare" aria-label="Compare">
            <h2>{ "Compare" }</h2>
            { settings(link, state) }
            if pair {
                { views(link, state) }
                { counters(link, state) }
                { differences(link, state) }
            }
        </section>
    }
}

/// What each run is, with what it could be instead.
fn settings(link: &Link, state: &State) -> Html {
    let session = &state.session;
    let picked = link.batch_callback(|event: Event| {
        let input: Option<HtmlInputElement> = event.target_dyn_into();
        let input = input?;
        let file = input.files().and_then(|files| files.get(0))?;
        input.set_value("");
        Some(Msg::Compare(Ask::Open(file)))
    });
    html! {
        <div class="settings">
            { for (0..2).map(|side| setting(link, session, side)) }
            <label class="file-button">
                <input id="file-beside" type="file" class="vh"
                    accept=".trace,.fst,.toml,application/octet-stream" onchange={picked} />
                <span>{ "Compare with a file\u{2026}" }</span>
            </label>
        </div>
    }
}

fn setting(link: &Link, session: &Session, side: usize) -> Html {
    let label = ["A", "B"][side];
    let run = session.runs().get(side).map(Run::name);
    let Some(origin) = session.origin() else {
        return html! {
            if let Some(run) = run {
                <span><span class="run">{ label }</span>{ run }</span>
            }
        };
    };
    let chosen = link.batch_callback(move |event: Event| {
        let select: Option<HtmlSelectElement> = event.target_dyn_into();
        Some(Msg::Compare(Ask::Setting(side, select?.value())))
    });
    let option = |name: &str| {
        let name = name.to_owned();
        html! { <option value={name.clone()} selected={run == Some(&*name)}>{ &name }</option> }
    };
    html! {
        <label>
            <span class="run">{ label }</span>
            <select id={format!("setting-{}", label.to_lowercase())} onchange={chosen}>
                if side == 1 {
                    <option value="" selected={run.is_none()}>{ "nothing" }</option>
                }
                <optgroup label="Variants">
                    { for origin.variants.iter().map(|name| option(name)) }
                </optgroup>
                <optgroup label="Kernels as they are">
                    { for PROFILES.iter().map(|profile| option(profile.name)) }
                </optgroup>
            </select>
        </label>
    }
}

/// Both runs on the stage or one alone; and which is which.
fn views(link: &Link, state: &State) -> Html {
    let view = |only: Option<usize>, words: &'static str| {
        let chosen = state.compare.only == only;
        html! {
            <button class="segment" data-only={words} aria-pressed={chosen.to_string()}
                onclick={on(link, move || Msg::Compare(Ask::Only(only)))}>{ words }</button>
        }
    };
    html! {
        <div class="settings">
            <div class="segments" role="group" aria-label="Runs on the stage">
                { view(None, "Both") }
                { view(Some(0), "A only") }
                { view(Some(1), "B only") }
            </div>
            <button id="swap" title="A and B change places (x)"
                onclick={on(link, || Msg::Compare(Ask::Swap))}>{ "Swap A and B" }</button>
            <button id="difference-back" class="square" title="Previous difference (N)"
                aria-label="Previous difference that reaches the device"
                onclick={on(link, || Msg::Compare(Ask::Back))}>{ "\u{2039}" }</button>
            <button id="difference-next" class="square" title="Next difference (n)"
                aria-label="Next difference that reaches the device"
                onclick={on(link, || Act::Key(crate::keys::Action::Difference))}>
                { "\u{203a}" }
            </button>
        </div>
    }
}

fn check(link: &Link, id: &'static str, on: bool, words: &str, ask: fn(bool) -> Ask) -> Html {
    let switched = link.batch_callback(move |event: Event| {
        let input: Option<HtmlInputElement> = event.target_dyn_into();
        Some(Msg::Compare(ask(input?.checked())))
    });
    html! {
        <label class="check">
            <input {id} type="checkbox" checked={on} onchange={switched} />{ " " }{ words }
        </label>
    }
}

fn counters(link: &Link, state: &State) -> Html {
    let lines = lines(&state.session, state.compare.all);
    let row = |line: &Line| {
        let show = |value: u64| if in_bytes(line.counter) { size(value) } else { grouped(value) };
        html! {
            <tr data-line={line.counter.name()} class={classes!(line.differs().then_some("differs"))}>
                <th scope="row">{ name(line.counter) }</th>
                <td class="now">{ show(line.now[0]) }</td><td class="now">{ show(line.now[1]) }</td>
                <td>{ show(line.whole[0]) }</td><td>{ show(line.whole[1]) }</td>
                <td class="ratio">{ line.ratio() }</td>
            </tr>
        }
    };
    html! {
        <>
            <table id="difference-table">
                <thead>
                    <tr><td></td><th scope="colgroup" colspan="2">{ "now" }</th>
                        <th scope="colgroup" colspan="3">{ "whole run" }</th></tr>
                    <tr><td></td><th scope="col">{ "A" }</th><th scope="col">{ "B" }</th>
                        <th scope="col">{ "A" }</th><th scope="col">{ "B" }</th><td></td></tr>
                </thead>
                <tbody>
                    { for lines.iter().map(row) }
                    if lines.is_empty() {
                        <tr><td colspan="6">{ "Every counter is equal in the end." }</td></tr>
                    }
                </tbody>
            </table>
            { check(link, "all-counters", state.compare.all, "equal counters, too", Ask::All) }
        </>
    }
}

fn differences(link: &Link, state: &State) -> Html {
    let session = &state.session;
    let total = session.differences().len();
    let here = session.at();
    let row = |row: Row| {
        let current = row.holds(here).then_some("step");
        match row {
            Row::Equal(first, last) => {
                let many = plural((last - first + 1) as u64, "equal step");
                html! {
                    <tr class="folded" aria-current={current}>
                        <td colspan="3">
                            <button class="link" data-equal={(last - first + 1).to_string()}
                                title="To the last of them"
                                onclick={on(link, move || Act::Go(last))}>{ many }</button>
                        </td>
                    </tr>
                }
            }
            Row::Differs(at) => {
                let said =
                    session.steps_at(at).map(|step| step.map(|step| step.rule.sentence(step.args)));
                let rank = session.way().moment(at).difference;
                let far = rank.is_some_and(Difference::reaches_device);
                let first = session.way().first_difference() == Some(at);
                let words = rank.filter(|_| far).map_or("", Difference::words);
                let words = if first { format!("first {words}") } else { words.to_owned() };
                let [a, b] = said;
                let cell = |words: Option<String>| {
                    html! {
                        <td class={classes!(words.is_none().then_some("gap"))}>
                            if let Some(words) = words {
                                <button class="link" onclick={on(link, move || Act::Go(at))}>
                                    { words }
                                </button>
                            } else { { "waits" } }
                        </td>
                    }
                };
                html! {
                    <tr data-difference={at.to_string()} class={classes!(far.then_some("far"))}
                        aria-current={current}>
                        { cell(a) }{ cell(b) }<td class="rank">{ words.trim_end() }</td>
                    </tr>
                }
            }
        }
    };
    html! {
        <>
            <h3>{ plural(total as u64, "difference") }</h3>
            <ul class="ranks" aria-label="The first difference of each rank">
                { for ranks(session).into_iter().map(|(rank, count, first)| html! {
                    <li>
                        <button class="link" data-rank={rank.words()}
                            onclick={on(link, move || Act::Go(first))}>
                            { format!("{} in {}", grouped(count), rank.words()) }
                        </button>
                    </li>
                }) }
            </ul>
            { check(link, "far", state.compare.far, "only what reaches the device", Ask::Far) }
            <table id="difference-list">
                <thead><tr><th scope="col">{ "A" }</th><th scope="col">{ "B" }</th>
                    <th scope="col" class="rank">{ "in" }</th></tr></thead>
                <tbody>{ for rows(session, state.compare.far).into_iter().map(row) }</tbody>
            </table>
        </>
    }
}
