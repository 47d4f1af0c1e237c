//! What the page hands to the viewer: words for the clipboard, files, and the address of the page.
//! All of it stays on the viewer's machine.

use crate::browser::words;
use js_sys::{Array, encode_uri_component};
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Blob, BlobPropertyBag, CanvasRenderingContext2d, HtmlAnchorElement, HtmlCanvasElement,
    HtmlImageElement, HtmlInputElement, Url,
};

/// How many pixels of a PNG stand for one of the picture.
const SCALE: u32 = 2;

/// Puts words on the clipboard.
pub(crate) async fn copy(text: String) -> Result<(), String> {
    let clipboard = web_sys::window()
        .map(|window| window.navigator())
        .filter(|navigator| js_sys::Reflect::has(navigator, &"clipboard".into()).unwrap_or(false))
        .map(|navigator| navigator.clipboard());
    let copied = match clipboard {
        Some(clipboard) => JsFuture::from(clipboard.write_text(&text)).await.map_err(words),
        None => Err("the page came without https".to_owned()),
    };
    copied.map(drop).map_err(|why| {
        format!(
            "The browser does not let the page copy ({why}): select the link and copy it yourself."
        )
    })
}

/// Selects what an input holds.
pub(crate) fn select(id: &str) {
    let input = web_sys::window()
        .and_then(|window| window.document())
        .and_then(|document| document.get_element_by_id(id))
        .and_then(|element| element.dyn_into::<HtmlInputElement>().ok());
    if let Some(input) = input {
        input.select();
    }
}

/// Saves bytes as a file, as a link to it would.
pub(crate) fn save(name: &str, kind: &str, bytes: &[u8]) -> Result<(), String> {
    let options = BlobPropertyBag::new();
    options.set_type(kind);
    let parts = Array::of1(&js_sys::Uint8Array::from(bytes));
    let blob = Blob::new_with_u8_array_sequence_and_options(&parts, &options).map_err(words)?;
    save_blob(name, &blob)
}

fn save_blob(name: &str, blob: &Blob) -> Result<(), String> {
    let url = Url::create_object_url_with_blob(blob).map_err(words)?;
    let saved = click(name, &url);
    // The download has taken the bytes by then.
    gloo_timers::callback::Timeout::new(60_000, move || {
        let _ = Url::revoke_object_url(&url);
    })
    .forget();
    saved
}

fn click(name: &str, url: &str) -> Result<(), String> {
    let anchor: HtmlAnchorElement = element("a")?;
    anchor.set_href(url);
    anchor.set_download(name);
    anchor.click();
    Ok(())
}

fn element<T: wasm_bindgen::JsCast>(tag: &str) -> Result<T, String> {
    let document = web_sys::window().and_then(|window| window.document());
    let made = document.ok_or("there is no page")?.create_element(tag).map_err(words)?;
    made.dyn_into().map_err(|_| "the browser made something else".to_owned())
}

/// Saves an SVG as PNG, twice as fine.
pub(crate) async fn save_png(name: String, svg: String) -> Result<(), String> {
    let image = HtmlImageElement::new().map_err(words)?;
    image.set_src(&format!("data:image/svg+xml,{}", String::from(encode_uri_component(&svg))));
    JsFuture::from(image.decode()).await.map_err(words)?;
    let canvas: HtmlCanvasElement = element("canvas")?;
    let (width, height) = (image.natural_width() * SCALE, image.natural_height() * SCALE);
    canvas.set_width(width);
    canvas.set_height(height);
    let context = canvas.get_context("2d").map_err(words)?.ok_or("there is no canvas")?;
    let context: CanvasRenderingContext2d =
        context.dyn_into().map_err(|_| "the canvas is of another kind".to_owned())?;
    context
        .draw_image_with_html_image_element_and_dw_and_dh(
            &image,
            0.0,
            0.0,
            width.into(),
            height.into(),
        )
        .map_err(words)?;
    let blob = js_sys::Promise::new(&mut |done, _| {
        let told = Closure::once_into_js(move |blob: JsValue| {
            let _ = done.call1(&JsValue::NULL, &blob);
        });
        let _ = canvas.to_blob(told.unchecked_ref());
    });
    let blob = JsFuture::from(blob).await.map_err(words)?;
    save_blob(&name, &blob.dyn_into::<Blob>().map_err(|_| "the picture is too large".to_owned())?)
}

/// The fragment of the page's address, without `#`.
pub(crate) fn fragment() -> String {
    let hash = web_sys::window().and_then(|window| window.location().hash().ok());
    hash.unwrap_or_default().trim_start_matches('#').to_owned()
}

/// The page's address with this fragment.
pub(crate) fn address(fragment: &str) -> String {
    let href = web_sys::window().and_then(|window| window.location().href().ok());
    let href = href.unwrap_or_default();
    let page = href.split('#').next().unwrap_or_default();
    if fragment.is_empty() { page.to_owned() } else { format!("{page}#{fragment}") }
}

/// Gives the page an address with this fragment; `fresh` makes it a place to come back to.
pub(crate) fn go(fragment: &str, fresh: bool) {
    let Some(history) = web_sys::window().and_then(|window| window.history().ok()) else { return };
    let (state, url) = (JsValue::NULL, address(fragment));
    // A browser that is asked too often refuses; the next time will do.
    let _ = if fresh {
        history.push_state_with_url(&state, "", Some(&url))
    } else {
        history.replace_state_with_url(&state, "", Some(&url))
    };
}
