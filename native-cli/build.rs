//! Looks at the built page again when it changes: it is embedded, and may be absent.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // A path that does not exist would count as changed each time: watch the folder above instead,
    // so that a page that is built later is seen.
    let dist = std::path::Path::new("../web/dist");
    let watched = if dist.exists() { "../web/dist" } else { "../web" };
    println!("cargo::rerun-if-changed={watched}");
}
