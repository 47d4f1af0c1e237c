//! A device whose space is cut into zones of one size. The first ones are written in any order; all
//! others take a write only where the one before it ended, and refuse every other.

use super::disk::Zone;
use crate::fs::zonefs::ZoneOp;
use crate::ordered::OrderedMap;
use crate::units::{Bytes, DevAddr};

/// How the zones lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Zones {
    /// From the start of a zone to that of the next one.
    pub size: Bytes,
    /// Bytes that a zone takes, from its start on.
    pub capacity: Bytes,
    /// So many, from the start of the device, are written in any order.
    pub conventional: u64,
}

impl Zones {
    /// Where a zone begins.
    pub const fn start(&self, nth: u64) -> DevAddr {
        DevAddr::new(nth * self.size.get())
    }
    /// Whether a zone must be written in order.
    pub const fn is_sequential(&self, nth: u64) -> bool {
        nth >= self.conventional
    }
}

/// The zones of a device, and how far each of them was written.
///
/// A power cut leaves of a zone that is written in order all bytes up to some place, and that is
/// where its write pointer then is: what the device cannot lose any more takes everything before it
/// along.
#[derive(Clone, Debug)]
pub struct Zoned {
    zones: Zones,
    /// Bytes that are written whole.
    unit: Bytes,
    written: OrderedMap<u64, Zone>,
    /// Up to where a zone is written for sure, whatever becomes of the power.
    durable: OrderedMap<u64, DevAddr>,
}

impl Zoned {
    /// A device on which nothing was written; bytes that are written whole.
    pub const fn new(zones: Zones, unit: Bytes) -> Self {
        Self { zones, unit, written: OrderedMap::new(), durable: OrderedMap::new() }
    }
    /// The unit of an address that is written whole: where it begins, how long it is.
    pub(super) const fn unit_of(&self, at: DevAddr) -> (DevAddr, Bytes) {
        (DevAddr::new(at.get() / self.unit.get() * self.unit.get()), self.unit)
    }
    const fn nth(&self, at: DevAddr) -> u64 {
        at.get() / self.zones.size.get()
    }
    /// The zone of an address, by number, if it is written in order.
    pub(super) fn in_order(&self, at: DevAddr) -> Option<u64> {
        Some(self.nth(at)).filter(|nth| self.zones.is_sequential(*nth))
    }
    fn zone(&mut self, nth: u64) -> &mut Zone {
        let (start, capacity) = (self.zones.start(nth), self.zones.capacity);
        self.written.get_or_insert_with(nth, || Zone { start, capacity, pointer: start })
    }
    /// Something lies there from the start: the zone is written up to its end at least.
    pub fn hold(&mut self, at: DevAddr, len: Bytes) {
        let zone = self.zone(self.nth(at));
        zone.pointer = zone.pointer.max(at + len);
        self.keep(at, len);
    }
    /// What is written there is durable, and so is all before it in its zone.
    pub(super) fn keep(&mut self, at: DevAddr, len: Bytes) {
        let end = self.durable.get_or_insert_with(self.nth(at), || at);
        *end = (at + len).max(*end);
    }
    /// Up to where a zone is written that holds an address.
    pub fn pointer(&self, at: DevAddr) -> DevAddr {
        let nth = self.nth(at);
        self.written.get(&nth).map_or(self.zones.start(nth), |zone| zone.pointer)
    }
    /// Up to where it is written for sure.
    pub fn durable(&self, at: DevAddr) -> DevAddr {
        let nth = self.nth(at);
        self.durable.get(&nth).copied().unwrap_or(self.zones.start(nth))
    }
    /// The power is back: zones are written as far as is durable.
    pub(super) fn cut(&mut self) {
        for zone in self.written.values_mut() {
            let nth = zone.start.get() / self.zones.size.get();
            zone.pointer = self.durable.get(&nth).copied().unwrap_or(zone.start);
        }
    }
    /// All that was written is durable.
    pub(super) fn keep_all(&mut self) {
        for zone in self.written.values() {
            self.durable.insert(zone.start.get() / self.zones.size.get(), zone.pointer);
        }
    }
    /// A zone is empty, or takes nothing any more: the stretch that no longer holds what it held,
    /// or that nobody wrote.
    pub(super) fn set(&mut self, at: DevAddr, op: ZoneOp) -> (DevAddr, Bytes) {
        let zone = self.zone(self.nth(at));
        let (start, end) = (zone.start, zone.start + zone.capacity);
        let from = match op {
            ZoneOp::Reset => start,
            ZoneOp::Finish => zone.pointer,
        };
        match op {
            ZoneOp::Reset => zone.reset(),
            ZoneOp::Finish => zone.finish(),
        }
        let pointer = zone.pointer;
        self.durable.insert(self.nth(at), pointer);
        (from, end.since(from))
    }
    /// Takes a write; where its zone would take one instead, if it refuses it.
    pub fn write(&mut self, at: DevAddr, len: Bytes) -> Result<(), DevAddr> {
        let Some(nth) = self.in_order(at) else { return Ok(()) };
        let zone = self.zone(nth);
        if zone.write(at, len) { Ok(()) } else { Err(zone.pointer) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_goes_on_where_the_one_before_it_ended() {
        let zones = Zones { size: Bytes::kib(64), capacity: Bytes::kib(48), conventional: 1 };
        let mut device = Zoned::new(zones, Bytes::kib(4));
        let at = |kib: u64| DevAddr::new(kib << 10);
        assert_eq!(device.write(at(40), Bytes::kib(8)), Ok(()));
        assert_eq!(device.write(at(68), Bytes::kib(4)), Err(at(64)));
        assert_eq!(device.write(at(64), Bytes::kib(44)), Ok(()));
        assert_eq!(device.write(at(64), Bytes::kib(4)), Err(at(108)));
        assert_eq!(device.write(at(108), Bytes::kib(8)), Err(at(108)), "it does not fit");
        assert_eq!(device.write(at(108), Bytes::kib(4)), Ok(()));
        device.hold(at(128), Bytes::kib(4));
        assert_eq!(device.write(at(132), Bytes::kib(4)), Ok(()));
    }

    #[test]
    fn a_zone_is_emptied_filled_and_cut_at_what_is_durable() {
        let zones = Zones { size: Bytes::kib(64), capacity: Bytes::kib(48), conventional: 0 };
        let mut device = Zoned::new(zones, Bytes::kib(4));
        let at = |kib: u64| DevAddr::new(kib << 10);
        device.write(at(64), Bytes::kib(4)).expect("it is empty");
        device.write(at(68), Bytes::kib(8)).expect("it goes on");
        device.keep(at(64), Bytes::kib(4));
        assert_eq!((device.pointer(at(64)), device.durable(at(64))), (at(76), at(68)));
        device.cut();
        assert_eq!(device.pointer(at(64)), at(68));
        assert_eq!(device.set(at(64), ZoneOp::Finish), (at(68), Bytes::kib(44)));
        assert_eq!(device.write(at(68), Bytes::kib(4)), Err(at(112)), "it is full");
        device.cut();
        assert_eq!(device.pointer(at(64)), at(112), "for good");
        assert_eq!(device.set(at(64), ZoneOp::Reset), (at(64), Bytes::kib(48)));
        device.cut();
        assert_eq!(device.write(at(64), Bytes::kib(4)), Ok(()));
    }
}
