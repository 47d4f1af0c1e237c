//! Sentences with values of the runs in them.
//!
//! ```text
//! {A.total.device_bytes_written}   a counter over the whole run
//! {A.now.write_bios}               up to here
//! {A.op.device_bytes_read}         since the operation began
//! {A.size} {A.disk_size}            of the first file, in bytes
//! {A.writing} {A.reading}          bytes of the bios that there are now
//! {A.bios} {A.requests}            how many
//! {A.newest}                       bytes of the bio that was made last, of those that there are
//! {A.writing / B.writing}          how many times as much
//! ```
//!
//! Values in bytes are written as sizes, all others as numbers.

use crate::block::bio::BioOp;
use crate::counters::{Counter, Counters};
use crate::scene::fixed::{grouped, plural, size, times};
use crate::trace::model::Model;
use crate::units::FileId;

/// The letters of the runs.
const RUNS: [&str; 2] = ["A", "B"];

/// A run at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The state.
    pub model: &'a Model,
    /// The counters when the operation began.
    pub op: &'a Counters,
    /// The counters of the whole run.
    pub total: &'a Counters,
}

/// A sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Words(Vec<Part>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Text(String),
    Value(Value),
    Times(Value, Value),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Value {
    run: usize,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    Total(Counter),
    Now(Counter),
    Op(Counter),
    Writing,
    Reading,
    Bios,
    Requests,
    Newest,
    Size,
    DiskSize,
}

impl Words {
    /// Reads a sentence; the error says what is wrong with a value.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let close = rest[open..].find('}').map(|at| open + at);
            let close = close.ok_or_else(|| format!("`{}` has no `}}`", &rest[open..]))?;
            parts.push(Part::Text(rest[..open].to_owned()));
            let inner = &rest[open + 1..close];
            parts.push(match inner.split_once('/') {
                Some((whole, part)) => Part::Times(Value::parse(whole)?, Value::parse(part)?),
                None => Part::Value(Value::parse(inner)?),
            });
            rest = &rest[close + 1..];
        }
        parts.push(Part::Text(rest.to_owned()));
        Ok(Self(parts))
    }
    /// The highest run that it names, from 1.
    pub fn runs(&self) -> usize {
        let named = self.0.iter().map(|part| match part {
            Part::Text(_) => 0,
            Part::Value(value) => value.run + 1,
            Part::Times(whole, part) => whole.run.max(part.run) + 1,
        });
        named.max().unwrap_or(0)
    }
    /// The sentence with the values of these runs; a value of a run that there is not is `?`.
    pub fn fill(&self, runs: &[Moment<'_>]) -> String {
        let mut out = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Value(value) => out.push_str(&value.text(runs)),
                Part::Times(whole, part) => {
                    let both = value_of(*whole, runs).zip(value_of(*part, runs));
                    let text = both.and_then(|(whole, part)| times(whole, part));
                    out.push_str(text.as_deref().unwrap_or("?"));
                }
            }
        }
        out
    }
}

fn value_of(value: Value, runs: &[Moment<'_>]) -> Option<u64> {
    runs.get(value.run).map(|moment| value.what.of(moment))
}

impl Value {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let unknown = || {
            format!(
                "`{text}` is no value: expected the letter of a run and `total`, `now` or `op` with \
                 the name of a counter, or `writing`, `reading`, `bios`, `requests`, `newest`, \
                 `size`, `disk_size`, such as `A.now.write_bios`"
            )
        };
        let (run, what) = text.split_once('.').ok_or_else(unknown)?;
        let run = RUNS.iter().position(|name| *name == run).ok_or_else(unknown)?;
        let counter = |name: &str| {
            let mut all = Counter::ALL.iter();
            all.find(|counter| counter.name() == name).copied().ok_or_else(unknown)
        };
        let what = match what.split_once('.') {
            Some(("total", name)) => What::Total(counter(name)?),
            Some(("now", name)) => What::Now(counter(name)?),
            Some(("op", name)) => What::Op(counter(name)?),
            None if what == "writing" => What::Writing,
            None if what == "reading" => What::Reading,
            None if what == "bios" => What::Bios,
            None if what == "requests" => What::Requests,
            None if what == "newest" => What::Newest,
            None if what == "size" => What::Size,
            None if what == "disk_size" => What::DiskSize,
            _ => return Err(unknown()),
        };
        Ok(Self { run, what })
    }
    fn text(self, runs: &[Moment<'_>]) -> String {
        let Some(number) = value_of(self, runs) else { return "?".to_owned() };
        let in_bytes = match self.what {
            What::Total(counter) | What::Now(counter) | What::Op(counter) => {
                counter.name().contains("bytes")
            }
            What::Writing | What::Reading | What::Newest => true,
            What::Bios | What::Requests => false,
            What::Size | What::DiskSize => return plural(number, "byte"),
        };
        if in_bytes { size(number) } else { grouped(number) }
    }
}

impl What {
    fn of(self, moment: &Moment<'_>) -> u64 {
        let Moment { model, op, total } = moment;
        let bytes = |dir: BioOp| {
            let bios = model.bios().filter(|(_, bio)| bio.head().op == dir);
            bios.map(|(_, bio)| bio.len().get()).sum()
        };
        match self {
            Self::Total(counter) => total.get(counter),
            Self::Now(counter) => model.counters().get(counter),
            Self::Op(counter) => model.counters().get(counter).saturating_sub(op.get(counter)),
            Self::Writing => bytes(BioOp::Write),
            Self::Reading => bytes(BioOp::Read),
            Self::Bios => model.bios().count() as u64,
            Self::Requests => model.requests().count() as u64,
            Self::Newest => model.bios().last().map_or(0, |(_, bio)| bio.len().get()),
            Self::Size => model.file(FileId::new(0)).map_or(0, |file| file.size().get()),
            Self::DiskSize => model.file(FileId::new(0)).map_or(0, |file| file.disk_size().get()),
        }
    }
}
