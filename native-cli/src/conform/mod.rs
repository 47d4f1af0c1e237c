//! `folioscope conform`: runs the engine on what real kernels did, and compares.

mod bugs;
mod compare;
mod execute;
mod golden;
mod guests;
mod known;
mod observe;
mod queue;
mod report;
mod script;
mod setup;

use crate::error::{Failure, Outcome};
use crate::out;
use clap::Args;
use compare::Verdict;
use golden::Golden;
use known::Known;
use report::{Case, Report};
use std::path::{Path, PathBuf};

/// Compare the engine with what real kernels did
#[derive(Args, Debug)]
pub(crate) struct ConformArgs {
    /// Golden files, or folders of them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print JSON instead of lines
    #[arg(long)]
    json: bool,
    /// Differences that are known, each with its reason [default: the list in the program]
    #[arg(long, value_name = "FILE")]
    known: Option<PathBuf>,
}

/// Largest golden that is read.
const MAX_GOLDEN: u64 = 64 * 1024 * 1024;

pub(crate) fn conform(args: &ConformArgs) -> Outcome<()> {
    let known = match &args.known {
        Some(path) => Known::parse(&path.display().to_string(), &read(path)?)?,
        None => Known::embedded(),
    };
    let mut files = Vec::new();
    for path in &args.paths {
        collect(path, &mut files)?;
    }
    if files.is_empty() {
        let all: Vec<_> = args.paths.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::usage(format!(
            "no golden in {}: name .json files, or folders that hold them",
            all.join(", ")
        )));
    }
    let mut report = Report::default();
    for file in &files {
        for case in run_file(file, &known)? {
            if !args.json {
                out::print(&format!("{case}\n"))?;
            }
            report.add(case);
        }
    }
    if args.json {
        out::print(&format!("{}\n", report.to_json()))?;
    } else {
        out::print(&format!("{report}\n"))?;
    }
    report.verdict()
}

/// Every `.json` file at or below a path, in order.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Outcome<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let failed = |error| Failure::file("read the folder", path, &error);
    let entries = std::fs::read_dir(path).map_err(failed)?;
    let mut inside: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    inside.sort();
    for entry in inside {
        // A link to a folder may lead back here.
        if entry.is_symlink() && entry.is_dir() {
            continue;
        }
        if entry.is_dir() || entry.extension().is_some_and(|ext| ext == "json") {
            collect(&entry, files)?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Outcome<String> {
    let failed = |error| Failure::file("read", path, &error);
    if std::fs::metadata(path).map_err(failed)?.len() > MAX_GOLDEN {
        return Err(Failure::usage(format!(
            "{} is larger than {} MiB, the most that is read",
            path.display(),
            MAX_GOLDEN >> 20
        )));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let name = path.display();
        Failure::usage(format!(
            "{name} is not text in UTF-8 (byte {at}): expected a golden in JSON"
        ))
    })
}

fn run_file(path: &Path, known: &Known) -> Outcome<Vec<Case>> {
    let text = read(path)?;
    let stem =
        path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let value: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("{}: not JSON: {error}", path.display())))?;
    if guests::is_file(&value) {
        return guests::Stable::beside(path)
            .and_then(|stable| guests::run(&value, known, &stable))
            .map_err(|why| Failure::usage(format!("{}: {why}", path.display())));
    }
    if bugs::is_list(&value) {
        return Ok(bugs::run_list(&value, known));
    }
    if guests::Stable::is_file(path, &value) {
        return Ok(Vec::new());
    }
    if let Some(what) = golden::other_format(&value) {
        return Ok(vec![Case::skipped(stem, what)]);
    }
    let golden: Golden = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("{}: not a golden: {error}", path.display())))?;
    if let Some(why) = script::missing(&golden) {
        return Ok(vec![Case::skipped(golden.id, why)]);
    }
    let verdict: Verdict = golden::check_limits(&golden)
        .and_then(|()| execute::run(&golden))
        .map_err(|why| Failure::usage(format!("{}: {why}", path.display())))?;
    Ok(vec![Case::compared(golden.id, verdict, known)])
}
