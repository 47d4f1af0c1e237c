//! Advice about a file (`posix_fadvise`): how it will be read, what will be needed, what will not.

use super::fill_window::force_readahead;
use super::readahead::Pattern;
use crate::cache::folio::FolioFlags;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::units::{FileId, FileRange};
use crate::world::{Env, World};
use crate::writeback::{self, SyncMode, Walk};

/// What an application says about a range of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// How it will be read; about the whole file.
    Pattern(Pattern),
    /// It will be needed: read it now.
    WillNeed,
    /// It will not be needed: drop what is clean.
    DontNeed,
}

/// Follows `generic_fadvise`.
pub(crate) async fn fadvise<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
    advice: Advice,
) -> Result<(), Errno> {
    match advice {
        Advice::Pattern(pattern) => cx.with(|world| world.file_mut(file).window.pattern = pattern),
        Advice::WillNeed if cx.with(|world| world.has_memory_only(file)) => {}
        Advice::WillNeed => {
            let geometry = cx.with(|world| world.geometry());
            let first = geometry.page_floor(range.start());
            let end = geometry.page_ceil(range.end());
            force_readahead(cx, file, first, end.since(first)).await;
        }
        Advice::DontNeed => {
            let walk = Walk { file, range, mode: SyncMode::None, worker: false };
            writeback::write_pages(cx, walk).await?;
            cx.with(|world| world.evict_range(file, range));
        }
    }
    Ok(())
}

impl<E: Env> World<E> {
    /// Drops the clean, unused folios that lie wholly in a range (`invalidate_mapping_pages`).
    pub(crate) fn evict_range(&mut self, file: FileId, range: FileRange) {
        let inside = |world: &Self, folio| {
            let whole = world.folio_range(folio);
            range.start() <= whole.start() && whole.end() <= range.end()
        };
        let all: Vec<_> = self.file(file).mapping.folios().collect();
        for folio in all {
            if inside(self, folio) && self.is_idle(folio) {
                self.remove_folio(folio);
            }
        }
    }
    /// Whether a folio is clean and nobody uses it.
    pub(crate) fn is_idle(&self, folio: crate::units::FolioId) -> bool {
        let busy = FolioFlags::LOCKED | FolioFlags::WRITEBACK | FolioFlags::DIRTY;
        let reading = self.state(folio).is_some_and(|state| !state.read_pending.is_zero());
        !reading && self.folios.at(folio).flags.get() & busy.get() == 0
    }
}
