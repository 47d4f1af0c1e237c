//! The strip under the stage: for each run where operations begin and what reaches the device, as a
//! handful of paths whatever the length of the run.

use crate::session::Session;
use core::fmt::Write as _;
use folioscope_core::search::Event;
use folioscope_core::trace::align::Difference;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::step::Step;

/// Height of a run's row.
const ROW: u32 = 14;
const GAP: u32 = 4;
/// Width of a mark: columns are as wide.
const WIDE: u32 = 3;

/// Kinds of marks: class in the style sheet, top and height in the row. Each has a band of its own,
/// so that a long run shows all of them.
const KINDS: [(&str, u32, u32); 5] =
    [("sop", 0, 3), ("sbio", 4, 4), ("swaste", 8, 4), ("sflush", 12, 2), ("serr", 0, 14)];
const DIFFERENCE: &str = "sdiff";

/// Height of the strip.
pub(crate) fn height(session: &Session) -> u32 {
    let rows = session.runs().len() as u32;
    rows * ROW + (rows - 1) * GAP + 6
}

/// The strip as SVG, without the cursor.
pub(crate) fn draw(session: &Session, width: u32) -> String {
    let columns = (width / WIDE).max(1);
    let height = height(session);
    let mut out = format!(
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" aria-hidden=\"true\">"
    );
    let moments = session.way().moments();
    let last = session.way().last().max(1) as u64;
    let column = |at: usize| (at as u64 * u64::from(columns - 1) / last) as usize;
    let mut differs = vec![false; columns as usize];
    for (side, run) in session.runs().iter().enumerate() {
        let top = side as u32 * (ROW + GAP);
        write!(out, "<rect class=\"sground\" y=\"{top}\" width=\"{width}\" height=\"{ROW}\"/>")
            .expect("a String takes everything");
        let mut marks = [const { Vec::new() }; KINDS.len()];
        for kind in &mut marks {
            kind.resize(columns as usize, false);
        }
        for (at, moment) in moments.iter().enumerate().skip(1) {
            differs[column(at)] |= moment.difference.is_some_and(Difference::reaches_device);
            if moment.moved[side] {
                let step = run.timeline().recording().step(moment.position(side) - 1);
                if let Some(kind) = kind(step) {
                    marks[kind][column(at)] = true;
                }
            }
        }
        for ((class, y, tall), marked) in KINDS.iter().zip(&marks) {
            path(&mut out, class, (top + y, *tall), marked);
        }
    }
    path(&mut out, DIFFERENCE, (height - 4, 3), &differs);
    if let Some(first) = session.way().first_difference() {
        let x = column(first) as u32 * WIDE;
        let top = height - 6;
        write!(out, "<path class=\"sfirst\" d=\"M{x} {top}h5l-5 6z\"/>")
            .expect("a String takes everything");
    }
    out + "</svg>"
}

/// Which kind of mark a step leaves.
fn kind(step: &Step) -> Option<usize> {
    let name = if step.rule == Rule::BioSubmitted {
        "sbio"
    } else if Event::Waste.is(step) {
        "swaste"
    } else if step.rule == Rule::FlushSent {
        "sflush"
    } else if step.rule.starts_op() {
        "sop"
    } else if matches!(step.rule, Rule::InvariantBroken | Rule::ErrorRecorded) {
        "serr"
    } else {
        return None;
    };
    KINDS.iter().position(|(class, _, _)| *class == name)
}

/// Neighbouring columns as one box.
fn path(out: &mut String, class: &str, (y, tall): (u32, u32), marked: &[bool]) {
    let mut boxes = String::new();
    let mut at = 0;
    while at < marked.len() {
        if !marked[at] {
            at += 1;
            continue;
        }
        let end = (at..marked.len()).find(|next| !marked[*next]).unwrap_or(marked.len());
        let (x, wide) = (at as u32 * WIDE, (end - at) as u32 * WIDE - 1);
        write!(boxes, "M{x} {y}h{wide}v{tall}h-{wide}z").expect("a String takes everything");
        at = end;
    }
    if !boxes.is_empty() {
        write!(out, "<path class=\"{class}\" d=\"{boxes}\"/>").expect("a String takes everything");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson;

    #[test]
    fn the_strip_of_the_lesson_shows_waste_in_one_run_only() {
        let session = lesson::open(lesson::FIRST).0;
        let strip = draw(&session, 900);
        assert_eq!(strip.matches("swaste").count(), 1);
        assert_eq!(strip.matches("\"sop\"").count(), 2);
        assert_eq!(strip.matches("sdiff").count(), 1);
        assert_eq!(strip.matches("sfirst").count(), 1, "the first difference is marked");
        assert!(!strip.contains("serr"));
        assert!(strip.len() < 20_000, "{}", strip.len());
        assert!(draw(&session, 0).contains("</svg>"));
    }
}
