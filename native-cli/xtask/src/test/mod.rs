//! Every test there is, and a table of what came out.
//!
//! A step that fails does not stop the others; one that needs what is missing is skipped, and says
//! so. Nothing is built twice: tests and lints share the development profile, page and program have
//! one release profile each, and the engine alone has one with symbols.

mod release;
mod report;

use crate::program::{program, run as run_program};
use crate::{axe, browser, demo, folders, tidy, tools, web};
use anyhow::Result;
use report::{Obstacle, Report};
use std::process::ExitCode;

/// What the cases of properties are drawn from, so that one checkout has one verdict. A plain
/// `cargo test` draws others each time, and `folioscope fuzz` many more.
const SEED: &str = "2026";

/// Runs them all.
pub(crate) fn run() -> ExitCode {
    let mut report = Report::default();
    report.check("rules of the sources", &None, tidy::run);
    report.check("format", &None, || run_program(&mut program("cargo fmt --all --check")));
    report.check("lints", &None, || lint("--workspace"));

    let target = report.check("wasm target", &None, tools::ensure_target);
    let on_wasm = format!("--package folioscope-web --target {}", tools::WASM);
    report.check("lints on wasm", &target, || lint(&on_wasm));

    let driver = browser::ensure();
    let browser = driver.as_ref().err().cloned();
    let in_browser = |words: &str| {
        let mut command = program(words);
        command.envs(driver.as_ref().map(|path| ("CHROMEDRIVER", path)));
        command
    };
    let bindgen = report.check("wasm-bindgen", &target, tools::ensure_wasm_bindgen);
    let page = report.check("page", &bindgen, || web::build()?.check());
    report.tests(
        "tests",
        &None,
        program("cargo test --workspace --no-fail-fast").env("PROPTEST_RNG_SEED", SEED),
    );
    report.tests("small world, in release", &None, &mut release::small_world());
    report.tests("streams of operations, in release", &None, &mut release::streams());
    report.tests("a million writes to arrays, in release", &None, &mut release::arrays());
    report.check("no trace in an untraced program", &None, release::untraced);
    // Natively first: the same streams must leave the same traces there.
    let native = release::fingerprint();
    let streams = native.as_ref().err().map(|error| format!("{error:#}"));
    report.tests(
        "page's parts in Chromium",
        &either(&streams, &either(&bindgen, &browser)),
        in_browser(&format!("cargo test {on_wasm}"))
            .envs(native.iter().map(|hash| ("FOLIOSCOPE_STREAMS", hash)))
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", "wasm-bindgen-test-runner")
            .env("WASM_BINDGEN_TEST_TIMEOUT", "120"),
    );

    let axe = axe::script();
    report.check("axe-core", &axe.as_ref().err().cloned(), || Ok(()));
    let release = report.check("program in release", &page, demo::build_program);
    report.tests(
        "page served by the program, in Chromium",
        &either(&release, &browser),
        in_browser("cargo test --workspace --test browser -- --ignored --nocapture")
            .env("FOLIOSCOPE", folders::target().join("release/folioscope"))
            .envs(axe.iter().map(|path| ("AXE_CORE", path)))
            .env("RUST_TEST_THREADS", "1"),
    );
    report.finish()
}

fn either(one: &Obstacle, other: &Obstacle) -> Obstacle {
    one.clone().or_else(|| other.clone())
}

fn lint(what: &str) -> Result<()> {
    run_program(&mut program(&format!("cargo clippy {what} --all-targets -- -D warnings")))
}
