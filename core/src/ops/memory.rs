//! Files without a device, as tmpfs keeps them: what differs from others on the way of a read or a
//! write. A baseline for what the processor alone costs; no swap.

use crate::cache::folio::FolioFlags;
use crate::errno::Errno;
use crate::fs::Provider;
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, FolioId, Offset, PageIndex};
use crate::world::{Env, World};

impl<E: Env> World<E> {
    /// Whether no device stands behind a file.
    pub(crate) fn has_memory_only(&self, file: FileId) -> bool {
        matches!(self.file(file).provider, Provider::Memory)
    }
    /// Whether no device stands behind a folio's file.
    pub(crate) fn is_in_memory_only(&self, id: FolioId) -> bool {
        self.has_memory_only(self.folios.at(id).file())
    }
    /// Bytes from the start of `rest` on that no folio holds, of a file that has no device: they
    /// read as zero, and no folio is made (`shmem_file_read_iter`).
    pub(crate) fn absent_in_memory(&self, file: FileId, rest: FileRange) -> Option<Bytes> {
        let inode = self.file(file);
        let geometry = self.geometry();
        let index = geometry.page_floor(rest.start());
        if !self.has_memory_only(file) || inode.mapping.find(index).is_some() {
            return None;
        }
        let page =
            FileRange::between(rest.start(), geometry.page_pos(index) + geometry.page_size());
        Some(rest.intersect(page).intersect(self.whole(file)).len())
    }
    /// A fault finds no folio: it gets one of zeroes, and nothing is read ahead (`shmem_fault`).
    pub(crate) fn memory_fault(&mut self, file: FileId, index: PageIndex) -> Result<(), Errno> {
        let folio = self.create_for_read(file, self.geometry().page_pos(index))?;
        self.zero_bytes(folio, Offset::ZERO, Offset::ZERO + self.folio_size(folio));
        self.raise(folio, FolioFlags::UPTODATE);
        self.unlock(folio);
        Ok(())
    }
    /// Without a device behind it a fresh folio is zero where it was not written, and is dirty so
    /// that nobody drops it: no tag, nothing that writeback would find (`shmem_write_end`).
    pub(crate) fn memory_write_end(&mut self, folio: FolioId, offset: Offset, copied: Bytes) {
        if !self.has(folio, FolioFlags::UPTODATE) {
            let end = Offset::ZERO + self.folio_size(folio);
            self.zero_bytes(folio, Offset::ZERO, offset);
            self.zero_bytes(folio, offset + copied, end);
            self.raise(folio, FolioFlags::UPTODATE);
        }
        self.dirty_folio(folio);
        let pos = self.folio_pos(folio).get();
        self.step(Rule::KeptInMemory, [pos, copied.get(), 0, 0]);
    }
}
