//! How long one device takes: where its queue, or its head, stands.

use super::sim::Timing;
use crate::units::{Bytes, DevAddr, Nanos, Time};

/// A device that serves what was sent to it.
#[derive(Clone, Debug)]
pub(super) struct Service {
    timing: Timing,
    /// When each place of the queue is free again.
    places: Vec<Time>,
    /// Where the head of a disk is.
    head: DevAddr,
}

impl Service {
    /// A device that did nothing yet.
    pub(super) fn new(timing: Timing) -> Self {
        let depth = match timing {
            Timing::Ram | Timing::Disk { .. } => 1,
            Timing::Queue { depth, .. } => depth.max(1),
        };
        Self { timing, places: vec![Time::ZERO; depth as usize], head: DevAddr::ZERO }
    }
    /// Bytes of the device, if it has an end.
    pub(super) const fn size(&self) -> Option<Bytes> {
        self.timing.size()
    }
    /// Nothing is in its queue any more.
    pub(super) fn clear(&mut self, now: Time) {
        self.places.fill(now);
    }
    /// When a flush ends that is sent now and waits for what ends last.
    pub(super) fn flush(&self, now: Time, last: Option<Time>) -> Time {
        match self.timing {
            Timing::Ram => now,
            Timing::Queue { flush, .. } | Timing::Disk { flush, .. } => {
                last.unwrap_or(now).max(now) + flush
            }
        }
    }
    /// When so many bytes from an address on are served that are sent now.
    pub(super) fn serve(&mut self, now: Time, at: DevAddr, len: Bytes) -> Time {
        match self.timing {
            Timing::Ram => now,
            Timing::Disk { disk, .. } => {
                let start = self.places[0].max(now);
                self.places[0] = start + disk.time(start, self.head, at, len);
                self.head = at + len;
                self.places[0]
            }
            Timing::Queue { latency, per_kib, .. } => {
                let place = self.places.iter_mut().min().expect("one place at least");
                let cost = latency + Nanos::new(per_kib.get() * len.get() / 1024);
                *place = (*place).max(now) + cost;
                *place
            }
        }
    }
}
