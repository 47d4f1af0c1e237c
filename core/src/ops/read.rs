//! Buffered read (`filemap_read`) without readahead: what is missing is read a folio at a time.

use super::write::lock_folio;
use crate::block::bio::{BioEnd, BioHead, MAX_VECS};
use crate::cache::folio::FolioFlags;
use crate::counters::Counter;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::frames::{FrameStore, UserDest};
use crate::iomap::Intent;
use crate::trace::rule::Rule;
use crate::units::{BioId, Bytes, DevAddr, FileId, FileRange, FolioId, Offset, Pages, Pos};
use crate::world::{Env, Purpose, World};

/// Reads into `dest` from `pos`, up to EOF.
pub(crate) async fn pread<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    pos: Pos,
    dest: &mut dyn UserDest,
) -> Result<Bytes, Errno> {
    let asked = FileRange::new(pos, dest.len()).ok_or(Errno::Inval)?;
    let mut at = pos;
    loop {
        let range = cx.with(|world| asked.intersect(world.whole(file)));
        if at >= range.end() {
            break;
        }
        let part = FileRange::between(at, range.end());
        let folio = match folio_for_read(cx, file, part).await {
            Ok(folio) => folio,
            Err(errno) if at == pos => return Err(errno),
            Err(_) => break,
        };
        let (len, copied) = cx.with(|world| world.copy_out(folio, part, at.since(pos), dest));
        at += copied;
        if copied < len {
            if at == pos {
                return Err(Errno::Fault);
            }
            break;
        }
    }
    let read = at.since(pos);
    cx.with(|world| world.count(Counter::AppRead, read.get()));
    Ok(read)
}

/// The folio that holds the start of `part`, with every byte valid that the read wants of it.
async fn folio_for_read<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    part: FileRange,
) -> Result<FolioId, Errno> {
    let index = cx.with(|world| world.geometry().page_floor(part.start()));
    let mut read_it = false;
    loop {
        let Some(folio) = cx.with(|world| world.file(file).mapping.find(index)) else {
            // A miss: with no readahead window, one folio at a time, sent as readahead
            // (`force_page_cache_ra`).
            let folio = cx.with(|world| world.create_for_read(file, part.start()))?;
            cx.with(|world| world.read_folio(file, folio, true));
            cx.wait(|world| (!world.is_locked_at(file, index, folio)).then_some(())).await;
            continue;
        };
        if cx.with(|world| world.is_readable(folio, part)) {
            return Ok(folio);
        }
        if !lock_folio(cx, file, index, folio).await {
            continue;
        }
        if cx.with(|world| world.is_readable(folio, part)) {
            cx.with(|world| world.unlock(folio));
            return Ok(folio);
        }
        if read_it {
            cx.with(|world| world.unlock(folio));
            return Err(Errno::Io);
        }
        read_it = true;
        cx.with(|world| world.read_folio(file, folio, false));
        cx.wait(|world| (!world.is_locked_at(file, index, folio)).then_some(())).await;
    }
}

/// A read bio that may still grow.
struct OpenBio {
    id: BioId,
    capacity: usize,
}

impl<E: Env> World<E> {
    fn is_locked_at(&self, file: FileId, index: crate::units::PageIndex, folio: FolioId) -> bool {
        self.file(file).mapping.find(index) == Some(folio) && self.has(folio, FolioFlags::LOCKED)
    }
    fn create_for_read(&mut self, file: FileId, pos: Pos) -> Result<FolioId, Errno> {
        let geometry = self.geometry();
        let order = geometry.min_order();
        let index = crate::geometry::Geometry::align_index(geometry.page_floor(pos), order);
        let folio = self.add_folio(file, index, order)?;
        self.step(Rule::FolioMadeForRead, [u64::from(order.get()), index.get(), 0, 0]);
        Ok(folio)
    }
    /// Whether the bytes that a read wants of a folio are valid
    /// (`iomap_is_partially_uptodate`).
    fn is_readable(&self, folio: FolioId, part: FileRange) -> bool {
        if self.has(folio, FolioFlags::UPTODATE) {
            return true;
        }
        let Some(state) = self.state(folio) else { return false };
        let wanted = part.intersect(self.folio_range(folio));
        let offset = Offset::ZERO + wanted.start().since(self.folio_pos(folio));
        let (start, end) = self.blocks_touched(offset, wanted.len());
        state.uptodate.next_clear(start, end) == end
    }
    fn copy_out(
        &mut self,
        folio: FolioId,
        part: FileRange,
        done: Bytes,
        dest: &mut dyn UserDest,
    ) -> (Bytes, Bytes) {
        let wanted = part.intersect(self.folio_range(folio));
        let offset = Offset::ZERO + wanted.start().since(self.folio_pos(folio));
        let pfn = self.folios.at(folio).pfn();
        let from = self.memory.bytes(pfn, offset, wanted.len());
        let copied = dest.copy_out(Offset::ZERO + done, from);
        self.step(Rule::CopiedOut, [wanted.start().get(), copied.get(), 0, 0]);
        (wanted.len(), copied)
    }
    /// Fills a locked folio: what has data is read, the rest zeroed; whoever does the last part
    /// unlocks it (`iomap_read_folio`). An error of the mapping leaves the folio not uptodate.
    pub(crate) fn read_folio(&mut self, file: FileId, folio: FolioId, readahead: bool) {
        let whole = self.folio_range(folio);
        let mut open: Option<OpenBio> = None;
        let mut submitted = Bytes::ZERO;
        let mut at = whole.start();
        self.ensure_state(folio);
        while at < whole.end() {
            let rest = FileRange::between(at, whole.end());
            let Ok(mapping) = self.begin(file, rest, Intent::Read) else { break };
            let stop = at + mapping.left(at, rest.len());
            while at < stop {
                let run = self.next_run(folio, FileRange::between(at, stop));
                if run.is_empty() {
                    at = stop;
                    break;
                }
                at = run.end();
                let source = *mapping.source();
                let addr = source.addr_of(run.start());
                if self.needs_zeroing(folio, &source, run.start()) || addr.is_none() {
                    self.zero_run(folio, run, source.kind.code());
                    continue;
                }
                if submitted.is_zero() {
                    let pending = self.state(folio).map_or(Bytes::ZERO, |s| s.read_pending);
                    self.require(pending.is_zero(), 7, run.start());
                    self.set_read_pending(folio, whole.len());
                }
                let addr = addr.expect("checked above");
                let left = FileRange::between(run.start(), stop).len();
                self.add_read(folio, run, addr, left, readahead, &mut open);
                submitted += run.len();
            }
        }
        if let Some(open) = open {
            self.submit_bio(open.id, BioEnd::LastRange);
        }
        if submitted.is_zero() {
            let pending = self.state(folio).map_or(Bytes::ZERO, |s| s.read_pending);
            self.require(pending.is_zero(), 8, whole.start());
            self.end_folio_read(folio);
        } else if self.state(folio).is_some() && submitted < whole.len() {
            self.read_bytes_done(folio, whole.len() - submitted);
        }
    }
    fn zero_run(&mut self, folio: FolioId, run: FileRange, kind: u64) {
        let offset = Offset::ZERO + run.start().since(self.folio_pos(folio));
        self.zero_bytes(folio, offset, offset + run.len());
        self.set_range_uptodate(folio, offset, run.len());
        self.step(Rule::ReadZeroed, [run.start().get(), run.len().get(), kind, 0]);
    }
    /// Adds a run to the open bio, or sends that and opens another (`iomap_bio_read_folio_range`).
    fn add_read(
        &mut self,
        folio: FolioId,
        run: FileRange,
        addr: DevAddr,
        left: Bytes,
        readahead: bool,
        open: &mut Option<OpenBio>,
    ) {
        let offset = Offset::ZERO + run.start().since(self.folio_pos(folio));
        if let Some(bio) = open.take() {
            let why = if self.bio(bio.id).bio.end() == addr {
                match self.add_to_bio(bio.id, folio, offset, run.len(), bio.capacity) {
                    Ok(()) => {
                        *open = Some(bio);
                        return;
                    }
                    Err(why) => why,
                }
            } else {
                BioEnd::SectorGap
            };
            self.submit_bio(bio.id, why);
        }
        let head = BioHead { readahead, ..self.read_head(folio) };
        let id = self.new_bio(head, addr, Purpose::ReadFolio);
        let pages: Pages = self.geometry().pages_ceil(left);
        let capacity = (pages.get() as usize).clamp(1, MAX_VECS);
        self.add_to_bio(id, folio, offset, run.len(), capacity)
            .expect("an empty bio takes one piece");
        self.step(Rule::ReadAdded, [run.start().get(), run.len().get(), addr.get(), 0]);
        *open = Some(OpenBio { id, capacity });
    }
}
