//! The looks of the page, part by part. Each is a function of the state; none keeps any.

mod chart;
mod compare;
mod counters;
mod edit;
mod find;
mod form;
mod gallery;
mod grips;
mod help;
mod inspect;
mod lamp;
mod question;
mod share;
mod stage;
mod top;
mod transport;
mod why;

pub(crate) use chart::{chart, chart_chooser, chart_twin};
pub(crate) use compare::{compare, compare_button};
pub(crate) use counters::counters;
pub(crate) use edit::{edit, put_caret};
pub(crate) use find::{find, find_button};
pub(crate) use gallery::gallery;
pub(crate) use grips::{grips, put_focus};
pub(crate) use help::{help, keys as key_list};
pub(crate) use inspect::inspector;
pub(crate) use lamp::lamp;
pub(crate) use question::{question, stops};
pub(crate) use share::{share, share_button};
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
fn on<M: Into<Msg>>(link: &Link, message: impl Fn() -> M + 'static) -> Callback<MouseEvent> {
    link.callback(move |_: MouseEvent| message().into())
}

/// Markup that the page itself has made, with every text in it escaped.
fn raw(markup: impl Into<AttrValue>) -> Html {
    Html::from_html_unchecked(markup.into())
}
