//! Direct manipulation: what on the picture stands for which key of the scenario, and which value
//! it means when it is dragged somewhere. It knows no browser.

use crate::browser::whole;
use crate::edit::Change;
use crate::edit::size::written;
use folioscope_core::scenario::size::parse_size;
use folioscope_core::scene::Scene;
use folioscope_core::scene::draw::{Mark, Shape};
use folioscope_core::scene::fixed::Fx;
use folioscope_core::scene::spots::{Key, Move, Spot, Thing};
use folioscope_core::scene::view::Lane;
use folioscope_core::service::{Checked, Section, quoted};
use folioscope_core::units::SECTOR_SIZE;

/// Most grips of a kind: more could not be told apart.
const MOST: usize = 64;
/// Largest order of a folio, members of an array, and doublings that are offered.
const MAX_ORDER: u32 = 11;
const MAX_MEMBERS: u64 = 16;
const DOUBLINGS: u32 = 16;
/// Pixels that are no drag yet.
const STILL: f64 = 4.0;
/// Smallest chunk, and bytes by which a partition is moved.
const PAGE: u64 = 4096;

/// What a grip changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// A write of these bytes is added.
    Write,
    /// The largest order of folios.
    Order,
    /// The chunk of an array.
    Chunk,
    /// How many members it has.
    Members,
    /// Where the partition begins.
    Start,
    /// The longest request of the queue.
    Longest,
    /// The size that the queue likes best: its stripe.
    Stripe,
}

impl What {
    /// The table of the scenario, and its key.
    pub(crate) const fn key(self) -> (&'static str, &'static str) {
        match self {
            Self::Write => ("op", "at"),
            Self::Order => ("world", "max_folio_order"),
            Self::Chunk => ("array", "chunk"),
            Self::Members => ("array", "members"),
            Self::Start => ("partition", "start"),
            Self::Longest => ("queue", "max_size"),
            Self::Stripe => ("queue", "io_opt"),
        }
    }
    /// What keys change on a thing, and whether upwards.
    pub(crate) const fn of_key(key: Key, to: Move) -> Option<(Self, bool)> {
        let more = matches!(to, Move::Right | Move::Down);
        let across = matches!(to, Move::Left | Move::Right);
        let what = match (key.lane, key.thing) {
            (Lane::Cache, Thing::Folio(_) | Thing::Blocks(_)) if across => Self::Order,
            (Lane::Members, Thing::Chunk { .. }) if across => Self::Chunk,
            (Lane::Members, Thing::Chunk { .. }) => Self::Members,
            (Lane::Device, Thing::Bio(_)) if across => Self::Start,
            (Lane::Device, Thing::Bio(_)) => Self::Stripe,
            (Lane::Requests, Thing::Request(_)) if across => Self::Longest,
            _ => return None,
        };
        Some((what, more))
    }
}

/// A form as one of its settings sees it.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) form: &'a Checked,
    /// The setting whose run is edited.
    pub(crate) setting: &'a str,
}

impl<'a> Seen<'a> {
    /// The index of the table that a value of this setting comes from, or would go to: its own
    /// where that has the key, else that of the scenario.
    pub(crate) fn section(&self, (table, key): (&str, &str)) -> Option<usize> {
        let mine = |section: &Section| {
            section.table.strip_prefix("variant.") == Some(table)
                && section.words == self.setting
                && section.fields.iter().any(|field| field.key == key && field.value.is_some())
        };
        let sections = || self.form.sections.iter();
        let own = sections().position(mine);
        own.or_else(|| sections().position(|section| section.table == table))
    }
    fn text(&self, table: &str, key: &str) -> Option<&'a str> {
        let fields = &self.form.sections[self.section((table, key))?].fields;
        fields.iter().find(|field| field.key == key)?.value.as_deref()
    }
    fn size(&self, table: &str, key: &str) -> Option<u64> {
        Some(parse_size(self.text(table, key)?).ok()?.get())
    }
}

/// A place of the picture that can be dragged. Lengths are in pixels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Grip {
    pub(crate) what: What,
    /// Left, top, width, height.
    pub(crate) area: [f64; 4],
    /// The value at `zero`, and how much more a pixel means.
    base: u64,
    per: f64,
    /// None: wherever it was taken.
    zero: Option<f64>,
    /// Smallest value, and unit.
    unit: u64,
}

fn pixels(x: Fx) -> f64 {
    f64::from(x.get()) / 16.0
}

impl Grip {
    fn new(what: What, area: [f64; 4]) -> Self {
        Self { what, area, base: 0, per: 1.0, zero: None, unit: 1 }
    }
    /// Whether it moves up and down.
    pub(crate) fn is_down(&self) -> bool {
        self.what == What::Members
    }
    fn snapped(&self, value: f64, fine: bool) -> u64 {
        let steps = |unit: u64| whole(value / unit as f64 + 0.5) * unit;
        match self.what {
            What::Write => steps(if fine { 1 } else { self.unit }),
            What::Start => steps(if fine { SECTOR_SIZE } else { self.unit }),
            What::Members => steps(1).clamp(self.unit, MAX_MEMBERS),
            What::Order | What::Chunk | What::Longest | What::Stripe => {
                let most = if self.what == What::Order { MAX_ORDER } else { DOUBLINGS };
                let mut all = (0..=most).map(|n| self.unit << n);
                // Half way, as the eye halves: in bytes.
                let fits = |one: &u64| value < *one as f64 * 1.5;
                all.find(fits).unwrap_or(self.unit << most)
            }
        }
    }
    /// The text of a value.
    fn text(&self, value: u64) -> String {
        match self.what {
            What::Order => (value / self.unit.max(1)).trailing_zeros().to_string(),
            What::Members => value.to_string(),
            What::Write | What::Chunk | What::Start | What::Longest | What::Stripe => {
                written(value)
            }
        }
    }
}

/// All of a picture whose scenario has this form. Of two runs the last one is edited.
pub(crate) fn grips(scene: &Scene, spots: &[Spot], form: Seen<'_>) -> Vec<Grip> {
    let mut all = Vec::new();
    let lines = |part: &'static str| {
        let mine = scene.marks.iter().filter(move |mark| mark.id.part == part);
        mine.filter_map(|mark| match mark.shape {
            Shape::Line { from, to } => Some((mark, pixels(from.0), pixels(to.0), pixels(from.1))),
            Shape::Rect { .. } | Shape::Path(_) | Shape::Text { .. } => None,
        })
    };
    for (_, x0, x1, y) in lines("axis") {
        let unit = scene.block.max(1);
        all.push(Grip { unit, ..Grip::new(What::Write, [x0, y - 18.0, x1 - x0, 24.0]) });
    }
    let last = |lane: Lane| {
        let mine = spots.iter().filter(move |spot| spot.key.lane == lane);
        let run = mine.clone().map(|spot| spot.key.run).max();
        mine.filter(move |spot| Some(spot.key.run) == run)
    };
    // The right edge of a box whose width stands for a value.
    let edge = |what, spot: &Spot, value: u64, unit| {
        let (x0, x1, y0, y1) = (pixels(spot.x0), pixels(spot.x1), pixels(spot.y0), pixels(spot.y1));
        let (per, zero) = (value as f64 / (x1 - x0), Some(x0));
        Grip { per, zero, unit, ..Grip::new(what, [x1 - 4.0, y0, 8.0, y1 - y0]) }
    };
    if let Some(page) = form.size("world", "page_size") {
        let folios = last(Lane::Cache).filter(|spot| matches!(spot.key.thing, Thing::Folio(_)));
        for spot in folios.take(MOST) {
            let (start, end) = scene.bytes_of(spot);
            let value = end - start;
            let whole = value.is_power_of_two() && start % value == 0 && value >= page;
            if whole {
                all.push(edge(What::Order, spot, value, page));
            }
        }
    }
    if let Some(chunk) = form.size("array", "chunk") {
        all.extend(last(Lane::Members).take(MOST).map(|spot| edge(What::Chunk, spot, chunk, PAGE)));
    }
    if let Some(level) = form.text("array", "level") {
        let least = match level {
            "raid6" => 4,
            "raid4" | "raid5" => 3,
            _ => 2,
        };
        all.extend(members(&last(Lane::Members).copied().collect::<Vec<_>>(), least));
    }
    // Bytes of the device a pixel: between two ticks that a gap parts it means more.
    let ticks: Vec<(&Mark, f64)> = lines("stick").map(|(mark, x, ..)| (mark, x)).collect();
    let each = ticks.windows(2).map(|two| {
        let sectors = two[1].0.id.n as f64 - two[0].0.id.n as f64;
        sectors * SECTOR_SIZE as f64 / (two[1].1 - two[0].1)
    });
    let per = each.filter(|per| *per > 0.0).fold(f64::MAX, f64::min);
    if per < f64::MAX {
        if let Some(base) = form.size("partition", "start") {
            for (_, x0, x1, y) in lines("saxis") {
                let area = [x0, y - 2.0, x1 - x0, 22.0];
                all.push(Grip { base, per, unit: PAGE, ..Grip::new(What::Start, area) });
            }
        }
        if let Some(base) = form.size("queue", "io_opt").filter(|size| *size > 0) {
            // Where its first stripe on the axis ends, or at the end of the axis.
            let (first, x) = ticks.first().map_or((0, 0.0), |(mark, x)| (mark.id.n, *x));
            let away = base - first * SECTOR_SIZE % base;
            for (_, _, x1, y) in lines("saxis") {
                let x = (x + away as f64 / per).min(x1);
                let area = [x - 5.0, y - 20.0, 10.0, 34.0];
                all.push(Grip { base, per, unit: PAGE, ..Grip::new(What::Stripe, area) });
            }
        }
        if form.section(("queue", "max_size")).is_some() {
            let one = |spot| Grip { per, ..edge(What::Longest, spot, 1, PAGE) };
            all.extend(last(Lane::Requests).take(MOST).map(one));
        }
    }
    all
}

/// The lower edge of an array.
fn members(cells: &[Spot], unit: u64) -> Option<Grip> {
    let member = |spot: &Spot| {
        if let Thing::Chunk { member, .. } = spot.key.thing { member } else { 0 }
    };
    let first = cells.iter().find(|spot| member(spot) == 0)?;
    let low = cells.iter().max_by_key(|spot| member(spot))?;
    let right = cells.iter().map(|spot| spot.x1).max()?;
    let rows = f64::from(member(low)).max(1.0);
    let zero = pixels(first.y0);
    let pitch = (pixels(low.y0) - zero) / rows;
    let area = [pixels(first.x0), pixels(low.y1) - 2.0, pixels(right - first.x0), 9.0];
    Some(Grip { per: 1.0 / pitch, zero: Some(zero), unit, ..Grip::new(What::Members, area) })
}

/// A grip that was taken, and where it is by now.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Drag {
    pub(crate) grip: Grip,
    from: (f64, f64),
    at: (f64, f64),
    fine: bool,
}

/// What a drag means where it is.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Meant {
    /// In words.
    pub(crate) words: String,
    /// The stretch that it leads to: left, top, width, height.
    pub(crate) area: [f64; 4],
    /// Other values that it could have, each a line: from x, from y, across, down.
    pub(crate) ghosts: Vec<[f64; 4]>,
    value: String,
    /// First byte and length of a write.
    range: (u64, u64),
}

impl Drag {
    pub(crate) const fn new(grip: Grip, at: (f64, f64)) -> Self {
        Self { grip, from: at, at, fine: false }
    }
    /// The pointer went somewhere.
    pub(crate) const fn to(&mut self, at: (f64, f64), fine: bool) {
        (self.at, self.fine) = (at, fine);
    }
    /// Whether it is a click so far.
    pub(crate) fn is_still(&self) -> bool {
        let (dx, dy) = (self.at.0 - self.from.0, self.at.1 - self.from.1);
        dx.abs().max(dy.abs()) < STILL
    }
    pub(crate) fn meant(&self, scene: &Scene) -> Meant {
        let Grip { what, area: [left, top, wide, tall], base, per, .. } = self.grip;
        if what == What::Write {
            return self.write(scene);
        }
        let pick = |at: (f64, f64)| if self.grip.is_down() { at.1 } else { at.0 };
        let zero = self.grip.zero.unwrap_or(pick(self.from));
        let value = base as f64 + (pick(self.at) - zero) * per;
        let value = self.grip.snapped(value, self.fine);
        let place = |value: u64| zero + (value as f64 - base as f64) / per;
        let text = self.grip.text(value);
        let units = 0..DOUBLINGS;
        let ghosts: Vec<f64> = match what {
            What::Order | What::Chunk | What::Longest | What::Stripe => units
                .map(|n| place(self.grip.snapped((self.grip.unit << n) as f64, false)))
                .collect(),
            What::Members => (self.grip.unit..=MAX_MEMBERS).map(place).collect(),
            What::Write | What::Start => Vec::new(),
        };
        let end =
            if self.grip.is_down() { f64::from(scene.height) } else { f64::from(scene.width) };
        let line = |at: f64| {
            if self.grip.is_down() { [left, at, wide, 0.0] } else { [at, top, 0.0, tall] }
        };
        let (from, to) = (zero.min(place(value)), zero.max(place(value)));
        let area = if self.grip.is_down() {
            [left, from, wide, to - from]
        } else {
            [from, top, to - from, tall]
        };
        let ghosts = ghosts.into_iter().filter(|at| *at <= end).map(line).collect();
        let words = format!("{} = {text}", what.key().1);
        Meant { words, area, ghosts, value: text, range: (0, 0) }
    }
    /// A write of all blocks from where it was taken to where it is, both included.
    fn write(&self, scene: &Scene) -> Meant {
        let end = scene.axis.last().map_or(1, |span| span.end);
        let byte = |x: f64| scene.byte_at(Fx::sixteenths((x * 16.0) as i32)).min(end - 1);
        let (a, b) = (byte(self.from.0), byte(self.at.0));
        let unit = if self.fine { 1 } else { self.grip.unit };
        let (start, end) = (a.min(b) / unit * unit, (a.max(b) / unit + 1) * unit);
        let [_, top, _, tall] = self.grip.area;
        let (x0, x1) = (pixels(scene.x_of(start)), pixels(scene.x_of(end)));
        let words = format!("write {} at {}", written(end - start), written(start));
        let area = [x0, top, (x1 - x0).max(1.0), tall];
        Meant { words, area, ghosts: Vec::new(), value: String::new(), range: (start, end - start) }
    }
    /// The change of the scenario; `after`: the operations that have started, `file`: the name of a
    /// file that is not the first.
    pub(crate) fn change(
        &self,
        scene: &Scene,
        form: Seen<'_>,
        place: (Option<usize>, Option<&str>),
    ) -> Option<Change> {
        let Meant { value, range: (at, len), .. } = self.meant(scene);
        let key = self.grip.what.key();
        Some(match self.grip.what {
            What::Write => write((at, len), place),
            What::Order
            | What::Chunk
            | What::Members
            | What::Start
            | What::Longest
            | What::Stripe => Change::Set(form.section(key)?, key.1.to_owned(), value),
        })
    }
}

/// A write that is added behind so many operations, or at the end.
pub(crate) fn write((at, len): (u64, u64), (after, file): (Option<usize>, Option<&str>)) -> Change {
    let size = |bytes: u64| format!("\"{}\"", written(bytes));
    let mut keys = vec![("do", "\"pwrite\"".to_owned())];
    keys.extend(file.map(|name| ("file", quoted(name))));
    keys.extend([("at", size(at)), ("len", size(len))]);
    Change::Op(after, keys)
}

#[cfg(test)]
mod tests;
