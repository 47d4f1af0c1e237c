//! Where the copies of a sector lie in RAID10, and in RAID1 as its simplest form
//! (`__raid10_find_phys`).

use crate::units::{MemberId, Sector, Sectors};

/// How many copies there are, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Copies {
    /// Copies beside each other.
    pub near: u32,
    /// Copies of the whole, each in a part of the members of its own.
    pub far: u32,
    /// Far copies follow chunk by chunk instead.
    pub offset: bool,
}

impl Copies {
    /// The kernel's number of a layout, such as 258 = two near copies.
    pub const fn from_word(word: u64) -> Self {
        Self {
            near: (word & 0xff) as u32,
            far: (word >> 8 & 0xff) as u32,
            offset: word >> 16 & 1 == 1,
        }
    }
    /// Copies of each sector.
    pub const fn count(&self) -> u32 {
        self.near * self.far
    }
}

/// An array of copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mirrors {
    members: u32,
    chunk: Sectors,
    copies: Copies,
    /// From one far copy to the next.
    stride: Sectors,
    size: Sectors,
}

impl Mirrors {
    /// An array over members of `member` sectors each; none where there are not as many members as
    /// copies, or no chunk fits.
    pub fn new(members: u32, chunk: Sectors, copies: Copies, member: Sectors) -> Option<Self> {
        let count = copies.count();
        if count == 0 || count > members || chunk.is_zero() || copies.offset && copies.far < 2 {
            return None;
        }
        let (n, near, far) = (u64::from(members), u64::from(copies.near), u64::from(copies.far));
        let chunks = member.get() / chunk.get() / far * n / near;
        let used = (chunks * u64::from(count)).div_ceil(n);
        let stride = if copies.offset { 1 } else { used / far };
        let of = |chunks: u64| Sectors::new(chunks * chunk.get());
        let array = Self { members, chunk, copies, stride: of(stride), size: of(chunks) };
        (chunks > 0).then_some(array)
    }
    /// RAID1: every member holds all.
    pub fn all(members: u32, member: Sectors) -> Option<Self> {
        let copies = Copies { near: members, far: 1, offset: false };
        Self::new(members, member, copies, member)
    }
    /// Sectors of the array.
    pub const fn size(&self) -> Sectors {
        self.size
    }
    /// Members.
    pub const fn members(&self) -> u32 {
        self.members
    }
    /// Sectors of a chunk.
    pub const fn chunk(&self) -> Sectors {
        self.chunk
    }
    /// The copies of a sector of the array, the one that is read first before the others.
    pub fn locate(&self, sector: Sector) -> Vec<(MemberId, Sector)> {
        let (n, chunk) = (u64::from(self.members), self.chunk.get());
        let first = sector.get() / chunk * u64::from(self.copies.near);
        let (mut row, mut member) = (first / n, first % n);
        if self.copies.offset {
            row *= u64::from(self.copies.far);
        }
        let mut at = row * chunk + sector.get() % chunk;
        let mut out = Vec::with_capacity(self.copies.count() as usize);
        for _ in 0..self.copies.near {
            for far in 0..u64::from(self.copies.far) {
                let of = (member + far * u64::from(self.copies.near)) % n;
                let place = Sector::new(at + far * self.stride.get());
                out.push((MemberId::new(of as u32), place));
            }
            member += 1;
            if member == n {
                (member, at) = (0, at + chunk);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const LAYOUTS: [Copies; 6] = [
        Copies { near: 2, far: 1, offset: false },
        Copies { near: 3, far: 1, offset: false },
        Copies { near: 1, far: 2, offset: false },
        Copies { near: 1, far: 3, offset: false },
        Copies { near: 1, far: 2, offset: true },
        Copies { near: 2, far: 2, offset: false },
    ];

    #[test]
    fn copies_lie_on_different_members_and_nothing_lies_twice() {
        for copies in LAYOUTS {
            for members in copies.count()..9 {
                let (chunk, member) = (Sectors::new(8), Sectors::new(8 * 24));
                let Some(array) = Mirrors::new(members, chunk, copies, member) else { continue };
                let mut taken = BTreeSet::new();
                for n in 0..array.size().get() {
                    let places = array.locate(Sector::new(n));
                    assert_eq!(places.len() as u32, copies.count());
                    let on: BTreeSet<u32> = places.iter().map(|(member, _)| member.get()).collect();
                    assert_eq!(on.len(), places.len(), "{copies:?} of {members}: sector {n}");
                    for (of, at) in places {
                        assert!(at.get() < member.get(), "{copies:?} of {members}: {n} at {at:?}");
                        assert!(taken.insert((of.get(), at.get())), "{copies:?} of {members}: {n}");
                    }
                }
            }
        }
    }

    #[test]
    fn copies_lie_as_drawn() {
        let places = |copies, members, chunk_no: u64| {
            let array = Mirrors::new(members, Sectors::new(8), copies, Sectors::new(8 * 12));
            let found = array.expect("good").locate(Sector::new(chunk_no * 8));
            found.iter().map(|(of, at)| (of.get(), at.get() / 8)).collect::<Vec<_>>()
        };
        // Two near copies on three members: 0 0 1 / 1 2 2.
        let [near, _, far, _, offset, _] = LAYOUTS;
        assert_eq!(places(near, 3, 1), [(2, 0), (0, 1)]);
        assert_eq!(places(near, 3, 2), [(1, 1), (2, 1)]);
        // Two far copies on three members of twelve chunks: the second one in the second half.
        assert_eq!(places(far, 3, 0), [(0, 0), (1, 6)]);
        assert_eq!(places(far, 3, 2), [(2, 0), (0, 6)]);
        // Offset: 0 1 2 / 2 0 1 / 3 4 5 / 5 3 4.
        assert_eq!(places(offset, 3, 2), [(2, 0), (0, 1)]);
        assert_eq!(places(offset, 3, 4), [(1, 2), (2, 3)]);
        assert_eq!(Copies::from_word(258), near);
    }

    #[test]
    fn raid1_holds_everything_everywhere() {
        let array = Mirrors::all(3, Sectors::new(100)).expect("good");
        assert_eq!(array.size(), Sectors::new(100));
        let at = Sector::new(42);
        assert_eq!(array.locate(at), (0..3).map(|n| (MemberId::new(n), at)).collect::<Vec<_>>());
    }
}
