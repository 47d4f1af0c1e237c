//! The write cache of a simulated device: what completed and was not flushed is not durable.
//!
//! Kept only where somebody wants to cut the power ([`super::sim::Sim::track_power`]). After a cut
//! the medium holds what was durable, and of each sector that was written since any one of the
//! versions that had completed or were in flight, or none: caches write back in any order, and a
//! sector is the unit that is written whole.

use super::md::Members;
use super::store::Store;
use super::zoned::Zoned;
use crate::ordered::OrderedMap;
use crate::units::{Bytes, DevAddr, MemberId};

/// The unit that a device writes whole.
const SECTOR: u64 = 512;

/// A write that is not durable.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    pub(super) addr: DevAddr,
    pub(super) data: Vec<u8>,
    /// How many writes had completed when this one had, itself included; none = in flight.
    pub(super) completed: Option<u64>,
}

/// What is durable, and what completed since.
#[derive(Clone, Default, Debug)]
pub(super) struct Volatile {
    pub(super) durable: Store,
    /// In the order of completion.
    cached: Vec<Pending>,
    completed: u64,
    /// Changes with every change.
    version: u64,
}

impl Volatile {
    pub(super) fn new(durable: Store) -> Self {
        Self { durable, ..Self::default() }
    }
    /// How many writes have completed so far.
    pub(super) const fn completed(&self) -> u64 {
        self.completed
    }
    pub(super) const fn version(&self) -> u64 {
        self.version
    }
    /// A write completed.
    pub(super) fn complete(&mut self, addr: DevAddr, data: &[u8]) {
        self.completed += 1;
        self.version += 1;
        let completed = Some(self.completed);
        self.cached.push(Pending { addr, data: data.to_vec(), completed });
    }
    /// A write completed that the bio of this number and later ones need.
    pub(super) fn complete_for(&mut self, mark: u64, addr: DevAddr, data: &[u8]) {
        self.version += 1;
        self.cached.push(Pending { addr, data: data.to_vec(), completed: Some(mark) });
    }
    /// What was in flight changed.
    pub(super) const fn touch(&mut self) {
        self.version += 1;
    }
    /// A flush ended that began when `mark` writes had completed.
    pub(super) fn flush(&mut self, mark: u64) {
        self.version += 1;
        let Self { durable, cached, .. } = self;
        cached.retain(|write| {
            let kept = write.completed.is_none_or(|at| at > mark);
            if !kept {
                durable.write(write.addr, &write.data);
            }
            kept
        });
    }
    /// What a flush would make durable that began when `mark` writes had completed.
    pub(super) fn below(&self, mark: u64) -> impl Iterator<Item = (DevAddr, Bytes)> {
        let flushed = self.cached.iter().filter(move |write| {
            write.completed.is_some_and(|at| at <= mark) && !write.data.is_empty()
        });
        flushed.map(|write| (write.addr, Bytes::new(write.data.len() as u64)))
    }
    /// Writes of a zone that are not durable: they are now, or are gone with what they wrote.
    pub(super) fn settle_zone(&mut self, mine: impl Fn(DevAddr) -> bool, durable: bool) {
        self.version += 1;
        let Self { durable: medium, cached, .. } = self;
        cached.retain(|write| {
            let of_zone = mine(write.addr);
            if of_zone && durable {
                medium.write(write.addr, &write.data);
            }
            !of_zone
        });
    }
    /// What is not durable, completed or in flight.
    pub(super) fn unsettled(&self, in_flight: impl Iterator<Item = Pending>) -> Unsettled {
        let writes: Vec<Pending> = self.cached.iter().cloned().chain(in_flight).collect();
        Unsettled::new(writes)
    }
}

/// A part of a write that lies in one sector.
#[derive(Clone, Copy, Debug)]
struct Part {
    write: usize,
    from: usize,
    len: usize,
    addr: DevAddr,
}

/// What a device may have on its medium or not: by sector, the versions that were written, in the
/// order in which they completed, those in flight last.
#[derive(Clone, Default, Debug)]
pub struct Unsettled {
    writes: Vec<Pending>,
    sectors: OrderedMap<u64, Vec<Part>>,
}

/// What becomes of one sector: `Choose(n)` of `n` versions and the durable one, which is 0.
pub trait Choose {
    /// A number below `n`, which is 2 or more. `write` is the write that the newest version belongs
    /// to, so that whole writes can be kept or lost.
    fn choose(&mut self, n: usize, write: usize) -> usize;
    /// What follows is of this disk, where there are several.
    fn device(&mut self, _nth: usize) {}
}

/// Nothing that was not durable is on the medium.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Choose for Nothing {
    fn choose(&mut self, _n: usize, _write: usize) -> usize {
        0
    }
}

/// Everything that was sent is on the medium.
#[derive(Clone, Copy, Debug)]
pub struct Everything;

impl Choose for Everything {
    fn choose(&mut self, n: usize, _write: usize) -> usize {
        n - 1
    }
}

/// Everything that was sent to these members of an array is on their media, and of the others
/// nothing.
#[derive(Clone, Copy, Debug)]
pub struct OnlyThese {
    members: Members,
    now: MemberId,
}

impl OnlyThese {
    /// These.
    pub const fn new(members: Members) -> Self {
        Self { members, now: MemberId::new(0) }
    }
}

impl Choose for OnlyThese {
    fn choose(&mut self, n: usize, _write: usize) -> usize {
        if self.members.has(self.now) { n - 1 } else { 0 }
    }
    fn device(&mut self, nth: usize) {
        self.now = MemberId::new(nth as u32);
    }
}

impl Unsettled {
    fn new(writes: Vec<Pending>) -> Self {
        let mut sectors: OrderedMap<u64, Vec<Part>> = OrderedMap::default();
        for (at, write) in writes.iter().enumerate() {
            let mut from = 0;
            while from < write.data.len() {
                let addr = write.addr + Bytes::new(from as u64);
                let left = (SECTOR - addr.get() % SECTOR) as usize;
                let len = left.min(write.data.len() - from);
                let part = Part { write: at, from, len, addr };
                sectors.get_or_insert_with(addr.get() / SECTOR, Vec::new).push(part);
                from += len;
            }
        }
        Self { writes, sectors }
    }
    /// Sectors that may hold something else than what is durable.
    pub fn sectors(&self) -> usize {
        self.sectors.len()
    }
    /// Puts what is kept onto a medium that holds what is durable. What had completed when `floor`
    /// writes had is there in any case: the device was flushed for a record that is.
    pub fn settle(&self, floor: u64, medium: &mut Store, choose: &mut dyn Choose) {
        for parts in self.sectors.values() {
            self.settle_sector(parts, floor, medium, choose);
        }
    }
    fn is_below(&self, part: &Part, floor: u64) -> bool {
        self.writes[part.write].completed.is_some_and(|at| at <= floor)
    }
    fn settle_sector(
        &self,
        parts: &[Part],
        floor: u64,
        medium: &mut Store,
        choose: &mut dyn Choose,
    ) {
        let (below, open): (Vec<&Part>, Vec<&Part>) =
            parts.iter().partition(|part| self.is_below(part, floor));
        for part in below {
            self.put(medium, part);
        }
        let Some(newest) = open.last() else { return };
        let chosen = choose.choose(open.len() + 1, newest.write);
        if let Some(part) = chosen.checked_sub(1).and_then(|at| open.get(at)) {
            self.put(medium, part);
        }
    }
    /// The same of a device with zones: of one that is written in order, what is kept is all up to
    /// some sector, and nothing behind it.
    pub(super) fn settle_zones(
        &self,
        zoned: &mut Zoned,
        floor: u64,
        medium: &mut Store,
        choose: &mut dyn Choose,
    ) {
        // By zone the units that are written whole, each with its sectors.
        type Unit<'a> = (DevAddr, Vec<&'a [Part]>);
        let mut zones: OrderedMap<u64, Vec<Unit<'_>>> = OrderedMap::new();
        for (sector, parts) in &self.sectors {
            let at = DevAddr::new(sector * SECTOR);
            let Some(nth) = zoned.in_order(at) else {
                self.settle_sector(parts, floor, medium, choose);
                continue;
            };
            let (unit, _) = zoned.unit_of(at);
            let units = zones.get_or_insert_with(nth, Vec::new);
            match units.last_mut() {
                Some((last, all)) if *last == unit => all.push(parts),
                Some(_) | None => units.push((unit, vec![parts])),
            }
        }
        for units in zones.values() {
            let (first, _) = units[0];
            let durable = zoned.durable(first);
            let sure = |(at, sectors): &Unit<'_>| {
                let mut parts = sectors.iter().flat_map(|parts| parts.iter());
                *at < durable || parts.any(|part| self.is_below(part, floor))
            };
            let must = units.iter().rposition(sure).map_or(0, |last| last + 1);
            let open = units.len() - must;
            let newest = units.last().and_then(|(_, sectors)| sectors.last()?.last());
            let newest = newest.filter(|_| open > 0);
            let more = newest.map_or(0, |newest| choose.choose(open + 1, newest.write));
            for (at, sectors) in &units[..must + more] {
                // A write that failed may have left a gap behind it.
                if *at > zoned.durable(first) {
                    break;
                }
                for part in sectors.iter().flat_map(|parts| parts.iter()) {
                    self.put(medium, part);
                }
                let (_, len) = zoned.unit_of(*at);
                zoned.keep(*at, len);
            }
        }
        zoned.cut();
    }
    fn put(&self, medium: &mut Store, part: &Part) {
        let data = &self.writes[part.write].data;
        medium.write(part.addr, &data[part.from..part.from + part.len]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The medium after a cut, two sectors of it.
    fn cut(cache: &Volatile, floor: u64, choose: &mut impl Choose) -> Vec<u8> {
        let mut medium = cache.durable.clone();
        cache.unsettled(core::iter::empty()).settle(floor, &mut medium, choose);
        [0, 512].map(|at| medium.bytes(DevAddr::new(at), Bytes::new(1))[0]).to_vec()
    }

    #[test]
    fn only_a_flush_that_began_later_makes_a_write_durable() {
        let mut cache = Volatile::new(Store::default());
        cache.complete(DevAddr::ZERO, &[1; 1024]);
        let mark = cache.completed();
        cache.complete(DevAddr::ZERO, &[2; 512]);
        assert_eq!(cut(&cache, 0, &mut Nothing), [0, 0]);
        cache.flush(mark);
        assert_eq!(cut(&cache, 0, &mut Nothing), [1, 1]);
        assert_eq!(cut(&cache, 0, &mut Everything), [2, 1]);
    }

    #[test]
    fn what_a_record_needs_is_on_the_medium_with_it() {
        let mut cache = Volatile::new(Store::default());
        cache.complete(DevAddr::ZERO, &[1; 512]);
        cache.complete(DevAddr::ZERO, &[2; 1024]);
        assert_eq!(cut(&cache, 1, &mut Nothing), [1, 0]);
        assert_eq!(cut(&cache, 2, &mut Nothing), [2, 2]);
    }

    #[test]
    fn each_sector_is_old_or_any_of_the_new_ones_by_itself() {
        /// The n-th sector gets version n.
        struct Rising(usize);
        impl Choose for Rising {
            fn choose(&mut self, n: usize, _write: usize) -> usize {
                self.0 += 1;
                self.0 % n
            }
        }
        let mut cache = Volatile::new(Store::default());
        cache.complete(DevAddr::ZERO, &[1; 1024]);
        cache.complete(DevAddr::ZERO, &[2; 1024]);
        assert_eq!(cut(&cache, 0, &mut Rising(0)), [1, 2]);
    }
}
