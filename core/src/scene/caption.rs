//! Words under and behind a picture: figures of each run, legend, evidence, and the sentence for
//! those who do not see it.

use super::Side;
use super::canvas::{Canvas, id, wrap};
use super::cells::Cell;
use super::draw::{Anchor, Mark, Style};
use super::fixed::{Fx, HALF, plural, position, px, size, text_width, times};
use super::lanes::cache::paint;
use super::lanes::{left, returns};
use super::layout::{Figures, Frame, band};
use super::signs::signs;
use super::view::Lane;
use crate::behaviour::{Behaviours, Profile};
use crate::trace::header::{Header, Source};

/// The states on screen, the most notable first.
pub(super) fn legend(frame: &Frame<'_>) -> Vec<Cell> {
    let lane = |lane| frame.view.lanes.shows(lane);
    let zeros = frame.runs.iter().any(|run| {
        (lane(Lane::Left) && left::has_zeros(run))
            || (lane(Lane::Returns) && returns::has_zeros(run, &frame.limits.spans))
    });
    let shown = |cell: &Cell| {
        // Without the cache only what is on its way can be seen.
        let seen = lane(Lane::Cache) || *cell >= Cell::Reading && *cell != Cell::Dirty;
        (seen && frame.runs.iter().any(|run| run.now.cache.count(*cell) > 0))
            || (zeros && *cell == Cell::Zeroed)
    };
    Cell::ALL.into_iter().rev().filter(shown).collect()
}

/// One sentence that says what the picture shows.
pub(super) fn alt(sides: &[Side<'_>], frame: &Frame<'_>) -> String {
    let (start, end) = match (frame.limits.spans.first(), frame.limits.spans.last()) {
        (Some(first), Some(last)) => (first.0, last.1),
        (_, _) => (0, 0),
    };
    let mut said = Vec::new();
    for (side, run) in sides.iter().zip(&frame.runs) {
        let mut counts = Vec::new();
        for cell in Cell::ALL.into_iter().rev() {
            let n = run.now.cache.count(cell);
            if n > 0 {
                counts.push(format!("{} {}", plural(n, "block"), cell.words()));
            }
        }
        let who = if sides.len() > 1 {
            format!("{} ({})", side.label, side.name)
        } else {
            side.name.to_owned()
        };
        let timeline = side.timeline;
        let step = format!("step {} of {}", timeline.position(), timeline.len());
        said.push(format!("{who} at {step} has {}", counts.join(", ")));
    }
    format!(
        "Page cache of the file from {} to {}: {}.",
        position(start),
        position(end),
        said.join("; ")
    )
}

/// What one run did so far.
pub(super) fn figures(side: &Side<'_>) -> String {
    let Figures { app, device, clean, bios, requests, broken, .. } = Figures::of(side.timeline);
    let Figures { app_read, read, read_bios, .. } = Figures::of(side.timeline);
    if app + device + bios == 0 && read > 0 {
        let bios = plural(read_bios, "read bio");
        return format!("read {} \u{b7} device gave {} \u{b7} {bios}", size(app_read), size(read));
    }
    let factor = times(device, app).filter(|_| device > 0);
    let factor = factor.map_or_else(String::new, |times| format!(" ({times})"));
    let mut words =
        vec![format!("wrote {}", size(app)), format!("device got {}{factor}", size(device))];
    if clean > 0 {
        words.push(format!("{} sent though clean", size(clean)));
    }
    words.push(plural(bios, "write bio"));
    if requests > 0 {
        words.push(plural(requests, "request"));
    }
    if broken > 0 {
        words.push(plural(broken, "broken invariant"));
    }
    words.join(" \u{b7} ")
}

/// How the run is known: by a model or a real device, which profile and how that is known, which
/// switches differ from it.
pub fn evidence(header: &Header) -> String {
    let source = match &header.source {
        Source::Simulated => "model".to_owned(),
        Source::Real(what) => format!("real I/O on {what}"),
    };
    let profile = Profile::named(&header.profile);
    let base = profile.map_or_else(Behaviours::default, |profile| profile.behaviours);
    let changed: Vec<String> = header
        .behaviours
        .switches()
        .zip(base.switches())
        .filter(|(now, then)| now != then)
        .map(|(now, _)| format!("{} = {}", now.0, now.1))
        .collect();
    // What was seen of a kernel says nothing of the same rules with one changed.
    let known = match profile {
        None => header.profile.clone(),
        Some(profile) if changed.is_empty() => {
            format!("rules of {}: {}", profile.name, profile.evidence.words())
        }
        Some(profile) => format!("rules of {} but for {}", profile.name, changed.join(", ")),
    };
    [source, known, format!("folioscope {}", header.engine)].join(" \u{b7} ")
}

/// The shape of a state in a box of 16 pixels, for a legend outside of the picture.
pub fn swatch(cell: Cell) -> Vec<Mark> {
    let mut canvas = Canvas::default();
    paint(
        &mut canvas,
        |k| id(0, "legend", cell as u64, k),
        cell,
        band(px(0), px(16), px(0), px(16)),
    );
    canvas.marks
}

/// Draws figures, legend and evidence; returns where they end.
pub(super) fn draw(sides: &[Side<'_>], frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) -> Fx {
    let (left, right) = (px(frame.margin), px(frame.x1));
    let mut y = top + px(10);
    canvas.line(id(0, "capline", 0, 0), Style::Hair, (left, y + HALF), (right, y + HALF));
    y += px(8);
    for (run, side) in sides.iter().enumerate() {
        // Where the gutter has no room, the run is named here.
        let label = match (sides.len() > 1, frame.narrow) {
            (true, true) => format!("{} ({}): ", side.label, side.name),
            (true, false) => format!("{}: ", side.label),
            (false, _) => String::new(),
        };
        let text = format!("{label}{}", figures(side));
        y = lines(canvas, ("figures", run), Style::Words, (left, right, y), &text);
    }
    y = draw_legend(frame, canvas, y + px(6));
    let mut said: Vec<String> = Vec::new();
    for (run, side) in sides.iter().enumerate() {
        let text = evidence(side.timeline.header());
        if said.contains(&text) {
            continue;
        }
        said.push(text.clone());
        let label = if sides.len() > 1 { format!("{}: ", side.label) } else { String::new() };
        let text = format!("{label}{text}");
        y = lines(canvas, ("evidence", run), Style::Quiet, (left, right, y), &text);
    }
    y + px(6)
}

fn lines(
    canvas: &mut Canvas,
    part: (&'static str, usize),
    style: Style,
    room: (Fx, Fx, Fx),
    text: &str,
) -> Fx {
    let (left, right, mut y) = room;
    for (k, line) in wrap(text, right - left, style.size()).iter().enumerate() {
        y += px(18);
        let mark = id(part.1, part.0, 0, k as u16);
        canvas.text(mark, style, (left, y - px(4)), Anchor::Start, line);
    }
    y
}

fn draw_legend(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) -> Fx {
    const SWATCH: i32 = 16;
    let (left, right) = (px(frame.margin), px(frame.x1));
    let style = Style::Words;
    let (mut x, mut y) = (left, top);
    let (cells, signs) = (legend(frame), signs(frame));
    if cells.is_empty() && signs.is_empty() {
        return top;
    }
    let mut place = |words: &str| {
        let wide = px(SWATCH + 6) + text_width(words, style.size());
        if x > left && x + wide > right {
            (x, y) = (left, y + px(22));
        }
        let at = (x, y);
        x += wide + px(18);
        at
    };
    let box_at = |(x, y): (Fx, Fx)| band(x, x + px(SWATCH), y, y + px(SWATCH));
    let beside = |(x, y): (Fx, Fx)| (x + px(SWATCH + 6), y + px(12));
    for cell in cells {
        let words = format!("{} {}", cell.letter(), cell.words());
        let at = place(&words);
        paint(canvas, |k| id(0, "legend", cell as u64, k), cell, box_at(at));
        let mark = id(0, "legend", cell as u64, 9);
        canvas.text(mark, style, beside(at), Anchor::Start, &words);
    }
    for (n, sign) in (0..).zip(signs) {
        let at = place(sign.words);
        sign.paint(canvas, |k| id(0, "sign", n, k), box_at(at));
        canvas.text(id(0, "sign", n, 9), style, beside(at), Anchor::Start, sign.words);
    }
    y + px(24)
}
