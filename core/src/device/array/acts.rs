//! What is done to an array besides I/O: members fail and are replaced, all of it is checked.

use super::{Array, Disks, ROW, report};
use crate::block::bio::BioOp;
use crate::device::md::Members;
use crate::device::md::plain::Stretch;
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
    /// An empty disk takes the place of a member, and is filled from the others.
    Replace(MemberId),
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
        world.step(Rule::MemberFails, [u64::from(member.get()), 0, 0, 0]);
    }
    /// Does it.
    pub fn act<E: Env>(&mut self, engine: &Engine<E>, act: ArrayAct) {
        self.introduce(engine);
        self.settle(engine);
        match act {
            ArrayAct::Fail(member) => {
                let before = self.blocks_in_doubt(member);
                self.lose(member);
                Self::say_failed(engine, member);
                self.say_damaged(engine, before);
            }
            ArrayAct::Replace(member) => self.replace(engine, member),
            ArrayAct::Check => self.check(engine, false),
            ArrayAct::Repair => self.check(engine, true),
        }
    }
    /// The rows of members that hold something, by number.
    pub(super) fn rows(&self) -> BTreeSet<u64> {
        let Disks::Stripes(bench) = &self.disks else { return BTreeSet::new() };
        let parity = bench.stripes.config().parity;
        let place = |row: u64| parity.locate(Sector::new(row * ROW)).sector.get() / ROW;
        self.used.iter().map(place).collect()
    }
    fn replace<E: Env>(&mut self, engine: &Engine<E>, member: MemberId) {
        let rows = self.rows();
        {
            let mut world = engine.world();
            let filling = MemberState::Filling.code();
            world.set_array(DeltaKind::MemberState, member.get(), 0, filling);
            world.step(Rule::MemberReplaced, [u64::from(member.get()), 0, 0, 0]);
        }
        let filled = match &mut self.disks {
            Disks::Stripes(bench) => {
                bench.replace(member);
                let count = rows.len() as u64;
                bench.pass_rows(Pass::Rebuild, rows);
                bench.rebuilt();
                self.report(engine);
                count
            }
            Disks::Plain(plain) => {
                plain.replace(member);
                let used = self.used.iter().map(|row| Sector::new(row * ROW));
                let (reads, writes) = plain.rebuild(used);
                tell(engine, BioOp::Read, &reads);
                tell(engine, BioOp::Write, &writes);
                writes.len() as u64
            }
        };
        let mut world = engine.world();
        world.set_array(DeltaKind::MemberState, member.get(), 0, MemberState::Working.code());
        let bytes = filled * ROW * SECTOR_SIZE;
        world.step(Rule::MemberFilled, [u64::from(member.get()), bytes, 0, 0]);
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
    report::ios(engine, op, ios, [bytes, 0, 0, 0]);
}
