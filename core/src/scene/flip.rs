//! Several pictures as one that moves: an SVG that shows one after another by itself, again and
//! again, and stands still at the last for whoever wants less motion.
//!
//! Marks that stay from picture to picture are written once; CSS says in which pictures a mark is
//! seen. Two pictures a second cannot flash. Every picture has the height of the highest.

use super::draw::{Id, Mark, Shape, Style};
use super::fixed::{Fx, px};
use super::svg::{Head, definitions, style, write_marks};
use super::{GROUND, Scene};
use crate::sort::sort;
use core::fmt::Write as _;
use thiserror::Error;

/// Most pictures.
pub const MAX_FRAMES: usize = 240;
/// Longest file, in bytes.
pub const MAX_BYTES: usize = 4 << 20;
/// Milliseconds that a picture stays.
const BEAT: u32 = 500;
/// Beats that the last one stays.
const REST: usize = 4;
/// Words of a set of pictures.
const WORDS: usize = MAX_FRAMES.div_ceil(64);

/// Why pictures do not become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum FlipError {
    /// None, or more than one file can take.
    #[error(
        "the range has {0} moments, and an animated picture shows 1 to {MAX_FRAMES}: choose a shorter range"
    )]
    Frames(usize),
    /// They would make too long a file.
    #[error(
        "the animated picture would be longer than {} MiB: choose a shorter range, or show less of the file",
        MAX_BYTES >> 20
    )]
    TooLong,
}

/// In which pictures a mark is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
struct Frames([u64; WORDS]);

impl Frames {
    const fn one(frame: usize) -> Self {
        let mut words = [0; WORDS];
        words[frame / 64] = 1 << (frame % 64);
        Self(words)
    }
    const fn has(self, frame: usize) -> bool {
        self.0[frame / 64] >> (frame % 64) & 1 == 1
    }
    fn join(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word |= other);
    }
}

/// Pictures on their way to become one.
#[derive(Default, Debug)]
pub struct Flip {
    /// In an order that is that of every picture.
    marks: Vec<(Mark, Frames)>,
    /// The last picture, without its marks.
    last: Option<Scene>,
    width: u32,
    height: u32,
    count: usize,
}

impl Flip {
    /// Adds a picture.
    pub fn push(&mut self, mut scene: Scene) -> Result<(), FlipError> {
        if self.count == MAX_FRAMES {
            return Err(FlipError::Frames(self.count + 1));
        }
        let here = Frames::one(self.count);
        let old = core::mem::take(&mut self.marks);
        let mut places: Vec<(Id, usize)> =
            old.iter().enumerate().map(|(at, (mark, _))| (mark.id, at)).collect();
        sort(&mut places);
        let mut from = 0;
        for mark in scene.marks.drain(..).filter(|mark| mark.id != GROUND) {
            let first = places.partition_point(|place| *place < (mark.id, from));
            let mut known = places[first..].iter().take_while(|(id, _)| *id == mark.id);
            let Some((_, found)) = known.find(|(_, at)| old[*at].0 == mark) else {
                self.marks.push((mark, here));
                continue;
            };
            self.marks.extend_from_slice(&old[from..=*found]);
            if let Some((_, frames)) = self.marks.last_mut() {
                frames.join(here);
            }
            from = found + 1;
        }
        self.marks.extend_from_slice(&old[from..]);
        (self.width, self.height) = (self.width.max(scene.width), self.height.max(scene.height));
        self.last = Some(scene);
        self.count += 1;
        Ok(())
    }

    /// The pictures as one SVG document.
    pub fn render(&self) -> Result<String, FlipError> {
        let last = self.last.as_ref().ok_or(FlipError::Frames(0))?;
        let mut out = String::new();
        self.write(&mut out, last).expect("a String takes everything");
        if out.len() > MAX_BYTES { Err(FlipError::TooLong) } else { Ok(out) }
    }

    fn write(&self, out: &mut String, last: &Scene) -> core::fmt::Result {
        let Self { width, height, count, .. } = self;
        let prefix = &last.prefix;
        let all = (0..*count).fold(Frames::default(), |mut all, frame| {
            all.join(Frames::one(frame));
            all
        });
        let some = self.marks.iter().map(|(_, frames)| *frames).filter(|frames| *frames != all);
        let mut sets: Vec<Frames> = some.collect();
        sort(&mut sets);
        sets.dedup();
        let title = format!("{} ({count} moments)", last.title);
        let head = Head { width: *width, height: *height, prefix, title: &title, alt: &last.alt };
        head.write(out)?;
        let mut css = style(last.theme, prefix);
        for (set, frames) in sets.iter().enumerate() {
            self.rules(&mut css, &format!("{prefix}-k{set}"), *frames)?;
        }
        writeln!(out, "<style>\n{css}</style>")?;
        writeln!(out, "{}", definitions(prefix))?;
        let shape = Shape::Rect {
            x: Fx::ZERO,
            y: Fx::ZERO,
            w: wide(*width),
            h: wide(*height),
            r: Fx::ZERO,
        };
        let ground = Mark { id: GROUND, shape, style: Style::Ground, pattern: None };
        write_marks(out, [&ground], prefix)?;
        for group in self.marks.chunk_by(|one, other| one.1 == other.1) {
            let set = sets.binary_search(&group[0].1).ok();
            if let Some(set) = set {
                writeln!(out, "<g class=\"{prefix}-k{set}\">")?;
            }
            write_marks(out, group.iter().map(|(mark, _)| mark), prefix)?;
            if set.is_some() {
                writeln!(out, "</g>")?;
            }
            if out.len() > MAX_BYTES {
                return Ok(());
            }
        }
        writeln!(out, "</svg>")
    }
    /// When marks of these pictures are seen. Without motion they are those of the last.
    fn rules(&self, css: &mut String, name: &str, frames: Frames) -> core::fmt::Result {
        let beats = self.count + REST - 1;
        if !frames.has(self.count - 1) {
            writeln!(css, ".{name}{{visibility:hidden}}")?;
        }
        write!(css, "@keyframes {name}{{")?;
        let mut seen = None;
        for frame in 0..self.count {
            let is_in = frames.has(frame);
            if seen != Some(is_in) {
                let word = if is_in { "visible" } else { "hidden" };
                write!(css, "{}%{{visibility:{word}}}", percent(frame, beats))?;
            }
            seen = Some(is_in);
        }
        let time = beats as u32 * BEAT;
        writeln!(
            css,
            "}}\n@media (prefers-reduced-motion:no-preference){{.{name}{{animation:{name} {time}ms step-end infinite}}}}"
        )
    }
}

/// A part of a hundred with four places.
fn percent(part: usize, of: usize) -> String {
    let parts = part as u64 * 1_000_000 / of as u64;
    let text = format!("{}.{:04}", parts / 10_000, parts % 10_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Pixels of a picture, which are few.
fn wide(pixels: u32) -> Fx {
    px(i32::try_from(pixels).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::DirtyTracking;
    use crate::scene::fixture::{overwrites, sides};
    use crate::scene::render;
    use crate::scene::svg::render_svg;
    use crate::scene::view::View;

    /// Pictures of a run, one a step.
    fn pictures(steps: core::ops::RangeInclusive<usize>) -> Vec<Scene> {
        let [mut a, mut b] = [DirtyTracking::PerFolio, DirtyTracking::PerBlock]
            .map(|tracking| overwrites(tracking, 2, &[5, 19]));
        steps
            .map(|step| {
                a.seek(step);
                b.seek(step);
                render(&sides(&a, &b), &View::default())
            })
            .collect()
    }
    fn flip(pictures: &[Scene]) -> Flip {
        let mut flip = Flip::default();
        for scene in pictures {
            flip.push(scene.clone()).expect("they are few");
        }
        flip
    }
    /// The lines of marks that a viewer sees at a beat, from the text alone.
    fn seen(svg: &str, beat: usize, beats: usize) -> Vec<&str> {
        let visible = |class: &str| {
            let rule = format!("@keyframes {class}{{");
            let from = svg.find(&rule).expect("it has frames") + rule.len();
            let frames = svg[from..].lines().next().expect("a line");
            let now = beat as f64 / beats as f64 * 100.0 + 1e-3;
            let mut seen = "hidden";
            for frame in frames.trim_end_matches('}').split('}') {
                let (at, word) = frame.split_once("%{visibility:").expect("a frame");
                if at.parse::<f64>().expect("a number") <= now {
                    seen = word;
                }
            }
            seen == "visible"
        };
        let body = &svg[svg.find("</defs>").expect("patterns")..];
        let mut shown = true;
        let mut out = Vec::new();
        for line in body.lines().skip(1) {
            if let Some(class) = line.strip_prefix("<g class=\"") {
                shown = visible(class.trim_end_matches("\">"));
            } else if line == "</g>" {
                shown = true;
            } else if shown && line != "</svg>" {
                out.push(line);
            }
        }
        out
    }

    #[test]
    fn each_moment_shows_its_picture() {
        let pictures = pictures(0..=20);
        let svg = flip(&pictures).render().expect("it is short");
        let beats = pictures.len() + REST - 1;
        for beat in 0..beats {
            let still = render_svg(&pictures[beat.min(pictures.len() - 1)]);
            let wanted = seen(&still, 0, 1);
            // The ground is as high as the highest.
            assert_eq!(seen(&svg, beat, beats)[1..], wanted[1..], "{beat}");
        }
    }

    #[test]
    fn what_stays_is_written_once_and_without_motion_it_is_the_last_picture() {
        let pictures = pictures(0..=20);
        let svg = flip(&pictures).render().expect("it is short");
        let all: usize = pictures.iter().map(|scene| render_svg(scene).len()).sum();
        assert!(svg.len() * 4 < all, "{} of {all}", svg.len());
        let moving = svg.matches("animation:").count();
        assert_eq!(svg.matches("(prefers-reduced-motion:no-preference){.f-k").count(), moving);
        assert!(moving > 3 && svg.contains(" (21 moments)</title>"));
        let one = flip(&pictures[..1]).render().expect("it is short");
        assert!(!one.contains("animation:"), "one picture stands still");
    }

    #[test]
    fn too_many_and_none_are_refused() {
        assert_eq!(Flip::default().render(), Err(FlipError::Frames(0)));
        let one = pictures(3..=3).remove(0);
        let mut flip = Flip::default();
        for _ in 0..MAX_FRAMES {
            assert_eq!(flip.push(one.clone()), Ok(()));
        }
        assert_eq!(flip.push(one), Err(FlipError::Frames(MAX_FRAMES + 1)));
        assert_eq!(percent(1, 3), "33.3333");
        assert_eq!(percent(0, 3), "0");
    }
}
