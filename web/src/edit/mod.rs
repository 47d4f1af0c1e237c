//! The editor: the text of a scenario, what the engine says of it, and the runs that it gives.
//!
//! The engine answers later. An answer belongs to the text that it was asked for, by its number: an
//! older one is never shown, and one question at a time is under way, so that typing asks for the
//! newest text only. It knows no browser.

mod change;
mod history;
pub(crate) mod size;
mod text;

pub(crate) use change::Change;
pub(crate) use text::{from_utf16, place, utf16};

use crate::compare::Origin;
use crate::session::Session;
use crate::state::State;
use change::apply;
use folioscope_core::service::{Checked, Opened, Reply, Request, Section};
use folioscope_core::trace::address::Address;
use folioscope_core::trace::header::Header;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::Recording;
use history::History;
use std::collections::VecDeque;
use std::ops::Range;

/// The scenario that is opened where nothing with a text is.
pub(crate) const SANDBOX: &str = "sandbox";

/// Goes behind the name of a setting whose run was edited.
pub(crate) const EDITED: &str = ", edited";

/// A run with its setting.
pub(crate) type Kept = (String, Header, Recording);

/// What may happen to the editor.
pub enum Edit {
    /// It is opened or closed.
    Toggle,
    /// The viewer typed: the text, and where the caret is (bytes).
    Typed(String, usize),
    /// The caret went somewhere.
    Caret(usize),
    /// One value, or one block, changes.
    Change(Change),
    Undo,
    Redo,
    /// A table is chosen.
    Select(usize),
    /// A field of a table is wanted.
    Field(usize, &'static str),
    /// To what is wrong.
    ToWrong,
    /// Run it now.
    Run,
    /// Run it whenever it can be.
    Auto(bool),
    /// What it is compared with.
    Keep(Keep),
    /// What is shown becomes what it is compared with.
    KeepThis,
    /// The answer to a question about a text.
    Replied(Question, Box<Reply>),
}

/// What the engine was asked, and of which text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Question {
    Check(u64),
    Run(u64),
}

/// What stands beside the run of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// The other setting of the text itself, if it has one.
    Own,
    /// What a run was when the editor was opened, as A.
    Was(usize),
}

/// What the page is to do.
pub(crate) enum Wish {
    /// Ask the engine.
    Ask(Question, Request),
    /// Show runs; the moment is held.
    Show(Box<Session>, Target),
    /// Say something to those who listen.
    Say(String),
    /// A table is chosen whose operation begins there.
    Go(usize),
    /// There is no text: open the sandbox.
    Sandbox,
}

/// Where new runs are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    /// Where the viewer stands, by cause.
    Held(Address),
    /// Where an operation has ended, counted from 1.
    End(u32),
}

/// The editor.
#[allow(clippy::struct_excessive_bools, reason = "each says something of its own")]
pub(crate) struct Editor {
    pub(crate) open: bool,
    pub(crate) text: String,
    pub(crate) auto: bool,
    pub(crate) keep: Keep,
    /// The table whose form is shown.
    pub(crate) selected: usize,
    /// Why the newest text could not be run.
    pub(crate) refused: Option<String>,
    /// Where the caret is wanted; taken when it was put there.
    pub(crate) caret: Option<Range<usize>>,
    /// The field that is to have the focus; taken when it got it.
    pub(crate) field: Option<&'static str>,
    /// It opens with what comes next.
    waits: bool,
    history: History,
    /// The number of the text.
    revision: u64,
    under_way: Option<Question>,
    checked: Option<(u64, Checked)>,
    /// Which text is on the stage.
    shown: u64,
    /// Run it as soon as it is known to be right.
    eager: bool,
    base: Vec<Kept>,
    queue: VecDeque<Change>,
    /// Where the next runs are shown, if not where the viewer stands.
    target: Option<u32>,
}

impl Default for Editor {
    fn default() -> Self {
        Self {
            open: false,
            text: String::new(),
            auto: true,
            keep: Keep::Own,
            selected: 0,
            refused: None,
            caret: None,
            field: None,
            waits: false,
            history: History::default(),
            revision: 0,
            under_way: None,
            checked: None,
            shown: 0,
            eager: false,
            base: Vec::new(),
            queue: VecDeque::new(),
            target: None,
        }
    }
}

impl Editor {
    /// Something else is on the stage. Whether the editor was waiting for it.
    pub(crate) fn opened(&mut self) -> bool {
        // What was edited is left behind.
        self.open = false;
        core::mem::take(&mut self.waits)
    }
    /// What the engine says of the text as it is; none while it has not answered.
    pub(crate) fn checked(&self) -> Option<&Checked> {
        self.checked.as_ref().filter(|(of, _)| *of == self.revision).map(|(_, checked)| checked)
    }
    /// The newest form there is, and whether it is that of the text as it is.
    pub(crate) fn form(&self) -> Option<(&Checked, bool)> {
        let (of, checked) = self.checked.as_ref()?;
        Some((checked, *of == self.revision))
    }
    /// The table that is chosen.
    pub(crate) fn section(&self) -> Option<&Section> {
        self.form()?.0.sections.get(self.selected)
    }
    /// Whether the stage shows what the text says.
    pub(crate) const fn is_shown(&self) -> bool {
        self.shown == self.revision
    }
    /// Whether the engine runs it.
    pub(crate) const fn runs(&self) -> bool {
        matches!(self.under_way, Some(Question::Run(_)))
    }
    /// Whether something can be undone, and done again.
    pub(crate) fn can(&self) -> (bool, bool) {
        self.history.can()
    }
    /// The runs that were there when the editor was opened.
    pub(crate) fn base(&self) -> &[Kept] {
        &self.base
    }

    /// Something happens; what the page is to do about it.
    pub(crate) fn update(&mut self, edit: Edit, state: Option<&State>) -> Vec<Wish> {
        match edit {
            Edit::Toggle if self.open => self.open = false,
            Edit::Toggle => return self.begin(state),
            Edit::Typed(text, caret) => {
                if text != self.text {
                    self.history.typed(&self.text, &text);
                    self.replace(text);
                    self.select_at(caret);
                }
            }
            Edit::Caret(caret) => self.select_at(caret),
            Edit::Change(change) => self.queue.push_back(change),
            Edit::Undo => {
                if let Some(text) = self.history.undo(&self.text) {
                    self.step_to(text);
                }
            }
            Edit::Redo => {
                if let Some(text) = self.history.redo(&self.text) {
                    self.step_to(text);
                }
            }
            Edit::Select(at) => return self.select(at),
            Edit::Field(at, key) => {
                self.field = Some(key);
                return self.select(at);
            }
            Edit::ToWrong => {
                let wrong = self.checked().and_then(|checked| checked.wrong.as_ref());
                self.caret = wrong.map(|wrong| wrong.place.clone());
            }
            Edit::Run => self.eager = true,
            Edit::Auto(on) => self.auto = on,
            Edit::Keep(keep) => {
                self.keep = keep;
                self.eager = true;
                self.shown = 0;
            }
            Edit::KeepThis => {
                self.base = state.map(|state| kept(&state.session)).unwrap_or_default();
                let last = self.base.len().saturating_sub(1);
                self.base.drain(..last);
                self.keep = Keep::Was(0);
                self.eager = true;
                self.shown = 0;
            }
            Edit::Replied(question, reply) => {
                self.under_way = None;
                match (question, *reply) {
                    (Question::Check(of), Reply::Checked(checked)) => self.learn(of, *checked),
                    (Question::Run(of), Reply::Opened(opened)) if of == self.revision => {
                        let mut wishes = self.ran(*opened, state);
                        wishes.extend(self.go_on());
                        return wishes;
                    }
                    (Question::Run(of), Reply::Refused(why)) if of == self.revision => {
                        self.refused = Some(why);
                    }
                    _ => {}
                }
            }
        }
        self.go_on()
    }
    /// Opens the editor over what is on the stage.
    fn begin(&mut self, state: Option<&State>) -> Vec<Wish> {
        let origin = state.and_then(|state| Some((state, state.session.origin()?)));
        let Some((state, origin)) = origin else {
            self.waits = true;
            return vec![Wish::Sandbox];
        };
        let base = kept(&state.session);
        let keep = if base.len() == 1 { Keep::Was(0) } else { Keep::Own };
        *self = Self {
            open: true,
            text: origin.scenario.clone(),
            auto: self.auto,
            keep,
            revision: self.revision + 1,
            shown: self.revision + 1,
            base,
            ..Self::default()
        };
        self.go_on()
    }
    fn replace(&mut self, text: String) {
        self.text = text;
        self.revision += 1;
        self.refused = None;
        self.eager |= self.auto;
    }
    fn step_to(&mut self, (text, caret): (String, usize)) {
        self.queue.clear();
        self.replace(text);
        self.caret = Some(caret..caret);
    }
    /// Chooses the table in whose lines the caret is.
    fn select_at(&mut self, caret: usize) {
        let Some((checked, true)) = self.form() else { return };
        let holds = |section: &Section| {
            section.block.as_ref().is_some_and(|block| (block.start..block.end).contains(&caret))
        };
        // A table of a setting stands in the setting's lines, and behind it in the form.
        self.selected = checked.sections.iter().rposition(holds).unwrap_or(0);
    }
    fn select(&mut self, at: usize) -> Vec<Wish> {
        self.selected = at;
        let Some(section) = self.section() else { return Vec::new() };
        let (block, ops) = (section.block.clone(), section.ops.clone());
        self.caret = block.map(|block| block.start..block.start);
        let shown = self.is_shown() && !ops.is_empty();
        shown.then(|| Wish::Go(ops.end)).into_iter().collect()
    }
    /// The engine has looked at a text.
    fn learn(&mut self, of: u64, checked: Checked) {
        if of != self.revision {
            return;
        }
        self.selected = self.selected.min(checked.sections.len().saturating_sub(1));
        self.checked = Some((of, checked));
    }
    /// What is to be done next: changes that wait for the form, a look at the text, a run.
    fn go_on(&mut self) -> Vec<Wish> {
        if !self.open {
            return Vec::new();
        }
        if let Some((of, checked)) = &self.checked
            && *of == self.revision
            && let Some(change) = self.queue.pop_front()
        {
            if let Some(done) = apply(&self.text, checked, self.selected, &change) {
                self.history.changed(&self.text);
                self.selected = done.selected;
                self.target = done.target.or(self.target);
                self.caret = Some(done.caret.clone());
                self.replace(done.text);
            }
            return self.go_on();
        }
        if self.under_way.is_some() {
            return Vec::new();
        }
        let question = match self.checked() {
            None => Question::Check(self.revision),
            Some(checked) if checked.wrong.is_none() && self.eager && !self.is_shown() => {
                self.eager = false;
                Question::Run(self.revision)
            }
            Some(_) => return Vec::new(),
        };
        self.under_way = Some(question);
        let text = self.text.clone();
        let request = match question {
            Question::Check(_) => Request::Check(text),
            Question::Run(_) => Request::Scenario(text),
        };
        vec![Wish::Ask(question, request)]
    }
    /// The text was run.
    fn ran(&mut self, opened: Opened, state: Option<&State>) -> Vec<Wish> {
        let title = opened.title.clone();
        let (scenario, variants) = (opened.scenario.clone(), opened.variants.clone());
        let runs = match crate::open::runs(opened) {
            Ok(runs) => runs,
            Err(why) => {
                self.refused = Some(why);
                return Vec::new();
            }
        };
        let runs = match self.keep {
            Keep::Own => runs,
            Keep::Was(side) => self.beside(side, runs),
        };
        let held = state.map(|state| held(&state.session)).unwrap_or_default();
        let spoken = if self.keep == Keep::Own { 0 } else { runs.len() - 1 };
        match Session::of_runs(title, runs) {
            Ok(session) => {
                let session = session.spoken_of(spoken);
                self.shown = self.revision;
                let target = self.target.take().map_or(Target::Held(held), Target::End);
                let said = format!("Run. {}", session.summary());
                let session = session.with_origin(Origin { scenario, variants });
                vec![Wish::Show(Box::new(session), target), Wish::Say(said)]
            }
            Err(why) => {
                self.refused = Some(why);
                Vec::new()
            }
        }
    }
    /// What was, and the edited run beside it.
    fn beside(&self, side: usize, mut runs: Vec<Kept>) -> Vec<Kept> {
        let Some((name, header, recording)) = self.base.get(side) else { return runs };
        let edited = runs.swap_remove(side.min(runs.len() - 1));
        let was = (format!("{name}, as it was"), header.clone(), recording.clone());
        let now = (edited.0 + EDITED, edited.1, edited.2);
        vec![was, now]
    }
}

/// The runs of a session.
fn kept(session: &Session) -> Vec<Kept> {
    let each = session.runs().iter().map(|run| {
        let timeline = run.timeline();
        (run.name().to_owned(), timeline.header().clone(), timeline.recording().clone())
    });
    each.collect()
}

/// Where the run that is edited stands, by cause.
fn held(session: &Session) -> Address {
    let Some(run) = session.runs().last() else { return Address::default() };
    let timeline = run.timeline();
    run.ops().address(timeline.recording(), timeline.position())
}

/// The moment of a session that a target means.
pub(crate) fn moment(session: &Session, target: Target) -> usize {
    let Some((side, run)) = session.runs().iter().enumerate().next_back() else { return 0 };
    let recording = run.timeline().recording();
    let ops = run.ops();
    // What is done away with when the next operation begins belongs to that one.
    let end = |op: u32| {
        let (start, end) = ops.span(recording, op as usize)?;
        let gone = recording.steps()[start..end].iter().rev();
        Some(end - gone.take_while(|step| step.rule == Rule::Retired).count())
    };
    let position = match target {
        Target::Held(address) => {
            let start = || ops.span(recording, address.op as usize).map(|(start, _)| start);
            ops.find(recording, address).or_else(start)
        }
        Target::End(op) => end(op),
    };
    session.way().reach(side, position.unwrap_or(recording.len()))
}

#[cfg(test)]
mod tests;
