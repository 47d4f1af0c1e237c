//! Files that a person gives: jobs of fio, scenarios, traces. What is wrong with one is a sentence
//! with the place, and the line below it.

use crate::error::{Failure, Outcome};
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::filefrag;
use folioscope_core::scenario::fio::FioFile;
use folioscope_core::scenario::{MAX_TEXT, Scenario};
use folioscope_core::trace::header::Header;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::trace::wire;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Longest trace that is read into memory.
const MAX_TRACE: u64 = 4 << 30;
/// What a trace begins with, as far as it takes to tell it from text.
const TRACE_START: &[u8] = b"folioscope-trace";

/// A file that was understood.
pub(crate) enum Input {
    /// A job file of fio.
    Job(FioFile),
    /// A scenario.
    Scenario(Box<Scenario>),
    /// A trace.
    Trace(Box<(Header, Recording)>),
}

/// Reads a scenario whose bytes are to be compared with plain arrays; none if the file is something
/// else.
pub(crate) fn compared(path: &Path) -> Outcome<Option<Box<Scenario>>> {
    let Input::Scenario(scenario) = read(path)? else { return Ok(None) };
    let fits = scenario.check_arrays();
    fits.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    Ok(Some(scenario))
}

/// Reads a file and finds out what it is: a trace by its first bytes, a scenario by its name, which
/// ends in `.toml`, a listing of `filefrag -v` by its words, and anything else is a job of fio.
pub(crate) fn read(path: &Path) -> Outcome<Input> {
    let fail = |error: std::io::Error| Failure::file("read", path, &error);
    let name = path.display().to_string();
    let mut file = File::open(path).map_err(fail)?;
    let mut bytes = Vec::new();
    let longest_text = MAX_TEXT as u64 + 1;
    file.by_ref().take(longest_text).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.starts_with(TRACE_START) {
        file.take(MAX_TRACE).read_to_end(&mut bytes).map_err(fail)?;
        let trace = wire::decode(&bytes);
        let trace = trace.map_err(|error| Failure::usage(format!("{name}: {error}")))?;
        return Ok(Input::Trace(Box::new(trace)));
    }
    if bytes.len() > MAX_TEXT {
        return Err(Failure::usage(format!(
            "{name} is longer than {MAX_TEXT} bytes, so it is no job and no scenario, and it does not begin as a trace does: name another file"
        )));
    }
    if path.extension().is_some_and(|ending| ending == "toml") {
        return scenario(&name, &bytes);
    }
    if let Some(text) = std::str::from_utf8(&bytes).ok().filter(|text| filefrag::is_listing(text)) {
        let made = filefrag::scenario_of(&name, text);
        let made = made.map_err(|error| placed(&error, &bytes, error.line, error.column))?;
        return scenario(&name, made.as_bytes());
    }
    let job = FioFile::parse(&name, &bytes).map_err(|error| {
        let (line, column) = (error.place.line as usize, error.place.column as usize);
        placed(&error, &bytes, line, column)
    })?;
    for note in &job.notes {
        eprintln!("note: {name}:{}:{}: {}", note.place.line, note.place.column, note.what);
    }
    Ok(Input::Job(job))
}

fn scenario(name: &str, bytes: &[u8]) -> Outcome<Input> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Failure::usage(format!(
            "{name} is not text in UTF-8 (byte {}): expected a scenario",
            error.valid_up_to()
        ))
    })?;
    let scenario = parse_scenario(name, text);
    let scenario = scenario.map_err(|error| placed(&error, bytes, error.line, error.column))?;
    Ok(Input::Scenario(Box::new(scenario)))
}

/// The sentence, and below it the line that it speaks of.
fn placed(error: &dyn std::error::Error, text: &[u8], line: usize, column: usize) -> Failure {
    let failure = Failure::usage(error.to_string());
    let shown = text.split(|byte| *byte == b'\n').nth(line.saturating_sub(1)).unwrap_or_default();
    let shown = String::from_utf8_lossy(shown);
    let shown: String = shown.trim_end().trim_start_matches('\u{feff}').replace('\t', " ");
    if shown.is_empty() || shown.chars().count() > 100 || shown.chars().any(char::is_control) {
        return failure;
    }
    let indent = " ".repeat(column.saturating_sub(1));
    failure.with_excerpt(format!("{line:>5} | {shown}\n      | {indent}^"))
}
