//! Page cache: one box a folio, one cell a block; where blocks are too narrow for eyes, bins.

use crate::cache::folio::FolioFlags;
use crate::scene::axis::Segment;
use crate::scene::canvas::{Area, Canvas, id};
use crate::scene::cells::Cell;
use crate::scene::draw::{Anchor, Id, Pattern, Style};
use crate::scene::fixed::{Fx, fitting, grouped, px, size};
use crate::scene::layout::{Frame, Row, Run, band, breaks};
use crate::scene::snapshot::{CacheView, CellSpan, FolioView};
use crate::scene::view::Lane;

/// Words above the boxes.
const WORDS: i32 = 15;
/// Height of a folio's box, and of a cell in it.
const BOX: i32 = 36;
const CELL: i32 = 28;
const STRIP: i32 = 16;
/// From here on cells have letters; below the other they are joined to bins.
const LETTERS: i32 = 14;
const BIN: i32 = 6;

pub(in crate::scene) fn draw(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) -> Fx {
    let full = frame.full(Lane::Cache);
    let (words, height) = if full { (WORDS, BOX) } else { (0, STRIP) };
    let row = Row { height: words + height, gap: 6, center: words + height / 2 };
    let agree = frame.agree(|a, b| same(&a.cache, &b.cache));
    frame.stack(canvas, Lane::Cache, top, &row, agree, |canvas, run, y| {
        if full && !(frame.compares() && agree) {
            let center = y + px(row.center) + px(if run == 0 { 2 } else { 0 });
            frame.run_name(canvas, run, center);
        }
        let boxes = (y + px(words), y + px(words + height));
        for segment in frame.file.segments() {
            Band { frame, run, segment, boxes, full }.draw(canvas);
        }
        breaks(canvas, "cbreak", &frame.file, boxes, run);
        if full {
            labels(frame, canvas, run, y + px(11));
        }
    })
}

/// Whether two caches look the same.
fn same(a: &CacheView, b: &CacheView) -> bool {
    let look = |folio: &FolioView| (folio.start, folio.end, folio.order, badges(folio.flags));
    a.spans == b.spans
        && a.folios.len() == b.folios.len()
        && a.folios.iter().zip(&b.folios).all(|(a, b)| look(a) == look(b))
}

fn badges(flags: FolioFlags) -> String {
    let written = flags.has(FolioFlags::DIRTY) || flags.has(FolioFlags::WRITEBACK);
    let known = [
        (FolioFlags::LOCKED, "lock"),
        (FolioFlags::REFERENCED, "ref"),
        (FolioFlags::ACTIVE, "act"),
        // One bit: of a folio that must be written first it is reclaim's.
        (FolioFlags::READAHEAD, if written { "recl" } else { "ra" }),
    ];
    let words: Vec<&str> =
        known.iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, word)| *word).collect();
    words.join(" ")
}

fn labels(frame: &Frame<'_>, canvas: &mut Canvas, run: usize, y: Fx) {
    let cache = &frame.runs[run].now.cache;
    if frame.file.unit(cache.block) < BIN {
        let mut words = Vec::new();
        for cell in Cell::ALL.into_iter().rev() {
            let n = cache.count(cell);
            if n > 0 {
                words.push(format!("{} {}", grouped(n), cell.words()));
            }
        }
        let all = words.join(" \u{b7} ");
        let first = words.first().cloned().unwrap_or_default();
        let place = [(px(frame.x0), y, Anchor::Start)];
        let texts = [all.as_str(), first.as_str()];
        canvas.label(id(run, "counts", 0, 0), Style::Tick, frame.edges(), &place, &texts);
        return;
    }
    // Folios that lie as in the first run are named there.
    let named = |folio: &&FolioView| {
        let look = |view: &FolioView| (view.start, view.end, badges(view.flags));
        let first = &frame.runs[0].now.cache.folios;
        run == 0 || !first.iter().any(|other| look(other) == look(folio))
    };
    for folio in cache.folios.iter().filter(named) {
        for piece in frame.file.pieces(folio.start, folio.end) {
            let badges = badges(folio.flags);
            let extra = if badges.is_empty() { badges } else { format!(" \u{b7} {badges}") };
            let bytes = size(folio.end - folio.start);
            let texts = [
                format!("folio of order {} \u{b7} {bytes}{extra}", folio.order),
                format!("order {} \u{b7} {bytes}{extra}", folio.order),
                format!("order {}{extra}", folio.order),
                format!("{}{extra}", folio.order),
                folio.order.to_string(),
            ];
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let place = [(piece.x0 + px(3), y, Anchor::Start)];
            let edges = (piece.x0, piece.x1);
            canvas.label(id(run, "fname", folio.start, 0), Style::Tick, edges, &place, &texts);
        }
    }
}

/// The cells of one span.
struct Band<'a> {
    frame: &'a Frame<'a>,
    run: usize,
    segment: &'a Segment,
    boxes: (Fx, Fx),
    full: bool,
}

impl Band<'_> {
    fn data(&self) -> &Run {
        &self.frame.runs[self.run]
    }
    fn x(&self, block: u64) -> Fx {
        self.segment.x(block * self.data().now.cache.block)
    }
    /// The heights of the cells.
    fn rows(&self) -> (Fx, Fx) {
        let inset = if self.full { px((BOX - CELL) / 2) } else { px(2) };
        (self.boxes.0 + inset, self.boxes.1 - inset)
    }
    fn draw(&self, canvas: &mut Canvas) {
        let cache = &self.data().now.cache;
        let first = self.segment.start / cache.block;
        let Some(span) = cache.spans.iter().find(|span| span.first == first) else { return };
        let unit = self.frame.file.unit(cache.block);
        if unit >= BIN {
            self.folios(canvas);
            for (at, cell) in span.cells.iter().enumerate() {
                self.cell(canvas, first + at as u64, *cell, unit);
            }
        } else {
            self.bins(canvas, span);
            self.folios(canvas);
        }
        self.changed(canvas, span, unit);
    }
    fn folios(&self, canvas: &mut Canvas) {
        let (top, bottom) = self.boxes;
        let segment = self.segment;
        if !self.full {
            return;
        }
        let fits = self.frame.file.least(BIN - 1);
        for folio in &self.data().now.cache.folios {
            // Of thousands most are too narrow for a box: no place is worked out for these.
            if folio.end - folio.start < fits {
                continue;
            }
            let (start, end) = (folio.start.max(segment.start), folio.end.min(segment.end));
            let area = band(segment.x(start), segment.x(end), top, bottom);
            if start < end && area.x1 - area.x0 >= px(BIN) {
                canvas.framed(id(self.run, "folio", start, 0), Style::Folio, area, 2);
            }
        }
    }

    fn cell(&self, canvas: &mut Canvas, block: u64, cell: Cell, unit: i32) {
        let (top, bottom) = self.rows();
        let gap = match unit {
            20.. => (3, 3),
            10..20 => (1, 1),
            _ => (0, 1),
        };
        let area = band(self.x(block) + px(gap.0), self.x(block + 1) - px(gap.1), top, bottom);
        paint(canvas, |k| id(self.run, "cell", block, k), cell, area);
        if !self.full || unit < LETTERS {
            return;
        }
        let style = match cell {
            Cell::Dirty | Cell::Again => Style::LetterOn,
            Cell::Failed => Style::LetterFailed,
            Cell::NotCached
            | Cell::NotUptodate
            | Cell::Clean
            | Cell::Zeroed
            | Cell::Reading
            | Cell::InFlight
            | Cell::Wasted => Style::Letter,
        };
        let y = match cell {
            Cell::NotCached | Cell::NotUptodate | Cell::Clean | Cell::Dirty => top + px(18),
            Cell::Zeroed
            | Cell::Reading
            | Cell::InFlight
            | Cell::Wasted
            | Cell::Again
            | Cell::Failed => top + px(11),
        };
        let at = ((area.x0 + area.x1) / 2, y);
        let letter = cell.letter().to_string();
        canvas.text(id(self.run, "cell", block, 9), style, at, Anchor::Middle, &letter);
    }

    fn changed(&self, canvas: &mut Canvas, span: &CellSpan, unit: i32) {
        let Some(before) = &self.data().before else { return };
        // Both are cut to the same spans.
        let old = before.cache.spans.iter().find(|old| old.first == span.first);
        let Some(old) = old.map(|old| &old.cells) else { return };
        let next = |at: usize, differs: bool| {
            let mut both = span.cells.iter().zip(old).skip(at);
            both.position(|(now, before)| (now != before) == differs).map(|behind| at + behind)
        };
        let mut at = 0;
        // The end of the last tick: what ends less than a tick behind it needs none.
        let mut ticked = px(self.segment.x0 - 4);
        while let Some(from) = next(at, true) {
            at = next(from, false).unwrap_or(span.cells.len());
            let (block, end) = (span.first + from as u64, span.first + at as u64);
            let (x0, x1) = (self.x(block), self.x(end));
            let mark = id(self.run, "cchg", block, 0);
            if unit < BIN && x1 - x0 < px(BIN) {
                if x1 > ticked + px(3) {
                    let start = x0.max(ticked);
                    ticked = start.max(x1 - px(3)) + px(3);
                    let area = band(start, ticked, self.boxes.1, self.boxes.1 + px(3));
                    canvas.fill(mark, Style::ChangedTick, area);
                }
            } else {
                let area = band(x0 + px(1), x1 - px(1), self.boxes.0 + px(1), self.boxes.1 - px(1));
                canvas.fill(mark, Style::Changed, area);
            }
        }
    }

    /// Bins of at least six pixels: the share of each state as a part of the height.
    fn bins(&self, canvas: &mut Canvas, span: &CellSpan) {
        let wide = (self.segment.x1 - self.segment.x0).max(BIN);
        let most = fitting(wide, BIN);
        let per = span.cells.len().div_ceil(most).max(1);
        let bins: Vec<&[Cell]> = span.cells.chunks(per).collect();
        let mut at = 0;
        while at < bins.len() {
            // Bins of one and the same state are one mark.
            let rest = &span.cells[at * per..];
            let other = rest.iter().position(|cell| *cell != rest[0]);
            let run = other.map_or(bins.len() - at, |alike| alike / per);
            let end = at + run.max(1);
            let first = span.first + (at * per) as u64;
            let last = (span.first + (end * per) as u64).min(span.first + span.cells.len() as u64);
            self.bin(canvas, first, bins[at], (self.x(first), self.x(last)));
            at = end;
        }
    }
    fn bin(&self, canvas: &mut Canvas, first: u64, cells: &[Cell], edges: (Fx, Fx)) {
        let (top, bottom) = self.rows();
        let gap = if edges.1 - edges.0 > px(BIN) { px(1) } else { Fx::ZERO };
        let (left, right) = (edges.0, edges.1 - gap);
        let all = cells.len() as u64;
        let mut counts = [0; Cell::ALL.len()];
        for cell in cells {
            counts[*cell as usize] += 1;
        }
        let mut y = bottom;
        for (k, state) in Cell::ALL.into_iter().rev().enumerate() {
            let n = counts[state as usize];
            if n == 0 {
                continue;
            }
            let up = if n == all { bottom - top } else { (bottom - top).scale(n, all).max(px(2)) };
            let area = band(left, right, top.max(y - up), y);
            let mark = id(self.run, "bin", first, k as u16 * 2);
            flat(canvas, mark, state, area);
            y = area.y0;
        }
        let tick = band(left, right, self.boxes.0, self.boxes.0 + px(3));
        if cells.contains(&Cell::Failed) {
            canvas.fill(id(self.run, "btick", first, 0), Style::ErrorTick, tick);
        } else if cells.contains(&Cell::Wasted) {
            canvas.fill(id(self.run, "btick", first, 0), Style::WasteTick, tick);
        }
    }
}

/// The shape of a state in one cell, as legends show it too.
pub(in crate::scene) fn paint(
    canvas: &mut Canvas,
    mark: impl Fn(u16) -> Id,
    cell: Cell,
    area: Area,
) {
    let Area { x0, y0, x1, y1 } = area;
    let middle = y0 + (y1 - y0) / 2;
    let (upper, lower) = (band(x0, x1, y0, middle - px(1)), band(x0, x1, middle, y1));
    match cell {
        Cell::NotCached | Cell::NotUptodate => canvas.framed(mark(0), Style::Empty, area, 0),
        Cell::Clean => canvas.framed(mark(0), Style::Clean, area, 0),
        Cell::Dirty => canvas.fill(mark(0), Style::Asked, area),
        Cell::Again => {
            canvas.fill(mark(0), Style::Asked, upper);
            canvas.fill(mark(1), Style::Asked, band(x0, x1, middle + px(1), y1));
        }
        Cell::InFlight => {
            canvas.framed(mark(0), Style::Clean, area, 0);
            canvas.fill(mark(1), Style::Asked, lower);
        }
        Cell::Wasted | Cell::Reading | Cell::Zeroed => {
            let pattern = match cell {
                Cell::Reading => Pattern::Dots,
                Cell::Zeroed => Pattern::Rules,
                Cell::NotCached
                | Cell::NotUptodate
                | Cell::Clean
                | Cell::Dirty
                | Cell::InFlight
                | Cell::Again
                | Cell::Wasted
                | Cell::Failed => Pattern::Hatch,
            };
            canvas.framed(mark(0), Style::Clean, area, 0);
            canvas.pattern(mark(1), pattern, lower);
        }
        Cell::Failed => {
            canvas.fill(mark(0), Style::Failed, area);
            canvas.line(mark(1), Style::Slash, (x0, y1), (x1, y0));
        }
    }
}

/// The colour and pattern of a state where there is no room for its shape.
fn flat(canvas: &mut Canvas, mark: Id, cell: Cell, area: Area) {
    match cell {
        Cell::NotCached | Cell::NotUptodate => canvas.framed(mark, Style::Empty, area, 0),
        Cell::Clean => canvas.fill(mark, Style::Clean, area),
        Cell::Dirty | Cell::InFlight | Cell::Again => canvas.fill(mark, Style::Asked, area),
        Cell::Wasted => canvas.pattern(mark, Pattern::Hatch, area),
        Cell::Reading => canvas.pattern(mark, Pattern::Dots, area),
        Cell::Zeroed => canvas.pattern(mark, Pattern::Rules, area),
        Cell::Failed => canvas.fill(mark, Style::Failed, area),
    }
}
