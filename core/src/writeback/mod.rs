//! Writeback: from dirty folios to ioends and bios.

pub(crate) mod folio;
mod ioend;
pub mod merge;
mod pending;
mod stripe;

use crate::block::bio::BioEnd;
use crate::buffer::gather;
use crate::cache::folio::FolioFlags;
use crate::cache::mapping::Tag;
use crate::check::mutant::Mutant;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::iomap::Iomap;
use crate::ops::write::lock_folio;
use crate::stops::StopPoint;
use crate::trace::rule::Rule;
use crate::units::{BioId, Bytes, FileId, FileRange, FolioId, PageIndex, Pos};
use crate::world::{Env, World};
use stripe::Stripe;

/// How thorough a writeback is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SyncMode {
    /// As much as goes without waiting; stops at an error.
    None,
    /// Everything that was dirty when it began; goes on after errors.
    All,
}

/// What a writeback is asked to do (`writeback_control`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Walk {
    /// Which file.
    pub(crate) file: FileId,
    /// Folios that touch this range.
    pub(crate) range: FileRange,
    /// How thorough.
    pub(crate) mode: SyncMode,
    /// The flusher does it: bios are not sync.
    pub(crate) worker: bool,
}

/// A writeback that is under way (`iomap_writepage_ctx`).
#[derive(Clone, Debug)]
pub(crate) struct Ctx {
    pub(crate) walk: Walk,
    /// The ioend that more may be added to, with the folios that it holds whole.
    pub(crate) open: Option<BioId>,
    pub(crate) folios: u32,
    /// Ioends that end here and are sent once the folio is unlocked (before 6.9).
    pub(crate) queued: Vec<(BioId, BioEnd)>,
    /// Where ioends must end, if the device has stripes and this kernel looks at them here.
    stripe: Option<Stripe>,
    /// The last mapping that gave promised blocks a place, and where the one begins that the open
    /// bio was gathered by (buffers of ext4).
    pub(crate) placed: Option<Iomap>,
    pub(crate) gathered: Option<Pos>,
}

impl Ctx {
    const fn new(walk: Walk, stripe: Option<Stripe>) -> Self {
        let (open, placed, gathered) = (None, None, None);
        Self { walk, open, folios: 0, queued: Vec::new(), stripe, placed, gathered }
    }
}

/// Writes the dirty folios of a range in ascending order (`iomap_writepages` over
/// `writeback_iter`).
pub(crate) async fn write_pages<E: Env>(cx: &Cx<'_, E>, walk: Walk) -> Result<(), Errno> {
    write_some(cx, walk, &mut i64::MAX.clone(), false).await
}

/// As [`write_pages`], with a budget of pages that ends a walk which need not write everything, and
/// cyclic: from where the last cyclic walk ended, never around in one call.
pub(crate) async fn write_some<E: Env>(
    cx: &Cx<'_, E>,
    walk: Walk,
    budget: &mut i64,
    cyclic: bool,
) -> Result<(), Errno> {
    let tag = if walk.mode == SyncMode::All { Tag::ToWrite } else { Tag::Dirty };
    let (mut index, end) = cx.with(|world| {
        world.estimate_start(walk.file);
        world.start_walk(&walk, cyclic)
    });
    let mut goes_on = PageIndex::ZERO;
    let stripe = cx.with(|world| world.writeback_stripe());
    let mut ctx = Ctx::new(walk, stripe);
    let driver = cx.with(|world| world.driver(walk.file));
    let plugged = driver.is_some() && cx.plug();
    let mut result = Ok(());
    while let Some(folio) =
        cx.with(|world| world.file(walk.file).mapping.next_tagged(tag, index, end))
    {
        let (at, pages) = cx.with(|world| {
            let folio = world.folios.at(folio);
            (folio.index, folio.order.pages().get().cast_signed())
        });
        index = cx.with(|world| world.folios.at(folio).end_index());
        if !cx.mutant(Mutant::WritesUnlocked) && !lock_folio(cx, walk.file, at, folio).await {
            continue;
        }
        if !ready_to_write(cx, &walk, folio).await {
            continue;
        }
        let one = match driver {
            None => folio::writeback_folio(cx, &mut ctx, folio).await,
            Some(driver) => gather::write_folio(cx, &mut ctx, driver, folio).await,
        };
        result = result.and(one);
        *budget -= pages;
        if walk.mode == SyncMode::None && (result.is_err() || *budget <= 0) {
            goes_on = index;
            break;
        }
    }
    if let Some(open) = ctx.open.take() {
        // The folios of buffers stand by themselves: an error of another one is not theirs.
        let ended = if driver.is_some() { Ok(()) } else { result };
        send_ioend(cx, open, BioEnd::LastRange, ended).await;
    }
    cx.unplug(plugged);
    cx.with(|world| {
        let inode = world.file_mut(walk.file);
        if cyclic {
            inode.writeback_index = goes_on;
        }
        if !inode.mapping.tagged(Tag::Dirty) {
            inode.dirtied = None;
        }
        world.estimate_end(walk.file);
    });
    result
}

/// Hands an ioend on; after an error it ends with that instead (`iomap_submit_ioend`).
async fn send_ioend<E: Env>(cx: &Cx<'_, E>, id: BioId, why: BioEnd, result: Result<(), Errno>) {
    let range = cx.with(|world| {
        let bio = &world.bio(id).bio;
        let range = bio.file_range();
        match result {
            Ok(()) => world.submit_bio(id, why),
            Err(errno) => world.fail_bio(id, errno),
        }
        range
    });
    cx.reach(StopPoint::AfterWritebackSubmit, |_| range).await;
}

/// Whether a locked folio is to be written now; unlocks it if not. Waits for a writeback that is
/// under way if the mode says so (`folio_prepare_writeback`).
async fn ready_to_write<E: Env>(cx: &Cx<'_, E>, walk: &Walk, folio: FolioId) -> bool {
    let skip = cx.with(|world| {
        let busy = world.has(folio, FolioFlags::WRITEBACK) && walk.mode == SyncMode::None;
        !world.has(folio, FolioFlags::DIRTY) || busy
    });
    if skip {
        cx.with(|world| world.unlock(folio));
        return false;
    }
    if !cx.mutant(Mutant::WritesTwice) {
        wait_writeback(cx, folio).await;
    }
    true
}

/// Waits until a folio is not under writeback (`folio_wait_writeback`).
pub(crate) async fn wait_writeback<E: Env>(cx: &Cx<'_, E>, folio: FolioId) {
    if cx.with(|world| world.has(folio, FolioFlags::WRITEBACK)) {
        cx.with(|world| {
            let pos = world.folio_pos(folio).get();
            world.step(Rule::WaitsForWriteback, [pos, 0, 0, 0]);
        });
        cx.wait(|world| (!world.has(folio, FolioFlags::WRITEBACK)).then_some(())).await;
    }
}

impl<E: Env> World<E> {
    fn start_walk(&mut self, walk: &Walk, cyclic: bool) -> (PageIndex, PageIndex) {
        let geometry = self.geometry();
        let first = if cyclic {
            self.file(walk.file).writeback_index
        } else {
            geometry.page_floor(walk.range.start())
        };
        let end = geometry.page_ceil(walk.range.end());
        if walk.mode == SyncMode::All {
            self.file_mut(walk.file).mapping.tag_for_writeback(first, end);
        }
        (first, end)
    }
    /// Bytes of `[from, to)` of a folio's blocks that the application changed.
    pub(crate) fn asked_bytes(&self, folio: FolioId, first: u32, end: u32) -> Bytes {
        let blocks = self.state(folio).map_or(end - first, |state| state.asked.count(first, end));
        self.geometry().blocks_bytes(crate::units::Blocks::new(u64::from(blocks)))
    }
}
