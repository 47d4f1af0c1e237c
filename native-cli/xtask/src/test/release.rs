//! Checks that need an optimised engine: the whole small world, a million operations of random
//! streams, a million writes to arrays, and that an engine without a sink holds no code of the
//! trace.
//!
//! Both keep the symbols of the release profile, so that the engine is built once for them.

use crate::folders::target;
use crate::program::{output, program, run};
use anyhow::{Context as _, Result, ensure};
use std::path::Path;
use std::process::Command;

const PROFILE: [&str; 4] = ["--release", "--config", "profile.release.strip=\"none\"", "--package"];
/// What the code of the trace leaves in a binary: names of functions, places of panics that were
/// inlined elsewhere, and the words of a rule.
const MARKS: [&str; 3] =
    ["15folioscope_core5trace", "core/src/trace/", "its edge is kept: the whole run is read first"];

/// Every script of the small world.
pub(super) fn small_world() -> Command {
    let mut command = program("cargo test");
    command.args(PROFILE).arg("folioscope-core");
    command.args("--test small_world -- --ignored --nocapture".split(' '));
    command
}

/// Random streams of a million operations.
pub(super) fn streams() -> Command {
    let mut command = program("cargo test");
    command.args(PROFILE).arg("folioscope-core");
    command.args("--test streams -- --ignored --nocapture".split(' '));
    command
}

/// A million writes to arrays whose members fail, and the wide table of what writes cost.
pub(super) fn arrays() -> Command {
    let mut command = program("cargo test");
    command.args(PROFILE).arg("folioscope-core");
    command.args(
        "--test arrays --test arrays_plain --test array_table -- --ignored --nocapture".split(' '),
    );
    command
}

/// What stands for the traces of some streams, as this machine makes them.
pub(super) fn fingerprint() -> Result<String> {
    let mut command = program("cargo run --quiet");
    command.args(PROFILE).args(["folioscope-core", "--example", "fingerprint"]);
    output(&mut command).context("the example `fingerprint` does not run")
}

/// Two programs, one with a trace and one without: each mark must stand in the one only.
pub(super) fn untraced() -> Result<()> {
    let mut build = program("cargo build");
    build.args(PROFILE).arg("folioscope-core");
    run(build.args(["--example", "untraced", "--example", "traced"]))?;
    for mark in MARKS {
        ensure!(holds("traced", mark)?, "no {mark:?} in the traced program: look for another mark");
        ensure!(!holds("untraced", mark)?, "the untraced program holds {mark:?}");
    }
    Ok(())
}

fn holds(example: &str, mark: &str) -> Result<bool> {
    let path = target().join(Path::new("release/examples")).join(example);
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(bytes.windows(mark.len()).any(|part| part == mark.as_bytes()))
}
