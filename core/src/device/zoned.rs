//! A device whose space is cut into zones of one size. The first ones are written in any order; all
//! others take a write only where the one before it ended, and refuse every other.

use super::disk::Zone;
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
#[derive(Clone, Debug)]
pub struct Zoned {
    zones: Zones,
    written: OrderedMap<u64, Zone>,
}

impl Zoned {
    /// A device on which nothing was written.
    pub const fn new(zones: Zones) -> Self {
        Self { zones, written: OrderedMap::new() }
    }
    fn zone(&mut self, nth: u64) -> &mut Zone {
        let (start, capacity) = (self.zones.start(nth), self.zones.capacity);
        self.written.get_or_insert_with(nth, || Zone { start, capacity, pointer: start })
    }
    /// Something lies there from the start: the zone is written up to its end at least.
    pub fn hold(&mut self, at: DevAddr, len: Bytes) {
        let nth = at.get() / self.zones.size.get();
        let zone = self.zone(nth);
        zone.pointer = zone.pointer.max(at + len);
    }
    /// Takes a write; where its zone would take one instead, if it refuses it.
    pub fn write(&mut self, at: DevAddr, len: Bytes) -> Result<(), DevAddr> {
        let nth = at.get() / self.zones.size.get();
        if !self.zones.is_sequential(nth) {
            return Ok(());
        }
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
        let mut device = Zoned::new(zones);
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
}
