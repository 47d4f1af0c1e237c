//! How an operation takes a lock of a file, waits for it, and lets it go.

use super::{Lock, LockUse, Mode, Owner, RwSem, word_of};
use crate::behaviour::InvalidateLock;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::trace::delta::DeltaKind;
use crate::trace::rule::Rule;
use crate::units::{FileId, OpId};
use crate::world::{Env, World};

/// A lock that an operation has, or a place in its queue; it ends when this is dropped.
#[must_use = "a lock that nobody keeps is let go at once"]
pub(crate) struct Held<'a, E: Env> {
    cx: &'a Cx<'a, E>,
    file: FileId,
    lock: Lock,
}

impl<E: Env> Cx<'_, E> {
    /// Waits for a lock of a file and takes it.
    pub(crate) async fn lock(&self, file: FileId, lock: Lock, mode: Mode) -> Held<'_, E> {
        if self.with(|world| world.take_lock(file, lock, mode)) {
            return Held { cx: self, file, lock };
        }
        self.with(|world| world.queue_for_lock(file, lock, mode));
        let held = Held { cx: self, file, lock };
        self.wait(|world| {
            let of = world.file(file).locks[lock as usize].use_of(world.owner());
            of.is_some_and(|of| of.ticket.is_none()).then_some(())
        })
        .await;
        self.with(|world| world.step(Rule::LockTaken, [word_of(lock, mode), 0, 0, 0]));
        held
    }
    /// Takes a lock of a file if that is possible at once; else fails as one that may not wait.
    pub(crate) fn try_lock(
        &self,
        file: FileId,
        lock: Lock,
        mode: Mode,
    ) -> Result<Held<'_, E>, Errno> {
        if self.with(|world| world.take_lock(file, lock, mode)) {
            return Ok(Held { cx: self, file, lock });
        }
        self.with(|world| world.step(Rule::LockRefused, [word_of(lock, mode), 0, 0, 0]));
        Err(Errno::Again)
    }
    /// [`Self::lock`], or for one that may not wait [`Self::try_lock`].
    pub(crate) async fn lock_or_fail(
        &self,
        file: FileId,
        (lock, mode): (Lock, Mode),
        nowait: bool,
    ) -> Result<Held<'_, E>, Errno> {
        if nowait { self.try_lock(file, lock, mode) } else { Ok(self.lock(file, lock, mode).await) }
    }
}

impl<E: Env> Held<'_, E> {
    /// Shares the lock from now on (`downgrade_write`).
    pub(crate) fn downgrade(&self) {
        let Self { cx, file, lock } = self;
        let granted = cx.with(|world| world.downgrade_lock(*file, *lock));
        if granted {
            cx.engine.advance();
        }
    }
}

impl<E: Env> Drop for Held<'_, E> {
    fn drop(&mut self) {
        let Self { cx, file, lock } = self;
        if cx.engine.let_go(cx.caller, *file, *lock) {
            cx.engine.advance();
        }
    }
}

/// Which word of a file the trace keeps a lock in.
pub(crate) const fn kind_of(lock: Lock) -> DeltaKind {
    match lock {
        Lock::Io => DeltaKind::IoLock,
        Lock::Invalidate => DeltaKind::InvalidateLock,
    }
}

impl<E: Env> World<E> {
    fn owner(&self) -> Owner {
        self.caller.op.map_or(Owner::MAX, OpId::get)
    }
    fn sem(&mut self, file: FileId, lock: Lock) -> &mut RwSem {
        &mut self.file_mut(file).locks[lock as usize]
    }
    fn note_lock(&mut self, file: FileId, lock: Lock, owner: Owner, words: (u64, u64)) {
        self.note(kind_of(lock), file.get(), owner, words.0, words.1);
    }
    /// Whether the operation that works now has a lock exclusively.
    pub(crate) fn has_alone(&self, file: FileId, lock: Lock) -> bool {
        let of = self.file(file).locks[lock as usize].use_of(self.owner());
        of.is_some_and(|of| of.mode == Mode::Exclusive && of.ticket.is_none())
    }
    /// The operation that works now takes a lock if it need not wait for it.
    #[inline]
    pub(crate) fn take_lock(&mut self, file: FileId, lock: Lock, mode: Mode) -> bool {
        if lock == Lock::Invalidate && self.behaviours().invalidate_lock == InvalidateLock::Off {
            return true;
        }
        let owner = self.owner();
        let taken = self.sem(file, lock).try_take(owner, mode);
        if taken {
            self.note_lock(file, lock, owner, (0, LockUse { mode, ticket: None }.pack()));
        }
        taken
    }
    fn queue_for_lock(&mut self, file: FileId, lock: Lock, mode: Mode) {
        let owner = self.owner();
        let sem = self.sem(file, lock);
        debug_assert_eq!(sem.use_of(owner), None, "{} is taken once", lock.name());
        let first = sem.uses().next().map_or(0, |(owner, _)| u64::from(owner));
        let of = sem.enqueue(owner, mode);
        self.note_lock(file, lock, owner, (0, of.pack()));
        let rule = match mode {
            Mode::Shared => Rule::WaitsToShare,
            Mode::Exclusive => Rule::WaitsToExclude,
        };
        self.step(rule, [word_of(lock, mode), first, 0, 0]);
    }
    /// The operation that works now lets a lock go, or its place in the queue; whether another got
    /// it.
    #[inline]
    pub(crate) fn leave_lock(&mut self, file: FileId, lock: Lock) -> bool {
        let owner = self.owner();
        let Some(of) = self.sem(file, lock).leave(owner) else { return false };
        self.note_lock(file, lock, owner, (of.pack(), 0));
        !self.sem(file, lock).is_idle() && self.grant_lock(file, lock)
    }
    /// Whoever had the locks of a file, or waited for them, is no more.
    pub(crate) fn forget_locks(&mut self, file: FileId) {
        for lock in Lock::ALL {
            for (owner, of) in core::mem::take(self.sem(file, lock)).uses() {
                self.note_lock(file, lock, owner, (of.pack(), 0));
            }
        }
    }
    fn downgrade_lock(&mut self, file: FileId, lock: Lock) -> bool {
        let owner = self.owner();
        let Some(of) = self.sem(file, lock).use_of(owner) else { return false };
        self.sem(file, lock).downgrade(owner);
        let shared = LockUse { mode: Mode::Shared, ..of };
        self.note_lock(file, lock, owner, (of.pack(), shared.pack()));
        self.grant_lock(file, lock)
    }
    fn grant_lock(&mut self, file: FileId, lock: Lock) -> bool {
        let granted = self.sem(file, lock).grant();
        for (owner, of) in &granted {
            let has = LockUse { ticket: None, ..*of };
            self.note_lock(file, lock, *owner, (of.pack(), has.pack()));
        }
        !granted.is_empty()
    }
}
