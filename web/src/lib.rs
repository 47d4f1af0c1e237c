//! The page: the engine of `folioscope-core` in the browser, drawn with yew.
//!
//! `assets/page` holds the shell that loads this module and calls [`start`]. What is shown and
//! where one stands (`session`, `lesson`, `open`, `stage`, `strip`, `keys`) knows no browser and is
//! tested natively; `app` holds the state of the page, `parts` its looks, `browser` the rest.
#![forbid(unsafe_code)]

mod app;
mod browser;
mod keys;
pub mod lesson;
pub mod open;
mod parts;
pub mod session;
mod stage;
mod state;
mod strip;

pub use app::App;

use wasm_bindgen::prelude::wasm_bindgen;

/// Draws the page into the shell's element `app`.
#[wasm_bindgen]
pub fn start() {
    let root = web_sys::window()
        .and_then(|window| window.document())
        .and_then(|document| document.get_element_by_id("app"))
        .expect("the shell has an element with the id `app`");
    root.set_inner_html("");
    yew::Renderer::<App>::with_root(root).render();
}
