//! Time: play, steps at three grains, operations, the slider, and the strip of what happens when.

use super::{Link, on, raw};
use crate::app::Act;
use crate::browser::whole;
use crate::find::BAND;
use crate::state::{SPEEDS, State};
use folioscope_core::trace::step::Grain;
use web_sys::{Element, HtmlInputElement, HtmlSelectElement};
use yew::{AttrValue, Event, Html, InputEvent, MouseEvent, NodeRef, TargetCast as _, html};

const GRAINS: [(Grain, &str, &str); 3] = [
    (Grain::Op, "op", "by operation"),
    (Grain::Function, "function", "by function"),
    (Grain::Delta, "detail", "by detail"),
];

/// What the strip needs beside the state.
pub(crate) struct Strip<'a> {
    /// Its markup.
    pub(crate) markup: AttrValue,
    /// Its width in pixels.
    pub(crate) width: u32,
    /// Its height in pixels.
    pub(crate) height: u32,
    /// Where it stands.
    pub(crate) place: &'a NodeRef,
}

/// The bar at the bottom.
pub(crate) fn transport(link: &Link, state: &State, playing: bool, strip: &Strip<'_>) -> Html {
    let session = &state.session;
    let (at, last) = (session.at(), session.way().last());
    let button =
        |id: &'static str, label: &'static str, sign: &'static str, act: fn() -> Act, off: bool| {
            html! {
                <button {id} class="square" aria-label={label} title={label} disabled={off}
                    onclick={on(link, act)}>{ sign }</button>
            }
        };
    let (play, sign) = if playing { ("Pause", "\u{2016}") } else { ("Play", "\u{25b6}") };
    let scrubbed = link.batch_callback(|event: InputEvent| {
        let input: Option<HtmlInputElement> = event.target_dyn_into();
        Some(Act::Scrub(input?.value().parse().ok()?).into())
    });
    html! {
        <footer class="transport">
            { super::find(link, state) }
            <div class="buttons">
                { button("first", "Start", "\u{7c}\u{2039}", || Act::Go(0), at == 0) }
                { button("previous-op", "Previous operation", "\u{ab}", || Act::Op(false), at == 0) }
                { button("back", "One step back", "\u{2039}", || Act::Step(false), at == 0) }
                { button("play", play, sign, || Act::Play, false) }
                { button("forward", "One step forward", "\u{203a}", || Act::Step(true), at == last) }
                { button("next-op", "Next operation", "\u{bb}", || Act::Op(true), at == last) }
                { button("last", "End", "\u{203a}\u{7c}", || Act::Go(usize::MAX), at == last) }
                { chooser(link, state) }
                <span id="positions" class="positions">{ session.positions() }</span>
                <span id="place" class="place">{ session.place() }</span>
            </div>
            <input id="scrubber" type="range" min="0" max={last.to_string()} value={at.to_string()}
                aria-label="Time" aria-valuetext={session.place()} oninput={scrubbed}
                onchange={link.callback(|_: Event| Act::Settle)} />
            { timeline(link, state, strip) }
            { super::chart_twin(state) }
        </footer>
    }
}

fn chooser(link: &Link, state: &State) -> Html {
    let chosen = |event: Event| -> Option<String> {
        let select: Option<HtmlSelectElement> = event.target_dyn_into();
        Some(select?.value())
    };
    let grain = link.batch_callback(move |event: Event| {
        let word = chosen(event)?;
        let grain = GRAINS.iter().find(|(_, known, _)| *known == word);
        grain.map(|(grain, ..)| Act::Grain(*grain).into())
    });
    let speed = link
        .batch_callback(move |event: Event| Some(Act::Speed(chosen(event)?.parse().ok()?).into()));
    html! {
        <>
            <label><span class="vh">{ "Steps" }</span>
                <select id="grain" onchange={grain}>
                    { for GRAINS.iter().map(|(one, word, words)| html! {
                        <option value={*word} selected={*one == state.grain}>{ *words }</option>
                    }) }
                </select>
            </label>
            <label class="speed"><span class="vh">{ "Speed" }</span>
                <select id="speed" onchange={speed}>
                    { for SPEEDS.iter().enumerate().map(|(at, one)| html! {
                        <option value={at.to_string()} selected={at == state.speed}>
                            { format!("{one} a second") }
                        </option>
                    }) }
                </select>
            </label>
        </>
    }
}

fn timeline(link: &Link, state: &State, strip: &Strip<'_>) -> Html {
    let (at, last) = (state.session.at(), state.session.way().last().max(1));
    let width = strip.width;
    let clicked = link.batch_callback(move |event: MouseEvent| {
        // The event was caught at the root of the page: the strip is found from its target.
        let target: Option<Element> = event.target_dyn_into();
        let left = target?.closest("#strip").ok()??.get_bounding_client_rect().left();
        let x = (f64::from(event.client_x()) - left).clamp(0.0, f64::from(width));
        let at = whole(x / f64::from(width.max(1)) * last as f64);
        Some(Act::Go(at as usize).into())
    });
    // The chart stands three pixels below.
    let chart = state.chart.measure.map_or(0, |_| state.chart.height() + 3);
    let height = strip.height + chart + if state.find.has_band() { BAND } else { 0 };
    let x = u64::from(width.saturating_sub(3)) * at as u64 / last as u64 + 1;
    html! {
        <div id="strip" class="timeline" ref={strip.place.clone()} onclick={clicked}>
            if state.find.has_band() { <div class="band">{ raw(state.find.band()) }</div> }
            { raw(strip.markup.clone()) }
            { super::chart(state) }
            <svg class="cursor" aria-hidden="true" width={width.to_string()}
                height={height.to_string()}>
                <path d={format!("M{x} 0v{height}")} />
            </svg>
        </div>
    }
}
