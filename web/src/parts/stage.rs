//! The stage: the picture, its twin of tables, the legend of what is on it, and how it is known.

use super::{Link, inspect, on, raw};
use crate::app::Act;
use crate::stage::{Picture, swatch};
use crate::state::{Form, Open, State};
use folioscope_core::scene::table::Table;
use folioscope_core::scene::{evidence, swatch as shape};
use web_sys::HtmlSelectElement;
use yew::{Event, Html, NodeRef, TargetCast as _, html};

/// Picture or tables, one folio or the whole file, which file.
fn tools(link: &Link, state: &State, picture: &Picture) -> Html {
    let form = |form: Form, words: &'static str| {
        let chosen = state.form == form;
        html! {
            <button class="segment" data-form={words} aria-pressed={chosen.to_string()}
                onclick={on(link, move || Act::Form(form))}>{ words }</button>
        }
    };
    let picked = link.batch_callback(|event: Event| {
        let select: Option<HtmlSelectElement> = event.target_dyn_into();
        Some(Act::File(select?.value().parse().ok()?).into())
    });
    let lesson = matches!(state.open, Open::Lesson { .. }) && !state.asks();
    let files = state.session.files();
    html! {
        <div class="tools">
            <div class="segments" role="group" aria-label="Show the stage as">
                { form(Form::Picture, "Picture") }
                { form(Form::Table, "Table") }
                { form(Form::Both, "Both") }
            </div>
            { inspect::zoom(link, picture) }
            if lesson {
                <button id="zoom" class="link wide" aria-pressed={state.whole.to_string()}
                    onclick={on(link, || Act::Zoom)}>
                    { if state.whole { "One folio" } else { "Whole file" } }
                </button>
            }
            if files > 1 {
                <label>{ "File " }
                    <select id="which-file" onchange={picked}>
                        { for (0..files).map(|file| html! {
                            <option value={file.to_string()} selected={file == state.file}>
                                { file }
                            </option>
                        }) }
                    </select>
                </label>
            }
        </div>
    }
}

/// The picture and its twin, and handles over the picture. Who cannot see it finds the tables,
/// shown or not.
pub(crate) fn stage(
    link: &Link,
    state: &State,
    picture: &Picture,
    place: &NodeRef,
    handles: Option<Html>,
) -> Html {
    let edits = handles.is_some();
    let hidden = state.form == Form::Table;
    let twin = if state.form == Form::Picture { "vh" } else { "twin" };
    html! {
        <section class="stage" aria-label="Stage">
            if hidden {
                <div id="stage" class="frame empty" ref={place.clone()} />
            } else {
                <div id="stage" class="frame" tabindex="0" role="application"
                    aria-roledescription="picture" aria-label={inspect::label(picture)}
                    onclick={inspect::pointed(link)} onfocus={inspect::focused(link)}
                    onkeydown={inspect::keys(link, edits)} ref={place.clone()} />
                { handles.unwrap_or_default() }
            }
            <div id="twin" class={twin}>
                <p class="vh">{ &picture.scene.alt }</p>
                { for picture.tables.iter().map(table) }
            </div>
        </section>
    }
}

fn table(table: &Table) -> Html {
    let caption = if table.run.is_empty() {
        table.lane.name().to_owned()
    } else {
        format!("{}, {}", table.lane.name(), table.run)
    };
    html! {
        <table data-lane={table.lane.word()} data-side={table.run.clone()}>
            <caption>{ caption }</caption>
            <tbody>
                { for table.rows.iter().map(|row| html! {
                    <tr><th scope="row">{ &row.what }</th><td>{ &row.state }</td></tr>
                }) }
                if table.rows.is_empty() { <tr><td>{ "nothing" }</td></tr> }
                if table.more > 0 { <tr><td>{ format!("and {} rows more", table.more) }</td></tr> }
            </tbody>
        </table>
    }
}

/// The states on the stage, and how to look at it.
pub(crate) fn caption(link: &Link, state: &State, picture: &Picture) -> Html {
    html! {
        <div class="caption">
            <ul id="legend" class="legend" aria-label="Legend">
                { for picture.scene.legend.iter().map(|cell| html! {
                    <li>
                        { raw(swatch(&shape(*cell))) }
                        <span class="letter">{ cell.letter() }</span>
                        { cell.words() }
                    </li>
                }) }
                { for picture.scene.signs.iter().map(|sign| html! {
                    <li>{ raw(swatch(&sign.swatch())) }{ sign.words }</li>
                }) }
            </ul>
            { tools(link, state, picture) }
        </div>
    }
}

/// How each run is known; once where all say the same.
pub(crate) fn known(state: &State) -> Html {
    let mut said: Vec<String> = Vec::new();
    for run in state.session.runs() {
        let words = evidence(run.timeline().header());
        if !said.contains(&words) {
            said.push(words);
        }
    }
    let many = said.len() > 1;
    let label = |at: usize| {
        if many { format!("{}: ", state.session.label(at)) } else { String::new() }
    };
    html! {
        <ul id="evidence" class="evidence" aria-label="How this is known">
            { for said.iter().enumerate().map(|(at, words)| html! {
                <li>{ format!("{}{words}", label(at)) }</li>
            }) }
        </ul>
    }
}
