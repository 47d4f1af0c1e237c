//! Filling folios: what has data is read into bios, the rest zeroed, and what is still to come of
//! each folio is counted (`iomap_readahead`, `iomap_read_folio`).

use super::iter;
use crate::behaviour::{ReadFolioStep, ReadPending, ReadSubmission};
use crate::block::bio::{BioEnd, BioHead, vecs_for};
use crate::cache::folio::FolioFlags;
use crate::check::mutant::Mutant;
use crate::engine::Cx;
use crate::fault::FaultPoint;
use crate::iomap::{Intent, MapType, Mapping};
use crate::stops::StopPoint;
use crate::trace::rule::Rule;
use crate::units::{BioId, Bytes, DevAddr, FileId, FileRange, FolioId, Offset, Pos};
use crate::world::{Env, Purpose, World};

/// A read bio that may still grow.
struct OpenBio {
    id: BioId,
    capacity: usize,
}

/// What became of a run of blocks.
enum Filled {
    /// There was none.
    Nothing,
    /// It was zeroed.
    Zeroed(FileRange),
    /// It is in a bio.
    Added,
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
    /// What the bio that was sent last holds, until that was told.
    sent: Option<FileRange>,
}

/// Fills locked folios that follow each other: what has data is read, the rest zeroed; whoever does
/// the last part of a folio unlocks it (`iomap_readahead`, `iomap_read_folio`). Readahead holds its
/// requests back (`read_pages`). Whether a mapping was refused.
pub(crate) async fn read_batch<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    folios: &[FolioId],
    readahead: bool,
) -> bool {
    if cx.with(|world| world.driver(file).is_some()) {
        crate::buffer::read::read_batch(cx, file, folios, readahead).await;
        return false;
    }
    let started = cx.with(|world| world.start_filling(file, folios, readahead));
    let Some((mut fill, mut at, end)) = started else { return false };
    let mut refused = false;
    let plugged = readahead && cx.plug();
    while at < end {
        let rest = FileRange::between(at, end);
        let got = iter::begin(cx, file, rest, Intent::Read, false).await;
        if let Some(next) = cx.with(|world| world.leave_lost(&mut fill, at, end)) {
            at = next;
            continue;
        }
        let Ok(mapping) = got else { break };
        refused = cx.with(|world| world.splits_a_block(file, &mapping));
        if refused {
            break;
        }
        at = fill_mapping(cx, &mut fill, &mapping, at, end).await;
    }
    cx.with(|world| world.finish_filling(&mut fill));
    tell_sent(cx, &mut fill).await;
    cx.unplug(plugged);
    refused
}

/// Fills what one mapping covers; where it goes on.
async fn fill_mapping<E: Env>(
    cx: &Cx<'_, E>,
    fill: &mut Filling<'_>,
    mapping: &Mapping,
    from: Pos,
    end: Pos,
) -> Pos {
    let stop = from + mapping.left(from, FileRange::between(from, end).len());
    let mut at = from;
    while at < stop {
        at = fill_folio(cx, fill, mapping, at, stop).await;
        if fill.by_run {
            break;
        }
    }
    cx.with(|world| world.end_of_mapping(fill, mapping, at < end));
    tell_sent(cx, fill).await;
    at
}

/// Fills what one mapping covers of the folio that is next; where it goes on.
async fn fill_folio<E: Env>(
    cx: &Cx<'_, E>,
    fill: &mut Filling<'_>,
    mapping: &Mapping,
    from: Pos,
    stop: Pos,
) -> Pos {
    let mut part = cx.with(|world| world.begin_folio(fill, mapping, from, stop));
    loop {
        match cx.with(|world| world.fill_run(fill, mapping, &mut part, stop)) {
            Filled::Nothing => break,
            Filled::Zeroed(run) => cx.reach(StopPoint::AfterZero, |_| run).await,
            Filled::Added => tell_sent(cx, fill).await,
        }
    }
    cx.with(|world| world.leave_folio(fill, part.end()));
    part.end()
}

async fn tell_sent<E: Env>(cx: &Cx<'_, E>, fill: &mut Filling<'_>) {
    if let Some(range) = fill.sent.take() {
        cx.reach(StopPoint::AfterReadSubmit, |_| range).await;
    }
}

impl<E: Env> World<E> {
    /// Whether a mapping ends inside a block and inside the file. No kernel looks; but a folio of
    /// one block would then be read in pieces, and nobody counts them.
    fn splits_a_block(&self, file: FileId, mapping: &Mapping) -> bool {
        let end = mapping.iomap.range.end();
        let aligned = self.geometry().round_up_block(end) == end;
        mapping.iomap.kind == MapType::Mapped && end < self.file(file).size && !aligned
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
        let sent = None;
        let fill =
            Filling { file, folios, next: 0, submitted, begun, open, readahead, by_run, sent };
        Some((fill, start, end))
    }
    /// A folio whose read ended too early (I34) may leave the cache while its reader waits for a
    /// mapping: nothing more of it is filled. Where it goes on then.
    fn leave_lost(&mut self, fill: &mut Filling<'_>, at: Pos, end: Pos) -> Option<Pos> {
        let index = self.geometry().page_floor(at);
        let folio = fill.folios.get(fill.next).copied().filter(|_| fill.begun)?;
        if self.file(fill.file).mapping.find(index) == Some(folio) {
            return None;
        }
        (fill.begun, fill.submitted) = (false, Bytes::ZERO);
        fill.next += 1;
        Some(fill.folios.get(fill.next).map_or(end, |next| self.folio_pos(*next)))
    }
    /// A mapping is used up; whether more is to be read.
    fn end_of_mapping(&mut self, fill: &mut Filling<'_>, mapping: &Mapping, more: bool) {
        let submission = self.behaviours().read_submission;
        let sends = match submission {
            ReadSubmission::BeforeNextMapping => true,
            ReadSubmission::BoundaryFlag => mapping.iomap.reads_next,
            ReadSubmission::AtEnd | ReadSubmission::Immediate => false,
        };
        if sends
            && more
            && let Some(open) = fill.open.take()
        {
            self.send_read(fill, open.id, BioEnd::MappingEnds);
            // The folio is in no bio any more (`cur_folio_in_bio`): what was sent of it is
            // forgotten, so that the end of the folio may end its read too early.
            if submission == ReadSubmission::BoundaryFlag && !self.counts_whole_folios() {
                fill.submitted = Bytes::ZERO;
            }
        }
    }
    fn send_read(&mut self, fill: &mut Filling<'_>, id: BioId, why: BioEnd) {
        let bio = &self.bio(id).bio;
        fill.sent = Some(bio.file_range());
        self.submit_bio(id, why);
    }
    /// After an error of the mapping, folios that were not begun leave the cache if they were
    /// readahead.
    fn finish_filling(&mut self, fill: &mut Filling<'_>) {
        if let Some(open) = fill.open.take() {
            self.send_read(fill, open.id, BioEnd::LastRange);
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
    /// Begins with the folio that is next; what one mapping covers of it.
    fn begin_folio(
        &mut self,
        fill: &mut Filling<'_>,
        mapping: &Mapping,
        from: Pos,
        stop: Pos,
    ) -> FileRange {
        let folio = fill.folios[fill.next];
        let end = stop.min(self.folio_range(folio).end());
        self.require(self.has(folio, FolioFlags::LOCKED), 34, from);
        self.ensure_state(folio);
        if self.mutant(Mutant::PendsBeforeSubmitting) {
            self.set_read_pending(folio, self.folio_size(folio));
        }
        fill.begun = true;
        if mapping.source().kind == MapType::Inline {
            self.fill_inline(fill.file, folio, mapping.source());
            return FileRange::between(end, end);
        }
        FileRange::between(from, end)
    }
    /// Fills the first run of `part` that is not uptodate, and leaves what is behind it.
    fn fill_run(
        &mut self,
        fill: &mut Filling<'_>,
        mapping: &Mapping,
        part: &mut FileRange,
        stop: Pos,
    ) -> Filled {
        let folio = fill.folios[fill.next];
        if part.is_empty() {
            return Filled::Nothing;
        }
        let run = self.next_run(folio, *part);
        if run.is_empty() {
            return Filled::Nothing;
        }
        let end = if fill.by_run { run.end() } else { part.end() };
        *part = FileRange::between(run.end(), end);
        let source = *mapping.source();
        let placed = source.addr_of(run.start());
        let Some(addr) = placed.filter(|_| !self.needs_zeroing(folio, &source, run.start())) else {
            self.zero_run(folio, run, source.kind.code());
            return Filled::Zeroed(run);
        };
        let run = self.half_if_mutant(folio, run);
        // A mapping may end with the file, inside the block of EOF.
        let (all, eof) = (self.folio_range(folio), self.file(fill.file).size);
        let whole = run.start() == all.start() && run.end() >= all.end().min(eof);
        self.require(whole || self.state(folio).is_some(), 9, run.start());
        if fill.submitted.is_zero() && self.counts_whole_folios() {
            let pending = self.read_pending(folio);
            self.require(pending.is_zero(), 7, run.start());
            self.set_read_pending(folio, self.folio_size(folio));
        }
        let left = FileRange::between(run.start(), stop).len();
        self.add_read(fill, run, addr, left);
        fill.submitted += run.len();
        Filled::Added
    }
    /// The mapping ends at `end` for the folio that is next; where that is its own end, so does it.
    fn leave_folio(&mut self, fill: &mut Filling<'_>, end: Pos) {
        let folio = fill.folios[fill.next];
        if end == self.folio_range(folio).end() {
            self.end_filling(folio, core::mem::take(&mut fill.submitted));
            fill.begun = false;
            fill.next += 1;
        }
    }
    /// Nothing more of a folio will be submitted.
    fn end_filling(&mut self, folio: FolioId, submitted: Bytes) {
        let whole = self.folio_range(folio);
        if submitted.is_zero() {
            let pending = self.read_pending(folio);
            self.require(pending.is_zero(), 8, whole.start());
            self.end_folio_read(folio);
        } else if self.counts_whole_folios()
            && self.state(folio).is_some()
            && submitted < whole.len()
        {
            self.read_bytes_done(folio, whole.len() - submitted);
        }
    }
    fn half_if_mutant(&self, folio: FolioId, run: FileRange) -> FileRange {
        if self.mutant(Mutant::ReadsHalfAFolio) && self.state(folio).is_none() {
            let half = Bytes::new(run.len().get() / 2);
            return FileRange::between(run.start(), run.start() + half);
        }
        run
    }
    fn read_pending(&self, folio: FolioId) -> Bytes {
        self.state(folio).map_or(Bytes::ZERO, |state| state.read_pending)
    }
    /// Whether a folio's read begins with all its bytes pending, so that whoever fills it ends it.
    fn counts_whole_folios(&self) -> bool {
        self.behaviours().read_pending == ReadPending::FolioSize
    }
    /// What completion will take off for a range: counted before the bio of the range before it is
    /// sent, which could be the last one otherwise. `joined`: the range made a piece of that bio
    /// longer.
    fn expect_read(&mut self, folio: FolioId, len: Bytes, joined: bool) {
        let pending = self.read_pending(folio);
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
            self.send_read(fill, bio.id, why);
        } else {
            self.expect_read(folio, run.len(), false);
        }
        let head = BioHead { readahead: fill.readahead, ..self.read_head(folio) };
        let id = self.new_bio(head, addr, Purpose::ReadFolio);
        let capacity = match self.fault(FaultPoint::AllocBio, fill.file, run) {
            Some(_) => 1,
            None => vecs_for(self.geometry().pages_ceil(left)),
        };
        self.add_to_bio(id, folio, offset, run.len(), capacity)
            .expect("an empty bio takes one piece");
        self.step(Rule::ReadAdded, args);
        if self.behaviours().read_submission == ReadSubmission::Immediate {
            self.send_read(fill, id, BioEnd::LastRange);
        } else {
            fill.open = Some(OpenBio { id, capacity });
        }
    }
}
