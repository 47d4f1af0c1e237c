//! A write through buffers: `__block_write_begin`, `block_commit_write`, and a store through a
//! mapping (`block_page_mkwrite`, `block_dirty_folio`).
//!
//! Each call walks every buffer of the folio, however few it touches; only blocks that the write
//! covers in part are read, one I/O each.

use super::get_block::get_block;
use super::state::BufferBit;
use super::{BufferIo, Driver};
use crate::behaviour::WriteChunk;
use crate::block::bio::BioEnd;
use crate::cache::folio::FolioFlags;
use crate::cache::ifs::Half;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::trace::rule::Rule;
use crate::units::{BioId, Bytes, FileId, FileRange, FolioId, Offset};
use crate::world::{Env, Purpose, World};

/// What a buffer needs before a write may copy into it.
enum Needs {
    Nothing,
    Block,
}

/// Makes a locked folio ready for a write: blocks get their places, and what the write keeps of
/// them is read.
pub(crate) async fn block_write_begin<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    folio: FolioId,
    write: FileRange,
    nowait: bool,
) -> Result<(), Errno> {
    let buffers = cx.with(|world| {
        let buffers = world.ensure_buffers(folio);
        world.visit_buffers(buffers);
        buffers
    });
    let mut reads: Vec<BioId> = Vec::new();
    let mut result = Ok(());
    for at in 0..buffers {
        if let Needs::Block = cx.with(|world| world.begin_buffer(folio, at, write)) {
            let range = cx.with(|world| world.buffer_range(folio, at));
            match get_block(cx, file, range, true).await {
                Ok(blocks) => {
                    let done = cx.with(|world| {
                        world.attach(folio, at, &blocks);
                        world.zero_new_block(folio, at, write)
                    });
                    if done {
                        continue;
                    }
                }
                Err(errno) => {
                    result = Err(errno);
                    break;
                }
            }
        }
        match cx.with(|world| world.read_if_kept(folio, at, write, nowait)) {
            Ok(bio) => reads.extend(bio),
            Err(errno) => {
                result = Err(errno);
                break;
            }
        }
    }
    for bio in reads {
        let read = cx.wait(|world| world.take_sync_result(bio)).await;
        result = result.and(read.map_err(|_| Errno::Io));
    }
    if result.is_err() {
        cx.with(|world| world.zero_new_buffers(folio, write));
    }
    result
}

/// The first store to a page of a locked folio: a file system finds places for every block inside
/// EOF, a device marks the buffers that there are.
pub(crate) async fn make_writable<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    folio: FolioId,
) -> Result<(), Errno> {
    let inside = cx.with(|world| world.folio_range(folio).intersect(world.whole(file)));
    if !cx.with(|world| world.is_block_device(file)) {
        block_write_begin(cx, file, folio, inside, false).await?;
        cx.with(|world| {
            let offset = Offset::ZERO;
            world.commit_buffers(folio, offset, inside.len(), false);
        });
    }
    cx.with(|world| world.dirty_all_buffers(folio));
    Ok(())
}

impl<E: Env> World<E> {
    /// Whether writes to a file do not ask for mappings, but go page by page through
    /// `generic_perform_write`.
    pub(crate) fn writes_without_maps(&self, file: FileId) -> bool {
        use crate::behaviour::BdevWrite;
        match self.driver(file) {
            None => false,
            Some(Driver::Ext2 | Driver::Ext4) => true,
            Some(Driver::BlockDevice) => self.behaviours().bdev_write == BdevWrite::Generic,
        }
    }
    /// Into how large pieces `generic_perform_write` cuts a write: a page, or as much as the
    /// largest folio of the mapping where it knows of those (6.11).
    pub(crate) fn generic_chunk(&self, file: FileId) -> Bytes {
        let geometry = self.geometry();
        match self.behaviours().write_chunk {
            WriteChunk::Page | WriteChunk::MaxOrder => geometry.page_size(),
            WriteChunk::MappingMax => geometry.folio_size(self.largest_order(file)),
        }
    }
    /// Looks at one buffer before a write (`__block_write_begin_int`).
    fn begin_buffer(&mut self, id: FolioId, at: u32, write: FileRange) -> Needs {
        let one = (at, at + 1);
        let block = self.buffer_range(id, at);
        if block.intersect(write).is_empty() {
            if self.has(id, FolioFlags::UPTODATE) {
                self.set_blocks(id, Half::Uptodate, one, true);
            }
            return Needs::Nothing;
        }
        self.set_buffers(id, BufferBit::New, one, false);
        if self.buffer_is(id, BufferBit::Mapped, at) { Needs::Nothing } else { Needs::Block }
    }
    /// A block that was just allocated, or promised: what the write does not cover of it is zero.
    /// False: it is not new.
    fn zero_new_block(&mut self, id: FolioId, at: u32, write: FileRange) -> bool {
        let one = (at, at + 1);
        if !self.buffer_is(id, BufferBit::New, at) {
            return false;
        }
        if self.has(id, FolioFlags::UPTODATE) {
            self.set_buffers(id, BufferBit::New, one, false);
            self.set_blocks(id, Half::Uptodate, one, true);
            self.set_blocks(id, Half::Dirty, one, true);
            self.set_blocks(id, Half::Asked, one, true);
            self.dirty_folio(id);
            return true;
        }
        let block = self.buffer_range(id, at);
        let start = self.folio_pos(id);
        let parts = [
            FileRange::between(block.start(), write.start().min(block.end())),
            FileRange::between(write.end().max(block.start()), block.end()),
        ];
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let from = Offset::ZERO + part.start().since(start);
            self.zero_bytes(id, from, from + part.len());
            self.step(Rule::NewBlockZeroed, [part.start().get(), part.len().get(), 0, 0]);
        }
        true
    }
    /// Sends for a block of which the write keeps a part that is not valid.
    fn read_if_kept(
        &mut self,
        id: FolioId,
        at: u32,
        write: FileRange,
        nowait: bool,
    ) -> Result<Option<BioId>, Errno> {
        let block = self.buffer_range(id, at);
        if block.intersect(write).is_empty() {
            return Ok(None);
        }
        if self.has(id, FolioFlags::UPTODATE) {
            self.set_blocks(id, Half::Uptodate, (at, at + 1), true);
            return Ok(None);
        }
        let has = |bit| self.buffer_is(id, bit, at);
        let covered = block.intersect(write) == block;
        if covered
            || self.buffer_uptodate(id, at)
            || has(BufferBit::Delay)
            || has(BufferBit::Unwritten)
        {
            return Ok(None);
        }
        let Some(addr) = self.buffer_addr(id, at) else { return Ok(None) };
        if nowait {
            return Err(Errno::Again);
        }
        self.set_buffers(id, BufferBit::Locked, (at, at + 1), true);
        self.step(Rule::BufferReadFirst, [block.start().get(), block.len().get(), addr.get(), 0]);
        self.count_read_for_modify(block.len());
        let bio = self.new_bio(self.read_head(id), addr, Purpose::Buffer(BufferIo::Begin));
        self.add_to_bio(bio, id, self.buffer_offset(at), block.len(), 1)
            .expect("an empty bio takes one piece");
        self.submit_bio(bio, BioEnd::OneBuffer);
        Ok(Some(bio))
    }
    /// New blocks that the copy did not reach hold zeros, and these are the file's now
    /// (`folio_zero_new_buffers`).
    fn zero_new_buffers(&mut self, id: FolioId, range: FileRange) {
        for at in 0..self.folio_blocks(id) {
            let block = self.buffer_range(id, at);
            let part = block.intersect(range);
            if part.is_empty() || !self.buffer_is(id, BufferBit::New, at) {
                continue;
            }
            let one = (at, at + 1);
            if !self.has(id, FolioFlags::UPTODATE) {
                let from = Offset::ZERO + part.start().since(self.folio_pos(id));
                self.zero_bytes(id, from, from + part.len());
                self.set_blocks(id, Half::Uptodate, one, true);
            }
            self.set_buffers(id, BufferBit::New, one, false);
            self.set_blocks(id, Half::Dirty, one, true);
            self.set_blocks(id, Half::Asked, one, true);
            self.step(Rule::NewBlockZeroed, [part.start().get(), part.len().get(), 0, 0]);
            self.dirty_folio(id);
        }
    }
    /// Takes over what was copied; false if none of it can be used (`block_write_end`).
    pub(crate) fn buffer_write_end(
        &mut self,
        id: FolioId,
        offset: Offset,
        len: Bytes,
        copied: Bytes,
    ) -> bool {
        let start = self.folio_pos(id) + offset.since(Offset::ZERO);
        let short = copied < len;
        let used = if short && !self.has(id, FolioFlags::UPTODATE) { Bytes::ZERO } else { copied };
        if short {
            if used < copied {
                let args = [start.get(), len.get(), copied.get(), 0];
                self.step(Rule::CopyRejected, args);
            }
            self.zero_new_buffers(id, FileRange::between(start + used, start + len));
        }
        self.commit_buffers(id, offset, used, !used.is_zero());
        if !used.is_zero() {
            self.record_size_of_write(id, start + used);
        }
        used == copied && !used.is_zero()
    }
    /// Blocks that were written are valid and dirty, and the folio is uptodate once all are
    /// (`block_commit_write`).
    pub(crate) fn commit_buffers(&mut self, id: FolioId, offset: Offset, len: Bytes, asked: bool) {
        let all = self.folio_blocks(id);
        let uptodate = self.has(id, FolioFlags::UPTODATE);
        let (first, end) = self.blocks_touched(offset, len);
        let (first, end) = if len.is_zero() { (first, first) } else { (first, end) };
        let visits = if uptodate { (end + 1).min(all) } else { all };
        self.visit_buffers(visits);
        self.set_blocks(id, Half::Uptodate, (first, end), true);
        self.set_blocks(id, Half::Dirty, (first, end), true);
        self.set_buffers(id, BufferBit::New, (first, end), false);
        if asked {
            self.set_blocks(id, Half::Asked, (first, end), true);
        }
        let whole = self.state(id).is_some_and(|state| state.uptodate.all());
        if whole && !uptodate {
            self.raise(id, FolioFlags::UPTODATE);
        }
        let args = [u64::from(first), u64::from(end), u64::from(visits), u64::from(whole)];
        self.step(Rule::BuffersCommitted, args);
        if first < end {
            self.dirty_folio(id);
        }
    }
    /// A file system without delayed allocation records the size with the write itself
    /// (`ext4_write_end`).
    fn record_size_of_write(&mut self, id: FolioId, end: crate::units::Pos) {
        let file = self.folios.at(id).file();
        let reserved = self.ring(id).is_some_and(|ring| ring.bits(BufferBit::Delay).any());
        let old = self.file(file).disk_size;
        if !self.is_block_device(file) && !reserved && end > old {
            self.set_disk_size(file, end);
            self.step(Rule::DiskSizeMoved, [old.get(), end.get(), 0, 0]);
        }
    }
    /// Somebody may store anywhere in the folio: every buffer that it has is dirty
    /// (`block_dirty_folio`).
    pub(crate) fn dirty_all_buffers(&mut self, id: FolioId) {
        if self.ring(id).is_some() {
            let all = self.folio_blocks(id);
            self.visit_buffers(all);
            self.set_blocks(id, Half::Dirty, (0, all), true);
        }
        self.dirty_folio(id);
    }
}
