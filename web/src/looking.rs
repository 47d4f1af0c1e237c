//! What the viewer looks at on the picture: the cursor on a thing, the inspector, and the part of
//! the file that is in view. It knows no browser.

use folioscope_core::scene::Scene;
use folioscope_core::scene::fixed::px;
use folioscope_core::scene::spots::{Key, Move, Spot, find, first, nearest, neighbour};
use folioscope_core::units::{FileRange, Pos};

/// Fewest blocks that are in view.
const FEWEST: u64 = 8;
/// Parts of the way that a view is moved by.
pub(crate) const PARTS: u32 = 1000;

/// What a viewer does with the picture.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Glance {
    /// Points at a place, in pixels.
    At(i32, i32),
    /// The picture takes the focus: the cursor appears.
    Focus,
    /// Goes on with the cursor.
    Go(Move),
    /// Opens the inspector for what is under the cursor.
    Open,
    /// Closes it; once more, the cursor goes.
    Close,
    /// Half as much of the file, around the byte at this pixel or the cursor.
    In(Option<i32>),
    /// Twice as much.
    Out(Option<i32>),
    /// All of it.
    Fit,
    /// To where so many thousandths of the file lie before the view.
    To(u32),
}

/// What is looked at.
#[derive(Default)]
pub(crate) struct Looking {
    /// The thing under the cursor.
    pub(crate) cursor: Option<Key>,
    /// Whether its details are shown.
    pub(crate) inspects: bool,
    /// The part of the file that is in view; none = what the lesson or the run says.
    pub(crate) range: Option<FileRange>,
}

/// The spans of the file that there are to see, one behind another without the gaps.
struct Way<'a>(&'a [(u64, u64)]);

impl Way<'_> {
    fn len(&self) -> u64 {
        self.0.iter().map(|(start, end)| end - start).sum()
    }
    /// How much of it lies before a byte.
    fn of_byte(&self, byte: u64) -> u64 {
        let before = |(start, end): &(u64, u64)| byte.clamp(*start, *end) - start;
        self.0.iter().map(before).sum()
    }
    /// The byte behind so much of it; at a gap the one before it, or the one behind.
    fn byte(&self, mut at: u64, behind: bool) -> u64 {
        for (start, end) in self.0 {
            let len = end - start;
            if at < len || (at == len && !behind) {
                return start + at;
            }
            at -= len;
        }
        self.0.last().map_or(0, |(_, end)| *end)
    }
    /// The part of it that a picture shows.
    fn shown(&self, scene: &Scene) -> (u64, u64) {
        let (first, last) = (scene.axis.first(), scene.axis.last());
        let byte = |at: Option<u64>| at.map_or(0, |byte| self.of_byte(byte));
        (byte(first.map(|span| span.start)), byte(last.map(|span| span.end)))
    }
    /// So much of it from there on as a range of the file, in whole blocks; none if that is all.
    fn range(&self, from: u64, len: u64, block: u64) -> Option<FileRange> {
        let all = self.len();
        let len = len.max(FEWEST * block) / block * block;
        if len >= all {
            return None;
        }
        let from = from.min(all - len) / block * block;
        let (start, end) = (self.byte(from, true), self.byte(from + len, false));
        Some(FileRange::between(Pos::new(start), Pos::new(end.max(start + block))))
    }
}

impl Looking {
    /// Carries it out. Scene and things are those of the picture that is shown, `spans` what there
    /// is to see of the file.
    pub(crate) fn glance(
        &mut self,
        glance: Glance,
        (scene, spots): (&Scene, &[Spot]),
        spans: &[(u64, u64)],
    ) {
        let here = self.cursor.and_then(|key| find(spots, key)).copied();
        let way = Way(spans);
        let (from, to) = way.shown(scene);
        let block = scene.block.max(1);
        match glance {
            Glance::At(x, y) => {
                let found = nearest(spots, px(x), px(y)).map(|spot| spot.key);
                self.inspects = found.is_some();
                self.cursor = found.or(self.cursor);
            }
            Glance::Focus => {
                if here.is_none() {
                    self.cursor = first(spots).map(|spot| spot.key);
                }
            }
            Glance::Go(to) => {
                let next = match here {
                    Some(here) => neighbour(spots, here, to).or_else(|| find(spots, here.key)),
                    None => first(spots),
                };
                self.cursor = next.map(|spot| spot.key);
            }
            Glance::Open => self.inspects = self.cursor.is_some(),
            Glance::Close => {
                if !self.inspects {
                    self.cursor = None;
                }
                self.inspects = false;
            }
            Glance::In(at) | Glance::Out(at) => {
                let cursor = here.map(|spot| (spot.x0 + spot.x1) / 2);
                let fixed = at.map(px).or(cursor).map(|x| way.of_byte(scene.byte_at(x)));
                let (wide, fixed) = (to - from, fixed.unwrap_or(u64::midpoint(from, to)));
                let len = if matches!(glance, Glance::In(_)) { wide / 2 } else { wide * 2 };
                // The byte that is zoomed at stays where it is.
                let before = u128::from(fixed.saturating_sub(from)) * u128::from(len);
                let before = (before / u128::from(wide.max(1))) as u64;
                self.range = way.range(fixed.saturating_sub(before), len, block);
            }
            Glance::Fit => self.range = None,
            Glance::To(part) => {
                let len = to - from;
                let room = u128::from(way.len().saturating_sub(len));
                let from = room * u128::from(part.min(PARTS)) / u128::from(PARTS);
                self.range = way.range(from as u64, len, block);
            }
        }
    }
}

/// Where a view stands on the way, in thousandths; none where everything is in view.
pub(crate) fn part(scene: &Scene, spans: &[(u64, u64)]) -> Option<u32> {
    let way = Way(spans);
    let (from, to) = way.shown(scene);
    let room = way.len().checked_sub(to - from).filter(|room| *room > 0)?;
    Some((u128::from(from) * u128::from(PARTS) / u128::from(room)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use folioscope_core::scene::Stretch;
    use folioscope_core::scene::fixed::Fx;

    const SPANS: [(u64, u64); 2] = [(0, 65_536), (1 << 20, (1 << 20) + 65_536)];

    fn scene(spans: &[(u64, u64)]) -> Scene {
        let wide = px(1000) / i32::try_from(spans.len()).expect("few");
        let stretch = |(at, (start, end)): (usize, &(u64, u64))| {
            let x0 = wide * i32::try_from(at).expect("few");
            Stretch { start: *start, end: *end, x0, x1: x0 + wide }
        };
        Scene {
            axis: spans.iter().enumerate().map(stretch).collect(),
            block: 4096,
            ..Scene::default()
        }
    }
    fn shown(looking: &Looking) -> Scene {
        let Some(range) = looking.range else { return scene(&SPANS) };
        let (from, to) = (range.start().get(), range.end().get());
        let inside = SPANS.map(|(start, end)| (start.max(from), end.min(to)));
        scene(&inside.into_iter().filter(|(start, end)| start < end).collect::<Vec<_>>())
    }
    fn bytes(scene: &Scene) -> u64 {
        scene.axis.iter().map(|span| span.end - span.start).sum()
    }

    #[test]
    fn in_halves_out_doubles_and_fit_shows_everything() {
        let mut looking = Looking::default();
        let mut seen = vec![bytes(&shown(&looking))];
        for _ in 0..5 {
            looking.glance(Glance::In(None), (&shown(&looking), &[]), &SPANS);
            seen.push(bytes(&shown(&looking)));
        }
        assert_eq!(seen, [131_072, 65_536, 32_768, 32_768, 32_768, 32_768]);
        looking.glance(Glance::Out(None), (&shown(&looking), &[]), &SPANS);
        assert_eq!(bytes(&shown(&looking)), 65_536);
        looking.glance(Glance::Fit, (&shown(&looking), &[]), &SPANS);
        assert_eq!(looking.range, None);
    }

    #[test]
    fn a_view_goes_over_the_whole_way_and_keeps_its_length() {
        let mut looking = Looking::default();
        looking.glance(Glance::In(Some(0)), (&shown(&looking), &[]), &SPANS);
        assert_eq!(part(&shown(&looking), &SPANS), Some(0));
        for to in [0, 250, 500, 1000] {
            looking.glance(Glance::To(to), (&shown(&looking), &[]), &SPANS);
            let scene = shown(&looking);
            assert_eq!(bytes(&scene), 65_536, "at {to}");
            let found = part(&scene, &SPANS).expect("not everything");
            assert!(found.abs_diff(to) <= 62, "{found} is not {to}");
        }
        assert_eq!(shown(&looking).axis.last().map(|span| span.end), Some(SPANS[1].1));
    }

    #[test]
    fn what_is_zoomed_at_stays_under_the_pointer() {
        let mut looking = Looking::default();
        let pointer = 900;
        let before = shown(&looking).byte_at(px(pointer));
        looking.glance(Glance::In(Some(pointer)), (&shown(&looking), &[]), &SPANS);
        let after = shown(&looking).byte_at(px(pointer));
        assert!(before.abs_diff(after) <= 8192, "{before} went to {after}");
        assert_eq!(
            shown(&looking).byte_at(Fx::ZERO).min(before),
            shown(&looking).byte_at(Fx::ZERO)
        );
    }
}
