//! What came out of each step, and the table of it.
//!
//! A test that cannot run here writes a line `SKIPPED: why` straight to standard output (not by
//! `println!`, which the harness swallows); it then stands in the table.

use crate::program::run_reading;
use anyhow::Result;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Why a step cannot run, if so.
pub(crate) type Obstacle = Option<String>;

/// Tests that passed and failed, and why others were skipped.
#[derive(Default)]
struct Tally {
    passed: u32,
    failed: u32,
    skipped: Vec<String>,
}

struct Step {
    name: &'static str,
    tally: Tally,
    seconds: u64,
}

/// Outcomes so far.
#[derive(Default)]
pub(crate) struct Report {
    steps: Vec<Step>,
}

impl Tally {
    /// Takes a line that a test harness printed.
    fn read(&mut self, line: &str) {
        if let Some((_, why)) = line.split_once("SKIPPED: ") {
            self.skipped.push(why.to_owned());
        }
        let Some(counts) = line.strip_prefix("test result: ") else { return };
        let count = |what: &str| {
            let before = counts.split_once(what)?.0;
            before.rsplit(' ').next()?.parse::<u32>().ok()
        };
        self.passed += count(" passed").unwrap_or(0);
        self.failed += count(" failed").unwrap_or(0);
    }

    fn word(&self) -> &'static str {
        match (self.failed, self.passed) {
            (1.., _) => "failed",
            (0, 1..) => "passed",
            (0, 0) => "skipped",
        }
    }
}

impl Report {
    /// Runs a step that passes or fails as a whole; answers with the obstacle for its followers.
    pub(crate) fn check(
        &mut self,
        name: &'static str,
        obstacle: &Obstacle,
        action: impl FnOnce() -> Result<()>,
    ) -> Obstacle {
        self.step(name, obstacle, |tally| {
            action()?;
            tally.passed = 1;
            Ok(())
        })
    }

    /// Runs a command that prints what became of each of its tests.
    pub(crate) fn tests(
        &mut self,
        name: &'static str,
        obstacle: &Obstacle,
        command: &mut Command,
    ) -> Obstacle {
        self.step(name, obstacle, |tally| {
            let success = run_reading(command, |line| tally.read(line))?;
            anyhow::ensure!(success, "what failed stands above");
            Ok(())
        })
    }

    fn step(
        &mut self,
        name: &'static str,
        obstacle: &Obstacle,
        action: impl FnOnce(&mut Tally) -> Result<()>,
    ) -> Obstacle {
        let (start, mut tally) = (Instant::now(), Tally::default());
        let failure = if let Some(why) = obstacle {
            tally.skipped.push(why.clone());
            obstacle.clone()
        } else {
            eprintln!("\n== {name}");
            action(&mut tally).err().map(|error| {
                eprintln!("{name}: {error:#}");
                tally.failed = tally.failed.max(1);
                format!("\"{name}\" failed")
            })
        };
        self.steps.push(Step { name, tally, seconds: start.elapsed().as_secs() });
        failure
    }

    /// Prints the table and the sums; the exit code says whether nothing failed.
    pub(crate) fn finish(&self) -> ExitCode {
        println!();
        let (mut passed, mut failed, mut skipped) = (0, 0, 0);
        for Step { name, tally, seconds } in &self.steps {
            let counts = format!("{} passed, {} failed", tally.passed, tally.failed);
            println!("{:8} {name:42} {counts:24} {seconds:4} s", tally.word());
            for why in &tally.skipped {
                println!("         skipped: {why}");
            }
            passed += tally.passed;
            failed += tally.failed;
            skipped += tally.skipped.len();
        }
        println!("{passed} passed, {failed} failed, {skipped} skipped");
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn results_and_skips_are_read_from_what_a_harness_prints() {
        let mut tally = Tally::default();
        tally.read("test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured");
        tally.read("test result: ok. 2 passed; 0 failed; 0 ignored; 0 filtered out");
        tally.read("test a_disk ... SKIPPED: no O_DIRECT here");
        tally.read("test another ... ok");
        assert_eq!((tally.passed, tally.failed), (14, 3));
        assert_eq!(tally.skipped, ["no O_DIRECT here"]);
    }
}
