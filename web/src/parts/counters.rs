//! The counters of each run, now and for the whole run, and the lamp of the invariants.

use super::Link;
use crate::session::{Run, Session};
use folioscope_core::block::bio::{BioOp, BioState};
use folioscope_core::counters::{Counter, Counters};
use folioscope_core::scene::fixed::{grouped, size, times};
use yew::{Html, classes, html};

/// Words, what is counted, and whether it is in bytes.
const ROWS: [(&str, Counter, bool); 5] = [
    ("written by the app", Counter::AppWritten, true),
    ("sent to the device", Counter::DeviceWritten, true),
    ("written though clean", Counter::CleanWritten, true),
    ("write bios", Counter::WriteBios, false),
    ("device flushes", Counter::Flushes, false),
];

/// Both tables.
pub(crate) fn counters(link: &Link, session: &Session) -> Html {
    let runs = session.runs();
    let bytes = ROWS.iter().filter(|(_, _, bytes)| *bytes);
    let totals = bytes.flat_map(|(_, counter, _)| runs.iter().map(|run| run.total().get(*counter)));
    let most = totals.max().unwrap_or(0);
    let row = |(name, counter, bytes): &(&'static str, Counter, bool)| {
        let waste = *counter == Counter::CleanWritten;
        let shown = |when: &'static str, value: u64| {
            classes!(when, (waste && value > 0).then_some("waste"))
        };
        html! {
            <tr>
                <th scope="row">{ *name }</th>
                { for runs.iter().enumerate().map(|(at, run)| {
                    let show = |value: u64| if *bytes { size(value) } else { grouped(value) };
                    let (now, whole) = (value_now(run, *counter), run.total().get(*counter));
                    let cell = |when: &'static str, value: u64| html! {
                        <td class={shown(when, value)} data-counter={counter.name()}
                            data-side={side(session, at)}
                            data-when={when} data-value={value.to_string()}>{ show(value) }</td>
                    };
                    html! {
                        <>
                            { cell("now", now) }
                            <td class="bar" aria-hidden="true">
                                if *bytes { { bar(now, most, waste) } }
                            </td>
                            { cell("whole", whole) }
                        </>
                    }
                }) }
            </tr>
        }
    };
    html! {
        <section id="counters" class="counters" aria-label="Counters">
            <table>
                <thead>
                    <tr>
                        <td></td>
                        { for runs.iter().enumerate().map(|(at, run)| html! {
                            <th scope="colgroup" colspan="3">
                                if session.compares() {
                                    <span class="run">{ session.label(at) }</span>
                                }
                                { run.name() }
                            </th>
                        }) }
                    </tr>
                    <tr>
                        <td></td>
                        { for runs.iter().map(|_| html! {
                            <>
                                <th scope="col">{ "now" }</th>
                                <td class="bar"></td>
                                <th scope="col">{ "whole run" }</th>
                            </>
                        }) }
                    </tr>
                </thead>
                <tbody>
                    { for ROWS.iter().map(row) }
                    <tr>
                        <th scope="row">{ "amplification" }</th>
                        { for runs.iter().enumerate().map(|(at, run)| html! {
                            <>
                                <td class="now" data-counter="amplification" data-side={side(session, at)}
                                    data-when="now">{ factor_now(run) }</td>
                                <td class="bar"></td>
                                <td class="whole" data-counter="amplification" data-side={side(session, at)}
                                    data-when="whole">{ factor_in_all(run) }</td>
                            </>
                        }) }
                    </tr>
                </tbody>
            </table>
            { super::lamp(link, session) }
        </section>
    }
}

/// The letter by which tests find a run: a single one is A.
fn side(session: &Session, at: usize) -> &'static str {
    if session.compares() { session.label(at) } else { "A" }
}

/// A counter at the step shown; what is on its way to the device counts as sent.
fn value_now(run: &Run, counter: Counter) -> u64 {
    let done = run.now().get(counter);
    if counter != Counter::DeviceWritten {
        return done;
    }
    let bios = run.timeline().model().bios();
    let sent =
        bios.filter(|(_, bio)| bio.head().op == BioOp::Write && bio.state() == BioState::InFlight);
    done + sent.map(|(_, bio)| bio.len().get()).sum::<u64>()
}

fn factor_now(run: &Run) -> String {
    factor(run.now(), value_now(run, Counter::DeviceWritten))
}

fn factor_in_all(run: &Run) -> String {
    factor(run.total(), run.total().get(Counter::DeviceWritten))
}

/// Bytes sent for each byte that the application wrote; none before anything was sent.
fn factor(counters: &Counters, sent: u64) -> String {
    let app = if sent == 0 { 0 } else { counters.get(Counter::AppWritten) };
    times(sent, app).unwrap_or_else(|| "\u{2013}".to_owned())
}

/// A bar on a scale that all bytes share, hatched if it is waste.
fn bar(value: u64, most: u64, waste: bool) -> Html {
    let wide = (value.saturating_mul(96)).checked_div(most).unwrap_or(0);
    let wide = if value > 0 { wide.max(2) } else { 0 };
    html! {
        <svg width="96" height="10">
            <rect class="sground" width="96" height="10" />
            <rect class={if waste { "bwaste" } else { "bsent" }} width={wide.to_string()} height="10" />
        </svg>
    }
}
