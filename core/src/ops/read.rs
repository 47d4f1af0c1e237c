//! Buffered read (`filemap_read`): from the cache, with readahead for what is missing.

use super::fill_window::{async_readahead, sync_readahead};
use super::iter;
use super::write::lock_folio;
use crate::behaviour::{ReadFolioStep, ReadPending, ReadSubmission};
use crate::block::bio::{BioEnd, BioHead, vecs_for};
use crate::cache::folio::FolioFlags;
use crate::cache::life::Insert;
use crate::cache::policy::FolioPolicy;
use crate::counters::Counter;
use crate::engine::{Cx, ReadFlags};
use crate::errno::Errno;
use crate::frames::{FrameStore, UserDest};
use crate::iomap::{Intent, MapType, Mapping};
use crate::stops::StopPoint;
use crate::trace::rule::Rule;
use crate::units::{BioId, Bytes, DevAddr, FileId, FileRange, FolioId, Offset, PageIndex, Pos};
use crate::world::{Env, Purpose, World};

/// Most folios that are looked at together (`PAGEVEC_SIZE`).
const BATCH: usize = 31;

/// Reads into `dest` from `pos`, up to EOF.
pub(crate) async fn pread<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    pos: Pos,
    dest: &mut dyn UserDest,
    flags: ReadFlags,
) -> Result<Bytes, Errno> {
    let asked = FileRange::new(pos, dest.len()).ok_or(Errno::Inval)?;
    let mut at = pos;
    let mut result = Ok(());
    let mut last = cx.with(|world| world.file(file).window.previous);
    while result.is_ok() && at < cx.with(|world| asked.intersect(world.whole(file))).end() {
        let rest = FileRange::between(at, asked.end());
        if let Some(zero) = cx.with(|world| world.absent_in_memory(file, rest)) {
            let copied = dest.copy_out(Offset::ZERO + at.since(pos), &vec![0; zero.get() as usize]);
            at += copied;
            if copied < zero {
                result = Err(Errno::Fault);
            }
            continue;
        }
        cx.with(|world| world.file_mut(file).window.dropbehind = flags.dontcache);
        let batch = match folios_for_read(cx, file, rest, flags.nowait).await {
            Ok(batch) => batch,
            Err(errno) => {
                result = Err(errno);
                break;
            }
        };
        for folio in batch {
            let part = cx.with(|world| rest.intersect(world.whole(file)));
            let part = FileRange::between(at, part.end());
            let (len, copied) = cx.with(|world| {
                world.mark_read(folio, last);
                world.copy_out(folio, part, at.since(pos), dest)
            });
            at += copied;
            last = Some(at);
            cx.with(|world| {
                if flags.dontcache {
                    world.drop_behind(folio);
                }
            });
            if copied < len {
                result = Err(Errno::Fault);
                break;
            }
        }
    }
    let read = at.since(pos);
    cx.with(|world| {
        world.count(Counter::AppRead, read.get());
        if !read.is_zero() {
            world.file_mut(file).window.previous = Some(at);
        }
    });
    // What was read counts; the error is lost for this call.
    if read.is_zero() { result.map(|()| read) } else { Ok(read) }
}

/// The cached folios from the start of `rest` on, up to one that carries the readahead mark or had
/// to be waited for; all of them readable (`filemap_get_pages`).
async fn folios_for_read<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    rest: FileRange,
    nowait: bool,
) -> Result<Vec<FolioId>, Errno> {
    let (index, end) = cx.with(|world| {
        let geometry = world.geometry();
        let end = geometry.page_ceil(rest.end());
        (geometry.page_floor(rest.start()), geometry.align_index_up(end))
    });
    let mut tried = false;
    loop {
        let mut batch = cx.with(|world| world.read_batch_at(file, index, end));
        let Some(last) = batch.last().copied() else {
            if tried || cx.with(|world| world.reads_alone()) {
                if nowait {
                    return Err(Errno::Again);
                }
                create_and_read(cx, file, rest.start()).await?;
            } else {
                sync_readahead(cx, file, index, end.since(index)).await;
            }
            tried = true;
            continue;
        };
        let at = cx.with(|world| world.folios.at(last).index);
        if cx.with(|world| world.has(last, FolioFlags::READAHEAD)) {
            async_readahead(cx, file, last, at, end.since(at)).await;
            if cx.with(|world| world.file(file).mapping.find(at) != Some(last)) {
                continue;
            }
        }
        let part = FileRange::between(
            rest.start(),
            cx.with(|world| rest.intersect(world.whole(file))).end(),
        );
        let ready = cx.with(|world| world.is_readable(last, part));
        if nowait {
            // What is not uptodate is looked at under its lock, which somebody may hold.
            let now = ready && !cx.with(|world| world.is_being_read(last));
            batch.truncate(if now { batch.len() } else { batch.len() - 1 });
            return if batch.is_empty() { Err(Errno::Again) } else { Ok(batch) };
        }
        // Who had to wait looks again: the folios before it may be gone.
        if ready || (make_readable(cx, file, at, last, part).await? && batch.len() == 1) {
            return Ok(batch);
        }
    }
}

/// Makes one folio for `pos` and fills it (`filemap_create_folio`).
pub(crate) async fn create_and_read<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    pos: Pos,
) -> Result<(), Errno> {
    let folio = cx.with(|world| world.create_for_read(file, pos))?;
    cx.reach(StopPoint::FolioLocked, |world| world.folio_range(folio)).await;
    fill_one(cx, file, folio).await
}

/// Fills a locked folio and waits for it; an error is the caller's (`filemap_read_folio`).
async fn fill_one<E: Env>(cx: &Cx<'_, E>, file: FileId, folio: FolioId) -> Result<(), Errno> {
    let index = cx.with(|world| world.folios.at(folio).index);
    read_batch(cx, file, &[folio], false).await;
    cx.wait(|world| (!world.is_locked_at(file, index, folio)).then_some(())).await;
    cx.with(|world| {
        let here = world.file(file).mapping.find(index) == Some(folio);
        if here && world.has(folio, FolioFlags::UPTODATE) { Ok(()) } else { Err(Errno::Io) }
    })
}

/// Makes the folio at `pos` uptodate, reading it if it is not.
pub(crate) async fn read_one<E: Env>(cx: &Cx<'_, E>, file: FileId, pos: Pos) -> Result<(), Errno> {
    let at = cx.with(|world| world.geometry().page_floor(pos));
    loop {
        let Some(folio) = cx.with(|world| world.file(file).mapping.find(at)) else {
            return create_and_read(cx, file, pos).await;
        };
        if !lock_folio(cx, file, at, folio).await {
            continue;
        }
        if cx.with(|world| world.has(folio, FolioFlags::UPTODATE)) {
            cx.with(|world| world.unlock(folio));
            return Ok(());
        }
        return fill_one(cx, file, folio).await;
    }
}

/// Fills the folios of pages `[index, end)` in one batch, up to EOF. Cached ones are gone around,
/// and each stretch between them is read by itself (`page_cache_ra_unbounded`).
pub(crate) async fn read_range<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    index: PageIndex,
    end: PageIndex,
) {
    let end = cx.with(|world| end.min(world.geometry().page_ceil(world.file(file).size)));
    let mut batch: Vec<FolioId> = Vec::new();
    let mut at = index;
    while at < end {
        let cached = |world: &mut World<E>| {
            world.file(file).mapping.find(at).map(|folio| world.folios.at(folio).end_index())
        };
        if let Some(behind) = cx.with(cached) {
            read_batch(cx, file, &batch, true).await;
            batch.clear();
            at = behind;
            continue;
        }
        let pos = cx.with(|world| world.geometry().page_pos(at));
        let Ok(folio) = cx.with(|world| world.create_for_read(file, pos)) else { break };
        batch.push(folio);
        at = cx.with(|world| world.folios.at(folio).end_index());
    }
    read_batch(cx, file, &batch, true).await;
}

/// Waits until what `part` wants of a folio is valid, reading it if nobody does; false if it left
/// its place meanwhile (`filemap_update_page`).
pub(crate) async fn make_readable<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    index: PageIndex,
    folio: FolioId,
    part: FileRange,
) -> Result<bool, Errno> {
    let mut read_it = false;
    loop {
        if cx.with(|world| world.is_readable(folio, part)) {
            return Ok(true);
        }
        if !lock_folio(cx, file, index, folio).await {
            return Ok(false);
        }
        if cx.with(|world| world.is_readable(folio, part)) {
            cx.with(|world| world.unlock(folio));
            return Ok(true);
        }
        if read_it {
            cx.with(|world| world.unlock(folio));
            return Err(Errno::Io);
        }
        read_it = true;
        read_batch(cx, file, &[folio], false).await;
        cx.wait(|world| (!world.is_locked_at(file, index, folio)).then_some(())).await;
        if cx.with(|world| world.file(file).mapping.find(index) != Some(folio)) {
            return Ok(false);
        }
    }
}

/// A read bio that may still grow.
struct OpenBio {
    id: BioId,
    capacity: usize,
}

/// How far a batch of folios has been read.
struct Filling<'a> {
    file: FileId,
    folios: &'a [FolioId],
    /// The folio now filled, and how many of its bytes were submitted.
    next: usize,
    submitted: Bytes,
    /// Some of that folio was looked at.
    begun: bool,
    open: Option<OpenBio>,
    readahead: bool,
    /// One run of blocks, then the mapping is asked for again.
    by_run: bool,
}

/// Fills locked folios that follow each other: what has data is read, the rest zeroed; whoever does
/// the last part of a folio unlocks it (`iomap_readahead`, `iomap_read_folio`). Readahead holds its
/// requests back (`read_pages`).
pub(crate) async fn read_batch<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    folios: &[FolioId],
    readahead: bool,
) {
    let started = cx.with(|world| world.start_filling(file, folios, readahead));
    let Some((mut fill, mut at, end)) = started else { return };
    let plugged = readahead && cx.plug();
    while at < end {
        let rest = FileRange::between(at, end);
        let Ok(mapping) = iter::begin(cx, file, rest, Intent::Read, false).await else { break };
        at = cx.with(|world| world.fill_mapping(&mut fill, &mapping, at, end));
    }
    cx.with(|world| world.finish_filling(fill));
    cx.unplug(plugged);
}

impl<E: Env> World<E> {
    fn is_locked_at(&self, file: FileId, index: PageIndex, folio: FolioId) -> bool {
        self.file(file).mapping.find(index) == Some(folio) && self.has(folio, FolioFlags::LOCKED)
    }
    /// Cached folios that follow each other from `index` on (`filemap_get_read_batch`).
    fn read_batch_at(&self, file: FileId, index: PageIndex, end: PageIndex) -> Vec<FolioId> {
        let mut batch = Vec::new();
        let mut at = index;
        while at < end && batch.len() < BATCH {
            let Some(id) = self.file(file).mapping.find(at) else { break };
            batch.push(id);
            let folio = self.folios.at(id);
            if folio.flags.has(FolioFlags::READAHEAD) || !folio.flags.has(FolioFlags::UPTODATE) {
                break;
            }
            at = folio.end_index();
        }
        batch
    }
    /// Readahead brought nothing: one folio, as small as can be (`filemap_create_folio`).
    pub(crate) fn create_for_read(&mut self, file: FileId, pos: Pos) -> Result<FolioId, Errno> {
        let (index, order) = self.read_place(file, self.geometry().page_floor(pos));
        let folio = self.add_folio(file, index, order, Insert::Read)?;
        self.step(Rule::FolioMadeForRead, [u64::from(order.get()), index.get(), 0, 0]);
        Ok(folio)
    }
    /// Whether what is missing is read a folio at a time, without readahead.
    pub(crate) fn reads_alone(&self) -> bool {
        self.folio_policy != FolioPolicy::Kernel && self.config.readahead.window.is_zero()
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
    fn is_being_read(&self, folio: FolioId) -> bool {
        !self.has(folio, FolioFlags::UPTODATE) && self.has(folio, FolioFlags::LOCKED)
    }
    /// A read counts as a use of each folio, once: not where the read before, or the part before,
    /// ended in the same folio (`filemap_read`).
    fn mark_read(&mut self, folio: FolioId, last: Option<Pos>) {
        let whole = self.folio_range(folio);
        let same = last.is_some_and(|end| whole.start() < end && end <= whole.end());
        if !same {
            self.mark_accessed(folio);
        }
    }
    fn copy_out(
        &mut self,
        folio: FolioId,
        part: FileRange,
        done: Bytes,
        dest: &mut dyn UserDest,
    ) -> (Bytes, Bytes) {
        let wanted = part.intersect(self.folio_range(folio));
        if wanted.is_empty() {
            return (Bytes::ZERO, Bytes::ZERO);
        }
        let offset = Offset::ZERO + wanted.start().since(self.folio_pos(folio));
        let pfn = self.folios.at(folio).pfn();
        let from = self.memory.bytes(pfn, offset, wanted.len());
        let copied = dest.copy_out(Offset::ZERO + done, from);
        self.step(Rule::CopiedOut, [wanted.start().get(), copied.get(), 0, 0]);
        (wanted.len(), copied)
    }
    /// Folios are locked to be filled; where that starts, and where it ends.
    fn start_filling<'a>(
        &mut self,
        file: FileId,
        folios: &'a [FolioId],
        readahead: bool,
    ) -> Option<(Filling<'a>, Pos, Pos)> {
        let start = self.folio_pos(*folios.first()?);
        let end = self.folio_range(*folios.last()?).end();
        let pages = end.since(start).get() / self.geometry().page_size().get();
        self.step(Rule::FoliosToRead, [pages, u64::from(readahead), 0, 0]);
        let by_run = !readahead && self.behaviours().read_folio_step == ReadFolioStep::Run;
        let (submitted, begun, open) = (Bytes::ZERO, false, None);
        let fill = Filling { file, folios, next: 0, submitted, begun, open, readahead, by_run };
        Some((fill, start, end))
    }
    /// Fills what one mapping covers; where it goes on.
    fn fill_mapping(
        &mut self,
        fill: &mut Filling<'_>,
        mapping: &Mapping,
        from: Pos,
        end: Pos,
    ) -> Pos {
        let stop = from + mapping.left(from, FileRange::between(from, end).len());
        let mut at = from;
        while at < stop {
            at = self.fill_from(fill, mapping, at, stop);
            if fill.by_run {
                break;
            }
        }
        let submission = self.behaviours().read_submission;
        let sends = match submission {
            ReadSubmission::BeforeNextMapping => true,
            ReadSubmission::BoundaryFlag => mapping.iomap.reads_next,
            ReadSubmission::AtEnd | ReadSubmission::Immediate => false,
        };
        if sends
            && at < end
            && let Some(open) = fill.open.take()
        {
            self.submit_bio(open.id, BioEnd::MappingEnds);
            // As the reviewer put it: the folio is in no bio any more (`cur_folio_in_bio`).
            if submission == ReadSubmission::BoundaryFlag && !self.counts_whole_folios() {
                fill.submitted = Bytes::ZERO;
            }
        }
        at
    }
    /// After an error of the mapping, folios that were not begun leave the cache if they were
    /// readahead.
    fn finish_filling(&mut self, mut fill: Filling<'_>) {
        if let Some(open) = fill.open.take() {
            self.submit_bio(open.id, BioEnd::LastRange);
        }
        let unread = fill.folios.get(fill.next..).unwrap_or_default();
        for (nth, folio) in unread.iter().enumerate() {
            let begun = nth == 0 && fill.begun;
            if begun || !fill.readahead {
                self.end_filling(*folio, if begun { fill.submitted } else { Bytes::ZERO });
            } else {
                self.lower(*folio, FolioFlags::LOCKED);
                self.remove_folio(*folio);
            }
        }
    }
    /// Fills what one mapping covers of the folio that is next; where it goes on.
    fn fill_from(
        &mut self,
        fill: &mut Filling<'_>,
        mapping: &Mapping,
        from: Pos,
        stop: Pos,
    ) -> Pos {
        let folio = fill.folios[fill.next];
        let whole = self.folio_range(folio);
        self.require(self.has(folio, FolioFlags::LOCKED), 34, from);
        self.ensure_state(folio);
        fill.begun = true;
        let mut end = stop.min(whole.end());
        let mut at = from;
        if mapping.source().kind == MapType::Inline {
            self.fill_inline(fill.file, folio, mapping.source());
            at = end;
        }
        while at < end {
            let run = self.next_run(folio, FileRange::between(at, end));
            if run.is_empty() {
                break;
            }
            at = run.end();
            if fill.by_run {
                end = at;
            }
            let source = *mapping.source();
            let Some(addr) = source
                .addr_of(run.start())
                .filter(|_| !self.needs_zeroing(folio, &source, run.start()))
            else {
                self.zero_run(folio, run, source.kind.code());
                continue;
            };
            if fill.submitted.is_zero() && self.counts_whole_folios() {
                let pending = self.state(folio).map_or(Bytes::ZERO, |state| state.read_pending);
                self.require(pending.is_zero(), 7, run.start());
                self.set_read_pending(folio, whole.len());
            }
            let left = FileRange::between(run.start(), stop).len();
            self.add_read(fill, run, addr, left);
            fill.submitted += run.len();
        }
        if end == whole.end() {
            self.end_filling(folio, core::mem::take(&mut fill.submitted));
            fill.begun = false;
            fill.next += 1;
        }
        end
    }
    /// Nothing more of a folio will be submitted.
    fn end_filling(&mut self, folio: FolioId, submitted: Bytes) {
        let whole = self.folio_range(folio);
        if submitted.is_zero() {
            let pending = self.state(folio).map_or(Bytes::ZERO, |state| state.read_pending);
            self.require(pending.is_zero(), 8, whole.start());
            self.end_folio_read(folio);
        } else if self.counts_whole_folios()
            && self.state(folio).is_some()
            && submitted < whole.len()
        {
            self.read_bytes_done(folio, whole.len() - submitted);
        }
    }
    /// Whether a folio's read begins with all its bytes pending, so that whoever fills it ends it.
    fn counts_whole_folios(&self) -> bool {
        self.behaviours().read_pending == ReadPending::FolioSize
    }
    /// What completion will take off for a range: counted before the bio of the range before it is
    /// sent, which could be the last one otherwise. `joined`: the range made a piece of that bio
    /// longer.
    fn expect_read(&mut self, folio: FolioId, len: Bytes, joined: bool) {
        let pending = self.state(folio).map_or(Bytes::ZERO, |state| state.read_pending);
        match self.behaviours().read_pending {
            ReadPending::Segments if !joined => {
                self.set_read_pending(folio, pending + Bytes::new(1));
            }
            ReadPending::Additive => self.set_read_pending(folio, pending + len),
            ReadPending::Segments | ReadPending::FolioSize => {}
        }
    }
    fn zero_run(&mut self, folio: FolioId, run: FileRange, kind: u64) {
        let offset = Offset::ZERO + run.start().since(self.folio_pos(folio));
        self.zero_bytes(folio, offset, offset + run.len());
        self.set_range_uptodate(folio, offset, run.len());
        self.step(Rule::ReadZeroed, [run.start().get(), run.len().get(), kind, 0]);
    }
    /// Adds a run to the open bio, or sends that and opens another
    /// (`iomap_bio_read_folio_range`). `left` is what the mapping still covers.
    fn add_read(&mut self, fill: &mut Filling<'_>, run: FileRange, addr: DevAddr, left: Bytes) {
        let folio = fill.folios[fill.next];
        let offset = Offset::ZERO + run.start().since(self.folio_pos(folio));
        let args = [run.start().get(), run.len().get(), addr.get(), 0];
        if let Some(bio) = fill.open.take() {
            let pieces = self.bio(bio.id).bio.segs.len();
            let joined = if self.bio(bio.id).bio.end() == addr {
                self.add_to_bio(bio.id, folio, offset, run.len(), bio.capacity)
            } else {
                Err(BioEnd::SectorGap)
            };
            let longer = joined.is_ok() && self.bio(bio.id).bio.segs.len() == pieces;
            self.expect_read(folio, run.len(), longer);
            let Err(why) = joined else {
                self.step(Rule::ReadAdded, args);
                fill.open = Some(bio);
                return;
            };
            self.submit_bio(bio.id, why);
        } else {
            self.expect_read(folio, run.len(), false);
        }
        let head = BioHead { readahead: fill.readahead, ..self.read_head(folio) };
        let id = self.new_bio(head, addr, Purpose::ReadFolio);
        let capacity = vecs_for(self.geometry().pages_ceil(left));
        self.add_to_bio(id, folio, offset, run.len(), capacity)
            .expect("an empty bio takes one piece");
        self.step(Rule::ReadAdded, args);
        if self.behaviours().read_submission == ReadSubmission::Immediate {
            self.submit_bio(id, BioEnd::LastRange);
        } else {
            fill.open = Some(OpenBio { id, capacity });
        }
    }
}
