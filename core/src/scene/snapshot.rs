//! The state of one run at one step, as the lanes show it.
//!
//! It is taken from the model of the trace and cut to the spans that are shown; two of them can be
//! compared lane by lane, which tells what a step changed and where two runs agree.

use super::axis::Span;
use super::cells::{Cargo, Cell};
use crate::block::bio::{BioEnd, BioHead, BioOp, BioState};
use crate::block::request::RequestState;
use crate::cache::folio::FolioFlags;
use crate::sort::{sort, sort_by_key};
use crate::trace::model::{
    BioRecord, ExtentState, FileState, FolioState, Model, OpRecord, RequestRecord, Tallies,
};
use crate::trace::rule::Rule;
use crate::trace::step::Step;
use crate::units::{Bytes, DevAddr, FileId, FolioId, MAX_POS, Offset};

/// Cells of one span.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct CellSpan {
    /// Number of the first block.
    pub(super) first: u64,
    pub(super) cells: Vec<Cell>,
}

/// A cached folio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FolioView {
    pub(super) id: u32,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) order: u8,
    pub(super) flags: FolioFlags,
}

/// What the levels of use are called, from the one above nothing on.
pub(super) const USES: [&str; 3] = ["used once", "active", "active and used"];

impl FolioView {
    /// How much it was used: 0 = not since somebody looked, else a place in [`USES`] and one.
    pub(super) const fn uses(&self) -> u8 {
        let active = if self.flags.has(FolioFlags::ACTIVE) { 2 } else { 0 };
        active + self.flags.has(FolioFlags::REFERENCED) as u8
    }
}

/// Folios and blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct CacheView {
    pub(super) block: u64,
    pub(super) spans: Vec<CellSpan>,
    /// How many blocks are in each state.
    counts: [u64; Cell::ALL.len()],
    pub(super) folios: Vec<FolioView>,
}

/// An extent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ExtentView {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) kind: ExtentState,
    /// Device address of its first byte, where it has one.
    pub(super) addr: Option<u64>,
}

/// A piece of a bio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PieceView {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) addr: u64,
    pub(super) cargo: Cargo,
}

/// A bio.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BioView {
    pub(super) id: u32,
    pub(super) head: BioHead,
    pub(super) pieces: Vec<PieceView>,
    pub(super) addr: u64,
    pub(super) bytes: u64,
    pub(super) state: BioState,
    pub(super) end: BioEnd,
    /// Where in the file its memory is, and where its bytes belong, if that is elsewhere.
    pub(super) astray: Option<(u64, u64)>,
}

impl BioView {
    /// Bytes that nobody asked for.
    pub(super) fn waste(&self) -> u64 {
        let wasted = self.pieces.iter().filter(|piece| piece.cargo == Cargo::Waste);
        wasted.map(|piece| piece.end - piece.start).sum()
    }
}

/// A request of the block layer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RequestView {
    pub(super) id: u32,
    pub(super) head: BioHead,
    pub(super) addr: u64,
    pub(super) bytes: u64,
    pub(super) state: RequestState,
    /// Its bios on the device, ascending.
    pub(super) bios: Vec<Span>,
}

impl RequestView {
    /// Its bytes on the device.
    pub(super) const fn span(&self) -> Span {
        (self.addr, self.addr.saturating_add(self.bytes))
    }
}

/// State of one run at one step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Snapshot {
    pub(super) size: u64,
    pub(super) disk_size: u64,
    pub(super) op: Option<(u32, OpRecord)>,
    pub(super) cache: CacheView,
    pub(super) extents: Vec<ExtentView>,
    /// Where new copies of shared blocks go.
    pub(super) cow: Vec<ExtentView>,
    /// Stretches that another file has too.
    pub(super) shared: Vec<(u64, u64)>,
    pub(super) bios: Vec<BioView>,
    pub(super) requests: Vec<RequestView>,
    pub(super) tallies: Tallies,
}

impl Snapshot {
    /// What the spans of a file show; `step` is the step that led here.
    pub(super) fn of(model: &Model, step: Option<&Step>, file: FileId, spans: &[Span]) -> Self {
        let block = model.geometry().block_size().get();
        let state = model.file(file);
        let mut cache = CacheView {
            block,
            spans: empty(spans, block),
            counts: [0; Cell::ALL.len()],
            folios: Vec::new(),
        };
        for (id, folio) in model.folios().filter(|(_, folio)| folio.place().file == file) {
            let start = model.geometry().page_pos(folio.place().index).get();
            let end = start + model.geometry().folio_size(folio.place().order).get();
            if spans.iter().any(|span| start < span.1 && span.0 < end) {
                let (order, flags) = (folio.place().order.get(), folio.flags());
                cache.folios.push(FolioView { id: id.get(), start, end, order, flags });
                cache.fill(start, folio);
            }
        }
        sort_by_key(&mut cache.folios, |folio| folio.start);
        if let Some((start, end)) = step.and_then(zeroed) {
            cache.mark(start, end, |cell| match cell {
                Cell::Clean | Cell::NotUptodate | Cell::Zeroed => Cell::Zeroed,
                Cell::NotCached
                | Cell::Reading
                | Cell::Dirty
                | Cell::InFlight
                | Cell::Again
                | Cell::Wasted
                | Cell::Failed => cell,
            });
        }
        let bios = bios(model, file);
        for bio in &bios {
            cache.carry(bio, model);
        }
        for cell in cache.spans.iter().flat_map(|span| &span.cells) {
            cache.counts[*cell as usize] += 1;
        }
        Self {
            size: state.map_or(0, |file| file.size().get()),
            disk_size: state.map_or(0, |file| file.disk_size().get()),
            op: running(model, file),
            cache,
            extents: extents(model, file),
            cow: model.file(file).into_iter().flat_map(|of| views(of.cow(), block)).collect(),
            shared: model.file(file).into_iter().flat_map(|of| shared(of, block)).collect(),
            bios,
            requests: requests(model, file),
            // Of the state before a step nobody asks for them.
            tallies: step.map_or_else(Tallies::default, |_| model.tallies(file).clone()),
        }
    }
}

fn empty(spans: &[Span], block: u64) -> Vec<CellSpan> {
    let blank = |(start, end): &Span| CellSpan {
        first: start / block,
        cells: vec![Cell::NotCached; (end.div_ceil(block) - start / block) as usize],
    };
    spans.iter().map(blank).collect()
}

impl CacheView {
    /// The state of a block, if it is shown.
    pub(super) fn cell(&self, block: u64) -> Option<Cell> {
        self.spans.iter().find_map(|span| {
            span.cells.get(usize::try_from(block.checked_sub(span.first)?).ok()?).copied()
        })
    }
    /// How many of the shown blocks are in this state.
    pub(super) const fn count(&self, cell: Cell) -> u64 {
        self.counts[cell as usize]
    }
    fn fill(&mut self, start: u64, folio: &FolioState) {
        // A division for each folio is what one would see here.
        let base = start >> self.block.trailing_zeros();
        for span in &mut self.spans {
            let from = span.first.max(base);
            let to = (span.first + span.cells.len() as u64).min(base + u64::from(folio.blocks()));
            for at in from..to {
                span.cells[(at - span.first) as usize] = still(folio, (at - base) as u32);
            }
        }
    }
    fn mark(&mut self, start: u64, end: u64, change: impl Fn(Cell) -> Cell) {
        let (first, last) = (start / self.block, end.div_ceil(self.block));
        for span in &mut self.spans {
            let to = last.min(span.first + span.cells.len() as u64);
            for at in first.max(span.first)..to {
                let cell = &mut span.cells[(at - span.first) as usize];
                *cell = change(*cell);
            }
        }
    }
    /// The blocks of a bio are on their way.
    fn carry(&mut self, bio: &BioView, model: &Model) {
        for piece in &bio.pieces {
            let (state, write) = match piece.cargo {
                Cargo::Asked => (Cell::InFlight, true),
                Cargo::Waste => (Cell::Wasted, true),
                Cargo::Read => (Cell::Reading, false),
                Cargo::Failed => (Cell::Failed, false),
                Cargo::Done => continue,
            };
            self.mark(piece.start, piece.end, |_| state);
            if !write {
                continue;
            }
            let again = self.asked_again(piece, model);
            for at in again {
                self.mark(at * self.block, (at + 1) * self.block, |_| Cell::Again);
            }
        }
    }
    /// The blocks of a piece that the application changed after they were picked for writing:
    /// picking a folio clears its dirty mark, a later change sets it again.
    fn asked_again(&self, piece: &PieceView, model: &Model) -> Vec<u64> {
        let first = self.folios.partition_point(|folio| folio.end <= piece.start);
        let within = self.folios[first..].iter().take_while(|folio| folio.start < piece.end);
        let mut again = Vec::new();
        // Nearly always there is none.
        for view in within.filter(|view| view.flags.has(FolioFlags::DIRTY)) {
            let Some(folio) = model.folio(FolioId::new(view.id)) else { continue };
            let (from, to) = (view.start.max(piece.start), view.end.min(piece.end));
            let blocks = from / self.block..to.div_ceil(self.block);
            let base = view.start / self.block;
            again.extend(blocks.filter(|at| folio.is_asked((at - base) as u32)));
        }
        again
    }
}

/// The state of a block that no bio carries.
fn still(folio: &FolioState, at: u32) -> Cell {
    if folio.is_dirty(at) || folio.is_asked(at) {
        Cell::Dirty
    } else if folio.is_uptodate(at) {
        Cell::Clean
    } else {
        Cell::NotUptodate
    }
}

/// The bios of a file.
pub(super) fn bios(model: &Model, file: FileId) -> Vec<BioView> {
    model.bios().filter_map(|(id, bio)| bio_view(model, file, id, bio)).collect()
}

/// The requests that were made for a file.
pub(super) fn requests(model: &Model, file: FileId) -> Vec<RequestView> {
    let start = |bio: &BioRecord| bio.addr().get();
    let span = |bio: &BioRecord| (start(bio), start(bio).saturating_add(bio.len().get()));
    let mine = |(_, bio): (u32, &BioRecord)| Some((bio.request()?.get(), span(bio)));
    // By request, ascending: its bios on the device.
    let mut bios: Vec<(u32, Span)> = model.bios().filter_map(mine).collect();
    sort(&mut bios);
    let of = |id: u32| {
        let (from, to) =
            (bios.partition_point(|one| one.0 < id), bios.partition_point(|one| one.0 <= id));
        bios[from..to].iter().map(|(_, span)| *span).collect()
    };
    let view = |(id, request): (u32, &RequestRecord)| RequestView {
        id,
        head: request.head(),
        addr: request.addr().get(),
        bytes: request.len().get(),
        state: request.state(),
        bios: of(id),
    };
    model.requests().filter(|(_, request)| request.head().file == file).map(view).collect()
}

/// The bytes that a step zeroed in the cache.
fn zeroed(step: &Step) -> Option<(u64, u64)> {
    let zeroes =
        [Rule::RunZeroed, Rule::ReadZeroed, Rule::Zeroed, Rule::TailCut].contains(&step.rule);
    zeroes.then_some((step.args[0], step.args[0].saturating_add(step.args[1])))
}

fn running(model: &Model, file: FileId) -> Option<(u32, OpRecord)> {
    let all = || model.ops().filter(|(_, op)| op.file() == file);
    let found = all().filter(|(_, op)| op.result().is_none()).last().or_else(|| all().last());
    found.map(|(id, op)| (id, *op))
}

pub(super) fn extents(model: &Model, file: FileId) -> Vec<ExtentView> {
    let block = model.geometry().block_size().get();
    model.file(file).into_iter().flat_map(|of| views(of.extents(), block)).collect()
}

fn views(
    extents: impl Iterator<Item = (u32, Bytes, ExtentState, DevAddr)>,
    block: u64,
) -> impl Iterator<Item = ExtentView> {
    extents.map(move |(at, len, kind, addr)| {
        let start = u64::from(at) * block;
        let placed = matches!(kind, ExtentState::Mapped | ExtentState::Unwritten);
        ExtentView {
            start,
            end: start.saturating_add(len.get()),
            kind,
            addr: placed.then_some(addr.get()),
        }
    })
}

fn shared(file: &FileState, block: u64) -> impl Iterator<Item = (u64, u64)> {
    file.shared().map(move |(at, len)| {
        let start = u64::from(at) * block;
        (start, start.saturating_add(len.get()))
    })
}

/// A bio of this file; its pieces name whole stretches of one cargo.
pub(super) fn bio_view(model: &Model, file: FileId, id: u32, bio: &BioRecord) -> Option<BioView> {
    if bio.head().file != file {
        return None;
    }
    let geometry = model.geometry();
    let block = geometry.block_size().get();
    let mut pieces: Vec<PieceView> = Vec::new();
    let mut addr = bio.addr().get();
    let mut pos = bio.pos().get();
    let write = cargo(bio, true) == Cargo::Waste;
    if bio.head().direct {
        let end = pos.saturating_add(bio.len().get());
        pieces.push(PieceView { start: pos, end, addr, cargo: cargo(bio, false) });
    }
    for seg in bio.segs() {
        let folio = model.folio(seg.folio);
        let (offset, len) = (seg.offset.get(), seg.len.get());
        let start = folio.map_or(pos, |folio| {
            geometry.page_pos(folio.place().index).get().saturating_add(offset)
        });
        pos = start.saturating_add(len);
        // Only a folio can tell one block from another, only of what it still holds, and only a
        // write that is not done asks.
        let holds = |folio: &&FolioState| {
            write && offset.saturating_add(len) <= u64::from(folio.blocks()).saturating_mul(block)
        };
        let folio = folio.filter(holds);
        let end = len;
        let mut done = 0;
        while done < end {
            let at = geometry.block_floor(Offset::new(offset + done)).get();
            let step = if folio.is_some() { block - (offset + done) % block } else { end };
            let step = step.min(end - done);
            let waste = folio.is_some_and(|folio| folio.is_waste(at as u32));
            let (from, on) = (start.saturating_add(done), addr.saturating_add(done));
            let piece = PieceView {
                start: from,
                end: from.saturating_add(step),
                addr: on,
                cargo: cargo(bio, waste),
            };
            join(&mut pieces, piece);
            done += step;
        }
        addr = addr.saturating_add(len);
    }
    let (first, belongs) = (pieces.first().map(|piece| piece.start), bio.pos().get());
    let astray = first.filter(|first| *first != belongs && belongs <= MAX_POS && !bio.head().meta);
    Some(BioView {
        astray: astray.map(|first| (first, belongs)),
        id,
        head: bio.head(),
        pieces,
        addr: bio.addr().get(),
        bytes: bio.len().get(),
        state: bio.state(),
        end: bio.end(),
    })
}

fn cargo(bio: &BioRecord, waste: bool) -> Cargo {
    match (bio.state(), bio.head().op) {
        (BioState::Done, _) => Cargo::Done,
        (BioState::Failed, _) => Cargo::Failed,
        (BioState::Building | BioState::InFlight, BioOp::Read) => Cargo::Read,
        (BioState::Building | BioState::InFlight, BioOp::Write) if waste => Cargo::Waste,
        (BioState::Building | BioState::InFlight, BioOp::Write) => Cargo::Asked,
    }
}

/// Adds a piece, to the last one where it follows on.
fn join(pieces: &mut Vec<PieceView>, piece: PieceView) {
    let follows = |last: &&mut PieceView| {
        let next = last.addr.saturating_add(last.end - last.start);
        last.end == piece.start && last.cargo == piece.cargo && next == piece.addr
    };
    match pieces.last_mut().filter(follows) {
        Some(last) => last.end = piece.end,
        None => pieces.push(piece),
    }
}
