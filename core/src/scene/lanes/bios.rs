//! Bios: what is being built and in flight, over the bytes of the file that it carries, each with
//! the reason why it ended.

use super::comb::Bar;
use super::{MANY, comb, joined};
use crate::block::bio::{BioEnd, BioState};
use crate::scene::canvas::{Area, Canvas, Wanted, id};
use crate::scene::cells::Cargo;
use crate::scene::draw::{Anchor, Pattern, Style};
use crate::scene::fixed::{Fx, plural, px, text_width, whole};
use crate::scene::layout::{Frame, Row, band};
use crate::scene::limits::MAX_BIO_ROWS;
use crate::scene::pack::pack;
use crate::scene::snapshot::BioView;
use crate::scene::view::Lane;

const BAR: i32 = 18;
/// Narrowest drawing of a bio.
const NARROWEST: i32 = 6;

pub(in crate::scene) fn draw(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) -> Fx {
    let full = frame.full(Lane::Bios);
    let rows = if full { whole(frame.limits.bio_rows) } else { 1 };
    let step = if full { BAR + 4 } else { 16 };
    let row = Row { height: step * rows - if full { 4 } else { 6 }, gap: 6, center: BAR / 2 };
    let agree = frame.agree(|a, b| same(&a.bios, &b.bios));
    let head = px(comb::height(frame));
    let rest = frame.stack(canvas, Lane::Bios, top + head, &row, agree, |canvas, run, y| {
        let all = &frame.runs[run].now.bios;
        let places = pack(all);
        let most = if full { frame.limits.bio_rows.min(MAX_BIO_ROWS) } else { 1 };
        if all.len() > MANY {
            let rows = (y, step, if full { BAR } else { 10 });
            crowd(frame, canvas, run, &places, most, rows);
            return;
        }
        let mut named = Vec::new();
        for (bio, at) in all.iter().zip(&places).filter(|(_, at)| **at < most) {
            let top = y + px(step * whole(*at));
            let rows = (top, top + px(if full { BAR } else { 10 }));
            named.extend(bar(frame, canvas, run, bio, rows).map(|edges| (bio, edges, top)));
        }
        let bars: Vec<_> = named.iter().map(|(bio, _, top)| over(bio, *top)).collect();
        comb::crossings(frame, canvas, run, &bars);
        // Words last: they keep clear of every bar.
        if full {
            names(frame, canvas, run, &named);
        }
        if full && frame.compares() {
            one_row(frame, canvas, run, &places, y + px(step + 13));
        }
        let hidden = places.iter().filter(|at| **at >= most).count();
        if hidden > 0 && full {
            let text = format!("+{hidden} more");
            let place = [(px(frame.x1), y + px(row.height - 5), Anchor::End)];
            canvas.label(id(run, "more", 0, 0), Style::Tick, frame.edges(), &place, &[&text]);
        }
    });
    comb::draw(frame, canvas, top);
    head + rest
}

/// Why a run leaves rows empty that another one needs now.
fn one_row(frame: &Frame<'_>, canvas: &mut Canvas, run: usize, places: &[usize], y: Fx) {
    let rows = |places: &[usize]| places.iter().max().map_or(0, |last| last + 1);
    let others = (0..frame.runs.len()).filter(|other| *other != run);
    let most = others.map(|other| rows(&pack(&frame.runs[other].now.bios))).max().unwrap_or(0);
    if rows(places) != 1 || places.len() < 2 || most < 2 {
        return;
    }
    let place = [(px(frame.x0), y, Anchor::Start)];
    let texts =
        ["in one row: no two carry the same bytes", "no two carry the same bytes", "one row"];
    canvas.label(id(run, "onerow", 0, 0), Style::Tick, frame.edges(), &place, &texts);
}

/// Whether two sets of bios look the same.
fn same(a: &[BioView], b: &[BioView]) -> bool {
    let look = |bio: &BioView| (bio.pieces.clone(), bio.state, bio.end, bio.head.op);
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| look(a) == look(b))
}

/// Paints a stretch of one cargo.
pub(in crate::scene) fn cargo(
    canvas: &mut Canvas,
    mark: crate::scene::draw::Id,
    cargo: Cargo,
    area: Area,
) {
    match cargo {
        Cargo::Asked => canvas.fill(mark, Style::Asked, area),
        Cargo::Waste => canvas.pattern(mark, Pattern::Hatch, area),
        Cargo::Read => canvas.pattern(mark, Pattern::Dots, area),
        Cargo::Done => canvas.framed(mark, Style::BioDone, area, 0),
        Cargo::Failed => canvas.fill(mark, Style::Failed, area),
    }
}

/// The number of a bio, the bytes of the file from its first to its last, and its row.
fn over(bio: &BioView, top: Fx) -> Bar {
    let start = bio.pieces.iter().map(|piece| piece.start).min().unwrap_or(0);
    let end = bio.pieces.iter().map(|piece| piece.end).max().unwrap_or(0);
    (bio.id, (start, end), (top, top + px(BAR)))
}

/// Draws one; returns its left and right edge, if any of it is shown.
fn bar(
    frame: &Frame<'_>,
    canvas: &mut Canvas,
    run: usize,
    bio: &BioView,
    rows: (Fx, Fx),
) -> Option<(Fx, Fx)> {
    let (top, bottom) = rows;
    let n = u64::from(bio.id);
    let mut parts: Vec<(Cargo, Fx, Fx)> = Vec::new();
    for part in &bio.pieces {
        let shown = frame.file.pieces(part.start, part.end).into_iter();
        parts.extend(shown.map(|piece| (part.cargo, piece.x0, piece.x1.max(piece.x0 + px(2)))));
    }
    let left = parts.iter().map(|part| part.1).min()?;
    // However short, a bio can be seen.
    if let Some(last) = parts.last_mut() {
        last.2 = last.2.max(left + px(NARROWEST));
    }
    let right = parts.iter().map(|part| part.2).max().unwrap_or(left);
    for (k, (what, x0, x1)) in parts.iter().enumerate() {
        cargo(canvas, id(run, "bio", n, k as u16), *what, band(*x0, *x1, top, bottom));
    }
    canvas.reserve(band(left, right, top, bottom));
    let open = bio.state == BioState::Building;
    let outline = match bio.state {
        BioState::Building => Style::BioOpen,
        BioState::InFlight | BioState::Failed => Style::BioSent,
        BioState::Done => Style::BioDone,
    };
    if right - left > px(NARROWEST) {
        canvas.framed(id(run, "bioline", n, 0), outline, band(left, right, top, bottom), 0);
    }
    if !open && right - left > px(NARROWEST) {
        let x = right - px(1);
        canvas.line(id(run, "cap", n, 0), Style::Cap, (x, top - px(2)), (x, bottom + px(2)));
    }
    if is_changed(frame, run, bio) {
        let out = px(if frame.full(Lane::Bios) { 3 } else { 1 });
        let area = band(left - out, right + out, top - out, bottom + out);
        canvas.fill(id(run, "biochg", n, 0), Style::Changed, area);
    }
    Some((left, right))
}

/// A bio, its left and right edge, and its top.
type Named<'a> = (&'a BioView, (Fx, Fx), Fx);

/// Says how long they are and why they ended; of all as much as there is room for of each.
fn names(frame: &Frame<'_>, canvas: &mut Canvas, run: usize, all: &[Named<'_>]) {
    let wanted = |(bio, (left, right), top): &Named<'_>| {
        let y = *top + px(13);
        let places = [(*right + px(9), y, Anchor::Start), (*left - px(9), y, Anchor::End)];
        Wanted { places, texts: words(bio, frame.runs[run].now.cache.block) }
    };
    let wanted: Vec<Wanted> = all.iter().map(wanted).collect();
    // The length alone, which stands last, is no reason.
    let reasons = wanted.iter().map(|label| label.texts.len()).max().unwrap_or(0);
    let level = canvas.level(Style::Stage, frame.edges(), &wanted);
    let level = level.filter(|level| level + 1 < reasons).unwrap_or(0);
    for ((bio, edges, top), label) in all.iter().zip(&wanted) {
        let first = level.min(label.texts.len().saturating_sub(1));
        let texts: Vec<&str> = label.texts[first..].iter().map(String::as_str).collect();
        let mark = id(run, "bioname", bio.id.into(), 0);
        if !canvas.label(mark, Style::Stage, frame.edges(), &label.places, &texts) {
            inside(canvas, run, (bio, *edges, *top), &texts);
        }
    }
}

/// Where there is no room beside a bar the words stand on a plate in it.
fn inside(canvas: &mut Canvas, run: usize, (bio, (left, right), top): Named<'_>, texts: &[&str]) {
    let wide = |text: &str| text_width(text, Style::Stage.size()) + px(8);
    let Some(text) = texts.iter().find(|text| wide(text) + px(16) <= right - left) else { return };
    let (middle, half) = ((left + right) / 2, wide(text) / 2);
    let plate = band(middle - half, middle + half, top + px(2), top + px(BAR - 2));
    canvas.fill(id(run, "bioplate", bio.id.into(), 0), Style::Ground, plate);
    let mark = id(run, "bioname", bio.id.into(), 0);
    canvas.text(mark, Style::Stage, (middle, top + px(13)), Anchor::Middle, text);
}

fn is_changed(frame: &Frame<'_>, run: usize, bio: &BioView) -> bool {
    let Some(old) = &frame.runs[run].before else { return false };
    let same = old.bios.binary_search_by_key(&bio.id, |other| other.id);
    same.map_or(true, |at| old.bios[at] != *bio)
}

/// More bios than eyes can tell apart: stretches of one cargo, and how many there are.
fn crowd(
    frame: &Frame<'_>,
    canvas: &mut Canvas,
    run: usize,
    places: &[usize],
    most: usize,
    (y, step, height): (Fx, i32, i32),
) {
    let all = &frame.runs[run].now.bios;
    for row in 0..most {
        let top = y + px(step * whole(row));
        let mine = all.iter().zip(places).filter(|(_, at)| **at == row);
        let mut parts = Vec::new();
        let mut changed: Option<(Fx, Fx)> = None;
        for (bio, _) in mine {
            let from = parts.len();
            for part in &bio.pieces {
                let shown = frame.file.pieces(part.start, part.end).into_iter();
                parts.extend(shown.map(|piece| (piece.x0, piece.x1, part.cargo)));
            }
            if is_changed(frame, run, bio) {
                for (x0, x1, _) in &parts[from..] {
                    let wide = changed.unwrap_or((*x0, *x1));
                    changed = Some((wide.0.min(*x0), wide.1.max(*x1)));
                }
            }
        }
        for (k, (x0, x1, what)) in joined(parts).into_iter().enumerate() {
            let mark = id(run, "biorun", row as u64, k as u16);
            cargo(canvas, mark, what, band(x0, x1, top, top + px(height)));
        }
        if let Some((x0, x1)) = changed {
            let area = band(x0 - px(1), x1 + px(1), top - px(1), top + px(height + 1));
            canvas.fill(id(run, "biochg", row as u64, 0), Style::Changed, area);
        }
    }
    let count = plural(all.len() as u64, "bio");
    let place = [(px(frame.x1), y - px(2), Anchor::End)];
    canvas.label(id(run, "more", 0, 0), Style::Tick, frame.edges(), &place, &[&count]);
}

/// What is said of a bio, the longest first.
pub(in crate::scene) fn words(bio: &BioView, block: u64) -> Vec<String> {
    let blocks = plural(bio.bytes.div_ceil(block), "block");
    let clean = bio.waste().div_ceil(block);
    let end = match bio.state {
        BioState::Done => "done",
        BioState::Failed => "failed",
        BioState::Building | BioState::InFlight if bio.end == BioEnd::Open => BioEnd::Open.words(),
        BioState::Building | BioState::InFlight => bio.end.words(),
    };
    let mut texts = Vec::new();
    if let Some((from, to)) = bio.astray {
        let [from, to] = [from, to].map(crate::scene::fixed::position);
        texts.push(format!("{blocks}: bytes of {from}, not of {to}"));
        texts.push(format!("{from}, not {to}"));
    }
    if clean > 0 {
        texts.push(format!("{blocks}, {clean} clean \u{b7} {end}"));
    }
    texts.push(format!("{blocks} \u{b7} {end}"));
    if clean > 0 {
        texts.push(format!("{blocks}, {clean} clean"));
    }
    texts.push(end.to_owned());
    if let Some(why) = end.strip_prefix("ends: ") {
        texts.push(why.to_owned());
        texts.push(bio.end.word().to_owned());
    }
    texts.push(blocks);
    texts
}
