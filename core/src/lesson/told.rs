//! A lesson whose sentences hold the values of its runs.

use super::{Lesson, Moment, Words};
use crate::counters::Counters;
use crate::scene::view::Lane;
use crate::trace::address::Ops;
use crate::trace::align::Alignment;
use crate::trace::model::Model;
use crate::trace::timeline::{Recording, Timeline};
use crate::units::FileRange;

/// Most runs that a lesson compares.
pub const MAX_RUNS: usize = 2;

/// A lesson as it is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// Its number in the gallery.
    pub number: u32,
    /// Its title.
    pub title: String,
    /// What it is about, in one sentence.
    pub point: String,
    /// The question.
    pub ask: String,
    /// The figure that stands beside the proof, if there is one.
    pub figure: Option<String>,
    /// What is said to somebody who asks to be shown.
    pub shown: String,
    /// The answers.
    pub answers: Vec<ToldAnswer>,
    /// The stops, the question's own first.
    pub stops: Vec<ToldStop>,
    /// The part of the file that the question is about, in bytes.
    pub focus: Option<FileRange>,
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToldAnswer {
    /// What is on its chip.
    pub text: String,
    /// What is said to it.
    pub says: String,
}

/// A stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToldStop {
    /// Its name on the rail.
    pub title: String,
    /// One sentence.
    pub says: String,
    /// The position in the first run.
    pub at: usize,
    /// Lanes that are shown.
    pub lanes: Vec<Lane>,
    /// Whether the rule that fired is shown.
    pub why: bool,
    /// Whether the whole file is shown rather than the folio.
    pub whole: bool,
}

/// The runs of a lesson, and the way through them.
struct Runs<'a> {
    timelines: &'a [Timeline],
    ops: Vec<Ops>,
    totals: Vec<Counters>,
    way: Alignment,
}

/// One run at a moment.
struct At {
    model: Model,
    op: Counters,
}

impl Lesson {
    /// Tells it with these runs, the first of which names the places; the error says which place
    /// is not in it.
    pub fn tell(&self, runs: &[Timeline]) -> Result<Told, String> {
        let runs = Runs::new(&runs[..runs.len().min(MAX_RUNS)])?;
        let first = &runs.timelines[0];
        let mut places = Vec::new();
        for (number, stop) in (1..).zip(&self.stops) {
            let place = stop.at.find(first, &runs.ops[0]);
            places.push(place.ok_or_else(|| {
                let Self { number: lesson, .. } = self;
                format!("stop {number} of lesson {lesson}, \"{}\", is not in the run", stop.title)
            })?);
        }
        let (Some(&ask), Some(&proof)) = (places.first(), places.get(1)) else {
            return Err(format!("lesson {} has {} stops: expected 2", self.number, places.len()));
        };
        let (asked, proven) = (runs.at(ask), runs.at(proof));
        let end = runs.at(first.len());
        let question = &self.question;
        Ok(Told {
            number: self.number,
            title: self.title.clone(),
            point: runs.fill(&self.point, &end),
            ask: runs.fill(&question.ask, &asked),
            figure: question.figure.as_ref().map(|figure| runs.fill(figure, &proven)),
            shown: runs.fill(&question.shown, &proven),
            answers: question
                .answers
                .iter()
                .map(|answer| ToldAnswer {
                    text: runs.fill(&answer.text, &proven),
                    says: runs.fill(&answer.says, &proven),
                })
                .collect(),
            stops: (self.stops.iter().zip(&places))
                .map(|(stop, at)| ToldStop {
                    title: stop.title.clone(),
                    says: runs.fill(&stop.says, &runs.at(*at)),
                    at: *at,
                    lanes: stop.lanes.clone(),
                    why: stop.why,
                    whole: stop.whole,
                })
                .collect(),
            focus: self.focus.or_else(|| dirty_folio(&asked[0].model)),
        })
    }
}

impl<'a> Runs<'a> {
    fn new(runs: &'a [Timeline]) -> Result<Self, String> {
        if runs.is_empty() {
            return Err("there is no run to tell it with".to_owned());
        }
        let recordings: Vec<&Recording> = runs.iter().map(Timeline::recording).collect();
        let way = Alignment::of(&recordings);
        let ops = runs.iter().map(|run| Ops::of(run.recording())).collect();
        let last = |run: &Timeline| run.model_at(usize::MAX).counters().clone();
        Ok(Self { timelines: runs, ops, totals: runs.iter().map(last).collect(), way })
    }
    /// Every run where the first is at this position.
    fn at(&self, position: usize) -> Vec<At> {
        let moment = self.way.moment(self.way.reach(0, position));
        let runs = self.timelines.iter().zip(&self.ops).enumerate();
        runs.map(|(side, (run, ops))| {
            let position = moment.position(side);
            let began = ops.span(run.recording(), ops.started(position)).map_or(0, |span| span.0);
            At { model: run.model_at(position), op: run.model_at(began).counters().clone() }
        })
        .collect()
    }
    fn fill(&self, words: &Words, at: &[At]) -> String {
        let both = at.iter().zip(&self.totals);
        let moments: Vec<Moment<'_>> =
            both.map(|(At { model, op }, total)| Moment { model, op, total }).collect();
        words.fill(&moments)
    }
}

/// Where the first folio with a dirty block lies.
fn dirty_folio(model: &Model) -> Option<FileRange> {
    let geometry = model.geometry();
    let mut folios = model.folios().map(|(_, folio)| folio);
    let folio = folios.find(|folio| (0..folio.blocks()).any(|block| folio.is_dirty(block)))?;
    let place = folio.place();
    FileRange::new(geometry.page_pos(place.index), geometry.folio_size(place.order))
}
