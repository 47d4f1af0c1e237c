//! Time on a disk with a head and plates that turn, and the rule of a zone that is written in
//! order. Virtual time in whole nanoseconds; it claims order and proportion, not seconds.
//!
//! A seek takes `settle` and grows with the root of the distance to `stroke` for the whole disk, as
//! heads accelerate and brake. Then the plate must turn to the first byte, then the bytes pass
//! under the head. All tracks have the same length; the time from a track to the next one is in
//! `settle`.

use crate::units::{Bytes, DevAddr, Nanos, Time};

/// A disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Disk {
    /// Bytes of the whole disk.
    pub size: Bytes,
    /// Bytes of a track.
    pub track: Bytes,
    /// One turn.
    pub turn: Nanos,
    /// The shortest seek.
    pub settle: Nanos,
    /// The longest seek, without `settle`.
    pub stroke: Nanos,
}

impl Disk {
    /// From one place to another.
    pub fn seek(&self, from: DevAddr, to: DevAddr) -> Nanos {
        let track = self.track.get().max(1);
        let (from, to) = (from.get() / track, to.get() / track);
        let distance = from.abs_diff(to);
        if distance == 0 {
            return Nanos::ZERO;
        }
        let tracks = (self.size.get() / track).max(1);
        // stroke x sqrt(distance / tracks), with twelve bits behind the point of the root.
        let part = ((u128::from(distance.min(tracks)) << 24) / u128::from(tracks)).isqrt();
        let travel = (u128::from(self.stroke.get()) * part) >> 12;
        self.settle + Nanos::new(travel as u64)
    }
    /// Until the byte at `to` passes under the head, from `now` on.
    pub fn wait(&self, now: Time, to: DevAddr) -> Nanos {
        let (turn, track) = (self.turn.get().max(1), self.track.get().max(1));
        let angle = u128::from(to.get() % track) * u128::from(turn) / u128::from(track);
        let here = now.get() % turn;
        Nanos::new((angle as u64 + turn - here) % turn)
    }
    /// The bytes pass under the head.
    pub fn transfer(&self, len: Bytes) -> Nanos {
        let time = u128::from(len.get()) * u128::from(self.turn.get());
        Nanos::new((time / u128::from(self.track.get().max(1))) as u64)
    }
    /// All of an I/O that begins at `now` with the head where the one before ended. One that goes
    /// on where that ended needs neither seek nor turn.
    pub fn time(&self, now: Time, head: DevAddr, at: DevAddr, len: Bytes) -> Nanos {
        if head == at {
            return self.transfer(len);
        }
        let seek = self.seek(head, at);
        seek + self.wait(now + seek, at) + self.transfer(len)
    }
}

/// A zone that takes writes at its write pointer only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Zone {
    /// Where it begins.
    pub start: DevAddr,
    /// Bytes that it takes.
    pub capacity: Bytes,
    /// Where the next write must begin.
    pub pointer: DevAddr,
}

impl Zone {
    /// Takes a write; false where the device would fail it: it does not begin at the pointer, or
    /// does not fit.
    pub fn write(&mut self, at: DevAddr, len: Bytes) -> bool {
        let fits = at == self.pointer && at + len <= self.start + self.capacity;
        if fits {
            self.pointer += len;
        }
        fits
    }
    /// Takes bytes wherever the pointer is (zone append); where they lie.
    pub fn append(&mut self, len: Bytes) -> Option<DevAddr> {
        let at = self.pointer;
        self.write(at, len).then_some(at)
    }
    /// All of it is empty again.
    pub const fn reset(&mut self) {
        self.pointer = self.start;
    }
    /// It takes nothing more.
    pub fn finish(&mut self) {
        self.pointer = self.start + self.capacity;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 MiB a track, 7200 turns a minute.
    const DISK: Disk = Disk {
        size: Bytes::kib(1 << 30),
        track: Bytes::kib(1024),
        turn: Nanos::new(8_333_333),
        settle: Nanos::new(1_000_000),
        stroke: Nanos::new(15_000_000),
    };

    #[test]
    fn what_follows_on_costs_its_bytes_only() {
        let at = DevAddr::new(123 << 20);
        let time = DISK.time(Time::new(5), at, at, Bytes::kib(1024));
        assert_eq!(time, DISK.turn);
        assert_eq!(DISK.transfer(Bytes::kib(4)), Nanos::new(8_333_333 / 256));
    }

    #[test]
    fn seeks_grow_with_the_root_of_the_distance() {
        let seek = |mib: u64| DISK.seek(DevAddr::ZERO, DevAddr::new(mib << 20)).get();
        assert_eq!(seek(0), 0);
        assert_eq!(seek(1 << 20), 16_000_000);
        assert_eq!(seek(1 << 18), 1_000_000 + 7_500_000);
        assert!(seek(1) >= 1_000_000 && seek(1) < seek(2) && seek(2) < seek(1 << 10));
    }

    #[test]
    fn the_plate_turns_while_the_head_moves() {
        let half = DevAddr::new(1 << 19);
        assert_eq!(DISK.wait(Time::ZERO, half), Nanos::new(4_166_666));
        assert_eq!(DISK.wait(Time::new(4_166_667), half), Nanos::new(8_333_332));
        // Missed by a hair, a whole turn is lost.
        assert!(DISK.wait(Time::new(4_166_666), half) < Nanos::new(2));
    }

    #[test]
    fn a_zone_takes_writes_in_order_only() {
        let start = DevAddr::new(1 << 20);
        let mut zone = Zone { start, capacity: Bytes::kib(12), pointer: start };
        assert!(zone.write(start, Bytes::kib(4)) && !zone.write(start, Bytes::kib(4)));
        assert_eq!(zone.append(Bytes::kib(8)), Some(start + Bytes::kib(4)));
        assert_eq!(zone.append(Bytes::kib(4)), None);
        zone.reset();
        assert!(zone.write(start, Bytes::kib(12)));
    }
}
