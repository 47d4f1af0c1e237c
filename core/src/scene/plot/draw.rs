//! A plot as an SVG document of its own, with the colours of every picture.

use super::super::fixed::{Fx, millis, px, whole};
use super::super::svg::{colours_of, escape};
use super::super::view::Theme;
use super::{Look, Plot, Track};
use crate::sort::sort;
use core::fmt::{Result, Write as _};

/// Where the plot is in the picture, in pixels.
struct Frame {
    x0: i32,
    x1: i32,
    y0: i32,
    y1: i32,
    top: u64,
    count: usize,
}

impl Frame {
    fn x(&self, at: usize) -> Fx {
        px(self.x0) + px(self.x1 - self.x0).scale(at as u64, self.count.max(1) as u64)
    }
    fn y(&self, value: u64) -> Fx {
        px(self.y1) - px(self.y1 - self.y0).scale(value, self.top)
    }
    /// The corners of a value that stays through each stretch.
    fn steps(&self, values: impl Iterator<Item = u64>) -> String {
        let mut out = String::new();
        for (at, value) in values.enumerate() {
            let (from, to, y) = (self.x(at), self.x(at + 1), self.y(value));
            write!(out, "{from},{y} {to},{y} ").expect("a String takes everything");
        }
        out.truncate(out.trim_end().len());
        out
    }
}

/// The plot as one SVG document, `width` pixels wide.
pub fn render_svg(plot: &Plot, width: u32, theme: Theme) -> String {
    let mut out = String::new();
    write_svg(&mut out, plot, i32::try_from(width).unwrap_or(i32::MAX), theme)
        .expect("a String takes everything");
    out
}

fn write_svg(out: &mut String, plot: &Plot, width: i32, theme: Theme) -> Result {
    let rows = plot.tracks.iter().filter(|track| track.look != Look::Limit).count();
    let height = 292 + 16 * whole(rows);
    let count = plot.tracks.first().map_or(0, |track| track.points.len());
    let frame = Frame { x0: 84, x1: width - 96, y0: 44, y1: 244, top: plot.top(), count };
    write!(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" ")?;
    write!(out, "width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" ")?;
    writeln!(out, "role=\"img\" aria-labelledby=\"plot-title plot-desc\">")?;
    writeln!(out, "<title id=\"plot-title\">{}</title>", escape(&plot.title))?;
    writeln!(out, "<desc id=\"plot-desc\">{}</desc>", escape(&plot.alt()))?;
    let font = "font:12px Inter,'DejaVu Sans',system-ui,sans-serif";
    writeln!(out, "<style>\n{}.plot text{{{font};fill:var(--muted)}}", colours_of(theme, "plot"))?;
    writeln!(out, ".plot .title{{font-weight:650;font-size:16px;fill:var(--ink)}}\n</style>")?;
    writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"var(--bg)\"/>")?;
    writeln!(out, "<text class=\"title\" x=\"12\" y=\"24\">{}</text>", escape(&plot.title))?;
    write_axes(out, plot, &frame)?;
    for (track, heights) in plot.areas() {
        write_area(out, &frame, track, &heights)?;
    }
    for track in &plot.tracks {
        match track.look {
            Look::Area => {}
            Look::Line => write_line(out, &frame, track, "stroke-width=\"1.5\"")?,
            Look::Limit => write_line(out, &frame, track, "stroke-dasharray=\"6 3\"")?,
        }
    }
    write_limit_names(out, plot, &frame)?;
    write_legend(out, plot)?;
    writeln!(out, "</svg>")
}

fn write_axes(out: &mut String, plot: &Plot, frame: &Frame) -> Result {
    let Frame { x0, x1, y0, y1, top, .. } = *frame;
    for quarter in 0..=4 {
        let value = top * quarter / 4;
        let y = frame.y(value);
        let line = format!("x1=\"{x0}\" x2=\"{x1}\" y1=\"{y}\" y2=\"{y}\"");
        writeln!(out, "<line {line} stroke=\"var(--hair)\"/>")?;
        let (x, y, value) = (x0 - 6, y + px(4), escape(&plot.value(value)));
        writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{value}</text>")?;
    }
    writeln!(out, "<path d=\"M{x0} {y0}V{y1}H{x1}\" fill=\"none\" stroke=\"var(--line)\"/>")?;
    let (y, end) = (y1 + 16, millis(plot.end.get() / 1_000_000));
    writeln!(out, "<text x=\"{x0}\" y=\"{y}\">0</text>")?;
    writeln!(out, "<text x=\"{x1}\" y=\"{y}\" text-anchor=\"end\">{end}</text>")
}

fn write_area(out: &mut String, frame: &Frame, track: &Track, heights: &[u64]) -> Result {
    let (x0, x1, y) = (frame.x(0), frame.x(heights.len()), frame.y(0));
    let corners = frame.steps(heights.iter().copied());
    let ink = track.token.var();
    writeln!(
        out,
        "<polygon points=\"{x0},{y} {corners} {x1},{y}\" fill=\"var(--{ink})\" \
         stroke=\"var(--{ink})\"/>"
    )
}

fn write_line(out: &mut String, frame: &Frame, track: &Track, how: &str) -> Result {
    let corners = frame.steps(track.points.iter().map(|point| point.last));
    let ink = track.token.var();
    writeln!(out, "<polyline points=\"{corners}\" fill=\"none\" stroke=\"var(--{ink})\" {how}/>")
}

/// Names of limits at their right ends, kept apart.
fn write_limit_names(out: &mut String, plot: &Plot, frame: &Frame) -> Result {
    let limits = plot.tracks.iter().filter(|track| track.look == Look::Limit);
    let mut names: Vec<(Fx, &str)> = limits
        .filter_map(|track| Some((frame.y(track.points.last()?.last), track.name.as_str())))
        .collect();
    sort(&mut names);
    let mut free = px(0);
    for (y, name) in names {
        let y = (y + px(4)).max(free);
        free = y + px(13);
        writeln!(out, "<text x=\"{}\" y=\"{y}\">{}</text>", frame.x1 + 6, escape(name))?;
    }
    Ok(())
}

fn write_legend(out: &mut String, plot: &Plot) -> Result {
    let tracks = plot.tracks.iter().filter(|track| track.look != Look::Limit);
    for (track, row) in tracks.zip(0..) {
        let y = 272 + 16 * row;
        let (top, ink) = (y - 9, track.token.var());
        let max = track.points.iter().map(|point| point.max).max().unwrap_or(0);
        let last = track.points.last().map_or(0, |point| point.last);
        let (max, last) = (plot.value(max), plot.value(last));
        let words = format!("{}: {max} at most, {last} at the end", track.name);
        let size = "width=\"10\" height=\"10\"";
        writeln!(out, "<rect x=\"84\" y=\"{top}\" {size} fill=\"var(--{ink})\"/>")?;
        writeln!(out, "<text x=\"100\" y=\"{y}\">{}</text>", escape(&words))?;
    }
    Ok(())
}
