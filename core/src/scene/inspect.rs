//! What is known of a thing on the picture: its name, its state, the words of it that the trace
//! holds, and which step made or changed it.

use super::cells::Cell;
use super::fixed::{grouped, plural, position, size};
use super::inspect_course::part;
use super::lanes::bios::words as bio_words;
use super::lanes::left::stretches;
use super::lanes::requests::words as request_words;
use super::layout::left;
use super::limits::Limits;
use super::members::{ArrayView, Part};
use super::snapshot::{BioView, ExtentView, Snapshot, bios, requests};
use super::spots::{Key, Spot, Thing};
use super::view::{Lane, View};
use super::{Scene, Side};
use crate::trace::delta::{ABSENT, Delta, DeltaKind};
use crate::trace::model::{BioRecord, FolioState, Model};
use crate::trace::timeline::{Recording, Timeline};
use crate::units::{FileId, FolioId, SECTOR_SIZE, Sector};

/// A step that has to do with a thing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cause {
    /// What it did: `made by`, `changed by`.
    pub what: &'static str,
    /// How many steps have been applied once it was.
    pub position: usize,
    /// What it says.
    pub sentence: String,
    /// The function of the kernel that it stands for.
    pub function: &'static str,
}

/// What is known of a thing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Details {
    /// Its name, such as `block 5`.
    pub name: String,
    /// Its state in a few words.
    pub state: String,
    /// The rest: what, and its value.
    pub rows: Vec<(&'static str, String)>,
    /// The steps that made it and that changed it last, where they were asked for.
    pub causes: Vec<Cause>,
}

/// How closely to look at a thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// Its state only.
    State,
    /// Also for the steps that made it, which reads the trace backwards from here.
    Causes,
}

impl Details {
    pub(super) fn new(name: String, state: impl Into<String>) -> Self {
        Self { name, state: state.into(), rows: Vec::new(), causes: Vec::new() }
    }
    pub(super) fn row(&mut self, what: &'static str, value: impl Into<String>) -> &mut Self {
        self.rows.push((what, value.into()));
        self
    }
    /// The last step with such a change.
    fn cause(
        &mut self,
        (timeline, depth): At<'_>,
        what: &'static str,
        is: impl Fn(&Delta) -> bool,
    ) -> &mut Self {
        if depth == Depth::State {
            return self;
        }
        let recording = timeline.recording();
        let found = (0..timeline.position()).rev().find(|at| recording.deltas(*at).iter().any(&is));
        self.causes.extend(found.map(|at| cause(recording, at + 1, what)));
        self
    }
}

/// The step that leads to a position.
pub(super) fn cause(recording: &Recording, position: usize, what: &'static str) -> Cause {
    let step = recording.step(position - 1);
    let sentence = step.rule.sentence(step.args);
    Cause { what, position, sentence, function: step.rule.function() }
}

/// The run, and how closely to look.
type At<'a> = (&'a Timeline, Depth);

/// What is known of a thing in this run, at the step shown; `bytes` are those of the file that its
/// box covers. None where there is no such thing at this step.
pub fn inspect(
    side: &Side<'_>,
    view: &View,
    key: Key,
    bytes: (u64, u64),
    depth: Depth,
) -> Option<Details> {
    let file = view.file;
    let (at, model) = ((side.timeline, depth), side.timeline.model());
    match key.thing {
        Thing::Op => op(at, file),
        Thing::End(_) => end(at, file),
        Thing::Folio(start) => folio(at, file, start),
        Thing::Blocks(_) if key.lane == Lane::Tally => tally(model, file, bytes),
        Thing::Blocks(_) => Some(blocks(at, file, bytes)),
        Thing::Extent(start) | Thing::NewCopy(start) => {
            extent(at, file, start, matches!(key.thing, Thing::NewCopy(_)))
        }
        Thing::Hole(_) => {
            let mut details =
                Details::new("hole".to_owned(), "reads as zeros; nothing lies behind");
            details.row("bytes", range(bytes));
            Some(details)
        }
        Thing::Bio(id) => bio(at, file, id),
        Thing::Request(id) => request(at, file, id),
        Thing::Chunk { stripe, member } => chunk(side, view, (stripe, member), depth),
        Thing::Left(_) => remount(side.timeline, view, key.run, bytes),
        Thing::Part(n) => part(side, view, (key, n), bytes, depth),
    }
}

/// `5 to 20`, and how many bytes that are.
pub(super) fn range((start, end): (u64, u64)) -> String {
    format!("{} to {} ({})", position(start), position(end), size(end.saturating_sub(start)))
}

pub(super) fn sectors(addr: u64, len: u64) -> String {
    let (first, count) = (addr / SECTOR_SIZE, len / SECTOR_SIZE);
    format!("{} from {}", plural(count, "sector"), grouped(first))
}

fn op(at: At<'_>, file: FileId) -> Option<Details> {
    let model = at.0.model();
    let mine = || model.ops().filter(|(_, op)| op.file() == file);
    let running = mine().filter(|(_, op)| op.result().is_none()).last();
    let (id, op) = running.or_else(|| mine().last())?;
    let state = op.result().map_or_else(|| "runs".to_owned(), |end| format!("returned {end}"));
    let mut details = Details::new(format!("op {}, {}", id + 1, op.kind().name()), state);
    if !op.is_empty() {
        let start = op.pos().get();
        details.row("bytes", range((start, start.saturating_add(op.len().get()))));
    }
    details.row("task", at.0.header().task_name(op.task()).unwrap_or_default());
    details.cause(at, "begun by", |delta| {
        delta.kind == DeltaKind::OpHead && delta.object == id && delta.new != 0
    });
    Some(details)
}

fn end(at: At<'_>, file: FileId) -> Option<Details> {
    let state = at.0.model().file(file)?;
    let (memory, disk) = (state.size().get(), state.disk_size().get());
    let mut details = Details::new("end of file".to_owned(), size(memory));
    details.row("in memory", format!("{} bytes", grouped(memory)));
    details.row("recorded on the device", format!("{} bytes", grouped(disk)));
    let moved = |kind| move |delta: &Delta| delta.kind == kind && delta.object == file.get();
    details.cause(at, "moved by", moved(DeltaKind::FileSize));
    details.cause(at, "recorded by", moved(DeltaKind::FileDiskSize));
    Some(details)
}

/// The folio that holds a byte.
fn folio_at(model: &Model, file: FileId, pos: u64) -> Option<(FolioId, &FolioState, u64)> {
    let geometry = model.geometry();
    let mut all = model.folios().filter(|(_, folio)| folio.place().file == file);
    all.find_map(|(id, folio)| {
        let start = geometry.page_pos(folio.place().index).get();
        let inside = start <= pos && pos < start + geometry.folio_size(folio.place().order).get();
        inside.then_some((id, folio, start))
    })
}

fn folio(at: At<'_>, file: FileId, pos: u64) -> Option<Details> {
    let model = at.0.model();
    let (id, folio, start) = folio_at(model, file, pos)?;
    let geometry = model.geometry();
    let place = folio.place();
    let all = u64::from(folio.blocks());
    let count = |is: &dyn Fn(u32) -> bool| (0..folio.blocks()).filter(|at| is(*at)).count() as u64;
    let flags = folio.flags().to_string();
    let mut details = Details::new(format!("folio of order {}", place.order.get()), flags);
    let end = start + geometry.folio_size(place.order).get();
    details.row("bytes", range((start, end)));
    details.row("page frame", grouped(folio.pfn().get()));
    let uptodate = count(&|at| folio.is_uptodate(at));
    details.row("uptodate", format!("{uptodate} of {}", plural(all, "block")));
    details.row("dirty", plural(count(&|at| folio.is_dirty(at)), "block"));
    details.row("changed by the app", plural(count(&|at| folio.is_asked(at)), "block"));
    let waste = count(&|at| folio.is_waste(at));
    if waste > 0 {
        details.row("on their way though clean", plural(waste, "block"));
    }
    details.row("bytes still to be read", grouped(folio.read_pending().get()));
    details.row("bytes still to be written", grouped(folio.write_pending().get()));
    let mine = |delta: &Delta| delta.object == id.get();
    details.cause(at, "made by", |delta| {
        mine(delta) && delta.kind == DeltaKind::FolioPlace && delta.old == ABSENT
    });
    details.cause(at, "changed by", |delta| mine(delta) && of_folio(delta.kind));
    Some(details)
}

const fn of_folio(kind: DeltaKind) -> bool {
    matches!(
        kind,
        DeltaKind::FolioPlace
            | DeltaKind::FolioFlags
            | DeltaKind::FolioUptodate
            | DeltaKind::FolioDirty
            | DeltaKind::FolioAsked
            | DeltaKind::FolioReadPending
            | DeltaKind::FolioWritePending
    )
}

fn named(first: u64, last: u64) -> String {
    if first == last { format!("block {first}") } else { format!("blocks {first} to {last}") }
}

/// Blocks that are drawn as one: how many of each state, and of a single one its bits.
fn blocks(at: At<'_>, file: FileId, bytes: (u64, u64)) -> Details {
    let model = at.0.model();
    let block = model.geometry().block_size().get();
    let (first, last) = (bytes.0 / block, bytes.1.div_ceil(block).max(bytes.0 / block + 1) - 1);
    let now = Snapshot::of(model, at.0.current(), file, &[bytes]);
    let counts = Cell::ALL.into_iter().rev().map(|cell| (cell, now.cache.count(cell)));
    let some: Vec<(Cell, u64)> = counts.filter(|(_, n)| *n > 0).collect();
    let state: Vec<String> = match some.as_slice() {
        [(cell, _)] => vec![cell.words().to_owned()],
        many => many.iter().map(|(cell, n)| format!("{} {}", grouped(*n), cell.words())).collect(),
    };
    let mut details = Details::new(named(first, last), state.join(", "));
    details.row("bytes", range((first * block, (last + 1) * block)));
    if first != last {
        return details;
    }
    let pos = first * block;
    if let Some((id, folio, start)) = folio_at(model, file, pos) {
        let nth = ((pos - start) / block) as u32;
        let place =
            format!("block {nth} of {}, order {}", folio.blocks(), folio.place().order.get());
        details.row("in its folio", place);
        let bits = [
            ("uptodate", folio.is_uptodate(nth)),
            ("dirty", folio.is_dirty(nth)),
            ("changed by the app", folio.is_asked(nth)),
            ("on its way though clean", folio.is_waste(nth)),
        ];
        let set: Vec<&str> = bits.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
        details.row("bits", if set.is_empty() { "none".to_owned() } else { set.join(", ") });
        let (word, bit) = (nth / 64, 1u64 << (nth % 64));
        let plain = !folio.flags().has(crate::cache::folio::FolioFlags::BLOCK_STATE);
        details.cause(at, "changed by", |delta| {
            let bits = matches!(
                delta.kind,
                DeltaKind::FolioUptodate | DeltaKind::FolioDirty | DeltaKind::FolioAsked
            );
            let mine = delta.object == id.get();
            let moved = (delta.old ^ delta.new) & bit != 0 && delta.aux == word;
            mine && ((bits && moved)
                || (plain && delta.kind == DeltaKind::FolioFlags)
                || delta.kind == DeltaKind::FolioPlace)
        });
    }
    let lies = |extent: &&ExtentView| extent.start <= pos && pos < extent.end;
    if let Some(extent) = now.extents.iter().find(lies) {
        let place = extent.addr.map_or_else(String::new, |addr| {
            format!(", sector {}", grouped(addr.saturating_add(pos - extent.start) / SECTOR_SIZE))
        });
        details.row("behind it", format!("{}{place}", extent.kind.name()));
    }
    if let Some(tally) = now.tallies.get(&first) {
        details.row("written", plural(tally.written.into(), "time"));
    }
    details
}

fn tally(model: &Model, file: FileId, bytes: (u64, u64)) -> Option<Details> {
    let block = model.geometry().block_size().get();
    let (first, last) = (bytes.0 / block, bytes.1.div_ceil(block).max(bytes.0 / block + 1) - 1);
    let all = || model.tallies(file).range(first..=last).map(|(_, tally)| *tally);
    let most = all().map(|tally| tally.written).max()?;
    let sum = |of: fn(&crate::trace::model::Tally) -> u32| {
        all().map(|tally| u64::from(of(&tally))).sum::<u64>()
    };
    let mut details =
        Details::new(named(first, last), format!("written {}", plural(most.into(), "time")));
    details.row("block writes", grouped(sum(|tally| tally.written)));
    details.row("of clean blocks", grouped(sum(|tally| tally.wasted)));
    Some(details)
}

fn extent(at: At<'_>, file: FileId, start: u64, copy: bool) -> Option<Details> {
    let model = at.0.model();
    let block = model.geometry().block_size().get();
    let now = Snapshot::of(model, None, file, &[]);
    let all = if copy { &now.cow } else { &now.extents };
    let extent = all.iter().find(|extent| extent.start <= start && start < extent.end)?;
    let name = if copy { "new copy" } else { "extent" };
    let mut details = Details::new(name.to_owned(), extent.kind.name());
    details.row("bytes", range((extent.start, extent.end)));
    if let Some(addr) = extent.addr {
        details.row("on the device", sectors(addr, extent.end - extent.start));
    }
    let shared = now.shared.iter().any(|(from, to)| extent.start < *to && *from < extent.end);
    if shared && !copy {
        details.row("shared", "another file has it, too");
    }
    let (len, place) = if copy {
        (DeltaKind::CowLen, DeltaKind::CowAt)
    } else {
        (DeltaKind::ExtentLen, DeltaKind::ExtentAt)
    };
    let first = (extent.start / block) as u32;
    details.cause(at, "made or changed by", |delta| {
        (delta.kind == len || delta.kind == place)
            && delta.object == file.get()
            && delta.aux == first
    });
    Some(details)
}

fn bio(at: At<'_>, file: FileId, id: u32) -> Option<Details> {
    let model = at.0.model();
    let record = model.bio(id)?;
    let view: BioView = bios(model, file).into_iter().find(|bio| bio.id == id)?;
    let block = model.geometry().block_size().get();
    let state = bio_words(&view, block).into_iter().next().unwrap_or_default();
    let mut details = Details::new(format!("bio {}", view.head.rwbs()), state);
    if let (Some(first), Some(last)) = (view.pieces.first(), view.pieces.last()) {
        details.row("bytes", range((first.start, last.end)));
    }
    details.row("on the device", sectors(view.addr, view.bytes));
    details.row("ended because", view.end.words());
    details.row("pieces of folios", grouped(record.segs().count() as u64));
    let waste = view.waste();
    if waste > 0 {
        details.row("bytes that nobody asked for", grouped(waste));
    }
    if let Some(request) = record.request() {
        details.row("in request", request.get().to_string());
    }
    let mine = |delta: &Delta| delta.object == id;
    details.cause(at, "made by", |delta| {
        mine(delta) && delta.kind == DeltaKind::BioHead && delta.old == 0
    });
    details.cause(at, "changed by", |delta| {
        let kinds = [DeltaKind::BioState, DeltaKind::BioEnd, DeltaKind::BioLen];
        mine(delta) && kinds.contains(&delta.kind)
    });
    Some(details)
}

fn request(at: At<'_>, file: FileId, id: u32) -> Option<Details> {
    let all = requests(at.0.model(), file);
    let view = all.iter().find(|request| request.id == id)?;
    let name = format!("request {}", view.head.rwbs());
    let mut details = Details::new(name, request_words(view));
    details.row("on the device", sectors(view.addr, view.bytes));
    details.row("bytes", size(view.bytes));
    let mine = |delta: &Delta| delta.object == id;
    details.cause(at, "made by", |delta| {
        mine(delta) && delta.kind == DeltaKind::RequestHead && delta.old == 0
    });
    details.cause(at, "changed by", |delta| {
        let kinds = [DeltaKind::RequestState, DeltaKind::RequestLen];
        mine(delta) && kinds.contains(&delta.kind)
    });
    Some(details)
}

fn chunk(
    side: &Side<'_>,
    view: &View,
    (stripe, member): (u64, u16),
    depth: Depth,
) -> Option<Details> {
    let timeline = side.timeline;
    let sides = [*side];
    let limits: &Limits = &view.limits_of(&sides);
    let array = ArrayView::of(timeline.model(), limits, 0)?;
    let shape = timeline.model().array().shape()?;
    let found = array.stripes.iter().find(|other| other.number == stripe)?;
    let chunk = found.chunks.get(usize::from(member))?;
    let part = match chunk.part {
        Part::Data => "data",
        Part::P => "parity P",
        Part::Q => "parity Q",
    };
    let disk = array.disks.get(usize::from(member)).copied();
    let state = disk.and_then(|disk| disk.words().into_iter().next());
    let mut details = Details::new(
        format!("stripe {stripe} on disk {member}"),
        state.map_or_else(|| part.to_owned(), |words| format!("{part}; the disk {words}")),
    );
    details.row("rows written", format!("{} of {}", chunk.written, array.rows));
    details.row("rows read", format!("{} of {}", chunk.read, array.rows));
    details.row("the stripe", found.words(array.rows));
    details.cause((timeline, depth), "written or read by", |delta| {
        let kinds = [DeltaKind::MemberWritten, DeltaKind::MemberRead];
        let row = Sector::new(u64::from(delta.aux) * 8);
        kinds.contains(&delta.kind)
            && delta.object == u32::from(member)
            && shape.stripe_of(row) == stripe
    });
    Some(details)
}

fn remount(timeline: &Timeline, view: &View, run: u8, bytes: (u64, u64)) -> Option<Details> {
    let fate = left(usize::from(run), timeline, view)?;
    let block = timeline.model().geometry().block_size().get();
    let all = stretches(&fate, block);
    let (start, end, found) =
        all.into_iter().find(|(start, end, _)| *start < bytes.1 && bytes.0 < *end)?;
    let mut details = Details::new("after a power cut".to_owned(), found.words());
    details.row("bytes", range((start, end)));
    Some(details)
}

/// The same thing in other lanes, and what it is part of there: what shares bytes of the file with
/// it.
pub fn related(
    side: &Side<'_>,
    view: &View,
    scene: &Scene,
    spots: &[Spot],
    of: &Spot,
) -> Vec<Spot> {
    let model = side.timeline.model();
    let pieces = |bio: &BioView| -> Vec<(u64, u64)> {
        bio.pieces.iter().map(|piece| (piece.start, piece.end)).collect()
    };
    let bios: Vec<(u32, Vec<(u64, u64)>)> =
        bios(model, view.file).iter().map(|bio| (bio.id, pieces(bio))).collect();
    let spans = |spot: &Spot| -> Vec<(u64, u64)> {
        match spot.key.thing {
            Thing::Bio(id) => {
                let mine = bios.iter().filter(|(other, _)| *other == id);
                mine.flat_map(|(_, spans)| spans).copied().collect()
            }
            Thing::Request(id) => {
                let mine = |bio: u32| {
                    let record = model.bio(bio).and_then(BioRecord::request);
                    record.is_some_and(|request| request.get() == id)
                };
                let some = bios.iter().filter(|(bio, _)| mine(*bio));
                some.flat_map(|(_, spans)| spans).copied().collect()
            }
            Thing::Chunk { .. } | Thing::End(_) => Vec::new(),
            Thing::Part(_) if spot.key.lane == Lane::Order => Vec::new(),
            Thing::Op
            | Thing::Folio(_)
            | Thing::Blocks(_)
            | Thing::Extent(_)
            | Thing::NewCopy(_)
            | Thing::Hole(_)
            | Thing::Left(_)
            | Thing::Part(_) => vec![scene.bytes_of(spot)],
        }
    };
    let mine = spans(of);
    let meets =
        |other: &Spot| spans(other).iter().any(|a| mine.iter().any(|b| a.0 < b.1 && b.0 < a.1));
    // What all runs have alike is drawn once, as of A.
    let both = |lane: Lane| !spots.iter().any(|spot| spot.key.lane == lane && spot.key.run > 0);
    let others = spots.iter().filter(|other| {
        let run = other.key.run == of.key.run || both(other.key.lane) || both(of.key.lane);
        other.key.lane != of.key.lane && run
    });
    others.filter(|other| meets(other)).copied().collect()
}
