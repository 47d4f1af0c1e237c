//! What the page needs beside a Rust toolchain: the wasm target, wasm-bindgen and wasm-pack.
//!
//! What is missing is installed. The two programs go below the target folder, so that nothing
//! outside the clone changes; a fitting one on `PATH` is used as it is.

use crate::folders::{find, tools};
use crate::program::{output, program, run};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// The target of the page.
pub(crate) const WASM: &str = "wasm32-unknown-unknown";
/// Version of wasm-pack that is installed where there is none.
const WASM_PACK: &str = "0.15.1";

/// Adds the wasm target if it is missing.
pub(crate) fn ensure_target() -> Result<()> {
    let sysroot = output(&mut program("rustc --print sysroot"))
        .context("rustc is missing: install Rust from https://rustup.rs")?;
    if Path::new(&sysroot).join("lib/rustlib").join(WASM).is_dir() {
        return Ok(());
    }
    if find("rustup").is_none() {
        bail!("the Rust target {WASM} is missing: add it to your Rust, or use https://rustup.rs");
    }
    run(&mut program(&format!("rustup target add {WASM}")))
}

/// Installs wasm-pack if it is missing.
pub(crate) fn ensure_wasm_pack() -> Result<()> {
    if output(&mut program("wasm-pack --version")).is_some() {
        return Ok(());
    }
    install("wasm-pack", WASM_PACK)
}

/// Installs wasm-bindgen and its test runner in exactly the version of the library, unless they are
/// there. Without them wasm-pack would try to download some.
pub(crate) fn ensure_wasm_bindgen() -> Result<()> {
    let lock = std::fs::read_to_string("Cargo.lock").context("cannot read Cargo.lock")?;
    let wanted = locked_version(&lock, "wasm-bindgen")
        .context("Cargo.lock names no wasm-bindgen: restore it with `git checkout Cargo.lock`")?;
    let fits = |name: &str| {
        output(program(name).arg("--version"))
            .is_some_and(|found| found.split_whitespace().any(|word| word == wanted))
    };
    if fits("wasm-bindgen") && fits("wasm-bindgen-test-runner") {
        return Ok(());
    }
    install("wasm-bindgen-cli", wanted)
}

fn locked_version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let version = lock.lines().skip_while(|line| *line != name).nth(1)?;
    version.strip_prefix("version = \"")?.strip_suffix('"')
}

/// Builds a tool with the versions that its authors locked; where a registry lacks one of them,
/// with those that it has.
fn install(package: &str, version: &str) -> Result<()> {
    let command = |locked: &str| {
        let mut command = program("cargo install");
        command.args([package, "--version", version, "--root"]).arg(tools());
        command.args(locked.split_whitespace());
        command
    };
    eprintln!("{package} {version} is missing: building it takes some minutes, once.");
    run(&mut command("--locked"))
        .or_else(|_| run(&mut command("")))
        .with_context(|| format!("cannot install {package} {version}: install it yourself"))
}

#[cfg(test)]
mod tests {
    use super::locked_version;

    #[test]
    fn the_version_is_that_of_the_package_with_exactly_this_name() {
        let lock = "[[package]]\nname = \"a-b\"\nversion = \"1.0.0\"\n\n\
                    [[package]]\nname = \"a\"\nversion = \"2.0.0\"\n";
        assert_eq!(locked_version(lock, "a"), Some("2.0.0"));
        assert_eq!(locked_version(lock, "b"), None);
    }
}
