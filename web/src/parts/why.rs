//! Why: the rule that fired in each run, in a sentence, with the kernel function it follows.

use crate::session::{Run, Session};
use folioscope_core::behaviour::{Evidence, Profile};
use folioscope_core::trace::align::Difference;
use folioscope_core::trace::stack::{callers, function_in};
use folioscope_core::trace::step::Step;
use yew::{Html, html};

/// The rule of each run; once where both say the same.
pub(crate) fn why(session: &Session) -> Html {
    let steps = session.steps();
    let said = |step: &Step| step.rule.sentence(step.args);
    let same = matches!(steps.as_slice(), [Some(a), Some(b)] if said(a) == said(b));
    let row = |(at, step): (usize, Option<&Step>)| {
        let run = session.runs().get(at);
        let profile = |run: &Run| run.timeline().header().profile.clone();
        // Of two kernels that do the same each has its names.
        let other = session.runs().get(1).filter(|other| run.map(profile) != Some(profile(other)));
        let label = if same { "A = B" } else { session.label(at) };
        match step {
            Some(step) => html! {
                <div class="rule" data-side={session.label(at)}>
                    if !label.is_empty() { <span class="run">{ label }</span> }
                    <p>
                        <span class="sentence">{ said(step) }</span>
                        if let Some(run) = run { { code(run, step) } }
                        if let (true, Some(other)) = (same, other) { { stack(other, step) } }
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
        Some(Difference::Content) => "differs in content",
        Some(Difference::Invariant) => "differs in an invariant",
        Some(Difference::Bytes) => "differs in bytes of the device",
        Some(Difference::Bio) => "differs in bios",
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

/// The function, on whose behalf it works, and who calls it in the kernel of the run.
fn code(run: &Run, step: &Step) -> Html {
    let header = run.timeline().header();
    let op = step.op.map(|op| format!("op {}", op.get() + 1));
    let op = op.unwrap_or_else(|| "in the background".to_owned());
    let of = header.task_name(step.task).map_or_else(String::new, |task| format!(" of {task}"));
    let own = step.rule.function();
    html! {
        <>
            <span class="code">{ format!("{own} \u{b7} {}{of} \u{b7} {op}", step.context.name()) }</span>
            { stack(run, step) }
        </>
    }
}

/// Who calls the function of a step in the kernel of a run, and what it is called there.
fn stack(run: &Run, step: &Step) -> Html {
    let header = run.timeline().header();
    let kind = step.op.and_then(|_| run.op_kind());
    let callers = callers(header, step, kind);
    let evidence = match Profile::named(&header.profile).map(|profile| profile.evidence) {
        Some(Evidence::ByReading) => ", by reading",
        Some(Evidence::Seen) | None => "",
    };
    html! {
        <span class="code stack" title="Who calls it, the outermost first">
            { format!("{}{evidence}: ", header.profile) }
            { for callers.iter().map(|name| html! { <>{ *name }{ " \u{203a} " }</> }) }
            <b>{ function_in(header, step) }</b>
        </span>
    }
}
