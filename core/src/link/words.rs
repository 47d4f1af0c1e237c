//! The words of a moment: lines of words in a text, or segments of words in a fragment.
//!
//! ```text
//! engine 0.1.0                engine-0.1.0/at-3-21-1/file-0/...
//! place 3 21 1
//! file 0
//! range 0 65536
//! lanes file cache device
//! form table
//! why
//! whole
//! told
//! only 0
//! run linux-6.1
//! seen 1212 89abcdef 0c41f06b...
//! stop dirty_20_3e_2064k
//! mark 3 21 1
//! ```
//!
//! `run` stands in a text only. `place` and `mark` have a fourth number, 1, where run B alone
//! moved. Of a `stop` all bytes but letters and digits are written as `_` and two digits. What
//! stands for the usual is left out.

use super::{Form, LinkError, MOST_MARKS, Moment, Place, Seen, View};
use crate::scene::view::Lane;
use crate::trace::address::Address;
use crate::trace::rule::Rule;
use crate::units::{FileId, FileRange, MAX_POS, Pos};
use std::fmt::Write as _;

/// Most runs that a link tells of.
const MAX_RUNS: usize = 2;

/// What stands between two lines, and between two words.
type Marks = (char, char);
/// In a text.
pub(super) const LINES: Marks = ('\n', ' ');
/// In a fragment.
pub(super) const SHORT: Marks = ('/', '-');

/// The words of a moment.
pub(super) fn write(moment: &Moment, (line, word): Marks) -> String {
    let Moment { engine, place, view, runs, seen, stops, marks } = moment;
    let mut out = format!("engine{word}{engine}{line}");
    write_place(&mut out, "place", *place, word);
    let _ = write!(out, "{line}file{word}{}", view.file.get());
    if let Some(range) = view.range {
        let (start, end) = (range.start().get(), range.end().get());
        let _ = write!(out, "{line}range{word}{start}{word}{end}");
    }
    let _ = write!(out, "{line}lanes");
    for lane in &view.lanes {
        let _ = write!(out, "{word}{}", lane.word());
    }
    if let Some(only) = view.only {
        let _ = write!(out, "{line}only{word}{only}");
    }
    for run in runs.iter().take(if word == ' ' { MAX_RUNS } else { 0 }) {
        let _ = write!(out, "{line}run{word}{}", run.replace(char::is_control, " "));
    }
    if view.form != Form::Picture {
        let _ = write!(out, "{line}form{word}{}", view.form.word());
    }
    for (is_so, name) in [(view.why, "why"), (view.whole, "whole"), (view.told, "told")] {
        if is_so {
            let _ = write!(out, "{line}{name}");
        }
    }
    for Seen { steps, hash, marks } in seen.iter().take(MAX_RUNS) {
        let _ = write!(out, "{line}seen{word}{steps}{word}{hash:08x}");
        if !marks.is_empty() {
            out.push(word);
            for mark in marks {
                let _ = write!(out, "{mark:04x}");
            }
        }
    }
    for stop in stops.iter().take(MOST_MARKS) {
        let _ = write!(out, "{line}stop{word}");
        for byte in stop.bytes() {
            if byte.is_ascii_alphanumeric() {
                out.push(char::from(byte));
            } else {
                let _ = write!(out, "_{byte:02x}");
            }
        }
    }
    for mark in marks.iter().take(MOST_MARKS) {
        out.push(line);
        write_place(&mut out, "mark", *mark, word);
    }
    out
}

fn write_place(out: &mut String, key: &str, Place { side, address }: Place, word: char) {
    let rule = address.rule.map_or(0, Rule::code);
    let _ = write!(out, "{key}{word}{}{word}{rule}{word}{}", address.op, address.nth);
    if side > 0 {
        let _ = write!(out, "{word}{side}");
    }
}

/// The moment that such words tell of.
pub(super) fn read(text: &str, (line, word): Marks) -> Result<Moment, LinkError> {
    let mut moment = Moment {
        engine: String::new(),
        place: Place::default(),
        view: View {
            file: FileId::new(0),
            range: None,
            lanes: Vec::new(),
            form: Form::Picture,
            why: false,
            whole: false,
            told: false,
            only: None,
        },
        runs: Vec::new(),
        seen: Vec::new(),
        stops: Vec::new(),
        marks: Vec::new(),
    };
    for line in text.split(line) {
        read_line(&mut moment, line, word).ok_or_else(|| LinkError::Line(shorten(line)))?;
    }
    Ok(moment)
}

fn read_line(moment: &mut Moment, line: &str, mark: char) -> Option<()> {
    let (key, rest) = match line.split_once(mark) {
        Some((key, rest)) => (key, Some(rest)),
        None => (line, None),
    };
    let view = &mut moment.view;
    let Some(rest) = rest else {
        match key {
            "why" => view.why = true,
            "whole" => view.whole = true,
            "told" => view.told = true,
            "lanes" => view.lanes.clear(),
            _ => return None,
        }
        return Some(());
    };
    let mut words = rest.split(mark);
    let mut number = || words.next()?.parse::<u64>().ok();
    match key {
        "engine" => shorten(rest).clone_into(&mut moment.engine),
        "place" => moment.place = read_place(rest, mark)?,
        "mark" if moment.marks.len() < MOST_MARKS => moment.marks.push(read_place(rest, mark)?),
        "stop" if moment.stops.len() < MOST_MARKS => moment.stops.push(read_stop(rest)?),
        "file" => view.file = FileId::new(u32::try_from(number()?).ok()?),
        "range" => {
            let (start, end) = (number()?, number()?);
            if start >= end || end > MAX_POS {
                return None;
            }
            view.range = Some(FileRange::between(Pos::new(start), Pos::new(end)));
        }
        "lanes" => {
            view.lanes = words.map(Lane::from_word).collect::<Option<_>>()?;
            if view.lanes.len() > Lane::ALL.len() {
                return None;
            }
        }
        "only" => view.only = Some(rest.parse().ok().filter(|only| *only < MAX_RUNS)?),
        "run" if mark == ' ' && moment.runs.len() < MAX_RUNS => moment.runs.push(rest.to_owned()),
        "form" => view.form = Form::ALL.into_iter().find(|form| form.word() == rest)?,
        "seen" if moment.seen.len() < MAX_RUNS => {
            let steps = number()?;
            let hash = u32::from_str_radix(words.next()?, 16).ok()?;
            let marks = words.next().map_or(Some(Vec::new()), read_marks)?;
            moment.seen.push(Seen { steps, hash, marks });
        }
        _ => return None,
    }
    Some(())
}

fn read_place(rest: &str, mark: char) -> Option<Place> {
    let mut words = rest.split(mark);
    let op = words.next()?.parse().ok()?;
    let rule: u16 = words.next()?.parse().ok()?;
    let nth = words.next()?.parse().ok()?;
    let rule = if rule == 0 { None } else { Some(Rule::from_code(rule)?) };
    let side = match words.next() {
        Some("1") => 1,
        None => 0,
        Some(_) => return None,
    };
    Some(Place { side, address: Address { op, rule, nth } })
}

fn read_stop(words: &str) -> Option<String> {
    let mut parts = words.split('_');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = (part.get(..2)?, &part[2..]);
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(rest.bytes());
    }
    String::from_utf8(bytes).ok()
}

fn read_marks(digits: &str) -> Option<Vec<u16>> {
    if !digits.is_ascii() || digits.len() > Seen::MARKS * 4 {
        return None;
    }
    let four = |four: &[u8]| u16::from_str_radix(core::str::from_utf8(four).ok()?, 16).ok();
    digits.as_bytes().chunks(4).map(four).collect()
}

/// The beginning of a line that somebody else wrote.
fn shorten(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(40).collect()
}
