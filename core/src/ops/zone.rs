//! Another size for a file that is a zone: the zone is reset or finished
//! (`zonefs_file_truncate`).

use super::direct::wait_for_all;
use super::invalidate::drop_range;
use super::truncate::eof_moved;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::fs::Provider;
use crate::fs::zonefs::ZoneOp;
use crate::locks::{Lock, Mode};
use crate::trace::rule::Rule;
use crate::units::{DevAddr, FileId, FileRange, MAX_POS, Pos};
use crate::world::{Effect, Env, FlushId, World};

/// Empties the zone for a size of nothing, fills it for that of all it takes, while nobody writes
/// it; every other size is refused.
pub(super) async fn truncate_zone<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    new: Pos,
) -> Result<(), Errno> {
    let io = cx.lock(file, Lock::Io, Mode::Exclusive).await;
    let result = resize(cx, file, new).await;
    drop(io);
    result
}

async fn resize<E: Env>(cx: &Cx<'_, E>, file: FileId, new: Pos) -> Result<(), Errno> {
    let (op, start) = cx.with(|world| {
        let Provider::Zone(zone) = &world.file(file).provider else { return Err(Errno::Inval) };
        Ok((zone.resize(new)?, zone.start() + world.partition()))
    })?;
    wait_for_all(cx, file).await;
    let invalidate = cx.lock(file, Lock::Invalidate, Mode::Exclusive).await;
    let result = resize_locked(cx, file, new, (op, start)).await;
    drop(invalidate);
    result
}

async fn resize_locked<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    new: Pos,
    (op, start): (ZoneOp, DevAddr),
) -> Result<(), Errno> {
    let old = cx.with(|world| world.file(file).size);
    if new == old {
        return Ok(());
    }
    let id = cx.with(|world| world.ask_for_zone(start, op));
    cx.wait(|world| world.flush_result(id)).await?;
    cx.with(|world| {
        world.require_no_direct(file, new);
        world.set_size(file, new);
        world.set_disk_size(file, new);
        world.set_zone_pointer(file, new);
        world.step(Rule::ZoneResized, [old.get(), new.get(), 0, 0]);
    });
    eof_moved(cx, file, old, new).await;
    drop_range(cx, file, FileRange::between(new, Pos::new(MAX_POS))).await;
    Ok(())
}

impl<E: Env> World<E> {
    /// Whether a file is a zone.
    pub(super) fn is_zone(&self, file: FileId) -> bool {
        matches!(self.file(file).provider, Provider::Zone(_))
    }
    /// The device is to do something to the zone that starts there (`zonefs_inode_zone_mgmt`).
    fn ask_for_zone(&mut self, start: DevAddr, op: ZoneOp) -> FlushId {
        let id = self.new_flush();
        let rule = match op {
            ZoneOp::Reset => Rule::ZoneReset,
            ZoneOp::Finish => Rule::ZoneFinished,
        };
        self.step(rule, [start.get(), 0, 0, 0]);
        self.effects.push_back(Effect::Zone(id, start, op));
        id
    }
}
