//! What an array's members were asked for: bios by member in the order of their submission, and the
//! requests that they became in the plug of the array's thread and in each member's scheduler.
//!
//! A plug over several queues merges a bio with a request of its own queue, and is let go queue by
//! queue (`blk_mq_dispatch_plug_list`); mq-deadline then orders what it got
//! (`dd_dispatch_request`). Nothing here waits for a deadline.

use super::format::{Member, number, text};
use folioscope_core::behaviour::{Behaviours, DeadlineNext, PlugOrder};
use folioscope_core::block::bio::BioOp;
use folioscope_core::block::limits::QueueLimits;
use folioscope_core::device::md::run::{Role, Seen};
use folioscope_core::units::SECTOR_SIZE;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Most requests of a plug of one queue; of several, twice as many (`BLK_MAX_REQUEST_COUNT`).
const MAX_PLUGGED: usize = 32;
/// A plug whose last request has so many sectors takes no other (`BLK_PLUG_FLUSH_SIZE`).
const LONG_REQUEST: u64 = 256;
/// Sectors of a page, which is a segment: rows have pages of their own.
const PAGE: u64 = 8;
/// Requests in one direction before the other may come (`fifo_batch`).
const BATCH: u32 = 16;

/// A request of a member.
#[derive(Clone, Debug)]
struct Request {
    member: u32,
    op: BioOp,
    sync: bool,
    start: u64,
    len: u64,
    pages: u64,
}

/// What the scheduler of each device remembers, from case to case.
pub(super) type Schedulers = BTreeMap<String, Sent>;

/// What a device's scheduler remembers of what it sent.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Sent {
    writes: bool,
    in_batch: u32,
    /// Where the last one began, reads and writes apart.
    at: [u64; 2],
}

/// The queues of all members.
pub(super) struct Queues<'a> {
    members: &'a [Member],
    limits: QueueLimits,
    order: PlugOrder,
    next: DeadlineNext,
    /// Who orders the requests of a member; else nobody does.
    deadline: bool,
    sent: &'a mut Schedulers,
    plugged: Vec<Request>,
    several: bool,
    ahead: bool,
    issued: Vec<Request>,
    merges: BTreeMap<&'static str, u64>,
}

/// What an operation made of its members' queues.
#[derive(Default)]
pub(super) struct Asked {
    /// Member, direction, runs of sectors with the number of their bios.
    pub(super) bios: Vec<Value>,
    /// Member, direction, sector, sectors, in the order of their issue.
    pub(super) requests: Vec<Value>,
    /// Merges by kind, and requests.
    pub(super) counts: Value,
}

impl<'a> Queues<'a> {
    pub(super) fn new(
        members: &'a [Member],
        (limits, deadline): (QueueLimits, bool),
        behaviours: &Behaviours,
        sent: &'a mut Schedulers,
    ) -> Self {
        Self {
            members,
            limits,
            order: behaviours.plug_order,
            next: behaviours.deadline_next,
            deadline,
            sent,
            plugged: Vec::new(),
            several: false,
            ahead: false,
            issued: Vec::new(),
            merges: BTreeMap::new(),
        }
    }
    /// Carries out the bios of one operation, in their order; `ahead`: they are of readahead.
    pub(super) fn run(&mut self, bios: &[Seen], ahead: bool) -> Asked {
        self.ahead = ahead;
        let bios: Vec<Seen> = bios.iter().filter(|bio| bio.role != Role::Extra).copied().collect();
        for plug in bios.chunk_by(|one, next| one.turn == next.turn) {
            self.several = false;
            for bio in plug {
                self.add(bio);
            }
            self.flush();
        }
        let merges = std::mem::take(&mut self.merges);
        let requests: Vec<Value> =
            std::mem::take(&mut self.issued).iter().map(|request| self.row(request)).collect();
        let counts = json!([merges, requests.len()]);
        Asked { bios: self.bios_json(&bios), requests, counts }
    }
    /// What a member's scheduler remembers of an operation whose requests are not made here: those
    /// that the kernel sent.
    pub(super) fn remember(&mut self, requests: &[Value]) {
        for row in requests.iter().filter_map(Value::as_array) {
            let (device, sector) = (row.first().and_then(Value::as_str), number(row, 2));
            let (Some(device), Some(sector)) = (device, sector) else { continue };
            let sent = self.sent.entry(device.to_owned()).or_default();
            let writes = text(row, 1).starts_with('W');
            sent.in_batch = if sent.writes == writes { sent.in_batch + 1 } else { 1 };
            sent.writes = writes;
            sent.at[usize::from(writes)] = sector;
        }
    }
    fn device(&self, member: u32) -> (&str, u64) {
        let found = self.members.iter().find(|one| one.rd == u64::from(member));
        found.map_or(("?", 0), |one| (one.dev.as_str(), one.offset))
    }
    fn row(&self, request: &Request) -> Value {
        let (device, offset) = self.device(request.member);
        json!([device, self.letters(request.op, request.sync), request.start + offset, request.len])
    }
    fn bios_json(&self, bios: &[Seen]) -> Vec<Value> {
        type Runs = Vec<(u64, u64, u64)>;
        let mut all: Vec<((u32, &'static str), Runs)> = Vec::new();
        for bio in bios {
            let key = (bio.member.get(), self.letters(bio.op, bio.sync));
            let at = all.iter().position(|(of, _)| *of == key).unwrap_or_else(|| {
                all.push((key, Vec::new()));
                all.len() - 1
            });
            let (start, len) = (bio.start.get(), bio.len.get());
            match all[at].1.last_mut() {
                Some(last) if last.0 + last.1 == start => {
                    (last.1, last.2) = (last.1 + len, last.2 + 1);
                }
                Some(_) | None => all[at].1.push((start, len, 1)),
            }
        }
        let row = |((member, letters), runs): ((u32, &str), Runs)| {
            let (device, offset) = self.device(member);
            let runs: Vec<Value> =
                runs.iter().map(|(start, len, bios)| json!([start + offset, len, bios])).collect();
            json!([device, letters, runs])
        };
        all.into_iter().map(row).collect()
    }
    /// A bio joins a request of the plug, or becomes one.
    fn add(&mut self, bio: &Seen) {
        let new = Request {
            member: bio.member.get(),
            op: bio.op,
            sync: bio.sync,
            start: bio.start.get(),
            len: bio.len.get(),
            pages: bio.len.get().div_ceil(PAGE),
        };
        if let Some(at) = self.candidate(new.member)
            && self.merge(at, &new)
        {
            return;
        }
        let most = if self.several { 2 * MAX_PLUGGED } else { MAX_PLUGGED };
        let looked_at = match self.order {
            PlugOrder::Lifo => self.plugged.last(),
            PlugOrder::Fifo => self.plugged.first(),
        };
        let long = looked_at.is_some_and(|request| request.len >= LONG_REQUEST);
        if self.plugged.len() >= most || long {
            self.flush();
        }
        self.several |= self.plugged.last().is_some_and(|last| last.member != new.member);
        self.plugged.push(new);
    }
    /// The request that a bio of a member may join: the last one, or in a plug of several queues
    /// the one of its queue that is found first.
    fn candidate(&self, member: u32) -> Option<usize> {
        let last = self.plugged.len().checked_sub(1)?;
        if self.plugged[last].member == member {
            return Some(last);
        }
        let mine = |request: &Request| request.member == member;
        self.several.then_some(())?;
        match self.order {
            PlugOrder::Lifo => self.plugged.iter().rposition(mine),
            PlugOrder::Fifo => self.plugged.iter().position(mine),
        }
    }
    fn merge(&mut self, at: usize, new: &Request) -> bool {
        let request = &mut self.plugged[at];
        let (len, pages) = (request.len + new.len, request.pages + new.pages);
        let most = self.limits.bytes.get() / SECTOR_SIZE;
        if request.op != new.op || len > most || pages > self.limits.segments {
            return false;
        }
        let how = if request.start + request.len == new.start {
            "M"
        } else if new.start + new.len == request.start {
            request.start = new.start;
            "F"
        } else {
            return false;
        };
        (request.len, request.pages) = (len, pages);
        *self.merges.entry(how).or_default() += 1;
        true
    }
    /// Lets the plug go, queue by queue.
    fn flush(&mut self) {
        let mut held = std::mem::take(&mut self.plugged);
        while let Some(first) = match self.order {
            PlugOrder::Lifo => held.last(),
            PlugOrder::Fifo => held.first(),
        } {
            let member = first.member;
            let (mine, rest) = held.into_iter().partition(|request| request.member == member);
            held = rest;
            self.dispatch(member, mine);
        }
    }
    /// A scheduler takes requests one by one: one that begins where another ends joins it
    /// (`elv_attempt_insert_merge`).
    fn insert(&mut self, given: Vec<Request>) -> Vec<Request> {
        let mut waiting: Vec<Request> = Vec::new();
        let most = self.limits.bytes.get() / SECTOR_SIZE;
        for mut new in given {
            let joins = |one: &Request, new: &Request| {
                one.op == new.op
                    && one.start + one.len == new.start
                    && one.len + new.len <= most
                    && one.pages + new.pages <= self.limits.segments
            };
            while let Some(at) = waiting.iter().position(|one| joins(one, &new)) {
                let one = waiting.remove(at);
                new = Request { len: one.len + new.len, pages: one.pages + new.pages, ..one };
                *self.merges.entry("G").or_default() += 1;
            }
            waiting.push(new);
        }
        waiting
    }
    /// A member's scheduler sends what it got.
    fn dispatch(&mut self, member: u32, mut given: Vec<Request>) {
        if !self.deadline {
            self.issued.append(&mut given);
            return;
        }
        let mut waiting = self.insert(given);
        let (device, offset) = self.device(member);
        let device = device.to_owned();
        let mut sent = self.sent.get(&device).copied().unwrap_or_default();
        let mut latter: [Option<u64>; 2] = [None, None];
        while !waiting.is_empty() {
            let next = |writes: bool, sent: &Sent, latter: &[Option<u64>; 2]| {
                let way = usize::from(writes);
                let mine = waiting
                    .iter()
                    .enumerate()
                    .filter(|(_, request)| (request.op == BioOp::Write) == writes);
                match self.next {
                    DeadlineNext::Latter => mine
                        .filter(|(_, request)| Some(request.start) == latter[way])
                        .map(|(at, _)| at)
                        .next(),
                    DeadlineNext::Position => mine
                        .filter(|(_, request)| request.start + offset >= sent.at[way])
                        .min_by_key(|(_, request)| request.start)
                        .map(|(at, _)| at),
                }
            };
            let goes_on = next(sent.writes, &sent, &latter).filter(|_| sent.in_batch < BATCH);
            let at = goes_on.unwrap_or_else(|| {
                sent.writes = waiting.iter().all(|request| request.op == BioOp::Write);
                sent.in_batch = 0;
                let oldest = waiting.iter().position(|one| (one.op == BioOp::Write) == sent.writes);
                next(sent.writes, &sent, &latter).or(oldest).unwrap_or(0)
            });
            let request = waiting.remove(at);
            let way = usize::from(sent.writes);
            sent.in_batch += 1;
            sent.at[way] = request.start + offset;
            let behind = waiting
                .iter()
                .filter(|other| other.op == request.op && other.start > request.start);
            latter[way] = behind.map(|other| other.start).min();
            self.issued.push(request);
        }
        self.sent.insert(device, sent);
    }
    /// The kernel's letters of a bio.
    const fn letters(&self, op: BioOp, sync: bool) -> &'static str {
        match (op, sync) {
            (BioOp::Read, _) if self.ahead => "RA",
            (BioOp::Read, false) => "R",
            (BioOp::Read, true) => "RS",
            (BioOp::Write, false) => "W",
            (BioOp::Write, true) => "WS",
        }
    }
}
