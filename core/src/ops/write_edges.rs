//! What a write does not cover of the blocks that it touches: read or zeroed before the copy.

use crate::block::bio::{BioEnd, BioHead};
use crate::cache::folio::FolioFlags;
use crate::check::mutant::Mutant;
use crate::counters::Counter;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::iomap::{MapType, Mapping};
use crate::trace::rule::Rule;
use crate::units::{Bytes, DevAddr, FileRange, FolioId, Offset, Pos};
use crate::world::{Env, Purpose, World};

/// Makes valid what the write does not cover of the blocks that it touches
/// (`__iomap_write_begin`): a block is read only if the device has data for it, and then the whole
/// run of blocks that are not uptodate.
pub(super) async fn fill_edges<E: Env>(
    cx: &Cx<'_, E>,
    mapping: &Mapping,
    folio: FolioId,
    pos: Pos,
    (bytes, nowait, keeps_all): (Bytes, bool, bool),
) -> Result<(), Errno> {
    let source = *mapping.source();
    if source.kind == MapType::Inline {
        cx.with(|world| {
            let fills = !world.mutant(Mutant::InlineIsNotFilled);
            if fills && !world.has(folio, FolioFlags::UPTODATE) {
                let file = world.folios.at(folio).file();
                world.fill_inline(file, folio, &source);
            }
        });
        return Ok(());
    }
    let edges = cx.with(|world| world.edges_of(folio, pos, (bytes, nowait, keeps_all)))?;
    let Some((write, mut at, end)) = edges else { return Ok(()) };
    while at < end {
        let run = cx.with(|world| world.next_run(folio, FileRange::between(at, end)));
        if run.is_empty() {
            break;
        }
        at = run.end();
        let edge_kept = keeps_all || run.start() < write.start() || write.end() < run.end();
        let step =
            |rule, extra| cx.with(|w| w.step(rule, [run.start().get(), run.len().get(), extra, 0]));
        if !edge_kept {
            step(Rule::RunOverwritten, 0);
            continue;
        }
        let zeroed = cx.with(|world| world.needs_zeroing(folio, &source, run.start()));
        if zeroed && keeps_all {
            cx.with(|world| world.require(false, 16, run.start()));
            return Err(Errno::Io);
        }
        if zeroed {
            cx.with(|world| world.zero_outside(folio, run, write));
            step(Rule::RunZeroed, source.kind.code());
        } else {
            if nowait {
                return Err(Errno::Again);
            }
            step(Rule::RunRead, 0);
            let addr = source.addr_of(run.start()).ok_or(Errno::Io)?;
            read_run(cx, folio, run, addr).await?;
        }
        cx.with(|world| {
            let offset = Offset::ZERO + run.start().since(world.folio_pos(folio));
            world.set_range_uptodate(folio, offset, run.len());
        });
    }
    Ok(())
}

/// Reads part of a locked folio and waits for it (`iomap_bio_read_folio_range_sync`).
async fn read_run<E: Env>(
    cx: &Cx<'_, E>,
    folio: FolioId,
    run: FileRange,
    addr: DevAddr,
) -> Result<(), Errno> {
    let bio = cx.with(|world| {
        let head = BioHead { sync: true, ..world.read_head(folio) };
        let bio = world.new_bio(head, addr, Purpose::SyncRead);
        let offset = Offset::ZERO + run.start().since(world.folio_pos(folio));
        world.add_to_bio(bio, folio, offset, run.len(), 1).expect("an empty bio takes one piece");
        world.count(Counter::ReadForModify, run.len().get());
        world.submit_bio(bio, BioEnd::SyncRead);
        bio
    });
    cx.wait(|world| world.take_sync_result(bio)).await
}

impl<E: Env> World<E> {
    /// What must be looked at before a write may copy: the write inside the folio and the blocks it
    /// touches; none if nothing must.
    pub(super) fn edges_of(
        &mut self,
        folio: FolioId,
        pos: Pos,
        (bytes, nowait, keeps_all): (Bytes, bool, bool),
    ) -> Result<Option<(FileRange, Pos, Pos)>, Errno> {
        let whole = self.folio_range(folio);
        let write = FileRange::between(pos, pos + bytes).intersect(whole);
        if write == whole && !keeps_all {
            self.step(Rule::WholeFolio, [0; 4]);
            return Ok(None);
        }
        if self.is_in_memory_only(folio) {
            return Ok(None);
        }
        if nowait && self.state_fails(folio) {
            return Err(Errno::Again);
        }
        self.ensure_state(folio);
        if self.has(folio, FolioFlags::UPTODATE) {
            self.step(Rule::AlreadyUptodate, [0; 4]);
            return Ok(None);
        }
        let blocks = self.geometry().block_range(write).intersect(whole);
        Ok(Some((write, blocks.start(), blocks.end())))
    }
    /// The first run of blocks in `range` that are not uptodate, on one side of EOF's block only
    /// (`iomap_adjust_read_range`); empty if there is none.
    pub(crate) fn next_run(&self, folio: FolioId, range: FileRange) -> FileRange {
        let geometry = self.geometry();
        let start = self.folio_pos(folio);
        let offset = Offset::ZERO + range.start().since(start);
        let (first, end) = self.blocks_touched(offset, range.len());
        let (from, to) = match self.state(folio) {
            Some(state) => {
                let from = state.uptodate.next_clear(first, end);
                (from, state.uptodate.next_set(from, end))
            }
            None => (first, end),
        };
        let pos_of = |block: u32| {
            let block = crate::units::BlockNo::new(u64::from(block));
            start + geometry.block_offset(block).since(Offset::ZERO)
        };
        let run = FileRange::between(pos_of(from).max(range.start()), pos_of(to).min(range.end()));
        let size = self.file(self.folios.at(folio).file()).size;
        let eof = geometry.round_up_block(size);
        if run.start() < eof && eof < run.end() && range.start() <= size {
            return FileRange::between(run.start(), eof);
        }
        run
    }
    /// Whether the device has no data for the block at `pos` (`iomap_block_needs_zeroing`).
    pub(crate) fn needs_zeroing(
        &self,
        folio: FolioId,
        source: &crate::iomap::Iomap,
        pos: Pos,
    ) -> bool {
        let size = self.file(self.folios.at(folio).file()).size;
        source.kind != MapType::Mapped || source.new || pos >= size
    }
    /// Zeroes the part of `run` that the write does not cover.
    fn zero_outside(&mut self, folio: FolioId, run: FileRange, write: FileRange) {
        let start = self.folio_pos(folio);
        let offset = |pos: Pos| Offset::ZERO + pos.since(start);
        let head = FileRange::between(run.start(), write.start().min(run.end()));
        let tail = FileRange::between(write.end().max(run.start()), run.end());
        for part in [head, tail] {
            self.zero_bytes(folio, offset(part.start()), offset(part.end()));
        }
    }
}
