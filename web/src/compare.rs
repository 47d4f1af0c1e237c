//! Two runs against each other: where they differ, by how much, and how they are looked at.

use crate::session::Session;
use folioscope_core::counters::{Counter, Counters};
use folioscope_core::scene::fixed::times;
use folioscope_core::trace::align::Difference;

/// Rows of the list before the moment that is shown, and behind it.
const ROWS: (usize, usize) = (4, 8);

/// What a viewer looks at of two runs.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Compare {
    pub(crate) open: bool,
    /// Only this run is on the stage.
    pub(crate) only: Option<usize>,
    /// Of the list, only what reaches the device.
    pub(crate) far: bool,
    /// Every counter, equal ones too.
    pub(crate) all: bool,
}

/// Where settings come from: the scenario that was run, and the names of its variants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Its file.
    pub scenario: String,
    /// Its variants.
    pub variants: Vec<String>,
}

/// Keys for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// Runs change places.
    Swap,
    /// Both runs, A alone, B alone, and so on.
    View,
    /// To the difference before that reaches the device.
    Back,
}

/// A row of the list of differences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Row {
    /// Moments in which nothing differs: the first and the last.
    Equal(usize, usize),
    /// A moment in which the runs differ.
    Differs(usize),
}

impl Row {
    /// Whether a moment is in it.
    pub(crate) fn holds(self, at: usize) -> bool {
        match self {
            Self::Equal(first, last) => (first..=last).contains(&at),
            Self::Differs(moment) => moment == at,
        }
    }
}

/// The list around a moment: differing moments, and equal stretches folded. Where only what reaches
/// the device counts, lesser differences count as equal.
pub(crate) fn rows(session: &Session, far: bool) -> Vec<Row> {
    let (way, here) = (session.way(), session.at());
    let all = session.differences();
    let counts = |at: &u32| {
        let difference = way.moment(*at as usize).difference;
        !far || difference.is_some_and(Difference::reaches_device)
    };
    let first = all.partition_point(|at| (*at as usize) < here);
    let mut before: Vec<usize> = all[..first]
        .iter()
        .rev()
        .filter(|at| counts(at))
        .take(ROWS.0)
        .map(|at| *at as usize)
        .collect();
    before.reverse();
    let whole = before.len() < ROWS.0;
    let after = all[first..].iter().filter(|at| counts(at)).take(ROWS.1 + 1).map(|at| *at as usize);
    let after: Vec<usize> = after.collect();
    let mut out = Vec::new();
    // Moment 0 is before every step.
    let mut next = if whole { 1 } else { before[0] };
    for at in before.iter().chain(after.iter().take(ROWS.1)) {
        if next < *at {
            out.push(Row::Equal(next, at - 1));
        }
        out.push(Row::Differs(*at));
        next = at + 1;
    }
    let end = after.get(ROWS.1).map_or(way.last(), |at| at - 1);
    if next <= end {
        out.push(Row::Equal(next, end));
    }
    out
}

/// How many differences there are of each rank, and the first of them.
pub(crate) fn ranks(session: &Session) -> Vec<(Difference, u64, usize)> {
    let of = |at: &u32| session.way().moment(*at as usize).difference;
    let each = Difference::ALL.into_iter().filter_map(|rank| {
        let mut mine = session.differences().iter().filter(|at| of(at) == Some(rank));
        let first = *mine.next()? as usize;
        Some((rank, 1 + mine.count() as u64, first))
    });
    each.collect()
}

/// A counter of both runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    pub(crate) counter: Counter,
    pub(crate) now: [u64; 2],
    pub(crate) whole: [u64; 2],
}

impl Line {
    /// Whether the runs differ in it in the end.
    pub(crate) fn differs(&self) -> bool {
        self.whole[0] != self.whole[1]
    }
    /// How the totals relate: `A = 16 × B`.
    pub(crate) fn ratio(&self) -> String {
        match self.whole {
            [a, b] if a == b => "A = B".to_owned(),
            [a, b] if a > b => {
                times(a, b).map_or_else(|| "only A".to_owned(), |times| format!("A = {times} B"))
            }
            [a, b] => {
                times(b, a).map_or_else(|| "only B".to_owned(), |times| format!("B = {times} A"))
            }
        }
    }
}

/// What both runs count; `all` adds what is equal, but never what neither has.
pub(crate) fn lines(session: &Session, all: bool) -> Vec<Line> {
    let [a, b] = session.runs() else { return Vec::new() };
    let of = |counters: [&Counters; 2], counter| counters.map(|one| one.get(counter));
    let line = |counter: &Counter| Line {
        counter: *counter,
        now: of([a.now(), b.now()], *counter),
        whole: of([a.total(), b.total()], *counter),
    };
    let lines = Counter::ALL.iter().map(line);
    lines.filter(|line| if all { line.whole != [0, 0] } else { line.differs() }).collect()
}

/// What a counter is called where there is room.
pub(crate) fn name(counter: Counter) -> String {
    counter.name().replace('_', " ")
}

/// Whether it counts bytes.
pub(crate) fn in_bytes(counter: Counter) -> bool {
    counter.name().contains("bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson;

    #[test]
    fn the_list_has_every_moment_once_and_folds_what_is_equal() {
        let mut session = lesson::open(lesson::FIRST).0;
        let last = session.way().last();
        for far in [false, true] {
            for at in [0, 1, 50, 200, last] {
                session.go(at);
                let rows = rows(&session, far);
                assert!(rows.iter().filter(|row| row.holds(at)).count() <= 1);
                assert!(at == 0 || rows.iter().any(|row| row.holds(at)), "{at} is in the list");
                for two in rows.windows(2) {
                    let end = |row: Row| match row {
                        Row::Equal(_, last) | Row::Differs(last) => last,
                    };
                    let start = |row: Row| match row {
                        Row::Equal(first, _) | Row::Differs(first) => first,
                    };
                    assert_eq!(end(two[0]) + 1, start(two[1]));
                    let folds = |row: Row| matches!(row, Row::Equal(..));
                    assert!(!(folds(two[0]) && folds(two[1])));
                }
                assert!(rows.len() <= 2 * (ROWS.0 + ROWS.1) + 1);
            }
        }
        session.go(0);
        assert!(matches!(rows(&session, false)[0], Row::Equal(1, folded) if folded > 10));
    }

    #[test]
    fn counters_that_differ_are_told_with_their_ratio() {
        let mut session = lesson::open(lesson::FIRST).0;
        session.go(usize::MAX);
        let differs = lines(&session, false);
        let written = differs.iter().find(|line| line.counter == Counter::DeviceWritten);
        assert_eq!(written.map(Line::ratio).as_deref(), Some("A = 16 \u{d7} B"));
        let waste = differs.iter().find(|line| line.counter == Counter::CleanWritten);
        assert_eq!(waste.map(Line::ratio).as_deref(), Some("only A"));
        assert!(differs.iter().all(|line| line.now == line.whole && line.differs()));
        assert!(lines(&session, true).len() > differs.len());
        session.swap();
        let written =
            lines(&session, false).into_iter().find(|one| one.counter == Counter::DeviceWritten);
        assert_eq!(written.as_ref().map(Line::ratio).as_deref(), Some("B = 16 \u{d7} A"));
    }

    #[test]
    fn swapping_twice_is_nothing_and_keeps_the_moment() {
        let mut session = lesson::open(lesson::FIRST).0;
        session.go(100);
        let (moment, names) = (session.moment(), session.runs()[0].name().to_owned());
        session.swap();
        assert_eq!(session.runs()[1].name(), names);
        assert_eq!(session.moment().position(1), moment.position(0));
        assert_eq!(session.runs()[1].timeline().position(), moment.position(0));
        session.swap();
        assert_eq!(session.moment(), moment);
    }

    #[test]
    fn two_traces_stand_beside_each_other() {
        let (one, two) = (lesson::open(lesson::FIRST).0, lesson::open(lesson::FIRST).0);
        let b = two.runs()[1].name().to_owned();
        let total = two.runs()[1].total().clone();
        let mut two = two;
        two.swap();
        let both = one.beside(two, "first".to_owned(), "second".to_owned());
        assert_eq!(both.runs().len(), 2);
        assert_eq!(both.runs()[1].total(), &total);
        assert_eq!((both.runs()[0].name(), both.runs()[1].name()), ("first", "second"));
        assert_ne!(b, "second");
        assert!(!both.differences().is_empty() && both.at() == 0);
    }
}
