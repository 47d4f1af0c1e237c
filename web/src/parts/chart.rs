//! The chart under the timeline: which measure, its values now, and its twin as a table.

use super::{Link, raw};
use crate::app::Msg;
use crate::chart::Ask;
use crate::state::{Form, State};
use folioscope_core::scene::chart::{Row, rows};
use folioscope_core::trace::curve::Measure;
use web_sys::HtmlSelectElement;
use yew::{Event, Html, TargetCast as _, html};

/// Which measure is drawn, and its values now.
pub(crate) fn chart_chooser(link: &Link, state: &State) -> Html {
    let chosen = link.batch_callback(|event: Event| {
        let select: Option<HtmlSelectElement> = event.target_dyn_into();
        Some(Msg::Chart(Ask::Choose(Measure::from_word(&select?.value()))))
    });
    let now = state.chart.measure;
    html! {
        <label class="chart-chooser"><span class="vh">{ "Chart" }</span>
            <select id="measure" title="A chart under the timeline" onchange={chosen}>
                <option value="" selected={now.is_none()}>{ "no chart" }</option>
                { for Measure::ALL.into_iter().map(|one| html! {
                    <option value={one.word()} selected={now == Some(one)}>
                        { format!("chart: {}", one.words()) }
                    </option>
                }) }
            </select>
        </label>
    }
}

/// The chart itself.
pub(crate) fn chart(state: &State) -> Html {
    if state.chart.measure.is_none() {
        return html! {};
    }
    html! { <div id="chart" class="chart-frame">{ raw(state.chart.markup()) }</div> }
}

/// The values at the moment that is shown, and the table of all.
pub(crate) fn chart_twin(state: &State) -> Html {
    let Some(measure) = state.chart.measure else { return html! {} };
    let session = &state.session;
    let shown = if state.form == Form::Picture { "vh" } else { "chart-twin" };
    let row = |row: &Row| {
        let (first, last) = row.moments;
        html! {
            <tr>
                <th scope="row">{ format!("steps {first} to {last}") }</th>
                { for row.values.iter().map(|value| html! { <td>{ value }</td> }) }
            </tr>
        }
    };
    html! {
        <>
            <p id="chart-now" class="chart-now">
                { format!("{}: {}", measure.words(), state.chart.says(session)) }
            </p>
            if let Some(curves) = state.chart.whole() {
                // A table does not shrink: what hides it stands around it.
                <div class={shown}><table id="chart-table">
                    <caption>{ format!("Over time: {}", measure.words()) }</caption>
                    if session.compares() {
                        <thead><tr><td></td>
                            { for (0..session.runs().len()).map(|at| html! {
                                <th scope="col">{ session.label(at) }</th>
                            }) }
                        </tr></thead>
                    }
                    <tbody>{ for rows(curves, measure).iter().map(row) }</tbody>
                </table></div>
            }
        </>
    }
}
