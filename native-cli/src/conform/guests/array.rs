//! Arrays of the guests: what an array does with the bios that it got, and the bios that whoever is
//! above it sends.

use super::command::{self, Line};
use super::execute::{self, block_size};
use super::format::{Common, GuestCase, GuestOp, name, text};
use super::place::expected;
use super::{Stable, Stack, limits, md, members, version};
use crate::conform::compare::{Kind, Verdict};
use crate::conform::execute::profile_of;
use crate::conform::known::Known;
use crate::conform::report::Case;
use folioscope_core::units::Bytes;
use std::collections::BTreeSet;

/// The first kernel whose XFS sends one bio for a whole run that is contiguous on the device,
/// whatever memory it lies in.
const WHOLE_RUNS: (u32, u32) = (6, 12);
/// Bytes that a bio takes whatever memory they lie in: a page each of its vecs.
const ONE_BIO: Bytes = Bytes::kib(1024);

/// Compares a case on an array: its name, the name in the report, and who is above the array.
pub(super) fn run(
    common: &Common,
    case: &mut GuestCase,
    (name, id, above): (&str, String, Stack),
    (known, stable): (&Known, &Stable),
    schedulers: &mut members::Schedulers,
) -> Result<Case, String> {
    let in_case = |why| format!("{id}: {why}");
    let mut lines: Vec<Line> = case
        .ops
        .iter()
        .map(|op| command::parse(&op.command))
        .collect::<Result<_, _>>()
        .map_err(in_case)?;
    let shape = case.md.as_ref().or(common.md.as_ref());
    let shape =
        shape.ok_or_else(|| in_case("the case does not say what its array is".to_owned()))?;
    let all = if case.members.is_empty() { &common.members } else { &case.members };
    let mut verdict = Verdict::default();
    let behaviours = profile_of(&common.kernel).map_err(in_case)?.behaviours;
    let queues =
        members::Queues::new(all, limits::of_member(common, case), &behaviours, schedulers);
    let exact = if above == Stack::Xfs { BTreeSet::new() } else { stable.of(name) };
    md::Array::new(name, (shape, all), exact, queues)
        .compare(&mut verdict, &lines, case)
        .and_then(|()| limits::compare(&mut verdict, common, case, shape))
        .map_err(in_case)?;
    bios_from_above(&mut verdict, common, case, (name, above), &mut lines).map_err(in_case)?;
    Ok(Case::compared(id, verdict, known))
}

/// Compares the bios that reach the array.
///
/// Left out is what the application's memory or the flusher decides: direct calls that may need
/// more than one bio, as their pages are not known to follow each other, and operations in which
/// the flusher wrote.
fn bios_from_above(
    verdict: &mut Verdict,
    common: &Common,
    case: &mut GuestCase,
    (name_of_case, above): (&str, Stack),
    lines: &mut [Line],
) -> Result<(), String> {
    let version = version(&common.kernel)?;
    let direct = name_of_case.contains("dio");
    if !direct && above == Stack::Xfs && version < WHOLE_RUNS {
        return Ok(());
    }
    if direct {
        lines.iter_mut().for_each(Line::go_direct);
    }
    for op in &mut case.ops {
        op.ev.retain(|row| name(row) != "Q" || of_array(row));
    }
    let executed: Vec<usize> = (0..lines.len()).collect();
    let got = execute::execute(common, case, above, lines, &executed)?;
    let want = expected(case, above, lines, version, block_size(case)?);
    for (at, got) in &got {
        let by_memory = direct && lines[*at].longest_call() > ONE_BIO;
        if !by_memory && !flushed(&case.ops[*at]) {
            verdict.field(Kind::GuestBios, *at, &want[*at].bios, &got.bios);
        }
    }
    Ok(())
}

/// Whether a row is of an array.
fn of_array(row: &[serde_json::Value]) -> bool {
    text(row, 1).starts_with("md")
}

/// Whether the flusher had a part in an operation: what is left for it is a matter of time.
fn flushed(op: &GuestOp) -> bool {
    let by_worker = |row: &Vec<_>| text(row, 5).starts_with("kworker");
    op.ev.iter().any(|row| name(row) == "Q" && of_array(row) && by_worker(row))
}
