//! What may stand behind a simulated device besides a plain medium: an array of disks, zones; and
//! what a power cut leaves of it.

use super::array::{Array, ArrayAct};
use super::sim::Sim;
use super::store::Store;
use super::volatile::{Choose, Unsettled, Volatile};
use super::zoned::Zoned;
use crate::block::bio::{Bio, BioOp};
use crate::engine::Engine;
use crate::errno::Errno;
use crate::frames::FrameStore;
use crate::fs::zonefs::ZoneOp;
use crate::trace::rule::Rule;
use crate::units::DevAddr;
use crate::world::Env;

/// What a power cut can leave of a device.
pub enum Remains<'a> {
    /// Of one that holds its bytes itself.
    Device {
        /// What is durable for sure.
        durable: &'a Store,
        /// What may be durable or not.
        unsettled: Unsettled,
        /// Its zones, if it has any.
        zoned: Option<&'a Zoned>,
    },
    /// Of an array, whose members have each their own.
    Array(&'a Array),
}

/// A device after a power cut.
#[derive(Clone, Debug)]
pub struct Left {
    /// Its bytes.
    pub bytes: Store,
    /// Its zones, if it has any.
    pub zoned: Option<Zoned>,
}

impl Remains<'_> {
    /// Sectors that can be one thing or another.
    pub fn sectors(&self) -> usize {
        match self {
            Self::Device { unsettled, .. } => unsettled.sectors(),
            Self::Array(array) => array.unsettled(),
        }
    }
    /// The device after one such cut. What had completed when `floor` writes had is there in any
    /// case.
    pub fn draw(&self, floor: u64, choose: &mut dyn Choose) -> Left {
        match self {
            Self::Device { durable, unsettled, zoned } => {
                let (mut bytes, mut zoned) = ((*durable).clone(), zoned.cloned());
                match &mut zoned {
                    None => unsettled.settle(floor, &mut bytes, choose),
                    Some(zoned) => unsettled.settle_zones(zoned, floor, &mut bytes, choose),
                }
                Left { bytes, zoned }
            }
            Self::Array(array) => {
                let mut left = (*array).clone();
                left.cut(floor, choose);
                Left { bytes: left.flat(), zoned: None }
            }
        }
    }
}

impl Sim {
    /// It is an array, whose members hold from now on what the device does.
    pub fn set_array(&mut self, mut array: Array) {
        array.load(&self.store);
        self.array = Some(array);
    }
    /// Holds these bytes in place of all that it held.
    pub fn set_bytes(&mut self, store: Store) {
        if let Some(array) = &mut self.array {
            array.load(&store);
        }
        self.store = store;
    }
    /// Does something to the array that it is; false if it is none, or that cannot be done.
    pub fn act<E: Env>(&mut self, engine: &Engine<E>, act: ArrayAct) -> bool {
        let mark = self.completed() + 1;
        let Some(array) = &mut self.array else { return false };
        array.set_mark(mark);
        let done = array.act(engine, act);
        if let Some(volatile) = &mut self.volatile {
            volatile.touch();
        }
        done
    }
    /// Reads what is on the device; of an array what its members make of it.
    pub fn read_device(&self, at: DevAddr, to: &mut [u8]) {
        match &self.array {
            Some(array) => array.peek(at, to),
            None => self.store.read(at, to),
        }
    }
    /// It has zones.
    pub fn set_zones(&mut self, zoned: Zoned) {
        self.zoned = Some(zoned);
    }
    /// Whether the zones of the device take these bios; one that they refuse becomes a step.
    pub(super) fn zones_take<E: Env>(&mut self, engine: &Engine<E>, bios: &[Bio]) -> bool {
        let Some(zoned) = &mut self.zoned else { return true };
        for bio in bios.iter().filter(|bio| bio.head.op == BioOp::Write) {
            if let Err(pointer) = zoned.write(bio.addr, bio.len) {
                let args = [u64::from(bio.id.get()), bio.addr.get(), pointer.get(), 0];
                engine.device_says(Rule::ZoneRefuses, args);
                return false;
            }
        }
        true
    }
    /// Up to where the zone is written that begins there; its start, where there are no zones.
    pub fn written_to(&self, zone: DevAddr) -> DevAddr {
        self.zoned.as_ref().map_or(zone, |zoned| zoned.pointer(zone))
    }
    /// A zone is emptied or filled: what becomes of it is durable with it.
    pub(super) fn set_zone(&mut self, at: DevAddr, op: ZoneOp) {
        let Some(zoned) = &mut self.zoned else { return };
        let nth = zoned.in_order(at);
        let (from, len) = zoned.set(at, op);
        let mut stores = vec![&mut self.store];
        if let Some(volatile) = &mut self.volatile {
            volatile.settle_zone(|addr| zoned.in_order(addr) == nth, op == ZoneOp::Finish);
            stores.push(&mut volatile.durable);
        }
        for store in stores {
            match op {
                ZoneOp::Reset => store.forget(from, len),
                ZoneOp::Finish => store.zero(from, len),
            }
        }
    }
    /// A flush ended that began when `mark` writes had completed: zones hold these for good.
    pub(super) fn keep_zones(&mut self, mark: u64) {
        if let (Some(zoned), Some(volatile)) = (&mut self.zoned, &self.volatile) {
            for (at, len) in volatile.below(mark) {
                zoned.keep(at, len);
            }
        }
    }
    /// A bio ends as the array says that it is.
    pub(super) fn end_of_array<E: Env>(
        &mut self,
        engine: &Engine<E>,
        bio: &Bio,
        result: Result<(), Errno>,
    ) -> Result<(), Errno> {
        let Some(array) = &mut self.array else { return Ok(()) };
        let (of_array, data) = array.take_ended(engine, bio);
        if let Err(errno) = of_array {
            let args = [u64::from(bio.id.get()), u64::from(errno.number()), 0, 0];
            engine.device_says(Rule::ArrayBioFails, args);
        }
        match bio.head.op {
            BioOp::Read if result.is_ok() && of_array.is_ok() => {
                engine.with_frames(|frames| scatter_bytes(frames, bio, &data));
            }
            BioOp::Read => {}
            // What is durable of it the members know.
            BioOp::Write => self.note_completed(engine, bio.addr, &[]),
        }
        of_array
    }
    /// What a power cut now can leave.
    pub fn remains(&self) -> Remains<'_> {
        let Some(array) = &self.array else {
            let durable = self.volatile.as_ref().map_or(&self.store, |one| &one.durable);
            let zoned = self.zoned.as_ref();
            return Remains::Device { durable, unsettled: self.unsettled(), zoned };
        };
        Remains::Array(array)
    }
    /// The power goes and comes back. What had completed when `floor` bios had is there in any
    /// case, nothing is in flight, and an array makes of its members what it can.
    pub fn power_cut<E: Env>(&mut self, engine: &Engine<E>, floor: u64, choose: &mut dyn Choose) {
        if let Some(array) = &mut self.array {
            let found = array.cut(floor, choose);
            array.say_assembled(engine, found);
            self.volatile = Some(Volatile::default());
        } else {
            let Left { bytes, zoned } = self.remains().draw(floor, choose);
            self.volatile = Some(Volatile::new(bytes.clone()));
            (self.store, self.zoned) = (bytes, zoned);
        }
        self.running.clear();
        for service in &mut self.services {
            service.clear(self.now);
        }
    }
}

fn scatter_bytes(frames: &mut impl FrameStore, bio: &Bio, bytes: &[u8]) {
    let mut at = 0;
    for vec in &bio.vecs {
        let to = frames.bytes_mut(vec.pfn, vec.offset, vec.len);
        let len = to.len();
        to.copy_from_slice(&bytes[at..at + len]);
        at += len;
    }
}
