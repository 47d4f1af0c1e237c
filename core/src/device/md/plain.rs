//! Arrays without parity over simulated disks that hold real bytes: RAID0, RAID1, RAID10.

use super::disks::Disks;
use super::mirrors::Mirrors;
use super::zones::Zones;
use crate::block::bio::BioOp;
use crate::errno::Errno;
use crate::trace::array::MemberState;
use crate::units::{Bytes, MemberId, SECTOR_SIZE, Sector, Sectors};

/// Where sectors lie.
#[derive(Clone, Debug)]
pub enum Map {
    /// Each in one place (RAID0); the chunk.
    Chunks(Zones, Sectors),
    /// Each in several (RAID1, RAID10); the chunk.
    Copies(Mirrors, Sectors),
}

/// A stretch of a member: which, from where, how long.
pub type Stretch = (MemberId, Sector, Sectors);

/// An array without parity.
#[derive(Clone, Debug)]
pub struct Plain {
    map: Map,
    /// Its disks.
    pub disks: Disks,
    states: Vec<MemberState>,
}

impl Plain {
    /// An array over empty disks.
    pub fn new(map: Map, members: u32) -> Self {
        let states = vec![MemberState::Working; members as usize];
        Self { map, disks: Disks::new(members), states }
    }
    /// The places of a sector, the one that is read first before the others.
    fn places(&self, at: Sector) -> Vec<(MemberId, Sector)> {
        match &self.map {
            Map::Chunks(zones, _) => zones.locate(at).into_iter().collect(),
            Map::Copies(mirrors, _) => mirrors.locate(at),
        }
    }
    /// Members.
    pub fn members(&self) -> u32 {
        self.states.len() as u32
    }
    /// What can be done with a member.
    pub fn state(&self, member: MemberId) -> MemberState {
        self.states.get(member.get() as usize).copied().unwrap_or(MemberState::Failed)
    }
    /// A stretch of the array in parts that lie in one chunk: where it begins, how long.
    fn parts(&self, start: Sector, len: Sectors) -> Vec<(Sector, Sectors)> {
        let (Map::Chunks(_, chunk) | Map::Copies(_, chunk)) = &self.map;
        let (mut at, end, mut parts) = (start, start + len, Vec::new());
        while at < end {
            let room = chunk.get() - at.get() % chunk.get();
            let part = Sectors::new(room.min(end.since(at).get()));
            parts.push((at, part));
            at += part;
        }
        parts
    }
    /// Writes to every place that there is; the I/Os of members. A part of which no place is left
    /// fails, the others are written.
    pub fn write(&mut self, start: Sector, data: &[u8]) -> (Result<(), Errno>, Vec<Stretch>) {
        let len = Sectors::new(data.len() as u64 / SECTOR_SIZE);
        let (mut result, mut ios) = (Ok(()), Vec::new());
        for (at, part) in self.parts(start, len) {
            let from = (at.since(start).get() * SECTOR_SIZE) as usize;
            let bytes = &data[from..from + (part.get() * SECTOR_SIZE) as usize];
            let mut held = false;
            for (member, place) in self.places(at) {
                if self.state(member) != MemberState::Failed {
                    self.disks.write(member, place, bytes);
                    ios.push((member, place, part));
                    held = true;
                }
            }
            if !held {
                result = Err(Errno::Io);
            }
        }
        (result, ios)
    }
    /// Reads from the first place of each part that works; the I/Os of members.
    pub fn read(&self, start: Sector, len: Sectors) -> (Result<(), Errno>, Vec<u8>, Vec<Stretch>) {
        let mut data = vec![0; (len.get() * SECTOR_SIZE) as usize];
        let (mut result, mut ios) = (Ok(()), Vec::new());
        for (at, part) in self.parts(start, len) {
            let from = (at.since(start).get() * SECTOR_SIZE) as usize;
            let to = &mut data[from..from + (part.get() * SECTOR_SIZE) as usize];
            let mut places = self.places(at).into_iter();
            match places.find(|(member, _)| self.state(*member) == MemberState::Working) {
                Some((member, place)) => {
                    self.disks.read(member, place, to);
                    ios.push((member, place, part));
                }
                None => result = Err(Errno::Io),
            }
        }
        (result, data, ios)
    }
    /// Puts bytes in every place where they belong.
    pub fn put(&mut self, start: Sector, bytes: &[u8]) {
        let len = Sectors::new(bytes.len() as u64 / SECTOR_SIZE);
        for (at, part) in self.parts(start, len) {
            let from = (at.since(start).get() * SECTOR_SIZE) as usize;
            let bytes = &bytes[from..from + (part.get() * SECTOR_SIZE) as usize];
            for (member, place) in self.places(at) {
                self.disks.write(member, place, bytes);
            }
        }
    }
    /// A member fails.
    pub fn fail(&mut self, member: MemberId) {
        if let Some(state) = self.states.get_mut(member.get() as usize) {
            *state = MemberState::Failed;
        }
    }
    /// An empty disk takes the place of a member.
    pub fn replace(&mut self, member: MemberId) {
        if let Some(state) = self.states.get_mut(member.get() as usize) {
            *state = MemberState::Filling;
            self.disks.replace(member);
        }
    }
    /// Writes to members that were replaced what these rows of the array have elsewhere; the reads,
    /// and the writes. What has no other place is lost.
    pub fn rebuild(&mut self, rows: impl Iterator<Item = Sector>) -> (Vec<Stretch>, Vec<Stretch>) {
        const ROW: Sectors = Sectors::new(8);
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for row in rows {
            let places = self.places(row);
            let find = |state| places.iter().find(|(member, _)| self.state(*member) == state);
            let (Some(from), Some(_)) = (find(MemberState::Working), find(MemberState::Filling))
            else {
                continue;
            };
            let bytes = self.disks.bytes(from.0, from.1, Bytes::kib(4));
            reads.push((from.0, from.1, ROW));
            for (member, place) in &places {
                if self.state(*member) == MemberState::Filling {
                    self.disks.write(*member, *place, &bytes);
                    writes.push((*member, *place, ROW));
                }
            }
        }
        for state in self.states.iter_mut().filter(|state| **state == MemberState::Filling) {
            *state = MemberState::Working;
        }
        (reads, writes)
    }
    /// Rows whose places do not hold the same, of these; with `repair` the first place that works
    /// is copied to the others. The I/Os of members, too.
    pub fn check(
        &mut self,
        rows: impl Iterator<Item = Sector>,
        repair: bool,
    ) -> (u64, Vec<(BioOp, Stretch)>) {
        const ROW: Sectors = Sectors::new(8);
        let (mut wrong, mut ios) = (0, Vec::new());
        for row in rows {
            let mut places = self.places(row);
            places.retain(|(member, _)| self.state(*member) == MemberState::Working);
            let read =
                |(member, at): &(MemberId, Sector)| self.disks.bytes(*member, *at, Bytes::kib(4));
            let all: Vec<Vec<u8>> = places.iter().map(read).collect();
            ios.extend(places.iter().map(|(member, at)| (BioOp::Read, (*member, *at, ROW))));
            if all.iter().all(|bytes| *bytes == all[0]) {
                continue;
            }
            wrong += 1;
            for (member, at) in places.iter().skip(1).filter(|_| repair) {
                self.disks.write(*member, *at, &all[0]);
                ios.push((BioOp::Write, (*member, *at, ROW)));
            }
        }
        (wrong, ios)
    }
}
