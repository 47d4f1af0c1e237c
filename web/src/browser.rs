//! What the page asks of the browser: keys, dropped files, widths, the colour scheme.

use crate::keys::Focus;
use gloo_events::{EventListener, EventListenerOptions};
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    DragEvent, Element, File, HtmlInputElement, KeyboardEvent, ResizeObserver, WheelEvent,
};

const STORED: &str = "folioscope-colours";

/// Which colours the page has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colours {
    /// As the system has them.
    Auto,
    /// On a light ground.
    Light,
    /// On a dark ground.
    Dark,
}

impl Colours {
    /// Every choice with its word.
    pub(crate) const ALL: [(Self, &'static str); 3] =
        [(Self::Auto, "auto"), (Self::Light, "light"), (Self::Dark, "dark")];
    /// The word.
    pub(crate) fn word(self) -> &'static str {
        Self::ALL.iter().find(|(one, _)| *one == self).map_or("auto", |(_, word)| word)
    }
    /// The choice with this word.
    pub(crate) fn of_word(word: &str) -> Self {
        Self::ALL.iter().find(|(_, known)| *known == word).map_or(Self::Auto, |(one, _)| *one)
    }
    /// The choice of the last visit.
    pub(crate) fn stored() -> Self {
        let storage = web_sys::window().and_then(|window| window.local_storage().ok().flatten());
        let word = storage.and_then(|storage| storage.get_item(STORED).ok().flatten());
        Self::of_word(&word.unwrap_or_default())
    }
    /// Gives the page these colours, and keeps the choice where the browser allows it.
    pub(crate) fn apply(self) {
        let Some(window) = web_sys::window() else { return };
        if let Some(root) = window.document().and_then(|document| document.document_element()) {
            let _ = root.set_attribute("data-theme", self.word());
        }
        if let Ok(Some(storage)) = window.local_storage() {
            let _ = storage.set_item(STORED, self.word());
        }
    }
}

/// A number of the browser as a count: never negative, and without its fraction.
#[allow(clippy::cast_sign_loss, reason = "it is not negative")]
pub(crate) const fn whole(number: f64) -> u64 {
    number.max(0.0) as u64
}

/// Whether the viewer asked for less motion.
pub(crate) fn reduced_motion() -> bool {
    let query = web_sys::window()
        .and_then(|window| window.match_media("(prefers-reduced-motion: reduce)").ok().flatten());
    query.is_some_and(|query| query.matches())
}

/// Whether the page is dark because the system is.
pub(crate) fn dark() -> bool {
    let query = web_sys::window()
        .and_then(|window| window.match_media("(prefers-color-scheme: dark)").ok().flatten());
    query.is_some_and(|query| query.matches())
}

/// What the focused element does with keys.
fn focus(event: &KeyboardEvent) -> Focus {
    let Some(element) = event.target().and_then(|target| target.dyn_into::<Element>().ok()) else {
        return Focus::Page;
    };
    if element.closest("dialog").ok().flatten().is_some() {
        return Focus::Typing;
    }
    match element.tag_name().to_ascii_lowercase().as_str() {
        "button" | "a" | "summary" => Focus::Button,
        "select" | "textarea" => Focus::Typing,
        "input" => match element.unchecked_into::<HtmlInputElement>().type_().as_str() {
            "range" => Focus::Slider,
            "checkbox" | "file" => Focus::Button,
            _ => Focus::Typing,
        },
        _ => Focus::Page,
    }
}

/// Hands on every key that is pressed without Ctrl, Alt or Meta; the browser leaves a key alone if
/// the answer is true.
pub(crate) fn listen_keys(take: impl Fn(&str, Focus) -> bool + 'static) -> Option<EventListener> {
    let document = web_sys::window()?.document()?;
    let options = EventListenerOptions::enable_prevent_default();
    Some(EventListener::new_with_options(&document, "keydown", options, move |event| {
        let Some(event) = event.dyn_ref::<KeyboardEvent>() else { return };
        let plain = !(event.ctrl_key() || event.alt_key() || event.meta_key());
        if plain && !event.default_prevented() && take(&event.key(), focus(event)) {
            event.prevent_default();
        }
    }))
}

/// Tells when the fragment of the page's address becomes another one.
pub(crate) fn listen_links(told: impl Fn() + 'static) -> Option<EventListener> {
    let window = web_sys::window()?;
    Some(EventListener::new(&window, "hashchange", move |_| told()))
}

/// Hands on the first file that is dropped anywhere on the page.
pub(crate) fn listen_drops(take: impl Fn(File) + 'static) -> Vec<EventListener> {
    let Some(document) = web_sys::window().and_then(|window| window.document()) else {
        return Vec::new();
    };
    let options = EventListenerOptions::enable_prevent_default();
    let over = EventListener::new_with_options(&document, "dragover", options, |event| {
        event.prevent_default();
    });
    let drop = EventListener::new_with_options(&document, "drop", options, move |event| {
        event.prevent_default();
        let Some(event) = event.dyn_ref::<DragEvent>() else { return };
        let files = event.data_transfer().and_then(|data| data.files());
        if let Some(file) = files.and_then(|files| files.get(0)) {
            take(file);
        }
    });
    vec![over, drop]
}

/// Tells where over an element the wheel is turned with Ctrl, and whether away from the viewer, or
/// fingers are spread there. Without Ctrl the wheel is the page's.
pub(crate) fn listen_wheel(element: &Element, told: impl Fn(i32, bool) + 'static) -> EventListener {
    let options = EventListenerOptions::enable_prevent_default();
    let place = element.clone();
    EventListener::new_with_options(element, "wheel", options, move |event| {
        let Some(event) = event.dyn_ref::<WheelEvent>().filter(|event| event.ctrl_key()) else {
            return;
        };
        event.prevent_default();
        let left = place.get_bounding_client_rect().left();
        told(event.client_x() - left.round() as i32, event.delta_y() < 0.0);
    })
}

/// What the browser says went wrong.
pub(crate) fn words(error: JsValue) -> String {
    let error = error.dyn_into::<js_sys::Error>();
    error.map_or_else(|_| "unknown error".to_owned(), |error| String::from(error.message()))
}

/// The bytes of a file.
pub(crate) async fn read(file: File) -> Result<Vec<u8>, String> {
    let buffer = JsFuture::from(file.array_buffer()).await.map_err(words)?;
    Ok(js_sys::Uint8Array::new(&buffer).to_vec())
}

/// Tells the width of an element, now and whenever it changes, for as long as it is kept.
pub(crate) struct Width {
    observer: ResizeObserver,
    _told: Closure<dyn FnMut()>,
}

impl Width {
    /// Begins to watch.
    pub(crate) fn watch(element: &Element, told: impl Fn(u32) + 'static) -> Option<Self> {
        let watched = element.clone();
        let measure = move || told(u32::try_from(watched.client_width()).unwrap_or(0));
        measure();
        let closure = Closure::<dyn FnMut()>::new(measure);
        let observer = ResizeObserver::new(closure.as_ref().unchecked_ref()).ok()?;
        observer.observe(element);
        Some(Self { observer, _told: closure })
    }
}

impl Drop for Width {
    fn drop(&mut self) {
        self.observer.disconnect();
    }
}
