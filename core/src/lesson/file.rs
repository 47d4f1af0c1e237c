//! The lesson file: TOML, with an integer version first.
//!
//! ```toml
//! version = 0
//! number = 7
//! title = "Sub-page dirty tracking"
//! point = "Write only what changed: {A.total.write_bios / B.total.write_bios} less."
//! scenario = "sub-page-dirty-tracking"
//! # The part of the file that stops show; the first dirty folio where the question stands if
//! # it is left out.
//! focus = { at = 0, len = "64k" }
//!
//! [question]
//! ask = "The app changed {A.now.app_bytes_written}. How much goes to the disk?"
//! figure = "{A.writing / B.writing}"
//! shown = "A sends {A.writing}."
//! answer = [{ text = "4 KiB", says = "Only B." }]
//!
//! [[stop]]
//! title = "One dirty block"
//! says = "Every block of this folio was read before."
//! # Its end; or { op, function, nth }, { op, when, nth }, { end = true }.
//! at = { op = 2 }
//! lanes = "file cache device"
//! ```
//!
//! The first stop is where the question stands, and what is asked tells of values there; answers
//! and what is said to them tell of those at the second, where the proof is.

use super::{Answer, Lesson, MAX_STOPS, MIN_STOPS, Question, Spot, Stop, Words};
use crate::scenario::fields::{
    Fields, Problem, ScenarioError, Span, boolean, integer, locate, number, parse, size, string,
};
use crate::scene::view::Lane;
use crate::search::Query;
use crate::units::{FileRange, Pos};
use toml::Spanned;
use toml::de::DeTable;

/// Version that is read.
const VERSION: i64 = 0;
/// Largest number that a lesson may name: of itself, an operation, an occurrence.
const MAX_NUMBER: u64 = 1_000_000;

/// Reads a lesson. `name` stands in front of errors.
pub fn parse_lesson(name: &str, text: &str) -> Result<Lesson, ScenarioError> {
    read(text).map_err(|problem| locate(name, text, &problem))
}

fn read(text: &str) -> Result<Lesson, Problem> {
    let root = parse(text)?;
    let known = ["version", "number", "title", "point", "scenario", "focus", "question", "stop"];
    let fields = Fields::new(root.span(), root.get_ref(), &known)?;
    let version = fields.need("version", integer)?;
    if *version.get_ref() != VERSION {
        let found = version.get_ref();
        let message = format!("version is {found}: this program reads version {VERSION}");
        return Err((version.span(), message));
    }
    let (span, table) = fields.table("question")?.ok_or_else(|| fields.missing("question"))?;
    let question = question_of(span, table)?;
    let focus = fields.table("focus")?.map(|(span, table)| focus_of(span, table)).transpose()?;
    let stops: Vec<_> = fields.list("stop", stop_of)?;
    if !(MIN_STOPS..=MAX_STOPS).contains(&stops.len()) {
        let message = format!("{} stops: expected {MIN_STOPS} to {MAX_STOPS}", stops.len());
        return Err((root.span(), message));
    }
    Ok(Lesson {
        number: number("number", &fields.need("number", integer)?, 1, MAX_NUMBER)? as u32,
        title: fields.need("title", string)?.into_inner(),
        point: words(&fields.need("point", string)?)?,
        scenario: fields.need("scenario", string)?.into_inner(),
        focus,
        question,
        stops: stops.into_iter().map(Spanned::into_inner).collect(),
    })
}

/// A part of a file.
fn focus_of(span: Span, table: &DeTable<'_>) -> Result<FileRange, Problem> {
    let fields = Fields::new(span.clone(), table, &["at", "len"])?;
    let bytes = |name: &str| fields.need(name, size).map(Spanned::into_inner);
    let (at, len) = (bytes("at")?, bytes("len")?);
    let range = FileRange::new(Pos::ZERO + at, len).filter(|range| !range.is_empty());
    range.ok_or_else(|| (span, "focus is empty or ends beyond all files".to_owned()))
}

fn question_of(span: Span, table: &DeTable<'_>) -> Result<Question, Problem> {
    let fields = Fields::new(span, table, &["ask", "figure", "shown", "answer"])?;
    let figure = fields.may("figure", string)?;
    Ok(Question {
        ask: words(&fields.need("ask", string)?)?,
        figure: figure.map(|figure| words(&figure)).transpose()?,
        shown: words(&fields.need("shown", string)?)?,
        answers: fields.list("answer", answer_of)?.into_iter().map(Spanned::into_inner).collect(),
    })
}

fn answer_of(span: Span, table: &DeTable<'_>) -> Result<Answer, Problem> {
    let fields = Fields::new(span, table, &["text", "says"])?;
    let (text, says) = (fields.need("text", string)?, fields.need("says", string)?);
    Ok(Answer { text: words(&text)?, says: words(&says)? })
}

fn stop_of(span: Span, table: &DeTable<'_>) -> Result<Stop, Problem> {
    let fields = Fields::new(span, table, &["title", "says", "at", "lanes", "why", "whole"])?;
    let (span, at) = fields.table("at")?.ok_or_else(|| fields.missing("at"))?;
    let on = |name| Ok(fields.may(name, boolean)?.is_some_and(Spanned::into_inner));
    Ok(Stop {
        title: fields.need("title", string)?.into_inner(),
        says: words(&fields.need("says", string)?)?,
        at: spot_of(span, at)?,
        lanes: lanes(&fields.need("lanes", string)?)?,
        why: on("why")?,
        whole: on("whole")?,
    })
}

fn spot_of(span: Span, table: &DeTable<'_>) -> Result<Spot, Problem> {
    let fields = Fields::new(span.clone(), table, &["op", "function", "when", "nth", "end"])?;
    let count = |name: &str| -> Result<Option<usize>, Problem> {
        let value = fields.may(name, integer)?;
        value.map(|value| number(name, &value, 1, MAX_NUMBER).map(|n| n as usize)).transpose()
    };
    let (op, nth) = (count("op")?, count("nth")?.unwrap_or(1));
    let (function, when) = (fields.may("function", string)?, fields.may("when", string)?);
    let end = fields.may("end", boolean)?.map(Spanned::into_inner);
    Ok(match (function, when, op, end) {
        (Some(function), None, op, None) => Spot::Step { op, function: function.into_inner(), nth },
        (None, Some(when), op, None) => {
            let query = Query::parse(when.get_ref());
            let query = query.map_err(|error| (when.span(), error.to_string()))?;
            Spot::When { op, query, nth }
        }
        (None, None, Some(op), None) => Spot::OpEnd(op),
        (None, None, None, Some(true)) => Spot::End,
        (None, None, None, Some(false)) => Spot::Start,
        _ => {
            let message = "this names no place: expected `op`, or one of `function` and `when` with \
                           or without `op`, or `end`";
            return Err((span, message.to_owned()));
        }
    })
}

fn words(text: &Spanned<String>) -> Result<Words, Problem> {
    Words::parse(text.get_ref()).map_err(|message| (text.span(), message))
}

/// Lanes by their words, with spaces between.
fn lanes(text: &Spanned<String>) -> Result<Vec<Lane>, Problem> {
    let lane = |word: &str| {
        let known = Lane::ALL.into_iter().find(|lane| lane.word() == word);
        known.ok_or_else(|| {
            let all: Vec<&str> = Lane::ALL.iter().map(|lane| lane.word()).collect();
            (text.span(), format!("no lane `{word}`: expected some of {}", all.join(", ")))
        })
    };
    text.get_ref().split_whitespace().map(lane).collect()
}
