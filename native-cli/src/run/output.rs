//! What a run leaves: its summary on standard output, and its trace in a file.

use super::report::{Report, title, world_line};
use super::{Plan, Ran, RunArgs, copies, fallback_notes};
use crate::error::Outcome;
use crate::out;
use serde_json::{Value, json};
use std::fmt::{self, Write as _};

/// Prints the summary.
pub(super) fn print(args: &RunArgs, plan: &Plan<'_>, ran: &Ran) -> Outcome<()> {
    if args.json {
        let text = serde_json::to_string_pretty(&json(plan, ran)).expect("plain data");
        return out::print(&(text + "\n"));
    }
    let mut text = String::new();
    let mut reports = ran.reports.iter();
    let mut total = Report::default();
    for job in &plan.file.jobs {
        let mut group = Report::default();
        for copy in 0..job.num_jobs {
            let Some(report) = reports.next() else { continue };
            if !job.group_reporting && job.num_jobs > 1 {
                text += &report.text(&format!("{}, copy {copy}", title(job, 1)));
            }
            group.merge(report);
        }
        text += &group.text(&title(job, job.num_jobs));
        total.merge(&group);
    }
    if plan.file.jobs.len() > 1 {
        text += &total.text("all jobs");
    }
    let mut line = |words: fmt::Arguments<'_>| {
        text.write_fmt(words).expect("a String takes everything");
    };
    line(format_args!("world: {}\n", world_line(plan.world)));
    line(format_args!("target: {}\n", target_line(plan)));
    if total.verified {
        line(format_args!("verify: every byte is right: {}\n", ways(plan)));
    }
    if let Some(path) = &args.trace {
        line(format_args!("trace: {}\n", path.display()));
    }
    out::print(&text)
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
        header.behaviours.switches().map(|(name, value)| (name.to_owned(), json!(value))).collect();
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
