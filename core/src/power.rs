//! A power cut: everything that is not on the device is gone, and the file systems are mounted
//! again from what is.

use crate::cache::folio::FolioFlags;
use crate::cache::ifs::Half;
use crate::cache::lru::Lru;
use crate::cache::mapping::Mapping;
use crate::device::md::Members;
use crate::device::sim::Sim;
use crate::device::volatile::{Choose, Everything, Nothing, OnlyThese};
use crate::engine::Engine;
use crate::frames::FrameStore as _;
use crate::fs::Provider;
use crate::ops::mmap::MemoryMap;
use crate::ops::readahead::Window;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::scenario::random::Random;
use crate::trace::delta::{ABSENT, DeltaKind};
use crate::trace::model::Place;
use crate::trace::rule::Rule;
use crate::trace::step::Context;
use crate::units::{Bytes, DevAddr, FileId, FolioId, PageIndex};
use crate::world::{Caller, Env, World};

/// What is on the device after a power cut, besides what was durable for sure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// Nothing.
    Nothing,
    /// Everything that was sent, and every record.
    Everything,
    /// Some records and sectors, by this number.
    Some(u64),
    /// Of an array everything that was sent to these members; no record.
    Members(Members),
}

/// Chooses at random what a sector holds. How much is kept, and whether writes are torn, differs
/// from cut to cut.
#[derive(Clone, Debug)]
pub struct Sectors {
    random: Random,
    /// Of 8 sectors so many hold something new.
    kept: u64,
    /// Whole writes are kept or lost; none of them is torn.
    whole: bool,
    salt: u64,
}

impl Sectors {
    /// By this generator.
    pub const fn new(random: &mut Random) -> Self {
        let kept = [4, 4, 1, 7][random.below(4) as usize];
        let whole = random.below(4) == 0;
        let salt = random.bits();
        Self { random: Random::new(random.bits()), kept, whole, salt }
    }
}

impl Choose for Sectors {
    fn choose(&mut self, n: usize, write: usize) -> usize {
        let mut of_write = Random::new(self.salt ^ write as u64);
        let random = if self.whole { &mut of_write } else { &mut self.random };
        if random.below(8) >= self.kept {
            return 0;
        }
        if self.whole { n - 1 } else { 1 + random.below(n as u64 - 1) as usize }
    }
}

/// Cuts the power, and mounts again. Operations that were under way are to be dropped before.
pub fn power_cut<E: Env>(engine: &Engine<E>, sim: &mut Sim, kept: Kept) {
    let all = engine.look(|world| world.journal().log().len());
    let records = match kept {
        Kept::Nothing | Kept::Members(_) => 0,
        Kept::Everything => all,
        Kept::Some(seed) => Random::new(seed).below(all as u64 + 1) as usize,
    };
    let floor = engine.look(|world| {
        world.journal().log()[..records].iter().map(|commit| commit.after).max().unwrap_or(0)
    });
    match kept {
        Kept::Nothing => sim.power_cut(engine, floor, &mut Nothing),
        Kept::Everything => sim.power_cut(engine, floor, &mut Everything),
        Kept::Some(seed) => {
            let mut random = Random::new(!seed);
            sim.power_cut(engine, floor, &mut Sectors::new(&mut random));
        }
        Kept::Members(members) => sim.power_cut(engine, 0, &mut OnlyThese::new(members)),
    }
    engine.power_cut(records, &|zone| sim.written_to(zone));
}

impl<E: Env> Engine<E> {
    /// From now on what a power cut would leave of the file systems' records is known.
    pub fn track_records(&self) {
        self.world().track_records();
    }
    /// A file is as the device knows it, and nothing of it is in memory.
    pub fn mount(&self, file: FileId, image: &crate::journal::Image) {
        self.world().mount(file, Some(image));
    }
    /// The power goes, and of the records that were not durable for sure the first `records` are:
    /// the cache is empty, nothing is under way, files are as the device knows them. `written`: up
    /// to where a zone of the device is written, by where it begins.
    pub fn power_cut(&self, records: usize, written: &dyn Fn(DevAddr) -> DevAddr) {
        self.stops.clear();
        self.world().power_cut(records, written);
    }
}

impl<E: Env> World<E> {
    fn power_cut(&mut self, records: usize, written: &dyn Fn(DevAddr) -> DevAddr) {
        let lost = self.journal.log().len().saturating_sub(records) as u64;
        let dirty = self.folios.iter().filter(|(_, one)| one.flags.has(FolioFlags::DIRTY)).count();
        let in_flight = self.bios.values().filter(|entry| entry.is_in_flight()).count();
        let mut images = self.journal_cut(records);
        for (at, image) in images.iter_mut().enumerate() {
            if let Provider::Zone(zone) = &self.file(FileId::new(at as u32)).provider {
                let start = zone.start() + self.partition();
                image.size = zone.size_at(written(start).since(start));
            }
        }
        self.forget_work();
        let folios: Vec<FolioId> = self.folios.iter().map(|(row, _)| FolioId::new(row)).collect();
        for id in folios {
            self.forget_folio(id);
        }
        self.lru = Lru::default();
        for at in 0..self.files.len() {
            self.mount(FileId::new(at as u32), images.get(at));
        }
        self.caller = Caller { op: None, context: Context::Task, ..self.caller };
        let limits = self.forget_dirt();
        self.step(Rule::PowerCut, [dirty as u64, in_flight as u64, lost, 0]);
        if let Some(limits) = limits {
            self.limit_dirty(limits);
        }
    }
    /// Operations, bios and requests are no more.
    fn forget_work(&mut self) {
        for entry in core::mem::take(&mut self.bios).values() {
            self.note_bio_gone(entry);
        }
        for (id, op) in &core::mem::take(&mut self.ops) {
            self.note_op_gone(id, op);
        }
        self.forget_requests();
        self.effects.clear();
        self.flushes.clear();
        self.deferred.clear();
        self.timers = OrderedSet::default();
        self.dios = OrderedMap::default();
    }
    /// Memory is no more, whatever was in it.
    fn forget_folio(&mut self, id: FolioId) {
        let blocks = self.folio_blocks(id);
        self.set_read_pending(id, Bytes::ZERO);
        self.set_write_pending(id, Bytes::ZERO);
        for half in [Half::Uptodate, Half::Dirty, Half::Asked, Half::Waste] {
            self.set_blocks(id, half, (0, blocks), false);
        }
        let folio = self.folios.at(id).clone();
        if self.state(id).is_some() {
            self.states.remove(folio.ifs);
        }
        self.set_flags(id, FolioFlags::NONE);
        self.note(DeltaKind::FolioPfn, id.get(), 0, folio.pfn().get(), 0);
        let place = Place { file: folio.file(), index: folio.index, order: folio.order };
        self.note(DeltaKind::FolioPlace, id.get(), 0, place.pack(), ABSENT);
        self.folios.remove(id.get());
        self.pfns.release(folio.pfn(), folio.order);
        self.memory.release(folio.pfn(), folio.order.pages());
    }
    /// A file as the device knows it.
    fn mount(&mut self, file: FileId, image: Option<&crate::journal::Image>) {
        self.forget_shadows(file);
        self.forget_locks(file);
        self.set_direct(file, 0);
        let inode = self.file_mut(file);
        inode.mapping = Mapping::default();
        (inode.errors, inode.reported) = (0, 0);
        (inode.sticky, inode.dirtied) = (None, None);
        inode.window = Window::default();
        inode.memory_map = MemoryMap::default();
        inode.writeback_index = PageIndex::ZERO;
        let recorded = image.map_or(inode.disk_size, |image| image.size);
        self.journal_quietly(|world| {
            if let Some(image) = image {
                world.file_mut(file).provider.mount(image);
                world.note_extents(file);
                world.know_extents(file);
            }
            world.set_disk_size(file, recorded);
            world.set_size(file, recorded);
            if let Provider::Zone(zone) = &world.file(file).provider
                && zone.pointer().is_some()
            {
                world.set_zone_pointer(file, recorded);
            }
        });
    }
}
