//! The root component: the state of the page and what may happen to it.

pub(crate) mod compare;
mod edit;

use crate::browser::{
    Colours, Width, listen_drops, listen_keys, listen_links, listen_wheel, read, reduced_motion,
};
use crate::chart;
use crate::edit::{Edit, Editor};
use crate::engine::Engine;
use crate::find::{self, Halt};
use crate::hand;
use crate::keys::{Action, Focus, action};
use crate::lesson::{self, Answer};
use crate::looking::Glance;
use crate::open::{self, Found};
use crate::parts::{self, Link, Strip};
use crate::patch::Painter;
use crate::session::shorten;
use crate::share::{self, Target};
use crate::sharing::{ShareMsg, Sharing, sentence};
use crate::stage::{Look, Picture, draw, shared_patterns};
use crate::state::{Form, Source, State};
use crate::strip;
use folioscope_core::service::{Contents, Reply, Request};
use folioscope_core::trace::step::Grain;
use folioscope_core::units::FileId;
use gloo_events::EventListener;
use gloo_timers::callback::{Interval, Timeout};
use std::cell::Cell;
use std::rc::Rc;
use web_sys::{Element, File, HtmlDialogElement};
use yew::{AttrValue, Component, Context, Html, NodeRef, Properties, html};

/// Milliseconds between two steps on the way to the proof of an answer.
const TRAVEL: u32 = 180;
/// Milliseconds without a change until the address of the page follows: browsers take about seven
/// changes a second.
const SETTLED: u32 = 300;

/// What may happen.
pub enum Msg {
    /// With the runs that are shown.
    Shown(Act),
    /// How two runs are looked at, and which.
    Compare(compare::Ask),
    /// The chart under the timeline.
    Chart(chart::Ask),
    /// Searching, jumping, stops and marks.
    Find(find::Ask),
    /// The editor.
    Edit(Edit),
    Lesson(u32),
    Example(String),
    Gallery,
    Pick,
    Open(File),
    Read(String, Result<Vec<u8>, String>),
    Replied(Asked, Box<Reply>),
    /// The fragment of the page's address is another one.
    Arrived,
    /// The address may follow what is on the stage.
    Settled,
    Share(ShareMsg),
    Dismiss,
    Colours(Colours),
    Keys(bool),
    Help(bool),
    Width(u32),
    StripWidth(u32),
}

/// What a viewer may do with the runs that are shown.
#[derive(Clone, Copy)]
pub enum Act {
    Key(Action),
    /// To a moment.
    Go(usize),
    /// The slider moves; it says nothing until it settles.
    Scrub(usize),
    Settle,
    Step(bool),
    Op(bool),
    Play,
    Beat,
    Answer(Answer),
    Stop(usize),
    Lanes,
    Why,
    Zoom,
    Form(Form),
    File(u32),
    /// Looks at something on the picture.
    Look(Glance),
    Grain(Grain),
    Speed(usize),
}

impl From<Edit> for Msg {
    fn from(edit: Edit) -> Self {
        Self::Edit(edit)
    }
}

impl From<Act> for Msg {
    fn from(act: Act) -> Self {
        Self::Shown(act)
    }
}

impl From<ShareMsg> for Msg {
    fn from(msg: ShareMsg) -> Self {
        Self::Share(msg)
    }
}

/// What the engine was asked for.
#[derive(Clone, Default)]
pub struct Asked {
    /// What the viewer calls it.
    name: String,
    /// It is one of the examples.
    example: bool,
    /// Where a link leads.
    target: Target,
    /// Why it was asked instead of something else.
    sorry: Option<String>,
}

impl From<String> for Asked {
    fn from(name: String) -> Self {
        Self { name, ..Self::default() }
    }
}

/// What the page needs.
#[derive(Clone, PartialEq, Properties)]
pub struct Props {
    /// What runs its scenarios.
    pub engine: Engine,
    /// Whether the address of the page says what it shows.
    pub address: bool,
}

/// What moves by itself.
enum Motion {
    None,
    /// Until paused, or the end.
    Play(#[allow(dead_code, reason = "it beats for as long as it is kept")] Interval),
    /// To the proof of an answer.
    Travel(#[allow(dead_code, reason = "it beats for as long as it is kept")] Interval, usize),
}

/// The elements whose widths count.
type Places = (Option<Element>, Option<Element>);

/// The whole page.
pub struct App {
    state: Option<State>,
    contents: Contents,
    gallery: bool,
    motion: Motion,
    colours: Colours,
    keys: Rc<Cell<bool>>,
    alert: Option<String>,
    sharing: Sharing,
    /// The fragment of the page's address, and the wait until it follows.
    address: (String, Option<Timeout>),
    width: u32,
    picture: Picture,
    painter: Painter,
    /// The picture is not in the document yet.
    fresh: bool,
    /// Bytes may be seen moving to where they are now.
    moves: bool,
    drawn: Option<(usize, Look, bool)>,
    strip: (u32, AttrValue),
    stage_place: NodeRef,
    strip_place: NodeRef,
    picker: NodeRef,
    dialog: NodeRef,
    patterns: AttrValue,
    editor: Editor,
    text_place: NodeRef,
    watched: Option<(Places, [Option<Width>; 2])>,
    wheel: Option<EventListener>,
    _listeners: (Option<EventListener>, Vec<EventListener>, Option<EventListener>),
}

impl Component for App {
    type Message = Msg;
    type Properties = Props;

    fn create(ctx: &Context<Self>) -> Self {
        let keys = Rc::new(Cell::new(true));
        let (link, on) = (ctx.link().clone(), keys.clone());
        let pressed = listen_keys(move |key: &str, focus: Focus| {
            let action = action(key, focus).filter(|action| on.get() || *action == Action::Help);
            if let Some(action) = action {
                link.send_message(match action {
                    Action::Help => Msg::Help(true),
                    Action::Find(key) => Msg::Find(key.into()),
                    Action::Compare(key) => Msg::Compare(key.into()),
                    Action::Play
                    | Action::Step(_)
                    | Action::Op(_)
                    | Action::Start
                    | Action::End
                    | Action::Percent(_)
                    | Action::Difference => Act::Key(action).into(),
                });
            }
            action.is_some()
        });
        let link = ctx.link().clone();
        let dropped = listen_drops(move |file| link.send_message(Msg::Open(file)));
        let link = ctx.link().clone();
        let arrived = listen_links(move || link.send_message(Msg::Arrived));
        let arrived = arrived.filter(|_| ctx.props().address);
        let colours = Colours::stored();
        colours.apply();
        let mut page = Self {
            state: None,
            contents: Contents::default(),
            gallery: false,
            motion: Motion::None,
            colours,
            keys,
            alert: None,
            sharing: Sharing::default(),
            address: (String::new(), None),
            width: 0,
            picture: Picture::default(),
            painter: Painter::default(),
            fresh: false,
            moves: false,
            drawn: None,
            strip: (0, AttrValue::from("")),
            stage_place: NodeRef::default(),
            strip_place: NodeRef::default(),
            picker: NodeRef::default(),
            dialog: NodeRef::default(),
            patterns: AttrValue::from(shared_patterns()),
            editor: Editor::default(),
            text_place: NodeRef::default(),
            watched: None,
            wheel: None,
            _listeners: (pressed, dropped, arrived),
        };
        page.arrive(ctx, true);
        ask(ctx, Request::Contents, String::new());
        page
    }

    fn update(&mut self, ctx: &Context<Self>, msg: Msg) -> bool {
        match msg {
            Msg::Pick => {
                if let Some(input) = self.picker.cast::<web_sys::HtmlElement>() {
                    input.click();
                }
                return false;
            }
            Msg::Open(file) => return self.open(ctx, file),
            Msg::Lesson(number) => {
                ask(ctx, Request::Lesson(number), format!("Lesson {number}"));
            }
            Msg::Example(name) => {
                let asked = Asked { example: true, ..Asked::from(name.clone()) };
                ask(ctx, Request::Example(name), asked);
            }
            Msg::Read(name, bytes) => self.read(ctx, name, bytes),
            Msg::Replied(asked, reply) => {
                self.replied(ctx, asked, *reply);
                self.wait(ctx);
            }
            Msg::Arrived => self.arrive(ctx, false),
            Msg::Settled => {
                self.follow();
                return false;
            }
            Msg::Share(msg) => {
                let Some(mut state) = self.state.take() else { return false };
                if msg == ShareMsg::Show {
                    self.pause();
                }
                self.sharing.update(ctx, &mut state, self.colours, msg);
                self.state = Some(state);
            }
            Msg::Edit(edit) => self.edit(ctx, edit),
            Msg::Gallery => {
                self.pause();
                self.gallery = true;
            }
            Msg::Dismiss => self.alert = None,
            Msg::Keys(on) => self.keys.set(on),
            Msg::Help(show) => self.help(show),
            Msg::Colours(colours) => {
                self.colours = colours;
                colours.apply();
            }
            Msg::Width(width) => self.width = width,
            Msg::StripWidth(width) => {
                self.strip.0 = width;
                self.draw_strip();
            }
            Msg::Compare(ask) => return self.compare(ctx, ask),
            Msg::Chart(ask) => {
                let Some(state) = &mut self.state else { return false };
                chart::update(state, ask);
                let drawn = self.update_rest(ctx);
                let works = self.state.as_ref().is_some_and(|state| state.chart.works());
                return drawn && (ask != chart::Ask::Work || !works);
            }
            Msg::Find(ask) => {
                let Some(state) = &mut self.state else { return false };
                let (link, work) = (ctx.link().clone(), ask == find::Ask::Work);
                let again = move || link.send_message(Msg::Find(find::Ask::Work));
                if let Some(at) = find::update(state, ask, again) {
                    return self.update(ctx, Act::Go(at).into());
                }
                if !state.find.tells(work) {
                    return false;
                }
            }
            Msg::Shown(msg) => {
                let Some(mut state) = self.state.take() else { return false };
                self.interrupt(&mut state, &msg);
                self.act(ctx, &mut state, msg);
                self.state = Some(state);
                self.wait(ctx);
            }
        }
        self.update_rest(ctx)
    }

    fn view(&self, ctx: &Context<Self>) -> Html {
        let link = ctx.link();
        let main = match &self.state {
            _ if self.gallery => parts::gallery(link, &self.contents),
            Some(state) => self.player(link, state),
            None => html! { <p class="quietly" role="status">{ "Running\u{2026}" }</p> },
        };
        let (said, playing) = match &self.state {
            Some(state) if !self.gallery => (state.said.as_str(), Some(state)),
            _ => ("", None),
        };
        let editing = self.editor.open && playing.is_some();
        html! {
            <>
                { parts::top(link, (self.gallery, editing), self.colours, &self.picker) }
                <main class={editing.then_some("editing")}>
                    { parts::alert(link, self.alert.as_deref()) }
                    if editing {
                        <div class="player">{ main }</div>
                        { parts::edit(link, &self.editor, playing, &self.text_place) }
                    } else {
                        { main }
                    }
                </main>
                if let Some(state) = playing { { self.transport(link, state) } }
                <p id="said" class="vh" aria-live="polite">{ said }</p>
                { parts::help(link, self.keys.get(), &self.dialog) }
                { parts::share(link, playing, &self.sharing) }
                { Html::from_html_unchecked(self.patterns.clone()) }
            </>
        }
    }

    fn rendered(&mut self, ctx: &Context<Self>, _first: bool) {
        self.paint();
        if let Some(state) = &mut self.state {
            state.find.rendered();
        }
        parts::put_caret(&mut self.editor, &self.text_place);
        let places = (self.stage_place.cast::<Element>(), self.strip_place.cast::<Element>());
        if self.watched.as_ref().is_some_and(|(elements, _)| *elements == places) {
            return;
        }
        let watch = |place: &Option<Element>, message: fn(u32) -> Msg| {
            let link = ctx.link().clone();
            Width::watch(place.as_ref()?, move |width| link.send_message(message(width)))
        };
        let link = ctx.link().clone();
        let turned = move |x, near| {
            let at = Some(x);
            let glance = if near { Glance::In(at) } else { Glance::Out(at) };
            link.send_message(Act::Look(glance));
        };
        self.wheel = places.0.as_ref().map(|place| listen_wheel(place, turned));
        let widths = [watch(&places.0, Msg::Width), watch(&places.1, Msg::StripWidth)];
        self.watched = Some((places, widths));
    }
}

impl App {
    /// What follows from whatever happened: searches go on, and the picture is drawn.
    fn update_rest(&mut self, ctx: &Context<Self>) -> bool {
        if let Some(state) = &mut self.state {
            state.find.draw(state.session.way().last(), self.strip.0);
            let link = ctx.link().clone();
            let again = move || link.send_message(Msg::Chart(chart::Ask::Work));
            chart::tend(state, self.strip.0, again);
        }
        self.redraw();
        true
    }
    /// What a viewer does with the runs that are shown, asked for by another part.
    fn update_shown(&mut self, ctx: &Context<Self>, act: Act) -> bool {
        self.update(ctx, act.into())
    }
    fn player(&self, link: &Link, state: &State) -> Html {
        html! {
            <>
                { parts::question(link, state) }
                { parts::stage(link, state, &self.picture, &self.stage_place) }
                { parts::caption(link, state, &self.picture) }
                { parts::inspector(link, state, &self.picture) }
                { parts::stops(link, state) }
                if !state.asks() {
                    <div class="panels">
                        if state.compare.open { { parts::compare(link, state) } }
                        if state.why { { parts::why(&state.session) } }
                        { parts::counters(link, &state.session) }
                    </div>
                    { parts::known(state) }
                }
            </>
        }
    }
    fn transport(&self, link: &Link, state: &State) -> Html {
        let strip = Strip {
            markup: self.strip.1.clone(),
            width: self.strip.0,
            height: strip::height(&state.session),
            place: &self.strip_place,
        };
        parts::transport(link, state, matches!(self.motion, Motion::Play(_)), &strip)
    }

    fn replied(&mut self, ctx: &Context<Self>, asked: Asked, reply: Reply) {
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
    fn refused(&mut self, ctx: &Context<Self>, name: &str, why: &str) {
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
    fn arrive(&mut self, ctx: &Context<Self>, first: bool) {
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
    fn wait(&mut self, ctx: &Context<Self>) {
        if ctx.props().address {
            let link = ctx.link().clone();
            self.address.1 = Some(Timeout::new(SETTLED, move || link.send_message(Msg::Settled)));
        }
    }
    /// The address says what is on the stage, where a short one can.
    fn follow(&mut self) {
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
    fn open(&mut self, ctx: &Context<Self>, file: File) -> bool {
        let name = file.name();
        if file.size() > open::MAX_BYTES as f64 {
            self.alert = Some(open::too_large(&name, file.size()));
            return true;
        }
        ctx.link().send_future(async move { Msg::Read(name, read(file).await) });
        false
    }
    fn read(&mut self, ctx: &Context<Self>, name: String, bytes: Result<Vec<u8>, String>) {
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
    /// Another session takes the stage.
    fn show(&mut self, state: State) {
        self.motion = Motion::None;
        self.alert = None;
        self.gallery = false;
        self.state = Some(state);
        self.drawn = None;
        self.draw_strip();
    }
    fn draw_strip(&mut self) {
        if let Some(state) = &self.state {
            self.strip.1 = AttrValue::from(strip::draw(&state.session, self.strip.0));
        }
    }
    /// Draws the stage anew if anything on it changed.
    fn redraw(&mut self) {
        let Some(state) = &mut self.state else { return };
        if self.width == 0 || self.gallery {
            return;
        }
        // The hidden twin can wait while time runs.
        let twin = state.form != Form::Picture || matches!(self.motion, Motion::None);
        let wanted = (state.session.at(), state.look(self.width), twin);
        if self.drawn.as_ref() == Some(&wanted) {
            return;
        }
        self.picture = draw(&mut state.session, &wanted.1, twin);
        self.fresh = true;
        let before = self.drawn.as_ref().and_then(|(_, look, _)| look.cursor);
        if let Some(found) = self.picture.found.as_ref().filter(|_| before != wanted.1.cursor) {
            state.said = shorten(&found.words, 160);
        }
        self.drawn = Some(wanted);
    }
    /// Writes the picture into the document, if it is not there.
    fn paint(&mut self) {
        let place = self.stage_place.cast::<Element>();
        let shown = self.state.as_ref().filter(|state| state.form != Form::Table);
        match (place, shown) {
            (Some(place), Some(_)) if self.fresh || self.painter.is_elsewhere(&place) => {
                self.painter.show(&place, &self.picture, self.moves);
                self.fresh = false;
            }
            (Some(_), Some(_)) => {}
            (None, _) | (_, None) => self.painter.clear(),
        }
    }
    fn help(&self, show: bool) {
        let Some(dialog) = self.dialog.cast::<HtmlDialogElement>() else { return };
        if !show {
            dialog.close();
        } else if !dialog.open() {
            let _ = dialog.show_modal();
        }
    }

    /// What a viewer does with the runs that are shown.
    fn act(&mut self, ctx: &Context<Self>, state: &mut State, act: Act) {
        self.moves =
            matches!(act, Act::Step(_) | Act::Op(_)) || matches!(act, Act::Beat) && state.is_slow();
        match act {
            Act::Key(action) => self.key(ctx, state, action),
            Act::Go(at) => state.step_to(at),
            Act::Scrub(at) => state.go(at),
            Act::Settle => state.said = state.session.narration(),
            Act::Step(forward) => step(state, state.grain, forward),
            Act::Op(forward) => step(state, Grain::Op, forward),
            Act::Play => self.play(ctx, state),
            Act::Beat => self.beat(state),
            Act::Answer(answer) => self.answer(ctx, state, answer),
            Act::Stop(number) => state.go_to_stop(number),
            Act::Lanes => state.toggle_lanes(),
            Act::Why => state.why = !state.why,
            Act::Zoom => state.whole = !state.whole,
            Act::Form(form) => state.form = form,
            Act::File(file) => state.file = file,
            Act::Look(glance) => {
                let spans = state.session.spans(FileId::new(state.file), state.compare.only);
                let Picture { scene, spots, .. } = &self.picture;
                state.looking.glance(glance, (scene, spots), &spans);
                state.whole |= glance == Glance::Fit;
            }
            Act::Grain(grain) => state.grain = grain,
            Act::Speed(speed) => {
                state.speed = speed.min(crate::state::SPEEDS.len() - 1);
                if matches!(self.motion, Motion::Play(_)) {
                    self.motion = playing(ctx, state);
                }
            }
        }
    }
    /// Whatever a viewer does completes a travel at once, and most of it ends play.
    fn interrupt(&mut self, state: &mut State, act: &Act) {
        let goes_on = matches!(
            act,
            Act::Beat
                | Act::Play
                | Act::Key(_)
                | Act::Speed(_)
                | Act::Grain(_)
                | Act::Form(_)
                | Act::Why
                | Act::Lanes
                | Act::Zoom
                | Act::Look(_)
        );
        if let Motion::Travel(_, target) = self.motion
            && !matches!(act, Act::Beat)
        {
            state.session.go(target);
            self.motion = Motion::None;
        } else if !goes_on {
            self.motion = Motion::None;
        }
    }
    fn key(&mut self, ctx: &Context<Self>, state: &mut State, action: Action) {
        let act = match action {
            Action::Play => Act::Play,
            Action::Step(forward) => Act::Step(forward),
            Action::Op(forward) => Act::Op(forward),
            Action::Start => Act::Go(0),
            Action::End => Act::Go(usize::MAX),
            Action::Percent(percent) => Act::Go(state.session.percent(percent)),
            Action::Help | Action::Find(_) | Action::Compare(_) => return,
            Action::Difference => match state.session.next_difference() {
                Some(at) => Act::Go(at),
                None => return,
            },
        };
        self.interrupt(state, &act);
        self.act(ctx, state, act);
    }
    fn play(&mut self, ctx: &Context<Self>, state: &mut State) {
        if matches!(self.motion, Motion::Play(_)) {
            self.motion = Motion::None;
            state.said = state.session.narration();
            return;
        }
        if state.session.at() == state.session.way().last() {
            state.go(0);
        }
        self.motion = playing(ctx, state);
    }
    /// Ends play, where it is.
    fn pause(&mut self) {
        self.motion = Motion::None;
    }
    fn beat(&mut self, state: &mut State) {
        match self.motion {
            Motion::None => {}
            Motion::Play(_) => {
                let next = state.next_beat();
                match state.find.halt(state.session.at(), next) {
                    Halt::No => state.go(next),
                    Halt::Unknown => {}
                    Halt::At(at, what) => {
                        self.motion = Motion::None;
                        state.go(at);
                        state.said = format!("Stopped at {what}: {}", state.session.place());
                    }
                }
                if state.session.at() == state.session.way().last() {
                    self.motion = Motion::None;
                    state.said = state.session.narration();
                }
            }
            Motion::Travel(_, target) => {
                let next = state.session.neighbour(Grain::Function, true).min(target);
                state.session.go(next);
                if next == target {
                    self.motion = Motion::None;
                }
            }
        }
    }
    fn answer(&mut self, ctx: &Context<Self>, state: &mut State, answer: Answer) {
        let target = state.answer(answer);
        if reduced_motion() {
            state.session.go(target);
            return;
        }
        let link = ctx.link().clone();
        let beat = Interval::new(TRAVEL, move || link.send_message(Act::Beat));
        self.motion = Motion::Travel(beat, target);
    }
}

/// What the first lesson is called, where it cannot be had.
const FIRST: &str = "The first lesson";
/// What a link is called that is being made.
pub(crate) const PACKED: &str = "This moment";

/// Asks the engine for something, which is shown when it comes.
pub(crate) fn ask(ctx: &Context<App>, request: Request, asked: impl Into<Asked>) {
    let asked = asked.into();
    let back = ctx.link().callback(move |reply| Msg::Replied(asked.clone(), Box::new(reply)));
    ctx.props().engine.ask(request, back);
}

fn step(state: &mut State, grain: Grain, forward: bool) {
    let at = state.session.neighbour(grain, forward);
    state.step_to(at);
}

fn playing(ctx: &Context<App>, state: &State) -> Motion {
    let link = ctx.link().clone();
    Motion::Play(Interval::new(state.beat(), move || link.send_message(Act::Beat)))
}
