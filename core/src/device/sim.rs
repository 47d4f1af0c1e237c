//! One simulated device as the host of an engine.

use super::array::Array;
use super::disk::Disk;
use super::fault::{DeviceFault, Misdeed};
use super::service::Service;
use super::store::Store;
use super::volatile::{Pending, Unsettled, Volatile};
use super::zoned::Zoned;
use crate::block::bio::{Bio, BioOp};
use crate::engine::{Engine, Host};
use crate::errno::Errno;
use crate::frames::FrameStore;
use crate::fs::zonefs::ZoneOp;
use crate::iomap::MapType;
use crate::trace::rule::Rule;
use crate::units::{Bytes, DevAddr, FileId, FileRange, Nanos, Pos, RequestId, Time};
use crate::world::{Effect, Env, FlushId};
use std::collections::BTreeMap;

/// How long things take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timing {
    /// No time: in the order of submission.
    Ram,
    /// A queue of `depth` places, each serving one bio or request at a time.
    Queue {
        /// Bios served at once.
        depth: u32,
        /// From start to end of a bio without bytes.
        latency: Nanos,
        /// Time for each KiB on top.
        per_kib: Nanos,
        /// A flush.
        flush: Nanos,
    },
    /// A disk with one head, which serves one bio or request after the other.
    Disk {
        /// The disk.
        disk: Disk,
        /// A flush.
        flush: Nanos,
    },
}

impl Timing {
    /// Bytes of the device, if it has an end.
    pub const fn size(&self) -> Option<Bytes> {
        if let Self::Disk { disk, .. } = self { Some(disk.size) } else { None }
    }
}

/// A write bio that ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Landed {
    /// Whose bytes.
    pub file: FileId,
    /// Which of them; whole blocks, so that it may reach beyond EOF.
    pub range: FileRange,
    /// The bytes; none if it failed, and what was on the device is there still.
    pub data: Option<Vec<u8>>,
    /// It came from the application's memory, past the cache.
    pub direct: bool,
    /// It was to be the new copy of shared blocks.
    pub copy: bool,
    /// Other places that had these blocks when it ended, each with where its bytes begin in it.
    pub also: Vec<(FileId, FileRange, Bytes)>,
}

pub(super) enum Work {
    /// Bios that follow each other, with what of their data reaches the medium; a request, or one
    /// alone.
    Io {
        request: Option<RequestId>,
        bios: Vec<(Bio, Vec<u8>)>,
        result: Result<(), Errno>,
        /// It ends only when so many others have.
        waits: u32,
    },
    Flush {
        id: FlushId,
        /// Writes that had completed when it began.
        mark: u64,
        result: Result<(), Errno>,
        /// It does nothing.
        lies: bool,
    },
    /// Something done to a zone as a whole.
    Zone { id: FlushId, at: DevAddr, op: ZoneOp, result: Result<(), Errno> },
}

/// A simulated device.
pub struct Sim {
    /// What it reads: everything that completed.
    pub(super) store: Store,
    /// What a power cut would leave, where somebody wants to know.
    pub(super) volatile: Option<Volatile>,
    /// How long things take; several where it is several devices.
    pub(super) services: Vec<Service>,
    faults: Vec<DeviceFault>,
    /// Everything fails.
    dead: bool,
    /// What is in flight by the time of its end, then by submission.
    pub(super) running: BTreeMap<(Time, u64), Work>,
    submitted: u64,
    pub(super) now: Time,
    /// Write bios that ended, where somebody asked for them.
    landed: Option<Vec<Landed>>,
    /// What is behind the device, if it is an array.
    pub(super) array: Option<Array>,
    /// Its zones, if it has any.
    pub(super) zoned: Option<Zoned>,
}

impl Sim {
    /// A device without bytes.
    pub fn new(timing: Timing) -> Self {
        Self {
            store: Store::default(),
            volatile: None,
            services: vec![Service::new(timing)],
            faults: Vec::new(),
            dead: false,
            running: BTreeMap::new(),
            submitted: 0,
            now: Time::ZERO,
            landed: None,
            array: None,
            zoned: None,
        }
    }
    /// There is one more device, which serves the files that are said to be on it
    /// ([`Engine::set_bdi`]) beside the others. A flush is one of all.
    pub fn add_device(&mut self, timing: Timing) {
        self.services.push(Service::new(timing));
    }
    /// The array that it is.
    pub const fn array(&self) -> Option<&Array> {
        self.array.as_ref()
    }
    /// Makes it do something wrong.
    pub fn add_fault(&mut self, fault: DeviceFault) {
        self.faults.push(fault);
    }
    /// Arms these faults in place of those that were, which are given back with what is left of
    /// them.
    pub fn replace_faults(&mut self, faults: Vec<DeviceFault>) -> Vec<DeviceFault> {
        core::mem::replace(&mut self.faults, faults)
    }
    /// From now on it keeps apart what is durable: what it holds now is.
    pub fn track_power(&mut self) {
        if let Some(array) = &mut self.array {
            array.track_power();
        }
        if let Some(zoned) = &mut self.zoned {
            zoned.keep_all();
        }
        self.volatile = Some(Volatile::new(self.store.clone()));
    }
    /// How many writes have completed; 0 where nobody wants to cut the power.
    pub fn completed(&self) -> u64 {
        self.volatile.as_ref().map_or(0, Volatile::completed)
    }
    /// Changes whenever what a power cut may leave does.
    pub fn power_version(&self) -> u64 {
        self.volatile.as_ref().map_or(0, Volatile::version)
    }
    /// What may be durable or not.
    pub(super) fn unsettled(&self) -> Unsettled {
        let bios = self.running.values().flat_map(|work| match work {
            Work::Io { bios, .. } => bios.as_slice(),
            Work::Flush { .. } | Work::Zone { .. } => &[],
        });
        let writes = bios.filter(|(_, data)| !data.is_empty());
        let in_flight = writes.map(|(bio, data)| Pending {
            addr: bio.addr,
            data: data.clone(),
            completed: None,
        });
        self.volatile.as_ref().map_or_else(Unsettled::default, |one| one.unsettled(in_flight))
    }
    /// Notes from now on which write bios ended, and how.
    pub fn watch(&mut self) {
        self.landed.get_or_insert_default();
    }
    /// What ended since this was last asked.
    pub fn take_landed(&mut self) -> Vec<Landed> {
        self.landed.as_mut().map(core::mem::take).unwrap_or_default()
    }
    /// The bytes on the device.
    pub const fn store(&self) -> &Store {
        &self.store
    }
    /// The bytes on the device, to be prepared.
    pub const fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }
    /// Now, in virtual time.
    pub const fn now(&self) -> Time {
        self.now
    }
    /// What a file holds on the device, up to its recorded size: holes, reservations and unwritten
    /// blocks read as zero.
    pub fn durable_bytes<E: Env>(&self, engine: &Engine<E>, file: FileId) -> Vec<u8> {
        engine.look(|world| {
            let inode = world.file(file);
            let mut out = vec![0; inode.disk_size.get() as usize];
            for map in inode.provider.extents(world.geometry()) {
                let start = map.range.start().get() as usize;
                let end = (map.range.end().get() as usize).min(out.len());
                if let (MapType::Mapped, Some(addr)) = (map.kind, map.addr)
                    && start < end
                {
                    self.read_device(addr + world.partition(), &mut out[start..end]);
                }
            }
            put_inline(
                &mut out,
                inode.provider.inline_start(),
                inode.provider.durable_inline_bytes(),
            );
            out
        })
    }
    /// Starts bios that the device serves as one; a fault of one of them is one of all.
    fn io<E: Env>(&mut self, engine: &Engine<E>, request: Option<RequestId>, bios: Vec<Bio>) {
        let len = bios.iter().map(|bio| bio.len).sum();
        let (result, reaches, waits) = match self.misdeed(engine, &bios) {
            None | Some(Misdeed::Lies) => (Ok(()), None, 0),
            Some(Misdeed::Fails(errno, reaches)) => (Err(errno), Some(reaches), 0),
            Some(Misdeed::Refuses(errno)) => {
                end(engine, request, &bios, Err(errno));
                return;
            }
            Some(Misdeed::Waits(others)) => (Ok(()), None, others),
            Some(Misdeed::Dies) => (Err(Errno::Io), Some(Bytes::ZERO), 0),
        };
        if result.is_ok() && !self.zones_take(engine, &bios) {
            end(engine, request, &bios, Err(Errno::Io));
            return;
        }
        let mut left = reaches.unwrap_or(len);
        let with_data = |bio: Bio| {
            let mut data = Vec::new();
            if bio.head.op == BioOp::Write && !left.is_zero() {
                data = engine.with_frames(|frames| gather(frames, &bio));
                data.truncate(left.get() as usize);
                left = left.saturating_sub(bio.len);
            }
            (bio, data)
        };
        let bios: Vec<(Bio, Vec<u8>)> = bios.into_iter().map(with_data).collect();
        let mark = self.completed() + 1;
        if let Some(array) = &mut self.array {
            array.set_mark(mark);
            let reaches = |bio: &Bio, data: &[u8]| {
                result.is_ok() || bio.head.op == BioOp::Write && !data.is_empty()
            };
            for (bio, data) in bios.iter().filter(|(bio, data)| reaches(bio, data)) {
                array.submit(engine, bio, data);
            }
        }
        let end = self.served(engine, &bios, len);
        self.push(end, Work::Io { request, bios, result, waits });
    }
    /// What a fault makes of these bios, which becomes a step.
    fn misdeed<E: Env>(&mut self, engine: &Engine<E>, bios: &[Bio]) -> Option<Misdeed> {
        if self.dead {
            return Some(Misdeed::Dies);
        }
        if let Some((bio, size)) = self.beyond(engine, bios) {
            let args = [u64::from(bio.id.get()), bio.len.get(), bio.addr.get(), size.get()];
            engine.device_says(Rule::BeyondDevice, args);
            return Some(Misdeed::Refuses(Errno::Io));
        }
        let mut fires = |bio: &Bio| {
            self.faults.iter_mut().find_map(|one| one.takes(bio).then_some((bio.id, one.what)))
        };
        let (bio, what) = bios.iter().find_map(&mut fires)?;
        let len: Bytes = bios.iter().map(|bio| bio.len).sum();
        let args = |word: u64, more: u64| [u64::from(bio.get()), len.get(), word, more];
        match what {
            Misdeed::Fails(errno, reaches) => {
                let args = args(u64::from(errno.number()), reaches.min(len).get());
                engine.device_says(Rule::DeviceFails, args);
            }
            Misdeed::Refuses(errno) => {
                engine.device_says(Rule::DeviceFails, args(u64::from(errno.number()), 0));
            }
            Misdeed::Waits(others) => {
                engine.device_says(Rule::DeviceDelays, args(u64::from(others), 0));
            }
            Misdeed::Dies => self.die(engine),
            Misdeed::Lies => {}
        }
        Some(what)
    }
    fn die<E: Env>(&mut self, engine: &Engine<E>) {
        self.dead = true;
        engine.device_says(Rule::DeviceGone, [u64::from(Errno::Io.number()), 0, 0, 0]);
    }
    fn flush<E: Env>(&mut self, engine: &Engine<E>, id: FlushId) {
        let fault = self.faults.iter_mut().find_map(|one| one.takes_flush().then_some(one.what));
        let (result, lies) = match fault {
            _ if self.dead => (Err(Errno::Io), false),
            None | Some(Misdeed::Waits(_)) => (Ok(()), false),
            Some(Misdeed::Fails(errno, _) | Misdeed::Refuses(errno)) => {
                engine.device_says(Rule::FlushFails, [u64::from(errno.number()), 0, 0, 0]);
                (Err(errno), false)
            }
            Some(Misdeed::Lies) => {
                engine.device_says(Rule::FlushLies, [0; 4]);
                (Ok(()), true)
            }
            Some(Misdeed::Dies) => {
                self.die(engine);
                (Err(Errno::Io), false)
            }
        };
        let mark = self.completed();
        let end = self.flushed();
        self.push(end, Work::Flush { id, mark, result, lies });
    }
    /// What ends next: the first whose turn has come, else the first.
    fn next_at(&self) -> Option<(Time, u64)> {
        let free = |work: &Work| !matches!(work, Work::Io { waits, .. } if *waits > 0);
        let found = self.running.iter().find(|(_, work)| free(work));
        found.or_else(|| self.running.iter().next()).map(|(at, _)| *at)
    }
    /// Takes it.
    fn next_work(&mut self) -> Option<(Time, Work)> {
        let at = self.next_at()?;
        let work = self.running.remove(&at)?;
        for other in self.running.values_mut() {
            if let Work::Io { waits, .. } = other {
                *waits = waits.saturating_sub(1);
            }
        }
        Some((at.0, work))
    }
    /// The bios of a piece of work end.
    fn finish_io<E: Env>(
        &mut self,
        engine: &Engine<E>,
        request: Option<RequestId>,
        bios: Vec<(Bio, Vec<u8>)>,
        mut result: Result<(), Errno>,
    ) {
        for (bio, data) in &bios {
            if self.array.is_some() {
                let of_array = self.end_of_array(engine, bio, result);
                result = result.and(of_array);
                continue;
            }
            match bio.head.op {
                BioOp::Read if result.is_ok() => {
                    engine.with_frames(|frames| scatter(frames, bio, &self.store));
                }
                BioOp::Read => {}
                BioOp::Write => {
                    self.store.write(bio.addr, data);
                    self.note_completed(engine, bio.addr, data);
                }
            }
        }
        self.note_landed(engine, &bios, result);
        let bios: Vec<Bio> = bios.into_iter().map(|(bio, _)| bio).collect();
        end(engine, request, &bios, result);
    }
    pub(super) fn note_completed<E: Env>(
        &mut self,
        engine: &Engine<E>,
        addr: DevAddr,
        data: &[u8],
    ) {
        if let Some(volatile) = &mut self.volatile {
            volatile.complete(addr, data);
            engine.writes_completed(volatile.completed());
        }
    }
    fn note_landed<E: Env>(
        &mut self,
        engine: &Engine<E>,
        bios: &[(Bio, Vec<u8>)],
        result: Result<(), Errno>,
    ) {
        let Some(landed) = &mut self.landed else { return };
        for (bio, data) in bios.iter().filter(|(bio, _)| bio.head.op == BioOp::Write) {
            for (range, from) in bio.file_ranges() {
                let part = from.get() as usize..(from + range.len()).get() as usize;
                let other = || other_places(engine, bio.head.file, (range, bio.addr + from));
                landed.push(Landed {
                    file: bio.head.file,
                    range,
                    data: result.is_ok().then(|| data[part].to_vec()),
                    direct: bio.head.direct,
                    copy: bio.head.shared,
                    also: if result.is_ok() { other() } else { Vec::new() },
                });
            }
        }
    }
    /// When bios end that are sent now and follow each other.
    fn served<E: Env>(&mut self, engine: &Engine<E>, bios: &[(Bio, Vec<u8>)], len: Bytes) -> Time {
        let first = bios.first().map(|(bio, _)| bio);
        let at = first.map_or(DevAddr::ZERO, |bio| bio.addr);
        let service = first.map_or(0, |bio| self.service_of(engine, bio));
        self.services[service].serve(self.now, at, len)
    }
    /// Which device a bio goes to.
    fn service_of<E: Env>(&self, engine: &Engine<E>, bio: &Bio) -> usize {
        let last = self.services.len() - 1;
        if last == 0 {
            return 0;
        }
        (engine.look(|world| world.bdi_of(bio.head.file)).get() as usize).min(last)
    }
    /// A bio that ends behind its device, and the size of that.
    fn beyond<'b, E: Env>(&self, engine: &Engine<E>, bios: &'b [Bio]) -> Option<(&'b Bio, Bytes)> {
        if self.array.is_some() {
            return None;
        }
        bios.iter().find_map(|bio| {
            let size = self.services[self.service_of(engine, bio)].size()?;
            (bio.addr + bio.len > DevAddr::ZERO + size).then_some((bio, size))
        })
    }
    /// When a flush ends that is sent now.
    fn flushed(&self) -> Time {
        let last = self.running.keys().map(|(end, _)| *end).max();
        self.services[0].flush(self.now, last)
    }
    fn push(&mut self, end: Time, work: Work) {
        self.running.insert((end, self.submitted), work);
        if let Some(volatile) = &mut self.volatile {
            volatile.touch();
        }
        self.submitted += 1;
    }
}

impl<E: Env> Host<E> for Sim {
    fn start(&mut self, engine: &Engine<E>, effect: Effect) {
        match effect {
            Effect::Submit(bio) => self.io(engine, None, vec![bio]),
            Effect::Issue(request) => self.io(engine, Some(request.id), request.bios),
            Effect::Flush(id) => self.flush(engine, id),
            Effect::SetSize(id, _, _) => {
                let mark = 0;
                let end = self.flushed();
                self.push(end, Work::Flush { id, mark, result: Ok(()), lies: true });
            }
            Effect::Zone(id, at, op) => {
                let result = if self.dead { Err(Errno::Io) } else { Ok(()) };
                let end = self.services[0].serve(self.now, at, Bytes::ZERO);
                self.push(end, Work::Zone { id, at, op, result });
            }
        }
    }
    fn wait(&mut self, engine: &Engine<E>) -> bool {
        let mark = self.completed() + 1;
        if let Some(array) = &mut self.array {
            array.set_mark(mark);
            if array.settle(engine)
                && let Some(volatile) = &mut self.volatile
            {
                volatile.touch();
            }
        }
        let next = self.next_at().map(|(end, _)| end);
        if let Some(timer) = engine.next_timer()
            && next.is_none_or(|end| timer < end)
        {
            self.now = self.now.max(timer);
            engine.handle_time(self.now);
            return true;
        }
        let Some((end, work)) = self.next_work() else { return false };
        self.finish(engine, end, work);
        true
    }
}

impl Sim {
    /// What was started ends, at `end` or now if that is past.
    pub(super) fn finish<E: Env>(&mut self, engine: &Engine<E>, end: Time, work: Work) {
        self.now = self.now.max(end);
        engine.handle_time(self.now);
        match work {
            Work::Io { request, bios, result, .. } => {
                self.finish_io(engine, request, bios, result);
            }
            Work::Flush { id, mark, result, lies } => {
                if result.is_ok() && !lies {
                    self.keep_zones(mark);
                }
                if let Some(volatile) = self.volatile.as_mut().filter(|_| result.is_ok() && !lies) {
                    volatile.flush(mark);
                    if let Some(array) = &mut self.array {
                        array.flush(mark);
                    }
                }
                engine.handle_flush_end(id, result);
            }
            Work::Zone { id, at, op, result } => {
                if result.is_ok() {
                    self.set_zone(at, op);
                }
                engine.handle_flush_end(id, result);
            }
        }
    }
}

/// Reports the end of bios.
fn end<E: Env>(
    engine: &Engine<E>,
    request: Option<RequestId>,
    bios: &[Bio],
    result: Result<(), Errno>,
) {
    match request {
        Some(id) => engine.handle_request_end(id, result),
        None => bios.iter().for_each(|bio| engine.handle_bio_end(bio.id, result)),
    }
}

/// The places of files that have the blocks of a bio, but for the one that it writes.
fn other_places<E: Env>(
    engine: &Engine<E>,
    file: FileId,
    (written, addr): (FileRange, DevAddr),
) -> Vec<(FileId, FileRange, Bytes)> {
    engine.look(|world| {
        let addr = DevAddr::ZERO + addr.since(DevAddr::ZERO + world.partition());
        let mut all = Vec::new();
        for other in (0..world.files.len() as u32).map(FileId::new) {
            for map in world.file(other).provider.extents(world.geometry()) {
                let Some(range) = map.range_at(addr, written.len()) else { continue };
                let own = other == file && !range.intersect(written).is_empty();
                if let Some(at) = map.addr_of(range.start()).filter(|_| !own) {
                    all.push((other, range, at.since(addr)));
                }
            }
        }
        all
    })
}

fn gather(frames: &impl FrameStore, bio: &Bio) -> Vec<u8> {
    let mut data = Vec::with_capacity(bio.len.get() as usize);
    for vec in &bio.vecs {
        data.extend_from_slice(frames.bytes(vec.pfn, vec.offset, vec.len));
    }
    data
}

fn scatter(frames: &mut impl FrameStore, bio: &Bio, store: &Store) {
    let mut at = bio.addr;
    for vec in &bio.vecs {
        store.read(at, frames.bytes_mut(vec.pfn, vec.offset, vec.len));
        at += vec.len;
    }
}

/// The bytes that live with the inode, in the bytes of the file.
fn put_inline(out: &mut [u8], start: Pos, inline: &[u8]) {
    let start = (start.get() as usize).min(out.len());
    let len = inline.len().min(out.len() - start);
    out[start..start + len].copy_from_slice(&inline[..len]);
}

/// Reads what a file would return, from the cache where it is valid and else as the mapping says,
/// without any I/O of the engine.
pub fn peek_bytes<E: Env>(engine: &Engine<E>, sim: &Sim, file: FileId) -> Vec<u8> {
    engine.look(|world| {
        let size = world.file(file).size;
        let block = world.geometry().block_size();
        let mut out = vec![0; size.get() as usize];
        let provider = &world.file(file).provider;
        put_inline(&mut out, provider.inline_start(), provider.inline_bytes());
        let mut at = Pos::ZERO;
        while at < size {
            let end = (at + block).min(size);
            let part = &mut out[at.get() as usize..end.get() as usize];
            if !world.peek_cached(file, at, part) {
                let map = provider.peek(at, end);
                if let (MapType::Mapped, Some(addr)) = (map.kind, map.addr_of(at)) {
                    sim.read_device(addr + world.partition(), part);
                }
            }
            at = end;
        }
        out
    })
}
