//! Where sectors lie in an array with parity (`raid5_compute_sector`): RAID4, RAID5, RAID6.
//!
//! A stripe is one chunk on every member. Each row of 4 KiB across the members is one unit of the
//! stripe cache.

use crate::units::{Bytes, MemberId, SECTOR_SIZE, Sector, Sectors};

/// Which kind of parity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParityLevel {
    /// Parity on the last member.
    Raid4,
    /// Parity that goes around.
    Raid5,
    /// Two parities.
    Raid6,
}

impl ParityLevel {
    /// Members that hold parity in each stripe.
    pub const fn parities(self) -> u32 {
        match self {
            Self::Raid4 | Self::Raid5 => 1,
            Self::Raid6 => 2,
        }
    }
    /// The name of mdadm.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raid4 => "raid4",
            Self::Raid5 => "raid5",
            Self::Raid6 => "raid6",
        }
    }
}

/// How parity and data go around.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParityLayout {
    /// Parity moves towards the first member, data keeps its order (0).
    LeftAsymmetric,
    /// Parity moves towards the last member, data keeps its order (1).
    RightAsymmetric,
    /// Parity moves towards the first member, data begins behind it (2, what mdadm makes).
    LeftSymmetric,
    /// Parity moves towards the last member, data begins behind it (3).
    RightSymmetric,
    /// Parity comes first in every stripe (4).
    ParityFirst,
    /// Parity comes last in every stripe (5).
    ParityLast,
}

impl ParityLayout {
    /// Every layout, in the order of the kernel's numbers.
    pub const ALL: [Self; 6] = [
        Self::LeftAsymmetric,
        Self::RightAsymmetric,
        Self::LeftSymmetric,
        Self::RightSymmetric,
        Self::ParityFirst,
        Self::ParityLast,
    ];
    /// The name of mdadm.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LeftAsymmetric => "left-asymmetric",
            Self::RightAsymmetric => "right-asymmetric",
            Self::LeftSymmetric => "left-symmetric",
            Self::RightSymmetric => "right-symmetric",
            Self::ParityFirst => "parity-first",
            Self::ParityLast => "parity-last",
        }
    }
    /// The layout with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layout| layout.name() == name)
    }
}

/// An array with parity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parity {
    level: ParityLevel,
    layout: ParityLayout,
    members: u32,
    chunk: Sectors,
}

/// The members of a stripe that hold no data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Roles {
    /// P.
    pub p: MemberId,
    /// Q.
    pub q: Option<MemberId>,
}

/// Where a sector of the array lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Located {
    /// On which member.
    pub member: MemberId,
    /// Where on it.
    pub sector: Sector,
    /// Which of the stripe's data chunks it is in.
    pub index: u32,
}

impl Parity {
    /// An array; none if it has too few members, or chunks that are no multiple of a row.
    pub fn new(
        level: ParityLevel,
        layout: ParityLayout,
        members: u32,
        chunk: Sectors,
    ) -> Option<Self> {
        let layout = if level == ParityLevel::Raid4 { ParityLayout::ParityLast } else { layout };
        let enough = members >= level.parities() + 2 && members <= 384;
        let whole = !chunk.is_zero() && chunk.get().is_multiple_of(8);
        (enough && whole).then_some(Self { level, layout, members, chunk })
    }
    /// Which kind.
    pub const fn level(&self) -> ParityLevel {
        self.level
    }
    /// How it goes around.
    pub const fn layout(&self) -> ParityLayout {
        self.layout
    }
    /// All members.
    pub const fn members(&self) -> u32 {
        self.members
    }
    /// Members whose chunks of a stripe hold data.
    pub const fn data_members(&self) -> u32 {
        self.members - self.level.parities()
    }
    /// Sectors of a chunk.
    pub const fn chunk(&self) -> Sectors {
        self.chunk
    }
    /// Data of a stripe.
    pub const fn width(&self) -> Bytes {
        Bytes::new(self.chunk.get() * self.data_members() as u64 * SECTOR_SIZE)
    }
    /// The stripe that a sector of a member belongs to.
    const fn stripe_at(&self, at: Sector) -> u64 {
        at.get() / self.chunk.get()
    }
    /// Who holds parity at a sector of the members.
    pub fn roles(&self, at: Sector) -> Roles {
        let n = self.members;
        let turn = (self.stripe_at(at) % u64::from(n)) as u32;
        let p = match self.layout {
            ParityLayout::LeftAsymmetric | ParityLayout::LeftSymmetric => n - 1 - turn,
            ParityLayout::RightAsymmetric | ParityLayout::RightSymmetric => turn,
            ParityLayout::ParityFirst => 0,
            ParityLayout::ParityLast => self.data_members(),
        };
        let q = (self.level == ParityLevel::Raid6).then(|| MemberId::new((p + 1) % n));
        Roles { p: MemberId::new(p), q }
    }
    /// The member that holds data chunk `index` of the stripe at a sector of the members.
    pub fn data_member(&self, at: Sector, index: u32) -> MemberId {
        let Roles { p, .. } = self.roles(at);
        let (p, n, parities) = (p.get(), self.members, self.level.parities());
        let member = match self.layout {
            ParityLayout::LeftSymmetric | ParityLayout::RightSymmetric => {
                (p + parities + index) % n
            }
            ParityLayout::ParityFirst => index + parities,
            ParityLayout::ParityLast => index,
            // Q has gone around to the first member.
            ParityLayout::LeftAsymmetric | ParityLayout::RightAsymmetric
                if parities == 2 && p == n - 1 =>
            {
                index + 1
            }
            ParityLayout::LeftAsymmetric | ParityLayout::RightAsymmetric => {
                if index >= p {
                    index + parities
                } else {
                    index
                }
            }
        };
        MemberId::new(member)
    }
    /// Which data chunk of its stripe a member holds; none for parity.
    pub fn data_index(&self, at: Sector, member: MemberId) -> Option<u32> {
        (0..self.data_members()).find(|index| self.data_member(at, *index) == member)
    }
    /// Where a sector of the array lies.
    pub fn locate(&self, sector: Sector) -> Located {
        let chunk = sector.get() / self.chunk.get();
        let width = u64::from(self.data_members());
        let (stripe, index) = (chunk / width, (chunk % width) as u32);
        let at = Sector::new(stripe * self.chunk.get() + sector.get() % self.chunk.get());
        Located { member: self.data_member(at, index), sector: at, index }
    }
    /// The sector of the array that a member holds there; none for parity.
    pub fn sector_of(&self, member: MemberId, at: Sector) -> Option<Sector> {
        let index = self.data_index(at, member)?;
        Some(self.sector_of_index(index, at))
    }
    /// The sector of the array that data chunk `index` holds at a sector of the members.
    pub fn sector_of_index(&self, index: u32, at: Sector) -> Sector {
        let chunk = self.stripe_at(at) * u64::from(self.data_members()) + u64::from(index);
        Sector::new(chunk * self.chunk.get() + at.get() % self.chunk.get())
    }
    /// The place of a member's block in the sum of Q: data members are counted from the one behind
    /// Q, around (`raid6_d0`, `raid6_idx_to_slot`).
    pub fn slot(&self, at: Sector, member: MemberId) -> u32 {
        let Roles { p, q } = self.roles(at);
        let Some(q) = q else { return 0 };
        let (n, first) = (self.members, (q.get() + 1) % self.members);
        let around = (member.get() + n - first) % n;
        let p_around = (p.get() + n - first) % n;
        around - u32::from(p_around < around)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ParityLayout::{
        LeftAsymmetric, LeftSymmetric, ParityFirst, ParityLast, RightAsymmetric, RightSymmetric,
    };

    fn array(level: ParityLevel, layout: ParityLayout, members: u32) -> Parity {
        Parity::new(level, layout, members, Sectors::new(16)).expect("a good array")
    }

    /// Stripes as lines of `P`, `Q` and numbers of data chunks.
    fn picture(array: &Parity, stripes: u64) -> Vec<String> {
        let cell = |at: Sector, member: MemberId| {
            let Roles { p, q } = array.roles(at);
            match array.sector_of(member, at) {
                Some(sector) => (sector.get() / 16).to_string(),
                None if member == p => "P".to_owned(),
                None if Some(member) == q => "Q".to_owned(),
                None => "?".to_owned(),
            }
        };
        let line = |stripe| {
            let at = Sector::new(stripe * 16);
            let cells = (0..array.members()).map(|n| cell(at, MemberId::new(n)));
            cells.collect::<Vec<_>>().join(" ")
        };
        (0..stripes).map(line).collect()
    }

    #[test]
    fn raid5_goes_around_as_drawn() {
        let seen = |layout| picture(&array(ParityLevel::Raid5, layout, 4), 5);
        assert_eq!(
            seen(LeftAsymmetric),
            ["0 1 2 P", "3 4 P 5", "6 P 7 8", "P 9 10 11", "12 13 14 P"]
        );
        assert_eq!(
            seen(RightAsymmetric),
            ["P 0 1 2", "3 P 4 5", "6 7 P 8", "9 10 11 P", "P 12 13 14"]
        );
        assert_eq!(
            seen(LeftSymmetric),
            ["0 1 2 P", "4 5 P 3", "8 P 6 7", "P 9 10 11", "12 13 14 P"]
        );
        assert_eq!(
            seen(RightSymmetric),
            ["P 0 1 2", "5 P 3 4", "7 8 P 6", "9 10 11 P", "P 12 13 14"]
        );
        assert_eq!(seen(ParityFirst)[..2], ["P 0 1 2", "P 3 4 5"]);
        assert_eq!(seen(ParityLast)[..2], ["0 1 2 P", "3 4 5 P"]);
        assert_eq!(picture(&array(ParityLevel::Raid4, LeftSymmetric, 4), 2), seen(ParityLast)[..2]);
    }

    #[test]
    fn raid6_goes_around_as_drawn() {
        let seen = |layout| picture(&array(ParityLevel::Raid6, layout, 5), 5);
        assert_eq!(
            seen(LeftAsymmetric),
            ["Q 0 1 2 P", "3 4 5 P Q", "6 7 P Q 8", "9 P Q 10 11", "P Q 12 13 14"]
        );
        assert_eq!(
            seen(RightAsymmetric),
            ["P Q 0 1 2", "3 P Q 4 5", "6 7 P Q 8", "9 10 11 P Q", "Q 12 13 14 P"]
        );
        assert_eq!(
            seen(LeftSymmetric),
            ["Q 0 1 2 P", "3 4 5 P Q", "7 8 P Q 6", "11 P Q 9 10", "P Q 12 13 14"]
        );
        assert_eq!(
            seen(RightSymmetric),
            ["P Q 0 1 2", "5 P Q 3 4", "7 8 P Q 6", "9 10 11 P Q", "Q 12 13 14 P"]
        );
        assert_eq!(seen(ParityFirst)[1], "P Q 3 4 5");
        assert_eq!(seen(ParityLast)[1], "3 4 5 P Q");
    }

    #[test]
    fn every_sector_has_one_place_and_every_place_one_sector() {
        for (level, least) in
            [(ParityLevel::Raid4, 3), (ParityLevel::Raid5, 3), (ParityLevel::Raid6, 4)]
        {
            for layout in ParityLayout::ALL {
                for members in least..11 {
                    let array = array(level, layout, members);
                    let stripes = u64::from(members) * 2;
                    let mut taken = vec![false; (stripes * 16 * u64::from(members)) as usize];
                    for n in 0..stripes * 16 * u64::from(array.data_members()) {
                        let found = array.locate(Sector::new(n));
                        let (member, at) = (found.member.get(), found.sector.get());
                        let place = &mut taken[(u64::from(member) * stripes * 16 + at) as usize];
                        assert!(!*place, "{level:?} {layout:?} {members}: sector {n}");
                        *place = true;
                        let back = array.sector_of(found.member, found.sector);
                        assert_eq!(back, Some(Sector::new(n)));
                    }
                    // What is left is parity, one or two blocks in each row.
                    for at in (0..stripes * 16).map(Sector::new) {
                        let Roles { p, q } = array.roles(at);
                        let free = |member: &u32| {
                            !taken[(u64::from(*member) * stripes * 16 + at.get()) as usize]
                        };
                        let parity: Vec<u32> = (0..members).filter(free).collect();
                        let mut named: Vec<u32> =
                            [Some(p), q].into_iter().flatten().map(MemberId::get).collect();
                        named.sort_unstable();
                        assert_eq!(parity, named, "{level:?} {layout:?} {members}");
                    }
                }
            }
        }
    }

    #[test]
    fn places_in_q_are_all_different_and_follow_data_where_it_is_symmetric() {
        for layout in ParityLayout::ALL {
            for members in 4..11 {
                let array = array(ParityLevel::Raid6, layout, members);
                for stripe in 0..u64::from(members) {
                    let at = Sector::new(stripe * 16);
                    let slot = |index| array.slot(at, array.data_member(at, index));
                    let slots: Vec<u32> = (0..array.data_members()).map(slot).collect();
                    let mut sorted = slots.clone();
                    sorted.sort_unstable();
                    assert!(sorted.iter().copied().eq(0..array.data_members()), "{slots:?}");
                    if !matches!(layout, LeftAsymmetric | RightAsymmetric) {
                        assert_eq!(slots, sorted, "{layout:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn arrays_that_cannot_be_are_refused() {
        let new = |members, chunk| {
            Parity::new(ParityLevel::Raid6, LeftSymmetric, members, Sectors::new(chunk))
        };
        assert!(new(3, 128).is_none() && new(4, 0).is_none() && new(4, 12).is_none());
        assert!(new(4, 128).is_some());
    }
}
