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
    /// `i_size` is moved, the folio is still locked.
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

/// The stop that is armed, and who is held.
#[derive(Default, Debug)]
pub(crate) struct Stops {
    any: Cell<bool>,
    armed: RefCell<Option<Stop>>,
    held: RefCell<Vec<TaskId>>,
}

impl Stops {
    /// Arms a stop in place of the last one, or none.
    pub(crate) fn arm(&self, stop: Option<Stop>) {
        self.any.set(stop.is_some());
        *self.armed.borrow_mut() = stop;
    }
    /// Nobody is held any more, and nothing is armed.
    pub(crate) fn clear(&self) {
        self.arm(None);
        self.held.borrow_mut().clear();
    }
    /// Whether a stop is armed.
    pub(crate) const fn any(&self) -> bool {
        self.any.get()
    }
    /// Lets a task go on.
    pub(crate) fn release(&self, task: TaskId) {
        self.held.borrow_mut().retain(|held| *held != task);
    }
    /// Whether a task is held.
    pub(crate) fn is_held(&self, task: TaskId) -> bool {
        self.held.borrow().contains(&task)
    }
    fn catches(&self, task: TaskId, point: StopPoint, range: FileRange) -> bool {
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
        self.held.borrow_mut().push(task);
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
            let released = || if stops.is_held(task) { Poll::Pending } else { Poll::Ready(()) };
            poll_fn(|_| released()).await;
        }
    }
}
