//! Random streams of operations leave the same traces on wasm as natively.
//!
//! `cargo xtask test` says what the native ones are, when this is compiled.
#![cfg(target_arch = "wasm32")]

use folioscope_core::streams::simulated::fingerprint;
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
fn streams_leave_the_traces_of_native() {
    let found = format!("{:016x}", fingerprint(3, 80));
    match option_env!("FOLIOSCOPE_STREAMS") {
        Some(native) => assert_eq!(found, native, "the traces differ from native"),
        None => console_log!("SKIPPED: {found} is not compared: run `cargo xtask test`"),
    }
}
