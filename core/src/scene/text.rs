//! The picture in at most 72 columns of plain text: the same lanes, states and letters.
//!
//! It is made from the same state as the draw list, not from the draw list: in text a lane is a row
//! of letters, and what has no room in the row stands in words under it.

use super::Side;
use super::axis::Span;
use super::caption::{evidence, figures};
use super::cells::{Cargo, Cell};
use super::fixed::{plural, position, size};
use super::lanes::bios::words;
use super::lanes::left::words as left_words;
use super::lanes::requests::words as request_words;
use super::layout::Run;
use super::limits::Limits;
use super::members::{DiskView, StripeView};
use super::snapshot::{CacheView, FolioView, RequestView, Snapshot, USES};
use super::text_course;
use super::view::{Lane, View};
use crate::block::bio::BioState;
use crate::trace::model::ExtentState;
use crate::units::SECTOR_SIZE;

/// Widest line.
pub const COLUMNS: usize = 72;
/// Columns of a lane's name and a run's letter.
const GUTTER: usize = 10;
/// Columns of blocks.
const ROOM: usize = COLUMNS - GUTTER;
/// Most bios that are put in words.
const MAX_BIOS: usize = 3;

/// Where the blocks stand in a row of letters.
pub(super) struct Grid {
    /// Bytes behind one letter.
    unit: u64,
    /// A bar stands before each multiple of it.
    group: u64,
    pub(super) spans: Vec<Span>,
}

impl Grid {
    fn new(runs: &[Run], sides: &[Side<'_>], limits: &Limits) -> Self {
        let block = runs.iter().map(|run| run.now.cache.block).min().unwrap_or(1).max(1);
        let page = sides.iter().map(|side| side.timeline.header().geometry.page_size().get());
        let page = page.max().unwrap_or(block);
        let mut grid =
            Self { unit: block, group: page.max(block * 16), spans: limits.spans.clone() };
        while grid.columns() > ROOM && grid.unit < 1 << 60 {
            grid.unit *= 2;
            grid.group = grid.group.max(grid.unit * 8);
        }
        grid
    }
    fn columns(&self) -> usize {
        self.row(|_, _| ' ').chars().count()
    }
    /// A row: a letter for each stretch of bytes, with bars between groups and `//` where bytes are
    /// left out.
    pub(super) fn row(&self, letter: impl Fn(u64, u64) -> char) -> String {
        let mut out = String::new();
        for (n, (start, end)) in self.spans.iter().enumerate() {
            if n > 0 {
                out.push_str("//");
            }
            let mut at = *start;
            while at < *end {
                if at > *start && at.is_multiple_of(self.group) {
                    out.push('|');
                }
                let next = (at + self.unit).min(*end);
                out.push(letter(at, next));
                at = next;
                if out.len() > COLUMNS * 2 {
                    return out;
                }
            }
        }
        out
    }
    /// Labels at the starts of groups, where they fit.
    fn ruler(&self) -> String {
        let mut out = String::new();
        let mut column = 0;
        for (n, (start, end)) in self.spans.iter().enumerate() {
            column += if n > 0 { 2 } else { 0 };
            let mut at = *start;
            while at < *end {
                let first = at == *start;
                let bar = !first && at.is_multiple_of(self.group);
                column += usize::from(bar);
                let text = position(at);
                let free = out.is_empty() || column > out.len();
                if (first || bar) && free && column + text.len() <= ROOM {
                    out = format!("{out:column$}{text}");
                }
                column += 1;
                at = (at + self.unit).min(*end);
            }
        }
        out
    }
}

/// The runs in text, one under another.
pub fn render_text(sides: &[Side<'_>], view: &View) -> String {
    let limits = &*view.limits_of(sides);
    let runs = Run::all(sides, view, limits);
    let grid = Grid::new(&runs, sides, limits);
    let mut page = Page { lines: Vec::new(), compare: sides.len() > 1 };
    head(&mut page, sides, view);
    for lane in view.shown(limits) {
        match lane {
            Lane::File => file(&mut page, &runs, &grid),
            Lane::Cache => {
                page.lane(&runs, "cache", |run| {
                    vec![grid.row(|at, end| notable(&run.now.cache, at, end).letter())]
                });
                if runs.iter().any(used) {
                    page.lane(&runs, "use", |run| vec![grid.row(|at, end| uses(run, at, end))]);
                }
            }
            Lane::Mapping => page.lane(&runs, "mapping", |run| mapping(run, &grid)),
            Lane::Bios => page.lane(&runs, "bios", |run| bios(run, &grid)),
            Lane::Requests => page.lane(&runs, "request", |run| requests(&run.now)),
            Lane::Device => page.lane(&runs, "device", |run| device(&run.now)),
            Lane::Members => page.lane(&runs, "members", members),
            Lane::Tally => {
                page.lane(&runs, "times", |run| vec![grid.row(|at, end| tally(run, at, end))]);
            }
            Lane::Left => page.lane(&runs, "left", |run| fold(&left_words(run))),
            Lane::Marks => page.lane(&runs, "marks", |run| text_course::marks(run, &grid)),
            Lane::Order => page.lane(&runs, "order", text_course::sent),
            Lane::Returns => page.lane(&runs, "read", |run| text_course::returns(run, &grid)),
            Lane::History | Lane::Checks => {
                let name = if lane == Lane::Checks { "checks" } else { "history" };
                page.lane(&runs, name, |run| text_course::history(run, lane, &grid));
            }
        }
    }
    if view.caption {
        legend(&mut page, &runs, &grid);
        foot(&mut page, sides);
    }
    let mut out = String::new();
    for line in &page.lines {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Lines in the making.
struct Page {
    lines: Vec<String>,
    compare: bool,
}

impl Page {
    /// A line, cut into several where it is too long.
    fn say(&mut self, indent: usize, text: &str) {
        let mut line = " ".repeat(indent);
        let mut fresh = true;
        for word in text.split(' ') {
            let wide = line.chars().count() + word.chars().count() + usize::from(!fresh);
            if !fresh && wide > COLUMNS {
                self.lines.push(core::mem::replace(&mut line, " ".repeat(indent)));
                fresh = true;
            }
            if !fresh {
                line.push(' ');
            }
            line.extend(word.chars().take(COLUMNS - indent));
            fresh = false;
        }
        self.lines.push(line);
    }
    /// A lane: its rows for each run, or once where all agree.
    fn lane(&mut self, runs: &[Run], name: &str, rows: impl Fn(&Run) -> Vec<String>) {
        let all: Vec<Vec<String>> = runs.iter().map(rows).collect();
        let agree = all.windows(2).all(|two| two[0] == two[1]);
        for (at, rows) in all.iter().enumerate().take(if agree { 1 } else { all.len() }) {
            let label = match (self.compare, agree) {
                (false, _) => "",
                (true, true) => "=",
                (true, false) => runs[at].label.as_str(),
            };
            for (n, row) in rows.iter().enumerate() {
                let name = if at == 0 && n == 0 { name } else { "" };
                let label = if n == 0 { label } else { "" };
                self.lines.push(format!("{name:7} {label:1} {row}"));
            }
        }
    }
}

fn head(page: &mut Page, sides: &[Side<'_>], view: &View) {
    if let Some(title) = &view.title {
        page.say(0, title);
        page.lines.push(String::new());
    }
    for side in sides {
        let (at, all) = (side.timeline.position(), side.timeline.len());
        let label = if page.compare { format!("{} ", side.label) } else { String::new() };
        page.say(0, &format!("{label}{}, step {at} of {all}", side.name));
        if let Some(step) = side.timeline.current() {
            page.say(2, &format!("{}: {}", step.rule.function(), step.rule.sentence(step.args)));
        }
    }
    page.lines.push(String::new());
}

fn file(page: &mut Page, runs: &[Run], grid: &Grid) {
    page.lines.push(format!("{:GUTTER$}{}", "file", grid.ruler()));
    page.lane(runs, "", |run| {
        let Some((_, op)) = run.now.op.filter(|(_, op)| !op.is_empty()) else { return Vec::new() };
        let start = op.pos().get();
        let end = start.saturating_add(op.len().get());
        let mark = |at, next| if at < end && start < next { 'v' } else { ' ' };
        let row = grid.row(mark).replace(['|', '/'], " ");
        let name = format!(" {} {}", op.kind().name(), size(op.len().get()));
        let row = row.trim_end();
        vec![if row.len() + name.len() <= ROOM { format!("{row}{name}") } else { row.to_owned() }]
    });
}

/// The most notable state of some bytes.
fn notable(cache: &CacheView, start: u64, end: u64) -> Cell {
    let (first, last) = (start / cache.block, end.div_ceil(cache.block));
    (first..last).filter_map(|block| cache.cell(block)).max().unwrap_or(Cell::NotCached)
}

/// Whether any folio was used since somebody looked.
fn used(run: &Run) -> bool {
    run.now.cache.folios.iter().any(|folio| folio.uses() > 0)
}

/// How much the folios of some bytes were used.
fn uses(run: &Run, start: u64, end: u64) -> char {
    let folios = run.now.cache.folios.iter();
    let here = folios.filter(|folio| folio.start < end && start < folio.end);
    match here.map(FolioView::uses).max() {
        Some(0) | None => ' ',
        Some(level) => char::from(b'0' + level),
    }
}

fn mapping(run: &Run, grid: &Grid) -> Vec<String> {
    let letter = |at, end| {
        let found = run.now.extents.iter().find(|extent| extent.start < end && at < extent.end);
        found.map_or(' ', |extent| match extent.kind {
            ExtentState::Hole => ' ',
            ExtentState::Delalloc => '?',
            ExtentState::Mapped => 'M',
            ExtentState::Unwritten => 'U',
            ExtentState::Inline => 'I',
        })
    };
    let copy = |at, end| {
        let found = run.now.cow.iter().find(|extent| extent.start < end && at < extent.end);
        let shared = run.now.shared.iter().any(|(start, stop)| *start < end && at < *stop);
        match found {
            Some(_) => 'C',
            None if shared => 's',
            None => ' ',
        }
    };
    let mut rows = vec![grid.row(letter)];
    if !(run.now.cow.is_empty() && run.now.shared.is_empty()) {
        rows.push(grid.row(copy));
    }
    rows
}

fn cargo(run: &Run, start: u64, end: u64) -> char {
    let pieces = run.now.bios.iter().flat_map(|bio| &bio.pieces);
    let here = pieces.filter(|piece| piece.start < end && start < piece.end);
    here.map(|piece| piece.cargo)
        .max_by_key(|cargo| match cargo {
            Cargo::Done => 0,
            Cargo::Read => 1,
            Cargo::Asked => 2,
            Cargo::Waste => 3,
            Cargo::Failed => 4,
        })
        .map_or(' ', Cargo::letter)
}

fn bios(run: &Run, grid: &Grid) -> Vec<String> {
    let all = &run.now.bios;
    let mut rows = vec![grid.row(|at, end| cargo(run, at, end))];
    for bio in all.iter().take(MAX_BIOS) {
        let text = words(bio, run.now.cache.block).into_iter().next().unwrap_or_default();
        rows.push(format!(" {}", text.replace('\u{b7}', "-")));
    }
    if all.len() > MAX_BIOS {
        rows.push(format!(" and {} more", all.len() - MAX_BIOS));
    }
    rows
}

fn requests(now: &Snapshot) -> Vec<String> {
    let say = |request: &RequestView| {
        let (first, len) = (request.addr / SECTOR_SIZE, request.bytes / SECTOR_SIZE);
        format!("{} sector {first} + {len}: {}", request.head.rwbs(), request_words(request))
    };
    let mut rows: Vec<String> = now.requests.iter().take(MAX_BIOS).map(say).collect();
    if now.requests.len() > MAX_BIOS {
        rows.push(format!("and {} more", now.requests.len() - MAX_BIOS));
    }
    if rows.is_empty() {
        rows.push("none".to_owned());
    }
    rows
}

fn device(now: &Snapshot) -> Vec<String> {
    let mut rows = Vec::new();
    for bio in now.bios.iter().take(MAX_BIOS) {
        let state = match bio.state {
            BioState::Building => "is built for",
            BioState::InFlight => "goes to",
            BioState::Done => "is done at",
            BioState::Failed => "failed at",
        };
        let (first, len) = (bio.addr / SECTOR_SIZE, bio.bytes / SECTOR_SIZE);
        rows.push(format!("{} {state} sector {first} + {len}", bio.head.rwbs()));
    }
    if rows.is_empty() {
        rows.push("idle".to_owned());
    }
    rows
}

/// A row of letters a disk, one letter a chunk; then the stripes that were read for, in words.
fn members(run: &Run) -> Vec<String> {
    let Some(array) = &run.array else { return vec!["idle".to_owned()] };
    let room = ROOM - 20;
    let disk = |(nth, disk): (usize, &DiskView)| {
        let letter = |stripe: &StripeView| match stripe.chunks.get(nth) {
            Some(chunk) if chunk.written + chunk.read > 0 => chunk.letter(stripe.whole),
            Some(_) | None if disk.has_failed() => '!',
            Some(_) if array.held(nth, stripe.number).0 < array.rows => '-',
            Some(chunk) => chunk.letter(stripe.whole),
            None => '!',
        };
        let letters: String = array.stripes.iter().take(room).map(letter).collect();
        let words = disk.words().into_iter().next();
        let words = words.map_or(String::new(), |words| format!(" {words}"));
        format!("{nth:2} {letters}{words}")
    };
    let mut rows: Vec<String> = array.disks.iter().enumerate().map(disk).collect();
    let told: Vec<&StripeView> = array.stripes.iter().filter(|one| one.is_notable()).collect();
    for stripe in told.iter().take(MAX_BIOS) {
        for line in fold(&format!("stripe {}: {}", stripe.number, stripe.words(array.rows))) {
            rows.push(format!("   {line}"));
        }
    }
    if told.len() > MAX_BIOS {
        rows.push(format!("   and {} more of these", told.len() - MAX_BIOS));
    }
    let has = |letter: char| rows.iter().take(array.disks.len()).any(|row| row.contains(letter));
    let lost = if has('!') { ", ! lost or wrong" } else { "" };
    let empty = has('-');
    rows.push(format!("   W data, P Q parity, R read, Y read in vain{lost}"));
    rows.extend(empty.then(|| "   - not filled yet".to_owned()));
    rows
}

/// Lines that have room beside the gutter.
pub(super) fn fold(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() + 4 <= ROOM => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}

fn tally(run: &Run, start: u64, end: u64) -> char {
    let block = run.now.cache.block;
    let some = run.now.tallies.range(start / block..end.div_ceil(block));
    match some.map(|(_, tally)| tally.written).max().unwrap_or(0) {
        0 => '.',
        n @ 1..=9 => char::from(b'0' + n as u8),
        _ => '+',
    }
}

fn legend(page: &mut Page, runs: &[Run], grid: &Grid) {
    let shown = |cell: &Cell| runs.iter().any(|run| run.now.cache.count(*cell) > 0);
    let each = Cell::ALL.into_iter().rev().filter(shown);
    let words: Vec<String> =
        each.map(|cell| format!("{} {}", cell.letter(), cell.words())).collect();
    page.lines.push(String::new());
    page.say(0, &words.join(", "));
    if runs.iter().any(used) {
        page.say(0, &format!("use: 1 {}, 2 {}, 3 {}", USES[0], USES[1], USES[2]));
    }
    let block = runs.iter().map(|run| run.now.cache.block).min().unwrap_or(1).max(1);
    let blocks = grid.unit / block;
    if blocks > 1 {
        page.say(0, &format!("one letter = {}: the most notable state", plural(blocks, "block")));
    }
}

fn foot(page: &mut Page, sides: &[Side<'_>]) {
    page.lines.push(String::new());
    for side in sides {
        let label = if page.compare { format!("{}: ", side.label) } else { String::new() };
        let text = figures(side).replace(" \u{b7} ", ", ").replace('\u{d7}', "x");
        page.say(0, &format!("{label}{text}"));
    }
    for side in sides {
        let label = if page.compare { format!("{}: ", side.label) } else { String::new() };
        let text = evidence(side.timeline.header()).replace(" \u{b7} ", ", ");
        page.say(0, &format!("{label}{text}"));
    }
}
