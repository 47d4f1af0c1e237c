//! The claim: a question with its answers, or the title of what was opened; and the stops behind.

use super::{Link, on};
use crate::app::Msg;
use crate::lesson::{Answer, Lesson};
use crate::session::Run;
use crate::state::{Open, State};
use yew::{Html, classes, html};

/// The question, its answers, and what they come to.
pub(crate) fn question(link: &Link, state: &State) -> Html {
    match &state.open {
        Open::Lesson { lesson, answer, stop } => {
            // The figure stands beside its proof, not before it and not elsewhere.
            let proven = state.session.at() == lesson.stops[*stop].at;
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
    let chip = |(choice, words): (Answer, String)| {
        let given = answer == Some(choice);
        html! {
            <button class={classes!("chip", given.then_some("given"))} data-answer={format!("{choice:?}")}
                aria-pressed={given.to_string()}
                onclick={on(link, move || Msg::Answer(choice))}>{ words }</button>
        }
    };
    let sentence = match answer {
        None => lesson.hint(),
        Some(answer) if stop == 1 => lesson.verdict(answer),
        Some(_) => lesson.stops[stop].sentence.clone(),
    };
    html! {
        <section class="claim">
            <h1>{ lesson.question() }</h1>
            <div class="chips" role="group" aria-label="Your answer">
                { for lesson.choices().into_iter().map(chip) }
                if answer.is_none() {
                    <button id="show-me" class="link" onclick={on(link, || Msg::Answer(Answer::Shown))}>
                        { "Show me" }
                    </button>
                }
            </div>
            <p id="verdict" class="verdict">
                if answer.is_some() && proven { <strong class="figure">{ lesson.factor() }</strong> }
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
    let last = lesson.stops.len() - 1;
    let entry = |(at, one): (usize, &crate::lesson::Stop)| {
        html! {
            <li>
                <button class="stop" data-stop={(at + 1).to_string()}
                    aria-current={(at == *stop).then_some("step")}
                    onclick={on(link, move || Msg::Stop(at))}>
                    <span class="number">{ at + 1 }</span><span class="name">{ one.title }</span>
                </button>
            </li>
        }
    };
    let here = *stop;
    html! {
        <section class="stops" aria-label="Stops of the lesson">
            <ol>{ for lesson.stops.iter().enumerate().map(entry) }</ol>
            <div class="next">
                { more(link, state) }
                if here < last {
                    <button id="next-stop" class="primary" onclick={on(link, move || Msg::Stop(here + 1))}>
                        { "Next stop" }
                    </button>
                } else {
                    <button id="next-stop" class="primary" onclick={on(link, || Msg::Pick)}>
                        { "Open a run of your own" }
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
                onclick={on(link, || Msg::Lanes)}>{ lanes }</button>
            <button id="why-button" class="link" aria-pressed={state.why.to_string()}
                onclick={on(link, || Msg::Why)}>{ why }</button>
        </>
    }
}
