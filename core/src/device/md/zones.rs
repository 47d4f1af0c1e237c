//! Where sectors lie in RAID0, also with members of different sizes (`raid0_map`): the smallest
//! size of all makes the first zone, what the larger ones have left makes the next.

use crate::units::{MemberId, Sector, Sectors};

/// How chunks of further zones are given to members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ZoneOrder {
    /// Counted from the start of the array (before 3.14, and of old arrays).
    Original,
    /// Counted from the start of the zone.
    Alternate,
}

/// A stretch of the array over the same members.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Zone {
    /// First sector behind it, of the array.
    end: Sector,
    /// Where it begins on its members.
    start: Sector,
    members: Vec<MemberId>,
}

/// An array without redundancy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Zones {
    chunk: Sectors,
    order: ZoneOrder,
    all: Vec<Zone>,
}

impl Zones {
    /// An array of members with these sizes, which are rounded down to chunks; none without chunks
    /// or members.
    pub fn new(chunk: Sectors, sizes: &[Sectors], order: ZoneOrder) -> Option<Self> {
        if chunk.is_zero() || sizes.is_empty() {
            return None;
        }
        let whole: Vec<u64> =
            sizes.iter().map(|size| size.get() / chunk.get() * chunk.get()).collect();
        let mut steps: Vec<u64> = whole.iter().copied().filter(|size| *size > 0).collect();
        steps.sort_unstable();
        steps.dedup();
        let (mut zones, mut start, mut end) = (Vec::new(), 0, 0);
        for step in steps {
            let members: Vec<MemberId> = (0..)
                .zip(&whole)
                .filter(|(_, size)| **size >= step)
                .map(|(n, _)| MemberId::new(n))
                .collect();
            end += (step - start) * members.len() as u64;
            zones.push(Zone { end: Sector::new(end), start: Sector::new(start), members });
            start = step;
        }
        (!zones.is_empty()).then_some(Self { chunk, order, all: zones })
    }
    /// Sectors of the array.
    pub fn size(&self) -> Sectors {
        Sectors::new(self.all.last().map_or(0, |zone| zone.end.get()))
    }
    /// Number of zones.
    pub fn zones(&self) -> usize {
        self.all.len()
    }
    /// Where a sector of the array lies; none beyond its end.
    pub fn locate(&self, sector: Sector) -> Option<(MemberId, Sector)> {
        let at = self.all.iter().position(|zone| sector < zone.end)?;
        let before = at.checked_sub(1).map_or(Sector::ZERO, |last| self.all[last].end);
        let zone = &self.all[at];
        let (inside, chunk) = (sector.since(before).get(), self.chunk.get());
        let count = zone.members.len() as u64;
        let turn = match self.order {
            ZoneOrder::Original => sector.get() / chunk,
            ZoneOrder::Alternate => inside / chunk,
        };
        let member = zone.members[(turn % count) as usize];
        let row = inside / (chunk * count);
        Some((member, zone.start + Sectors::new(row * chunk + inside % chunk)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn sectors(sizes: &[u64]) -> Vec<Sectors> {
        sizes.iter().copied().map(Sectors::new).collect()
    }

    #[test]
    fn every_sector_has_one_place_on_a_member_that_is_large_enough() {
        for sizes in [vec![64, 64, 64], vec![40, 100, 64], vec![16, 33, 33, 80], vec![7, 24]] {
            for order in [ZoneOrder::Original, ZoneOrder::Alternate] {
                let array = Zones::new(Sectors::new(8), &sectors(&sizes), order).expect("good");
                let mut taken = BTreeSet::new();
                for n in 0..array.size().get() {
                    let (member, at) = array.locate(Sector::new(n)).expect("inside");
                    let size = sizes[member.get() as usize] / 8 * 8;
                    assert!(at.get() < size, "{sizes:?}: {n} at {member:?} {at:?}");
                    assert!(taken.insert((member.get(), at.get())), "{sizes:?} {order:?}: {n}");
                }
                let room: u64 = sizes.iter().map(|size| size / 8 * 8).sum();
                assert_eq!(array.size().get(), room, "every whole chunk is used");
                assert_eq!(array.locate(Sector::new(room)), None);
            }
        }
    }

    #[test]
    fn zones_begin_where_a_member_ends() {
        let array =
            |order| Zones::new(Sectors::new(8), &sectors(&[8, 24, 24]), order).expect("good");
        let place = |order, n| {
            let (member, at) = array(order).locate(Sector::new(n)).expect("inside");
            (member.get(), at.get())
        };
        assert_eq!(array(ZoneOrder::Alternate).zones(), 2);
        assert_eq!(place(ZoneOrder::Alternate, 16), (2, 0));
        assert_eq!(place(ZoneOrder::Alternate, 24), (1, 8));
        // Chunk 3 of the array is odd, so the old order begins with the second member.
        assert_eq!(place(ZoneOrder::Original, 24), (2, 8));
    }
}
