//! An axis: positions (file bytes or device bytes) to pixels, with the empty spans left out.
//!
//! Positions fall on whole pixels, so that cells are sharp and every lane agrees.

use super::fixed::{Fx, px, whole};

/// Width of a break between two spans.
const BREAK: i32 = 14;
/// Narrowest drawing of a span.
const NARROWEST: i32 = 12;

/// A half-open span of positions.
pub(super) type Span = (u64, u64);

/// A span and where it is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Segment {
    /// First position.
    pub(super) start: u64,
    /// First position behind it.
    pub(super) end: u64,
    /// Left pixel.
    pub(super) x0: i32,
    /// Right pixel.
    pub(super) x1: i32,
}

impl Segment {
    /// The pixel of a position, which is brought into the span first.
    pub(super) fn x(&self, pos: u64) -> Fx {
        let pos = pos.clamp(self.start, self.end) - self.start;
        let len = (self.end - self.start).max(1);
        let wide = (self.x1 - self.x0).unsigned_abs();
        // Half as wide is a machine word for all but absurd files, and divides in a tenth the time.
        let right = if len < 1 << 40 && wide < 1 << 20 {
            (pos * u64::from(wide) * 2 + len) / (len * 2)
        } else {
            let len = u128::from(len);
            ((u128::from(pos) * u128::from(wide) * 2 + len) / (len * 2)) as u64
        };
        px(self.x0 + right as i32)
    }
}

/// A part of a range that the axis shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    /// First position.
    pub(super) start: u64,
    /// First position behind it.
    pub(super) end: u64,
    /// Its left edge.
    pub(super) x0: Fx,
    /// Its right edge.
    pub(super) x1: Fx,
}

/// Positions to pixels.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Axis {
    segments: Vec<Segment>,
}

impl Axis {
    /// Lays ascending spans out between two pixels, each as wide as it is long.
    pub(super) fn new(spans: &[Span], x0: i32, x1: i32) -> Self {
        let total: u128 = spans.iter().map(|(start, end)| u128::from(end - start)).sum();
        let n = whole(spans.len());
        let room = (x1 - x0 - BREAK * (n - 1).max(0) - NARROWEST * n).max(0);
        let mut segments = Vec::with_capacity(spans.len());
        let (mut x, mut done, mut used) = (x0, 0u128, 0i32);
        for (at, (start, end)) in spans.iter().enumerate() {
            done += u128::from(end - start);
            let until = (done * u128::from(room.unsigned_abs()) / total.max(1)) as i32;
            let last = at + 1 == spans.len();
            let right = if last { x1 } else { x + NARROWEST + until - used };
            segments.push(Segment { start: *start, end: *end, x0: x, x1: right });
            x = right + BREAK;
            used = until;
        }
        Self { segments }
    }
    /// The spans with their places.
    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }
    /// The parts of a range that are shown.
    pub(super) fn pieces(&self, start: u64, end: u64) -> Vec<Piece> {
        let cut = |segment: &Segment| {
            let (from, to) = (start.max(segment.start), end.min(segment.end));
            (from < to).then(|| Piece {
                start: from,
                end: to,
                x0: segment.x(from),
                x1: segment.x(to),
            })
        };
        self.segments.iter().filter_map(cut).collect()
    }
    /// The place of a position, if it is shown; the end of a span counts as shown.
    pub(super) fn x(&self, pos: u64) -> Option<Fx> {
        let holds = |segment: &&Segment| (segment.start..=segment.end).contains(&pos);
        self.segments.iter().find(holds).map(|segment| segment.x(pos))
    }
    /// Whole pixels of one unit of `len` positions in the narrowest segment.
    pub(super) fn unit(&self, len: u64) -> i32 {
        let wide = |segment: &Segment| {
            let all = u128::from((segment.x1 - segment.x0).unsigned_abs());
            (u128::from(len) * all / u128::from((segment.end - segment.start).max(1))) as i32
        };
        self.segments.iter().map(wide).min().unwrap_or(0)
    }
    /// A length that has no more than so many pixels in any segment, if it has no more positions
    /// than this.
    pub(super) fn least(&self, pixels: i32) -> u64 {
        let short = |segment: &Segment| {
            let wide = u64::from((segment.x1 - segment.x0).unsigned_abs()).max(1);
            (segment.end - segment.start) / wide * u64::from(pixels.unsigned_abs())
        };
        self.segments.iter().map(short).min().unwrap_or(0)
    }
    /// The places of the breaks: the middle of each.
    pub(super) fn breaks(&self) -> impl Iterator<Item = Fx> {
        self.segments.windows(2).map(|two| px(two[0].x1 + two[1].x0) / 2)
    }
    /// Positions for ticks: multiples of the smallest `unit << n` that leaves `least` pixels
    /// between two.
    pub(super) fn ticks(&self, unit: u64, least: i32) -> Vec<(u64, Fx)> {
        let mut step = unit.max(1);
        while self.widest_unit(step) < least && step < 1 << 60 {
            step *= 2;
        }
        let mut ticks = Vec::new();
        for segment in &self.segments {
            let mut at = segment.start.div_ceil(step) * step;
            if at != segment.start {
                ticks.push((segment.start, segment.x(segment.start)));
            }
            while at <= segment.end {
                ticks.push((at, segment.x(at)));
                let Some(next) = at.checked_add(step) else { break };
                at = next;
            }
        }
        ticks
    }
    fn widest_unit(&self, len: u64) -> i32 {
        let all: u128 = self.segments.iter().map(|s| u128::from(s.end - s.start)).sum();
        let wide: u128 =
            self.segments.iter().map(|s| u128::from((s.x1 - s.x0).unsigned_abs())).sum();
        i32::try_from(u128::from(len) * wide / all.max(1)).unwrap_or(i32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_share_the_room_and_breaks_part_them() {
        let axis = Axis::new(&[(0, 100), (500, 700)], 10, 324 + 10);
        let segments = axis.segments();
        assert_eq!((segments[0].x0, segments[1].x1), (10, 334));
        assert_eq!(segments[1].x0 - segments[0].x1, BREAK);
        assert_eq!(axis.breaks().count(), 1);
        assert_eq!(axis.x(300), None);
        assert_eq!(axis.pieces(50, 600).len(), 2);
    }

    #[test]
    fn ticks_keep_their_distance() {
        let axis = Axis::new(&[(0, 131_072)], 0, 800);
        let ticks = axis.ticks(4096, 60);
        assert_eq!(ticks.len(), 9);
        assert_eq!(ticks[8], (131_072, px(800)));
        assert_eq!(axis.unit(4096), 25);
    }
}
