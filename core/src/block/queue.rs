//! The request queue between bios and the device: a task's plug, merging into its last request, and
//! the order in which requests leave it (`blk_mq_submit_bio`, `blk_flush_plug`).
//!
//! One device; a scheduler where the host sets one. A bio that is larger than the limits comes in
//! parts (`split`).

use super::bio::{Bio, BioOp};
use super::limits::QueueLimits;
use super::request::{Part, Request, RequestEntry, RequestState};
use super::submit::request_word;
use crate::behaviour::{DeadlineNext, PlugOrder};
use crate::check::invariants::{REQUEST_COVERS, REQUEST_FITS};
use crate::check::mutant::Mutant;
use crate::counters::Counter;
use crate::errno::Errno;
use crate::ordered::OrderedMap;
use crate::trace::delta::DeltaKind;
use crate::trace::rule::Rule;
use crate::trace::sink::Sink;
use crate::trace::step::Context;
use crate::units::{BioId, Bytes, DevAddr, Offset, Pfn, Pos, RequestId, TaskId};
use crate::world::{Effect, Env, World};

/// Most requests of a plug (`BLK_MAX_REQUEST_COUNT`).
const MAX_PLUGGED: usize = 32;
/// A plug whose last request is as long as this takes no other (`BLK_PLUG_FLUSH_SIZE`).
const LONG_REQUEST: Bytes = Bytes::kib(128);

/// Who decides which request a device gets next.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Scheduler {
    /// Nobody: they are issued as they come.
    #[default]
    None,
    /// By place, from the last one on; at the end of the device the oldest is next.
    MqDeadline,
}

/// Requests that a task holds back (`struct blk_plug`).
#[derive(Clone, Debug)]
struct Plug {
    task: TaskId,
    held: Vec<RequestId>,
}

/// Requests that are not retired, and the plugs of tasks.
#[derive(Clone, Default, Debug)]
pub(crate) struct Queue {
    pub(crate) requests: OrderedMap<RequestId, RequestEntry>,
    plugs: Vec<Plug>,
    next: u32,
    pub(crate) scheduler: Scheduler,
    /// Where the last request began that the scheduler sent, reads and writes apart.
    sent_at: [DevAddr; 2],
}

impl Queue {
    fn plug_of(&mut self, task: TaskId) -> Option<&mut Plug> {
        self.plugs.iter_mut().find(|plug| plug.task == task)
    }
}

impl<E: Env> World<E> {
    /// The task begins to hold its requests back; false if it did already, or where bios go
    /// straight to the device (`blk_start_plug`).
    pub(crate) fn start_plug(&mut self) -> bool {
        let task = self.caller.task;
        if self.config.queue.is_none() || self.queue.plug_of(task).is_some() {
            return false;
        }
        self.queue.plugs.push(Plug { task, held: Vec::new() });
        true
    }
    /// The plug that [`Self::start_plug`] began ends (`blk_finish_plug`).
    pub(crate) fn finish_plug(&mut self) {
        let task = self.caller.task;
        self.flush_plug(Rule::Unplugged);
        self.queue.plugs.retain(|plug| plug.task != task);
    }
    /// The task is about to sleep: a worker issues what it holds back (`blk_flush_plug` with
    /// `from_schedule`).
    pub(crate) fn sleep(&mut self) {
        if !self.queue.plugs.is_empty() {
            self.flush_plug(Rule::UnpluggedToSleep);
        }
    }
    /// A submitted bio joins a request or gets one of its own (`blk_mq_submit_bio`). `part`: it is
    /// one of the parts of a larger one; a part that is not the last merges with nothing.
    pub(super) fn queue_bio(&mut self, bio: &Bio, part: Part, limits: QueueLimits) {
        if part != Part::First && self.merge_into_plug(bio, limits) {
            return;
        }
        let request = self.new_request(bio, part, limits);
        let (task, order) = (self.caller.task, self.behaviours().plug_order);
        let Some(plug) = self.queue.plug_of(task) else {
            let way = usize::from(bio.head.op == BioOp::Write);
            self.queue.sent_at[way] = bio.addr;
            return self.issue(request);
        };
        let held = plug.held.len();
        // The head of the list: the last one while it was a stack.
        let head = match order {
            PlugOrder::Lifo => plug.held.last(),
            PlugOrder::Fifo => plug.held.first(),
        };
        let head = head.copied();
        let long = head.is_some_and(|head| self.queue.requests[&head].len >= LONG_REQUEST);
        if held >= MAX_PLUGGED || long {
            self.flush_plug(Rule::UnpluggedFull);
        }
        let plug = self.queue.plug_of(task).expect("found above");
        plug.held.push(request);
        let held = plug.held.len() as u64;
        self.set_request_state(request, RequestState::Plugged);
        self.step(Rule::RequestPlugged, [u64::from(request.get()), held, 0, 0]);
    }
    /// Tries the last request of the task's plug (`blk_attempt_plug_merge`): same direction, and
    /// both about data or both about the file system's own blocks (`blk_cgroup_mergeable`).
    fn merge_into_plug(&mut self, bio: &Bio, limits: QueueLimits) -> bool {
        let page = self.geometry().page_size();
        let too_much = self.mutant(Mutant::MergesTooMuch);
        let apart = self.mutant(Mutant::MergesApart);
        let Some(plug) = self.queue.plug_of(bio.task) else { return false };
        let Some(last) = plug.held.last().copied() else { return false };
        let entry = self.queue.requests.get_mut(&last).expect("held requests exist");
        let alike = entry.head.op == bio.head.op && entry.head.meta == bio.head.meta;
        let segments = entry.segments + segments_of(&limits, bio, page);
        let len = entry.len + bio.len;
        if !alike
            || entry.head.fua
            || bio.head.fua
            || entry.part == Some(Part::First)
            || len > room_of(&limits, entry.addr.min(bio.addr)) && !too_much
            || segments > limits.segments
        {
            return false;
        }
        let (old_addr, old_len) = (entry.addr, entry.len);
        let (rule, counter) = if entry.addr + entry.len == bio.addr || apart {
            entry.bios.push(bio.id);
            (Rule::BackMerged, Counter::BackMerges)
        } else if bio.end() == entry.addr {
            entry.bios.insert(0, bio.id);
            entry.addr = bio.addr;
            (Rule::FrontMerged, Counter::FrontMerges)
        } else {
            return false;
        };
        (entry.len, entry.segments) = (len, segments);
        entry.left += 1;
        let (id, addr) = (last.get(), entry.addr);
        self.note(DeltaKind::RequestAddr, id, 0, old_addr.get(), addr.get());
        self.note(DeltaKind::RequestLen, id, 0, old_len.get(), len.get());
        self.join_request(bio.id, last);
        self.count(counter, 1);
        self.step(rule, [u64::from(bio.id.get()), u64::from(id), addr.get(), len.get()]);
        true
    }
    fn new_request(&mut self, bio: &Bio, part: Part, limits: QueueLimits) -> RequestId {
        let id = RequestId::new(self.queue.next);
        self.queue.next += 1;
        let entry = RequestEntry {
            head: bio.head,
            addr: bio.addr,
            len: bio.len,
            segments: segments_of(&limits, bio, self.geometry().page_size()),
            bios: vec![bio.id],
            part: (part != Part::Whole).then_some(part),
            cut: (part != Part::Whole).then(|| Box::new(bio.clone())),
            left: 1,
            task: bio.task,
            state: RequestState::New,
        };
        self.queue.requests.insert(id, entry);
        let raw = id.get();
        self.note(DeltaKind::RequestHead, raw, 0, 0, bio.head.pack());
        self.note(DeltaKind::RequestAddr, raw, 0, 0, bio.addr.get());
        self.note(DeltaKind::RequestLen, raw, 0, 0, bio.len.get());
        self.join_request(bio.id, id);
        let args = [u64::from(raw), u64::from(bio.id.get()), bio.addr.get(), bio.len.get()];
        self.step(Rule::RequestAllocated, args);
        id
    }
    fn join_request(&mut self, bio: BioId, request: RequestId) {
        let entry = self.bio_mut(bio);
        let old = entry.request.replace(request);
        entry.requests.push(request);
        let (old, new) = (request_word(old), request_word(Some(request)));
        self.note(DeltaKind::BioRequest, bio.get(), 0, old, new);
    }
    fn set_request_state(&mut self, id: RequestId, state: RequestState) {
        let entry = self.queue.requests.get_mut(&id).expect("a request that exists");
        let old = core::mem::replace(&mut entry.state, state);
        self.note(DeltaKind::RequestState, id.get(), 0, old.code(), state.code());
    }
    /// Lets go what the task holds back, for the reason that `rule` says. A sleeping task's
    /// requests are inserted for a worker; else the task issues them itself.
    fn flush_plug(&mut self, rule: Rule) {
        let task = self.caller.task;
        let Some(plug) = self.queue.plug_of(task) else { return };
        let mut held = core::mem::take(&mut plug.held);
        if held.is_empty() {
            return;
        }
        self.step(rule, [held.len() as u64, 0, 0, 0]);
        if self.queue.scheduler == Scheduler::MqDeadline {
            self.dispatch(held);
            return;
        }
        if rule != Rule::UnpluggedToSleep {
            if self.behaviours().plug_order == PlugOrder::Lifo {
                held.reverse();
            }
            for id in held {
                self.issue(id);
            }
            return;
        }
        for id in &held {
            self.set_request_state(*id, RequestState::Inserted);
            self.step(Rule::RequestInserted, [u64::from(id.get()), 0, 0, 0]);
        }
        self.in_context(Context::Worker, |world| {
            for id in held {
                world.issue(id);
            }
        });
    }
    /// The bios of a request follow each other and fill it, and it is no longer than the device
    /// takes; a bio alone may be.
    fn check_request(&mut self, bios: &[Bio], (addr, len): (DevAddr, Bytes)) {
        let mut end = bios.first().map_or(addr, |bio| bio.addr);
        let start = end;
        let follow = bios.iter().all(|bio| {
            let here = bio.addr == end;
            end = bio.end();
            here
        });
        let covers = follow && end == start + len;
        let room = self.config.queue.map_or(len, |limits| room_of(&limits, addr));
        let fits = bios.len() == 1 || len <= room;
        let pos = bios.first().map_or(Pos::ZERO, |bio| bio.pos);
        self.require(covers, REQUEST_COVERS, pos);
        self.require(fits, REQUEST_FITS, pos);
    }
    /// Hands requests to the scheduler, in the order of their plug, and sends them on in its own.
    fn dispatch(&mut self, mut waiting: Vec<RequestId>) {
        for id in &waiting {
            self.set_request_state(*id, RequestState::Inserted);
            self.step(Rule::RequestInserted, [u64::from(id.get()), 0, 0, 0]);
        }
        let mut latter = None;
        while !waiting.is_empty() {
            let at = self.next_to_send(&waiting, latter);
            let id = waiting.remove(at);
            let entry = &self.queue.requests[&id];
            let (addr, way) = (entry.addr, usize::from(entry.head.op == BioOp::Write));
            let behind = waiting.iter().copied().filter(|other| {
                let other = &self.queue.requests[other];
                other.head.op == entry.head.op && other.addr > addr
            });
            latter = behind.min_by_key(|other| self.queue.requests[other].addr);
            let last = core::mem::replace(&mut self.queue.sent_at[way], addr);
            self.step(Rule::ScheduledNext, [u64::from(id.get()), last.get(), 0, 0]);
            self.issue(id);
        }
    }
    /// Which of the waiting requests is sent next (`dd_dispatch_request`): in the direction of the
    /// oldest, the one behind the last; behind which none waits, the oldest.
    fn next_to_send(&self, waiting: &[RequestId], latter: Option<RequestId>) -> usize {
        let op = self.queue.requests[&waiting[0]].head.op;
        let from = self.queue.sent_at[usize::from(op == BioOp::Write)];
        let behind = |id: &&RequestId| {
            let entry = &self.queue.requests[*id];
            entry.head.op == op && entry.addr >= from
        };
        let next = match self.behaviours().deadline_next {
            DeadlineNext::Latter => latter,
            DeadlineNext::Position => {
                let behind = waiting.iter().filter(behind);
                behind.min_by_key(|id| self.queue.requests[*id].addr).copied()
            }
        };
        waiting.iter().position(|id| Some(*id) == next).unwrap_or(0)
    }
    fn issue(&mut self, id: RequestId) {
        self.set_request_state(id, RequestState::Issued);
        self.count(Counter::Requests, 1);
        let entry = &self.queue.requests[&id];
        let part = |id: BioId| entry.cut.as_deref().filter(|part| part.id == id);
        let whole = |id: BioId| self.placed(&self.bios[&id].bio);
        let bios = entry.bios.iter().map(|id| part(*id).cloned().unwrap_or_else(|| whole(*id)));
        let bios: Vec<Bio> = bios.collect();
        let (addr, len) = (entry.addr, entry.len);
        self.check_request(&bios, (addr, len));
        let entry = &self.queue.requests[&id];
        let request = Request { id, head: entry.head, bios };
        let args =
            [u64::from(id.get()), entry.addr.get(), entry.len.get(), entry.bios.len() as u64];
        self.step(Rule::RequestIssued, args);
        self.effects.push_back(Effect::Issue(request));
    }
    /// The device is done with a request: its bios end in order (`blk_mq_end_request`).
    pub(crate) fn end_request(&mut self, id: RequestId, result: Result<(), Errno>) {
        let Some(entry) = self.queue.requests.get(&id) else { return };
        if entry.state != RequestState::Issued {
            return;
        }
        let (bios, len, task) = (entry.bios.clone(), entry.len, entry.task);
        self.caller.task = task;
        self.set_request_state(id, RequestState::Done);
        let error = result.err().map_or(0, |errno| u64::from(errno.number()));
        self.step(Rule::RequestCompleted, [u64::from(id.get()), len.get(), error, 0]);
        for bio in bios {
            self.end_part(bio, Some(id), result);
        }
    }
    /// One of a request's bios ended; with the last one the request is done.
    pub(super) fn bio_of_request_ended(&mut self, id: RequestId) {
        let Some(entry) = self.queue.requests.get_mut(&id) else { return };
        entry.left = entry.left.saturating_sub(1);
        if entry.left > 0 {
            return;
        }
        self.set_request_state(id, RequestState::Done);
        if !E::Sink::ON {
            self.queue.requests.remove(&id);
        }
    }
    /// Drops the records of the task's requests that are done.
    pub(super) fn retire_requests(&mut self, task: TaskId) -> bool {
        self.drop_requests(|one| one.task == task && one.state == RequestState::Done)
    }
    /// Every request is gone, and what tasks held back.
    pub(crate) fn forget_requests(&mut self) {
        self.drop_requests(|_| true);
        self.queue.plugs.clear();
    }
    fn drop_requests(&mut self, which: impl Fn(&RequestEntry) -> bool) -> bool {
        let requests = self.queue.requests.iter();
        let gone: Vec<RequestId> =
            requests.filter(|(_, entry)| which(entry)).map(|(id, _)| id).collect();
        for id in &gone {
            let entry = self.queue.requests.remove(id).expect("listed above");
            let raw = id.get();
            self.note(DeltaKind::RequestState, raw, 0, entry.state.code(), 0);
            self.note(DeltaKind::RequestLen, raw, 0, entry.len.get(), 0);
            self.note(DeltaKind::RequestAddr, raw, 0, entry.addr.get(), 0);
            self.note(DeltaKind::RequestHead, raw, 0, entry.head.pack(), 0);
        }
        !gone.is_empty()
    }
}

/// Pieces of memory of a bio (`blk_recalc_rq_segments`).
fn segments_of(limits: &QueueLimits, bio: &Bio, page: Bytes) -> u64 {
    let phys = |pfn: Pfn, offset: Offset| pfn.get() * page.get() + offset.get();
    let pieces =
        bio.vecs.iter().map(|vec| limits.segments_of_vec(phys(vec.pfn, vec.offset), vec.len));
    pieces.sum::<u64>().max(1)
}

/// Bytes that a request which begins there may have (`blk_rq_get_max_sectors`).
fn room_of(limits: &QueueLimits, at: DevAddr) -> Bytes {
    if limits.chunk.is_zero() {
        return limits.bytes;
    }
    limits.bytes.min(Bytes::new(limits.chunk.get() - at.get() % limits.chunk.get()))
}
