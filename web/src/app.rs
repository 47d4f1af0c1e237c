//! The root component: the state of the page and what may happen to it.

use crate::browser::{Colours, Width, listen_drops, listen_keys, read, reduced_motion};
use crate::keys::{Action, Focus, action};
use crate::lesson::Answer;
use crate::parts::{self, Strip};
use crate::stage::{Look, Picture, draw, shared_patterns};
use crate::state::{Form, State};
use crate::{open, strip};
use folioscope_core::trace::step::Grain;
use gloo_events::EventListener;
use gloo_timers::callback::Interval;
use std::cell::Cell;
use std::rc::Rc;
use web_sys::{Element, File, HtmlDialogElement};
use yew::{AttrValue, Component, Context, Html, NodeRef, html};

/// Milliseconds between two steps on the way to the proof of an answer.
const TRAVEL: u32 = 180;

/// What may happen.
pub enum Msg {
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
    Grain(Grain),
    Speed(usize),
    Colours(Colours),
    Keys(bool),
    Help(bool),
    Lesson,
    Pick,
    Open(File),
    Example(usize),
    Read(String, Result<Vec<u8>, String>),
    Dismiss,
    Width(u32),
    StripWidth(u32),
}

/// What moves by itself.
enum Motion {
    None,
    /// Until paused, or the end.
    Play(#[allow(dead_code, reason = "it beats for as long as it is kept")] Interval),
    /// To the proof of an answer.
    Travel(#[allow(dead_code, reason = "it beats for as long as it is kept")] Interval, usize),
}

/// The whole page.
pub struct App {
    state: State,
    motion: Motion,
    colours: Colours,
    keys: Rc<Cell<bool>>,
    alert: Option<String>,
    width: u32,
    picture: Picture,
    svg: AttrValue,
    drawn: Option<(usize, Look, bool)>,
    strip: (u32, AttrValue),
    stage_place: NodeRef,
    strip_place: NodeRef,
    picker: NodeRef,
    dialog: NodeRef,
    patterns: AttrValue,
    watched: Option<(Option<Width>, Option<Width>)>,
    _listeners: (Option<EventListener>, Vec<EventListener>),
}

impl Component for App {
    type Message = Msg;
    type Properties = ();

    fn create(ctx: &Context<Self>) -> Self {
        let keys = Rc::new(Cell::new(true));
        let (link, on) = (ctx.link().clone(), keys.clone());
        let pressed = listen_keys(move |key: &str, focus: Focus| {
            let action = action(key, focus).filter(|action| on.get() || *action == Action::Help);
            if let Some(action) = action {
                link.send_message(Msg::Key(action));
            }
            action.is_some()
        });
        let link = ctx.link().clone();
        let dropped = listen_drops(move |file| link.send_message(Msg::Open(file)));
        let colours = Colours::stored();
        colours.apply();
        Self {
            state: State::lesson(),
            motion: Motion::None,
            colours,
            keys,
            alert: None,
            width: 0,
            picture: Picture::default(),
            svg: AttrValue::from(""),
            drawn: None,
            strip: (0, AttrValue::from("")),
            stage_place: NodeRef::default(),
            strip_place: NodeRef::default(),
            picker: NodeRef::default(),
            dialog: NodeRef::default(),
            patterns: AttrValue::from(shared_patterns()),
            watched: None,
            _listeners: (pressed, dropped),
        }
    }

    fn update(&mut self, ctx: &Context<Self>, msg: Msg) -> bool {
        self.interrupt(&msg);
        match msg {
            Msg::Key(action) => return self.key(ctx, action),
            Msg::Go(at) => self.state.step_to(at),
            Msg::Scrub(at) => self.state.go(at),
            Msg::Settle => self.state.said = self.state.session.narration(),
            Msg::Step(forward) => self.step(self.state.grain, forward),
            Msg::Op(forward) => self.step(Grain::Op, forward),
            Msg::Play => self.play(ctx),
            Msg::Beat => self.beat(),
            Msg::Answer(answer) => self.answer(ctx, answer),
            Msg::Stop(number) => self.state.go_to_stop(number),
            Msg::Lanes => self.state.toggle_lanes(),
            Msg::Why => self.state.why = !self.state.why,
            Msg::Zoom => self.state.whole = !self.state.whole,
            Msg::Form(form) => self.state.form = form,
            Msg::File(file) => self.state.file = file,
            Msg::Grain(grain) => self.state.grain = grain,
            Msg::Speed(speed) => {
                self.state.speed = speed.min(crate::state::SPEEDS.len() - 1);
                if matches!(self.motion, Motion::Play(_)) {
                    self.motion = self.playing(ctx);
                }
            }
            Msg::Colours(colours) => {
                self.colours = colours;
                colours.apply();
            }
            Msg::Keys(on) => self.keys.set(on),
            Msg::Help(show) => self.help(show),
            Msg::Lesson => self.show(State::lesson()),
            Msg::Pick => {
                if let Some(input) = self.picker.cast::<web_sys::HtmlElement>() {
                    input.click();
                }
                return false;
            }
            Msg::Open(file) => return self.open(ctx, file),
            Msg::Example(at) => {
                let (name, text) = open::EXAMPLES[at % open::EXAMPLES.len()];
                self.read(format!("{name}.toml"), Ok(text.as_bytes().to_vec()));
            }
            Msg::Read(name, bytes) => self.read(name, bytes),
            Msg::Dismiss => self.alert = None,
            Msg::Width(width) => self.width = width,
            Msg::StripWidth(width) => {
                self.strip = (width, AttrValue::from(strip::draw(&self.state.session, width)));
            }
        }
        self.redraw();
        true
    }

    fn view(&self, ctx: &Context<Self>) -> Html {
        let (link, state) = (ctx.link(), &self.state);
        let lesson = matches!(state.open, crate::state::Open::Lesson { .. });
        let playing = matches!(self.motion, Motion::Play(_));
        let strip = Strip {
            markup: self.strip.1.clone(),
            width: self.strip.0,
            height: strip::height(&state.session),
            place: &self.strip_place,
        };
        html! {
            <>
                { parts::top(link, lesson, self.colours, &self.picker) }
                <main>
                    { parts::alert(link, self.alert.as_deref()) }
                    { parts::question(link, state) }
                    { parts::stage(state, &self.picture, self.svg.clone(), &self.stage_place) }
                    { parts::caption(link, state, &self.picture) }
                    { parts::stops(link, state) }
                    if !state.asks() {
                        <div class="panels">
                            if state.why { { parts::why(&state.session) } }
                            { parts::counters(&state.session) }
                        </div>
                    }
                    if !state.asks() { { parts::known(state) } }
                </main>
                { parts::transport(link, state, playing, &strip) }
                <p id="said" class="vh" aria-live="polite">{ &state.said }</p>
                { parts::help(link, self.keys.get(), &self.dialog) }
                { Html::from_html_unchecked(self.patterns.clone()) }
            </>
        }
    }

    fn rendered(&mut self, ctx: &Context<Self>, first: bool) {
        if !first {
            return;
        }
        let watch = |place: &NodeRef, message: fn(u32) -> Msg| {
            let link = ctx.link().clone();
            Width::watch(&place.cast::<Element>()?, move |width| link.send_message(message(width)))
        };
        let stage = watch(&self.stage_place, Msg::Width);
        self.watched = Some((stage, watch(&self.strip_place, Msg::StripWidth)));
    }
}

impl App {
    /// Draws the stage anew if anything on it changed.
    fn redraw(&mut self) {
        if self.width == 0 {
            return;
        }
        // The hidden twin can wait while time runs.
        let twin = self.state.form != Form::Picture || matches!(self.motion, Motion::None);
        let wanted = (self.state.session.at(), self.state.look(self.width), twin);
        if self.drawn.as_ref() == Some(&wanted) {
            return;
        }
        self.picture = draw(&mut self.state.session, &wanted.1, twin);
        self.svg = AttrValue::from(core::mem::take(&mut self.picture.svg));
        self.drawn = Some(wanted);
    }
    /// Another session takes the stage.
    fn show(&mut self, state: State) {
        self.motion = Motion::None;
        self.alert = None;
        self.state = state;
        self.drawn = None;
        self.strip.1 = AttrValue::from(strip::draw(&self.state.session, self.strip.0));
    }
    /// Whatever a viewer does completes a travel at once, and most of it ends play.
    fn interrupt(&mut self, msg: &Msg) {
        let goes_on = matches!(
            msg,
            Msg::Beat
                | Msg::Play
                | Msg::Key(_)
                | Msg::Speed(_)
                | Msg::Grain(_)
                | Msg::Form(_)
                | Msg::Why
                | Msg::Lanes
                | Msg::Zoom
                | Msg::Colours(_)
                | Msg::Width(_)
                | Msg::StripWidth(_)
        );
        let ends_travel = !matches!(msg, Msg::Beat | Msg::Width(_) | Msg::StripWidth(_));
        if let Motion::Travel(_, target) = self.motion
            && ends_travel
        {
            self.state.session.go(target);
            self.motion = Motion::None;
        } else if !goes_on {
            self.motion = Motion::None;
        }
    }
    fn key(&mut self, ctx: &Context<Self>, action: Action) -> bool {
        let msg = match action {
            Action::Play => Msg::Play,
            Action::Step(forward) => Msg::Step(forward),
            Action::Op(forward) => Msg::Op(forward),
            Action::Start => Msg::Go(0),
            Action::End => Msg::Go(usize::MAX),
            Action::Percent(percent) => Msg::Go(self.state.session.percent(percent)),
            Action::Help => Msg::Help(true),
            Action::Difference => match self.state.session.next_difference() {
                Some(at) => Msg::Go(at),
                None => return false,
            },
        };
        self.update(ctx, msg)
    }
    fn step(&mut self, grain: Grain, forward: bool) {
        let at = self.state.session.neighbour(grain, forward);
        self.state.step_to(at);
    }

    fn play(&mut self, ctx: &Context<Self>) {
        if matches!(self.motion, Motion::Play(_)) {
            self.pause();
            return;
        }
        if self.state.session.at() == self.state.session.way().last() {
            self.state.go(0);
        }
        self.motion = self.playing(ctx);
    }
    fn playing(&self, ctx: &Context<Self>) -> Motion {
        let link = ctx.link().clone();
        Motion::Play(Interval::new(self.state.beat(), move || link.send_message(Msg::Beat)))
    }
    fn pause(&mut self) {
        self.motion = Motion::None;
        self.state.said = self.state.session.narration();
    }
    fn beat(&mut self) {
        match self.motion {
            Motion::None => {}
            Motion::Play(_) => {
                self.state.go(self.state.next_beat());
                if self.state.session.at() == self.state.session.way().last() {
                    self.pause();
                }
            }
            Motion::Travel(_, target) => {
                let next = self.state.session.neighbour(Grain::Function, true).min(target);
                self.state.session.go(next);
                if next == target {
                    self.motion = Motion::None;
                }
            }
        }
    }
    fn answer(&mut self, ctx: &Context<Self>, answer: Answer) {
        let target = self.state.answer(answer);
        if reduced_motion() {
            self.state.session.go(target);
            return;
        }
        let link = ctx.link().clone();
        let beat = Interval::new(TRAVEL, move || link.send_message(Msg::Beat));
        self.motion = Motion::Travel(beat, target);
    }

    fn help(&self, show: bool) {
        let Some(dialog) = self.dialog.cast::<HtmlDialogElement>() else { return };
        if !show {
            dialog.close();
        } else if !dialog.open() {
            let _ = dialog.show_modal();
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
    fn read(&mut self, name: String, bytes: Result<Vec<u8>, String>) {
        let bytes = bytes.map_err(|error| format!("{name}: the browser cannot read it: {error}."));
        match bytes.and_then(|bytes| open::open(&name, &bytes)) {
            Ok(session) => self.show(State::file(name, session)),
            Err(words) => self.alert = Some(words),
        }
    }
}
