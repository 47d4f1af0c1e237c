//! The looks of the page, part by part. Each is a function of the state; none keeps any.

mod counters;
mod help;
mod question;
mod stage;
mod top;
mod transport;
mod why;

pub(crate) use counters::counters;
pub(crate) use help::help;
pub(crate) use question::{question, stops};
pub(crate) use stage::{caption, known, stage};
pub(crate) use top::{alert, top};
pub(crate) use transport::{Strip, transport};
pub(crate) use why::why;

use crate::app::Msg;
use yew::html::Scope;
use yew::{AttrValue, Callback, Html, MouseEvent};

/// How parts speak to the page.
pub(crate) type Link = Scope<crate::app::App>;

/// Sends a message on click.
fn on(link: &Link, message: impl Fn() -> Msg + 'static) -> Callback<MouseEvent> {
    link.callback(move |_: MouseEvent| message())
}

/// Markup that the page itself has made, with every text in it escaped.
fn raw(markup: impl Into<AttrValue>) -> Html {
    Html::from_html_unchecked(markup.into())
}
