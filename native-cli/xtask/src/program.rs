//! Running other programs: what runs is printed, and what fails is one sentence.

use crate::folders::search_path;
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// A program with its arguments, written as words between spaces.
pub(crate) fn program(words: &str) -> Command {
    let mut words = words.split_whitespace();
    let mut command = Command::new(words.next().expect("a program has a name"));
    command.args(words).env("PATH", search_path());
    command
}

/// Runs it in the open; an error if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    let status = command.status().with_context(|| cannot_start(command))?;
    if !status.success() {
        bail!("`{shown}` failed ({status}): its own message stands above");
    }
    Ok(())
}

/// Runs it in the open and hands every line of its standard output to `each`; says whether it
/// succeeded.
pub(crate) fn run_reading(command: &mut Command, mut each: impl FnMut(&str)) -> Result<bool> {
    show(command);
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| cannot_start(command))?;
    let out = child.stdout.take().expect("standard output is piped");
    for line in BufReader::new(out).split(b'\n') {
        let line = line.context("cannot read the program's output")?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        each(&line);
    }
    Ok(child.wait().context("cannot wait for the program")?.success())
}

/// What it prints, or nothing where it is missing or fails.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn cannot_start(command: &Command) -> String {
    let name = command.get_program().to_string_lossy();
    format!("cannot start `{name}`: install it, or add its folder to PATH")
}

fn show(command: &Command) -> String {
    let mut words = command.get_program().to_string_lossy().into_owned();
    for word in command.get_args() {
        write!(words, " {}", word.to_string_lossy()).expect("a String takes everything");
    }
    eprintln!("$ {words}");
    words
}
