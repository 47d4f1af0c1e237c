//! The two locks of a file: the inode lock (`i_rwsem`, which XFS calls IOLOCK) and the invalidate
//! lock of its cache (`mapping.invalidate_lock`, MMAPLOCK). Both are shared or exclusive.
//!
//! They are taken in this order, before the lock of any folio: who holds the invalidate lock never
//! waits for the inode lock. A write has the inode lock exclusively, a read of XFS shares it;
//! whoever adds or fills folios for readers shares the invalidate lock; truncate and fallocate have
//! both exclusively. Writeback and fsync have neither.
//!
//! Who must wait stands in a queue, as in the kernel's `rwsem` without its stealing: nobody goes
//! past one who waits, except that all who wait to share go in together once the first of them is
//! at the front.

mod task;

pub(crate) use task::kind_of;

/// Which lock of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Lock {
    /// `i_rwsem`.
    Io = 0,
    /// `mapping.invalidate_lock`.
    Invalidate = 1,
}

impl Lock {
    /// Both, in the order in which they are taken.
    pub const ALL: [Self; 2] = [Self::Io, Self::Invalidate];
    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Io => "the inode lock",
            Self::Invalidate => "the invalidate lock",
        }
    }
}

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mode {
    /// Beside others that share it.
    Shared = 1,
    /// Alone.
    Exclusive = 2,
}

/// What an operation has to do with a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockUse {
    /// How it holds it, or wants to.
    pub mode: Mode,
    /// It waits, with this number: the smallest number came first. None: it holds the lock.
    pub ticket: Option<u32>,
}

const WAITS: u64 = 4;

impl LockUse {
    /// As one word, never 0.
    pub fn pack(self) -> u64 {
        let ticket = self.ticket.map_or(0, |ticket| WAITS | u64::from(ticket) << 3);
        self.mode as u64 | ticket
    }
    /// From a word; none if it is not one.
    pub fn unpack(word: u64) -> Option<Self> {
        let mode = match word & 3 {
            1 => Mode::Shared,
            2 => Mode::Exclusive,
            _ => return None,
        };
        let ticket = u32::try_from(word >> 3).ok()?;
        let waits = word & WAITS != 0;
        (waits || ticket == 0).then_some(Self { mode, ticket: waits.then_some(ticket) })
    }
}

/// Lock and mode as a step says them.
pub(crate) const fn word_of(lock: Lock, mode: Mode) -> u64 {
    (lock as u64) << 2 | mode as u64
}

/// What [`word_of`] means, in words.
pub(crate) fn words(word: u64) -> String {
    let lock = if word >> 2 == 0 { Lock::Io } else { Lock::Invalidate };
    let mode = if word & 3 == Mode::Shared as u64 { "shared" } else { "exclusive" };
    format!("{} ({mode})", lock.name())
}

/// Who has a lock or waits for it: the number of an operation.
pub(crate) type Owner = u32;

/// One lock: who holds it, then who waits, in the order of arrival.
#[derive(Clone, Default, Debug)]
pub(crate) struct RwSem {
    entries: Vec<(Owner, LockUse)>,
    next: u32,
}

impl RwSem {
    /// Takes the lock if nobody has it, or if it is shared, is to be, and nobody waits.
    #[inline]
    pub(crate) fn try_take(&mut self, owner: Owner, mode: Mode) -> bool {
        let free = self.entries.is_empty() || mode == Mode::Shared && self.only_shared();
        if free {
            self.entries.push((owner, LockUse { mode, ticket: None }));
        }
        free
    }
    fn only_shared(&self) -> bool {
        self.entries.iter().all(|(_, of)| of.mode == Mode::Shared && of.ticket.is_none())
    }
    /// Whether nobody has to do with it.
    pub(crate) const fn is_idle(&self) -> bool {
        self.entries.is_empty()
    }
    /// Whether somebody who wants to share it would have it at once.
    pub(crate) fn may_share(&self) -> bool {
        self.only_shared()
    }
    /// Stands in the queue.
    pub(crate) fn enqueue(&mut self, owner: Owner, mode: Mode) -> LockUse {
        let of = LockUse { mode, ticket: Some(self.next) };
        self.next += 1;
        self.entries.push((owner, of));
        of
    }
    /// What an operation has to do with it.
    pub(crate) fn use_of(&self, owner: Owner) -> Option<LockUse> {
        self.entries.iter().find(|(other, _)| *other == owner).map(|(_, of)| *of)
    }
    /// All who have to do with it.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (Owner, LockUse)> {
        self.entries.iter().copied()
    }
    /// Lets the lock, or the place in the queue, go; what it was.
    #[inline]
    pub(crate) fn leave(&mut self, owner: Owner) -> Option<LockUse> {
        let at = self.entries.iter().position(|(other, _)| *other == owner)?;
        Some(self.entries.remove(at).1)
    }
    /// An exclusive holder shares from now on.
    pub(crate) fn downgrade(&mut self, owner: Owner) {
        for (other, of) in &mut self.entries {
            if *other == owner && of.ticket.is_none() {
                of.mode = Mode::Shared;
            }
        }
    }
    /// Gives the lock to those whose turn it is; to whom, and what they waited with
    /// (`rwsem_mark_wake`).
    pub(crate) fn grant(&mut self) -> Vec<(Owner, LockUse)> {
        let holds = |mode| {
            let mut all = self.entries.iter();
            all.any(|(_, of)| of.ticket.is_none() && of.mode == mode)
        };
        let (shared, exclusive) = (holds(Mode::Shared), holds(Mode::Exclusive));
        let first = self.entries.iter().find(|(_, of)| of.ticket.is_some()).copied();
        let Some((first, of)) = first.filter(|_| !exclusive) else { return Vec::new() };
        if of.mode == Mode::Exclusive && shared {
            return Vec::new();
        }
        let mut granted = Vec::new();
        for (owner, other) in &mut self.entries {
            let turn = *owner == first || of.mode == Mode::Shared && other.mode == Mode::Shared;
            if other.ticket.is_some() && turn {
                granted.push((*owner, *other));
                other.ticket = None;
            }
        }
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::{LockUse, Mode, RwSem};

    /// Lets go and grants; who has it now.
    fn leaves(lock: &mut RwSem, owner: u32) -> Vec<u32> {
        lock.leave(owner);
        lock.grant().into_iter().map(|(owner, _)| owner).collect()
    }

    #[test]
    fn a_writer_that_waits_keeps_new_readers_out_and_readers_go_in_together() {
        let mut lock = RwSem::default();
        assert!(lock.try_take(1, Mode::Shared) && lock.try_take(2, Mode::Shared));
        assert!(!lock.try_take(3, Mode::Exclusive));
        lock.enqueue(3, Mode::Exclusive);
        assert!(!lock.try_take(4, Mode::Shared), "a writer waits");
        lock.enqueue(4, Mode::Shared);
        lock.enqueue(5, Mode::Exclusive);
        lock.enqueue(6, Mode::Shared);
        assert_eq!(leaves(&mut lock, 1), [0; 0]);
        assert_eq!(leaves(&mut lock, 2), [3]);
        assert_eq!(leaves(&mut lock, 3), [4, 6]);
        assert_eq!(leaves(&mut lock, 4), [0; 0]);
        assert_eq!(leaves(&mut lock, 6), [5]);
        assert_eq!(leaves(&mut lock, 5), [0; 0]);
        assert!(lock.is_idle());
    }

    #[test]
    fn who_gives_up_its_place_lets_the_next_in_and_a_downgrade_lets_readers_in() {
        let mut lock = RwSem::default();
        assert!(lock.try_take(1, Mode::Shared));
        lock.enqueue(2, Mode::Exclusive);
        lock.enqueue(3, Mode::Shared);
        assert_eq!(leaves(&mut lock, 2), [3]);
        let mut lock = RwSem::default();
        assert!(lock.try_take(1, Mode::Exclusive));
        lock.enqueue(2, Mode::Shared);
        lock.enqueue(3, Mode::Exclusive);
        lock.downgrade(1);
        assert_eq!(lock.grant().len(), 1);
        assert_eq!(lock.use_of(2).and_then(|of| of.ticket), None);
    }

    #[test]
    fn a_use_is_one_word_and_back() {
        for mode in [Mode::Shared, Mode::Exclusive] {
            for ticket in [None, Some(0), Some(7), Some(u32::MAX)] {
                let of = LockUse { mode, ticket };
                assert_eq!(LockUse::unpack(of.pack()), Some(of));
            }
        }
        assert_eq!(LockUse::unpack(0), None);
        assert_eq!(LockUse::unpack(8 | 1), None);
    }
}
