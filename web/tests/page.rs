//! The root component in a real browser.
#![cfg(target_arch = "wasm32")]

use folioscope_web::{App, Engine, Props};
use std::time::Duration;
use wasm_bindgen::JsCast as _;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_sys::{Element, HtmlElement};

wasm_bindgen_test_configure!(run_in_browser);

/// The page in an element of its own, once its picture is drawn; the handle takes it away again.
async fn page() -> (Element, yew::AppHandle<App>) {
    let document = web_sys::window().unwrap().document().unwrap();
    let root = document.create_element("div").unwrap();
    document.body().unwrap().append_child(&root).unwrap();
    let engine = Engine::local(folioscope_web_engine::answer);
    let props = Props { engine, address: false };
    let handle = yew::Renderer::<App>::with_root_and_props(root.clone(), props).render();
    let mut rests = 0;
    while root.query_selector("#stage svg").unwrap().is_none() {
        rests += 1;
        assert!(rests < 200, "the page draws nothing");
        rest().await;
    }
    (root, handle)
}

async fn rest() {
    yew::platform::time::sleep(Duration::from_millis(50)).await;
}

async fn click(root: &Element, selector: &str) {
    let element = root.query_selector(selector).unwrap().expect(selector);
    element.unchecked_into::<HtmlElement>().click();
    rest().await;
}

#[wasm_bindgen_test]
async fn the_page_asks_and_gives_nothing_away() {
    let (root, handle) = page().await;
    let text = root.text_content().unwrap();
    assert!(text.contains("The app changed 4 KiB. How much goes to the disk?"), "{text}");
    assert!(text.contains(folioscope_core::ENGINE_VERSION), "{text}");
    assert!(root.query_selector("#stage svg").unwrap().is_some());
    assert!(root.query_selector("#counters").unwrap().is_none());
    handle.destroy();
}

#[wasm_bindgen_test]
async fn any_input_completes_the_way_to_the_answer_at_once() {
    let (root, handle) = page().await;
    click(&root, "[data-answer='0']").await;
    click(&root, "#why-button").await;
    let place = root.query_selector("#place").unwrap().unwrap().text_content().unwrap();
    assert!(place.contains("submit_bio"), "{place}");
    let why = root.query_selector("#why").unwrap().unwrap().text_content().unwrap();
    assert!(why.contains("64 KiB at sector"), "{why}");
    handle.destroy();
}

#[wasm_bindgen_test]
async fn back_to_the_start_is_the_start() {
    let (root, handle) = page().await;
    click(&root, "#last").await;
    click(&root, "#first").await;
    let now = root.query_selector_all("[data-when=now]").unwrap();
    for at in 0..now.length() {
        let cell: Element = now.item(at).unwrap().unchecked_into();
        assert!(matches!(cell.get_attribute("data-value").as_deref(), None | Some("0")));
    }
    handle.destroy();
}
