//! A plot in 72 columns of text: a column for each stretch of time, a row for each step of value.

use super::super::fixed::millis;
use super::{Look, Plot};
use core::fmt::Write as _;

/// Columns before the plot.
const GUTTER: usize = 13;
/// Columns of the plot: as many stretches are shown at most.
pub const COLUMNS: usize = 59;
/// Rows of the plot.
const ROWS: u64 = 14;

/// The plot as text.
pub fn render_text(plot: &Plot) -> String {
    let mut out = String::new();
    write_text(&mut out, plot).expect("a String takes everything");
    out
}

fn write_text(out: &mut String, plot: &Plot) -> core::fmt::Result {
    let top = plot.top();
    let count = plot.tracks.first().map_or(0, |track| track.points.len()).min(COLUMNS);
    let row = |value: u64| (u128::from(value) * u128::from(ROWS) / u128::from(top)) as u64;
    let mut grid = vec![vec![' '; count]; ROWS as usize + 1];
    let mut labels = vec![String::new(); ROWS as usize + 1];
    labels[ROWS as usize] = plot.value(top);
    labels[0] = plot.value(0);
    let limits = plot.tracks.iter().filter(|track| track.look == Look::Limit);
    for track in limits {
        for (at, point) in track.points.iter().enumerate().take(count) {
            grid[row(point.last) as usize][at] = track.sign;
        }
        if let Some(last) = track.points.last() {
            labels[row(last.last) as usize].clone_from(&track.name);
        }
    }
    for (track, heights) in plot.areas() {
        for (at, height) in heights.into_iter().enumerate().take(count) {
            for line in &mut grid[..row(height) as usize] {
                line[at] = track.sign;
            }
        }
    }
    for track in plot.tracks.iter().filter(|track| track.look == Look::Line) {
        for (at, point) in track.points.iter().enumerate().take(count) {
            grid[row(point.last) as usize][at] = track.sign;
        }
    }
    writeln!(out, "{}", plot.title)?;
    writeln!(out, "{}", plot.run)?;
    for (line, label) in grid.iter().zip(&labels).rev() {
        let line: String = line.iter().collect();
        writeln!(out, "{}", format!("{label:>11} |{line}").trim_end())?;
    }
    let end = millis(plot.end.get() / 1_000_000);
    writeln!(out, "{:>11} +{}", "", "-".repeat(count))?;
    writeln!(out, "{:GUTTER$}0{end:>width$}", "", width = count.saturating_sub(1))?;
    for track in plot.tracks.iter().filter(|track| track.look != Look::Limit) {
        let max = track.points.iter().map(|point| point.max).max().unwrap_or(0);
        let last = track.points.last().map_or(0, |point| point.last);
        let (max, last) = (plot.value(max), plot.value(last));
        writeln!(out, "{:>4} {}: {max} at most, {last} at the end", track.sign, track.name)?;
    }
    for track in plot.tracks.iter().filter(|track| track.look == Look::Limit) {
        let last = track.points.last().map_or(0, |point| point.last);
        writeln!(out, "{:>4} {}: {}", track.sign, track.name, plot.value(last))?;
    }
    Ok(())
}
