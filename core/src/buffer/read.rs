//! Reading folios of a file that keeps its blocks in buffers: by whole folios where that goes
//! ([`super::mpage`]), else block by block (`block_read_full_folio`).

use super::get_block::get_block;
use super::mpage::Pass;
use super::state::BufferBit;
use super::{BufferIo, Driver};
use crate::block::bio::BioEnd;
use crate::cache::ifs::Half;
use crate::engine::Cx;
use crate::trace::rule::Rule;
use crate::units::{FileId, FolioId, Pages};
use crate::world::{Env, Purpose, World};

/// Fills locked folios that follow each other; the last I/O of each unlocks it
/// (`mpage_readahead`, `ext4_mpage_readpages`, `blkdev_read_folio`).
pub(crate) async fn read_batch<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    folios: &[FolioId],
    readahead: bool,
) {
    let Some(driver) = cx.with(|world| world.driver(file)) else { return };
    let mut left = cx.with(|world| {
        let pages = folios.iter().map(|id| world.folios.at(*id).order.pages());
        let pages = pages.fold(Pages::ZERO, |sum, pages| sum + pages);
        world.step(Rule::BufferFoliosToRead, [pages.get(), u64::from(readahead), 0, 0]);
        pages
    });
    let plugged = readahead && cx.plug();
    let mut pass = Pass::new(file, readahead, driver == Driver::Ext4);
    for folio in folios {
        if driver == Driver::BlockDevice && !readahead {
            read_full_folio(cx, file, *folio).await;
            continue;
        }
        super::mpage::read_folio(cx, &mut pass, *folio, left).await;
        left -= cx.with(|world| world.folios.at(*folio).order.pages()).min(left);
    }
    cx.with(|world| pass.send(world, BioEnd::LastRange));
    cx.unplug(plugged);
}

/// Reads a locked folio block by block: one I/O each, marked neither as readahead nor as waited
/// for.
pub(super) async fn read_full_folio<E: Env>(cx: &Cx<'_, E>, file: FileId, folio: FolioId) {
    let buffers = cx.with(|world| {
        let buffers = world.ensure_buffers(folio);
        world.visit_buffers(buffers);
        buffers
    });
    let mut wanted: Vec<u32> = Vec::new();
    let mut failed = false;
    for at in 0..buffers {
        if cx.with(|world| world.buffer_uptodate(folio, at)) {
            continue;
        }
        let inside = cx.with(|world| {
            let range = world.buffer_range(folio, at);
            let mapped = world.buffer_is(folio, BufferBit::Mapped, at);
            (!mapped && range.start() < world.eof_block(file)).then_some(range)
        });
        let mut error = false;
        if let Some(range) = inside {
            match get_block(cx, file, range, false).await {
                Ok(blocks) => cx.with(|world| world.attach(folio, at, &blocks)),
                Err(_) => error = true,
            }
        }
        failed |= error;
        if cx.with(|world| world.zero_unmapped(folio, at, error)) {
            continue;
        }
        wanted.push(at);
    }
    cx.with(|world| world.send_buffers(folio, &wanted, failed));
}

impl<E: Env> World<E> {
    /// A buffer without a place reads as zero; false: it has a place.
    fn zero_unmapped(&mut self, id: FolioId, at: u32, error: bool) -> bool {
        let placed =
            self.buffer_addr(id, at).is_some() && !self.buffer_is(id, BufferBit::Unwritten, at);
        if placed {
            return false;
        }
        let from = self.buffer_offset(at);
        self.zero_bytes(id, from, from + self.geometry().block_size());
        if !error {
            self.set_blocks(id, Half::Uptodate, (at, at + 1), true);
        }
        let range = self.buffer_range(id, at);
        self.step(Rule::BufferZeroed, [range.start().get(), range.len().get(), 0, 0]);
        true
    }
    /// Sends for blocks of a folio, one bio each. All are marked before the first is sent, so that
    /// only the last one can end the folio's read.
    fn send_buffers(&mut self, id: FolioId, wanted: &[u32], failed: bool) {
        if wanted.is_empty() {
            self.end_folios_read(id, !failed);
            return;
        }
        for at in wanted {
            let one = (*at, *at + 1);
            self.set_buffers(id, BufferBit::Locked, one, true);
            self.set_buffers(id, BufferBit::AsyncRead, one, true);
        }
        self.visit_buffers(wanted.len() as u32);
        let args = [self.folio_pos(id).get(), wanted.len() as u64, 0, 0];
        self.step(Rule::BuffersToRead, args);
        for at in wanted {
            let Some(addr) = self.buffer_addr(id, *at) else { continue };
            let bio = self.new_bio(self.read_head(id), addr, Purpose::Buffer(BufferIo::Read));
            let len = self.geometry().block_size();
            self.add_to_bio(bio, id, self.buffer_offset(*at), len, 1)
                .expect("an empty bio takes one piece");
            self.submit_bio(bio, BioEnd::OneBuffer);
        }
    }
}
