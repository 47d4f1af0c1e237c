//! The page: runs of `folioscope-core` in the browser, drawn with yew.
//!
//! `assets/page` holds the shell that loads this module and calls [`start`]. Traces are shown here;
//! the engine that makes them is a module of its own (`web/engine`) and answers messages. What is
//! shown and where one stands (`session`, `lesson`, `open`, `stage`, `strip`, `keys`) knows no
//! browser and is tested natively; `app` holds the state of the page, `parts` its looks, `patch`
//! writes the picture into the document, `engine` is the way to the engine, `browser` the rest.
//! `share` knows what a link says of a moment, `export` makes pictures that stand alone, `hand`
//! gives them to the viewer, and `sharing` is the dialog.
#![forbid(unsafe_code)]

mod app;
mod browser;
mod chart;
mod compare;
mod edit;
mod engine;
mod export;
mod find;
mod grips;
mod hand;
mod keys;
pub mod lesson;
mod looking;
pub mod open;
mod parts;
mod patch;
pub mod session;
mod share;
mod sharing;
mod stage;
mod state;
mod strip;

pub use app::{App, Props};
pub use engine::Engine;

use wasm_bindgen::prelude::wasm_bindgen;

/// Draws the page into the shell's element `app`; the function makes the worker that runs the
/// engine.
#[wasm_bindgen]
pub fn start(make_worker: js_sys::Function) {
    let root = web_sys::window()
        .and_then(|window| window.document())
        .and_then(|document| document.get_element_by_id("app"))
        .expect("the shell has an element with the id `app`");
    root.set_inner_html("");
    let props = Props { engine: Engine::of_page(make_worker), address: true };
    yew::Renderer::<App>::with_root_and_props(root, props).render();
}
