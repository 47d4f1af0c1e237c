//! What the dialog that shares does.

use crate::app::{App, Msg, PACKED, ask};
use crate::browser::{Colours, dark};
use crate::export::{self, Paper};
use crate::hand;
use crate::share::{self, Made};
use crate::state::{Source, State};
use folioscope_core::scene::view::Theme;
use folioscope_core::service::Request;
use folioscope_core::trace::step::Grain;
use web_sys::HtmlDialogElement;
use yew::{Context, NodeRef};

/// Widths of a picture, for columns of that width.
pub(crate) const WIDTHS: [u32; 4] = [360, 720, 1040, 1440];
/// The usual one, which is also that of `folioscope render`.
const WIDTH: u32 = 1040;

/// What may happen in the dialog.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ShareMsg {
    /// It opens.
    Show,
    /// It closes.
    Close,
    /// The link is made, or not.
    Made(Result<String, String>),
    /// The link goes to the clipboard.
    Link,
    /// The picture in words goes there, as Markdown or as it is.
    Copy(bool),
    /// A file is saved.
    Save(Saved),
    /// Pictures have another width.
    Width(u32),
    /// The range has another end, or start.
    Range(bool, usize),
    /// Something came to its end.
    Done(String),
}

/// What can be saved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Saved {
    /// The moment as SVG.
    Svg,
    /// The moment as PNG.
    Png,
    /// A range as SVG.
    Animated,
    /// The scenario.
    Scenario,
}

/// The state of the dialog.
pub(crate) struct Sharing {
    /// The dialog.
    pub(crate) place: NodeRef,
    /// The address, or why there is none; none while it is being made.
    pub(crate) link: Option<Result<String, String>>,
    /// Width of a picture.
    pub(crate) width: u32,
    /// Moments of an animated picture.
    pub(crate) range: (usize, usize),
    /// What came of it.
    pub(crate) said: String,
}

impl Default for Sharing {
    fn default() -> Self {
        let place = NodeRef::default();
        Self { place, link: None, width: WIDTH, range: (0, 0), said: String::new() }
    }
}

impl Sharing {
    /// Carries a message out.
    pub(crate) fn update(
        &mut self,
        ctx: &Context<App>,
        state: &mut State,
        colours: Colours,
        msg: ShareMsg,
    ) {
        match msg {
            ShareMsg::Show => self.show(ctx, state),
            ShareMsg::Close => self.close(),
            ShareMsg::Made(Ok(fragment)) => self.link = Some(Ok(hand::address(&fragment))),
            ShareMsg::Made(Err(why)) => self.link = Some(Err(why)),
            ShareMsg::Link => {
                if let Some(Ok(url)) = &self.link {
                    hand::select("share-link");
                    copy(ctx, url.clone(), "Link copied.");
                    let fragment = url.split_once('#').map_or("", |(_, fragment)| fragment);
                    keep(state, fragment);
                }
            }
            ShareMsg::Copy(markdown) => {
                let url = self.link.as_ref().and_then(|link| link.as_deref().ok());
                if markdown {
                    copy(ctx, export::markdown(state, url), "Markdown copied.");
                } else {
                    let text = export::text(state);
                    copy(ctx, export::with_link(&text, url), "Text copied.");
                }
            }
            ShareMsg::Save(what) => self.save(ctx, state, colours, what),
            ShareMsg::Width(width) => self.width = width,
            ShareMsg::Range(true, to) => self.range.1 = to,
            ShareMsg::Range(false, from) => self.range.0 = from,
            ShareMsg::Done(said) => self.said = said,
        }
    }
    fn show(&mut self, ctx: &Context<App>, state: &State) {
        let Some(dialog) = self.place.cast::<HtmlDialogElement>() else { return };
        self.said.clear();
        if share::is_alone(state) {
            self.said.push_str("The link leads to the edited run alone: it holds one scenario.");
        }
        // The operation that is shown, from its start to its end.
        let at = state.session.at();
        let way = state.session.way();
        self.range = (way.previous_of(at, Grain::Op), way.next_of(at, Grain::Op));
        self.link = match share::link(state) {
            Made::Fragment(fragment) => Some(Ok(hand::address(&fragment))),
            Made::Nothing(why) => Some(Err(why)),
            Made::Pack(text) => {
                ask(ctx, Request::Pack(text), PACKED.to_owned());
                None
            }
        };
        if !dialog.open() {
            let _ = dialog.show_modal();
        }
    }
    fn close(&self) {
        if let Some(dialog) = self.place.cast::<HtmlDialogElement>() {
            dialog.close();
        }
    }
    fn save(&mut self, ctx: &Context<App>, state: &mut State, colours: Colours, what: Saved) {
        let theme = match colours {
            Colours::Auto => Theme::Auto,
            Colours::Light => Theme::Light,
            Colours::Dark => Theme::Dark,
        };
        let paper = Paper { width: self.width, theme };
        let step = format!("-{}", state.session.at());
        let (name, kind, text) = match what {
            Saved::Svg => {
                (export::file_name(state, &step, "svg"), "image/svg+xml", export::svg(state, paper))
            }
            Saved::Png => {
                // A PNG cannot follow who looks at it.
                let theme = match theme {
                    Theme::Auto if dark() => Theme::Dark,
                    Theme::Auto => Theme::Light,
                    chosen @ (Theme::Light | Theme::Dark) => chosen,
                };
                let svg = export::svg(state, Paper { theme, ..paper });
                let name = export::file_name(state, &step, "png");
                "Making the picture\u{2026}".clone_into(&mut self.said);
                return ctx.link().send_future(async move {
                    let saved = hand::save_png(name.clone(), svg).await;
                    Msg::Share(ShareMsg::Done(told(&name, saved)))
                });
            }
            Saved::Animated => match export::animated(state, self.range, paper) {
                Ok(svg) => {
                    let (from, to) = self.range;
                    let name = export::file_name(state, &format!("-{from}-to-{to}"), "svg");
                    (name, "image/svg+xml", svg)
                }
                Err(error) => {
                    self.said = sentence(&error.to_string());
                    return;
                }
            },
            Saved::Scenario => {
                let text = share::scenario(state).unwrap_or_default().to_owned();
                (export::file_name(state, "", "toml"), "text/plain", text)
            }
        };
        self.said = told(&name, hand::save(&name, kind, text.as_bytes()));
    }
}

/// The address of the page becomes the link that was copied.
fn keep(state: &mut State, fragment: &str) {
    hand::go(fragment, false);
    if share::address(state).is_none() {
        state.source = Source::Linked;
    }
}

fn copy(ctx: &Context<App>, text: String, said: &'static str) {
    ctx.link().send_future(async move {
        let copied = hand::copy(text).await;
        Msg::Share(ShareMsg::Done(copied.map_or_else(|why| why, |()| said.to_owned())))
    });
}

fn told(name: &str, saved: Result<(), String>) -> String {
    match saved {
        Ok(()) => format!("{name} saved."),
        Err(why) => format!("{name} is not saved: {why}."),
    }
}

/// With a capital letter and a full stop.
pub(crate) fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(['.']).collect()
}
