//! The bytes of an array: those that are there at the start, what a reader would get of them, and
//! what a power cut leaves.

use super::{Array, Disks, ROW};
use crate::device::md::run::Assembled;
use crate::device::store::Store;
use crate::device::volatile::Choose;
use crate::engine::Engine;
use crate::ordered::OrderedMap;
use crate::trace::rule::Rule;
use crate::units::{Bytes, DevAddr, SECTOR_SIZE, Sector, Sectors};
use crate::world::Env;
use std::collections::{BTreeMap, BTreeSet};

impl Array {
    /// Holds the bytes of a device from now on, with their parity and copies, and nothing else.
    /// Members that have failed hold none of them, so that it is as if they failed afterwards.
    pub fn load(&mut self, store: &Store) {
        let mut rows = BTreeSet::new();
        for (addr, bytes) in store.chunks() {
            let at = Sector::new(addr.get() / SECTOR_SIZE);
            self.used.insert(at.get() / ROW);
            match &mut self.disks {
                Disks::Stripes(bench) => {
                    bench.put(at, bytes);
                    let place = bench.stripes.config().parity.locate(at).sector;
                    rows.insert(Sector::new(place.get() / ROW * ROW));
                }
                Disks::Plain(plain) => plain.put(at, bytes),
            }
        }
        if let Disks::Stripes(bench) = &mut self.disks {
            bench.make_parity(&rows);
        }
    }
    /// What a reader would get, as far as the members have it; what is lost is zero.
    pub fn peek(&self, at: DevAddr, to: &mut [u8]) {
        let first = at.get() / SECTOR_SIZE;
        let skip = (at.get() % SECTOR_SIZE) as usize;
        let whole = (skip + to.len()).next_multiple_of(SECTOR_SIZE as usize);
        let mut bytes = vec![0; whole];
        match &self.disks {
            Disks::Stripes(bench) => {
                bench.peek(Sector::new(first), &mut bytes);
            }
            Disks::Plain(plain) => {
                let len = Sectors::new(whole as u64 / SECTOR_SIZE);
                bytes = plain.read(Sector::new(first), len).1;
            }
        }
        to.copy_from_slice(&bytes[skip..skip + to.len()]);
    }
    /// Everything that it holds, as a device without members would.
    pub(crate) fn flat(&self) -> Store {
        let mut store = Store::default();
        let mut bytes = vec![0; (ROW * SECTOR_SIZE) as usize];
        for row in &self.used {
            let at = DevAddr::new(row * ROW * SECTOR_SIZE);
            self.peek(at, &mut bytes);
            store.write(at, &bytes);
        }
        store
    }
    /// From now on it is known what a power cut would leave of the members.
    pub(crate) fn track_power(&mut self) {
        match &mut self.disks {
            Disks::Stripes(bench) => bench.track_power(),
            Disks::Plain(plain) => plain.disks.track_power(),
        }
    }
    /// What is done from now on is needed by the bio of this number and by later ones.
    pub(crate) const fn set_mark(&mut self, mark: u64) {
        match &mut self.disks {
            Disks::Stripes(bench) => bench.set_mark(mark),
            Disks::Plain(plain) => plain.disks.set_mark(mark),
        }
    }
    /// What the first `mark` bios need is durable.
    pub(crate) fn flush(&mut self, mark: u64) {
        match &mut self.disks {
            Disks::Stripes(bench) => bench.flush(mark),
            Disks::Plain(plain) => plain.disks.flush(mark),
        }
    }
    /// Sectors of members that a power cut could leave one way or another.
    pub(crate) fn unsettled(&self) -> usize {
        match &self.disks {
            Disks::Stripes(bench) => bench.unsettled(),
            Disks::Plain(plain) => plain.disks.unsettled(),
        }
    }
    /// The power goes and comes back. What the first `floor` bios need is there in any case.
    pub(crate) fn cut(&mut self, floor: u64, choose: &mut dyn Choose) -> Assembled {
        (self.asked, self.ended) = (OrderedMap::default(), BTreeMap::new());
        match &mut self.disks {
            Disks::Stripes(bench) => bench.cut(floor, choose),
            Disks::Plain(plain) => {
                plain.disks.cut(floor, choose);
                Assembled::Unclean
            }
        }
    }
    /// What it found then becomes a step.
    pub(crate) fn say_assembled<E: Env>(&mut self, engine: &Engine<E>, found: Assembled) {
        let (rule, count) = match found {
            Assembled::Replayed(blocks) => (Rule::JournalReplayed, blocks),
            Assembled::Mended(rows) => (Rule::ParityMended, rows),
            Assembled::Unclean => (Rule::ArrayUnclean, 0),
        };
        let bytes = Bytes::new(count * ROW * SECTOR_SIZE);
        let mut world = engine.world();
        world.set_rows_held(&[]);
        world.step(rule, [bytes.get(), count, 0, 0]);
        drop(world);
        if found == Assembled::Unclean {
            self.look_for_doubt(engine);
        }
    }
}
