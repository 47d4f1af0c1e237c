//! Which pages count as dirty and as being written, in all and for each device: a folio counts with
//! all its pages, once (`folio_account_dirtied`, `__folio_start_writeback`).
//!
//! Where dirty pages are not limited each of these costs one look at a flag.

use super::rates::Completed;
use crate::cache::folio::FolioFlags;
use crate::gauges::Gauge;
use crate::units::{BdiId, FileId, FolioId};
use crate::world::{Env, World};

impl<E: Env> World<E> {
    /// A clean folio became dirty.
    pub(crate) fn account_dirtied(&mut self, id: FolioId) {
        let Some((bdi, pages)) = self.accounted(id) else { return };
        self.add_to_gauge(Gauge::Dirty, 0, pages);
        self.add_to_gauge(Gauge::WbDirty, bdi, pages);
        self.add_to_gauge(Gauge::WbDirtied, bdi, pages);
        let task = self.caller.task;
        self.add_to_gauge(Gauge::TaskDirtied, task.get(), pages);
        let dirt = self.dirt_mut();
        dirt.task(task).dirtied += pages;
        dirt.cpu_dirtied += pages;
    }
    /// A dirty folio is clean: it is to be written, or its bytes are gone.
    pub(crate) fn account_cleaned(&mut self, id: FolioId) {
        let Some((bdi, pages)) = self.accounted(id) else { return };
        self.take_from_gauge(Gauge::Dirty, 0, pages);
        self.take_from_gauge(Gauge::WbDirty, bdi, pages);
    }
    /// A folio goes under writeback.
    pub(crate) fn account_writeback(&mut self, id: FolioId) {
        let Some((bdi, pages)) = self.accounted(id) else { return };
        self.add_to_gauge(Gauge::Writeback, 0, pages);
        self.add_to_gauge(Gauge::WbWriteback, bdi, pages);
    }
    /// The writeback of a folio ends, if it was under writeback at all.
    pub(crate) fn account_written(&mut self, id: FolioId) {
        let Some((bdi, pages)) = self.accounted(id) else { return };
        if !self.has(id, FolioFlags::WRITEBACK) {
            return;
        }
        self.take_from_gauge(Gauge::Writeback, 0, pages);
        self.take_from_gauge(Gauge::WbWriteback, bdi, pages);
        self.add_to_gauge(Gauge::WbWritten, bdi, pages);
        self.writeback_completed(BdiId::new(bdi), Completed(pages));
    }
    /// The device of a folio, and its pages; none where nobody counts.
    fn accounted(&self, id: FolioId) -> Option<(u32, u64)> {
        self.dirt.as_ref()?;
        let folio = self.folios.at(id);
        Some((self.bdi_of(folio.file()).get(), folio.order.pages().get()))
    }
    /// The device that the dirty pages of a file are counted for.
    pub(crate) fn bdi_of(&self, file: FileId) -> BdiId {
        self.file(file).bdi
    }
}
