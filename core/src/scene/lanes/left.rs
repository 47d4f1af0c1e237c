//! If the power went now: the file as a remount would find it, as long as its durable size, and
//! which of its bytes nobody wrote.

use super::cache::paint;
use crate::scene::canvas::{Canvas, id};
use crate::scene::cells::Cell;
use crate::scene::draw::{Anchor, Pattern, Style};
use crate::scene::fixed::{Fx, grouped, px};
use crate::scene::layout::{Frame, Row, Run, band};
use crate::scene::view::Lane;
use crate::trace::survey::{Fate, FileFate};

const WORDS: i32 = 15;
const BAR: i32 = 22;

/// What a remount reads somewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::scene) enum Found {
    /// What is on the device for sure, whatever memory holds by now.
    Durable,
    /// The bytes before a change or those after it.
    Either,
    /// A hole.
    Hole,
    /// Zeros that nobody wrote.
    Padding,
    /// An array no longer gives what was there.
    Damaged,
}

impl Found {
    const fn cell(self) -> Cell {
        match self {
            Self::Durable => Cell::Clean,
            Self::Either => Cell::InFlight,
            Self::Hole => Cell::NotUptodate,
            Self::Padding => Cell::Zeroed,
            Self::Damaged => Cell::Failed,
        }
    }
    /// In words, for tables.
    pub(in crate::scene) const fn words(self) -> &'static str {
        match self {
            Self::Durable => "as on the device",
            Self::Either => "old or new",
            Self::Hole => "a hole",
            Self::Padding => "zeros that nobody wrote",
            Self::Damaged => "damaged, though nobody wrote it",
        }
    }
}

/// Bytes of a file that fare alike: from, to, and how.
type Stretch = (u64, u64, Found);

pub(in crate::scene) fn draw(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) -> Fx {
    let full = frame.full(Lane::Left);
    let (words_height, bar) = if full { (WORDS, BAR) } else { (0, 16) };
    let row = Row { height: words_height + bar, gap: 10, center: words_height + bar / 2 };
    let agree = frame.runs.windows(2).all(|two| two[0].left == two[1].left);
    frame.stack(canvas, Lane::Left, top, &row, agree, |canvas, run, y| {
        let bars = (y + px(words_height), y + px(words_height + bar));
        draw_bar(frame, canvas, run, bars);
        if full {
            let data = &frame.runs[run];
            let wrong = has_zeros(data) || damaged(data) > 0;
            let style = if wrong { Style::WasteWords } else { Style::Tick };
            let place = [(px(frame.x0), y + px(11), Anchor::Start)];
            let texts = [words(data), short(data)];
            let texts = texts.each_ref().map(String::as_str);
            canvas.label(id(run, "leftname", 0, 0), style, frame.edges(), &place, &texts);
        }
    })
}

fn draw_bar(frame: &Frame<'_>, canvas: &mut Canvas, run: usize, (top, bottom): (Fx, Fx)) {
    let data = &frame.runs[run];
    for (at, segment) in frame.file.segments().iter().enumerate() {
        let (from, to) = ((px(segment.x0), bottom), (px(segment.x1), bottom));
        canvas.line(id(run, "leftbase", at as u64, 0), Style::Hair, from, to);
    }
    let Some(left) = &data.left else { return };
    for (start, end, found) in stretches(left, block(data)) {
        for (nth, piece) in frame.file.pieces(start, end).into_iter().enumerate() {
            let area = band(piece.x0, piece.x1, top, bottom);
            let key = start * 8 + nth as u64;
            // Zeros are the point here: they fill their stretch.
            if found == Found::Padding {
                canvas.pattern(id(run, "left", key, 0), Pattern::Rules, area);
            } else {
                paint(canvas, |k| id(run, "left", key, k), found.cell(), area);
            }
        }
    }
    if let Some(x) = frame.file.x(left.size.get()) {
        let flag = ((x, top - px(2)), (x, bottom));
        canvas.line(id(run, "lefteof", 0, 0), Style::Changed, flag.0, flag.1);
    }
}

/// Bytes of a block.
pub(in crate::scene) fn block(run: &Run) -> u64 {
    run.now.cache.block
}

/// What would be left, as far as the durable size, neighbours that fare alike as one.
pub(in crate::scene) fn stretches(left: &FileFate, block: u64) -> Vec<Stretch> {
    let size = left.size.get();
    let mut all: Vec<Stretch> = Vec::new();
    let mut add = |(start, end, found): Stretch| {
        if start >= end {
            return;
        }
        match all.last_mut() {
            Some(last) if (last.1, last.2) == (start, found) => last.1 = end,
            Some(_) | None => all.push((start, end, found)),
        }
    };
    for (nth, of) in (0..).zip(&left.blocks) {
        let (start, end) = (nth * block, ((nth + 1) * block).min(size));
        let kept = of.padding.map_or(end, |pos| pos.get().clamp(start, end.max(start)));
        let found = match of.fate {
            _ if of.damaged => Found::Damaged,
            Fate::Durable | Fate::Memory => Found::Durable,
            Fate::Volatile | Fate::InFlight => Found::Either,
            Fate::Nothing => Found::Hole,
        };
        add((start, kept, found));
        add((kept, end, Found::Padding));
    }
    all
}

/// Bytes that nobody wrote.
fn padding(left: &FileFate, block: u64) -> u64 {
    let all = stretches(left, block).into_iter();
    let zeros = all.filter(|(.., found)| *found == Found::Padding);
    zeros.map(|(start, end, _)| end - start).sum()
}

/// Whether there are any.
pub(in crate::scene) fn has_zeros(run: &Run) -> bool {
    run.left.as_ref().is_some_and(|left| padding(left, block(run)) > 0)
}

/// Bytes that an array no longer gives as they were.
fn damaged(run: &Run) -> u64 {
    let Some(left) = &run.left else { return 0 };
    let all = stretches(left, block(run)).into_iter();
    all.filter(|(.., found)| *found == Found::Damaged).map(|(start, end, _)| end - start).sum()
}

/// How long the file would be, and how much of it nobody wrote.
pub(in crate::scene) fn words(run: &Run) -> String {
    let Some(left) = &run.left else { return "no file".to_owned() };
    let size = left.size.get();
    match (size, padding(left, block(run))) {
        (0, _) => "an empty file".to_owned(),
        (_, 0) if damaged(run) > 0 => {
            let (size, bytes) = (grouped(size), grouped(damaged(run)));
            format!("{size} bytes, of which {bytes} are damaged, though nobody wrote them")
        }
        (_, 0) => format!("{} bytes", grouped(size)),
        (_, zeros) => {
            let (size, zeros) = (grouped(size), grouped(zeros));
            format!("{size} bytes, of which {zeros} are zeros that nobody wrote")
        }
    }
}

/// The same in few words.
fn short(run: &Run) -> String {
    let Some(left) = &run.left else { return "no file".to_owned() };
    let (size, zeros) = (left.size.get(), padding(left, block(run)));
    if damaged(run) > 0 {
        return format!("{} bytes, {} damaged", grouped(size), grouped(damaged(run)));
    }
    if zeros == 0 {
        return format!("{} bytes", grouped(size));
    }
    format!("{} bytes, {} zeros", grouped(size), grouped(zeros))
}
