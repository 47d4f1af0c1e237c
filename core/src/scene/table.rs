//! The picture as tables, one a lane and run: for those who read it or have it read to them.
//!
//! Equal neighbours are one row; a table holds at most [`MAX_ROWS`] and says how many more there
//! are.

use super::Side;
use super::cells::Cell;
use super::fixed::{grouped, plural, position, size};
use super::lanes::bios::words;
use super::lanes::left::{block, stretches};
use super::lanes::{history, marks as use_marks, order, returns};
use super::layout::Run;
use super::limits::Limits;
use super::members::ArrayView;
use super::snapshot::{Snapshot, USES};
use super::view::{Lane, View};
use crate::trace::model::Tally;
use crate::units::SECTOR_SIZE;

/// Most rows of a table.
pub const MAX_ROWS: usize = 40;

/// A row: what it is about, and what is said of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Such as `blocks 16 to 20`.
    pub what: String,
    /// Such as `being written though clean`.
    pub state: String,
}

/// A lane of one run, or of all where they are equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// Which lane.
    pub lane: Lane,
    /// The letter of the run, or several as in `A = B`; empty for a single run.
    pub run: String,
    /// Its rows.
    pub rows: Vec<Row>,
    /// How many rows were left out.
    pub more: usize,
}

/// The tables of every lane that the view shows, in the order of the picture.
pub fn rows(sides: &[Side<'_>], view: &View) -> Vec<Table> {
    let limits = &*view.limits_of(sides);
    of_runs(&Run::all(sides, view, limits), view, limits)
}

/// The same of runs that were looked at already.
pub(super) fn of_runs(runs: &[Run], view: &View, limits: &Limits) -> Vec<Table> {
    let mut tables = Vec::new();
    for lane in view.shown(limits) {
        let all: Vec<Vec<Row>> = runs.iter().map(|run| lane_rows(lane, run)).collect();
        let labels: Vec<&str> = runs.iter().map(|run| run.label.as_str()).collect();
        let same =
            |two: &[Run]| lane != Lane::Cache || two[0].now.cache.spans == two[1].now.cache.spans;
        let agree = all.len() > 1
            && all.windows(2).all(|two| two[0] == two[1])
            && runs.windows(2).all(same);
        if agree {
            tables.extend(all.into_iter().next().map(|rows| table(lane, labels.join(" = "), rows)));
            continue;
        }
        let single = all.len() == 1;
        for (label, rows) in labels.iter().zip(all) {
            let run = if single { String::new() } else { (*label).to_owned() };
            tables.push(table(lane, run, rows));
        }
    }
    tables
}

fn table(lane: Lane, run: String, mut rows: Vec<Row>) -> Table {
    let more = rows.len().saturating_sub(MAX_ROWS);
    rows.truncate(MAX_ROWS);
    Table { lane, run, rows, more }
}

fn row(what: String, state: impl Into<String>) -> Row {
    Row { what, state: state.into() }
}

fn lane_rows(lane: Lane, run: &Run) -> Vec<Row> {
    let now = &run.now;
    match lane {
        Lane::File => file(now),
        Lane::Cache => cache(now),
        Lane::Mapping => mapping(now),
        Lane::Bios => bios(now),
        Lane::Requests => requests(now),
        Lane::Device => device(now),
        Lane::Members => run.array.as_ref().map_or_else(Vec::new, members),
        Lane::Tally => tally(now),
        Lane::Left => left(run),
        Lane::Marks => marks(run),
        Lane::Order => sent(run),
        Lane::Returns => read(run),
        Lane::History | Lane::Checks => past(run, lane),
    }
}

/// How folios got their marks; neighbours alike as one.
fn marks(run: &Run) -> Vec<Row> {
    let (block, page) = (block(run), run.page);
    let mut found: Vec<(u64, u64, use_marks::Column)> = Vec::new();
    for (start, column) in use_marks::folios(use_marks::so_far_of(run)) {
        match found.last_mut() {
            Some(last) if last.1 == start && last.2 == column => last.1 = start + page,
            Some(_) | None => found.push((start, start.saturating_add(page), column)),
        }
    }
    let one = |(start, end, column): (u64, u64, use_marks::Column)| {
        let what = blocks(start / block, end.div_ceil(block).max(1) - 1);
        row(format!("folios of {what}, each"), use_marks::says(&column))
    };
    found.into_iter().map(one).collect()
}

/// What went to the device.
fn sent(run: &Run) -> Vec<Row> {
    let all = order::so_far_of(run).iter().enumerate();
    let one = |(nth, sent): (usize, &super::course::Sent)| {
        let what = format!("from sector {}", grouped(sent.start / SECTOR_SIZE));
        row(what, order::says(nth, sent).into_iter().next().unwrap_or_default())
    };
    all.map(one).collect()
}

/// What a read would return.
fn read(run: &Run) -> Vec<Row> {
    let spans = run.now.cache.spans.iter().map(|span| {
        let (first, count) = (span.first, span.cells.len() as u64);
        (first * block(run), (first + count) * block(run))
    });
    let all = spans.flat_map(|span| returns::stretches(run, span));
    all.map(|stretch| {
        let (what, state) = returns::says(&stretch);
        row(what, state)
    })
    .collect()
}

/// What was sent and what was checked.
fn past(run: &Run, lane: Lane) -> Vec<Row> {
    let all = history::so_far_of(run, lane).iter();
    let one = |past: &super::course::Past| {
        let what = format!("bytes {} to {}", position(past.start), position(past.end));
        let state = history::says(past).into_iter().next().unwrap_or_default();
        let reader = past.reader.map(|at| format!(", when the reader was at {}", position(at)));
        row(what, state + &reader.unwrap_or_default())
    };
    let ([words, _], _) = history::words_of(run, lane);
    [row("in all".to_owned(), words)].into_iter().chain(all.map(one)).collect()
}

/// What a remount would find.
fn left(run: &Run) -> Vec<Row> {
    let Some(left) = &run.left else { return Vec::new() };
    let size = row("size".to_owned(), size(left.size.get()));
    let all = stretches(left, block(run)).into_iter();
    let rows = all.map(|(start, end, found)| {
        row(format!("bytes {} to {}", position(start), position(end)), found.words())
    });
    [size].into_iter().chain(rows).collect()
}

/// Disks that do not simply work, then the stripes; neighbours alike as one.
fn members(array: &ArrayView) -> Vec<Row> {
    let disks = (0..).zip(&array.disks);
    let mut rows: Vec<Row> = disks
        .filter_map(|(nth, disk): (u32, _)| Some((nth, disk.words().into_iter().next()?)))
        .map(|(nth, words)| row(format!("disk {nth}"), words))
        .collect();
    let mut stripes: Vec<(u64, u64, String)> = Vec::new();
    for stripe in &array.stripes {
        let mut words = stripe.words(array.rows);
        if stripe.whole && stripe.read > 0 {
            words.push_str("; in the end all of it is written, so that no read was needed");
        }
        match stripes.last_mut() {
            Some(last) if last.1 + 1 == stripe.number && last.2 == words => last.1 += 1,
            Some(_) | None => stripes.push((stripe.number, stripe.number, words)),
        }
    }
    rows.extend(stripes.into_iter().map(|(first, last, words)| {
        let what = if first == last {
            format!("stripe {first}")
        } else {
            format!("stripes {first} to {last}, each")
        };
        row(what, words)
    }));
    rows
}

fn file(now: &Snapshot) -> Vec<Row> {
    let mut rows = vec![row("size".to_owned(), size(now.size))];
    if now.disk_size != now.size {
        rows.push(row("size on disk".to_owned(), size(now.disk_size)));
    }
    if let Some((_, op)) = now.op {
        let state =
            op.result().map_or_else(|| "runs".to_owned(), |result| format!("returned {result}"));
        let what = if op.is_empty() {
            op.kind().name().to_owned()
        } else {
            let (len, pos) = (size(op.len().get()), position(op.pos().get()));
            format!("{} of {len} at {pos}", op.kind().name())
        };
        rows.push(row(what, state));
    }
    rows
}

/// `block 5`, `blocks 16 to 20`.
fn blocks(first: u64, last: u64) -> String {
    if first == last { format!("block {first}") } else { format!("blocks {first} to {last}") }
}

/// Equal neighbours as one: first, last, value.
fn runs_of<T: PartialEq + Copy>(all: impl Iterator<Item = (u64, T)>) -> Vec<(u64, u64, T)> {
    let mut found: Vec<(u64, u64, T)> = Vec::new();
    for (at, value) in all {
        match found.last_mut() {
            Some(last) if last.2 == value && last.1 + 1 == at => last.1 = at,
            Some(_) | None => found.push((at, at, value)),
        }
    }
    found
}

fn cache(now: &Snapshot) -> Vec<Row> {
    let spans = now.cache.spans.iter();
    let each = spans.flat_map(|span| runs_of((span.first..).zip(span.cells.iter().copied())));
    // Only the first rows are told, so only they get words.
    let cells = each.enumerate().map(|(nth, (first, last, cell)): (usize, (u64, u64, Cell))| {
        if nth < MAX_ROWS {
            row(blocks(first, last), cell.words())
        } else {
            row(String::new(), String::new())
        }
    });
    // Folios that were used, neighbours with one level as one.
    let mut used: Vec<(u64, u64, u8)> = Vec::new();
    for folio in now.cache.folios.iter().filter(|folio| folio.uses() > 0) {
        match used.last_mut() {
            Some(last) if last.1 == folio.start && last.2 == folio.uses() => last.1 = folio.end,
            Some(_) | None => used.push((folio.start, folio.end, folio.uses())),
        }
    }
    let block = now.cache.block;
    let used = used.into_iter().map(|(start, end, level)| {
        let what = blocks(start / block, end.div_ceil(block).max(1) - 1);
        row(format!("folios of {what}"), USES[usize::from(level) - 1])
    });
    cells.chain(used).collect()
}

fn mapping(now: &Snapshot) -> Vec<Row> {
    let say = |extent: &super::snapshot::ExtentView| {
        let what = format!("bytes {} to {}", position(extent.start), position(extent.end));
        let place = extent.addr.map_or_else(String::new, |addr| {
            format!(" from sector {}", grouped(addr / SECTOR_SIZE))
        });
        row(what, format!("{}{place}", extent.kind.name()))
    };
    let range = |(start, end): &(u64, u64)| {
        row(format!("bytes {} to {}", position(*start), position(*end)), "shared".to_owned())
    };
    let new = |extent: &super::snapshot::ExtentView| {
        let Row { what, state } = say(extent);
        row(what, format!("new copy: {state}"))
    };
    let all = now.extents.iter().map(say).chain(now.shared.iter().map(range));
    all.chain(now.cow.iter().map(new)).collect()
}

fn bios(now: &Snapshot) -> Vec<Row> {
    let block = now.cache.block;
    let say = |bio: &super::snapshot::BioView| {
        let text = words(bio, block).into_iter().next().unwrap_or_default();
        let first = bio.pieces.first().map_or(0, |piece| piece.start);
        let last = bio.pieces.last().map_or(1, |piece| piece.end.max(1)) - 1;
        let what = format!("{} of {}", bio.head.rwbs(), blocks(first / block, last / block));
        row(what, text.replace(" \u{b7} ", ", "))
    };
    now.bios.iter().map(say).collect()
}

fn requests(now: &Snapshot) -> Vec<Row> {
    let say = |request: &super::snapshot::RequestView| {
        let (first, len) = (request.addr / SECTOR_SIZE, request.bytes / SECTOR_SIZE);
        let what = format!("{} from sector {}", plural(len, "sector"), grouped(first));
        let state = super::lanes::requests::words(request);
        row(what, format!("{} {}, {state}", request.head.rwbs(), size(request.bytes)))
    };
    now.requests.iter().map(say).collect()
}

fn device(now: &Snapshot) -> Vec<Row> {
    let say = |bio: &super::snapshot::BioView| {
        let (first, len) = (bio.addr / SECTOR_SIZE, bio.bytes / SECTOR_SIZE);
        let what = format!("{} from sector {}", plural(len, "sector"), grouped(first));
        row(what, format!("{} {}", bio.head.rwbs(), size(bio.bytes)))
    };
    now.bios.iter().map(say).collect()
}

fn tally(now: &Snapshot) -> Vec<Row> {
    let shown = |block: u64| now.cache.cell(block).is_some();
    let all = runs_of(now.tallies.iter().map(|(at, tally)| (at, (tally.written, tally.wasted))));
    let some = all
        .into_iter()
        .filter(|(first, last, (written, _))| *written > 0 && (shown(*first) || shown(*last)));
    some.map(|(first, last, (written, wasted))| {
        let Tally { written, wasted } = Tally { written, wasted };
        let times = plural(written.into(), "time");
        let clean =
            if wasted > 0 { format!(", {wasted} of them though clean") } else { String::new() };
        row(blocks(first, last), format!("written {times}{clean}"))
    })
    .collect()
}
