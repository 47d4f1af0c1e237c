//! Opening what a viewer brings: a trace of the terminal, or a scenario. Anything else, and what
//! would take all memory, becomes one sentence.

use crate::compare::Origin;
use crate::lesson::Lesson;
use crate::session::Session;
use folioscope_core::geometry::Geometry;
use folioscope_core::service::Opened;
use folioscope_core::trace::delta::DeltaKind;
use folioscope_core::trace::header::Header;
use folioscope_core::trace::model::Place;
use folioscope_core::trace::timeline::{KEYFRAME_EVERY, Recording};
use folioscope_core::trace::wire;

/// Largest file that is read.
pub const MAX_BYTES: u64 = 64 << 20;
/// Last byte of a file that a trace may speak of: tables are kept for each block.
const MAX_POS: u64 = 1 << 34;
/// Memory that the states of a replay may take.
const MAX_STATE: u64 = 512 << 20;
/// What every listing of filefrag says.
const LISTED: &str = "File size of ";
/// What can be opened beside a trace.
const OTHERS: &str = "no scenario (.toml), no job of fio and no \
                      listing of `filefrag -v`: those are what can be opened";
/// Folios that a trace may number.
const MAX_FOLIOS: usize = 1 << 22;
/// What a file holds.
pub enum Found {
    /// A trace: its runs.
    Trace(Box<Session>),
    /// A scenario, which the engine is to run.
    Scenario(String),
}

/// What these bytes hold, or a sentence for the viewer.
pub fn open(name: &str, bytes: &[u8]) -> Result<Found, String> {
    read(name, bytes).map_err(|why| refused(name, &why))
}

/// The runs that the engine sent, with their lesson.
pub fn opened(mut opened: Opened) -> Result<(Session, Option<Lesson>), String> {
    let (title, told) = (core::mem::take(&mut opened.title), opened.lesson.take());
    let origin = Origin {
        scenario: core::mem::take(&mut opened.scenario),
        variants: core::mem::take(&mut opened.variants),
    };
    let session = Session::of_runs(title, runs(opened)?)?.with_origin(origin);
    let lesson = told.map(|told| Lesson::new(told, &session));
    Ok((session, lesson))
}

/// The runs that the engine sent.
pub fn runs(opened: Opened) -> Result<Vec<(String, Header, Recording)>, String> {
    let mut runs = Vec::new();
    for (name, trace) in opened.runs {
        let (header, recording) = wire::decode(&trace).map_err(|error| error.to_string())?;
        runs.push((name, header, recording));
    }
    Ok(runs)
}

/// The sentence for what cannot be opened.
pub fn refused(name: &str, why: &str) -> String {
    format!("{}: {why}.", short(name))
}

/// The sentence for a file that is too large to be read at all.
pub fn too_large(name: &str, bytes: f64) -> String {
    format!(
        "{}: the file has {} MiB, and the page opens files of up to {} MiB: record fewer operations.",
        short(name),
        crate::browser::whole(bytes / f64::from(1 << 20)),
        MAX_BYTES >> 20
    )
}

fn short(name: &str) -> String {
    let end = if name.chars().count() > 60 { "\u{2026}" } else { "" };
    name.chars().take(60).filter(|letter| !letter.is_control()).collect::<String>() + end
}

fn read(name: &str, bytes: &[u8]) -> Result<Found, String> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("it is larger than {} MiB", MAX_BYTES >> 20));
    }
    if bytes.is_empty() {
        return Err("the file is empty".to_owned());
    }
    let scenario = name.len() > 5
        && name[name.floor_char_boundary(name.len() - 5)..].eq_ignore_ascii_case(".toml");
    if !bytes.starts_with(wire::MAGIC) {
        // A job of fio, or a listing of filefrag, becomes a scenario where the engine is.
        let text = std::str::from_utf8(bytes).ok();
        let listing = |text: &&str| text.starts_with("File") && text.contains(LISTED);
        let job = |text: &&str| text.trim_start().starts_with(['[', '#', ';']);
        let other = text.filter(|text| listing(text) || job(text));
        return match (text.filter(|_| scenario).or(other), scenario) {
            (Some(text), _) => Ok(Found::Scenario(text.to_owned())),
            (None, true) => Err("the scenario is not text".to_owned()),
            (None, false) => Err(format!("this is not a folioscope trace, {OTHERS}")),
        };
    }
    let (header, recording) = wire::decode(bytes).map_err(|error| error.to_string())?;
    if recording.is_empty() {
        return Err("the trace has no step: record it again".to_owned());
    }
    bounded(&header, &recording)?;
    Session::of_trace(header, recording).map(|session| Found::Trace(Box::new(session)))
}

/// Whether the state that a trace describes has a place in memory.
fn bounded(header: &Header, recording: &Recording) -> Result<(), String> {
    let geometry = header.geometry;
    // What each folio takes, by its number.
    let mut live: Vec<u64> = Vec::new();
    let (mut now, mut most) = (0, 0);
    for at in 0..recording.len() {
        for delta in recording.deltas(at) {
            if delta.kind == DeltaKind::FolioPlace {
                let row = delta.object as usize;
                if row >= MAX_FOLIOS {
                    return Err(format!(
                        "step {at} of the trace names more than {MAX_FOLIOS} folios"
                    ));
                }
                live.resize(live.len().max(row + 1), 0);
                now -= live[row];
                live[row] = match Place::unpack(delta.new) {
                    Some(place) => cost(geometry, place).ok_or_else(|| too_far(at))?,
                    None => 0,
                };
                now += live[row];
                most = most.max(now);
            } else if matches!(delta.kind, DeltaKind::BioSegAt | DeltaKind::BioSegLen) {
                let folio = geometry.folio_size(geometry.max_order()).get();
                let offset = if delta.kind == DeltaKind::BioSegAt {
                    delta.new & u64::from(u32::MAX)
                } else {
                    delta.new
                };
                if offset > folio {
                    return Err(too_far(at));
                }
            }
        }
    }
    let states = 2 + (recording.len() / KEYFRAME_EVERY) as u64;
    if states.saturating_mul(most) > MAX_STATE {
        return Err("replaying the trace needs more memory than the page may take: record fewer operations on a smaller file".to_owned());
    }
    Ok(())
}

fn too_far(at: usize) -> String {
    format!(
        "step {at} of the trace lies beyond {} GiB, the most that the page shows",
        MAX_POS >> 30
    )
}

/// Bytes that a folio takes in a state; none if it lies too far out.
fn cost(geometry: Geometry, place: Place) -> Option<u64> {
    if place.order > geometry.max_order() {
        return None;
    }
    let size = geometry.folio_size(place.order).get();
    let pages = MAX_POS / geometry.page_size().get();
    (place.index.get() < pages).then(|| 256 + size / geometry.block_size().get())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson;
    use folioscope_core::trace::delta::{ABSENT, Delta};
    use folioscope_core::units::{FileId, Order, PageIndex};

    fn trace() -> Vec<u8> {
        let session = lesson::open(lesson::FIRST).0;
        let timeline = session.runs()[0].timeline();
        wire::encode(timeline.header(), timeline.recording())
    }
    fn refused(name: &str, bytes: &[u8]) -> String {
        open(name, bytes).err().expect("it cannot be opened")
    }

    #[test]
    fn a_trace_and_a_scenario_are_opened() {
        let Ok(Found::Trace(session)) = open("a.trace", &trace()) else { panic!("no trace") };
        assert_eq!(session.runs().len(), 1);
        let text = include_str!("../../assets/scenarios/sub-page-dirty-tracking.toml");
        let found = open("a.TOML", text.as_bytes());
        assert!(matches!(found, Ok(Found::Scenario(found)) if found == text));
    }

    #[test]
    fn anything_else_is_one_sentence() {
        assert!(refused("x.png", b"\x89PNG").contains("this is not a folioscope trace"));
        assert!(refused("empty", b"").contains("the file is empty"));
        let trace = trace();
        assert!(refused("cut", &trace[..trace.len() / 2]).contains("cut off at byte"));
        let mut bent = trace.clone();
        bent[trace.len() / 2] ^= 1;
        assert!(refused("bent", &bent).contains("damaged"));
        assert!(refused("\u{e4}\u{e4}.toml", &[0xff]).contains("not text"));
        assert!(refused(&"n".repeat(500), b"x").len() < 300);
    }

    #[test]
    fn a_trace_that_asks_for_all_memory_is_refused() {
        let session = lesson::open(lesson::FIRST).0;
        let timeline = session.runs()[0].timeline();
        let mut recording = timeline.recording().clone();
        let step = *recording.step(0);
        let place = |index| Place {
            file: FileId::new(0),
            index: PageIndex::new(index),
            order: Order::new(0),
        };
        let delta = |object, index| Delta {
            kind: DeltaKind::FolioPlace,
            object,
            aux: 0,
            old: ABSENT,
            new: place(index).pack(),
        };
        let mut far = recording.clone();
        far.push(step, &[delta(90, 1 << 40)]);
        assert!(refused("far", &wire::encode(timeline.header(), &far)).contains("beyond 16 GiB"));
        for at in 0..60_000 {
            let all: Vec<Delta> = (0..20).map(|n| delta(100 + at * 20 + n, 3)).collect();
            recording.push(step, &all);
        }
        let words = refused("many", &wire::encode(timeline.header(), &recording));
        assert!(words.contains("more memory"), "{words}");
    }
}
