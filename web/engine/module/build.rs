//! Keeps the section that tells wasm-bindgen which WebAssembly features the module may use,
//! although the release profiles strip.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("wasm32") {
        println!("cargo::rustc-link-arg-cdylib=--keep-section=target_features");
    }
}
