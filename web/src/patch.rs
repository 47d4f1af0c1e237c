//! The picture in the document: each mark is an element that lives as long as the mark does, and
//! from step to step only what changed is written. Parsing the whole picture anew would take longer
//! than a frame.

use crate::stage::{PREFIX, Picture};
use folioscope_core::scene::draw::{Id, Mark, Shape};
use folioscope_core::scene::svg::{self, element};
use folioscope_core::sort::sort;
use web_sys::{Document, Element};

const SVG: &str = "http://www.w3.org/2000/svg";
/// Says that they may.
const MOVING: &str = "data-moves";
/// Parts that are bytes on their way: they may move from place to place. Bits never do.
const MOVES: [&str; 9] =
    ["bio", "bioline", "cap", "biochg", "dev", "req", "reqline", "reqcut", "reqchg"];

/// What becomes of a mark that is to be shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// The element of this old mark is taken, where it stands.
    Stays(usize),
    /// The same, but it must go to another place in the order of painting.
    Goes(usize),
    /// It gets a new element.
    New,
}

/// What becomes of each new mark; an old one that none names goes away.
fn plan(old: &[Id], new: &[Id]) -> Vec<Fate> {
    let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let mut fates: Vec<Fate> = (0..same).map(Fate::Stays).collect();
    if same == new.len() {
        return fates;
    }
    let mut places: Vec<(Id, usize)> =
        old.iter().enumerate().skip(same).map(|(at, id)| (*id, at)).collect();
    sort(&mut places);
    let mut furthest = same;
    for id in &new[same..] {
        let at = places.binary_search_by(|place| place.0.cmp(id)).ok();
        fates.push(match at.map(|at| places[at].1) {
            Some(at) if at >= furthest => {
                furthest = at;
                Fate::Stays(at)
            }
            Some(at) => Fate::Goes(at),
            None => Fate::New,
        });
    }
    fates
}

/// The picture that stands in an element of the page.
struct Painted {
    host: Element,
    svg: Element,
    marks: Element,
    rings: Element,
    size: (u32, u32),
    shown: Vec<(Mark, Element)>,
    ringed: Vec<Mark>,
}

/// A place for a picture.
#[derive(Default)]
pub(crate) struct Painter(Option<Painted>);

impl Painter {
    /// Whether it stands in another element, or in none.
    pub(crate) fn is_elsewhere(&self, host: &Element) -> bool {
        self.0.as_ref().is_none_or(|painted| painted.host != *host)
    }
    /// Takes the picture away.
    pub(crate) fn clear(&mut self) {
        if let Some(painted) = self.0.take() {
            painted.host.set_inner_html("");
        }
    }
    /// Shows a picture there; `moves`: bytes may be seen moving to their new places.
    pub(crate) fn show(&mut self, host: &Element, picture: &Picture, moves: bool) {
        if self.is_elsewhere(host) {
            self.0 = Painted::new(host);
        }
        let document = web_sys::window().and_then(|window| window.document());
        let (Some(painted), Some(document)) = (&mut self.0, document) else { return };
        if moves != host.has_attribute(MOVING) {
            let _ = host.toggle_attribute(MOVING);
        }
        painted.patch(&document, picture);
    }
}

impl Painted {
    fn new(host: &Element) -> Option<Self> {
        host.set_inner_html(&svg::render_inner(0, 0, PREFIX, &[]));
        let svg = host.first_element_child()?;
        let document = host.owner_document()?;
        let group = || document.create_element_ns(Some(SVG), "g").ok();
        let (marks, rings) = (group()?, group()?);
        svg.append_child(&marks).ok()?;
        svg.append_child(&rings).ok()?;
        let host = host.clone();
        Some(Self { host, svg, marks, rings, size: (0, 0), shown: Vec::new(), ringed: Vec::new() })
    }

    fn patch(&mut self, document: &Document, picture: &Picture) {
        let size = (picture.scene.width, picture.scene.height);
        if self.size != size {
            let (width, height) = (size.0.to_string(), size.1.to_string());
            let _ = self.svg.set_attribute("width", &width);
            let _ = self.svg.set_attribute("height", &height);
            let _ = self.svg.set_attribute("viewBox", &format!("0 0 {width} {height}"));
            self.size = size;
        }
        self.patch_marks(document, &picture.scene.marks);
        if self.ringed != picture.rings {
            self.rings.set_text_content(None);
            for ring in &picture.rings {
                if let Some(made) = make(document, ring) {
                    let _ = made.set_attribute("class", ring.id.part);
                    let _ = self.rings.append_child(&made);
                }
            }
            self.ringed.clone_from(&picture.rings);
        }
    }

    fn patch_marks(&mut self, document: &Document, marks: &[Mark]) {
        let ids = |mark: &Mark| mark.id;
        let old: Vec<Id> = self.shown.iter().map(|(mark, _)| mark.id).collect();
        let new: Vec<Id> = marks.iter().map(ids).collect();
        let fates = plan(&old, &new);
        let mut before: Vec<Option<(Mark, Element)>> = self.shown.drain(..).map(Some).collect();
        // From the last mark to the first, so that each finds the one behind it in its place.
        let mut shown = Vec::with_capacity(marks.len());
        let mut behind: Option<Element> = None;
        for (mark, fate) in marks.iter().zip(&fates).rev() {
            let (kept, stays) = match fate {
                Fate::Stays(at) => (before[*at].take(), true),
                Fate::Goes(at) => (before[*at].take(), false),
                Fate::New => (None, false),
            };
            let kept = kept.filter(|(old, node)| {
                let fits = tag(old) == tag(mark);
                if fits {
                    change(node, old, mark);
                } else {
                    node.remove();
                }
                fits
            });
            let stays = stays && kept.is_some();
            let Some(node) = kept.map(|(_, node)| node).or_else(|| make(document, mark)) else {
                continue;
            };
            if !stays {
                let place = behind.as_ref().map(AsRef::as_ref);
                let _ = self.marks.insert_before(&node, place);
            }
            behind = Some(node.clone());
            shown.push((mark.clone(), node));
        }
        for (_, node) in before.into_iter().flatten() {
            node.remove();
        }
        shown.reverse();
        self.shown = shown;
    }
}

const fn tag(mark: &Mark) -> u8 {
    match mark.shape {
        Shape::Rect { .. } => 0,
        Shape::Line { .. } => 1,
        Shape::Path(_) => 2,
        Shape::Text { .. } => 3,
    }
}

/// The class of a mark, with what the page adds to it.
fn class(mark: &Mark, class: &str) -> String {
    if MOVES.contains(&mark.id.part) { format!("{class} moves") } else { class.to_owned() }
}

fn make(document: &Document, mark: &Mark) -> Option<Element> {
    let made = element(mark, PREFIX);
    let node = document.create_element_ns(Some(SVG), made.tag).ok()?;
    for (name, value) in &made.attributes {
        let moved = (*name == "class").then(|| class(mark, value));
        let _ = node.set_attribute(name, moved.as_ref().unwrap_or(value));
    }
    if let Some(text) = &made.text {
        node.set_text_content(Some(text));
    }
    Some(node)
}

/// Writes what is different about a mark of the same shape.
fn change(node: &Element, old: &Mark, new: &Mark) {
    if old == new {
        return;
    }
    let (before, after) = (element(old, PREFIX), element(new, PREFIX));
    for (name, value) in after.attributes.iter().filter(|one| !before.attributes.contains(one)) {
        let moved = (*name == "class").then(|| class(new, value));
        let _ = node.set_attribute(name, moved.as_ref().unwrap_or(value));
    }
    for (name, _) in &before.attributes {
        if !after.attributes.iter().any(|(other, _)| other == name) {
            let _ = node.remove_attribute(name);
        }
    }
    if before.text != after.text {
        node.set_text_content(after.text.as_deref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: &[u64]) -> Vec<Id> {
        numbers.iter().map(|n| Id { run: 0, part: "cell", n: *n, k: 0 }).collect()
    }
    /// What stands in the document after a plan was carried out.
    fn outcome(old: &[u64], new: &[u64]) -> Vec<u64> {
        let fates = plan(&ids(old), &ids(new));
        let mut stands: Vec<u64> = old.to_vec();
        let named = |fate: &Fate| match fate {
            Fate::Stays(at) | Fate::Goes(at) => Some(old[*at]),
            Fate::New => None,
        };
        let kept: Vec<u64> = fates.iter().filter_map(named).collect();
        stands.retain(|one| kept.contains(one));
        let mut behind = None;
        for (one, fate) in new.iter().zip(&fates).rev() {
            if !matches!(fate, Fate::Stays(_)) {
                stands.retain(|other| other != one);
                let place = behind.and_then(|next| stands.iter().position(|other| *other == next));
                stands.insert(place.unwrap_or(stands.len()), *one);
            }
            behind = Some(*one);
        }
        stands
    }

    #[test]
    fn whatever_stood_there_the_new_marks_stand_in_their_order() {
        let lists: [&[u64]; 7] = [
            &[],
            &[1, 2, 3, 4],
            &[1, 2, 4],
            &[4, 3, 2, 1],
            &[9, 1, 8, 2, 7],
            &[2, 3, 4, 1],
            &[1, 3, 2, 4, 5],
        ];
        for old in lists {
            for new in lists {
                assert_eq!(outcome(old, new), new, "from {old:?}");
            }
        }
    }

    #[test]
    fn what_did_not_change_its_place_is_not_moved() {
        let fates = plan(&ids(&[1, 2, 3, 4]), &ids(&[1, 2, 9, 3, 4]));
        let wanted = [0, 1].map(Fate::Stays).into_iter().chain([Fate::New]);
        let wanted: Vec<Fate> = wanted.chain([2, 3].map(Fate::Stays)).collect();
        assert_eq!(fates, wanted);
    }
}
