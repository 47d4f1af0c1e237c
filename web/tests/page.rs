//! The root component in a real browser.
#![cfg(target_arch = "wasm32")]

use folioscope_web::App;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
async fn the_page_names_its_engine() {
    let document = web_sys::window().unwrap().document().unwrap();
    let root = document.create_element("div").unwrap();
    yew::Renderer::<App>::with_root(root.clone()).render();
    yew::platform::time::sleep(std::time::Duration::ZERO).await;
    let text = root.text_content().unwrap();
    assert!(text.contains(folioscope_core::ENGINE_VERSION), "{text}");
}
