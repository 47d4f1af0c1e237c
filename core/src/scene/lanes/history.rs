//! History: time on paper. One row a bio that was sent, downwards, over the bytes of the file. And
//! the same of checks of user memory before copies: what was checked and not copied then is waste.

use super::bios::cargo;
use crate::scene::canvas::{Canvas, id};
use crate::scene::cells::Cargo;
use crate::scene::course::{Course, Part, Past, What, so_far};
use crate::scene::draw::{Anchor, Id, Mark, Pattern, Shape, Style};
use crate::scene::fixed::{Fx, grouped, plural, px, size, text_width, whole};
use crate::scene::layout::{Frame, Row, Run, band};
use crate::scene::view::Lane;

const WORDS: i32 = 15;
/// Height of all rows.
const TALL: i32 = 156;
/// The same where there is one run.
const TALLEST: i32 = 224;
/// Highest row; from the next height on rows have words.
const HIGHEST: i32 = 14;
const WORDY: i32 = 11;
/// Most lines between folios of a row.
const CUTS: usize = 64;

pub(in crate::scene) fn draw(frame: &Frame<'_>, canvas: &mut Canvas, lane: Lane, top: Fx) -> Fx {
    let full = frame.full(lane);
    let most = frame.limits.courses.iter().map(|course| shown(frame, of(course, lane)).count());
    let tall = if frame.compares() { TALL } else { TALLEST };
    let grid = Grid::new(most.max().unwrap_or(0), if full { tall } else { 16 });
    let words = if full { WORDS } else { 0 };
    let height = words + grid.height();
    let row = Row { height, gap: 8, center: words + (grid.height() / 2).min(20) };
    let agree = frame.runs.windows(2).all(|two| {
        let [a, b] = [so_far_of(&two[0], lane), so_far_of(&two[1], lane)];
        a.iter().map(look).eq(b.iter().map(look))
    });
    frame.stack(canvas, lane, top, &row, agree, |canvas, run, y| {
        let data = &frame.runs[run];
        if full && !frame.view.lanes.shows(Lane::Cache) && !agree {
            frame.run_name(canvas, run, y + px(row.center));
        }
        rows(frame, canvas, (run, lane), y + px(words), &grid);
        if full {
            let (texts, vain) = words_of(data, lane);
            let style = if vain { Style::WasteWords } else { Style::Tick };
            let place = [(px(frame.x0), y + px(11), Anchor::Start)];
            canvas.label(
                id(run, "histname", key(lane, 0), 0),
                style,
                frame.edges(),
                &place,
                &texts.each_ref().map(String::as_str),
            );
        }
    })
}

/// Whether two look the same, wherever in the run they are.
fn look(past: &Past) -> (u64, u64, Option<u64>) {
    (past.start, past.end, past.reader)
}

/// What happened up to now.
pub(in crate::scene) fn so_far_of(run: &Run, lane: Lane) -> &[Past] {
    so_far(of(&run.course, lane), run.position, |past| past.at)
}

/// What a lane is about.
fn of(course: &Course, lane: Lane) -> &[Past] {
    if lane == Lane::Checks { &course.checks } else { &course.history }
}

/// Those that touch what is shown.
fn shown<'a>(frame: &'a Frame<'_>, all: &'a [Past]) -> impl Iterator<Item = &'a Past> {
    let inside = |past: &&Past| {
        let segments = frame.file.segments().iter();
        segments.into_iter().any(|segment| past.start < segment.end && segment.start < past.end)
    };
    all.iter().filter(inside)
}

/// The number of a row among those of both lanes.
const fn key(lane: Lane, nth: usize) -> u64 {
    (nth as u64) << 1 | matches!(lane, Lane::Checks) as u64
}

/// How high rows are, and how many share one.
struct Grid {
    rows: usize,
    pitch: i32,
    share: usize,
}

impl Grid {
    fn new(count: usize, tall: i32) -> Self {
        let room = tall.unsigned_abs() as usize;
        let share = count.div_ceil(room).max(1);
        let rows = count.div_ceil(share).max(1);
        Self { rows, pitch: (tall / whole(rows)).clamp(1, HIGHEST), share }
    }
    fn height(&self) -> i32 {
        self.pitch * whole(self.rows)
    }
}

fn rows(frame: &Frame<'_>, canvas: &mut Canvas, (run, lane): (usize, Lane), top: Fx, grid: &Grid) {
    let data = &frame.runs[run];
    let all: Vec<&Past> = shown(frame, so_far_of(data, lane)).collect();
    let gap = match grid.pitch {
        8.. => 3,
        4..8 => 1,
        _ => 0,
    };
    let row = |nth: usize| {
        let y = top + px(grid.pitch * whole(nth));
        (y, y + px(grid.pitch - gap))
    };
    let low = grid.pitch < 4;
    for (nth, group) in all.chunks(grid.share).enumerate() {
        let new = group.iter().any(|past| past.at == data.position);
        for past in group {
            one(frame, canvas, (run, nth), past, row(nth));
        }
        if let Some(past) = group.last().filter(|_| new && !low) {
            let (left, right) = ends(frame, past);
            let (top, bottom) = row(nth);
            let out = band(left - px(2), right + px(2), top - px(2), bottom + px(2));
            canvas.fill(id(run, "histchg", key(lane, nth), 0), Style::Changed, out);
        }
    }
    if low {
        let groups = all.chunks(grid.share);
        vain(frame, canvas, run, groups.enumerate().map(|(nth, group)| (row(nth), group)));
    }
    // Words last: they keep clear of all rows.
    for (nth, past) in all.iter().enumerate().take_while(|_| grid.pitch >= WORDY) {
        let texts = says(past);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (left, right) = ends(frame, past);
        let y = row(nth).1 - px(1);
        let places = [(right + px(8), y, Anchor::Start), (left - px(8), y, Anchor::End)];
        let mark = id(run, "histsays", key(lane, nth), 0);
        if !canvas.label(mark, Style::Stage, frame.edges(), &places, &texts) {
            plate(canvas, mark, (left, right), row(nth), &texts);
        }
    }
}

/// Words on a plate upon a row that leaves no room beside it.
fn plate(
    canvas: &mut Canvas,
    mark: Id,
    (left, right): (Fx, Fx),
    (top, bottom): (Fx, Fx),
    texts: &[&str],
) {
    let room = |text: &&&str| text_width(text, Style::Stage.size()) + px(24) < right - left;
    let Some(text) = texts.iter().find(room) else { return };
    let (x0, x1) = (left + px(8), left + px(16) + text_width(text, Style::Stage.size()));
    canvas.fill(Id { k: 1, ..mark }, Style::Ground, band(x0, x1, top, bottom));
    canvas.text(mark, Style::Stage, (left + px(12), bottom - px(1)), Anchor::Start, text);
}

/// What was checked in vain in rows that are too low for a pattern each: one shape for all rows
/// that lie under one another.
fn vain<'a>(
    frame: &Frame<'_>,
    canvas: &mut Canvas,
    run: usize,
    rows: impl Iterator<Item = ((Fx, Fx), &'a [&'a Past])>,
) {
    let position = frame.runs[run].position;
    let mut open: Vec<(Fx, Fx, Fx, Fx)> = Vec::new();
    let mut n = 0;
    for ((top, bottom), group) in rows {
        let checks = group.iter().filter(|past| matches!(past.what, What::Check { .. }));
        let from = checks.clone().map(|past| past.copied(position)).max().unwrap_or(0);
        let to = checks.map(|past| past.end).max().unwrap_or(0);
        let pieces = frame.file.pieces(from, to);
        let next = match (pieces.first(), pieces.last()) {
            (Some(first), Some(last)) => Some((first.x0 + px(3), last.x1, top, bottom)),
            (_, _) => None,
        };
        let next = next.filter(|(left, right, ..)| left < right);
        let joins = match (open.last(), next) {
            (Some((left, right, ..)), Some((x0, x1, ..))) => x0 < *right && *left < x1,
            (_, _) => open.is_empty(),
        };
        if !joins {
            shape(canvas, id(run, "histvain", n, 0), &open);
            open.clear();
            n += 1;
        }
        open.extend(next);
    }
    shape(canvas, id(run, "histvain", n, 0), &open);
}

/// A shape of rows: left edge, right edge, top, bottom.
fn shape(canvas: &mut Canvas, mark: Id, rows: &[(Fx, Fx, Fx, Fx)]) {
    if rows.is_empty() {
        return;
    }
    let down = rows.iter().flat_map(|(left, _, top, bottom)| [(*left, *top), (*left, *bottom)]);
    let up =
        rows.iter().rev().flat_map(|(_, right, top, bottom)| [(*right, *bottom), (*right, *top)]);
    let shape = Shape::Path(down.chain(up).collect());
    let pattern = Some(Pattern::Hatch);
    canvas.marks.push(Mark { id: mark, shape, style: Style::WasteFill, pattern });
}

/// Where it is drawn.
fn ends(frame: &Frame<'_>, past: &Past) -> (Fx, Fx) {
    let pieces = frame.file.pieces(past.start, past.end);
    let left = pieces.first().map_or(px(frame.x0), |piece| piece.x0);
    (left, pieces.last().map_or(left, |piece| piece.x1.max(left + px(2))))
}

fn one(
    frame: &Frame<'_>,
    canvas: &mut Canvas,
    (run, nth): (usize, usize),
    past: &Past,
    (top, bottom): (Fx, Fx),
) {
    let data = &frame.runs[run];
    let mut shape = 0;
    let part = if matches!(past.what, What::Check { .. }) { "check" } else { "hist" };
    let mut bar = |canvas: &mut Canvas, start: u64, end: u64, what: Cargo| {
        for piece in frame.file.pieces(start, end) {
            let area = band(piece.x0, piece.x1.max(piece.x0 + px(3)), top, bottom);
            canvas.reserve(area);
            cargo(canvas, id(run, part, past.at as u64, shape), what, area);
            shape += 1;
        }
    };
    match &past.what {
        What::Check { .. } => {
            let copied = past.copied(data.position);
            if bottom - top >= px(3) {
                bar(canvas, past.start.max(copied), past.end, Cargo::Waste);
            }
            bar(canvas, past.start, copied, Cargo::Asked);
        }
        What::Bio { parts, cuts, mark, vain, .. } => {
            for (start, end, what) in parts {
                bar(canvas, *start, *end, *what);
            }
            for (k, piece) in frame.file.pieces(vain.0, vain.1).iter().enumerate() {
                let area = band(piece.x0, piece.x1, top, (top + bottom) / 2);
                canvas.pattern(id(run, "histvainly", nth as u64, k as u16), Pattern::Hatch, area);
            }
            if bottom - top < px(4) {
                return;
            }
            let mut line = |part, at: u64, style, k| {
                if let Some(x) = frame.file.x(at) {
                    canvas.line(id(run, part, nth as u64, k), style, (x, top), (x, bottom));
                }
            };
            for (k, cut) in cuts.iter().enumerate().take(CUTS) {
                line("histcut", *cut, Style::Axis, k as u16);
            }
            if let Some(mark) = mark {
                line("histmark", *mark, Style::Cap, 0);
            }
            // Where the reader stood.
            if let Some(x) = past.reader.and_then(|reader| frame.file.x(reader)) {
                let area = band(x, x + px(3), top - px(1), bottom + px(1));
                canvas.fill(id(run, "histread", nth as u64, 0), Style::Op, area);
                canvas.reserve(area);
            }
        }
    }
}

/// Bytes of one cargo.
fn sum(parts: &[Part], cargo: Cargo) -> u64 {
    parts.iter().filter(|part| part.2 == cargo).map(|part| part.1 - part.0).sum()
}

fn many(touches: u64) -> String {
    format!("{} {}", grouped(touches), if touches == 1 { "touch" } else { "touches" })
}

/// What is said of one, the longest first.
pub(in crate::scene) fn says(past: &Past) -> Vec<String> {
    let bytes = size(past.end - past.start);
    match &past.what {
        What::Check { touches, .. } => {
            vec![many(*touches)]
        }
        What::Bio { orders: (least, order), parts, .. } => {
            let waste: u64 = sum(parts, Cargo::Waste);
            if waste > 0 {
                let short = format!("write {bytes}");
                return vec![format!("{short}, {} of it clean", size(waste)), short, bytes];
            }
            let reads = parts.iter().any(|part| part.2 == Cargo::Read);
            let bytes = format!("{} {bytes}", if reads { "read" } else { "write" });
            let folios = match (least, order) {
                (0, 0) => "in folios of one page".to_owned(),
                (least, order) if least == order => format!("in folios of order {order}"),
                (_, order) => format!("in folios up to order {order}"),
            };
            let short = if *order > 0 { format!("{bytes}, order {order}") } else { bytes.clone() };
            vec![format!("{bytes} {folios}"), short, bytes]
        }
    }
}

/// The lane in words, at length and in short, and whether they tell of waste.
pub(in crate::scene) fn words_of(run: &Run, lane: Lane) -> ([String; 2], bool) {
    let all = so_far_of(run, lane);
    let (mut touches, mut pages, mut bios, mut bytes) = (0u64, 0u64, 0u64, 0u64);
    let (mut again, mut clean) = (0u64, 0u64);
    for past in all {
        match &past.what {
            // What was not copied yet may still turn out to be needed.
            What::Check { copied_at, .. } if *copied_at > run.position => {}
            What::Check { touches: more, .. } => {
                touches += more;
                pages += (past.copied(run.position) - past.start).div_ceil(run.page.max(1));
            }
            What::Bio { parts, vain, .. } => {
                bios += 1;
                bytes += past.end - past.start;
                again += vain.1 - vain.0;
                clean += sum(parts, Cargo::Waste);
            }
        }
    }
    if lane == Lane::Checks {
        let (touched, copied) = (many(touches), plural(pages, "page"));
        let long = format!("{touched} of user memory for {copied} copied");
        return ([long, format!("{touched}, {copied}")], touches > pages);
    }
    let short = format!("{}, {}", plural(bios, "bio"), size(bytes));
    let long = match (again, clean) {
        (0, 0) => short.clone(),
        (0, clean) => format!("{short}: {} of it clean", size(clean)),
        (again, _) => format!("{short}: {} of it about to be overwritten", size(again)),
    };
    ([long, short], again + clean > 0)
}
