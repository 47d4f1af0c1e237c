//! The command line.

use crate::conform::ConformArgs;
use crate::render::RenderArgs;
use crate::run::RunArgs;
use crate::serve::ServeArgs;
use crate::steps::StepsArgs;
use clap::{Parser, Subcommand};

/// Linux buffered I/O you can see, step through and run.
#[derive(Parser, Debug)]
#[command(name = "folioscope", version, after_help = EXITS)]
pub(crate) struct Cli {
    /// What to do; the demo if nothing is said
    #[command(subcommand)]
    pub(crate) verb: Option<Verb>,
}

const EXITS: &str = "Exit codes: 0 fine, 1 a check failed, 2 usage, 3 the machine cannot do it \
    (no O_DIRECT, no permission), 4 a broken invariant of the engine, \
    130 interrupted.";

/// The commands.
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Show on a temporary real file what one changed block costs, before and after a patch
    Demo,
    /// Run a job of fio through the engine, on a simulated device or a real file
    Run(Box<RunArgs>),
    /// Compare the engine with what real kernels did
    Conform(ConformArgs),
    /// Show one moment of a run as text or SVG
    Render(RenderArgs),
    /// List the steps of a run, or find some of them
    Steps(StepsArgs),
    /// Serve the page, which is inside this program, on 127.0.0.1
    Serve(ServeArgs),
}
