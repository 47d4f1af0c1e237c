//! What an array did, as steps: decisions that follow each other as one, the I/Os of one direction
//! as one.

use super::{Array, Disks, ROW};
use crate::block::bio::BioOp;
use crate::check::invariants::{PARITY_FITS, ROW_IS_CHEAP};
use crate::counters::Counter;
use crate::device::md::parity::{Parity, Roles};
use crate::device::md::plain::Stretch;
use crate::device::md::run::{Bench, Event, Role};
use crate::device::md::stripes::{Consistency, Note, Tally};
use crate::engine::Engine;
use crate::trace::array::{ArrayShape, RowCosts, RowDecision, StripeParity};
use crate::trace::delta::DeltaKind;
use crate::trace::rule::Rule;
use crate::trace::sink::Sink as _;
use crate::units::{Bytes, Pos, SECTOR_SIZE, Sector, Sectors};
use crate::world::{Env, World};
use std::collections::{BTreeMap, BTreeSet};

impl Array {
    /// Tells the engine what the array is, once.
    pub(super) fn introduce<E: Env>(&mut self, engine: &Engine<E>) {
        if !core::mem::take(&mut self.new) {
            return;
        }
        let mut world = engine.world();
        world.set_array(DeltaKind::ArrayShape, 0, 0, self.shape.pack());
        let ArrayShape { level, members, chunk, .. } = self.shape;
        let chunk = chunk.get() * SECTOR_SIZE;
        world.step(Rule::ArrayMade, [u64::from(level), u64::from(members), chunk, 0]);
        drop(world);
        for member in self.failed.iter() {
            Self::say_failed(engine, member);
        }
    }
    /// Tells the engine what the array did.
    pub(super) fn report<E: Env>(&mut self, engine: &Engine<E>) {
        let Disks::Stripes(bench) = &mut self.disks else { return };
        for (id, result, data) in bench.take_ended() {
            if let Some(bio) = self.asked.remove(&id) {
                self.ended.insert(bio, (result, data));
            }
        }
        let before = bench.take_tally();
        let events = bench.take_events();
        require_rows(engine, bench, &events);
        let mut at = 0;
        while at < events.len() {
            at += match events[at] {
                Event::Note(note) => {
                    let parity = bench.stripes.config().parity;
                    notes(engine, &parity, note, &events[at..])
                }
                Event::Io(first) => {
                    let same = |event: &Event| matches!(event, Event::Io(io) if io.op == first.op);
                    let count = events[at..].iter().take_while(|event| same(event)).count();
                    // Data, P, Q, and what lies in no row: a log, a bitmap.
                    let mut bytes = [0; 4];
                    let mut places = Vec::new();
                    for event in &events[at..at + count] {
                        let Event::Io(io) = event else { continue };
                        let kind = match io.role {
                            Role::Data => 0,
                            Role::P => 1,
                            Role::Q => 2,
                            Role::Extra => 3,
                        };
                        bytes[kind] += io.len.get() * SECTOR_SIZE;
                        if io.role != Role::Extra {
                            places.push((io.member, io.start, io.len));
                        }
                    }
                    let bitmap = bench.stripes.config().consistency == Consistency::Bitmap;
                    ios(engine, first.op, &places, (bytes, bitmap));
                    count
                }
            };
        }
        let mut world = engine.world();
        if E::Sink::ON {
            world.set_rows_held(&bench.stripes.rows_held());
        }
        for (counter, n) in [
            (Counter::RowsFull, before.full),
            (Counter::RowsRmw, before.rmw),
            (Counter::RowsRcw, before.rcw),
            (Counter::RowsDelayed, before.delayed),
            (Counter::RowsAbsorbed, before.absorbed),
        ] {
            if n > 0 {
                world.count(counter, n);
            }
        }
        if before != Tally::default() {
            world.step(Rule::RowsCounted, [before.full, before.rmw, before.rcw, before.delayed]);
        }
        drop(world);
        self.doubt_again(engine);
    }
}

/// Steps of decisions alike about rows that follow each other; how many events they are.
fn notes<E: Env>(engine: &Engine<E>, parity: &Parity, first: Note, events: &[Event]) -> usize {
    let words = |note: Note| match note {
        Note::Full { row } => (row, RowDecision::Full, Rule::RowsFull, [0; 2], (0, 0)),
        Note::Rmw { row, needed, costs } => {
            (row, RowDecision::Rmw, Rule::RowsRmw, [needed, 0], costs)
        }
        Note::Rcw { row, needed, delayed: true, costs, .. } => {
            (row, RowDecision::Delayed, Rule::RowsDelayed, [needed, 0], costs)
        }
        Note::Rcw { row, needed, now, delayed: false, costs } => {
            (row, RowDecision::Rcw, Rule::RowsRcw, [needed, now], costs)
        }
    };
    let (start, decision, rule, args, costs) = words(first);
    let mut count = 0;
    let mut world = engine.world();
    let packed = RowCosts { rmw: costs.0, rcw: costs.1 }.pack();
    for event in events {
        let Event::Note(note) = event else { break };
        let (row, _, other, inputs, others) = words(*note);
        let next = start + Sectors::new(count * ROW);
        if (row, other, inputs, others) != (next, rule, args, costs) {
            break;
        }
        world.set_array(DeltaKind::RowDecision, number(row), 0, decision.code());
        let word = if decision == RowDecision::Full { 0 } else { packed };
        world.set_array(DeltaKind::RowCosts, number(row), 0, word);
        let Roles { p, q } = parity.roles(row);
        let stripe = (row.get() / parity.chunk().get()) as u32;
        world.set_array(DeltaKind::StripeParity, stripe, 0, StripeParity { p, q }.pack());
        count += 1;
    }
    world.step(rule, [start.get() * SECTOR_SIZE, count, args[0].into(), args[1].into()]);
    if decision != RowDecision::Full {
        world.step(Rule::RowsWeighed, [costs.0.into(), costs.1.into(), count, 0]);
    }
    count as usize
}

/// One step of I/Os of members in one direction; bytes of data, P and Q, and of what lies in no
/// row: a bitmap, or else a log.
pub(super) fn ios<E: Env>(
    engine: &Engine<E>,
    op: BioOp,
    places: &[Stretch],
    ([data, p, q, extra], bitmap): ([u64; 4], bool),
) {
    if places.is_empty() && extra == 0 {
        return;
    }
    let mut world = engine.world();
    let kind = if op == BioOp::Read { DeltaKind::MemberRead } else { DeltaKind::MemberWritten };
    let mut sectors = 0;
    for (member, start, len) in places {
        sectors += len.get();
        let end = (*start + *len).get().div_ceil(ROW);
        for row in start.get() / ROW..end {
            let row = row as u32;
            world.add_array(kind, member.get(), row);
        }
    }
    let (counter, rule) = match op {
        BioOp::Read => (Counter::MemberRead, Rule::MembersRead),
        BioOp::Write => (Counter::MemberWritten, Rule::MembersWritten),
    };
    let moved = Bytes::new(sectors * SECTOR_SIZE + extra);
    world.count(counter, moved.get());
    if extra > 0 {
        world.count(Counter::MemberLogged, extra);
        let rule = if bitmap { Rule::MembersNoted } else { Rule::MembersLogged };
        return world.step(rule, [moved.get(), data, p + q, extra]);
    }
    world.step(rule, [moved.get(), data, p, q]);
}

fn number(row: Sector) -> u32 {
    (row.get() / ROW) as u32
}

impl<E: Env> World<E> {
    /// Sets a word of the array behind the device. Without a trace nobody keeps it.
    pub(crate) fn set_array(&mut self, kind: DeltaKind, object: u32, aux: u32, word: u64) {
        if E::Sink::ON {
            let old = self.array.word(kind, object, aux);
            self.array.set(kind, object, aux, word);
            self.note(kind, object, aux, old, word);
        }
    }
    /// The array's cache holds these rows now, each with so many blocks.
    pub(crate) fn set_rows_held(&mut self, rows: &[(Sector, u32)]) {
        if !E::Sink::ON {
            return;
        }
        let before: Vec<u32> = self.array.held().map(|(at, _)| number(at)).collect();
        let now: BTreeMap<u32, u32> = rows.iter().map(|(at, n)| (number(*at), *n)).collect();
        for row in before.into_iter().filter(|row| !now.contains_key(row)) {
            self.set_array(DeltaKind::RowHeld, row, 0, 0);
        }
        for (row, count) in now {
            self.set_array(DeltaKind::RowHeld, row, 0, u64::from(count));
        }
    }
    /// Counts one more of a word of the array.
    pub(crate) fn add_array(&mut self, kind: DeltaKind, object: u32, aux: u32) {
        if E::Sink::ON {
            let word = self.array.word(kind, object, aux) + 1;
            self.set_array(kind, object, aux, word);
        }
    }
}

/// Rows that were written have the right parity, and cost no more than they may. Parity is looked
/// at where a trace is.
fn require_rows<E: Env>(engine: &Engine<E>, bench: &mut Bench, events: &[Event]) {
    let pos = |row: Sector| Pos::new(row.get() * SECTOR_SIZE);
    for row in bench.stripes.take_dear() {
        engine.world().require(false, ROW_IS_CHEAP, pos(row));
    }
    if !E::Sink::ON {
        return;
    }
    let written = events.iter().filter_map(|event| match event {
        Event::Io(io) if io.op == BioOp::Write && io.role != Role::Extra => Some(io.start),
        Event::Io(_) | Event::Note(_) => None,
    });
    for row in written.collect::<BTreeSet<Sector>>() {
        if bench.has_wrong_parity(row) {
            engine.world().require(false, PARITY_FITS, pos(row));
        }
    }
}
