//! What the simulated device has in flight, to be ended in an order that somebody else chooses.

use super::sim::{Sim, Work};
use crate::engine::Engine;
use crate::tasks::{Device, Flight};
use crate::units::Time;
use crate::world::Env;

impl<E: Env> Device<E> for Sim {
    fn flights(&self) -> Vec<Flight> {
        let each = self.running.iter().map(|((ends, number), work)| match work {
            Work::Io { bios, .. } => {
                let ranges = bios.iter().map(|(bio, _)| bio);
                let held = ranges.filter(|bio| !bio.segs.is_empty());
                Flight {
                    number: *number,
                    flush: false,
                    ranges: held.map(crate::block::bio::Bio::file_range).collect(),
                    ends: *ends,
                }
            }
            Work::Flush { .. } | Work::Zone { .. } => {
                Flight { number: *number, flush: true, ranges: Vec::new(), ends: *ends }
            }
        });
        each.collect()
    }
    fn end(&mut self, engine: &Engine<E>, number: u64) -> bool {
        let key = self.running.keys().find(|(_, other)| *other == number).copied();
        let Some((key, work)) = key.and_then(|key| Some((key, self.running.remove(&key)?))) else {
            return false;
        };
        self.finish(engine, key.0, work);
        true
    }
    fn pass(&mut self, engine: &Engine<E>, to: Time) {
        self.now = self.now.max(to);
        engine.handle_time(self.now);
    }
}
