//! The root component.

use folioscope_core::ENGINE_VERSION;
use yew::{Html, component, html};

/// The whole page.
#[component]
pub fn App() -> Html {
    html! {
        <main>
            <h1>{ "Folioscope" }</h1>
            <p>{ "Linux buffered I/O you can see, step through and run." }</p>
            <p>{ format!("Engine {ENGINE_VERSION}") }</p>
        </main>
    }
}
