//! Arrays without parity over simulated disks that hold real bytes: RAID0, RAID1, RAID10.

use super::disks::Disks;
use super::mirrors::Mirrors;
use super::rebuild::Rebuilt;
use super::zones::Zones;
use crate::block::bio::BioOp;
use crate::errno::Errno;
use crate::sort::sort;
use crate::trace::array::MemberState;
use crate::units::{Bytes, MemberId, SECTOR_SIZE, Sector, Sectors};

/// Sectors of 4 KiB, by which copies are made and compared.
const ROW: Sectors = Sectors::new(8);

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
    members: Vec<Member>,
}

/// A member.
#[derive(Clone, Copy, Debug)]
struct Member {
    state: MemberState,
    /// While it is filled, sectors before this one hold what they should.
    filled: Sector,
}

impl Plain {
    /// An array over empty disks.
    pub fn new(map: Map, members: u32) -> Self {
        let member = Member { state: MemberState::Working, filled: Sector::ZERO };
        Self { map, disks: Disks::new(members), members: vec![member; members as usize] }
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
        self.members.len() as u32
    }
    /// What can be done with a member.
    pub fn state(&self, member: MemberId) -> MemberState {
        self.members.get(member.get() as usize).map_or(MemberState::Failed, |member| member.state)
    }
    /// How far a member is filled that took the place of another.
    pub fn filled(&self, member: MemberId) -> Sector {
        self.members.get(member.get() as usize).map_or(Sector::ZERO, |member| member.filled)
    }
    /// Whether a member holds what it should of a stretch.
    fn holds(&self, (member, at): (MemberId, Sector), len: Sectors) -> bool {
        match self.state(member) {
            MemberState::Working => true,
            MemberState::Failed => false,
            MemberState::Filling => at + len <= self.filled(member),
        }
    }
    /// Whether some stretch has no place left on a member that works, and is not filled only
    /// (`enough`). Places repeat after as many chunks as there are members.
    pub fn is_broken(&self) -> bool {
        let (Map::Chunks(_, chunk) | Map::Copies(_, chunk)) = &self.map;
        let mut starts = (0..u64::from(self.members())).map(|nth| nth * chunk.get());
        starts.any(|start| {
            let places = self.places(Sector::new(start));
            let mut states = places.iter().map(|(member, _)| self.state(*member));
            !places.is_empty() && !states.any(|state| state == MemberState::Working)
        })
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
            match places.find(|place| self.holds(*place, part)) {
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
        self.set(member, MemberState::Failed);
    }
    /// An empty disk takes the place of a member.
    pub fn replace(&mut self, member: MemberId) {
        if member.get() < self.members() {
            self.set(member, MemberState::Filling);
            self.disks.replace(member);
            self.disks.flush_all();
        }
    }
    fn set(&mut self, member: MemberId, state: MemberState) {
        if let Some(member) = self.members.get_mut(member.get() as usize) {
            *member = Member { state, filled: Sector::ZERO };
        }
    }
    /// Members that are filled.
    pub fn filling(&self) -> impl Iterator<Item = MemberId> {
        let all = (0..self.members()).map(MemberId::new);
        all.filter(|member| self.state(*member) == MemberState::Filling)
    }
    /// Writes to members that were replaced what these rows of the array have elsewhere, by their
    /// places on the members: the next `most`, none: all of them. The reads and the writes, too.
    pub fn rebuild(
        &mut self,
        rows: impl Iterator<Item = Sector>,
        most: Option<u64>,
    ) -> (Rebuilt, [Vec<Stretch>; 2]) {
        let mut missing: Vec<(Sector, MemberId, Sector)> = Vec::new();
        for row in rows {
            let lacks = |place: &(MemberId, Sector)| {
                self.state(place.0) == MemberState::Filling && !self.holds(*place, ROW)
            };
            let all = self.places(row).into_iter().filter(lacks);
            missing.extend(all.map(|(member, at)| (at, member, row)));
        }
        sort(&mut missing);
        let mut filled: Vec<(MemberId, u64)> = self.filling().map(|member| (member, 0)).collect();
        let (mut reads, mut writes, mut stopped) = (Vec::new(), Vec::new(), None);
        // Everything before it is there, once this ends: none: everything is.
        let (mut upto, mut last, mut count) = (None, None, 0);
        for (at, member, row) in missing {
            if last != Some(at) && most == Some(count) {
                upto = Some(at);
                break;
            }
            let from = self.places(row).into_iter().find(|place| self.holds(*place, ROW));
            let Some((source, start)) = from else {
                (upto, stopped) = (Some(at), Some(at));
                break;
            };
            let bytes = self.disks.bytes(source, start, Bytes::kib(4));
            if reads.last() != Some(&(source, start, ROW)) {
                reads.push((source, start, ROW));
            }
            self.disks.write(member, at, &bytes);
            writes.push((member, at, ROW));
            filled.iter_mut().filter(|(of, _)| *of == member).for_each(|(_, rows)| *rows += 1);
            count += u64::from(last != Some(at));
            last = Some(at);
        }
        for (member, _) in &filled {
            match upto {
                None => self.set(*member, MemberState::Working),
                Some(at) => {
                    if let Some(member) = self.members.get_mut(member.get() as usize) {
                        member.filled = member.filled.max(at);
                    }
                }
            }
        }
        self.disks.flush_all();
        (Rebuilt { filled, stopped }, [reads, writes])
    }
    /// Rows whose places do not hold the same, of these; with `repair` the first place that works
    /// is copied to the others. The I/Os of members, too.
    pub fn check(
        &mut self,
        rows: impl Iterator<Item = Sector>,
        repair: bool,
    ) -> (u64, Vec<(BioOp, Stretch)>) {
        let (mut wrong, mut ios) = (0, Vec::new());
        for row in rows {
            let mut places = self.places(row);
            places.retain(|place| self.holds(*place, ROW));
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
