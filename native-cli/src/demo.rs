//! `folioscope demo`: a job of one mail to the kernel's list, in small, on a temporary real file:
//! before and after dirt is known per block.

use crate::error::{Failure, Outcome};
use crate::out;
use crate::render::text_of_first_write;
use crate::run::report::Report;
use crate::run::setup::{World, WorldArgs};
use crate::run::{Plan, execute};
use crate::signal;
use crate::target::open::{Opened, Request, open};
use folioscope_core::scenario::fio::FioFile;
use folioscope_core::trace::header::Header;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::Bytes;
use std::fmt::Write as _;
use std::path::Path;
use tempfile::TempDir;

/// The job: each write changes one block of a page and waits until it is durable.
const JOB: &str = "[demo]\nioengine=psync\nrw=randwrite\noverwrite=1\npre_read=1\nbs=4k\nsize=1m\n\
    fdatasync=1\n";
const BLOCK: Bytes = Bytes::kib(4);
const PAGE: Bytes = Bytes::kib(64);
/// Blocks of a page: what one changed block costs where dirt is known per page.
const BLOCKS_PER_PAGE: u64 = 16;

const INTRO: &str = "\
What does one changed block cost the device?
256 times: change one 4 KiB block of a cached 64 KiB page (pwrite), then
wait until it is durable (fdatasync). Before: dirt is known per folio.
After: per block.

";

const REAL: &str = "
On a temporary real file, through O_DIRECT and io_uring. Every byte was
read back (past the kernel's cache, through it, and through the engine)
and is right; the file is removed.
";

const NEXT: &str = "
Next:
  folioscope serve --open             step through it in the browser
  folioscope run JOB.fio --target FILE
                                      your own fio job on a real file
  folioscope run --help               page size, profiles, traces, JSON
";

/// One of the two runs.
struct Side {
    name: &'static str,
    switch: &'static str,
    report: Report,
    header: Header,
    recording: Recording,
}

/// Carries the command out.
pub(crate) fn demo() -> Outcome<()> {
    let job = FioFile::parse("demo", JOB.as_bytes())
        .map_err(|error| Failure::broken(format!("the demo's own job is refused: {error}")))?;
    signal::watch();
    let place = find_place(&job);
    let mut sides = Vec::new();
    for (name, switch) in [("before", "per-folio"), ("after", "per-block")] {
        sides.push(run_side(&job, &place, name, switch)?);
    }
    if sides.iter().any(|side| side.report.unfinished.is_some()) {
        return Err(Failure::interrupted());
    }
    let table = table(&sides, &place);
    let costs: Vec<u64> = sides.iter().map(|side| side.report.device_written.get()).collect();
    let right = costs[0] == costs[1] * BLOCKS_PER_PAGE;
    let runs = sides.into_iter().map(|side| (side.switch.to_owned(), side.header, side.recording));
    let picture = text_of_first_write(runs.collect(), PAGE)?;
    let moment = "The first fdatasync, while its write is on the way to the device:";
    out::print(&format!(
        "{INTRO}{table}
{moment}

{picture}{NEXT}"
    ))?;
    if right {
        return Ok(());
    }
    Err(Failure::check(format!(
        "the device got {} against {} bytes, expected {BLOCKS_PER_PAGE} : 1: please report this",
        costs[0], costs[1]
    )))
}

/// Where the demo writes.
enum Place {
    /// A folder of its own, which goes with it.
    Folder(TempDir),
    /// Nowhere, and why.
    Simulated(String),
}

/// The current folder, or the one for temporary files, if files there take `O_DIRECT`.
fn find_place(job: &FioFile) -> Place {
    let mut why = String::new();
    for parent in [Path::new(".").to_owned(), std::env::temp_dir()] {
        let found = tempfile::Builder::new().prefix(".folioscope-demo-").tempdir_in(&parent);
        let opened = match found {
            Ok(folder) => open(&request(job, &folder, "probe")).map(|_| folder),
            Err(error) => Err(Failure::file("write in", &parent, &error)),
        };
        match opened {
            Ok(folder) => return Place::Folder(folder),
            Err(failure) => why = failure.to_string(),
        }
    }
    Place::Simulated(why)
}

fn request(job: &FioFile, folder: &TempDir, name: &str) -> Request {
    Request {
        path: folder.path().join(name),
        size: job.jobs[0].size,
        block: BLOCK,
        depth: 32,
        overwrite: false,
        buffered_fallback: false,
    }
}

fn run_side(
    job: &FioFile,
    place: &Place,
    name: &'static str,
    switch: &'static str,
) -> Outcome<Side> {
    let world: World = WorldArgs {
        page_size: Some(PAGE),
        block_size: Some(BLOCK),
        max_folio_order: Some(0),
        profile: None,
        switches: vec![format!("dirty_tracking={switch}")],
    }
    .world()?;
    let targets: Option<Vec<Opened>> = match place {
        Place::Folder(folder) => Some(vec![open(&request(job, folder, name))?]),
        Place::Simulated(_) => None,
    };
    let plan =
        Plan { file: job, world: &world, targets: targets.as_deref(), verify: true, trace: true };
    let mut ran = execute(&plan)?;
    let (Some(report), Some(recording)) = (ran.reports.pop(), ran.recording) else {
        return Err(Failure::broken("the demo's run gave no result: please report this"));
    };
    let real = targets.map(|_| "a regular file".to_owned());
    let header = world.header(format!("Demo: dirty_tracking={switch}"), real);
    Ok(Side { name, switch, report, header, recording })
}

fn table(sides: &[Side], place: &Place) -> String {
    let micros = |nanos: u64| format!("{:.0} µs", nanos as f64 / 1000.0);
    let mut out = String::new();
    let mut row = |what: &str, cell: &dyn Fn(&Side) -> String| {
        let cells: Vec<String> = sides.iter().map(|side| format!("{:>20}", cell(side))).collect();
        writeln!(out, "{what:<26}{}", cells.concat()).expect("a String takes everything");
    };
    row("", &|side| side.name.to_owned());
    row("dirty_tracking", &|side| side.switch.to_owned());
    row("application wrote", &|side| side.report.app_written.to_string());
    row("device got", &|side| side.report.device_written.to_string());
    row("amplification", &|side| format!("{:.2}", side.report.amplification().unwrap_or_default()));
    row("clean bytes written", &|side| side.report.clean_written.to_string());
    let real = matches!(place, Place::Folder(_));
    if real {
        row("fdatasync, median", &|side| micros(side.report.syncs.median()));
    }
    match place {
        Place::Folder(_) => out += REAL,
        Place::Simulated(why) => {
            let words =
                format_args!("\nON A SIMULATED DEVICE, every byte checked, because {why}.\n");
            out.write_fmt(words).expect("a String takes everything");
        }
    }
    out
}
