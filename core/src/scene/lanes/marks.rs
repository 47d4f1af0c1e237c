//! Marks of use: one column a folio with a fence, the moment when others could see it. What marked
//! it before is above, atomic operations after it are below, one square each; hatched is the one
//! that a plain store before would have saved.

use crate::scene::canvas::{Canvas, id};
use crate::scene::course::{Mark, MarkKind, so_far};
use crate::scene::draw::{Anchor, Pattern, Style};
use crate::scene::fixed::{Fx, grouped, plural, px, whole};
use crate::scene::layout::{Frame, Row, Run, band};
use crate::scene::view::Lane;

const WORDS: i32 = 15;
/// A square with its gap, and the room of the fence.
const SQUARE: i32 = 12;
const STEP: i32 = 14;
const FENCE: i32 = 6;
/// Most squares of a column.
const MOST: usize = 6;

pub(in crate::scene) fn draw(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) -> Fx {
    let full = frame.full(Lane::Marks);
    let words = if full { WORDS } else { 0 };
    let deepest = frame.limits.courses.iter().map(|course| deepest(&course.marks)).max();
    let below = whole(deepest.unwrap_or(1).clamp(1, MOST));
    let rows = if full { STEP + FENCE + STEP * below } else { 16 };
    let row = Row { height: words + rows, gap: 8, center: words + STEP + FENCE / 2 };
    let agree = frame.runs.windows(2).all(|two| {
        let [a, b] = [so_far_of(&two[0]), so_far_of(&two[1])];
        a.iter()
            .map(|mark| (mark.start, mark.kind))
            .eq(b.iter().map(|mark| (mark.start, mark.kind)))
    });
    frame.stack(canvas, Lane::Marks, top, &row, agree, |canvas, run, y| {
        let data = &frame.runs[run];
        if full {
            let (texts, vain) = words_of(data);
            let style = if vain { Style::WasteWords } else { Style::Tick };
            let place = [(px(frame.x0), y + px(11), Anchor::Start)];
            canvas.label(
                id(run, "markname", 0, 0),
                style,
                frame.edges(),
                &place,
                &texts.each_ref().map(String::as_str),
            );
            let place = [(px(frame.x1), y + px(11), Anchor::End)];
            let texts = ["above the line: before others can see the page; below: after"];
            canvas.label(id(run, "markhelp", 0, 0), Style::Tick, frame.edges(), &place, &texts);
            if !frame.view.lanes.shows(Lane::Cache) && !agree {
                frame.run_name(canvas, run, y + px(row.center));
            }
        }
        columns(frame, canvas, run, y + px(words));
    })
}

/// Marks up to now.
pub(in crate::scene) fn so_far_of(run: &Run) -> &[Mark] {
    so_far(&run.course.marks, run.position, |mark| mark.at)
}

/// The folios with their marks, ascending: plain ones, atomic ones, avoidable ones.
pub(in crate::scene) fn folios(all: &[Mark]) -> Vec<(u64, Column)> {
    let mut found: Vec<(u64, Column)> = Vec::new();
    for mark in all {
        let at = found.binary_search_by_key(&mark.start, |one| one.0).unwrap_or_else(|at| {
            found.insert(at, (mark.start, Column::default()));
            at
        });
        let column = &mut found[at].1;
        match mark.kind {
            MarkKind::Published => column.published = true,
            MarkKind::Plain => column.plain += 1,
            MarkKind::Avoidable => {
                column.avoidable += 1;
                column.atomic += 1;
            }
            MarkKind::Atomic => column.atomic += 1,
        }
    }
    found
}

/// What became of a folio's marks.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::scene) struct Column {
    pub(in crate::scene) published: bool,
    pub(in crate::scene) plain: usize,
    pub(in crate::scene) atomic: usize,
    pub(in crate::scene) avoidable: usize,
}

fn deepest(all: &[Mark]) -> usize {
    folios(all).into_iter().map(|(_, column)| column.atomic).max().unwrap_or(0)
}

fn columns(frame: &Frame<'_>, canvas: &mut Canvas, run: usize, top: Fx) {
    let data = &frame.runs[run];
    let fence = top + px(STEP + FENCE / 2 - 1);
    for (start, column) in folios(so_far_of(data)) {
        for piece in frame.file.pieces(start, start.saturating_add(data.page)).into_iter().take(1) {
            let (left, right) = (piece.x0 + px(1), piece.x1 - px(1));
            let wide = (right - left).floor().clamp(2, SQUARE * 2);
            let middle = (left + right) / 2;
            let square =
                |y: Fx| band(middle - px(wide) / 2, middle + px(wide) / 2, y, y + px(SQUARE));
            if column.published {
                let line = band(left, right, fence, fence + px(2));
                canvas.fill(id(run, "fence", start, 0), Style::Op, line);
            }
            if column.plain > 0 {
                canvas.framed(id(run, "plain", start, 0), Style::Clean, square(top), 0);
            }
            let below = top + px(STEP + FENCE);
            for nth in 0..column.atomic.min(MOST) {
                let area = square(below + px(STEP * whole(nth)));
                let mark = id(run, "atomic", start, nth as u16);
                if nth < column.avoidable {
                    canvas.pattern(mark, Pattern::Hatch, area);
                } else {
                    canvas.fill(mark, Style::Asked, area);
                }
            }
        }
    }
}

/// The lane in words, at length and in short, and whether they tell of waste.
pub(in crate::scene) fn words_of(run: &Run) -> ([String; 2], bool) {
    let all = folios(so_far_of(run));
    let sum = |of: fn(&Column) -> usize| all.iter().map(|(_, column)| of(column)).sum::<usize>();
    let [plain, atomic, vain] =
        [sum(|one| one.plain), sum(|one| one.atomic), sum(|one| one.avoidable)];
    let count = |n: usize, what| plural(n as u64, what);
    let words = (count(plain, "plain store"), count(atomic, "atomic operation"));
    let mut texts = [format!("{}, {}", words.0, words.1), format!("{atomic} atomic")];
    if vain > 0 {
        let vain = grouped(vain as u64);
        texts = [
            format!("{}, {vain} of them avoidable", texts[0]),
            format!("{}, {vain} avoidable", texts[1]),
        ];
    }
    (texts, vain > 0)
}

/// What is said of a folio.
pub(in crate::scene) fn says(column: &Column) -> String {
    let mut said = Vec::new();
    if column.plain > 0 {
        said.push("marked by a plain store before it was seen".to_owned());
    }
    if column.atomic > 0 {
        said.push(plural(column.atomic as u64, "atomic operation"));
    }
    if column.avoidable > 0 {
        said.push("one of them avoidable".to_owned());
    }
    if said.is_empty() { "never used".to_owned() } else { said.join(", ") }
}
