//! The page: the engine of `folioscope-core` in the browser, drawn with yew.
//!
//! `assets/page` holds the shell that loads this module and calls [`start`].
#![forbid(unsafe_code)]

mod app;

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
