//! Writeback of one folio through its buffers: three walks, one I/O a buffer
//! (`block_write_full_folio`).

use super::BufferIo;
use super::get_block::get_block;
use super::state::BufferBit;
use crate::block::bio::{BioEnd, BioHead, BioOp};
use crate::cache::folio::FolioFlags;
use crate::cache::ifs::Half;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::trace::rule::Rule;
use crate::units::{FileId, FileRange, FolioId};
use crate::world::{Env, Purpose, World};
use crate::writeback::folio::Eof;
use crate::writeback::{SyncMode, Walk};

/// Writes a locked dirty folio, and unlocks it.
pub(crate) async fn write_full_folio<E: Env>(
    cx: &Cx<'_, E>,
    walk: &Walk,
    id: FolioId,
) -> Result<(), Errno> {
    let end = cx.with(|world| {
        world.take_folio(id);
        world.handle_eof(id)
    });
    if let Eof::Beyond = end {
        cx.with(|world| world.unlock(id));
        return Ok(());
    }
    write_taken_folio(cx, walk, id).await
}

/// The same for a folio whose dirty mark is cleared and that does not lie beyond EOF.
pub(super) async fn write_taken_folio<E: Env>(
    cx: &Cx<'_, E>,
    walk: &Walk,
    id: FolioId,
) -> Result<(), Errno> {
    let file = walk.file;
    let result = map_dirty_buffers(cx, file, id).await;
    let (taken, left_dirty) = take_buffers(cx, walk, id, result.is_err()).await;
    cx.with(|world| {
        world.send_taken(walk, id, &taken);
        if left_dirty {
            let pos = world.folio_pos(id).get();
            world.step(Rule::FolioRedirtied, [pos, 0, 0, 0]);
            world.dirty_folio(id);
        }
        if let Err(errno) = result {
            let pos = world.folio_pos(id);
            world.record_error(file, pos, errno);
        }
    });
    result
}

/// First walk: buffers beyond EOF are clean, and dirty ones without a place get one.
async fn map_dirty_buffers<E: Env>(cx: &Cx<'_, E>, file: FileId, id: FolioId) -> Result<(), Errno> {
    let buffers = cx.with(|world| {
        world.ensure_dirty_buffers(id);
        let buffers = world.folio_blocks(id);
        world.visit_buffers(buffers);
        buffers
    });
    for at in 0..buffers {
        let Some(range) = cx.with(|world| world.wants_place(file, id, at)) else { continue };
        let blocks = get_block(cx, file, range, true).await?;
        cx.with(|world| {
            world.attach(id, at, &blocks);
            world.set_buffers(id, BufferBit::New, (at, at + 1), false);
        });
    }
    Ok(())
}

/// Second walk: each buffer is locked, and what is dirty is marked as part of the writeback. Who
/// may not wait leaves a locked one dirty. Which were taken, and whether one was left.
async fn take_buffers<E: Env>(
    cx: &Cx<'_, E>,
    walk: &Walk,
    id: FolioId,
    failed: bool,
) -> (Vec<u32>, bool) {
    let buffers = cx.with(|world| {
        let buffers = world.folio_blocks(id);
        world.visit_buffers(buffers);
        buffers
    });
    let mut taken = Vec::new();
    let mut left_dirty = false;
    for at in 0..buffers {
        if !cx.with(|world| world.buffer_is(id, BufferBit::Mapped, at)) {
            if failed {
                // May have been made dirty with the folio: nobody will write it.
                cx.with(|world| world.set_blocks(id, Half::Dirty, (at, at + 1), false));
            }
            continue;
        }
        let locked = |world: &mut World<E>| world.buffer_is(id, BufferBit::Locked, at);
        if walk.mode == SyncMode::None && cx.with(locked) {
            left_dirty = true;
            continue;
        }
        cx.wait(|world| (!locked(world)).then_some(())).await;
        if cx.with(|world| world.take_buffer(id, at)) {
            taken.push(at);
        }
    }
    (taken, left_dirty)
}

/// The head of a bio that writes for a walk.
pub(super) fn write_head(walk: &Walk, unwritten: bool) -> BioHead {
    let sync = walk.mode == SyncMode::All && !walk.worker;
    BioHead { op: BioOp::Write, sync, unwritten, ..BioHead::read(walk.file) }
}

impl<E: Env> World<E> {
    /// A dirty folio without buffers gets dirty ones that are uptodate
    /// (`folio_create_buffers`).
    pub(super) fn ensure_dirty_buffers(&mut self, id: FolioId) {
        if self.ring(id).is_some() {
            return;
        }
        let all = (0, self.ensure_buffers(id));
        self.set_blocks(id, Half::Uptodate, all, true);
        self.set_blocks(id, Half::Dirty, all, true);
        self.set_blocks(id, Half::Asked, all, true);
    }
    /// The block of a dirty buffer that has no place yet. A buffer beyond EOF is clean and valid
    /// from now on.
    fn wants_place(&mut self, file: FileId, id: FolioId, at: u32) -> Option<FileRange> {
        let one = (at, at + 1);
        let range = self.buffer_range(id, at);
        if range.start() >= self.eof_block(file) {
            self.set_blocks(id, Half::Dirty, one, false);
            self.set_blocks(id, Half::Asked, one, false);
            self.set_blocks(id, Half::Uptodate, one, true);
            return None;
        }
        let placed =
            self.buffer_is(id, BufferBit::Mapped, at) && !self.buffer_is(id, BufferBit::Delay, at);
        (!placed && self.buffer_dirty(id, at)).then_some(range)
    }
    /// Locks a buffer if it is dirty, which it is no more; whether it was.
    pub(super) fn take_buffer(&mut self, id: FolioId, at: u32) -> bool {
        let one = (at, at + 1);
        if !self.buffer_dirty(id, at) {
            return false;
        }
        self.count_clean(id, self.buffer_range(id, at));
        self.set_blocks(id, Half::Dirty, one, false);
        self.set_blocks(id, Half::Asked, one, false);
        self.set_buffers(id, BufferBit::Locked, one, true);
        self.set_buffers(id, BufferBit::AsyncWrite, one, true);
        true
    }
    /// Third walk: the folio is under writeback, and each taken buffer is sent by itself. Then the
    /// folio is unlocked; where nothing was sent its writeback ends.
    fn send_taken(&mut self, walk: &Walk, id: FolioId, taken: &[u32]) {
        self.set_writeback(id);
        self.visit_buffers(self.folio_blocks(id));
        let args = [self.folio_pos(id).get(), taken.len() as u64, 0, 0];
        self.step(Rule::BuffersToWrite, args);
        for at in taken {
            let Some(addr) = self.buffer_addr(id, *at) else { continue };
            let unwritten = self.buffer_is(id, BufferBit::Unwritten, *at);
            let head = write_head(walk, unwritten);
            let bio = self.new_bio(head, addr, Purpose::Buffer(BufferIo::Write));
            let len = self.geometry().block_size();
            self.add_to_bio(bio, id, self.buffer_offset(*at), len, 1)
                .expect("an empty bio takes one piece");
            self.submit_bio(bio, BioEnd::OneBuffer);
        }
        self.unlock(id);
        if taken.is_empty() && self.has(id, FolioFlags::WRITEBACK) {
            self.end_writeback(id);
        }
    }
}
