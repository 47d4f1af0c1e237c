//! What a whole run needs of the picture, so that nothing jumps from step to step.
//!
//! Found by one replay of each trace; it holds no state of any step.

use super::Side;
use super::axis::Span;
use super::course::Course;
use super::members::{most_transfers, whole_stripes};
use super::pack::{pack, pack_spans};
use super::snapshot::{bios, extents, requests};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::sort::sort;
use crate::trace::delta::DeltaKind;
use crate::trace::model::{BioRecord, Model, Place, RequestRecord};
use crate::trace::rule::Rule;
use crate::trace::timeline::Timeline;
use crate::units::{FileId, FileRange, MAX_POS};
use std::sync::Arc;

/// Most rows of bios that a lane holds.
pub(super) const MAX_BIO_ROWS: usize = 3;
/// Most spans of an axis.
const MAX_SPANS: usize = 6;
/// Most blocks that are shown; what lies behind is cut off.
const MAX_BLOCKS: u64 = 1 << 20;
/// Up to this many blocks nothing is left out of the axis.
const SHORT: u64 = 64;

/// What the whole run needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of the file that are shown.
    pub(super) spans: Vec<Span>,
    /// Bytes of the device that are shown.
    pub(super) sectors: Vec<Span>,
    pub(super) bio_rows: usize,
    /// Rows of requests; none where bios go straight to the device.
    pub(super) request_rows: usize,
    /// Stripes of an array that any run touches, ascending; none where there is no array.
    pub(super) stripes: Vec<u64>,
    /// Members of the array.
    pub(super) members: usize,
    /// Bytes of data of a stripe; 0 where there is no array.
    pub(super) stripe: u64,
    /// Where the partition that holds the files begins on the disk, in bytes.
    pub(super) partition: u64,
    /// By run, stripes of which all data is written in the end.
    pub(super) whole: Vec<Vec<u64>>,
    /// Blocks that members read and wrote for the stripe that costs most in the end, of any run.
    pub(super) transfers: u64,
    /// Highest tally of a block.
    pub(super) tally: u32,
    /// Every run has the same extents from its start to its end.
    pub(super) mapping_fixed: bool,
    /// By run, what happened in its course.
    pub(super) courses: Vec<Arc<Course>>,
}

#[derive(Clone, Default, Debug)]
struct Seen {
    /// Bytes of folios: the end of the longest by first byte.
    touched: OrderedMap<u64, u64>,
    /// First byte, end, device address; ascending.
    placed: Vec<(u64, u64, u64)>,
    size: u64,
    bio_rows: usize,
    request_rows: usize,
    tally: u32,
    extents_move: bool,
    extents: Vec<(u64, u64)>,
    stripes: OrderedSet<u64>,
    members: usize,
    stripe: u64,
    partition: u64,
    whole: Vec<u64>,
    course: Arc<Course>,
    transfers: u64,
}

impl Seen {
    fn touch(&mut self, start: u64, end: u64) {
        let longest = self.touched.get_or_insert_with(start, || end);
        *longest = end.max(*longest);
    }
}

/// What whole runs do to a file, found by one replay of each: enough for the limits of any part of
/// it.
#[derive(Clone, Debug)]
pub struct Needs {
    seen: Vec<Seen>,
    /// Bytes that folios, and blocks, have at most; bytes that blocks have at least.
    grain: u64,
    block: u64,
    least: u64,
}

impl Needs {
    /// What these runs do to this file.
    pub fn of(sides: &[Side<'_>], file: FileId) -> Self {
        let geometries = || sides.iter().map(|side| side.timeline.header().geometry);
        let block = || geometries().map(|g| g.block_size().get());
        Self {
            seen: sides.iter().map(|side| replay(side.timeline, file)).collect(),
            grain: geometries()
                .map(|g| g.page_size().get().max(g.block_size().get()))
                .max()
                .unwrap_or(1),
            block: block().max().unwrap_or(1),
            least: block().min().unwrap_or(1),
        }
    }
    /// The limits of a picture that shows this range, or all that is touched.
    pub fn limits(&self, range: Option<FileRange>) -> Limits {
        let block = self.block;
        let spans = range.filter(|range| !range.is_empty()).map_or_else(
            || spans(&self.seen, self.grain, block),
            |range| {
                let (start, end) = (range.start().get(), range.end().get());
                vec![(start / block * block, end.div_ceil(block) * block)]
            },
        );
        self.with(spans)
    }
    /// The limits of a picture that shows what is touched in this range, with the empty spans left
    /// out; of the range itself where nothing is.
    pub fn within(&self, range: FileRange) -> Limits {
        let (start, end) = (range.start().get(), range.end().get());
        let all = spans(&self.seen, self.grain, self.block).into_iter();
        let inside: Vec<Span> = all
            .map(|span| (span.0.max(start), span.1.min(end)))
            .filter(|span| span.0 < span.1)
            .collect();
        if inside.is_empty() { self.limits(Some(range)) } else { self.with(inside) }
    }
    fn with(&self, spans: Vec<Span>) -> Limits {
        let seen = &self.seen;
        let spans = cut(spans, self.least);
        let same = seen.windows(2).all(|two| two[0].extents == two[1].extents);
        let mut stripes = OrderedSet::new();
        for stripe in seen.iter().flat_map(|seen| seen.stripes.iter()) {
            stripes.insert(stripe);
        }
        Limits {
            sectors: sectors(seen, &spans, self.block),
            spans,
            request_rows: seen.iter().map(|seen| seen.request_rows).max().unwrap_or(0),
            stripes: stripes.iter().collect(),
            members: seen.iter().map(|seen| seen.members).max().unwrap_or(0),
            stripe: seen.iter().map(|seen| seen.stripe).max().unwrap_or(0),
            partition: seen.iter().map(|seen| seen.partition).max().unwrap_or(0),
            whole: seen.iter().map(|seen| seen.whole.clone()).collect(),
            transfers: seen.iter().map(|seen| seen.transfers).max().unwrap_or(0).max(1),
            bio_rows: seen.iter().map(|seen| seen.bio_rows).max().unwrap_or(1).max(1),
            tally: seen.iter().map(|seen| seen.tally).max().unwrap_or(1).max(1),
            mapping_fixed: same && seen.iter().all(|seen| !seen.extents_move),
            courses: seen.iter().map(|seen| Arc::clone(&seen.course)).collect(),
        }
    }
}

impl Limits {
    /// What these runs need, for this file and this range (none = all that they touch).
    pub fn of(sides: &[Side<'_>], file: FileId, range: Option<FileRange>) -> Self {
        Needs::of(sides, file).limits(range)
    }
    /// The bytes of the file that are shown: ascending spans, from and to.
    pub fn spans(&self) -> &[(u64, u64)] {
        &self.spans
    }
}

#[allow(clippy::too_many_lines, reason = "it lists every change that does not matter")]
fn replay(timeline: &Timeline, file: FileId) -> Seen {
    let mut model = Model::new(timeline.header().geometry);
    let mut seen = Seen::default();
    let recording = timeline.recording();
    for at in 0..recording.len() {
        let (mut moved, mut mapped, mut asked) = (Vec::new(), false, Vec::new());
        for delta in recording.deltas(at) {
            if model.apply(delta).is_err() {
                return seen;
            }
            match delta.kind {
                DeltaKind::FolioPlace => {
                    let geometry = model.geometry();
                    let place = Place::unpack(delta.new).filter(|place| place.file == file);
                    if let Some(place) = place {
                        let start = geometry.page_pos(place.index).get();
                        seen.touch(start, start + geometry.folio_size(place.order).get());
                    }
                }
                DeltaKind::BioLen => {
                    let found = model.bios().find(|(id, _)| *id == delta.object);
                    let mine = |bio: &BioRecord| bio.head().direct && bio.head().file == file;
                    if let Some((_, bio)) = found.filter(|(_, bio)| mine(bio)) {
                        let start = bio.pos().get();
                        seen.touch(start, start.saturating_add(bio.len().get()));
                    }
                }
                DeltaKind::FileSize if delta.object == file.get() => {
                    seen.size = seen.size.max(delta.new);
                }
                DeltaKind::ExtentLen | DeltaKind::ExtentAt if delta.object == file.get() => {
                    mapped = true;
                    seen.extents_move |= delta.old != 0;
                }
                DeltaKind::CowLen | DeltaKind::CowAt | DeltaKind::SharedLen => {
                    seen.extents_move |= delta.object == file.get();
                }
                DeltaKind::BioHead | DeltaKind::BioState => moved.push(delta.object),
                DeltaKind::RequestHead | DeltaKind::RequestLen => asked.push(delta.object),
                DeltaKind::FileSize
                | DeltaKind::FileDiskSize
                | DeltaKind::ExtentLen
                | DeltaKind::ExtentAt
                | DeltaKind::FolioPfn
                | DeltaKind::FolioFlags
                | DeltaKind::FolioUptodate
                | DeltaKind::FolioDirty
                | DeltaKind::FolioAsked
                | DeltaKind::FolioReadPending
                | DeltaKind::FolioWritePending
                | DeltaKind::BioAddr
                | DeltaKind::BioPos
                | DeltaKind::BioIoSize
                | DeltaKind::BioSegAt
                | DeltaKind::BioSegLen
                | DeltaKind::BioEnd
                | DeltaKind::BioCut
                | DeltaKind::ArrayShape
                | DeltaKind::MemberRead
                | DeltaKind::MemberWritten
                | DeltaKind::RowDecision
                | DeltaKind::MemberState
                | DeltaKind::RowCosts
                | DeltaKind::RowHeld
                | DeltaKind::StripeParity
                | DeltaKind::RowUnfit
                | DeltaKind::BlockDamaged
                | DeltaKind::MemberFilled
                | DeltaKind::OpHead
                | DeltaKind::OpPos
                | DeltaKind::OpLen
                | DeltaKind::OpRet
                | DeltaKind::Counter
                | DeltaKind::FolioWaste
                | DeltaKind::FileOpen
                | DeltaKind::RequestAddr
                | DeltaKind::RequestState
                | DeltaKind::BioRequest
                | DeltaKind::IoLock
                | DeltaKind::InvalidateLock
                | DeltaKind::BufferLocked
                | DeltaKind::BufferMapped
                | DeltaKind::BufferNew
                | DeltaKind::BufferDelay
                | DeltaKind::BufferUnwritten
                | DeltaKind::BufferBoundary
                | DeltaKind::BufferAsyncRead
                | DeltaKind::BufferAsyncWrite
                | DeltaKind::BufferAddr
                | DeltaKind::FileDriver
                | DeltaKind::Gauge
                | DeltaKind::Shadow
                | DeltaKind::FileDirect
                | DeltaKind::ZonePointer => {}
            }
        }
        let step = recording.step(at);
        if step.rule == Rule::BioRemapped {
            seen.partition = step.args[1].saturating_sub(step.args[2]);
        }
        Arc::make_mut(&mut seen.course).step(&model, recording, at, file);
        if mapped {
            let placed = extents(&model, file)
                .into_iter()
                .filter_map(|extent| Some((extent.start, extent.end, extent.addr?)));
            for place in placed {
                if let Err(at) = seen.placed.binary_search(&place) {
                    seen.placed.insert(at, place);
                }
            }
        }
        if seen.request_rows < MAX_BIO_ROWS
            && asked.iter().any(|id| crowds_requests(&model, *id, seen.request_rows))
        {
            let all = requests(&model, file);
            let spans: Vec<_> = all.iter().map(|request| vec![request.span()]).collect();
            let rows = pack_spans(&spans).into_iter().max().map_or(0, |row| row + 1);
            seen.request_rows = seen.request_rows.max(rows.min(MAX_BIO_ROWS));
        }
        if seen.bio_rows < MAX_BIO_ROWS && moved.iter().any(|id| crowds_bios(&model, *id)) {
            let rows = pack(&bios(&model, file)).into_iter().max().map_or(1, |row| row + 1);
            seen.bio_rows = seen.bio_rows.max(rows.min(MAX_BIO_ROWS));
        }
    }
    Arc::make_mut(&mut seen.course).finish();
    let array = model.array();
    if let Some(shape) = array.shape() {
        seen.members = usize::from(shape.members);
        seen.stripe = shape.data_of_stripe().get();
        seen.whole = whole_stripes(array);
        seen.transfers = most_transfers(array);
        for (_, at, ..) in array.blocks() {
            seen.stripes.insert(shape.stripe_of(at));
        }
    }
    seen.tally = model.tallies(file).values().map(|tally| tally.written).max().unwrap_or(0);
    seen.extents = extents(&model, file).iter().map(|extent| (extent.start, extent.end)).collect();
    seen
}

/// The spans of the file: all of it, or what is touched where that is far less.
fn spans(seen: &[Seen], grain: u64, block: u64) -> Vec<Span> {
    let of =
        |seen: &'_ Seen| -> Vec<Span> { seen.touched.iter().map(|(at, end)| (at, *end)).collect() };
    let mut touched: Vec<Span> = seen.iter().flat_map(of).collect();
    let size = seen.iter().map(|seen| seen.size).max().unwrap_or(0);
    let end = touched.iter().map(|span| span.1).max().unwrap_or(0).max(size);
    let whole = (0, end.min(MAX_POS).div_ceil(grain).max(1) * grain);
    if whole.1 <= SHORT * block || touched.is_empty() {
        return vec![whole];
    }
    sort(&mut touched);
    let merged = merge(touched, whole.1 / 32);
    let shown: u64 = merged.iter().map(|(start, end)| end - start).sum();
    if shown.saturating_mul(4) > whole.1.saturating_mul(3) { vec![whole] } else { merged }
}

/// Joins ascending spans that are no further apart than `gap`, and then the nearest ones until few
/// are left.
fn merge(spans: Vec<Span>, gap: u64) -> Vec<Span> {
    let mut merged: Vec<Span> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.0 <= last.1.saturating_add(gap) => last.1 = last.1.max(span.1),
            Some(_) | None => merged.push(span),
        }
    }
    while merged.len() > MAX_SPANS {
        let between = |at: &usize| merged[at + 1].0 - merged[*at].1;
        let at = (0..merged.len() - 1).min_by_key(between).expect("two at least");
        merged[at].1 = merged[at + 1].1;
        merged.remove(at + 1);
    }
    merged
}

/// The spans without what is more than can be shown.
fn cut(spans: Vec<Span>, block: u64) -> Vec<Span> {
    let mut room = MAX_BLOCKS.saturating_mul(block);
    let mut kept = Vec::new();
    for (start, end) in spans {
        let end = end.min(start.saturating_add(room));
        room -= end - start;
        if start < end {
            kept.push((start, end));
        }
    }
    kept
}

/// The device bytes behind the spans.
fn sectors(seen: &[Seen], spans: &[Span], block: u64) -> Vec<Span> {
    let mut found = Vec::new();
    for (start, end, addr) in seen.iter().flat_map(|seen| &seen.placed) {
        for span in spans {
            let (from, to) = ((*start).max(span.0), (*end).min(span.1));
            if from < to {
                found.push((addr.saturating_add(from - start), addr.saturating_add(to - start)));
            }
        }
    }
    sort(&mut found);
    let all: u64 = found.iter().map(|(start, end)| end - start).sum();
    merge(found, (all / 8).max(block))
}

/// Whether a bio that just moved meets another in the file, so that rows must be counted.
fn crowds_bios(model: &Model, id: u32) -> bool {
    // Where its memory is, which need not be where its bytes go.
    let start = |bio: &BioRecord| {
        let first = bio.segs().next();
        let folio = first.and_then(|seg| Some((model.folio(seg.folio)?, seg.offset)));
        folio.map_or(bio.pos().get(), |(folio, offset)| {
            model.geometry().page_pos(folio.place().index).get().saturating_add(offset.get())
        })
    };
    let span = |bio: &BioRecord| {
        let start = start(bio);
        (start, start.saturating_add(bio.len().get()))
    };
    let Some(mine) = model.bio(id).map(span) else { return false };
    let others = model.bios().filter(|(other, _)| *other != id).map(|(_, bio)| span(bio));
    others.into_iter().any(|other| other.0 < mine.1 && mine.0 < other.1)
}

/// The same of a request on the device; the first one counts, too.
fn crowds_requests(model: &Model, id: u32, rows: usize) -> bool {
    let span =
        |one: &RequestRecord| (one.addr().get(), one.addr().get().saturating_add(one.len().get()));
    let all = || model.requests();
    let Some((_, mine)) = all().find(|(other, _)| *other == id) else { return false };
    let mine = span(mine);
    let mut others = all().filter(|(other, _)| *other != id).map(|(_, one)| span(one));
    rows == 0 || others.any(|other| other.0 < mine.1 && mine.0 < other.1)
}
