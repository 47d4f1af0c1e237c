//! What may happen to the runs that are compared: others come, they change places, one is looked at
//! alone.

use super::{Act, App, Msg};
use crate::browser::read;
use crate::compare::Key;
use crate::open::{self, Found};
use crate::session::Session;
use crate::state::State;
use folioscope_core::service::{Reply, Request};
use web_sys::File;
use yew::Context;

/// What a viewer may ask for.
pub enum Ask {
    /// The panel opens, or closes.
    Show,
    /// Runs change places.
    Swap,
    /// This run alone, or both.
    Only(Option<usize>),
    /// Both, A, B, and so on.
    View,
    /// To the difference before.
    Back,
    /// Of the list, only what reaches the device; or all.
    Far(bool),
    /// Every counter, or those that differ.
    All(bool),
    /// A run of the same scenario with another setting.
    Setting(usize, String),
    /// A file whose run stands beside A.
    Open(File),
    /// Its bytes.
    Read(String, Result<Vec<u8>, String>),
    /// Runs of a scenario that was such a file.
    Beside(String, Box<Reply>),
    /// Runs with other settings.
    Replied(Box<Reply>),
}

impl From<Key> for Ask {
    fn from(key: Key) -> Self {
        match key {
            Key::Swap => Self::Swap,
            Key::View => Self::View,
            Key::Back => Self::Back,
        }
    }
}

impl App {
    pub(super) fn compare(&mut self, ctx: &Context<Self>, ask: Ask) -> bool {
        let Some(state) = &mut self.state else { return false };
        let pair = state.session.compares();
        match ask {
            Ask::Show => state.compare.open = !state.compare.open,
            Ask::Swap if pair => {
                state.session.swap();
                state.find.swap();
                state.chart.swap();
                state.compare.only = state.compare.only.map(|only| 1 - only);
                self.drawn = None;
                self.draw_strip();
            }
            Ask::Only(only) if pair => state.compare.only = only,
            Ask::View if pair => {
                state.compare.only = match state.compare.only {
                    None => Some(0),
                    Some(0) => Some(1),
                    Some(_) => None,
                }
            }
            Ask::Back if pair => {
                let back = state.session.previous_difference();
                return back.is_some_and(|at| self.update_shown(ctx, Act::Go(at)));
            }
            Ask::Swap | Ask::Only(_) | Ask::View | Ask::Back => return false,
            Ask::Far(far) => state.compare.far = far,
            Ask::All(all) => state.compare.all = all,
            Ask::Setting(side, name) => return set(ctx, state, side, name),
            Ask::Open(file) => return self.open_beside(ctx, file),
            Ask::Read(name, bytes) => return self.read_beside(ctx, name, bytes),
            Ask::Beside(name, reply) => {
                let opened = opened(*reply).map_err(|why| open::refused(&name, &why));
                self.beside(opened.map(|session| (name, session)));
            }
            Ask::Replied(reply) => match opened(*reply) {
                Ok(session) => self.replace(session),
                Err(why) => self.alert = Some(open::refused("the run", &why)),
            },
        }
        self.update_rest(ctx)
    }
    fn open_beside(&mut self, ctx: &Context<Self>, file: File) -> bool {
        let name = file.name();
        if file.size() > open::MAX_BYTES as f64 {
            self.alert = Some(open::too_large(&name, file.size()));
            return true;
        }
        ctx.link().send_future(async move {
            let bytes = read(file).await;
            Msg::Compare(Ask::Read(name, bytes))
        });
        false
    }
    fn read_beside(
        &mut self,
        ctx: &Context<Self>,
        name: String,
        bytes: Result<Vec<u8>, String>,
    ) -> bool {
        let bytes = bytes.map_err(|error| format!("{name}: the browser cannot read it: {error}."));
        match bytes.and_then(|bytes| open::open(&name, &bytes)) {
            Ok(Found::Trace(session)) => self.beside(Ok((name, *session))),
            Ok(Found::Scenario(text)) => {
                let back = ctx.link().callback(move |reply| {
                    Msg::Compare(Ask::Beside(name.clone(), Box::new(reply)))
                });
                ctx.props().engine.ask(Request::Scenario(text), back);
            }
            Err(words) => self.alert = Some(words),
        }
        self.update_rest(ctx)
    }
    /// Another run stands beside A.
    fn beside(&mut self, other: Result<(String, Session), String>) {
        let Some(state) = self.state.take() else { return };
        match other {
            Ok((b, other)) => {
                let a = match state.name() {
                    // Of several runs one is told by its setting.
                    Some(name) if !state.session.compares() => name.to_owned(),
                    _ => state.session.runs()[0].name().to_owned(),
                };
                let b = if a == b { format!("{b}, the second") } else { b };
                self.change(state, |session| session.beside(other, a, b));
            }
            Err(words) => {
                self.alert = Some(words);
                self.state = Some(state);
            }
        }
    }
    /// Runs with other settings take the place of those that are shown.
    pub(super) fn replace(&mut self, session: Session) {
        if let Some(state) = self.state.take() {
            self.change(state, |_| session);
        }
    }
    /// Other runs, looked at as these are, at the step of A with the same cause.
    fn change(&mut self, state: State, to: impl FnOnce(Session) -> Session) {
        let run = &state.session.runs()[0];
        let (recording, ops) = (run.timeline().recording(), run.ops());
        let address =
            |at: usize| ops.address(recording, state.session.way().moment(at).position(0));
        let here = address(state.session.at());
        let marks: Vec<_> =
            state.find.marks.iter().map(|mark| (mark.at, address(mark.at))).collect();
        let (title, lanes, file) = (state.title(), state.lanes.clone(), state.file);
        let (form, grain, speed) = (state.form, state.grain, state.speed);
        let (why, find, compare, looking) = (state.why, state.find, state.compare, state.looking);
        let measure = state.chart.measure;
        let mut new = State::file(title, to(state.session));
        let run = &new.session.runs()[0];
        let (recording, ops) = (run.timeline().recording(), run.ops());
        let moment = |address| {
            let position = ops.find(recording, address);
            position.map(|position| new.session.way().reach(0, position))
        };
        let at = moment(here);
        let moved = |old: usize| {
            let known = marks.iter().find(|(at, _)| *at == old);
            known.and_then(|(_, address)| moment(*address)).unwrap_or(old)
        };
        new.find = find.in_other_runs(&new.session, moved);
        new.compare = compare;
        new.compare.only = None;
        new.chart.measure = measure;
        (new.lanes, new.form, new.grain, new.speed, new.why) = (lanes, form, grain, speed, why);
        if file < new.session.files() {
            (new.file, new.looking) = (file, looking);
        }
        if let Some(at) = at {
            new.session.go(at);
        }
        self.show(new);
    }
}

/// Asks for the runs of the same scenario where one has another setting.
fn set(ctx: &Context<App>, state: &State, side: usize, name: String) -> bool {
    let Some(origin) = state.session.origin() else { return false };
    let mut names: Vec<String> =
        state.session.runs().iter().map(|run| run.name().to_owned()).collect();
    if name.is_empty() {
        names.truncate(1);
    } else if side < names.len() {
        names[side] = name;
    } else {
        names.push(name);
    }
    let back = ctx.link().callback(|reply| Msg::Compare(Ask::Replied(Box::new(reply))));
    ctx.props().engine.ask(Request::Settings(origin.scenario.clone(), names), back);
    false
}

fn opened(reply: Reply) -> Result<Session, String> {
    match reply {
        Reply::Opened(found) => open::opened(*found).map(|(session, _)| session),
        Reply::Refused(why) => Err(why),
        Reply::Contents(_) | Reply::Checked(_) | Reply::Packed(_) => {
            Err("no run came back".to_owned())
        }
    }
}
