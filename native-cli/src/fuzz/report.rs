//! What is said of a stream that goes wrong, and how far a run has come.

use crate::error::{Failure, Outcome};
use crate::out::{self, Unfinished};
use folioscope_core::scenario::Scenario;
use folioscope_core::scenario::write::write_scenario;
use folioscope_core::streams::Failure as Wrong;
use folioscope_core::streams::shrink::shrink;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal as _;

/// Makes a stream that went wrong as short as can be, and says how to see it again: `words` are the
/// options that found it.
pub(super) fn report(
    words: &str,
    scenario: Scenario,
    wrong: Wrong,
    save: Option<Unfinished>,
    fails: impl FnMut(&Scenario) -> Option<Wrong>,
) -> Outcome<()> {
    let before = scenario.ops.len();
    let (least, wrong) = shrink(scenario, wrong, fails);
    let text = write_scenario(&least).map_err(|why| {
        let words = format!("{}, found by: folioscope fuzz {words}; {why}", wrong.what);
        Failure::check(words)
    })?;
    match save {
        Some(file) => file.finish(text.as_bytes())?,
        None => out::print(&text)?,
    }
    let (at, all) = (wrong.at + 1, least.ops.len());
    Err(Failure::check(format!(
        "operation {at} of {all} goes wrong: {}\n\
         found by: folioscope fuzz {words} (made shorter from {before} operations)",
        wrong.what
    )))
}

/// On standard error, and only if that is a terminal.
pub(super) fn progress_bar(total: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(total);
    let style = ProgressStyle::with_template("{wide_bar} {percent}% {per_sec}, {eta} left");
    bar.set_style(style.expect("the template is right"));
    bar
}
