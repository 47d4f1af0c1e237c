//! A place in a run, named by what happens there.

use crate::search::Query;
use crate::trace::address::Ops;
use crate::trace::timeline::Timeline;

/// Where to stand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Spot {
    /// Before the first step.
    Start,
    /// After the last one.
    End,
    /// At the end of an operation, from 1.
    OpEnd(usize),
    /// After the `nth` step of an operation whose function is this one.
    Step {
        /// The operation, from 1; none = anywhere.
        op: Option<usize>,
        /// The function.
        function: String,
        /// Which of them, from 1.
        nth: usize,
    },
    /// Where something begins to hold for the `nth` time from the start of an operation on.
    When {
        /// The operation, from 1; none = from the start.
        op: Option<usize>,
        /// What is to hold.
        query: Query,
        /// Which time, from 1.
        nth: usize,
    },
}

impl Spot {
    /// The position in a run; none where nothing of the kind happens.
    pub fn find(&self, timeline: &Timeline, ops: &Ops) -> Option<usize> {
        let recording = timeline.recording();
        let span = |op: Option<usize>| match op {
            Some(op) => ops.span(recording, op),
            None => Some((0, recording.len())),
        };
        match self {
            Self::Start => Some(0),
            Self::End => Some(recording.len()),
            Self::OpEnd(op) => ops.span(recording, *op).map(|span| span.1),
            Self::Step { op, function, nth } => {
                let (start, end) = span(*op)?;
                let steps = (start..).zip(&recording.steps()[start..end]);
                let mut fits = steps.filter(|(_, step)| step.rule.function() == function);
                fits.nth(nth.checked_sub(1)?).map(|(at, _)| at + 1)
            }
            Self::When { op, query, nth } => {
                let mut at = span(*op)?.0;
                for _ in 0..*nth {
                    at = query.find(timeline, at, true)?;
                }
                Some(at)
            }
        }
    }
}
