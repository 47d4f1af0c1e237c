//! Rows whose parity does not fit their data after a power cut, and what a failure then takes with
//! it: the write hole.

use super::{Array, Disks, ROW};
use crate::counters::Counter;
use crate::engine::Engine;
use crate::ordered::OrderedSet;
use crate::trace::array::DamagedAt;
use crate::trace::delta::DeltaKind;
use crate::trace::rule::Rule;
use crate::units::{DevAddr, MemberId, SECTOR_SIZE, Sector, Sectors};
use crate::world::Env;

/// Bytes of a row on a member, which a block of the array has, too.
const BLOCK: u64 = ROW * SECTOR_SIZE;

/// What is in doubt of an array.
#[derive(Clone, Default, Debug)]
pub(super) struct Doubt {
    /// Rows of members whose parity does not fit, by number.
    unfit: OrderedSet<u64>,
    /// Blocks of the array that are not what they were, by number.
    damaged: OrderedSet<u64>,
}

/// Blocks of an array and what a reader gets of them.
pub(super) type Blocks = Vec<(u64, Vec<u8>)>;

impl Array {
    /// The power is back, and nothing made parity fit: which rows have parity that does not.
    pub(super) fn look_for_doubt<E: Env>(&mut self, engine: &Engine<E>) {
        let rows = self.rows();
        let Disks::Stripes(bench) = &self.disks else { return };
        let unfit = |row: &u64| {
            let at = Sector::new(row * ROW);
            bench.stripes.is_whole(at) && !bench.fits(at)
        };
        let unfit: Vec<u64> = rows.into_iter().filter(unfit).collect();
        if unfit.is_empty() {
            return;
        }
        let mut world = engine.world();
        for row in &unfit {
            self.doubt.unfit.insert(*row);
            world.set_array(DeltaKind::RowUnfit, *row as u32, 0, 1);
        }
        world.step(Rule::ParityUnfit, [unfit.len() as u64, 0, 0, 0]);
    }
    /// Rows were read as a whole, or written: those of which parity fits now are in doubt no more.
    pub(super) fn doubt_again<E: Env>(&mut self, engine: &Engine<E>) {
        let Disks::Stripes(bench) = &self.disks else { return };
        if self.doubt.unfit.is_empty() {
            return;
        }
        let fits = |row: &u64| {
            let at = Sector::new(row * ROW);
            bench.stripes.is_whole(at) && bench.fits(at)
        };
        let fit: Vec<u64> = self.doubt.unfit.iter().filter(fits).collect();
        let mut world = engine.world();
        for row in fit {
            self.doubt.unfit.remove(&row);
            world.set_array(DeltaKind::RowUnfit, row as u32, 0, 0);
        }
    }
    /// The blocks of a member in rows that are in doubt, as a reader gets them now.
    pub(super) fn blocks_in_doubt(&self, member: MemberId) -> Blocks {
        let Disks::Stripes(bench) = &self.disks else { return Vec::new() };
        if self.doubt.unfit.is_empty() {
            return Vec::new();
        }
        let parity = bench.stripes.config().parity;
        let mine = |block: &u64| {
            let place = parity.locate(Sector::new(block * ROW));
            place.member == member && self.doubt.unfit.contains(&(place.sector.get() / ROW))
        };
        self.used.iter().filter(mine).map(|block| (block, self.block(block))).collect()
    }
    /// A member has failed: those of its blocks that are made otherwise now are damaged.
    pub(super) fn say_damaged<E: Env>(&mut self, engine: &Engine<E>, before: Blocks) {
        let other = before.into_iter().filter(|(block, bytes)| self.block(*block) != *bytes);
        let damaged: Vec<u64> = other.map(|(block, _)| block).collect();
        if damaged.is_empty() {
            return;
        }
        let Disks::Stripes(bench) = &self.disks else { return };
        let parity = bench.stripes.config().parity;
        let mut world = engine.world();
        for block in &damaged {
            self.doubt.damaged.insert(*block);
            let place = parity.locate(Sector::new(block * ROW));
            let word = DamagedAt { member: place.member, row: place.sector }.pack();
            world.set_array(DeltaKind::BlockDamaged, *block as u32, 0, word);
        }
        let bytes = damaged.len() as u64 * BLOCK;
        world.count(Counter::Damaged, bytes);
        world.step(Rule::BlocksDamaged, [bytes, 0, 0, 0]);
    }
    /// Blocks that are written as a whole are what they should be.
    pub(super) fn written_anew<E: Env>(&mut self, engine: &Engine<E>, start: Sector, len: Sectors) {
        if self.doubt.damaged.is_empty() {
            return;
        }
        let mut world = engine.world();
        for block in start.get().div_ceil(ROW)..(start + len).get() / ROW {
            if self.doubt.damaged.remove(&block) {
                world.set_array(DeltaKind::BlockDamaged, block as u32, 0, 0);
            }
        }
    }
    fn block(&self, block: u64) -> Vec<u8> {
        let mut bytes = vec![0; BLOCK as usize];
        self.peek(DevAddr::new(block * BLOCK), &mut bytes);
        bytes
    }
}
