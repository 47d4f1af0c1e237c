//! What there is to open: every lesson with its point and its picture, and the other scenarios.

use super::{Link, on, raw};
use crate::app::Msg;
use folioscope_core::service::{Contents, Entry};
use yew::{Html, html};

/// The gallery.
pub(crate) fn gallery(link: &Link, contents: &Contents) -> Html {
    let card = |entry: &Entry| {
        let number = entry.number;
        html! {
            <li>
                <button class="card" data-lesson={number.to_string()}
                    onclick={on(link, move || Msg::Lesson(number))}>
                    <span class="picture" aria-hidden="true">{ raw(entry.picture.clone()) }</span>
                    <span class="number">{ number }</span>
                    <span class="name">{ &entry.title }</span>
                    <span class="point">{ &entry.point }</span>
                </button>
            </li>
        }
    };
    let example = |(name, title): &(String, String)| {
        let chosen = name.clone();
        html! {
            <li>
                <button class="link" data-example={name.clone()}
                    onclick={on(link, move || Msg::Example(chosen.clone()))}>{ title }</button>
            </li>
        }
    };
    html! {
        <section id="gallery" class="gallery" aria-labelledby="gallery-title">
            <h1 id="gallery-title">{ "Lessons" }</h1>
            <ol class="cards">{ for contents.lessons.iter().map(card) }</ol>
            <h2>{ "More runs to look at" }</h2>
            <ul class="examples">{ for contents.examples.iter().map(example) }</ul>
        </section>
    }
}
