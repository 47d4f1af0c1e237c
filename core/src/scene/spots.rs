//! What lies where on a picture: the things that its marks stand for, found from the draw list
//! alone, so that a viewer can point at them or go from one to the next by keys.

use super::Scene;
use super::draw::{Mark, Shape};
use super::fixed::{Fx, px};
use super::view::Lane;
use crate::sort::sort_by_key;

/// A thing, by what tells it from others of its kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Thing {
    /// The operation that runs, or ran last.
    Op,
    /// The end of the file: 0 = in memory, 1 = on the device.
    End(u16),
    /// A folio, or the part of it that is shown, by its first byte.
    Folio(u64),
    /// Blocks that are drawn as one, by the first.
    Blocks(u64),
    /// An extent, or the part of it that is shown, by its first byte.
    Extent(u64),
    /// The same in the CoW fork.
    NewCopy(u64),
    /// A hole.
    Hole(u64),
    /// A bio.
    Bio(u32),
    /// A request.
    Request(u32),
    /// A member's chunk of a stripe.
    Chunk {
        /// Which stripe.
        stripe: u64,
        /// Which member.
        member: u16,
    },
    /// A stretch that a remount would find alike.
    Left(u64),
    /// A thing in a lane of a whole run: the position where it happened, the folio's first byte,
    /// or any number.
    Part(u64),
}

/// A thing in a lane of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key {
    /// Which lane.
    pub lane: Lane,
    /// Which run: 0 for A, or for all where they are equal.
    pub run: u8,
    /// What it is.
    pub thing: Thing,
}

/// A thing and the box that it takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spot {
    /// What.
    pub key: Key,
    /// Left edge.
    pub x0: Fx,
    /// Upper edge.
    pub y0: Fx,
    /// Right edge.
    pub x1: Fx,
    /// Lower edge.
    pub y1: Fx,
}

/// How far from a thing one may point at it, in pixels.
const REACH: i32 = 12;

/// Where to go from a thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Move {
    /// To the one before it in its row.
    Left,
    /// To the one behind it.
    Right,
    /// To the row above.
    Up,
    /// To the row below.
    Down,
    /// To the folio before.
    FolioLeft,
    /// To the folio behind.
    FolioRight,
}

fn key(mark: &Mark) -> Option<Key> {
    let n = mark.id.n;
    let (lane, thing) = match mark.id.part {
        "op" => (Lane::File, Thing::Op),
        "eof" => (Lane::File, Thing::End(mark.id.k)),
        "folio" => (Lane::Cache, Thing::Folio(n)),
        "cell" | "bin" => (Lane::Cache, Thing::Blocks(n)),
        "ext" => (Lane::Mapping, Thing::Extent(n)),
        "cow" => (Lane::Mapping, Thing::NewCopy(n)),
        "hole" => (Lane::Mapping, Thing::Hole(n)),
        "bio" | "bioline" => (Lane::Bios, Thing::Bio(n as u32)),
        "req" | "reqline" => (Lane::Requests, Thing::Request(n as u32)),
        "dev" => (Lane::Device, Thing::Bio(n as u32)),
        "mcell" => (Lane::Members, Thing::Chunk { stripe: n, member: mark.id.k }),
        "asked" | "waste" => (Lane::Tally, Thing::Blocks(n)),
        "left" => (Lane::Left, Thing::Left(n)),
        "ord" => (Lane::Order, Thing::Part(n)),
        "hist" => (Lane::History, Thing::Part(n)),
        "check" => (Lane::Checks, Thing::Part(n)),
        "ret" => (Lane::Returns, Thing::Part(n)),
        "fence" | "plain" | "atomic" => (Lane::Marks, Thing::Part(n)),
        _ => return None,
    };
    Some(Key { lane, run: mark.id.run, thing })
}

fn area(shape: &Shape) -> Option<(Fx, Fx, Fx, Fx)> {
    match shape {
        Shape::Rect { x, y, w, h, .. } => Some((*x, *y, *x + *w, *y + *h)),
        Shape::Line { from, to } => {
            Some((from.0.min(to.0), from.1.min(to.1), from.0.max(to.0), from.1.max(to.1)))
        }
        Shape::Path(_) | Shape::Text { .. } => None,
    }
}

/// Every thing of a picture, in the order of their keys.
pub fn spots(scene: &Scene) -> Vec<Spot> {
    let mut found: Vec<Spot> = Vec::new();
    for mark in &scene.marks {
        let (Some(key), Some((x0, y0, x1, y1))) = (key(mark), area(&mark.shape)) else { continue };
        found.push(Spot { key, x0, y0, x1, y1 });
    }
    sort_by_key(&mut found, |spot| spot.key);
    found.dedup_by(|more, spot| {
        let same = more.key == spot.key;
        if same {
            (spot.x0, spot.y0) = (spot.x0.min(more.x0), spot.y0.min(more.y0));
            (spot.x1, spot.y1) = (spot.x1.max(more.x1), spot.y1.max(more.y1));
        }
        same
    });
    found
}

impl Spot {
    /// Whether two boxes share a part of the byte axis.
    pub fn shares_x(&self, other: &Self) -> bool {
        self.x0 < other.x1 && other.x0 < self.x1
    }
    fn middle(&self) -> i32 {
        i32::midpoint(self.x0.get(), self.x1.get())
    }
    /// The square of the distance from a point, in sixteenths of a pixel.
    fn distance(&self, x: Fx, y: Fx) -> i64 {
        let off = |at: Fx, from: Fx, to: Fx| (from - at).max(at - to).max(Fx::ZERO);
        let (dx, dy) = (off(x, self.x0, self.x1), off(y, self.y0, self.y1));
        i64::from(dx.get()).pow(2) + i64::from(dy.get()).pow(2)
    }
    fn size(&self) -> i64 {
        i64::from((self.x1 - self.x0).get()) * i64::from((self.y1 - self.y0).get())
    }
    /// Lane, run, and within these the member: things of a row stand side by side.
    const fn row(&self) -> (Lane, u8, u16) {
        let member = if let Thing::Chunk { member, .. } = self.key.thing { member } else { 0 };
        (self.key.lane, self.key.run, member)
    }
    const fn is_folio(&self) -> bool {
        matches!(self.key.thing, Thing::Folio(_))
    }
}

/// The thing nearest to a point, no further than 12 pixels away; of several the smallest.
pub fn nearest(spots: &[Spot], x: Fx, y: Fx) -> Option<&Spot> {
    let reach = i64::from(px(REACH).get()).pow(2);
    let near = spots.iter().filter(|spot| spot.distance(x, y) <= reach);
    near.min_by_key(|spot| (spot.distance(x, y), spot.size()))
}

/// The thing with this key, if it is on the picture; the things are in the order of their keys.
pub fn find(spots: &[Spot], key: Key) -> Option<&Spot> {
    let at = spots.binary_search_by_key(&key, |spot| spot.key).ok()?;
    spots.get(at)
}

/// Where the cursor begins: the first block of the page cache, or the first thing there is.
pub fn first(spots: &[Spot]) -> Option<&Spot> {
    let block = |spot: &&Spot| matches!(spot.key.thing, Thing::Blocks(_));
    spots.iter().find(block).or_else(|| spots.first())
}

/// The thing that a move leads to; none at an edge.
pub fn neighbour(spots: &[Spot], from: Spot, to: Move) -> Option<&Spot> {
    let here = from.row();
    let in_row = spots.iter().filter(|spot| spot.row() == here);
    match to {
        Move::Left | Move::Right => {
            let others = in_row.filter(|spot| !spot.is_folio() && spot.key != from.key);
            if from.is_folio() && to == Move::Right {
                return others.filter(|spot| spot.x0 >= from.x0).min_by_key(|spot| spot.x0);
            }
            side(others, from, to == Move::Right)
        }
        Move::FolioLeft | Move::FolioRight => {
            let folios = in_row.filter(|spot| spot.is_folio() && spot.key != from.key);
            // From a block its own folio is no move.
            let others = folios.filter(|folio| from.is_folio() || !folio.shares_x(&from));
            side(others, from, to == Move::FolioRight)
        }
        Move::Up | Move::Down => {
            let down = to == Move::Down;
            let beyond = spots
                .iter()
                .filter(|spot| if down { spot.row() > here } else { spot.row() < here });
            let rows = beyond.clone().map(Spot::row);
            let row = if down { rows.min() } else { rows.max() }?;
            let all = beyond.filter(|spot| spot.row() == row && !spot.is_folio());
            all.min_by_key(|spot| (spot.middle() - from.middle()).abs())
        }
    }
}

/// The next one to the right, or to the left.
fn side<'a>(others: impl Iterator<Item = &'a Spot>, from: Spot, right: bool) -> Option<&'a Spot> {
    let place = |spot: &Spot| (spot.middle(), spot.y0, spot.key);
    if right {
        others.filter(|spot| place(spot) > place(&from)).min_by_key(|spot| place(spot))
    } else {
        others.filter(|spot| place(spot) < place(&from)).max_by_key(|spot| place(spot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::fixture::{IN_FLIGHT, seed, sides};
    use crate::scene::render;
    use crate::scene::view::View;

    fn all() -> Vec<Spot> {
        let (mut a, mut b) = seed();
        a.seek(IN_FLIGHT);
        b.seek(IN_FLIGHT);
        spots(&render(&sides(&a, &b), &View::default()))
    }
    fn center(spot: &Spot) -> (Fx, Fx) {
        ((spot.x0 + spot.x1) / 2, (spot.y0 + spot.y1) / 2)
    }

    #[test]
    fn pointing_at_the_middle_of_a_block_finds_it_and_far_away_finds_nothing() {
        let all = all();
        let blocks = all.iter().filter(|spot| matches!(spot.key.thing, Thing::Blocks(_)));
        assert!(blocks.clone().count() > 4);
        for spot in blocks {
            let (x, y) = center(spot);
            assert_eq!(nearest(&all, x, y).map(|found| found.key), Some(spot.key));
        }
        assert_eq!(nearest(&all, px(-20), px(-20)), None);
    }

    #[test]
    fn every_row_can_be_reached_and_every_move_has_its_way_back() {
        let all = all();
        let mut here = *first(&all).expect("a block");
        while let Some(above) = neighbour(&all, here, Move::Up) {
            here = *above;
        }
        let mut lanes = vec![here.key.lane];
        loop {
            if let Some(right) = neighbour(&all, here, Move::Right) {
                assert_eq!(
                    neighbour(&all, *right, Move::Left).map(|spot| spot.key),
                    Some(here.key)
                );
            }
            let Some(below) = neighbour(&all, here, Move::Down) else { break };
            assert!(below.row() > here.row());
            here = *below;
            lanes.push(here.key.lane);
        }
        let mut wanted: Vec<Lane> = all.iter().map(|spot| spot.key.lane).collect();
        wanted.dedup();
        lanes.dedup();
        assert_eq!(lanes, wanted);
    }

    #[test]
    fn shift_goes_from_folio_to_folio() {
        let all = all();
        let folios: Vec<Spot> = all.iter().filter(|spot| spot.is_folio()).copied().collect();
        let mut here = *first(&all).expect("a block");
        let mut seen = 0;
        while let Some(next) = neighbour(&all, here, Move::FolioRight) {
            assert!(next.is_folio() && next.x0 > here.x0);
            here = *next;
            seen += 1;
        }
        assert!(seen > 0 && folios.len() > seen);
    }
}
