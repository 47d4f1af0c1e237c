//! Where things go: the gutter, the axes, and the lanes one under another.
//!
//! Heights depend on the view and on the limits of the run, never on the step.

use super::axis::Axis;
use super::canvas::{Area, Canvas, id, shorten, wrap};
use super::course::Course;
use super::draw::{Anchor, Shape, Style};
use super::fixed::{Fx, HALF, px, whole};
use super::limits::Limits;
use super::members::ArrayView;
use super::snapshot::Snapshot;
use super::view::{Lane, LaneMode, View};
use super::{Side, lanes};
use crate::counters::Counter;
use crate::trace::model::Model;
use crate::trace::survey::{FileFate, Survey};
use crate::trace::timeline::Timeline;
use std::sync::Arc;

/// Between two lanes.
const GAP: i32 = 10;
/// Height of a lane's name where it stands above the lane.
const NAME: i32 = 18;

/// A run as the lanes need it.
pub(super) struct Run {
    pub(super) label: String,
    pub(super) name: String,
    pub(super) now: Snapshot,
    /// The array behind the device, if it is one.
    pub(super) array: Option<ArrayView>,
    /// The same before the last step.
    pub(super) array_before: Option<ArrayView>,
    /// Before the last step; none at the start.
    pub(super) before: Option<Snapshot>,
    /// What would be left of the file, if that is asked for.
    pub(super) left: Option<FileFate>,
    /// What happened in its whole course.
    pub(super) course: Arc<Course>,
    /// How many of its steps were taken.
    pub(super) position: usize,
    /// Bytes of a page.
    pub(super) page: u64,
}

impl Run {
    pub(super) fn new(nth: usize, side: &Side<'_>, view: &View, limits: &Limits) -> Self {
        let timeline = side.timeline;
        let now = Snapshot::of(timeline.model(), timeline.current(), view.file, &limits.spans);
        let before = timeline.previous();
        let course = limits.courses.get(nth).cloned().unwrap_or_default();
        let array = |model: &Model| ArrayView::of(model, limits, nth);
        Self {
            label: side.label.to_owned(),
            name: side.name.to_owned(),
            now,
            array: array(timeline.model()),
            array_before: before.as_deref().and_then(array),
            before: before.map(|model| Snapshot::of(&model, None, view.file, &limits.spans)),
            left: view.lanes.shows(Lane::Left).then(|| left(nth, timeline, view)).flatten(),
            position: timeline.position(),
            page: timeline.header().geometry.page_size().get(),
            course,
        }
    }
    /// Every run, in its order.
    pub(super) fn all(sides: &[Side<'_>], view: &View, limits: &Limits) -> Vec<Self> {
        (0..).zip(sides).map(|(nth, side)| Self::new(nth, side, view, limits)).collect()
    }
}

/// What a remount would find of the file; none before it is opened.
pub(super) fn left(nth: usize, timeline: &Timeline, view: &View) -> Option<FileFate> {
    if let Some(kept) = view.left.get(nth) {
        return kept.clone();
    }
    let mut survey = Survey::new(timeline.header().geometry);
    survey.seek(timeline.recording(), timeline.position()).ok()?;
    survey.file(view.file)
}

/// What the run did so far, in numbers.
pub(super) struct Figures {
    pub(super) app: u64,
    pub(super) device: u64,
    pub(super) clean: u64,
    pub(super) bios: u64,
    pub(super) requests: u64,
    pub(super) broken: u64,
    pub(super) app_read: u64,
    pub(super) read: u64,
    pub(super) read_bios: u64,
}

impl Figures {
    pub(super) fn of(timeline: &Timeline) -> Self {
        let count = |counter| timeline.model().counters().get(counter);
        Self {
            app: count(Counter::AppWritten),
            device: count(Counter::DeviceWritten),
            clean: count(Counter::CleanWritten),
            bios: count(Counter::WriteBios),
            requests: count(Counter::Requests),
            broken: count(Counter::BrokenInvariants),
            app_read: count(Counter::AppRead),
            read: count(Counter::DeviceRead),
            read_bios: count(Counter::ReadBios),
        }
    }
}

/// Everything that a lane needs to draw itself.
pub(super) struct Frame<'a> {
    pub(super) view: &'a View,
    pub(super) limits: &'a Limits,
    pub(super) runs: Vec<Run>,
    pub(super) file: Axis,
    pub(super) sectors: Axis,
    /// Left edge of words.
    pub(super) margin: i32,
    /// Edges of the axes.
    pub(super) x0: i32,
    pub(super) x1: i32,
    /// Names stand above their lanes.
    pub(super) narrow: bool,
}

impl<'a> Frame<'a> {
    pub(super) fn new(sides: &[Side<'_>], view: &'a View, limits: &'a Limits) -> Self {
        let width = i32::try_from(view.width.clamp(320, 16_000)).unwrap_or(320);
        let compare = sides.len() > 1;
        let (margin, x0) = match width {
            900.. => (24, 150),
            560..900 => (12, if compare { 124 } else { 112 }),
            _ => (10, if compare { 40 } else { 10 }),
        };
        let x1 = width - margin;
        let inset = ((x1 - x0) / 16).min(72);
        Self {
            view,
            limits,
            runs: Run::all(sides, view, limits),
            file: Axis::new(&limits.spans, x0, x1),
            sectors: Axis::new(&limits.sectors, x0 + inset, x1 - inset),
            margin,
            x0,
            x1,
            narrow: width < 560,
        }
    }
    /// Edges of the stage, for labels.
    pub(super) const fn edges(&self) -> (Fx, Fx) {
        (px(self.x0), px(self.x1))
    }
    pub(super) const fn compares(&self) -> bool {
        self.runs.len() > 1
    }
    pub(super) const fn full(&self, lane: Lane) -> bool {
        matches!(self.view.lanes.get(lane), LaneMode::Full)
    }
    /// Whether all runs agree in this.
    pub(super) fn agree(&self, same: impl Fn(&Snapshot, &Snapshot) -> bool) -> bool {
        self.runs.windows(2).all(|two| same(&two[0].now, &two[1].now))
    }

    /// Draws a row for each run, or one in the middle where all agree; returns the height, which is
    /// the same in both cases.
    pub(super) fn stack(
        &self,
        canvas: &mut Canvas,
        lane: Lane,
        top: Fx,
        row: &Row,
        agree: bool,
        mut draw: impl FnMut(&mut Canvas, usize, Fx),
    ) -> Fx {
        let n = whole(self.runs.len());
        let height = px(row.height * n + row.gap * (n - 1).max(0));
        if n > 1 && agree {
            let y = top + px((row.height + row.gap) * (n - 1)) / 2;
            self.agreement(canvas, lane, top, y + px(row.center));
            draw(canvas, 0, y);
            return height;
        }
        for run in 0..self.runs.len() {
            let y = top + px((row.height + row.gap) * whole(run));
            if n > 1 {
                self.plate(canvas, lane, run, y + px(row.center));
            }
            draw(canvas, run, y);
        }
        height
    }
    /// The words "A = B" beside a row that all runs share.
    pub(super) fn agreement(&self, canvas: &mut Canvas, lane: Lane, top: Fx, center: Fx) {
        let labels: Vec<&str> = self.runs.iter().map(|run| run.label.as_str()).collect();
        let words = labels.join(" = ");
        let (x, y, anchor) = if self.narrow {
            (px(self.x1), top - px(6), Anchor::End)
        } else {
            (px(self.x0 - 9), center + px(4), Anchor::End)
        };
        canvas.text(id(0, "same", lane as u64, 0), Style::Quiet, (x, y), anchor, &words);
    }
    fn plate(&self, canvas: &mut Canvas, lane: Lane, run: usize, center: Fx) {
        let style = if run == 0 { Style::PlateA } else { Style::PlateB };
        let small = !self.full(lane) || !lane.is_high();
        let half = px(if small { 8 } else { 11 });
        let x = px(self.x0 - 9) - half;
        let shape = Shape::Rect {
            x: x - half + HALF,
            y: center - half + HALF,
            w: half * 2 - px(1),
            h: half * 2 - px(1),
            r: px(4),
        };
        canvas.push(id(run, "plate", lane as u64, 0), style, shape);
        let (at, label) = ((x, center + px(4)), self.runs[run].label.as_str());
        canvas.text(id(run, "run", lane as u64, 0), Style::RunName, at, Anchor::Middle, label);
    }
    /// The name of a run beside its row, where there is room.
    pub(super) fn run_name(&self, canvas: &mut Canvas, run: usize, center: Fx) {
        if self.narrow {
            return;
        }
        let right = self.x0 - 9 - if self.compares() { 26 } else { 0 };
        let name = shorten(&self.runs[run].name, px(right - self.margin), Style::Quiet.size());
        let at = (px(self.margin), center + px(4));
        canvas.text(id(run, "name", 0, 0), Style::Quiet, at, Anchor::Start, &name);
    }

    /// Draws every lane that is shown; returns where the last one ends.
    pub(super) fn lanes(&self, canvas: &mut Canvas, top: Fx) -> Fx {
        let mut y = top;
        let mut ribbons = false;
        for lane in self.view.shown(self.limits) {
            // They end where the sector axis begins.
            if matches!(lane, Lane::Requests | Lane::Device) && !ribbons {
                y = lanes::device::ribbons(self, canvas, y);
                ribbons = true;
            }
            if self.narrow {
                self.name(canvas, lane, y + px(12));
                y += px(NAME);
            } else {
                self.name(canvas, lane, y + px(12));
            }
            let height = match lane {
                Lane::File => lanes::file::draw(self, canvas, y),
                Lane::Cache => lanes::cache::draw(self, canvas, y),
                Lane::Mapping => lanes::mapping::draw(self, canvas, y),
                Lane::Bios => lanes::bios::draw(self, canvas, y),
                Lane::Requests => lanes::requests::draw(self, canvas, y),
                Lane::Device => lanes::device::draw(self, canvas, y),
                Lane::Members => lanes::members::draw(self, canvas, y),
                Lane::Tally => lanes::tally::draw(self, canvas, y),
                Lane::Left => lanes::left::draw(self, canvas, y),
                Lane::Marks => lanes::marks::draw(self, canvas, y),
                Lane::Order => lanes::order::draw(self, canvas, y),
                Lane::Returns => lanes::returns::draw(self, canvas, y),
                Lane::History | Lane::Checks => lanes::history::draw(self, canvas, lane, y),
            };
            y += height + px(GAP);
        }
        y - px(GAP)
    }
    fn name(&self, canvas: &mut Canvas, lane: Lane, y: Fx) {
        let at = (px(self.margin), y);
        // The plates of high rows stand below the name.
        let high = self.full(lane) && lane.is_high();
        let plate = if self.compares() && !high { 19 } else { 0 };
        let room = px(self.x0 - 9 - plate - self.margin);
        let style = Style::LaneName;
        let name = if self.narrow {
            lane.name().to_owned()
        } else {
            shorten(lane.name(), room.max(px(74)), style.size())
        };
        canvas.text(id(0, "lane", lane as u64, 0), style, at, Anchor::Start, &name);
    }
    /// The claim; returns where it ends.
    pub(super) fn claim(&self, canvas: &mut Canvas, top: Fx) -> Fx {
        let Some(title) = &self.view.title else { return top };
        let style = Style::Claim;
        let mut y = top;
        let lines = wrap(title, px(self.x1 - self.margin), style.size());
        for (at, line) in lines.iter().enumerate() {
            y += px(22);
            let place = (px(self.margin), y - px(5));
            canvas.text(id(0, "claim", 0, at as u16), style, place, Anchor::Start, line);
        }
        y + px(10)
    }
}

/// The breaks of an axis, drawn across a lane; `n` tells the rows of a lane apart.
pub(super) fn breaks(
    canvas: &mut Canvas,
    part: &'static str,
    axis: &Axis,
    rows: (Fx, Fx),
    n: usize,
) {
    for (at, x) in axis.breaks().enumerate() {
        for (k, dx) in [px(-3), px(2)].into_iter().enumerate() {
            let mark = id(n, part, at as u64, k as u16);
            canvas.line(mark, Style::Axis, (x + dx - px(2), rows.1), (x + dx + px(3), rows.0));
        }
    }
}

/// Sizes of a run's row in a lane.
pub(super) struct Row {
    pub(super) height: i32,
    pub(super) gap: i32,
    /// Where the plate stands, from the row's top.
    pub(super) center: i32,
}

/// The area between two heights.
pub(super) const fn band(x0: Fx, x1: Fx, y0: Fx, y1: Fx) -> Area {
    Area::new(x0, y0, x1, y1)
}
