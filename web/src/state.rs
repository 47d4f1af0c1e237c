//! The state of the page apart from the browser: what is open, how it is looked at, how time goes.

use crate::chart::Chart;
use crate::compare::Compare;
use crate::find::Find;
use crate::lesson::{Answer, Lesson};
use crate::looking::Looking;
use crate::session::Session;
use crate::stage::Look;
pub(crate) use folioscope_core::link::Form;
use folioscope_core::scene::view::Lane;
use folioscope_core::trace::step::Grain;
use folioscope_core::units::{FileId, FileRange};

/// Steps a second that one can play at.
pub(crate) const SPEEDS: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Above this speed only the ends of operations are drawn, so that nothing flashes.
const FLASH: u32 = 8;
/// Up to this speed bytes are seen moving.
const SLOW: u32 = 4;

/// Steps of a run that is long.
const LONG: usize = 50_000;

const FIVE: [Lane; 5] = [Lane::File, Lane::Cache, Lane::Mapping, Lane::Bios, Lane::Device];

/// What is open.
pub(crate) enum Open {
    /// A lesson, with the answer that was given and the stop that was reached.
    Lesson { lesson: Lesson, answer: Option<Answer>, stop: usize },
    /// A file.
    File { name: String },
}

/// Where runs come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// A lesson, or what somebody brought.
    Own,
    /// A scenario that comes with the page, by its name.
    Example(String),
    /// A link, which the address of the page holds.
    Linked,
}

/// The state.
pub(crate) struct State {
    pub(crate) session: Session,
    pub(crate) open: Open,
    pub(crate) form: Form,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) whole: bool,
    pub(crate) why: bool,
    pub(crate) file: u32,
    pub(crate) looking: Looking,
    pub(crate) grain: Grain,
    /// Index in [`SPEEDS`].
    pub(crate) speed: usize,
    /// What is searched for, stopped at and marked.
    pub(crate) find: Find,
    /// How two runs are looked at.
    pub(crate) compare: Compare,
    /// What is drawn under the timeline.
    pub(crate) chart: Chart,
    /// What was said last to those who listen.
    pub(crate) said: String,
    /// Where its runs come from.
    pub(crate) source: Source,
}

impl State {
    /// A lesson at its question.
    pub(crate) fn lesson(mut session: Session, lesson: Lesson) -> Self {
        let ask = &lesson.told.stops[0];
        session.go(ask.at);
        let (lanes, whole) = (ask.lanes.clone(), ask.whole);
        let open = Open::Lesson { lesson, answer: None, stop: 0 };
        Self { whole, ..Self::new(session, open, lanes, false) }
    }
    /// The runs of a file, where their first write goes to the device.
    pub(crate) fn file(name: String, mut session: Session) -> Self {
        session.go(session.first_write());
        let lanes = Self::lanes_of_file(&session);
        Self::new(session, Open::File { name }, lanes, true)
    }
    /// The lanes that a file is opened with.
    pub(crate) fn lanes_of_file(session: &Session) -> Vec<Lane> {
        // What a remount would find is folded step by step: in a long run it must be asked for.
        let long = session.runs().iter().any(|run| run.timeline().len() > LONG);
        Lane::usual().filter(|lane| !long || *lane != Lane::Left).collect()
    }
    /// The same runs, to be tried with: no question, no stops.
    pub(crate) fn sandbox(self) -> Self {
        Self { open: Open::File { name: "Sandbox".to_owned() }, ..self }
    }
    fn new(session: Session, open: Open, lanes: Vec<Lane>, all: bool) -> Self {
        Self {
            session,
            open,
            form: Form::Picture,
            lanes,
            whole: all,
            why: all,
            file: 0,
            looking: Looking::default(),
            grain: Grain::Function,
            speed: 2,
            find: Find::default(),
            compare: Compare::default(),
            chart: Chart::default(),
            said: String::new(),
            source: Source::Own,
        }
    }

    /// The name of the file that is open.
    pub(crate) fn name(&self) -> Option<&str> {
        match &self.open {
            Open::Lesson { .. } => None,
            Open::File { name } => Some(name),
        }
    }
    /// What is open, in words.
    pub(crate) fn title(&self) -> String {
        match &self.open {
            Open::Lesson { lesson, .. } => format!("Lesson {}", lesson.told.number),
            Open::File { name } => name.clone(),
        }
    }
    /// Whether what goes to the device is still the question.
    pub(crate) const fn asks(&self) -> bool {
        matches!(self.open, Open::Lesson { answer: None, .. })
    }
    /// The part of the file that is in view.
    pub(crate) fn range(&self) -> Option<FileRange> {
        if self.looking.range.is_some() {
            return self.looking.range;
        }
        match &self.open {
            Open::Lesson { lesson, .. } if !self.whole => lesson.told.focus,
            Open::Lesson { .. } | Open::File { .. } => None,
        }
    }
    /// What the stage is asked for.
    pub(crate) fn look(&self, width: u32) -> Look {
        Look {
            width,
            lanes: self.lanes.clone(),
            range: self.range(),
            file: FileId::new(self.file),
            only: self.compare.only,
            covered: self.asks(),
            within: self.looking.range.is_some(),
            cursor: self.looking.cursor,
            inspects: self.looking.inspects,
        }
    }

    /// Goes to a moment; whoever goes beyond the question is shown the answer.
    pub(crate) fn go(&mut self, at: usize) {
        self.session.go(at);
        if let Open::Lesson { lesson, answer: answer @ None, .. } = &mut self.open
            && self.session.at() > lesson.told.stops[0].at
        {
            *answer = Some(Answer::Shown);
        }
    }
    /// Shows the answer, if there is a question.
    pub(crate) fn tell(&mut self) {
        if let Open::Lesson { answer, .. } = &mut self.open {
            answer.get_or_insert(Answer::Shown);
        }
    }
    /// Goes to a moment because the viewer asked for it, and says what happened there.
    pub(crate) fn step_to(&mut self, at: usize) {
        self.go(at);
        self.said = self.session.narration();
    }
    /// Takes an answer; returns where the way to its proof ends.
    pub(crate) fn answer(&mut self, given: Answer) -> usize {
        let Open::Lesson { lesson, answer, stop } = &mut self.open else { return 0 };
        *answer = Some(given);
        *stop = 1;
        let [ask, proof, ..] = lesson.told.stops.as_slice() else { return 0 };
        self.lanes.clone_from(&proof.lanes);
        (self.why, self.whole) = (proof.why, proof.whole);
        let figure = lesson.told.figure.iter().map(|figure| format!("{figure}. "));
        self.said = figure.collect::<String>() + lesson.verdict(given);
        self.session.go(ask.at);
        proof.at
    }
    /// Goes to a stop.
    pub(crate) fn go_to_stop(&mut self, number: usize) {
        let Open::Lesson { lesson, answer, stop } = &mut self.open else { return };
        let number = number.min(lesson.last_stop());
        *stop = number;
        self.looking.range = None;
        if number > 0 {
            answer.get_or_insert(Answer::Shown);
        }
        let stop = &lesson.told.stops[number];
        (self.lanes, self.why, self.whole) = (stop.lanes.clone(), stop.why, stop.whole);
        self.said.clone_from(&stop.says);
        let at = stop.at;
        self.session.go(at);
    }
    /// Whether more than the first lanes are shown.
    pub(crate) fn has_more_lanes(&self) -> bool {
        self.lanes.contains(&Lane::Bios)
    }
    /// Shows mapping and bios too, or hides them again.
    pub(crate) fn toggle_lanes(&mut self) {
        let more = !self.has_more_lanes();
        let tally = self.lanes.contains(&Lane::Tally);
        self.lanes = if more { FIVE.to_vec() } else { vec![Lane::File, Lane::Cache, Lane::Device] };
        if tally {
            self.lanes.push(Lane::Tally);
        }
    }

    /// Whether it plays so slowly that what moves can be followed.
    pub(crate) const fn is_slow(&self) -> bool {
        SPEEDS[self.speed] <= SLOW
    }
    /// Milliseconds between two beats of play.
    pub(crate) const fn beat(&self) -> u32 {
        let speed = SPEEDS[self.speed];
        1000 / if speed < FLASH { speed } else { FLASH }
    }
    /// Where the next beat leads.
    pub(crate) fn next_beat(&self) -> usize {
        let speed = SPEEDS[self.speed];
        let here = self.session.at();
        let way = self.session.way();
        if speed <= FLASH {
            return way.next_of(here, self.grain);
        }
        let steps = (speed / FLASH) as usize;
        way.next_of(here + steps - 1, Grain::Op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson;

    fn lesson() -> State {
        let (session, lesson) = lesson::open(lesson::FIRST);
        State::lesson(session, lesson)
    }

    #[test]
    fn an_answer_leads_to_its_proof_and_stops_lead_on() {
        let mut state = lesson();
        assert!(state.asks());
        let proof = state.answer(Answer::Choice(1));
        assert!(!state.asks() && proof > state.session.at());
        for number in 0..9 {
            state.go_to_stop(number);
            assert!(state.said.len() > 20);
        }
        assert_eq!(state.session.at(), state.session.way().last());
        assert!(state.range().is_none());
    }

    #[test]
    fn whoever_steps_beyond_the_question_sees_the_answer() {
        let mut state = lesson();
        state.step_to(0);
        assert!(state.asks());
        state.step_to(usize::MAX);
        assert!(!state.asks() && !state.said.is_empty());
    }

    #[test]
    fn play_comes_to_the_end_at_every_speed_and_draws_op_ends_only_when_fast() {
        for speed in 0..SPEEDS.len() {
            let mut state = lesson();
            state.speed = speed;
            assert!(state.beat() >= 125);
            let mut beats = 0;
            while state.session.at() < state.session.way().last() {
                state.go(state.next_beat());
                beats += 1;
                assert!(beats < 1000, "speed {speed}");
            }
        }
    }

    #[test]
    fn lanes_are_toggled_and_the_tally_stays() {
        let mut state = lesson();
        state.toggle_lanes();
        assert_eq!(state.lanes, FIVE);
        state.go_to_stop(4);
        state.toggle_lanes();
        assert!(state.has_more_lanes() && state.lanes.contains(&Lane::Tally));
        state.toggle_lanes();
        assert!(!state.has_more_lanes());
    }
}
