//! Reading and writing bytes that live with the inode.

use super::write::get_folio;
use crate::cache::folio::FolioFlags;
use crate::cache::ifs::Half;
use crate::engine::{Cx, WriteFlags};
use crate::errno::Errno;
use crate::iomap::{Iomap, MapType};
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, FolioId, Offset, Pos};
use crate::world::{Env, World};

/// Moves the bytes of a file to a block of its own if a write up to `end` finds no room with the
/// inode: through the cache, whose folio is dirty then (`gfs2_unstuff_dinode`).
pub(crate) async fn unstuff<E: Env>(cx: &Cx<'_, E>, file: FileId, end: Pos) -> Result<(), Errno> {
    if cx.with(|world| world.file(file).provider.has_room(end)) {
        return Ok(());
    }
    let page = cx.with(|world| world.geometry().page_size());
    let folio = get_folio(cx, file, Pos::ZERO, page, WriteFlags::default()).await?;
    cx.with(|world| world.unstuff_into(file, folio))
}

impl<E: Env> World<E> {
    fn unstuff_into(&mut self, file: FileId, folio: FolioId) -> Result<(), Errno> {
        let held = self.file(file).provider.inline_bytes().len() as u64;
        if !self.has(folio, FolioFlags::UPTODATE) {
            let whole = FileRange::between(Pos::ZERO, Pos::new(held));
            let source = Iomap::plain(whole, MapType::Inline, None, 0);
            self.ensure_state(folio);
            self.fill_inline(file, folio, &source);
        }
        self.look_for_space(false);
        let World { files, config, .. } = self;
        let moved = files[file.get() as usize].provider.unstuff(&mut config.space);
        if let Ok(Some(addr)) = moved {
            // The data goes with the transaction that maps it (ordered data of gfs2).
            let end = self.geometry().round_up_block(Pos::new(held));
            self.know_written(addr, end.since(Pos::ZERO));
        }
        self.note_extents(file);
        if let Ok(Some(addr)) = moved {
            self.step(Rule::Unstuffed, [held, addr.get(), 0, 0]);
            self.ensure_state(folio);
            let blocks = (0, self.folio_blocks(folio));
            self.set_blocks(folio, Half::Dirty, blocks, self.tracks_blocks());
            self.set_blocks(folio, Half::Asked, blocks, true);
            self.dirty_folio(folio);
        }
        self.unlock(folio);
        moved.map(|_| ())
    }
    /// Copies what lives with the inode, and zeroes behind it to the end of the folio
    /// (`iomap_read_inline_data`).
    pub(crate) fn fill_inline(&mut self, file: FileId, folio: FolioId, source: &Iomap) {
        let whole = self.folio_range(folio);
        let at = source.range.start();
        let provider = &self.file(file).provider;
        let held = at.since(provider.inline_start()).get() as usize;
        let data = provider.inline_bytes().get(held..).unwrap_or_default().to_vec();
        let len = (data.len() as u64).min(FileRange::between(at, whole.end()).len().get());
        let offset = Offset::ZERO + at.since(whole.start());
        self.folio_bytes_mut(folio, offset, Bytes::new(len)).copy_from_slice(&data[..len as usize]);
        let end = Offset::ZERO + whole.len();
        self.zero_bytes(folio, offset + Bytes::new(len), end);
        self.set_range_uptodate(folio, offset, end.since(offset));
        self.step(Rule::InlineCopied, [at.get(), len, 0, 0]);
    }
    /// Gives copied bytes to the inode; the folio stays clean (`iomap_write_end_inline`).
    pub(crate) fn write_end_inline(
        &mut self,
        file: FileId,
        folio: FolioId,
        offset: Offset,
        copied: Bytes,
    ) {
        let pos = self.folio_pos(folio) + offset.since(Offset::ZERO);
        self.require(self.has(folio, FolioFlags::UPTODATE), 17, pos);
        let pfn = self.folios.at(folio).pfn();
        let World { files, memory, .. } = self;
        let bytes = crate::frames::FrameStore::bytes(memory, pfn, offset, copied);
        files[file.get() as usize].provider.put_inline(pos, bytes);
        self.step(Rule::InlineWritten, [pos.get(), copied.get(), 0, 0]);
    }
    /// The inode goes to the device with the bytes that live there; its own write is not modelled.
    pub(crate) fn commit_inode(&mut self, file: FileId) {
        self.record_synced_size(file);
        let size = self.file(file).size;
        if self.file_mut(file).provider.commit_inline() && self.file(file).disk_size != size {
            let old = self.file(file).disk_size;
            self.set_disk_size(file, size);
            self.step(Rule::DiskSizeMoved, [old.get(), size.get(), 0, 0]);
        }
    }
    /// The same for every file.
    pub(crate) fn commit_inodes(&mut self) {
        for file in 0..self.files.len() {
            self.commit_inode(FileId::new(file as u32));
        }
    }
}
