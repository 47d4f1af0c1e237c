//! The form of one table: a control for each key, made of what the engine says of its value.

use super::{Link, on};
use crate::app::Msg;
use crate::edit::{Change, Edit, Editor};
use folioscope_core::service::{Checked, Field, Input};
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::{Event, Html, KeyboardEvent, TargetCast as _, classes, html};

/// The form of the chosen table. While the engine reads a newer text its values are old, and
/// changes wait.
pub(super) fn form(link: &Link, editor: &Editor, checked: &Checked, fresh: bool) -> Html {
    let at = editor.selected;
    let Some(section) = checked.sections.get(at) else { return html! {} };
    let given = section.fields.iter().filter(|field| field.value.is_some());
    let more = section.fields.iter().filter(|field| field.value.is_none() && !field.switch);
    let switches = section.fields.iter().filter(|field| field.value.is_none() && field.switch);
    let (more, switches): (Vec<&Field>, Vec<&Field>) = (more.collect(), switches.collect());
    let name = if section.table.is_empty() { "scenario" } else { &section.table };
    let list = |name: &'static str, words: String, fields: Vec<&Field>| {
        html! {
            if !fields.is_empty() {
                <details data-more={name}>
                    <summary>{ words }</summary>
                    <div class="fields">{ for fields.into_iter().map(|one| field(link, at, one)) }</div>
                </details>
            }
        }
    };
    html! {
        <div id="form" class={classes!("form", (!fresh).then_some("stale"))} role="group"
            aria-label={format!("{name} {}", section.words)} data-fresh={fresh.to_string()}>
            <div class="fields">
                { for given.map(|one| field(link, at, one)) }
                if section.block.is_some() && section.table != "op" && section.table != "world" {
                    <button class="link" data-take-out="table"
                        onclick={on(link, move || Edit::Change(Change::Delete(at)))}>
                        { "Take the table out" }
                    </button>
                }
            </div>
            { list("keys", format!("More keys ({})", more.len()), more) }
            { list("switches", format!("Switches ({})", switches.len()), switches) }
        </div>
    }
}

fn field(link: &Link, section: usize, field: &Field) -> Html {
    let key = field.key.clone();
    let given = field.value.is_some();
    let name = key.clone();
    let set =
        move |value: String| Msg::Edit(Edit::Change(Change::Set(section, name.clone(), value)));
    let value = field.value.clone().unwrap_or_default();
    let control = match &field.input {
        Input::Flag => {
            let changed = link.batch_callback(move |event: Event| {
                let input: Option<HtmlInputElement> = event.target_dyn_into();
                Some(set(input?.checked().to_string()))
            });
            html! {
                <input type="checkbox" data-key={key.clone()} checked={value == "true"}
                    onchange={changed} />
            }
        }
        Input::Word(words) => {
            let changed = link.batch_callback(move |event: Event| {
                let select: Option<HtmlSelectElement> = event.target_dyn_into();
                Some(set(select?.value()))
            });
            let known = words.contains(&value);
            let none = if field.usual.is_empty() {
                "\u{2013}".to_owned()
            } else {
                format!("({})", field.usual)
            };
            html! {
                <select data-key={key.clone()} onchange={changed}>
                    if !given || field.remove.is_some() {
                        <option value="" selected={!given}>{ none }</option>
                    }
                    if given && !known {
                        <option value={value.clone()} selected=true>{ &value }</option>
                    }
                    { for words.iter().map(|word| html! {
                        <option value={word.clone()} selected={given && *word == value}>
                            { word }
                        </option>
                    }) }
                </select>
            }
        }
        Input::Size(_) | Input::Count | Input::Text => {
            let changed = link.batch_callback(move |event: Event| {
                let input: Option<HtmlInputElement> = event.target_dyn_into();
                Some(set(input?.value()))
            });
            let text = field.input == Input::Text;
            let name = key.clone();
            let keys = link.batch_callback(move |event: KeyboardEvent| {
                let up = match event.key().as_str() {
                    "ArrowUp" if !text => true,
                    "ArrowDown" if !text => false,
                    _ => return None,
                };
                event.prevent_default();
                Some(Msg::Edit(Edit::Change(Change::Step(section, name.clone(), up))))
            });
            let wide = value.chars().count().clamp(6, 28);
            html! {
                <>
                    if !text { { stepper(link, section, &key, false) } }
                    <input type="text" data-key={key.clone()} {value} size={wide.to_string()}
                        autocomplete="off" spellcheck="false" onchange={changed} onkeydown={keys} />
                    if !text { { stepper(link, section, &key, true) } }
                </>
            }
        }
    };
    html! {
        <label key={key.clone()} class="field">
            <span class="key">{ &key }</span>
            { control }
            if given && field.remove.is_some() && !matches!(field.input, Input::Word(_)) {
                { unsetter(link, section, key) }
            }
        </label>
    }
}

fn stepper(link: &Link, section: usize, key: &str, up: bool) -> Html {
    let (sign, label) = if up { ("+", "more") } else { ("\u{2212}", "less") };
    let name = key.to_owned();
    html! {
        <button class="mini" data-step={format!("{key} {label}")} aria-label={format!("{key}: {label}")}
            onclick={on(link, move || Edit::Change(Change::Step(section, name.clone(), up)))}>
            { sign }
        </button>
    }
}

fn unsetter(link: &Link, section: usize, key: String) -> Html {
    let label = format!("Take {key} out");
    html! {
        <button class="mini" aria-label={label.clone()} title={label}
            onclick={on(link, move || {
                Edit::Change(Change::Set(section, key.clone(), String::new()))
            })}>{ "\u{d7}" }</button>
    }
}
