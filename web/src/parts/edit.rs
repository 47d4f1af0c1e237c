//! The editor: operations as chips, the form of one table, the text, and what is wrong with it.

use super::form::form;
use super::{Link, on};
use crate::app::Msg;
use crate::edit::size::written;
use crate::edit::{Change, Edit, Editor, Keep, from_utf16, place, utf16};
use crate::grips::write;
use crate::state::State;
use folioscope_core::scene::spots::Thing;
use folioscope_core::service::{Checked, Section, Wrong};
use web_sys::{HtmlInputElement, HtmlSelectElement, HtmlTextAreaElement};
use yew::{
    DragEvent, Event, Html, InputEvent, KeyboardEvent, NodeRef, TargetCast as _, classes, html,
};

/// Height of a line of the text, in pixels; the style sheet has the same.
const LINE: usize = 18;

/// The editor beside the stage.
pub(crate) fn edit(link: &Link, editor: &Editor, state: Option<&State>, text: &NodeRef) -> Html {
    let keys = link.batch_callback(|event: KeyboardEvent| {
        let command = event.ctrl_key() || event.meta_key();
        let edit = match (event.key().as_str(), command, event.shift_key()) {
            ("z", true, false) => Edit::Undo,
            ("z" | "Z", true, true) | ("y", true, false) => Edit::Redo,
            ("Enter", true, _) => Edit::Run,
            _ => return None,
        };
        event.prevent_default();
        Some(Msg::Edit(edit))
    });
    let current = state.and_then(current_op);
    let here = state.and_then(under_cursor);
    html! {
        <section id="edit" class="edit" aria-label="Editor" onkeydown={keys}>
            { head(link, editor) }
            if let Some((checked, fresh)) = editor.form() {
                { chips(link, editor, checked, (current, here)) }
                <p class="hint">
                    { "Drag on the ruler of the picture to write; the edges of folios, chunks, \
                       requests and arrays, a partition\u{2019}s axis and a queue\u{2019}s io_opt \
                       can be dragged, too." }
                </p>
                { form(link, editor, checked, fresh) }
            }
            { sheet(link, editor, text) }
            { said(link, editor) }
        </section>
    }
}

/// The operation that the last run is in, from 0.
fn current_op(state: &State) -> Option<usize> {
    let step = state.session.runs().last()?.timeline().current()?;
    step.op.map(|op| op.get() as usize)
}

/// The block of the first file that the cursor of the picture is on, and the operations that have
/// started: first byte, length, number.
fn under_cursor(state: &State) -> Option<(u64, u64, usize)> {
    let key = state.looking.cursor.filter(|_| state.file == 0)?;
    let at = match key.thing {
        Thing::Folio(at) | Thing::Blocks(at) | Thing::Extent(at) | Thing::Hole(at) => at,
        Thing::Op
        | Thing::End(_)
        | Thing::NewCopy(_)
        | Thing::Bio(_)
        | Thing::Request(_)
        | Thing::Chunk { .. }
        | Thing::Left(_)
        | Thing::Part(_) => return None,
    };
    let run = state.session.runs().last()?;
    let block = run.timeline().header().geometry.block_size().get();
    Some((at / block * block, block, run.started()))
}

fn head(link: &Link, editor: &Editor) -> Html {
    let (undo, redo) = editor.can();
    let auto = link.batch_callback(|event: Event| {
        let input: Option<HtmlInputElement> = event.target_dyn_into();
        Some(Msg::Edit(Edit::Auto(input?.checked())))
    });
    let kept = link.batch_callback(|event: Event| {
        let select: Option<HtmlSelectElement> = event.target_dyn_into();
        let value = select?.value();
        Some(Msg::Edit(match value.parse() {
            Ok(side) => Edit::Keep(Keep::Was(side)),
            Err(_) if value == "this" => Edit::KeepThis,
            Err(_) => Edit::Keep(Keep::Own),
        }))
    });
    html! {
        <div class="edit-head">
            <h2>{ "Sandbox" }</h2>
            <button id="undo" class="square" aria-label="Undo" title="Undo (Ctrl+Z)" disabled={!undo}
                onclick={on(link, || Edit::Undo)}>{ "\u{21b6}" }</button>
            <button id="redo" class="square" aria-label="Do again" title="Do again (Ctrl+Shift+Z)"
                disabled={!redo} onclick={on(link, || Edit::Redo)}>{ "\u{21b7}" }</button>
            <button id="run" title="Run it (Ctrl+Enter)" onclick={on(link, || Edit::Run)}>
                { "Run" }
            </button>
            <label class="auto">
                <input id="auto" type="checkbox" checked={editor.auto} onchange={auto} />
                { " at every change" }
            </label>
            <button id="edit-close" class="square" aria-label="Close the editor"
                onclick={on(link, || Edit::Toggle)}>{ "\u{d7}" }</button>
            <label class="against">
                { "against " }
                <select id="against" onchange={kept}>
                    <option value="own" selected={editor.keep == Keep::Own}>
                        { "its own settings" }
                    </option>
                    { for editor.base().iter().enumerate().map(|(at, (name, ..))| html! {
                        <option value={at.to_string()} selected={editor.keep == Keep::Was(at)}>
                            { format!("{name}, as it was") }
                        </option>
                    }) }
                    <option value="this">{ "what it is now" }</option>
                </select>
            </label>
        </div>
    }
}

/// The tables of the file: operations in their order, and the others.
fn chips(
    link: &Link,
    editor: &Editor,
    checked: &Checked,
    (current, under): (Option<usize>, Option<(u64, u64, usize)>),
) -> Html {
    let sections = || checked.sections.iter().enumerate();
    let others = sections().filter(|(_, section)| section.table != "op");
    let ops: Vec<usize> =
        sections().filter(|(_, one)| one.table == "op").map(|(at, _)| at).collect();
    let chosen = editor.selected;
    let other = |(at, section): (usize, &Section)| {
        let name = if section.table.is_empty() { "scenario" } else { &section.table };
        let words = format!("{name} {}", section.words);
        html! {
            <li class="op">
                <button class="chip" data-table={section.table.clone()}
                    aria-pressed={(at == chosen).to_string()}
                    onclick={on(link, move || Edit::Select(at))}>{ words.trim() }</button>
            </li>
        }
    };
    let op = |(nth, at): (usize, &usize)| {
        let at = *at;
        let section = &checked.sections[at];
        let here = current.is_some_and(|op| section.ops.contains(&op));
        let moved = move |to: Option<&usize>| to.map(|to| Edit::Change(Change::Move(at, *to)));
        let (left, right) = (nth.checked_sub(1).and_then(|nth| ops.get(nth)), ops.get(nth + 1));
        let (left, right) = (left.copied(), right.copied());
        let keys = link.batch_callback(move |event: KeyboardEvent| {
            let edit = match (event.key().as_str(), event.alt_key()) {
                ("ArrowLeft" | "ArrowUp", true) => moved(left.as_ref()),
                ("ArrowRight" | "ArrowDown", true) => moved(right.as_ref()),
                ("Delete", false) => Some(Edit::Change(Change::Delete(at))),
                _ => None,
            }?;
            event.prevent_default();
            Some(Msg::Edit(edit))
        });
        let dragged = move |event: DragEvent| {
            if let Some(data) = event.data_transfer() {
                let _ = data.set_data("text/plain", &format!("op {at}"));
            }
        };
        let dropped = link.batch_callback(move |event: DragEvent| {
            let words = event.data_transfer()?.get_data("text/plain").ok()?;
            let from: usize = words.strip_prefix("op ")?.parse().ok()?;
            event.prevent_default();
            (from != at).then_some(Msg::Edit(Edit::Change(Change::Move(from, at))))
        });
        html! {
            <li class={classes!("op", here.then_some("here"))} ondrop={dropped}>
                <button class="chip" draggable="true" data-op={nth.to_string()}
                    aria-pressed={(at == chosen).to_string()}
                    aria-current={here.then_some("step")}
                    title="Drag, or Alt with an arrow, moves it; Delete takes it out"
                    ondragstart={dragged} onkeydown={keys}
                    onclick={on(link, move || Edit::Select(at))}>
                    <span class="nth">{ nth + 1 }</span>{ &section.words }
                </button>
                if at == chosen {
                    { mover(link, "Earlier", "\u{2039}", at, left) }
                    { mover(link, "Later", "\u{203a}", at, right) }
                    { taker(link, at) }
                }
            </li>
        }
    };
    html! {
        <>
            <ol class="ops" aria-label="Operations">
                { for ops.iter().enumerate().map(op) }
                <li class="op">
                    <button id="add-op" class="chip add"
                        title="Point at a block of the picture to write that one"
                        onclick={on(link, move || write_op(under))}>
                        if let Some((at, ..)) = under {
                            { format!("+ write at {}", written(at)) }
                        } else {
                            { "+ write" }
                        }
                    </button>
                    <button id="add-sync" class="chip add" onclick={on(link, sync_op)}>
                        { "+ fsync" }
                    </button>
                </li>
            </ol>
            <ul class="ops" aria-label="Tables">
                { for others.map(other) }
                { adder(link, checked) }
            </ul>
        </>
    }
}

/// A write of the block under the cursor, behind the operation that has started last; else one at
/// the end.
fn write_op(under: Option<(u64, u64, usize)>) -> Edit {
    let (at, len, after) = under.map_or((0, 4096, None), |(at, len, op)| (at, len, Some(op)));
    Edit::Change(write((at, len), (after, None)))
}

fn sync_op() -> Edit {
    Edit::Change(Change::Op(None, vec![("do", "\"fsync\"".to_owned())]))
}

fn mover(
    link: &Link,
    label: &'static str,
    sign: &'static str,
    from: usize,
    to: Option<usize>,
) -> Html {
    let moved = link.batch_callback(move |_: yew::MouseEvent| {
        Some(Msg::Edit(Edit::Change(Change::Move(from, to?))))
    });
    html! {
        <button class="mini" aria-label={label} title={label} disabled={to.is_none()} onclick={moved}>
            { sign }
        </button>
    }
}

/// A button that takes a table out.
fn taker(link: &Link, at: usize) -> Html {
    html! {
        <button class="mini" aria-label="Take it out" title="Take it out"
            onclick={on(link, move || Edit::Change(Change::Delete(at)))}>{ "\u{d7}" }</button>
    }
}

/// A list of the tables that can be added.
fn adder(link: &Link, checked: &Checked) -> Html {
    let added = link.batch_callback(|event: Event| {
        let select: Option<HtmlSelectElement> = event.target_dyn_into();
        let select = select?;
        let table = select.value();
        select.set_selected_index(0);
        (!table.is_empty()).then_some(Msg::Edit(Edit::Change(Change::Add(table))))
    });
    html! {
        <li class="op">
            <select id="add-table" class="add" aria-label="Add a table" onchange={added}>
                <option value="" selected=true>{ "+ table" }</option>
                { for checked.addable.iter().map(|one| html! {
                    <option value={one.table.clone()}>{ &one.table }</option>
                }) }
            </select>
        </li>
    }
}

/// The text with the numbers of its lines, the chosen table and what is wrong marked under it.
fn sheet(link: &Link, editor: &Editor, text: &NodeRef) -> Html {
    let value = &editor.text;
    let lines = value.matches('\n').count() + 1;
    let columns = value.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let typed = link.batch_callback(|event: InputEvent| {
        let area: Option<HtmlTextAreaElement> = event.target_dyn_into();
        let area = area?;
        let text = area.value();
        let caret = area.selection_start().ok().flatten().unwrap_or(0);
        let caret = from_utf16(&text, caret);
        Some(Msg::Edit(Edit::Typed(text, caret)))
    });
    let looks = |area: Option<HtmlTextAreaElement>| {
        let area = area?;
        let caret = area.selection_start().ok().flatten()?;
        Some(Msg::Edit(Edit::Caret(from_utf16(&area.value(), caret))))
    };
    let clicked = link.batch_callback(move |event: yew::MouseEvent| looks(event.target_dyn_into()));
    let moved = link.batch_callback(move |event: KeyboardEvent| {
        let moves = event.key().starts_with("Arrow") || event.key().starts_with("Page");
        if moves { looks(event.target_dyn_into()) } else { None }
    });
    let wrong = editor.checked().and_then(|checked| checked.wrong.as_ref());
    let numbers: Vec<String> = (1..=lines).map(|line| line.to_string()).collect();
    let numbers = numbers.join("\n");
    html! {
        <div class="sheet">
            <pre class="numbers" aria-hidden="true">{ numbers }</pre>
            <div class="lines">
                <svg class="under" aria-hidden="true" height={(lines * LINE).to_string()}>
                    { band(editor) }
                    if let Some(wrong) = wrong.filter(|wrong| wrong.line > 0) {
                        { mark(value, wrong) }
                    }
                </svg>
                <textarea id="text" ref={text.clone()} value={value.clone()} wrap="off"
                    spellcheck="false" autocomplete="off" autocapitalize="off"
                    aria-label="Text of the scenario" aria-describedby="wrong"
                    aria-invalid={wrong.is_some().to_string()}
                    rows={lines.to_string()} cols={(columns + 2).to_string()}
                    oninput={typed} onclick={clicked} onkeyup={moved} />
            </div>
        </div>
    }
}

/// The lines of the chosen table.
fn band(editor: &Editor) -> Html {
    let Some(block) = editor.section().and_then(|section| section.block.clone()) else {
        return html! {};
    };
    let Some((_, true)) = editor.form() else { return html! {} };
    let body = editor.text[block.clone()].trim_end();
    let (first, last) =
        (place(&editor.text, block.start).0, place(&editor.text, block.start + body.len()).0);
    html! {
        <rect class="band" y={(first * LINE).to_string()} width="100%"
            height={((last + 1 - first) * LINE).to_string()} />
    }
}

/// A line under what is wrong.
fn mark(text: &str, wrong: &Wrong) -> Html {
    let (line, column) = place(text, wrong.place.start);
    let (end, behind) = place(text, wrong.place.end);
    let wide = if end == line { behind.saturating_sub(column).max(1) } else { 1 };
    html! {
        <>
            <rect class="wrong-line" y={(line * LINE).to_string()} width="100%" height={LINE.to_string()} />
            <rect class="wrong-mark" x={format!("{column}ch")} width={format!("{wide}ch")}
                y={(line * LINE + LINE - 3).to_string()} height="3" />
        </>
    }
}

/// What the engine says of the text.
fn said(link: &Link, editor: &Editor) -> Html {
    let wrong = editor.checked().and_then(|checked| checked.wrong.as_ref());
    let (state, words) = match (wrong, &editor.refused) {
        (Some(wrong), _) => ("wrong", wrong.message.clone()),
        (None, Some(why)) => ("wrong", why.clone()),
        (None, None) if editor.runs() => ("busy", "Running\u{2026}".to_owned()),
        (None, None) if editor.checked().is_none() => ("busy", "Reading\u{2026}".to_owned()),
        (None, None) if editor.is_shown() => {
            ("fine", "The stage shows what the text says.".to_owned())
        }
        (None, None) => ("fine", "It can be run: Ctrl+Enter, or Run.".to_owned()),
    };
    html! {
        <div id="wrong" class={classes!("verdict-line", state)} role="status" data-state={state}
            data-line={wrong.map_or(0, |wrong| wrong.line).to_string()}>
            if let Some(wrong) = wrong.filter(|wrong| wrong.line > 0) {
                <button id="to-wrong" class="link" onclick={on(link, || Edit::ToWrong)}>
                    { format!("line {}, column {}", wrong.line, wrong.column) }
                </button>
            }
            <span>{ words }</span>
            if let Some(wrong) = wrong.filter(|wrong| wrong.line > 0) {
                <pre class="excerpt" aria-hidden="true">{ excerpt(&editor.text, wrong) }</pre>
            }
        </div>
    }
}

/// The line that is wrong, with a caret below it.
fn excerpt(text: &str, wrong: &Wrong) -> String {
    let line = text.lines().nth(wrong.line - 1).unwrap_or_default();
    let line: String = line.chars().take(100).map(|c| if c == '\t' { ' ' } else { c }).collect();
    let indent = " ".repeat(wrong.column.saturating_sub(1).min(100));
    format!("{:>4} | {line}\n     | {indent}^", wrong.line)
}

/// Puts the caret where the editor wants it, once the text is there.
pub(crate) fn put_caret(editor: &mut Editor, text: &NodeRef) {
    let Some(area) = text.cast::<HtmlTextAreaElement>() else { return };
    let Some(place) = editor.caret.take() else { return };
    let (start, end) = (utf16(&editor.text, place.start), utf16(&editor.text, place.end));
    let _ = area.set_selection_range(start, end);
    // Only what is wrong calls for typing: elsewhere the focus stays where the viewer is.
    if start < end && editor.checked().is_some_and(|checked| checked.wrong.is_some()) {
        let _ = area.focus();
    }
    let line = i32::try_from(self::place(&editor.text, place.start).0 * LINE).unwrap_or(0);
    let near = i32::try_from(2 * LINE).unwrap_or(0);
    if let Some(sheet) = area.closest(".sheet").ok().flatten() {
        let (top, tall) = (sheet.scroll_top(), sheet.client_height());
        if line < top || line + near > top + tall {
            sheet.set_scroll_top(line - near);
        }
    }
}
