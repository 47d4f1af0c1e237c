//! Named points at which a host can hold a task, so that a schedule says which task runs when.
//!
//! A task that reaches the point for which a stop is armed waits there until it is released.
//! Without a stop a point costs one look at a flag.

use crate::engine::Cx;
use crate::units::{FileRange, Pos, TaskId};
use crate::world::{Env, World};
use core::cell::{Cell, RefCell};
use core::future::poll_fn;
use core::task::Poll;

/// Where a task can be held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopPoint {
    /// A write has its mapping, and has not looked for the folio.
    AfterBegin,
    /// A write, or a page fault, has found or made its folio and locked it.
    FolioLocked,
    /// A write has copied its bytes.
    AfterCopy,
    /// The bits of a write are set, `i_size` is not moved.
    AfterWriteEnd,
    /// `i_size` is moved; a write still has the folio locked, a truncation its cache.
    AfterSizeUpdate,
    /// The bio with this range of a read was sent.
    AfterReadSubmit,
    /// This range of a read was zeroed.
    AfterZero,
    /// Writeback has locked the folio and cleared its dirty mark.
    WbFolioLocked,
    /// Writeback has compared the folio with EOF.
    WbEofChecked,
    /// Writeback asks for a mapping of this range next.
    BeforeMapBlocks,
    /// Writeback has its mapping of this range.
    AfterMapBlocks,
    /// Every dirty range of the folio was added, and it is unlocked.
    WbFolioDone,
    /// The ioend with this range was sent.
    AfterWritebackSubmit,
    /// A direct write has dropped the cache of its range and sent its bios.
    DirectSubmitted,
    /// A failed write has found cached data in what it reserved, and not looked for its end.
    ReleaseDataFound,
    /// A truncation or a punch has dropped this range of the cache, and not freed its blocks.
    AfterCut,
}

/// A task that is held, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold {
    /// Whom.
    pub task: TaskId,
    /// Where.
    pub point: StopPoint,
    /// With which bytes of the file.
    pub range: FileRange,
}

/// A place to hold a task at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop {
    /// Whom.
    pub task: TaskId,
    /// Where.
    pub point: StopPoint,
    /// Only where the range covers this byte; none = any.
    pub at: Option<Pos>,
    /// How many times it passes before it is held.
    pub passes: u32,
}

/// The stop that is armed, or that every task stops at every point; and who is held.
#[derive(Default, Debug)]
pub(crate) struct Stops {
    any: Cell<bool>,
    everywhere: Cell<bool>,
    armed: RefCell<Option<Stop>>,
    held: RefCell<Vec<Hold>>,
}

impl Stops {
    /// Arms a stop in place of the last one, or none.
    pub(crate) fn arm(&self, stop: Option<Stop>) {
        self.any.set(stop.is_some() || self.everywhere.get());
        *self.armed.borrow_mut() = stop;
    }
    /// Nobody is held any more, and nothing is armed.
    pub(crate) fn clear(&self) {
        self.arm(None);
        self.held.borrow_mut().clear();
    }
    /// Holds every task at every point it comes to, or no longer.
    pub(crate) fn everywhere(&self, on: bool) {
        self.everywhere.set(on);
        self.any.set(on || self.armed.borrow().is_some());
    }
    /// Whether a task may be held anywhere.
    pub(crate) const fn any(&self) -> bool {
        self.any.get()
    }
    /// Lets a task go on.
    pub(crate) fn release(&self, task: TaskId) {
        self.held.borrow_mut().retain(|held| held.task != task);
    }
    /// Where a task is held, if it is.
    pub(crate) fn hold_of(&self, task: TaskId) -> Option<Hold> {
        self.held.borrow().iter().find(|held| held.task == task).copied()
    }
    fn catches(&self, task: TaskId, point: StopPoint, range: FileRange) -> bool {
        if self.everywhere.get() {
            self.held.borrow_mut().push(Hold { task, point, range });
            return true;
        }
        let mut armed = self.armed.borrow_mut();
        let Some(stop) = armed.as_mut() else { return false };
        let here = |at: Pos| range.start() <= at && at < range.end();
        if stop.task != task || stop.point != point || !stop.at.is_none_or(here) {
            return false;
        }
        if stop.passes > 0 {
            stop.passes -= 1;
            return false;
        }
        *armed = None;
        self.any.set(false);
        self.held.borrow_mut().push(Hold { task, point, range });
        true
    }
}

impl<E: Env> Cx<'_, E> {
    /// The task is at a point; `range` says with which bytes of the file.
    #[inline]
    pub(crate) async fn reach(&self, point: StopPoint, range: impl FnOnce(&World<E>) -> FileRange) {
        let stops = &self.engine.stops;
        let task = self.caller.task;
        if stops.any() && stops.catches(task, point, self.with(|world| range(world))) {
            let held = || stops.hold_of(task).is_some();
            poll_fn(|_| if held() { Poll::Pending } else { Poll::Ready(()) }).await;
        }
    }
}
