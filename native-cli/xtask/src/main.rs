//! Tasks of the workspace: `cargo xtask demo`, `test`, `web` and `tidy`.
//!
//! Every task runs from the root of the workspace, so paths here are relative to it.
#![forbid(unsafe_code)]

mod axe;
mod browser;
mod demo;
mod folders;
mod offline;
mod program;
mod test;
mod tidy;
mod tools;
mod web;

use anyhow::Context;
use clap::{Parser, Subcommand};
use std::path::Path;
use std::process::ExitCode;

/// Tasks of the Folioscope workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Build the page and the program, write a real file, show what happened, serve the page
    Demo(demo::Options),
    /// Run every test there is, those in a browser included
    Test,
    /// Build the page into web/dist
    Web,
    /// Check the rules that the sources keep
    Tidy,
}

fn main() -> ExitCode {
    match enter_root().and_then(|()| run(Cli::parse().task)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn enter_root() -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::set_current_dir(&root)
        .with_context(|| format!("cannot enter the workspace at {}", root.display()))
}

fn run(task: Task) -> anyhow::Result<ExitCode> {
    match task {
        Task::Demo(options) => demo::demo(&options).map(|()| ExitCode::SUCCESS),
        Task::Test => Ok(test::run()),
        Task::Web => web::build().map(|_| ExitCode::SUCCESS),
        Task::Tidy => tidy::run().map(|()| ExitCode::SUCCESS),
    }
}
