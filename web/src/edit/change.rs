//! Changes that a form, or the stage, makes in the text: one value, or one block, and nothing else;
//! with another operation go the keys that it does not take.

use super::size::stepped;
use folioscope_core::service::{Checked, Field, Section, means};
use folioscope_core::sort::sort_by_key;
use std::ops::Range;

/// A change. Tables count by their place in the form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// A key gets a value; an empty one takes it out where it can be.
    Set(usize, String, String),
    /// A number goes one step up or down.
    Step(usize, String, bool),
    /// A table is taken out.
    Delete(usize),
    /// An operation changes places: from, to.
    Move(usize, usize),
    /// A table of this name is added.
    Add(String),
    /// An operation is added behind the operation with this number, or at the end: its keys.
    Op(Option<usize>, Vec<(&'static str, String)>),
}

/// A text that was changed.
pub(super) struct Done {
    pub(super) text: String,
    /// The table that is chosen now.
    pub(super) selected: usize,
    /// What changed.
    pub(super) caret: Range<usize>,
    /// The number of the operation whose end is to be seen, from 1.
    pub(super) target: Option<u32>,
}

/// Carries a change out; none where it means nothing in this form.
pub(super) fn apply(text: &str, form: &Checked, selected: usize, change: &Change) -> Option<Done> {
    let field = |section: &usize, key: &String| -> Option<&Field> {
        form.sections.get(*section)?.fields.iter().find(|field| field.key == *key)
    };
    match change {
        Change::Set(section, key, value) => {
            let field = field(section, key)?;
            let idle = idle(form.sections.get(*section)?, key, value);
            let (place, new) = match (&field.remove, value.is_empty()) {
                (Some(gone), true) => (gone.clone(), String::new()),
                (None, true) if field.value.is_none() => return None,
                _ if field.value.as_ref() == Some(value) => return None,
                _ => field.set(value),
            };
            Some(splice_without(text, place, &new, idle, *section))
        }
        Change::Step(section, key, up) => {
            let field = field(section, key)?;
            let value = stepped(&field.input, field.value.as_deref().unwrap_or_default(), *up)?;
            apply(text, form, selected, &Change::Set(*section, key.clone(), value))
        }
        Change::Delete(section) => {
            let block = form.sections.get(*section)?.block.clone()?;
            let before = if *section > 0 { *section - 1 } else { 0 };
            Some(splice(text, block, "", before))
        }
        Change::Move(from, to) => moved(text, &form.sections, *from, *to),
        Change::Add(table) => {
            let addable = form.addable.iter().find(|one| one.table == *table)?;
            let done = splice(text, addable.at..addable.at, &addable.text, selected);
            // Tables of the form are in the reader's order: its place is known when it is read.
            Some(done)
        }
        Change::Op(after, keys) => Some(added(text, &form.sections, *after, keys)),
    }
}

/// The bytes of keys that mean nothing once a key has this value.
fn idle(section: &Section, key: &str, value: &str) -> Vec<Range<usize>> {
    let fields = section.fields.iter().filter(|field| field.value.is_some() && field.key != key);
    let idle = fields.filter(|field| !means(&section.table, (key, value), &field.key));
    idle.filter_map(|field| field.remove.clone()).collect()
}

fn splice(text: &str, place: Range<usize>, new: &str, selected: usize) -> Done {
    splice_without(text, place, new, Vec::new(), selected)
}

/// What is new in one place, and stretches that are gone in others.
fn splice_without(
    text: &str,
    place: Range<usize>,
    new: &str,
    mut gone: Vec<Range<usize>>,
    selected: usize,
) -> Done {
    let mut whole = String::new();
    let mut caret = 0..0;
    let mut at = 0;
    gone.push(place.clone());
    sort_by_key(&mut gone, |one| one.start);
    for one in gone {
        // Two of them may have a comma in common.
        whole += &text[at..one.start.max(at)];
        if one == place {
            caret = whole.len()..whole.len() + new.len();
            whole += new;
        }
        at = one.end.max(at);
    }
    whole += &text[at..];
    Done { text: whole, selected, caret, target: None }
}

/// An operation goes to the place of another; what parts the blocks stays where it is.
fn moved(text: &str, sections: &[Section], from: usize, to: usize) -> Option<Done> {
    let is_op = |at: &usize| sections[*at].table == "op";
    let ops: Vec<usize> = (0..sections.len()).filter(is_op).collect();
    let (from, to) = (ops.iter().position(|at| *at == from)?, ops.iter().position(|at| *at == to)?);
    let mut slots: Vec<(usize, Range<usize>)> = Vec::new();
    for at in &ops {
        slots.push((*at, sections[*at].block.clone()?));
    }
    let mut order: Vec<Range<usize>> = slots.iter().map(|(_, block)| block.clone()).collect();
    let taken = order.remove(from);
    order.insert(to, taken);
    sort_by_key(&mut slots, |(_, block)| block.start);
    let body = |block: &Range<usize>| text[block.clone()].trim_end();
    let (mut out, mut done, mut caret) = (String::new(), 0, 0..0);
    for (nth, ((_, slot), block)) in slots.iter().zip(&order).enumerate() {
        out += &text[done..slot.start];
        if nth == to {
            caret = out.len()..out.len();
        }
        out += body(block);
        out += &text[slot.start + body(slot).len()..slot.end];
        done = slot.end;
    }
    out += &text[done..];
    Some(Done { text: out, selected: ops[to], caret, target: None })
}

/// A new operation behind another.
fn added(
    text: &str,
    sections: &[Section],
    after: Option<usize>,
    keys: &[(&'static str, String)],
) -> Done {
    let ops = || sections.iter().enumerate().filter(|(_, section)| section.table == "op");
    let behind = after.and_then(|number| {
        ops().filter(|(_, section)| !section.ops.is_empty()).find(|(_, one)| one.ops.end >= number)
    });
    let before_first = after == Some(0);
    let (slot, at) = match (behind.or_else(|| ops().next_back()), before_first) {
        (Some(_), true) => {
            let first = ops().next().map_or(0, |(at, _)| at);
            let start = sections[first].block.as_ref().map_or(text.len(), |block| block.start);
            (first, start)
        }
        (Some((at, section)), false) => {
            (at + 1, section.block.as_ref().map_or(text.len(), |block| block.end))
        }
        (None, _) => (sections.len(), text.len()),
    };
    let number = if before_first { 0 } else { behind.map_or(0, |(_, one)| one.ops.end) };
    let mut block = String::from("[[op]]\n");
    for (key, value) in keys {
        block.extend([key, " = ", value, "\n"]);
    }
    let head = &text[..at];
    let gap = match head {
        "" => "",
        _ if head.ends_with("\n\n") => "",
        _ if head.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let rest = if at == text.len() { "" } else { "\n" };
    let mut done = splice(text, at..at, &format!("{gap}{block}{rest}"), slot);
    done.caret = at + gap.len()..at + gap.len();
    let last = || ops().next_back().map_or(0, |(_, one)| one.ops.end);
    let number = if after.is_some() { number } else { last() };
    done.target = Some(number as u32 + 1);
    done
}
