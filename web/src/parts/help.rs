//! The list of keys, in a dialog, with the switch that turns them off.

use super::{Link, on, raw};
use crate::app::Msg;
use crate::keys::KEYS;
use folioscope_core::scene::svg::escape;
use web_sys::HtmlInputElement;
use yew::{AttrValue, Event, Html, NodeRef, TargetCast as _, html};

/// The keys as markup: it never changes, and is not worth a look at every step.
pub(crate) fn keys() -> String {
    let mut out = "<dl>".to_owned();
    for (key, does) in KEYS {
        out.extend(["<div><dt>", &escape(key), "</dt><dd>", &escape(does), "</dd></div>"]);
    }
    out + "</dl>"
}

/// The dialog; it is open only while it is asked for.
pub(crate) fn help(link: &Link, keys: bool, list: &AttrValue, place: &NodeRef) -> Html {
    let switched = link.batch_callback(|event: Event| {
        let input: Option<HtmlInputElement> = event.target_dyn_into();
        Some(Msg::Keys(input?.checked()))
    });
    html! {
        <dialog id="help" aria-label="Keys and help" ref={place.clone()}>
            <h2>{ "Keys" }</h2>
            { raw(list.clone()) }
            <label>
                <input id="single-keys" type="checkbox" checked={keys} onchange={switched} />
                { " Single keys work" }
            </label>
            <p>{ "The strip, from top to bottom: an operation begins; a bio is sent (blue); clean blocks go with it (orange); a flush. The last line: A and B ask the device for something else; a wedge: the first difference of all." }</p>
            <p>{ "Drop a trace or a scenario anywhere on the page to open it; nothing leaves this machine." }</p>
            <p class="quietly">{ format!("Engine {}", folioscope_core::ENGINE_VERSION) }</p>
            <button class="primary" onclick={on(link, || Msg::Help(false))}>{ "Close" }</button>
        </dialog>
    }
}
