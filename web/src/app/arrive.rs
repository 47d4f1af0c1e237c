//! What comes to the page: answers of the engine, files, and the fragment of its address, which
//! follows what is shown.

use super::time::Motion;
use super::{App, Msg};
use crate::browser::read;
use crate::edit::Edit;
use crate::find::Ask;
use crate::hand;
use crate::lesson;
use crate::open::{self, Found};
use crate::share::{self, Target};
use crate::sharing::{ShareMsg, sentence};
use crate::state::{Source, State};
use folioscope_core::service::{Reply, Request};
use gloo_timers::callback::Timeout;
use web_sys::File;
use yew::Context;

/// Milliseconds without a change until the address of the page follows: browsers take about seven
/// changes a second.
const SETTLED: u32 = 300;

/// What the first lesson is called, where it cannot be had.
pub(super) const FIRST: &str = "The first lesson";
/// What a link is called that is being made.
pub(crate) const PACKED: &str = "This moment";

/// What the engine was asked for.
#[derive(Clone, Default)]
pub struct Asked {
    /// What the viewer calls it.
    pub(super) name: String,
    /// It is one of the examples.
    pub(super) example: bool,
    /// Where a link leads.
    pub(super) target: Target,
    /// Why it was asked instead of something else.
    pub(super) sorry: Option<String>,
}

impl From<String> for Asked {
    fn from(name: String) -> Self {
        Self { name, ..Self::default() }
    }
}

/// Asks the engine for something, which is shown when it comes.
pub(crate) fn ask(ctx: &Context<App>, request: Request, asked: impl Into<Asked>) {
    let asked = asked.into();
    let back = ctx.link().callback(move |reply| Msg::Replied(asked.clone(), Box::new(reply)));
    ctx.props().engine.ask(request, back);
}

impl App {
    pub(super) fn replied(&mut self, ctx: &Context<Self>, asked: Asked, reply: Reply) {
        let Asked { name, example, mut target, sorry } = asked;
        let mut opened = match reply {
            Reply::Contents(contents) => {
                self.contents = contents;
                return;
            }
            Reply::Checked(_) => return,
            Reply::Packed(fragment) => {
                return ctx.link().send_message(ShareMsg::Made(Ok(fragment)));
            }
            Reply::Refused(why) => return self.refused(ctx, &name, &why),
            Reply::Opened(opened) => *opened,
        };
        let linked = opened.moment.take();
        let source = match (example, &linked) {
            (true, _) => Source::Example(name.clone()),
            (false, Some(_)) => Source::Linked,
            (false, None) => Source::Own,
        };
        target.moment = target.moment.or(linked.map(Box::new));
        match open::opened(opened) {
            Ok((session, lesson)) => {
                let mut state = match lesson {
                    Some(lesson) => State::lesson(session, lesson),
                    None => State::file(name, session),
                };
                state.source = source;
                let said = share::arrive(&mut state, target);
                if state.find.works() {
                    ctx.link().send_message(Msg::Find(Ask::Work));
                }
                self.show(state);
                self.alert = sorry.or(said);
                if self.editor.opened() {
                    self.edit(ctx, Edit::Toggle);
                }
            }
            Err(why) => self.refused(ctx, &name, &why),
        }
    }
    /// What was asked for is not to be had; without anything on the stage the first lesson is.
    pub(super) fn refused(&mut self, ctx: &Context<Self>, name: &str, why: &str) {
        let words = open::refused(name, why);
        if self.state.is_some() {
            if name == PACKED {
                ctx.link().send_message(ShareMsg::Made(Err(sentence(why))));
            } else {
                self.alert = Some(words);
            }
        } else if name != FIRST {
            let sorry = Some(words);
            ask(
                ctx,
                Request::Lesson(lesson::FIRST),
                Asked { sorry, ..Asked::from(FIRST.to_owned()) },
            );
        } else {
            self.alert = Some(words);
        }
    }
    /// Opens what the address of the page says; the first lesson if it says nothing.
    pub(super) fn arrive(&mut self, ctx: &Context<Self>, first: bool) {
        let fragment = if ctx.props().address { hand::fragment() } else { String::new() };
        if !first && fragment == self.address.0 {
            return;
        }
        self.address = (fragment, None);
        if self.address.0.is_empty() {
            return ask(ctx, Request::Lesson(lesson::FIRST), FIRST.to_owned());
        }
        match share::wanted(&self.address.0) {
            Ok((request, target)) => {
                let (name, example) = if let Request::Example(name) = &request {
                    (name.clone(), true)
                } else {
                    ("The link".to_owned(), false)
                };
                ask(ctx, request, Asked { name, example, target, sorry: None });
            }
            Err(error) => self.refused(ctx, "The link", &error.to_string()),
        }
    }
    /// The address follows when nothing changes any more.
    pub(super) fn wait(&mut self, ctx: &Context<Self>) {
        if ctx.props().address {
            let link = ctx.link().clone();
            self.address.1 = Some(Timeout::new(SETTLED, move || link.send_message(Msg::Settled)));
        }
    }
    /// The address says what is on the stage, where a short one can.
    pub(super) fn follow(&mut self) {
        let Some(state) = self.state.as_ref().filter(|_| matches!(self.motion, Motion::None))
        else {
            return;
        };
        if let Some((fragment, fresh)) = share::next_address(state, &self.address.0) {
            hand::go(&fragment, fresh);
            self.address.0 = fragment;
        }
    }
    /// Reads a file, unless it is too large to be read at all.
    pub(super) fn open(&mut self, ctx: &Context<Self>, file: File) -> bool {
        let name = file.name();
        if file.size() > open::MAX_BYTES as f64 {
            self.alert = Some(open::too_large(&name, file.size()));
            return true;
        }
        ctx.link().send_future(async move { Msg::Read(name, read(file).await) });
        false
    }
    pub(super) fn read(
        &mut self,
        ctx: &Context<Self>,
        name: String,
        bytes: Result<Vec<u8>, String>,
    ) {
        let bytes = bytes.map_err(|error| format!("{name}: the browser cannot read it: {error}."));
        match bytes.and_then(|bytes| open::open(&name, &bytes)) {
            Ok(Found::Trace(session)) => {
                self.show(State::file(name, *session));
                self.editor.opened();
                self.wait(ctx);
            }
            Ok(Found::Scenario(text)) => ask(ctx, Request::Scenario(text), name),
            Err(words) => self.alert = Some(words),
        }
    }
}
