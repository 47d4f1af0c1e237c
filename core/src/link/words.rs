//! The text inside a link: a few lines, an empty one, and the scenario file.
//!
//! ```text
//! engine 0.1.0
//! place 3 21 1
//! file 0
//! range 0 65536
//! lanes file cache device
//! seen 1212 89abcdef
//!
//! version = 0 ...
//! ```

use super::{LinkError, Seen, Shared, View};
use crate::scene::view::Lane;
use crate::trace::address::Address;
use crate::trace::rule::Rule;
use crate::units::{FileId, FileRange, MAX_POS, Pos};
use std::fmt::Write as _;

/// Most runs that a link tells of.
const MAX_RUNS: usize = 2;

/// The text of a link.
pub(super) fn write(shared: &Shared) -> String {
    let Shared { engine, place, view, seen, scenario } = shared;
    let mut out = format!("engine {engine}\n");
    let _ = writeln!(out, "place {} {} {}", place.op, place.rule.map_or(0, Rule::code), place.nth);
    let _ = writeln!(out, "file {}", view.file.get());
    if let Some(range) = view.range {
        let _ = writeln!(out, "range {} {}", range.start().get(), range.end().get());
    }
    let lanes: Vec<&str> = view.lanes.iter().map(|lane| lane.word()).collect();
    let _ = writeln!(out, "lanes {}", lanes.join(" "));
    for Seen { steps, crc } in seen.iter().take(MAX_RUNS) {
        let _ = writeln!(out, "seen {steps} {crc:08x}");
    }
    out.push('\n');
    out.push_str(scenario);
    out
}

/// What the text of a link says.
pub(super) fn read(text: &str) -> Result<Shared, LinkError> {
    let (head, scenario) =
        text.split_once("\n\n").ok_or(LinkError::Damaged("its scenario is missing"))?;
    let mut shared = Shared {
        engine: String::new(),
        place: Address::default(),
        view: View { file: FileId::new(0), range: None, lanes: Vec::new() },
        seen: Vec::new(),
        scenario: scenario.to_owned(),
    };
    for line in head.lines() {
        read_line(&mut shared, line).ok_or_else(|| LinkError::Line(shorten(line)))?;
    }
    Ok(shared)
}

fn read_line(shared: &mut Shared, line: &str) -> Option<()> {
    let (key, rest) = line.split_once(' ')?;
    let mut words = rest.split(' ');
    let mut number = || words.next()?.parse::<u64>().ok();
    match key {
        "engine" => rest.clone_into(&mut shared.engine),
        "place" => {
            let op = u32::try_from(number()?).ok()?;
            let rule = u16::try_from(number()?).ok()?;
            let nth = u32::try_from(number()?).ok()?;
            let rule = if rule == 0 { None } else { Some(Rule::from_code(rule)?) };
            shared.place = Address { op, rule, nth };
        }
        "file" => shared.view.file = FileId::new(u32::try_from(number()?).ok()?),
        "range" => {
            let (start, end) = (number()?, number()?);
            if start >= end || end > MAX_POS {
                return None;
            }
            shared.view.range = Some(FileRange::between(Pos::new(start), Pos::new(end)));
        }
        "lanes" => {
            let lane = |word: &str| Lane::ALL.into_iter().find(|lane| lane.word() == word);
            shared.view.lanes = rest.split(' ').map(lane).collect::<Option<_>>()?;
        }
        "seen" if shared.seen.len() < MAX_RUNS => {
            let steps = number()?;
            let crc = u32::from_str_radix(words.next()?, 16).ok()?;
            shared.seen.push(Seen { steps, crc });
        }
        _ => return None,
    }
    Some(())
}

/// The beginning of a line that somebody else wrote.
fn shorten(line: &str) -> String {
    line.chars().filter(|c| !c.is_control()).take(40).collect()
}
