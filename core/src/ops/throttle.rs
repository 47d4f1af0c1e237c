//! Where a write asks whether too much is dirty (`balance_dirty_pages_ratelimited_flags`). Nothing
//! is throttled yet: a host says with [`FaultPoint::Throttle`] that the answer would be to sleep.

use crate::counters::Counter;
use crate::errno::Errno;
use crate::fault::FaultPoint;
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, Pos};
use crate::world::{Env, World};

impl<E: Env> World<E> {
    /// Asked once a round, before the user memory is made present; what is charged was dirtied
    /// before. One that may not wait fails where others sleep. Memory alone is not asked for.
    pub(crate) fn balance_dirty(
        &mut self,
        file: FileId,
        pos: Pos,
        nowait: bool,
    ) -> Result<(), Errno> {
        if self.has_memory_only(file) {
            return Ok(());
        }
        self.count(Counter::BalanceDirtyCalls, 1);
        let here = FileRange::between(pos, pos + Bytes::new(1));
        let sleeps = self.fault(FaultPoint::Throttle, file, here).is_some();
        let rule = match (sleeps, nowait) {
            (false, _) => Rule::NotThrottled,
            (true, false) => Rule::WouldSleep,
            (true, true) => Rule::MayNotSleep,
        };
        self.step(rule, [pos.get(), 0, 0, 0]);
        if sleeps && nowait { Err(Errno::Again) } else { Ok(()) }
    }
}
