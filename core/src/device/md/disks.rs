//! The disks of an array: what each of them holds, and what of it a power cut would leave.

use crate::device::store::Store;
use crate::device::volatile::{Choose, Volatile};
use crate::units::{Bytes, DevAddr, MemberId, SECTOR_SIZE, Sector};

/// A disk.
#[derive(Clone, Default, Debug)]
struct Disk {
    store: Store,
    /// What is durable, where somebody wants to know.
    volatile: Option<Volatile>,
}

/// All of them.
#[derive(Clone, Debug)]
pub struct Disks {
    all: Vec<Disk>,
    /// What is written now is needed by the bio of this number and by later ones.
    mark: u64,
}

const fn addr(at: Sector) -> DevAddr {
    DevAddr::new(at.get() * SECTOR_SIZE)
}

impl Disks {
    /// Empty disks.
    pub fn new(members: u32) -> Self {
        Self { all: vec![Disk::default(); members as usize], mark: 1 }
    }
    /// What a disk holds.
    pub fn store(&self, member: MemberId) -> &Store {
        &self.all[member.get() as usize].store
    }
    pub(super) fn read(&self, member: MemberId, at: Sector, to: &mut [u8]) {
        self.store(member).read(addr(at), to);
    }
    pub(super) fn bytes(&self, member: MemberId, at: Sector, len: Bytes) -> Vec<u8> {
        self.store(member).bytes(addr(at), len)
    }
    pub(super) fn write(&mut self, member: MemberId, at: Sector, bytes: &[u8]) {
        let mark = self.mark;
        let Some(disk) = self.all.get_mut(member.get() as usize) else { return };
        disk.store.write(addr(at), bytes);
        if let Some(volatile) = &mut disk.volatile {
            volatile.complete_for(mark, addr(at), bytes);
        }
    }
    /// An empty disk takes the place of one.
    pub(super) fn replace(&mut self, member: MemberId) {
        let disk = &mut self.all[member.get() as usize];
        disk.volatile = disk.volatile.as_ref().map(|_| Volatile::default());
        disk.store = Store::default();
    }
    /// From now on it is known what is durable: what they hold now is.
    pub(crate) fn track_power(&mut self) {
        for disk in &mut self.all {
            disk.volatile = Some(Volatile::new(disk.store.clone()));
        }
    }
    pub(super) fn tracks_power(&self) -> bool {
        self.all.iter().any(|disk| disk.volatile.is_some())
    }
    /// What is written from now on is needed by the bio of this number and by later ones.
    pub(crate) const fn set_mark(&mut self, mark: u64) {
        self.mark = mark;
    }
    pub(super) const fn mark(&self) -> u64 {
        self.mark
    }
    /// What the first `mark` bios need is durable.
    pub(crate) fn flush(&mut self, mark: u64) {
        self.all.iter_mut().filter_map(|disk| disk.volatile.as_mut()).for_each(|one| {
            one.flush(mark);
        });
    }
    /// Everything is durable.
    pub(super) fn flush_all(&mut self) {
        self.flush(self.mark);
    }
    /// Sectors that a power cut could leave one way or another.
    pub(crate) fn unsettled(&self) -> usize {
        let each = self.all.iter().filter_map(|disk| disk.volatile.as_ref());
        each.map(|volatile| volatile.unsettled(core::iter::empty()).sectors()).sum()
    }
    /// The power goes. What the first `floor` bios need is there in any case.
    pub(crate) fn cut(&mut self, floor: u64, choose: &mut dyn Choose) {
        for (nth, disk) in self.all.iter_mut().enumerate() {
            let Some(volatile) = &disk.volatile else { continue };
            choose.device(nth);
            let mut medium = volatile.durable.clone();
            volatile.unsettled(core::iter::empty()).settle(floor, &mut medium, choose);
            *disk = Disk { store: medium.clone(), volatile: Some(Volatile::new(medium)) };
        }
    }
}
