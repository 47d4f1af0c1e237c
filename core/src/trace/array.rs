//! An array of disks as a trace describes it: its shape, and for each row of 4 KiB what was decided
//! about it and how often each member's block of it was read and written.

use super::delta::DeltaKind;
use crate::ordered::OrderedMap;
use crate::units::{Bytes, DevAddr, MemberId, SECTOR_SIZE, Sector, Sectors};

/// Sectors of a row on each member.
const ROW: u64 = 8;

/// What was decided about a row last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowDecision {
    /// All of its data is overwritten.
    Full,
    /// Parity is updated from what changes.
    Rmw,
    /// Parity is made anew from all of its data.
    Rcw,
    /// It waits for more data.
    Delayed,
}

impl RowDecision {
    const ALL: [Self; 4] = [Self::Full, Self::Rmw, Self::Rcw, Self::Delayed];
    /// The code used in deltas, never 0.
    pub const fn code(self) -> u64 {
        self as u64 + 1
    }
    fn from_code(code: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?.checked_sub(1)?).copied()
    }
}

/// What can be done with a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemberState {
    /// Everything.
    Working,
    /// Nothing: it has failed.
    Failed,
    /// It is written, and does not hold everything yet.
    Filling,
}

impl MemberState {
    const ALL: [Self; 3] = [Self::Working, Self::Failed, Self::Filling];
    /// The code used in deltas; 0 for one that works.
    pub const fn code(self) -> u64 {
        self as u64
    }
    fn from_code(code: u64) -> Self {
        let at = usize::try_from(code).unwrap_or_default();
        Self::ALL.get(at).copied().unwrap_or(Self::Working)
    }
}

/// What either way to make parity of a row would read, when it was decided last. A block of a
/// failed member counts as more than there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowCosts {
    /// From what changes.
    pub rmw: u32,
    /// Anew from all data.
    pub rcw: u32,
}

impl RowCosts {
    /// As one word, never 0.
    pub const fn pack(self) -> u64 {
        1 << 63 | (self.rmw as u64) << 31 | (self.rcw as u64 & 0x7fff_ffff)
    }
    /// From a word; none for 0.
    pub const fn unpack(word: u64) -> Option<Self> {
        if word == 0 {
            return None;
        }
        Some(Self { rmw: (word >> 31) as u32, rcw: (word & 0x7fff_ffff) as u32 })
    }
}

/// Who holds the parity of a stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StripeParity {
    /// P.
    pub p: MemberId,
    /// Q, where there is one.
    pub q: Option<MemberId>,
}

impl StripeParity {
    /// As one word, never 0.
    pub fn pack(self) -> u64 {
        let q = self.q.map_or(0, |q| u64::from(q.get()) + 1);
        1 | u64::from(self.p.get()) << 8 | q << 32
    }
    /// From a word; none for 0.
    pub fn unpack(word: u64) -> Option<Self> {
        if word == 0 {
            return None;
        }
        let q = (word >> 32).checked_sub(1).map(|q| MemberId::new(q as u32));
        Some(Self { p: MemberId::new((word >> 8) as u32 & 0xff_ffff), q })
    }
}

/// Where a damaged block lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DamagedAt {
    /// On which member.
    pub member: MemberId,
    /// First sector of its row there.
    pub row: Sector,
}

impl DamagedAt {
    /// As one word, never 0.
    pub const fn pack(self) -> u64 {
        1 << 63 | (self.member.get() as u64 & 0xffff) << 32 | (self.row.get() / ROW) & 0xffff_ffff
    }
    const fn unpack(word: u64) -> Self {
        let member = MemberId::new((word >> 32) as u32 & 0xffff);
        Self { member, row: Sector::new((word & 0xffff_ffff) * ROW) }
    }
}

/// How an array is put together, as one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrayShape {
    /// Number of the level: 0, 1, 4, 5, 6, 10.
    pub level: u8,
    /// Members.
    pub members: u8,
    /// Members whose chunks of a stripe hold data.
    pub data: u8,
    /// Sectors of a chunk.
    pub chunk: Sectors,
}

impl ArrayShape {
    /// The stripe that a sector of a member belongs to; where there are no chunks, the part of 64
    /// KiB.
    pub const fn stripe_of(self, at: Sector) -> u64 {
        at.get() / self.stripe_sectors()
    }
    /// Sectors of a stripe on each member.
    pub const fn stripe_sectors(self) -> u64 {
        if self.chunk.get() == 0 { 128 } else { self.chunk.get() }
    }
    /// Bytes of data in a stripe of all members.
    pub const fn data_of_stripe(self) -> Bytes {
        Bytes::new(self.stripe_sectors() * SECTOR_SIZE * self.data as u64)
    }
    /// As one word, never 0.
    pub const fn pack(self) -> u64 {
        self.level as u64
            | (self.members as u64) << 8
            | (self.data as u64) << 16
            | 1 << 24
            | (self.chunk.get() & 0xffff_ffff) << 32
    }
    /// From a word; none for 0.
    pub const fn unpack(word: u64) -> Option<Self> {
        if word == 0 {
            return None;
        }
        let chunk = Sectors::new(word >> 32);
        let (members, data) = ((word >> 8) as u8, (word >> 16) as u8);
        Some(Self { level: word as u8, members, data, chunk })
    }
}

/// The state of an array.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ArrayState {
    shape: u64,
    /// Times read and written, by member and row.
    blocks: OrderedMap<(u32, u32), (u64, u64)>,
    rows: OrderedMap<u32, u64>,
    costs: OrderedMap<u32, u64>,
    held: OrderedMap<u32, u64>,
    members: OrderedMap<u32, u64>,
    parities: OrderedMap<u32, u64>,
    unfit: OrderedMap<u32, u64>,
    damaged: OrderedMap<u32, u64>,
    filled: OrderedMap<u32, u64>,
}

impl ArrayState {
    /// Its shape; none without an array.
    pub const fn shape(&self) -> Option<ArrayShape> {
        ArrayShape::unpack(self.shape)
    }
    /// Every block that was read or written: member, first sector, times read, times written.
    pub fn blocks(&self) -> impl Iterator<Item = (MemberId, Sector, u64, u64)> {
        self.blocks.iter().map(|((member, row), (read, written))| {
            (MemberId::new(member), Sector::new(u64::from(row) * ROW), *read, *written)
        })
    }
    /// Every row that something was decided about, by its first sector on the members.
    pub fn rows(&self) -> impl Iterator<Item = (Sector, RowDecision)> {
        self.rows.iter().filter_map(|(row, code)| {
            Some((Sector::new(u64::from(row) * ROW), RowDecision::from_code(*code)?))
        })
    }
    /// What either way would have read when a row was decided about last; none where there was
    /// nothing to weigh.
    pub fn costs(&self, row: Sector) -> Option<RowCosts> {
        let row = (row.get() / ROW) as u32;
        RowCosts::unpack(self.costs.get(&row).copied().unwrap_or_default())
    }
    /// Every row that the cache holds something of: its first sector, and how many blocks.
    pub fn held(&self) -> impl Iterator<Item = (Sector, u64)> {
        self.held.iter().map(|(row, count)| (Sector::new(u64::from(row) * ROW), *count))
    }
    /// What can be done with a member.
    pub fn member(&self, member: MemberId) -> MemberState {
        MemberState::from_code(self.members.get(&member.get()).copied().unwrap_or_default())
    }
    /// Up to where a member holds what it should; none: everywhere, or nowhere if it has failed.
    pub fn filled(&self, member: MemberId) -> Option<Sector> {
        let filling = self.member(member) == MemberState::Filling;
        let rows = self.filled.get(&member.get()).copied().unwrap_or_default();
        filling.then(|| Sector::new(rows * ROW))
    }
    /// Who holds the parity of a stripe, once it is known.
    pub fn parity(&self, stripe: u64) -> Option<StripeParity> {
        let stripe = u32::try_from(stripe).ok()?;
        StripeParity::unpack(self.parities.get(&stripe).copied().unwrap_or_default())
    }
    /// Rows of which parity is not that of their data, by their first sectors on the members.
    pub fn unfit(&self) -> impl Iterator<Item = Sector> {
        self.unfit.iter().map(|(row, _)| Sector::new(u64::from(row) * ROW))
    }
    /// Blocks of the array that are not what they were though nobody wrote them: where they begin,
    /// and where they lie.
    pub fn damaged(&self) -> impl Iterator<Item = (DevAddr, DamagedAt)> {
        self.damaged.iter().map(|(block, word)| {
            let at = DevAddr::new(u64::from(block) * ROW * SECTOR_SIZE);
            (at, DamagedAt::unpack(*word))
        })
    }
    /// The words of its own kind, where it has one for each object.
    #[allow(clippy::wildcard_enum_match_arm, reason = "all others are not an array's")]
    fn single(&mut self, kind: DeltaKind) -> &mut OrderedMap<u32, u64> {
        match kind {
            DeltaKind::RowCosts => &mut self.costs,
            DeltaKind::RowHeld => &mut self.held,
            DeltaKind::MemberState => &mut self.members,
            DeltaKind::StripeParity => &mut self.parities,
            DeltaKind::RowUnfit => &mut self.unfit,
            DeltaKind::BlockDamaged => &mut self.damaged,
            DeltaKind::MemberFilled => &mut self.filled,
            _ => &mut self.rows,
        }
    }
    /// A word of it; 0 for what is not there.
    #[allow(clippy::wildcard_enum_match_arm, reason = "all others are not an array's")]
    pub(crate) fn word(&self, kind: DeltaKind, object: u32, aux: u32) -> u64 {
        let block = || self.blocks.get(&(object, aux)).copied().unwrap_or_default();
        match kind {
            DeltaKind::ArrayShape => self.shape,
            DeltaKind::MemberRead => block().0,
            DeltaKind::MemberWritten => block().1,
            DeltaKind::RowCosts => self.costs.get(&object).copied().unwrap_or_default(),
            DeltaKind::RowHeld => self.held.get(&object).copied().unwrap_or_default(),
            DeltaKind::MemberState => self.members.get(&object).copied().unwrap_or_default(),
            DeltaKind::StripeParity => self.parities.get(&object).copied().unwrap_or_default(),
            DeltaKind::RowUnfit => self.unfit.get(&object).copied().unwrap_or_default(),
            DeltaKind::BlockDamaged => self.damaged.get(&object).copied().unwrap_or_default(),
            DeltaKind::MemberFilled => self.filled.get(&object).copied().unwrap_or_default(),
            _ => self.rows.get(&object).copied().unwrap_or_default(),
        }
    }
    /// Sets a word of it.
    #[allow(clippy::wildcard_enum_match_arm, reason = "all others are not an array's")]
    pub(crate) fn set(&mut self, kind: DeltaKind, object: u32, aux: u32, word: u64) {
        match kind {
            DeltaKind::ArrayShape => self.shape = word,
            DeltaKind::MemberRead | DeltaKind::MemberWritten => {
                let block = self.blocks.get_or_insert_with((object, aux), Default::default);
                *(if kind == DeltaKind::MemberRead { &mut block.0 } else { &mut block.1 }) = word;
                if *block == (0, 0) {
                    self.blocks.remove(&(object, aux));
                }
            }
            _ if word == 0 => {
                self.single(kind).remove(&object);
            }
            _ => {
                self.single(kind).insert(object, word);
            }
        }
    }
    /// Every word that is not 0: kind, object, which of several, value.
    pub(crate) fn words(&self) -> Vec<(DeltaKind, u32, u32, u64)> {
        let mut all = vec![(DeltaKind::ArrayShape, 0, 0, self.shape)];
        for ((member, row), (read, written)) in &self.blocks {
            all.push((DeltaKind::MemberRead, member, row, *read));
            all.push((DeltaKind::MemberWritten, member, row, *written));
        }
        for (kind, words) in [
            (DeltaKind::RowDecision, &self.rows),
            (DeltaKind::RowCosts, &self.costs),
            (DeltaKind::RowHeld, &self.held),
            (DeltaKind::MemberState, &self.members),
            (DeltaKind::StripeParity, &self.parities),
            (DeltaKind::RowUnfit, &self.unfit),
            (DeltaKind::BlockDamaged, &self.damaged),
            (DeltaKind::MemberFilled, &self.filled),
        ] {
            all.extend(words.iter().map(|(object, word)| (kind, object, 0, *word)));
        }
        all
    }
}
