//! Sent in order: what went to the device, one row each, downwards, on the sector axis. A line
//! leads from the end of one to the start of the next; where it goes back it is marked.

use super::bios::cargo;
use crate::block::bio::BioOp;
use crate::scene::canvas::{Canvas, id};
use crate::scene::cells::Cargo;
use crate::scene::course::{Own, Sent, so_far};
use crate::scene::draw::{Anchor, Shape, Style};
use crate::scene::fixed::{Fx, HALF, grouped, plural, px, whole};
use crate::scene::layout::{Frame, Row, Run, band};
use crate::scene::view::Lane;
use crate::units::SECTOR_SIZE;

const WORDS: i32 = 15;
const TALL: i32 = 140;
/// The same where there is one run.
const TALLEST: i32 = 224;
/// Highest row; from the next height on rows have words.
const HIGHEST: i32 = 22;
const WORDY: i32 = 12;

pub(in crate::scene) fn draw(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) -> Fx {
    let full = frame.full(Lane::Order);
    let most = frame.limits.courses.iter().map(|course| course.sent.len()).max();
    let most = whole(most.unwrap_or(0)).max(1);
    let tall = if frame.compares() { TALL } else { TALLEST };
    let tall = if full { tall } else { 16 };
    let pitch = (tall / most).clamp(1, HIGHEST);
    let words = if full { WORDS } else { 0 };
    let height = words + (pitch * most).min(tall);
    let row = Row { height, gap: 8, center: words + (height - words).min(24) / 2 };
    let agree = frame.runs.windows(2).all(|two| {
        let [a, b] = [so_far_of(&two[0]), so_far_of(&two[1])];
        a.iter().map(look).eq(b.iter().map(look))
    });
    frame.stack(canvas, Lane::Order, top, &row, agree, |canvas, run, y| {
        let data = &frame.runs[run];
        if full && !frame.view.lanes.shows(Lane::Cache) && !agree {
            frame.run_name(canvas, run, y + px(row.center));
        }
        // Where there is no room for all, the last ones are shown.
        let all = so_far_of(data);
        let room = (tall / pitch).unsigned_abs() as usize;
        let all = &all[all.len().saturating_sub(room)..];
        rows(frame, canvas, run, (y + px(words), pitch), all);
        if full {
            let (texts, back) = words_of(data);
            let style = if back { Style::WasteWords } else { Style::Tick };
            let place = [(px(frame.x0), y + px(11), Anchor::Start)];
            canvas.label(
                id(run, "ordname", 0, 0),
                style,
                frame.edges(),
                &place,
                &texts.each_ref().map(String::as_str),
            );
        }
    })
}

/// Whether two look the same, wherever in the run they are.
fn look(sent: &Sent) -> (u64, u64, BioOp) {
    (sent.start, sent.end, sent.op)
}

/// What went to the device up to now.
pub(in crate::scene) fn so_far_of(run: &Run) -> &[Sent] {
    so_far(&run.course.sent, run.position, |sent| sent.at)
}

fn rows(frame: &Frame<'_>, canvas: &mut Canvas, run: usize, (top, pitch): (Fx, i32), all: &[Sent]) {
    let bar = px((pitch - 4).max(1));
    let mut before: Option<(Fx, Fx, u64)> = None;
    for (nth, sent) in all.iter().enumerate() {
        let y = top + px(pitch * whole(nth));
        let n = nth as u64;
        let pieces = frame.sectors.pieces(sent.start, sent.end);
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { continue };
        let (left, right) = (first.x0, last.x1.max(first.x0 + px(4)));
        let position = frame.runs[run].position;
        let done = sent.done.is_some_and(|done| done <= position);
        let what = match sent.op {
            BioOp::Read => Cargo::Read,
            BioOp::Write => Cargo::Asked,
        };
        for (k, piece) in pieces.iter().enumerate() {
            let area = band(piece.x0, piece.x1.max(piece.x0 + px(4)), y, y + bar);
            cargo(canvas, id(run, "ord", sent.at as u64, k as u16), what, area);
        }
        canvas.reserve(band(left, right, y, y + bar));
        let outline = if done { Style::BioDone } else { Style::BioSent };
        if bar > px(3) {
            canvas.framed(id(run, "ordline", n, 0), outline, band(left, right, y, y + bar), 0);
        }
        if let Some((x, from, end)) = before {
            let way = ((x, from), (left, y + bar / 2));
            if sent.start < end {
                back(canvas, id(run, "ordback", n, 0), way);
            } else {
                canvas.line(id(run, "ordway", n, 0), Style::SectorAxis, way.0, way.1);
            }
        }
        before = Some((right, y + bar / 2, sent.end));
        if sent.at == position && bar > px(3) {
            let out = band(left - px(2), right + px(2), y - px(2), y + bar + px(2));
            canvas.fill(id(run, "ordchg", n, 0), Style::Changed, out);
        }
    }
    // Words last: they keep clear of every bar.
    if pitch < WORDY {
        return;
    }
    for (nth, sent) in all.iter().enumerate() {
        let y = top + px(pitch * whole(nth)) + px((pitch - 4) / 2 + 4);
        let pieces = frame.sectors.pieces(sent.start, sent.end);
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { continue };
        let texts = says(nth, sent);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let right = last.x1.max(first.x0 + px(4));
        let places = [(right + px(8), y, Anchor::Start), (first.x0 - px(8), y, Anchor::End)];
        let mark = id(run, "ordsays", nth as u64, 0);
        canvas.label(mark, Style::Stage, frame.edges(), &places, &texts);
    }
}

/// A way back: thick, in the colour of waste.
fn back(canvas: &mut Canvas, mark: crate::scene::draw::Id, (from, to): ((Fx, Fx), (Fx, Fx))) {
    let half = px(1) + HALF / 2;
    let points = vec![
        (from.0, from.1 - half),
        (to.0, to.1 - half),
        (to.0, to.1 + half),
        (from.0, from.1 + half),
    ];
    canvas.push(mark, Style::WasteTick, Shape::Path(points));
}

/// What is said of one, the longest first.
pub(in crate::scene) fn says(nth: usize, sent: &Sent) -> Vec<String> {
    let sectors = plural((sent.end - sent.start) / SECTOR_SIZE, "sector");
    let what = match (sent.own, sent.op) {
        (Own::All, _) => "the map",
        (Own::Part, _) => "data and map",
        (Own::Nothing, BioOp::Read) => "data read",
        (Own::Nothing, BioOp::Write) => "data written",
    };
    let bios = if sent.bios > 1 { format!(", {} bios in one", sent.bios) } else { String::new() };
    let n = nth + 1;
    let short = format!("{n}: {what}");
    vec![format!("{short}, {sectors}{bios}"), format!("{short}, {sectors}"), short, n.to_string()]
}

/// The lane in words, at length and in short, and whether it goes back.
pub(in crate::scene) fn words_of(run: &Run) -> ([String; 2], bool) {
    let all = so_far_of(run);
    let back = all.windows(2).filter(|two| two[1].start < two[0].end).count() as u64;
    let done = all.iter().filter(|sent| sent.done.is_some_and(|done| done <= run.position));
    let ends = plural(done.count() as u64, "completion");
    let sent = plural(all.len() as u64, "time");
    let (long, short) = if back == 0 {
        ("always further on".to_owned(), "always on".to_owned())
    } else {
        (format!("{} of them back", grouped(back)), format!("{} back", grouped(back)))
    };
    let texts = [
        format!("the device was asked {sent}, {long}; {ends}"),
        format!("{sent}, {short}; {ends}"),
    ];
    (texts, back > 0)
}
