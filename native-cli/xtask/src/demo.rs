//! The first command of a newcomer: build everything, write a real file, show it, serve the page.

use crate::folders::target;
use crate::program::{program, run};
use crate::web;
use anyhow::Result;
use clap::Args;
use std::process::Command;

/// What the demo may add or leave out.
#[derive(Args)]
pub(crate) struct Options {
    /// Open the page in the browser
    #[arg(long, conflicts_with = "no_serve")]
    open: bool,
    /// End after the run, for scripts
    #[arg(long)]
    no_serve: bool,
}

/// Builds page and program, in this order since the program holds the page.
pub(crate) fn build() -> Result<()> {
    web::build()?;
    build_program()
}

/// Builds the program, with the page that lies in `web/dist`.
pub(crate) fn build_program() -> Result<()> {
    run(&mut program("cargo build --release --package folioscope"))
}

/// Runs the demo.
pub(crate) fn demo(options: &Options) -> Result<()> {
    build()?;
    let folioscope = || Command::new(target().join("release/folioscope"));
    run(folioscope().arg("demo"))?;
    if options.no_serve {
        return Ok(());
    }
    run(folioscope().arg("serve").args(options.open.then_some("--open")))
}
