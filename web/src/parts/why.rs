//! Why: the rule that fired in each run, in a sentence, with the kernel function it follows.

use crate::session::Session;
use folioscope_core::trace::align::Difference;
use folioscope_core::trace::step::Step;
use yew::{Html, html};

/// The rule of each run; once where both say the same.
pub(crate) fn why(session: &Session) -> Html {
    let steps = session.steps();
    let said = |step: &Step| step.rule.sentence(step.args);
    let same = matches!(steps.as_slice(), [Some(a), Some(b)] if said(a) == said(b));
    let row = |(at, step): (usize, Option<&Step>)| {
        let name = session.runs().get(at).map(|run| run.timeline().header());
        let name = |step: &Step| name.and_then(|header| header.task_name(step.task));
        let label = if same { "A = B" } else { session.label(at) };
        match step {
            Some(step) => html! {
                <div class="rule" data-side={session.label(at)}>
                    if !label.is_empty() { <span class="run">{ label }</span> }
                    <p>
                        <span class="sentence">{ said(step) }</span>
                        <span class="code">{ code(step, name(step).as_deref()) }</span>
                    </p>
                </div>
            },
            None => html! {
                <div class="rule waits" data-side={session.label(at)}>
                    if !label.is_empty() { <span class="run">{ label }</span> }
                    <p>{ if session.at() == 0 { "nothing happened yet" } else { "no counterpart: this run waits" } }</p>
                </div>
            },
        }
    };
    let shown = if same { 1 } else { steps.len() };
    let differs = match session.moment().difference {
        Some(_) if session.way().first_difference() == Some(session.at()) => "the first difference",
        Some(Difference::Device) => "differs, and reaches the device",
        Some(Difference::Function) => "differs",
        None => "",
    };
    html! {
        <section id="why" class="why" aria-label="Why">
            <h2>{ "Why" } if !differs.is_empty() { <span class="differs">{ differs }</span> }</h2>
            { for steps.iter().copied().take(shown).enumerate().map(row) }
        </section>
    }
}

fn code(step: &Step, task: Option<&str>) -> String {
    let op =
        step.op.map_or_else(|| "in the background".to_owned(), |op| format!("op {}", op.get() + 1));
    let of = task.map_or_else(String::new, |task| format!(" of {task}"));
    format!("{} \u{b7} {}{of} \u{b7} {op}", step.rule.function(), step.context.name())
}
