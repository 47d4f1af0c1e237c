//! The lesson "sub-page dirty tracking": its question, the answers, and the stops behind it.
//!
//! Every number in its words comes from the runs. The lesson is tiny (49 operations in two runs, a
//! few milliseconds), so it runs on the main thread at load; what a viewer opens is limited in
//! [`crate::open`] to what may run there as well.

use crate::session::Session;
use folioscope_core::block::bio::BioOp;
use folioscope_core::counters::Counter;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scene::fixed::{size, times};
use folioscope_core::scene::view::Lane;
use folioscope_core::trace::rule::Rule;
use folioscope_core::units::FileRange;

const FILE: &str = include_str!("../../assets/scenarios/sub-page-dirty-tracking.toml");
/// The operations of the first write: it, and the fdatasync that sends it.
const WRITE: usize = 1;
const SYNC: usize = 2;

/// What there is to know before one answers.
const HINT: &str =
    "Every block of this folio was read before. The app wrote one of them; fdatasync comes next.";

/// What a viewer thinks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// What was asked for.
    Changed,
    /// The whole folio.
    Folio,
    /// It depends.
    Depends,
    /// None: they want to be shown.
    Shown,
}

/// A stop: where to stand, what to look at, what to say.
pub struct Stop {
    /// Its name on the rail.
    pub title: &'static str,
    /// One sentence.
    pub sentence: String,
    /// The moment.
    pub at: usize,
    /// Which lanes.
    pub lanes: &'static [Lane],
    /// Whether the rule that fired is shown.
    pub why: bool,
    /// Whether the whole file is shown rather than one folio.
    pub whole: bool,
}

/// The lesson, and what its runs showed.
pub struct Lesson {
    /// The stops, the question first.
    pub stops: Vec<Stop>,
    /// The folio that the question is about.
    pub folio: Option<FileRange>,
    /// Bytes that the application changed.
    changed: u64,
    /// Bytes that each run sent for them.
    sent: [u64; 2],
}

const FIRST: &[Lane] = &[Lane::File, Lane::Cache, Lane::Device];
const FIVE: &[Lane] = &[Lane::File, Lane::Cache, Lane::Mapping, Lane::Bios, Lane::Device];
const TALLY: &[Lane] = &[Lane::File, Lane::Cache, Lane::Device, Lane::Tally];

/// The runs of the lesson, at their start.
pub fn session() -> Session {
    let scenario = parse_scenario("the lesson", FILE).expect("a test reads this file");
    Session::of_scenario(&scenario).expect("a test runs this file")
}

/// Opens the lesson at its question.
pub fn open() -> (Session, Lesson) {
    let mut session = session();
    let find = |session: &Session, op, rule| session.find(op, rule, 1).unwrap_or_default();
    let ask = find(&session, WRITE, Rule::OpEnds);
    session.go(ask);
    let changed = session.runs()[0].now().get(Counter::AppWritten);
    let folio = dirty_folio(&session);
    let sends = find(&session, SYNC, Rule::BioSubmitted);
    session.go(sends);
    let sent = [0, 1].map(|run| on_its_way(&session, run));
    let chooses = find(&session, SYNC, Rule::UptodateRun);
    let lesson = Lesson { stops: Vec::new(), folio, changed, sent };
    let [a, b] = sent.map(size);
    let total = |run: usize, counter| session.runs()[run].total().get(counter);
    let writes = total(0, Counter::AppWritten) / changed.max(1);
    let all = size(total(0, Counter::AppWritten));
    let [all_a, all_b] = [0, 1].map(|run| size(total(run, Counter::DeviceWritten)));
    let factor = lesson.factor();
    let stops = vec![
        Stop {
            title: "One dirty block",
            sentence: HINT.to_owned(),
            at: ask,
            lanes: FIRST,
            why: false,
            whole: false,
        },
        Stop {
            title: "Down it goes",
            sentence: format!("A sends {a}, B sends {b}. The hatched blocks go down though nobody changed them."),
            at: sends,
            lanes: FIRST,
            why: false,
            whole: false,
        },
        Stop {
            title: "Who chose?",
            sentence: "A few steps earlier: A knows only that the folio is dirty, so it takes every block that is uptodate. B keeps a dirty bit for each block.".to_owned(),
            at: chooses,
            lanes: FIRST,
            why: true,
            whole: false,
        },
        Stop {
            title: "One bio each",
            sentence: format!("Both runs send one bio, so counting requests would show nothing: A's is {factor} as long."),
            at: sends,
            lanes: FIVE,
            why: false,
            whole: false,
        },
        Stop {
            title: "And every time",
            sentence: format!("{writes} such writes later: the app wrote {all}, A sent {all_a}, B sent {all_b}."),
            at: session.way().last(),
            lanes: TALLY,
            why: false,
            whole: true,
        },
    ];
    session.go(ask);
    (session, Lesson { stops, ..lesson })
}

/// Where the folio lies that the application changed.
fn dirty_folio(session: &Session) -> Option<FileRange> {
    let model = session.runs()[0].timeline().model();
    let geometry = model.geometry();
    let changed = |folio: &folioscope_core::trace::model::FolioState| {
        (0..folio.blocks()).any(|block| folio.is_dirty(block))
    };
    let (_, folio) = model.folios().find(|(_, folio)| changed(folio))?;
    let place = folio.place();
    FileRange::new(geometry.page_pos(place.index), geometry.folio_size(place.order))
}

/// Bytes of the write bios that exist now.
fn on_its_way(session: &Session, run: usize) -> u64 {
    let bios = session.runs()[run].timeline().model().bios();
    bios.filter(|(_, bio)| bio.head().op == BioOp::Write).map(|(_, bio)| bio.len().get()).sum()
}

impl Lesson {
    /// The question.
    pub fn question(&self) -> String {
        format!("The app changed {}. How much goes to the disk?", size(self.changed))
    }
    /// The words beside the question.
    pub fn hint(&self) -> String {
        HINT.to_owned()
    }
    /// The answers to choose from.
    pub fn choices(&self) -> [(Answer, String); 3] {
        [
            (Answer::Changed, size(self.changed)),
            (Answer::Folio, size(self.sent[0])),
            (Answer::Depends, "It depends".to_owned()),
        ]
    }
    /// How much more A sent than B.
    pub fn factor(&self) -> String {
        times(self.sent[0], self.sent[1]).unwrap_or_default()
    }
    /// What there is to say to an answer.
    pub fn verdict(&self, answer: Answer) -> String {
        let [a, b] = self.sent.map(size);
        match answer {
            Answer::Changed => format!(
                "Only if the kernel knows which block is dirty (B). If it knows only the folio (A), {a} go down."
            ),
            Answer::Folio => format!(
                "Only if the kernel knows no more than that the folio is dirty (A). If it knows the block (B), {b} go down."
            ),
            Answer::Depends => format!(
                "Right: on what the kernel remembers. A knows that the folio is dirty and sends {a}; B knows the block and sends {b}."
            ),
            Answer::Shown => format!(
                "A knows only that the folio is dirty and sends {a}; B knows the block and sends {b}."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lesson_says_what_its_runs_show() {
        let (session, lesson) = open();
        assert_eq!(lesson.question(), "The app changed 4 KiB. How much goes to the disk?");
        assert_eq!(lesson.factor(), "16 \u{d7}");
        assert_eq!(lesson.choices()[1].1, "64 KiB");
        assert_eq!(session.at(), lesson.stops[0].at);
        assert_eq!(lesson.folio.map(|folio| folio.start().get()), Some(65_536));
        let last = &lesson.stops[4].sentence;
        assert_eq!(
            last,
            "24 such writes later: the app wrote 96 KiB, A sent 1.5 MiB, B sent 96 KiB."
        );
        assert!(lesson.stops[2].at < lesson.stops[1].at && lesson.stops[0].at < lesson.stops[2].at);
    }
}
