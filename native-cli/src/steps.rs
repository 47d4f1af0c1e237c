//! `folioscope steps`: the steps of a run as lines, all of them or those that are looked for.

use crate::error::{Failure, Outcome};
use crate::out;
use crate::render::{Shown, load};
use clap::Args;
use folioscope_core::search::Query;
use folioscope_core::trace::address::Ops;
use folioscope_core::trace::text::step_line;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::PathBuf;

/// What `steps` can be told.
#[derive(Args, Debug)]
pub(crate) struct StepsArgs {
    /// Trace, or scenario (.toml)
    file: PathBuf,
    /// Show this variant of a scenario only
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Steps of this operation only, counted from 1
    #[arg(long, value_name = "N")]
    op: Option<usize>,
    /// Steps with these words, or where such a thing begins to hold: "block 7 dirty",
    /// "dirty > 1 MiB", "any bio crosses 384k", "folios > 2", "event split"
    #[arg(long, value_name = "QUERY")]
    find: Option<String>,
}

/// Carries the command out.
pub(crate) fn steps(args: &StepsArgs) -> Outcome<()> {
    let query = args.find.as_deref().map(Query::parse).transpose();
    let query = query.map_err(|error| Failure::usage(format!("--find: {error}")))?;
    let mut text = String::new();
    for Shown { name, timeline } in load(&args.file, args.variant.as_deref())? {
        let _ = writeln!(text, "{name}: {} steps", timeline.len());
        let recording = timeline.recording();
        let ops = Ops::of(recording);
        let span: Range<usize> = match args.op {
            None => 0..recording.len(),
            Some(op) => {
                let span = ops.span(recording, op).filter(|_| op > 0);
                let (start, end) = span.ok_or_else(|| {
                    let all = ops.len();
                    Failure::usage(format!("--op is {op}: `{name}` has operations 1 to {all}"))
                })?;
                start..end
            }
        };
        let mut line = |position: usize| {
            let step = recording.step(position - 1);
            let _ = writeln!(text, "{position:6}  {}", step_line(step));
        };
        match &query {
            None => (span.start + 1..=span.end).for_each(line),
            Some(query) => {
                let mut from = span.start;
                while let Some(at) = query.find(&timeline, from, true).filter(|at| *at <= span.end)
                {
                    line(at);
                    from = at;
                }
            }
        }
    }
    out::print(&text)
}
