//! The device of a case: real bytes, bios in the order of submission, and who ends them when.

use super::expect::Layer;
use super::words::Dir;
use folioscope_core::block::bio::{Bio, BioOp};
use folioscope_core::device::store::Store;
use folioscope_core::engine::Engine;
use folioscope_core::errno::Errno;
use folioscope_core::frames::{FrameStore, HeapFrames};
use folioscope_core::units::BioId;
use folioscope_core::world::{AtSubmit, Effect, Env};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A bio as it was handed on.
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own in the kernel")]
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) layer: Layer,
    pub(super) op: usize,
    pub(super) dir: Dir,
    pub(super) addr: u64,
    pub(super) len: u64,
    pub(super) pos: u64,
    pub(super) io_size: u64,
    pub(super) unwritten: bool,
    pub(super) shared: bool,
    pub(super) boundary: bool,
    /// Past the cache: no ioend.
    pub(super) direct: bool,
}

/// A fault of the device.
#[derive(Clone, Debug)]
pub(super) struct BioFault {
    /// Fails in submission, and only the bio that starts there; else a write that covers the byte.
    pub(super) at_submit: bool,
    pub(super) op: Option<usize>,
    pub(super) until_op: Option<usize>,
    pub(super) addr: Option<u64>,
    pub(super) errno: Errno,
    pub(super) left: Option<u32>,
}

impl BioFault {
    fn fires(&mut self, op: usize, bio: &Bio) -> bool {
        let (start, end) = (bio.addr.get(), bio.end().get());
        let placed = match self.addr {
            None => true,
            Some(addr) if self.at_submit => addr == start,
            Some(addr) => start <= addr && addr < end,
        };
        let meant = self.at_submit || bio.head.op == BioOp::Write;
        let now = self.op.is_none_or(|of| of == op) && self.until_op.is_none_or(|to| op <= to);
        if !(placed && meant && now) || self.left == Some(0) {
            return false;
        }
        self.left = self.left.map(|left| left - 1);
        true
    }
}

/// A bio in flight.
struct Flight {
    bio: Bio,
    data: Vec<u8>,
    result: Result<(), Errno>,
    /// Held until somebody completes this label.
    label: Option<String>,
}

/// The device and what is known of its bios.
pub(super) struct Port {
    pub(super) disk: Store,
    pub(super) sent: Vec<Sent>,
    pub(super) faults: Vec<BioFault>,
    /// Bios end inside submission.
    pub(super) at_submit: bool,
    /// The operation that runs, and the label under which its bios are held.
    pub(super) op: usize,
    pub(super) hold: Option<String>,
    flights: VecDeque<Flight>,
}

pub(super) type Shared = Rc<RefCell<Port>>;

impl Port {
    pub(super) fn new(disk: Store, faults: Vec<BioFault>, at_submit: bool) -> Self {
        let (sent, flights) = (Vec::new(), VecDeque::new());
        Self { disk, sent, faults, at_submit, op: 0, hold: None, flights }
    }
    fn submit(&mut self, bio: &Bio, frames: &mut HeapFrames) -> Option<Result<(), Errno>> {
        let dir = if bio.head.op == BioOp::Read { Dir::Read } else { Dir::Write };
        // Nobody's folio is in it, and no memory of the application.
        let own = bio.segs.is_empty() && !bio.head.direct;
        let layer = if own { Layer::Meta } else { Layer::Data };
        self.sent.push(Sent {
            layer,
            op: self.op,
            dir,
            addr: bio.addr.get(),
            len: bio.len.get(),
            pos: bio.pos.get(),
            io_size: bio.io_size.get(),
            unwritten: bio.head.unwritten,
            shared: bio.head.shared,
            boundary: bio.head.boundary,
            direct: bio.head.direct,
        });
        let op = self.op;
        let mut result = Ok(());
        if let Some(fault) = self.faults.iter_mut().find_map(|fault| {
            let fires = fault.fires(op, bio);
            fires.then_some((fault.at_submit, fault.errno))
        }) {
            if fault.0 {
                return Some(Err(fault.1));
            }
            result = Err(fault.1);
        }
        let data = if dir == Dir::Write { gather(frames, bio) } else { Vec::new() };
        let flight = Flight { bio: bio.clone(), data, result, label: self.hold.clone() };
        if self.at_submit && self.hold.as_deref().is_none_or(|label| label == LATER) {
            self.carry_out(&flight, frames);
            return Some(result);
        }
        self.flights.push_back(flight);
        None
    }
    fn carry_out(&mut self, flight: &Flight, frames: &mut HeapFrames) {
        if flight.result.is_err() {
            return;
        }
        match flight.bio.head.op {
            BioOp::Write => self.disk.write(flight.bio.addr, &flight.data),
            BioOp::Read => {
                let mut at = flight.bio.addr;
                for vec in &flight.bio.vecs {
                    let to = frames.bytes_mut(vec.pfn, vec.offset, vec.len);
                    self.disk.read(at, to);
                    at += vec.len;
                }
            }
        }
    }
    /// Forgets what is in flight: the machine crashed.
    pub(super) fn crash(&mut self) {
        self.flights.clear();
    }
}

fn gather(frames: &HeapFrames, bio: &Bio) -> Vec<u8> {
    let mut data = Vec::with_capacity(bio.len.get() as usize);
    for vec in &bio.vecs {
        data.extend_from_slice(frames.bytes(vec.pfn, vec.offset, vec.len));
    }
    data
}

/// The device as the engine's submission sees it.
pub(super) fn at_submit(port: &Shared) -> AtSubmit<HeapFrames> {
    let port = Rc::clone(port);
    Box::new(move |bio, frames| port.borrow_mut().submit(bio, frames))
}

/// The label of bios that nobody waits for: they end when somebody waits for anything.
pub(super) const LATER: &str = "later";

/// Which bios may end.
#[derive(Clone, Copy)]
pub(super) enum Pick<'a> {
    /// Those that are held under this label.
    Label(&'a str),
    /// Those that are not held: an operation is over.
    Free,
    /// These, and those that nobody waited for: an operation waits.
    Awaited,
}

impl Pick<'_> {
    fn takes(self, flight: &Flight) -> bool {
        match (self, flight.label.as_deref()) {
            (Self::Label(wanted), Some(label)) => wanted == label,
            (Self::Awaited, Some(label)) => label == LATER,
            (Self::Free | Self::Awaited, None) => true,
            (Self::Label(_), None) | (Self::Free, Some(_)) => false,
        }
    }
}

/// Ends the oldest bio that may end; false if there is none.
pub(super) fn complete_one<E: Env<Frames = HeapFrames>>(
    engine: &Engine<E>,
    port: &Shared,
    pick: Pick<'_>,
) -> bool {
    let (id, result): (BioId, _) = {
        let mut port = port.borrow_mut();
        let at = port.flights.iter().position(|flight| pick.takes(flight));
        let Some(flight) = at.and_then(|at| port.flights.remove(at)) else { return false };
        engine.with_frames(|frames| port.carry_out(&flight, frames));
        (flight.bio.id, flight.result)
    };
    engine.handle_bio_end(id, result);
    engine.run_workers();
    true
}

/// How far the completion of bios came.
pub(super) enum Completes {
    /// One ended.
    One,
    /// None is in flight that may end.
    None,
    /// Somebody is to stop there.
    Stops,
}

/// Ends the oldest bio that is not held. `stops` looks at the bytes of the file that it holds: some
/// tells that somebody is to stop there, before it ends or after.
pub(super) fn complete_next<E: Env<Frames = HeapFrames>>(
    engine: &Engine<E>,
    port: &Shared,
    pick: Pick<'_>,
    mut stops: impl FnMut(u64, u64) -> Option<bool>,
) -> Completes {
    let range = {
        let port = port.borrow();
        let next = port.flights.iter().find(|flight| pick.takes(flight));
        next.map(|flight| (flight.bio.pos.get(), flight.bio.pos.get() + flight.bio.len.get()))
    };
    let Some((pos, end)) = range else { return Completes::None };
    let stop = stops(pos, end);
    if stop == Some(true) {
        return Completes::Stops;
    }
    complete_one(engine, port, pick);
    take_effects(engine);
    if stop.is_some() { Completes::Stops } else { Completes::One }
}

/// The operation waits for something that nobody will do.
pub(super) struct Hangs;

/// Runs an operation to its end, and then what it left in flight unless that is held.
pub(super) fn drive<E: Env<Frames = HeapFrames>, T>(
    engine: &Engine<E>,
    port: &Shared,
    op: impl Future<Output = T>,
) -> Result<T, Hangs> {
    let mut op = pin!(op);
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        let polled = op.as_mut().poll(&mut cx);
        let flushed = take_effects(engine);
        match polled {
            Poll::Ready(out) => {
                settle(engine, port);
                return Ok(out);
            }
            Poll::Pending if flushed || complete_one(engine, port, Pick::Awaited) => {}
            Poll::Pending => return Err(Hangs),
        }
    }
}

/// Ends what is in flight and not held.
pub(super) fn settle<E: Env<Frames = HeapFrames>>(engine: &Engine<E>, port: &Shared) {
    take_effects(engine);
    while complete_one(engine, port, Pick::Free) {
        take_effects(engine);
    }
}

/// Takes what the engine asks for: bios are known from submission, a flush ends at once. Whether
/// there was a flush.
pub(super) fn take_effects<E: Env>(engine: &Engine<E>) -> bool {
    let mut flushed = false;
    while let Some(effect) = engine.poll_effect() {
        match effect {
            Effect::Submit(_) | Effect::Issue(_) => {}
            Effect::Flush(id) | Effect::SetSize(id, _, _) | Effect::Zone(id, ..) => {
                engine.handle_flush_end(id, Ok(()));
                flushed = true;
            }
        }
    }
    flushed
}
