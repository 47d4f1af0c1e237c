//! The terminal: `folioscope`.
#![deny(unsafe_code)]

mod cli;
mod conform;
mod demo;
mod error;
mod input;
mod out;
mod render;
mod run;
mod serve;
mod signal;
mod steps;
mod target;

use clap::Parser;
use cli::{Cli, Verb};
use error::Outcome;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("folioscope: {failure}");
            failure.code()
        }
    }
}

fn run(cli: &Cli) -> Outcome<()> {
    match &cli.verb {
        Some(Verb::Run(args)) => run::run(args),
        Some(Verb::Conform(args)) => conform::conform(args),
        Some(Verb::Render(args)) => render::render(args),
        Some(Verb::Steps(args)) => steps::steps(args),
        Some(Verb::Serve(args)) => serve::serve(args),
        Some(Verb::Demo) | None => demo::demo(),
    }
}
