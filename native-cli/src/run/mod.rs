//! `folioscope run`: a job of fio through the engine, on a real file or a simulated device.

pub(crate) mod content;
mod host;
mod job;
mod limits;
mod output;
pub(crate) mod report;
pub(crate) mod scenario;
pub(crate) mod setup;
mod sink;

use crate::error::{Failure, Outcome};
use crate::input::{self, Input};
use crate::out::{self, Unfinished};
use crate::signal;
use crate::target::open::{Opened, Request, open};
use clap::Args;
use folioscope_core::device::sim::{Sim, Timing};
use folioscope_core::scenario::fio::{FioFile, FioJob};
use folioscope_core::scenario::size::parse_size;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::trace::wire;
use folioscope_core::units::{Bytes, Nanos};
use host::{Real, verify_file};
use indicatif::{ProgressBar, ProgressStyle};
use job::{Copy, Shared, expected_content};
use report::Report;
use setup::{World, WorldArgs};
use sink::Limited;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// What `run` can be told.
#[derive(Args, Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a flag of its own on the command line
#[allow(clippy::doc_markdown)] // these are the help texts of the command line
pub(crate) struct RunArgs {
    /// Job file of fio, or scenario (.toml)
    job: PathBuf,
    /// File to write, or folder for the files of the job; a simulated device if not given
    #[arg(long, value_name = "FILE|FOLDER")]
    target: Option<PathBuf>,
    /// Files of the target may exist, and their content may be lost
    #[arg(long, requires = "target")]
    overwrite: bool,
    /// Go through the kernel's page cache where O_DIRECT or io_uring is missing
    #[arg(long, requires = "target")]
    buffered_fallback: bool,
    /// I/Os in flight for each file; 32 if not given
    #[arg(long, value_name = "N", value_parser = depth)]
    depth: Option<u16>,
    /// Compare every byte with a plain array afterwards: past the kernel's cache, through it, and
    /// through the engine
    #[arg(long)]
    verify: bool,
    /// Write nothing: compare files that an earlier complete run of this job left
    #[arg(long, requires = "target", conflicts_with_all = ["verify", "trace", "overwrite"])]
    verify_only: bool,
    /// Record every step into this file
    #[arg(long, value_name = "OUT")]
    trace: Option<PathBuf>,
    /// Run this variant of a scenario only
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Give a scenario's device the queue limits of this disk, as the kernel shows them
    #[arg(long, value_name = "DEVICE")]
    limits: Option<PathBuf>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    /// Most memory for page caches and comparison; half of what is free if not given
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory: Option<Bytes>,
    #[command(flatten)]
    world: WorldArgs,
}

/// A run that was checked and can begin.
pub(crate) struct Plan<'a> {
    /// The jobs.
    pub(crate) file: &'a FioFile,
    /// Sizes and switches.
    pub(crate) world: &'a World,
    /// A file for each copy of each job in order; none for simulated devices.
    pub(crate) targets: Option<&'a [Opened]>,
    /// Compare every byte.
    pub(crate) verify: bool,
    /// Record the first copy of the first job.
    pub(crate) trace: bool,
}

/// What a run gave.
pub(crate) struct Ran {
    /// For each copy of each job in order.
    pub(crate) reports: Vec<Report>,
    /// Of the first copy.
    pub(crate) recording: Option<Recording>,
}

/// Carries the command out.
pub(crate) fn run(args: &RunArgs) -> Outcome<()> {
    let file = match input::read(&args.job)? {
        Input::Job(file) => file,
        Input::Scenario(scenario) => return scenario::run_scenario(args, *scenario),
        Input::Trace(_) => {
            return Err(Failure::usage(format!(
                "{0} is a trace, which is the result of a run: look at it with `folioscope render {0}`",
                args.job.display()
            )));
        }
    };
    if args.limits.is_some() {
        return Err(Failure::usage(
            "--limits is for scenarios, and this is a job of fio: leave it out",
        ));
    }
    if args.variant.is_some() {
        return Err(Failure::usage(
            "--variant is for scenarios, and this is a job of fio: leave it out",
        ));
    }
    let world = args.world.world()?;
    check_memory(args, &file)?;
    if args.verify_only {
        return verify_only(args, &file);
    }
    let paths = args.target.as_deref().map(|target| paths(&file, target)).transpose()?;
    let trace = args.trace.as_deref();
    let others = || paths.iter().flatten().chain([&args.job]).map(PathBuf::as_path);
    let trace = trace.map(|path| Unfinished::create("--trace", path, others())).transpose()?;
    signal::watch();
    let block = world.geometry.block_size();
    let targets = paths.map(|paths| open_all(args, &file, block, paths)).transpose()?;
    for note in fallback_notes(targets.as_deref()) {
        eprintln!("folioscope: warning: {note}");
    }
    if trace.is_some() && file.copies() > 1 {
        eprintln!("note: the trace holds the first of {} copies only", file.copies());
    }
    let plan = Plan {
        file: &file,
        world: &world,
        targets: targets.as_deref(),
        verify: args.verify,
        trace: trace.is_some(),
    };
    let ran = execute(&plan).inspect_err(|failure| {
        // What a failed check speaks of stays to be looked at; the rest leaves nothing behind.
        if !failure.is_check() {
            plan.targets.unwrap_or_default().iter().for_each(Opened::remove_if_created);
        }
    })?;
    if let (Some(trace), Some(recording)) = (trace, &ran.recording) {
        let real = plan.targets.map(|_| "a regular file".to_owned());
        trace.finish(&wire::encode(&world.header(args.job_name(), real), recording))?;
    }
    output::print(args, &plan, &ran)?;
    if ran.reports.iter().any(|report| report.unfinished == Some(report::Unfinished::Interrupted)) {
        return Err(Failure::interrupted());
    }
    Ok(())
}

fn depth(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|number| (1..=1024).contains(number));
    number.ok_or_else(|| "expected a number from 1 to 1024".to_owned())
}

impl RunArgs {
    fn job_name(&self) -> String {
        self.job.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

fn check_memory(args: &RunArgs, file: &FioFile) -> Outcome<()> {
    let each = |job: &FioJob| {
        // The plain array keeps who wrote each block, in eight bytes.
        let array = job.size.get().saturating_add(job.blocks().get().saturating_mul(8));
        let arrays = if args.verify { array.saturating_add(job.size.get()) } else { 0 };
        let one = if args.verify_only { array } else { job.size.get().saturating_add(arrays) };
        one.saturating_mul(u64::from(job.num_jobs))
    };
    let needed = file.jobs.iter().map(each).fold(0, u64::saturating_add);
    let limit = args.memory.unwrap_or_else(|| Bytes::new(free_memory() / 2));
    if needed <= limit.get() {
        return Ok(());
    }
    let verify = if args.verify { " with --verify" } else { "" };
    Err(Failure::usage(format!(
        "the files of the job need {} of memory{verify}, because this version keeps them in the cache whole, and the limit is {limit}: make size or numjobs smaller, or raise --memory",
        Bytes::new(needed)
    )))
}

/// Memory that can be had without swapping; a modest guess where the system does not say.
fn free_memory() -> u64 {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kib.map_or(1 << 30, |kib| kib * 1024)
}

/// Every job with the number of one of its copies.
fn copies(file: &FioFile) -> impl Iterator<Item = (&FioJob, u32)> {
    file.jobs.iter().flat_map(|job| (0..job.num_jobs).map(move |copy| (job, copy)))
}

/// Path of each copy's file.
fn paths(file: &FioFile, target: &Path) -> Outcome<Vec<PathBuf>> {
    if target.is_dir() {
        let mut all: Vec<PathBuf> = Vec::new();
        for (job, copy) in copies(file) {
            let path = target.join(job.file_name(copy));
            if all.contains(&path) {
                return Err(Failure::usage(format!(
                    "--target {} would hold two files named {}: give the jobs different names",
                    target.display(),
                    job.file_name(copy)
                )));
            }
            all.push(path);
        }
        return Ok(all);
    }
    if file.copies() > 1 {
        return Err(Failure::usage(format!(
            "--target {} is one file, and the job has {} copies that need one each: name a folder that exists",
            target.display(),
            file.copies()
        )));
    }
    Ok(vec![target.to_owned()])
}

fn open_all(
    args: &RunArgs,
    file: &FioFile,
    block: Bytes,
    paths: Vec<PathBuf>,
) -> Outcome<Vec<Opened>> {
    let mut all: Vec<Opened> = Vec::new();
    for ((job, _), path) in copies(file).zip(paths) {
        let opened = open(&Request {
            path,
            size: job.size,
            block,
            depth: usize::from(args.depth.unwrap_or(32)),
            overwrite: args.overwrite,
            buffered_fallback: args.buffered_fallback,
        });
        match opened {
            Ok(opened) => all.push(opened),
            Err(failure) => {
                all.iter().for_each(Opened::remove_if_created);
                return Err(failure);
            }
        }
    }
    Ok(all)
}

fn fallback_notes(targets: Option<&[Opened]>) -> impl Iterator<Item = String> {
    targets.unwrap_or_default().iter().filter_map(|opened| {
        let why = opened.fallback.as_ref()?;
        Some(format!("{why}, so all goes through the kernel's own page cache and times say little"))
    })
}

fn verify_only(args: &RunArgs, file: &FioFile) -> Outcome<()> {
    let target = args.target.as_deref().expect("the command line requires it");
    for ((job, copy), path) in copies(file).zip(paths(file, target)?) {
        verify_file(&path, None, &expected_content(job, copy))?;
        out::print(&format!("verify: {}: every byte is as the job wrote it\n", path.display()))?;
    }
    Ok(())
}

/// What a copy gave; nothing where another one could not begin.
type CopyResult = Outcome<Option<(Report, Option<Recording>)>>;

/// Runs every copy of every job, each in its own thread with its own engine.
pub(crate) fn execute(plan: &Plan<'_>) -> Outcome<Ran> {
    let shared = Shared {
        start: Barrier::new(plan.file.copies() as usize),
        failed: AtomicBool::new(false),
        blocks: AtomicU64::new(0),
        interrupted: signal::interrupted(),
    };
    let total: u64 =
        plan.file.jobs.iter().map(|job| job.blocks().get() * u64::from(job.num_jobs)).sum();
    let results: Vec<CopyResult> = thread::scope(|scope| {
        let threads: Vec<_> = copies(plan.file)
            .enumerate()
            .map(|(at, (job, copy))| {
                let copy = Copy {
                    job,
                    number: copy,
                    world: plan.world,
                    verify: plan.verify,
                    shared: &shared,
                };
                scope.spawn(move || run_copy(plan, &copy, at))
            })
            .collect();
        let bar = progress_bar(total);
        while threads.iter().any(|thread| !thread.is_finished()) {
            bar.set_position(shared.blocks.load(Ordering::Relaxed));
            thread::sleep(Duration::from_millis(if bar.is_hidden() { 5 } else { 50 }));
        }
        bar.finish_and_clear();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut ran = Ran { reports: Vec::new(), recording: None };
    for result in results {
        let Some((report, recording)) = result? else { continue };
        ran.reports.push(report);
        ran.recording = ran.recording.or(recording);
    }
    Ok(ran)
}

fn run_copy(plan: &Plan<'_>, copy: &Copy<'_>, at: usize) -> CopyResult {
    let block = plan.world.geometry.block_size();
    let plain = |(report, NoTrace)| (report, None);
    let traced = |(report, sink): (_, Limited)| (report, Some(sink.recording));
    let trace = plan.trace && at == 0;
    match (plan.targets, trace) {
        (Some(targets), false) => Ok(copy.run(Real::new(&targets[at], block), NoTrace)?.map(plain)),
        (Some(targets), true) => {
            Ok(copy.run(Real::new(&targets[at], block), Limited::default())?.map(traced))
        }
        (None, false) => Ok(copy.run(Ok(simulated()), NoTrace)?.map(plain)),
        (None, true) => Ok(copy.run(Ok(simulated()), Limited::default())?.map(traced)),
    }
}

/// A device with a queue. Its times are made up, its counts are not.
fn simulated() -> Sim {
    Sim::new(Timing::Queue {
        depth: 32,
        latency: Nanos::new(80_000),
        per_kib: Nanos::new(500),
        flush: Nanos::new(300_000),
    })
}

/// On standard error, and only if that is a terminal.
fn progress_bar(total: u64) -> ProgressBar {
    let bar = ProgressBar::new(total);
    let style = ProgressStyle::with_template("{wide_bar} {percent}% {per_sec}, {eta} left");
    bar.set_style(style.expect("the template is right"));
    bar
}
