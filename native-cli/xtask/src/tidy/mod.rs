//! Rules that the sources keep, checked by machine: style here is a test.

mod rooms;
mod text;
mod top;

use crate::program::{output, program};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// One place where a rule is broken: where, and what to do.
type Finding = String;

/// A file that the repository holds, or would with the next commit.
struct Source {
    path: String,
    text: String,
}

/// Checks every file against every rule.
pub(crate) fn run() -> Result<()> {
    let sources = sources()?;
    let findings: Vec<Finding> = [
        top::check(&sources),
        sources.iter().flat_map(text::check).collect(),
        sources.iter().flat_map(rooms::check).collect(),
    ]
    .concat();
    for finding in &findings {
        eprintln!("{finding}");
    }
    if !findings.is_empty() {
        bail!("{} places break a rule of the sources", findings.len());
    }
    println!("{} files keep the rules", sources.len());
    Ok(())
}

/// Files that are not text (pictures, traces) have an empty text.
fn sources() -> Result<Vec<Source>> {
    let mut git = program("git ls-files --cached --others --exclude-standard");
    let list = output(&mut git)
        .context("cannot list the files of the repository: run this in a git clone")?;
    let held = list.lines().filter(|path| Path::new(path).is_file());
    held.map(|path| {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {path}"))?;
        Ok(Source { path: path.to_owned(), text: String::from_utf8(bytes).unwrap_or_default() })
    })
    .collect()
}
