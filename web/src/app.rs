//! The root component: the state of the page and what may happen to it.

mod arrive;
pub(crate) mod compare;
mod edit;
mod hold;
mod time;

pub(crate) use arrive::Asked;
pub(crate) use arrive::{PACKED, ask};
pub(crate) use hold::Hold;
use time::Motion;

use crate::browser::{Colours, Width, listen_drops, listen_keys, listen_links, listen_wheel};
use crate::chart;
use crate::edit::{Edit, Editor};
use crate::engine::Engine;
use crate::find;
use crate::grips::{Drag, Grip};
use crate::keys::{Action, Focus, action};
use crate::lesson::Answer;
use crate::looking::Glance;
use crate::parts::{self, Link, Strip};
use crate::patch::Painter;
use crate::session::shorten;
use crate::sharing::{ShareMsg, Sharing};
use crate::stage::{Look, Picture, draw, shared_patterns};
use crate::state::{Form, State};
use crate::strip;
use folioscope_core::service::{Contents, Reply, Request};
use folioscope_core::trace::step::Grain;
use gloo_events::EventListener;
use gloo_timers::callback::Timeout;
use std::cell::Cell;
use std::rc::Rc;
use web_sys::{Element, File, HtmlDialogElement};
use yew::{AttrValue, Component, Context, Html, NodeRef, Properties, html};

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
    /// The handles over the picture.
    Hold(Hold),
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

/// What the page needs.
#[derive(Clone, PartialEq, Properties)]
pub struct Props {
    /// What runs its scenarios.
    pub engine: Engine,
    /// Whether the address of the page says what it shows.
    pub address: bool,
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
    key_list: AttrValue,
    editor: Editor,
    /// Handles over the picture, and the one that is dragged.
    grips: Vec<Grip>,
    held: Option<Drag>,
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
            if key == "Escape" {
                link.send_message(Hold::Leave);
            }
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
                    | Action::Difference
                    | Action::First => Act::Key(action).into(),
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
            key_list: AttrValue::from(parts::key_list()),
            editor: Editor::default(),
            grips: Vec::new(),
            held: None,
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
            Msg::Hold(hold) => self.hold(ctx, hold),
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
                let kept = matches!(ask, find::Ask::Stop | find::Ask::Unstop(_))
                    || matches!(ask, find::Ask::Mark | find::Ask::Unmark(_));
                let again = move || link.send_message(Msg::Find(find::Ask::Work));
                if let Some(at) = find::update(state, ask, again) {
                    return self.update(ctx, Act::Go(at).into());
                }
                if kept {
                    self.wait(ctx);
                } else if !state.find.tells(work) {
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
                { parts::help(link, self.keys.get(), &self.key_list, &self.dialog) }
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
        parts::put_focus(&mut self.editor);
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
        self.find_grips();
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
                { parts::stage(link, state, &self.picture, &self.stage_place, self.handles(link)) }
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
    /// The handles over the picture, where its scenario is edited.
    fn handles(&self, link: &Link) -> Option<Html> {
        let shown = self.editor.open.then_some(&self.picture)?;
        Some(parts::grips(link, shown, &self.grips, self.held.as_ref()))
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
}
