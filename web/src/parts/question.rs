//! The claim: a question with its answers, or the title of what was opened; and the stops behind.

use super::{Link, on};
use crate::app::Act;
use crate::edit::Edit;
use crate::lesson::{Answer, Lesson};
use crate::session::Run;
use crate::state::{Open, State};
use folioscope_core::lesson::{ToldAnswer, ToldStop};
use yew::{Html, classes, html};

/// The question, its answers, and what they come to.
pub(crate) fn question(link: &Link, state: &State) -> Html {
    match &state.open {
        Open::Lesson { lesson, answer, stop } => {
            // The figure stands beside its proof, not before it and not elsewhere.
            let proven = state.session.at() == lesson.told.stops[*stop].at;
            asked(link, lesson, *answer, (*stop, proven))
        }
        Open::File { name } => {
            let runs: Vec<&str> = state.session.runs().iter().map(Run::name).collect();
            html! {
                <section class="claim">
                    <h1>{ state.session.title() }</h1>
                    <p class="quietly">{ format!("{name} \u{b7} {}", runs.join(" against ")) }</p>
                </section>
            }
        }
    }
}

fn asked(
    link: &Link,
    lesson: &Lesson,
    answer: Option<Answer>,
    (stop, proven): (usize, bool),
) -> Html {
    let told = &lesson.told;
    let chip = |(at, words): (usize, &ToldAnswer)| {
        let given = answer == Some(Answer::Choice(at));
        html! {
            <button class={classes!("chip", given.then_some("given"))} data-answer={at.to_string()}
                aria-pressed={given.to_string()}
                onclick={on(link, move || Act::Answer(Answer::Choice(at)))}>{ &words.text }</button>
        }
    };
    let sentence = match answer {
        Some(answer) if stop == 1 => lesson.verdict(answer),
        _ => &told.stops[stop].says,
    };
    html! {
        <section class="claim">
            <p class="quietly lesson-name">{ format!("Lesson {} \u{b7} {}", told.number, told.title) }</p>
            <h1>{ &told.ask }</h1>
            <div class="chips" role="group" aria-label="Your answer">
                { for told.answers.iter().enumerate().map(chip) }
                if answer.is_none() {
                    <button id="show-me" class="link" onclick={on(link, || Act::Answer(Answer::Shown))}>
                        { "Show me" }
                    </button>
                }
            </div>
            <p id="verdict" class="verdict">
                if let (Some(_), true, Some(figure)) = (answer, proven, &told.figure) {
                    <strong class="figure">{ figure }</strong>
                }
                <span id="sentence">{ sentence }</span>
            </p>
        </section>
    }
}

/// The stops, and the one thing to do next.
pub(crate) fn stops(link: &Link, state: &State) -> Html {
    let Open::Lesson { lesson, answer, stop } = &state.open else {
        return html! { <div class="stops">{ more(link, state) }</div> };
    };
    if answer.is_none() {
        return html! {};
    }
    let last = lesson.last_stop();
    let entry = |(at, one): (usize, &ToldStop)| {
        html! {
            <li>
                <button class="stop" data-stop={(at + 1).to_string()}
                    aria-current={(at == *stop).then_some("step")}
                    onclick={on(link, move || Act::Stop(at))}>
                    <span class="number">{ at + 1 }</span><span class="name">{ &one.title }</span>
                </button>
            </li>
        }
    };
    let here = *stop;
    html! {
        <section class="stops" aria-label="Stops of the lesson">
            <ol>{ for lesson.told.stops.iter().enumerate().map(entry) }</ol>
            <div class="next">
                { more(link, state) }
                if here < last {
                    <button id="next-stop" class="primary" onclick={on(link, move || Act::Stop(here + 1))}>
                        { "Next stop" }
                    </button>
                } else {
                    <button id="next-stop" class="primary" onclick={on(link, || Edit::Toggle)}>
                        { "Now you try" }
                    </button>
                }
            </div>
        </section>
    }
}

fn more(link: &Link, state: &State) -> Html {
    let lanes =
        if state.has_more_lanes() { "Hide mapping and bios" } else { "Show mapping and bios" };
    let why = if state.why { "Hide why" } else { "Why?" };
    html! {
        <>
            <button id="more-lanes" class="link" aria-pressed={state.has_more_lanes().to_string()}
                onclick={on(link, || Act::Lanes)}>{ lanes }</button>
            { super::chart_chooser(link, state) }
            { super::find_button(link, state) }
            { super::compare_button(link, state) }
            <button id="why-button" class="link" aria-pressed={state.why.to_string()}
                onclick={on(link, || Act::Why)}>{ why }</button>
        </>
    }
}
