//! A measure over the steps of one run or two: a curve for a strip that stands under the picture,
//! on the same axis of moments as everything that shows time there, and its twin as rows.
//!
//! Run A is an area, run B a dashed line over it: what lies under the line was spared.

use super::fixed::{grouped, millis, size};
use crate::trace::curve::{Curves, Measure, Stretch};
use core::fmt::Write as _;

/// Rows of the twin.
const ROWS: usize = 12;

/// A value with its unit.
pub fn value(measure: Measure, n: u64) -> String {
    match measure {
        Measure::Bios => grouped(n),
        Measure::Paused => millis(n),
        Measure::Dirty
        | Measure::Writeback
        | Measure::Cached
        | Measure::Wasted
        | Measure::Written
        | Measure::Read => size(n),
    }
}

/// The greatest value in any of these runs, as far as they were looked at.
pub fn most(curves: &Curves, measure: Measure) -> u64 {
    let all = (0..curves.runs()).flat_map(|run| curves.of(run, measure));
    all.map(|one| one.max).max().unwrap_or(0)
}

/// The curves as SVG for the style sheet of the page, so many pixels wide and tall; moment `n` of
/// `m` lies at pixel `1 + n (width - 3) / (m - 1)`.
pub fn draw(curves: &Curves, measure: Measure, width: u32, height: u32) -> String {
    let mut out = format!(
        "<svg class=\"chart\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" aria-hidden=\"true\">\
         <rect class=\"sground\" width=\"{width}\" height=\"{height}\"/>"
    );
    let frame = Frame { width, height, top: most(curves, measure).max(1) };
    for run in 0..curves.runs() {
        let pixels = frame.pixels(curves, curves.of(run, measure));
        let (Some(first), Some(last)) = (pixels.first(), pixels.last()) else { continue };
        let (start, end, rest) = (first.0, last.0 + 1, frame.line(&pixels));
        let y = frame.y(first.1);
        if run == 0 {
            let class = if measure == Measure::Wasted { "carea waste" } else { "carea" };
            let down = format!("M{start} {height}V{y}{rest}H{end}V{height}z");
            write!(out, "<path class=\"{class}\" d=\"{down}\"/>")
        } else {
            write!(out, "<path class=\"cline\" d=\"M{start} {y}{rest}H{end}\"/>")
        }
        .expect("a String takes everything");
    }
    out + "</svg>"
}

struct Frame {
    width: u32,
    height: u32,
    top: u64,
}

impl Frame {
    /// Of each pixel that a value lies at: its place, and the greatest of these values.
    fn pixels(&self, curves: &Curves, stretches: &[Stretch]) -> Vec<(u32, u64)> {
        let room = u64::from(self.width.saturating_sub(3));
        let columns = curves.columns().saturating_sub(1).max(1) as u64;
        let mut out: Vec<(u32, u64)> = Vec::new();
        for (at, one) in stretches.iter().enumerate() {
            let x = 1 + (at as u64 * room / columns) as u32;
            match out.last_mut() {
                Some((last, max)) if *last == x => *max = one.max.max(*max),
                _ => out.push((x, one.max)),
            }
        }
        out
    }
    fn y(&self, value: u64) -> u32 {
        let tall = u128::from(self.height.saturating_sub(2));
        let up = 1 + (u128::from(value) * tall / u128::from(self.top)) as u32;
        self.height.saturating_sub(up)
    }
    /// A value stays until there is another: what follows the first of them.
    fn line(&self, pixels: &[(u32, u64)]) -> String {
        let mut out = String::new();
        let mut before = pixels.first().map(|(_, value)| self.y(*value));
        for (x, value) in pixels {
            let y = self.y(*value);
            if before != Some(y) {
                write!(out, "H{x}V{y}").expect("a String takes everything");
                before = Some(y);
            }
        }
        out
    }
}

/// A row of the twin: which steps, and what the measure was in each run there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// First and last moment.
    pub moments: (usize, usize),
    /// For each run: a value, or two with a word between.
    pub values: Vec<String>,
}

/// The same as rows.
pub fn rows(curves: &Curves, measure: Measure) -> Vec<Row> {
    let (moments, count) = (curves.moments(), curves.moments().min(ROWS));
    let row = |at: usize| {
        let (first, end) = (at * moments / count, (at + 1) * moments / count);
        let span = |run: usize| {
            let all = curves.of(run, measure);
            let (from, to) = (curves.column(first), curves.column(end - 1) + 1);
            let part = &all[from.min(all.len())..to.min(all.len())];
            let min = part.iter().map(|one| one.min).min();
            let max = part.iter().map(|one| one.max).max();
            match (min, max) {
                (Some(min), Some(max)) if min == max => value(measure, max),
                (Some(min), Some(max)) => {
                    format!("{} to {}", value(measure, min), value(measure, max))
                }
                _ => "not looked at yet".to_owned(),
            }
        };
        Row { moments: (first, end - 1), values: (0..curves.runs()).map(span).collect() }
    };
    (0..count).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::fixture;
    use crate::trace::align::Alignment;

    #[test]
    fn curves_say_what_every_state_says_however_they_are_sliced() {
        let (a, b) = fixture::seed();
        let runs = [&a, &b];
        let way = Alignment::of(&[a.recording(), b.recording()]);
        let mut curves = Curves::new(&way, &runs);
        while !curves.advance(&way, &runs, 5) {}
        for measure in Measure::ALL {
            for (side, timeline) in runs.into_iter().enumerate() {
                for at in 0..way.moments().len() {
                    let state = timeline.model_at(way.moment(at).position(side));
                    let one = curves.of(side, measure)[curves.column(at)];
                    let now = measure.of(&state);
                    assert!(one.min <= now && now <= one.max, "{measure:?} at {at}");
                }
                let end = curves.of(side, measure).last().map(|one| one.last);
                assert_eq!(end, Some(measure.of(&timeline.model_at(usize::MAX))), "{measure:?}");
            }
        }
        assert!(most(&curves, Measure::Dirty) > 0 && most(&curves, Measure::Wasted) > 0);
        let drawn = draw(&curves, Measure::Dirty, 300, 40);
        assert_eq!((drawn.matches("carea").count(), drawn.matches("cline").count()), (1, 1));
        assert!(draw(&curves, Measure::Wasted, 0, 0).contains("</svg>"));
        let twin = rows(&curves, Measure::Dirty);
        assert_eq!(twin[0].moments.0, 0);
        assert_eq!(twin.last().map(|row| row.moments.1), Some(way.last()));
        assert!(twin.windows(2).all(|two| two[0].moments.1 + 1 == two[1].moments.0));
    }
}
