//! A job as a scenario: the file, the reads and writes of its first copy, and its syncs.

use super::{FioFile, JobOp};
use crate::scenario::form::quoted;
use core::fmt::Write as _;

/// Most operations of a scenario that is made of a job.
const MAX_OPS: usize = 10_000;

/// Whether a text is a job file: it begins with the name of a section, which no scenario does.
pub fn is_job(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(['#', ';']));
    first.is_some_and(|line| line.starts_with('[') && !line.starts_with("[["))
}

/// Operations that follow each other in the file.
struct Run {
    name: &'static str,
    start: u64,
    len: u64,
    times: u64,
}

impl Run {
    fn put(&self, out: &mut String) {
        let Self { name, start, len, times } = self;
        let repeat = if *times > 1 { format!("repeat = {times}\n") } else { String::new() };
        let place = format!("at = {start}\nlen = {len}\n");
        let place = if *len > 0 { place } else { String::new() };
        write!(out, "\n[[op]]\ndo = \"{name}\"\n{place}{repeat}")
            .expect("a string takes everything");
    }
    /// Takes an operation in that goes on where it ends.
    fn takes(&mut self, next: &Self) -> bool {
        let goes_on = self.len > 0
            && self.name == next.name
            && self.len == next.len
            && self.start + self.times * self.len == next.start;
        self.times += u64::from(goes_on);
        goes_on
    }
}

impl FioFile {
    /// The text of a scenario that does what the first copy of the first job does. The error is one
    /// sentence without a full stop.
    pub fn scenario(&self) -> Result<String, String> {
        let job = self.jobs.first().ok_or("the file has no job: add a section")?;
        let name = job.file_name(0);
        let name = name.rsplit('/').next().unwrap_or("file");
        let mut out = String::from("# Made of a job of fio");
        if self.copies() > 1 {
            write!(out, ": the first of {} copies", self.copies()).expect("a string takes it");
        }
        let title = quoted(&format!("{}: {} by {}", job.name, job.rw, job.block_size));
        out += &[".\nversion = 0\ntitle = ", &title].concat();
        out += "\n\n[world]\npage_size = \"4k\"\nblock_size = \"4k\"\nmax_folio_order = 9\n";
        out += &["\n[[file]]\nname = ", &quoted(name), "\n"].concat();
        if job.needs_layout() {
            let size = job.size.get();
            write!(out, "size = {size}\nfill = 1\n").expect("a string takes everything");
        }
        let mut last: Option<Run> = None;
        for (nth, op) in job.ops(0).enumerate() {
            if nth == MAX_OPS {
                return Err(format!(
                    "the job does more than {MAX_OPS} operations, the most of a scenario that is \
                     made of one: make `size` smaller, or run it in the terminal"
                ));
            }
            let (name, start, len) = match op {
                JobOp::PreRead { len } => ("pread", 0, len.get()),
                JobOp::Pread { pos, len } => ("pread", pos.get(), len.get()),
                JobOp::Pwrite { pos, len } => ("pwrite", pos.get(), len.get()),
                JobOp::Fsync => ("fsync", 0, 0),
                JobOp::Fdatasync => ("fdatasync", 0, 0),
            };
            let next = Run { name, start, len, times: 1 };
            if last.as_mut().is_none_or(|last| !last.takes(&next))
                && let Some(done) = last.replace(next)
            {
                done.put(&mut out);
            }
        }
        if let Some(done) = last {
            done.put(&mut out);
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Action;
    use crate::scenario::file::parse_scenario;

    const JOB: &str = "; a comment\n[overwrite]\nrw=randwrite\nbs=4k\nsize=64k\nfdatasync=1\n\
        overwrite=1\npre_read=1\n";

    #[test]
    fn a_job_and_its_scenario_do_the_same() {
        for (text, entries) in [(JOB.to_owned(), 33), (JOB.replace("randwrite", "read"), 2)] {
            let text = if entries == 2 {
                text.replace("fdatasync=1\n", "")
                    .replace("overwrite=1\n", "")
                    .replace("pre_read=1\n", "")
            } else {
                text
            };
            let file = FioFile::parse("job", text.as_bytes()).expect("a job");
            let made = file.scenario().expect("it becomes one");
            assert!(made.matches("[[op]]").count() <= entries, "{made}");
            let scenario =
                parse_scenario("made", &made).unwrap_or_else(|error| panic!("{error}\n{made}"));
            let ops: Vec<JobOp> = file.jobs[0].ops(0).collect();
            assert_eq!(ops.len(), scenario.ops.len());
            for (op, made) in ops.iter().zip(&scenario.ops) {
                let same = match (op, &made.action) {
                    (JobOp::Pwrite { pos, len }, Action::Pwrite { range, .. })
                    | (JobOp::Pread { pos, len }, Action::Pread { range, .. }) => {
                        range.start() == *pos && range.len() == *len
                    }
                    (JobOp::PreRead { len }, Action::Pread { range, .. }) => range.len() == *len,
                    (JobOp::Fdatasync, Action::Fdatasync) | (JobOp::Fsync, Action::Fsync) => true,
                    _ => false,
                };
                assert!(same, "{op:?} became {made:?}");
            }
        }
    }

    #[test]
    fn jobs_are_told_from_scenarios() {
        assert!(is_job(JOB) && is_job("[global]\nbs=4k"));
        for other in ["version = 0\n[world]\n", "", "# x\nversion = 0", "[[op]]\n", "\u{89}PNG"] {
            assert!(!is_job(other), "{other}");
        }
        let large = JOB.replace("64k", "1g");
        let why = FioFile::parse("job", large.as_bytes()).expect("a job").scenario();
        assert!(why.is_err_and(|why| why.contains("make `size` smaller")));
    }
}
