//! What is done to an array besides I/O: members fail and are replaced, all of it is checked.

use super::{Array, Disks, ROW, report};
use crate::block::bio::BioOp;
use crate::device::md::Members;
use crate::device::md::plain::Stretch;
use crate::device::md::rebuild::Rebuilt;
use crate::device::md::stripes::Pass;
use crate::engine::Engine;
use crate::trace::array::MemberState;
use crate::trace::delta::DeltaKind;
use crate::trace::rule::Rule;
use crate::units::{MemberId, SECTOR_SIZE, Sector};
use crate::world::Env;
use std::collections::BTreeSet;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayAct {
    /// A member fails.
    Fail(MemberId),
    /// An empty disk takes the place of a member, and is filled from the others: so many rows that
    /// hold something, or all.
    Replace(MemberId, Option<u64>),
    /// Filling goes on: so many rows more, or all.
    Rebuild(Option<u64>),
    /// All of it is read, and parity or copies that are wrong are counted.
    Check,
    /// They are made right, too.
    Repair,
}

impl Array {
    /// These members have failed before anything is done.
    pub fn start_without(&mut self, members: Members) {
        self.failed = members;
        for member in members.iter() {
            self.lose(member);
        }
    }
    fn lose(&mut self, member: MemberId) {
        match &mut self.disks {
            Disks::Stripes(bench) => bench.fail(member),
            Disks::Plain(plain) => plain.fail(member),
        }
    }
    pub(super) fn say_failed<E: Env>(engine: &Engine<E>, member: MemberId) {
        let mut world = engine.world();
        let failed = MemberState::Failed.code();
        world.set_array(DeltaKind::MemberState, member.get(), 0, failed);
        world.set_array(DeltaKind::MemberFilled, member.get(), 0, 0);
        world.step(Rule::MemberFails, [u64::from(member.get()), 0, 0, 0]);
    }
    /// Does it; false if it cannot be done.
    pub fn act<E: Env>(&mut self, engine: &Engine<E>, act: ArrayAct) -> bool {
        self.introduce(engine);
        self.settle(engine);
        match act {
            ArrayAct::Fail(member) => {
                let before = self.blocks_in_doubt(member);
                self.lose(member);
                Self::say_failed(engine, member);
                self.say_damaged(engine, before);
            }
            ArrayAct::Replace(member, rows) => {
                self.replace(engine, member);
                return self.rebuild(engine, rows);
            }
            ArrayAct::Rebuild(rows) => {
                let Some(from) = self.filling().into_iter().map(|(_, at)| at).min() else {
                    return false;
                };
                engine.world().step(Rule::FillingGoesOn, [from.get() * SECTOR_SIZE, 0, 0, 0]);
                return self.rebuild(engine, rows);
            }
            ArrayAct::Check => self.check(engine, false),
            ArrayAct::Repair => self.check(engine, true),
        }
        true
    }
    /// The rows of members that hold something, by number.
    pub(super) fn rows(&self) -> BTreeSet<u64> {
        let Disks::Stripes(bench) = &self.disks else { return BTreeSet::new() };
        let parity = bench.stripes.config().parity;
        let place = |row: u64| parity.locate(Sector::new(row * ROW)).sector.get() / ROW;
        self.used.iter().map(place).collect()
    }
    /// Members that are filled, each with how far.
    fn filling(&self) -> Vec<(MemberId, Sector)> {
        match &self.disks {
            Disks::Stripes(bench) => bench.stripes.filling().collect(),
            Disks::Plain(plain) => {
                plain.filling().map(|member| (member, plain.filled(member))).collect()
            }
        }
    }
    fn replace<E: Env>(&mut self, engine: &Engine<E>, member: MemberId) {
        let mut world = engine.world();
        let filling = MemberState::Filling.code();
        world.set_array(DeltaKind::MemberState, member.get(), 0, filling);
        world.set_array(DeltaKind::MemberFilled, member.get(), 0, 0);
        world.step(Rule::MemberReplaced, [u64::from(member.get()), 0, 0, 0]);
        drop(world);
        match &mut self.disks {
            Disks::Stripes(bench) => bench.replace(member),
            Disks::Plain(plain) => plain.replace(member),
        }
    }
    /// Fills members that were replaced, so many rows or all of them; false if it cannot go on.
    fn rebuild<E: Env>(&mut self, engine: &Engine<E>, most: Option<u64>) -> bool {
        let rows = self.rows();
        let Rebuilt { filled, stopped } = match &mut self.disks {
            Disks::Stripes(bench) => {
                let rebuilt = bench.rebuild(rows, most);
                self.report(engine);
                rebuilt
            }
            Disks::Plain(plain) => {
                let used = self.used.iter().map(|row| Sector::new(row * ROW));
                let (rebuilt, [reads, writes]) = plain.rebuild(used, most);
                tell(engine, BioOp::Read, &reads);
                tell(engine, BioOp::Write, &writes);
                rebuilt
            }
        };
        let filling = self.filling();
        let mut world = engine.world();
        for (member, rows) in filled {
            let (id, bytes) = (member.get(), rows * ROW * SECTOR_SIZE);
            if let Some((_, at)) = filling.iter().find(|(of, _)| *of == member) {
                world.set_array(DeltaKind::MemberFilled, id, 0, at.get() / ROW);
                let args = [id.into(), bytes, at.get() * SECTOR_SIZE, 0];
                world.step(Rule::MemberFilledSoFar, args);
            } else {
                world.set_array(DeltaKind::MemberState, id, 0, MemberState::Working.code());
                world.set_array(DeltaKind::MemberFilled, id, 0, 0);
                world.step(Rule::MemberFilled, [id.into(), bytes, 0, 0]);
            }
        }
        if let Some(at) = stopped {
            world.step(Rule::FillingStops, [at.get() * SECTOR_SIZE, 0, 0, 0]);
        }
        stopped.is_none()
    }
    fn check<E: Env>(&mut self, engine: &Engine<E>, repair: bool) {
        let rows = self.rows();
        let (seen, wrong) = match &mut self.disks {
            Disks::Stripes(bench) => {
                let before = bench.stripes.tally().mismatches;
                let count = rows.len() as u64;
                bench.pass_rows(if repair { Pass::Repair } else { Pass::Check }, rows);
                if repair {
                    bench.stripes.set_resync_from(None);
                }
                let wrong = bench.stripes.tally().mismatches - before;
                self.report(engine);
                (count, wrong)
            }
            Disks::Plain(plain) => {
                let used = self.used.iter().map(|row| Sector::new(row * ROW));
                let (wrong, ios) = plain.check(used, repair);
                for op in [BioOp::Read, BioOp::Write] {
                    let of = ios.iter().filter(|(other, _)| *other == op).map(|(_, io)| *io);
                    tell(engine, op, &of.collect::<Vec<Stretch>>());
                }
                (self.used.len() as u64, wrong)
            }
        };
        let rule = if repair { Rule::ArrayRepaired } else { Rule::ArrayChecked };
        engine.world().step(rule, [seen, wrong, 0, 0]);
    }
}

fn tell<E: Env>(engine: &Engine<E>, op: BioOp, ios: &[Stretch]) {
    let bytes: u64 = ios.iter().map(|(.., len)| len.get() * SECTOR_SIZE).sum();
    report::ios(engine, op, ios, ([bytes, 0, 0, 0], false));
}
