//! One simulated device as the host of an engine.

use super::store::Store;
use crate::block::bio::{Bio, BioOp};
use crate::engine::{Engine, Host};
use crate::errno::Errno;
use crate::frames::FrameStore;
use crate::iomap::MapType;
use crate::units::{Bytes, DevAddr, FileId, Nanos, Pos, RequestId, Time};
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
}

/// A bio that is to fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BioFault {
    /// Which direction.
    pub op: BioOp,
    /// Bios that touch this byte; none = any.
    pub touches: Option<DevAddr>,
    /// How many such bios pass before.
    pub after: u32,
    /// How many then fail.
    pub times: u32,
    /// With what.
    pub errno: Errno,
}

impl BioFault {
    fn fires(&mut self, bio: &Bio) -> bool {
        let touches = |at: DevAddr| bio.addr <= at && at < bio.end();
        if bio.head.op != self.op || !self.touches.is_none_or(touches) || self.times == 0 {
            return false;
        }
        if self.after > 0 {
            self.after -= 1;
            return false;
        }
        self.times -= 1;
        true
    }
}

enum Work {
    /// Bios that follow each other, with the data of those that write; a request, or one alone.
    Io {
        request: Option<RequestId>,
        bios: Vec<(Bio, Vec<u8>)>,
        result: Result<(), Errno>,
    },
    Flush(FlushId),
}

/// A simulated device.
pub struct Sim {
    store: Store,
    timing: Timing,
    faults: Vec<BioFault>,
    /// What is in flight by the time of its end, then by submission.
    running: BTreeMap<(Time, u64), Work>,
    submitted: u64,
    now: Time,
    /// When each place of the queue is free again.
    places: Vec<Time>,
}

impl Sim {
    /// A device without bytes.
    pub fn new(timing: Timing) -> Self {
        let depth = match timing {
            Timing::Ram => 1,
            Timing::Queue { depth, .. } => depth.max(1),
        };
        Self {
            store: Store::default(),
            timing,
            faults: Vec::new(),
            running: BTreeMap::new(),
            submitted: 0,
            now: Time::ZERO,
            places: vec![Time::ZERO; depth as usize],
        }
    }
    /// Makes bios fail.
    pub fn add_fault(&mut self, fault: BioFault) {
        self.faults.push(fault);
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
                    self.store.read(addr, &mut out[start..end]);
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
    fn end_time(&mut self, len: Bytes, flush: bool) -> Time {
        match self.timing {
            Timing::Ram => self.now,
            Timing::Queue { flush: cost, .. } if flush => {
                self.running.keys().map(|(end, _)| *end).max().unwrap_or(self.now).max(self.now)
                    + cost
            }
            Timing::Queue { latency, per_kib, .. } => {
                let place = self.places.iter_mut().min().expect("one place at least");
                let cost = latency + Nanos::new(per_kib.get() * len.get() / 1024);
                *place = (*place).max(self.now) + cost;
                *place
            }
        }
    }
    /// Starts bios that the device serves as one; a fault of one of them fails all.
    fn io<E: Env>(&mut self, engine: &Engine<E>, request: Option<RequestId>, bios: Vec<Bio>) {
        let len = bios.iter().map(|bio| bio.len).sum();
        let mut fires =
            |bio: &Bio| self.faults.iter_mut().find_map(|one| one.fires(bio).then_some(one.errno));
        let result = bios.iter().find_map(&mut fires).map_or(Ok(()), Err);
        let with_data = |bio: Bio| {
            let writes = bio.head.op == BioOp::Write && result.is_ok();
            let gather = || engine.with_frames(|frames| gather(frames, &bio));
            let data = if writes { gather() } else { Vec::new() };
            (bio, data)
        };
        let bios = bios.into_iter().map(with_data).collect();
        self.push(len, Work::Io { request, bios, result });
    }
    fn push(&mut self, len: Bytes, work: Work) {
        let end = self.end_time(len, matches!(work, Work::Flush(_)));
        self.running.insert((end, self.submitted), work);
        self.submitted += 1;
    }
}

impl<E: Env> Host<E> for Sim {
    fn start(&mut self, engine: &Engine<E>, effect: Effect) {
        match effect {
            Effect::Submit(bio) => self.io(engine, None, vec![bio]),
            Effect::Issue(request) => self.io(engine, Some(request.id), request.bios),
            Effect::Flush(id) | Effect::SetSize(id, _, _) => {
                self.push(Bytes::ZERO, Work::Flush(id));
            }
        }
    }
    fn wait(&mut self, engine: &Engine<E>) -> bool {
        let Some(((end, _), work)) = self.running.pop_first() else { return false };
        self.now = self.now.max(end);
        engine.handle_time(self.now);
        match work {
            Work::Io { request, bios, result } => {
                for (bio, data) in bios.iter().filter(|_| result.is_ok()) {
                    match bio.head.op {
                        BioOp::Read => {
                            engine.with_frames(|frames| scatter(frames, bio, &self.store));
                        }
                        BioOp::Write => self.store.write(bio.addr, data),
                    }
                }
                match request {
                    Some(id) => engine.handle_request_end(id, result),
                    None => bios.iter().for_each(|(bio, _)| engine.handle_bio_end(bio.id, result)),
                }
            }
            Work::Flush(id) => engine.handle_flush_end(id, Ok(())),
        }
        true
    }
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
                    sim.store.read(addr, part);
                }
            }
            at = end;
        }
        out
    })
}
