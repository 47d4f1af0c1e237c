//! Collects marks, and keeps the boxes of its texts apart: a label that fits nowhere is shortened
//! or dropped, never painted over another.

use super::draw::{Anchor, Id, Mark, Pattern, Shape, Style};
use super::fixed::{Fx, HALF, advance, fitting, px, text_width};

/// A box in the picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Area {
    pub(super) x0: Fx,
    pub(super) y0: Fx,
    pub(super) x1: Fx,
    pub(super) y1: Fx,
}

impl Area {
    pub(super) const fn new(x0: Fx, y0: Fx, x1: Fx, y1: Fx) -> Self {
        Self { x0, y0, x1, y1 }
    }
    pub(super) fn meets(self, other: Self) -> bool {
        self.x0 < other.x1 && other.x0 < self.x1 && self.y0 < other.y1 && other.y0 < self.y1
    }
}

/// The box that a text is budgeted.
pub(super) fn text_area(x: Fx, y: Fx, anchor: Anchor, text: &str, size: i32) -> Area {
    let width = text_width(text, size);
    let x0 = match anchor {
        Anchor::Start => x,
        Anchor::Middle => x - width / 2,
        Anchor::End => x - width,
    };
    Area::new(x0, y - px(size) * 4 / 5, x0 + width, y + px(size) / 5)
}

/// A label that is to stand somewhere: places and texts, the best first.
pub(super) struct Wanted {
    pub(super) places: [(Fx, Fx, Anchor); 2],
    pub(super) texts: Vec<String>,
}

/// Marks in the making.
#[derive(Default)]
pub(super) struct Canvas {
    pub(super) marks: Vec<Mark>,
    taken: Vec<Area>,
}

/// Makes an id.
pub(super) const fn id(run: usize, part: &'static str, n: u64, k: u16) -> Id {
    Id { run: run as u8, part, n, k }
}

impl Canvas {
    pub(super) fn push(&mut self, id: Id, style: Style, shape: Shape) {
        self.marks.push(Mark { id, shape, style, pattern: None });
    }
    /// A filled rectangle; nothing if it is empty.
    pub(super) fn fill(&mut self, id: Id, style: Style, area: Area) {
        let Area { x0, y0, x1, y1 } = area;
        if x0 < x1 && y0 < y1 {
            let shape = Shape::Rect { x: x0, y: y0, w: x1 - x0, h: y1 - y0, r: Fx::ZERO };
            self.push(id, style, shape);
        }
    }
    /// A rectangle with a one-pixel line that stays inside the area.
    pub(super) fn framed(&mut self, id: Id, style: Style, area: Area, r: i32) {
        let Area { x0, y0, x1, y1 } = area;
        if x0 + px(1) < x1 && y0 + px(1) < y1 {
            let (w, h) = (x1 - x0 - px(1), y1 - y0 - px(1));
            self.push(id, style, Shape::Rect { x: x0 + HALF, y: y0 + HALF, w, h, r: px(r) });
        } else {
            self.fill(id, style, area);
        }
    }
    /// A rectangle in a pattern.
    pub(super) fn pattern(&mut self, id: Id, pattern: Pattern, area: Area) {
        let before = self.marks.len();
        self.framed(id, pattern.style(), area, 0);
        for mark in &mut self.marks[before..] {
            mark.pattern = Some(pattern);
        }
    }
    pub(super) fn line(&mut self, id: Id, style: Style, from: (Fx, Fx), to: (Fx, Fx)) {
        self.push(id, style, Shape::Line { from, to });
    }
    /// A text that must stand.
    pub(super) fn text(&mut self, id: Id, style: Style, at: (Fx, Fx), anchor: Anchor, text: &str) {
        self.taken.push(text_area(at.0, at.1, anchor, text, style.size()));
        self.push(id, style, Shape::Text { x: at.0, y: at.1, anchor, text: text.to_owned() });
    }
    /// The first text and place that fit between two edges and meet no other text.
    pub(super) fn label(
        &mut self,
        id: Id,
        style: Style,
        edges: (Fx, Fx),
        places: &[(Fx, Fx, Anchor)],
        texts: &[&str],
    ) -> bool {
        for text in texts {
            for (x, y, anchor) in places {
                let area = text_area(*x, *y, *anchor, text, style.size());
                let inside = edges.0 <= area.x0 && area.x1 <= edges.1;
                if inside && !self.taken.iter().any(|other| other.meets(area)) {
                    self.text(id, style, (*x, *y), *anchor, text);
                    return true;
                }
            }
        }
        false
    }
    /// The highest place in every list of texts at which all of these labels fit at once; none
    /// where there is no such place.
    pub(super) fn level(&self, style: Style, edges: (Fx, Fx), labels: &[Wanted]) -> Option<usize> {
        let levels = labels.iter().map(|label| label.texts.len()).max()?;
        (0..levels).find(|level| {
            let mut more: Vec<Area> = Vec::new();
            labels.iter().all(|label| {
                let Some(text) = label.texts.get(*level).or(label.texts.last()) else {
                    return true;
                };
                let mut areas = label
                    .places
                    .iter()
                    .map(|(x, y, anchor)| text_area(*x, *y, *anchor, text, style.size()));
                let free = areas.find(|area| {
                    let inside = edges.0 <= area.x0 && area.x1 <= edges.1;
                    inside && !self.taken.iter().chain(&more).any(|other| other.meets(*area))
                });
                more.extend(free);
                free.is_some()
            })
        })
    }
    /// Keeps later labels off an area.
    pub(super) fn reserve(&mut self, area: Area) {
        self.taken.push(area);
    }
}

/// The text cut to what fits in `width`.
pub(super) fn shorten(text: &str, width: Fx, size: i32) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let most = fitting(width.get(), advance(size).get()).saturating_sub(1);
    let cut: String = text.chars().take(most).collect();
    format!("{cut}\u{2026}")
}

/// The text in lines no wider than `width`.
pub(super) fn wrap(text: &str, width: Fx, size: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line)
                if text_width(line, size) + text_width(" ", size) + text_width(word, size)
                    <= width =>
            {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) | None => lines.push(word.to_owned()),
        }
    }
    lines
}
