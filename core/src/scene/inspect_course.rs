//! What is known of a thing in a lane of a whole run: what was sent, checked, marked, or who wrote
//! what a read returns.

use super::Side;
use super::course::so_far;
use super::fixed::{grouped, plural};
use super::inspect::{Depth, Details, range, sectors};
use super::lanes::{history, marks, order, returns};
use super::layout::Run;
use super::spots::Key;
use super::view::{Lane, View};

/// The thing with this number in its lane, at the step shown.
pub(super) fn part(
    side: &Side<'_>,
    view: &View,
    (key, n): (Key, u64),
    bytes: (u64, u64),
    depth: Depth,
) -> Option<Details> {
    let sides = [*side];
    let limits = &*view.limits_of(&sides);
    let run = &Run::new(usize::from(key.run), side, view, limits);
    let mut at = None;
    #[allow(clippy::wildcard_enum_match_arm, reason = "no other lane has such things")]
    let mut details = match key.lane {
        Lane::Order => {
            let all = order::so_far_of(run);
            let (nth, sent) = all.iter().enumerate().find(|(_, sent)| sent.at as u64 == n)?;
            let name = order::says(nth, sent).swap_remove(2);
            let done = sent.done.is_some_and(|done| done <= run.position);
            let mut details = Details::new(name, if done { "done" } else { "in flight" });
            details.row("on the device", sectors(sent.start, sent.end - sent.start));
            details.row("bios in it", grouped(sent.bios));
            let before = nth.checked_sub(1).map(|before| all[before].end);
            if before.is_some_and(|before| sent.start < before) {
                details.row("from the one before", "a way back");
            }
            at = Some(sent.at);
            details
        }
        Lane::History | Lane::Checks => {
            let all = history::so_far_of(run, key.lane);
            let past = all.iter().find(|past| past.at as u64 == n)?;
            let checks = key.lane == Lane::Checks;
            let name = if checks { "check of user memory" } else { "bio that was sent" };
            let mut details = Details::new(name.to_owned(), history::says(past).swap_remove(0));
            details.row("bytes", range((past.start, past.end)));
            if checks {
                let copied = past.copied(run.position) - past.start;
                details.row("copied then", plural(copied, "byte"));
            }
            if let Some(reader) = past.reader {
                details.row("the reader was at", plural(reader, "byte"));
            }
            at = Some(past.at);
            details
        }
        Lane::Marks => {
            let all = marks::folios(marks::so_far_of(run));
            let (_, column) = all.iter().find(|(start, _)| *start == n)?;
            let name = format!("folio at {}", grouped(n));
            let last = so_far(&run.course.marks, run.position, |mark| mark.at);
            at = last.iter().rev().find(|mark| mark.start == n).map(|mark| mark.at);
            Details::new(name, marks::says(column))
        }
        Lane::Returns => {
            let all = returns::stretches(run, bytes);
            let (what, state) = returns::says(all.first()?);
            let mut details = Details::new(what, state);
            details.row("bytes", range(bytes));
            details
        }
        _ => return None,
    };
    let recording = side.timeline.recording();
    let made = at.filter(|at| depth == Depth::Causes && *at > 0);
    details.causes.extend(made.map(|at| super::inspect::cause(recording, at, "made by")));
    Some(details)
}
