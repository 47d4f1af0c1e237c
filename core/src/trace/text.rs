//! A trace as text: one line a step, one indented line a change. Made for reading and for diffs.

use super::delta::{ABSENT, Delta, DeltaKind};
use super::step::Step;
use super::timeline::Recording;
use core::fmt::{self, Write};

/// The whole recording.
pub fn render_recording(recording: &Recording) -> String {
    let mut out = String::new();
    for (at, step) in recording.steps().iter().enumerate() {
        write_step(&mut out, at, step).expect("a String takes everything");
        for delta in recording.deltas(at) {
            write_delta(&mut out, delta).expect("a String takes everything");
        }
    }
    out
}

/// A step in one line, without its number.
pub fn step_line(step: &Step) -> String {
    let op = step.op.map_or_else(|| "-".to_owned(), |op| op.get().to_string());
    let (function, sentence) = (step.rule.function(), step.rule.sentence(step.args));
    format!("op {op} {} {function}: {sentence}", step.context.name())
}

fn write_step(out: &mut String, at: usize, step: &Step) -> fmt::Result {
    writeln!(out, "{at:4} {}", step_line(step))
}

fn write_delta(out: &mut String, delta: &Delta) -> fmt::Result {
    let Delta { kind, object, aux, old, new } = *delta;
    let value = |word: u64| {
        if kind == DeltaKind::FolioPlace && word == ABSENT {
            "absent".to_owned()
        } else {
            format!("{word:#x}")
        }
    };
    writeln!(out, "       {} {object}.{aux}: {} -> {}", kind.name(), value(old), value(new))
}
