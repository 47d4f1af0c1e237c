//! What a run leaves: its summary on standard output, and its trace in a file.

use super::report::{Report, title, world_line};
use super::{Plan, Ran, RunArgs, copies, fallback_notes};
use crate::error::{Failure, Outcome, reason};
use folioscope_core::trace::header::Header;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::trace::wire;
use serde_json::{Value, json};
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A trace that takes its name only when it is complete.
pub(super) struct TraceFile {
    path: PathBuf,
    file: NamedTempFile,
}

impl TraceFile {
    /// Makes sure before the run that the file can be written.
    pub(super) fn create(path: &Path) -> Outcome<Self> {
        if path.is_dir() {
            return Err(Failure::usage(format!(
                "--trace {} is a folder: name a file in it",
                path.display()
            )));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        // Other people may read a trace, as any file; the umask still applies.
        let file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            .map_err(|error| Failure::file("write the trace", path, &error))?;
        Ok(Self { path: path.to_owned(), file })
    }
    /// Writes it whole.
    pub(super) fn write(mut self, header: &Header, recording: &Recording) -> Outcome<()> {
        let fail = |error: std::io::Error| Failure::file("write the trace", &self.path, &error);
        let bytes = wire::encode(header, recording);
        self.file.write_all(&bytes).map_err(fail)?;
        self.file.as_file().sync_all().map_err(fail)?;
        let kept = self.file.persist(&self.path);
        kept.map_err(|error| {
            Failure::environment(format!(
                "cannot write the trace {}: {}",
                self.path.display(),
                reason(&error.error)
            ))
        })?;
        Ok(())
    }
}

/// Prints the summary.
pub(super) fn print(args: &RunArgs, plan: &Plan<'_>, ran: &Ran) {
    if args.json {
        let value = json(plan, ran);
        println!("{}", serde_json::to_string_pretty(&value).expect("plain data"));
        return;
    }
    let mut reports = ran.reports.iter();
    let mut total = Report::default();
    for job in &plan.file.jobs {
        let mut group = Report::default();
        for copy in 0..job.num_jobs {
            let Some(report) = reports.next() else { continue };
            if !job.group_reporting && job.num_jobs > 1 {
                print!("{}", report.text(&format!("{}.{copy}", title(job, 1))));
            }
            group.merge(report);
        }
        print!("{}", group.text(&title(job, job.num_jobs)));
        total.merge(&group);
    }
    if plan.file.jobs.len() > 1 {
        print!("{}", total.text("all jobs"));
    }
    println!("world: {}", world_line(plan.world));
    println!("target: {}", target_line(plan));
    if total.verified {
        println!("verify: every byte is right: {}", ways(plan));
    }
    if let Some(path) = &args.trace {
        println!("trace: {}", path.display());
    }
}

fn target_line(plan: &Plan<'_>) -> String {
    let Some(targets) = plan.targets else {
        return "a simulated device: counts are exact, times are made up".to_owned();
    };
    let names: Vec<String> =
        targets.iter().map(|opened| opened.path.display().to_string()).collect();
    if let Some(why) = fallback_notes(plan.targets).next() {
        return format!("{} — WITHOUT O_DIRECT: {why}", names.join(", "));
    }
    format!("{} through O_DIRECT and io_uring", names.join(", "))
}

fn ways(plan: &Plan<'_>) -> &'static str {
    match plan.targets {
        None => "read from the simulated device and through the engine",
        Some(_) if fallback_notes(plan.targets).next().is_some() => {
            "read through the kernel's page cache and through the engine"
        }
        Some(_) => "read with O_DIRECT, through the kernel's page cache, and through the engine",
    }
}

fn json(plan: &Plan<'_>, ran: &Ran) -> Value {
    let mut total = Report::default();
    ran.reports.iter().for_each(|report| total.merge(report));
    let geometry = plan.world.geometry;
    let header = plan.world.header(String::new(), None);
    let switches: serde_json::Map<String, Value> =
        header.switches().iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let jobs: Vec<Value> = copies(plan.file)
        .zip(&ran.reports)
        .map(|((job, copy), report)| {
            let mut value = report.json();
            value["name"] = json!(job.name);
            value["copy"] = json!(copy);
            value
        })
        .collect();
    json!({
        "version": 0,
        "engine": folioscope_core::ENGINE_VERSION,
        "world": {
            "page_size": geometry.page_size().get(),
            "block_size": geometry.block_size().get(),
            "max_folio_order": geometry.max_order().get(),
            "profile": plan.world.profile.name,
            "evidence": plan.world.profile.evidence.words(),
            "switches": switches,
        },
        "target": {
            "kind": match plan.targets {
                None => "simulated",
                Some(_) if fallback_notes(plan.targets).next().is_some() => "buffered",
                Some(_) => "direct",
            },
            "files": plan.targets.unwrap_or_default().iter()
                .map(|opened| opened.path.display().to_string()).collect::<Vec<_>>(),
        },
        "jobs": jobs,
        "total": total.json(),
    })
}
