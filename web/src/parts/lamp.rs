//! The lamp of the invariants: it says how many hold, and lists only those that broke, each with
//! the way to its step.

use super::{Link, on};
use crate::app::Act;
use crate::session::{Broken, Session};
use folioscope_core::check::invariants::{INVARIANTS, Invariant, name, words};
use folioscope_core::scene::fixed::plural;
use folioscope_core::sort::sort_by_key;
use yew::{Html, classes, html};

/// Failures that are listed.
const MOST: usize = 5;

/// The lamp.
pub(crate) fn lamp(link: &Link, session: &Session) -> Html {
    let behaviours = |at: usize| session.runs()[at].timeline().header().behaviours;
    let runs = session.runs().len();
    let holds = |one: &Invariant| (0..runs).any(|at| (one.holds_in)(&behaviours(at)));
    let names: Vec<String> =
        INVARIANTS.iter().filter(|one| holds(one)).map(|one| name(one.number)).collect();
    // Each with the moment at which it is noticed.
    let mut broken: Vec<(usize, usize, &Broken)> = Vec::new();
    for (side, run) in session.runs().iter().enumerate() {
        let all = run.broken().iter();
        broken.extend(all.map(|one| (session.way().reach(side, one.position), side, one)));
    }
    sort_by_key(&mut broken, |(at, side, one)| (*at, *side, one.position, one.number));
    let so_far = broken.iter().filter(|(at, ..)| *at <= session.at()).count();
    let row = |(at, side, one): &(usize, usize, &Broken)| {
        let (at, label) = (*at, session.label(*side));
        let said = format!("{label} {} at {:#x}: {}", name(one.number), one.at, words(one.number));
        html! {
            <li>
                <button class="link" data-broken-at={at.to_string()}
                    onclick={on(link, move || Act::Go(at))}>{ said.trim().to_owned() }</button>
            </li>
        }
    };
    let first = so_far.saturating_sub(MOST);
    let next = broken.get(so_far).map(|(at, ..)| *at);
    html! {
        <div id="lamp" class={classes!("lamp", (so_far > 0).then_some("broken"))}
            data-broken={so_far.to_string()}>
            if so_far == 0 {
                <details>
                    <summary>{ format!("{} invariants hold", names.len()) }</summary>
                    { "Rules that the kernel's code relies on, checked at every step so far: " }
                    { names.join(" ") }
                </details>
            } else {
                <ul>
                    { for broken[first..so_far].iter().map(row) }
                    if first > 0 { <li>{ format!("and {first} before") }</li> }
                </ul>
            }
            if let Some(at) = next {
                <button class="link" data-broken-at={at.to_string()}
                    onclick={on(link, move || Act::Go(at))}>
                    { format!("{} later: to the next", plural((broken.len() - so_far) as u64, "failure")) }
                </button>
            }
        </div>
    }
}
