//! Forms as bytes.

use super::bytes::{Read, list, put_list};
use super::{Addable, Checked, Field, Input, Section, Wrong};
use crate::trace::packed::{Packed, put, put_option, put_text};
use core::ops::Range;

pub(super) fn put_checked(out: &mut Vec<u8>, checked: &Checked) {
    let Checked { sections, addable, wrong } = checked;
    put_list(out, sections, |out, Section { table, words, block, fields, ops }| {
        put_text(out, table);
        put_text(out, words);
        put_option(out, block.as_ref(), put_range);
        put_list(out, fields, put_field);
        put_range(out, ops);
    });
    put_list(out, addable, |out, Addable { table, at, text }| {
        put_text(out, table);
        put(out, *at as u64);
        put_text(out, text);
    });
    put_option(out, wrong.as_ref(), |out, Wrong { line, column, place, message }| {
        put(out, *line as u64);
        put(out, *column as u64);
        put_range(out, place);
        put_text(out, message);
    });
}

fn put_field(out: &mut Vec<u8>, field: &Field) {
    let Field { key, switch, input, value, usual, place, before, after, remove } = field;
    put_text(out, key);
    out.push(u8::from(*switch));
    match input {
        Input::Size(step) => {
            out.push(0);
            put(out, *step);
        }
        Input::Count => out.push(1),
        Input::Flag => out.push(2),
        Input::Text => out.push(3),
        Input::Word(words) => {
            out.push(4);
            put_list(out, words, |out, word| put_text(out, word));
        }
    }
    put_option(out, value.as_deref(), put_text);
    put_text(out, usual);
    put_range(out, place);
    put_text(out, before);
    put_text(out, after);
    put_option(out, remove.as_ref(), put_range);
}

fn put_range(out: &mut Vec<u8>, range: &Range<usize>) {
    put(out, range.start as u64);
    put(out, range.len() as u64);
}

pub(super) fn checked(from: &mut Packed<'_>) -> Read<Checked> {
    Ok(Checked {
        sections: list(from, |from| {
            Ok(Section {
                table: from.text()?,
                words: from.text()?,
                block: from.option(range)?,
                fields: list(from, field)?,
                ops: range(from)?,
            })
        })?,
        addable: list(from, |from| {
            Ok(Addable { table: from.text()?, at: from.number()?, text: from.text()? })
        })?,
        wrong: from.option(|from| {
            let (line, column) = (from.number()?, from.number()?);
            Ok(Wrong { line, column, place: range(from)?, message: from.text()? })
        })?,
    })
}

fn field(from: &mut Packed<'_>) -> Read<Field> {
    Ok(Field {
        key: from.text()?,
        switch: from.byte()? == 1,
        input: match from.byte()? {
            0 => Input::Size(from.number()?),
            1 => Input::Count,
            2 => Input::Flag,
            3 => Input::Text,
            4 => Input::Word(list(from, word)?),
            other => return Err(format!("no input {other} is known")),
        },
        value: from.option(Packed::text)?,
        usual: from.text()?,
        place: range(from)?,
        before: from.text()?,
        after: from.text()?,
        remove: from.option(range)?,
    })
}

fn word(from: &mut Packed<'_>) -> Read<String> {
    from.text()
}

fn range(from: &mut Packed<'_>) -> Read<Range<usize>> {
    let (start, len): (usize, usize) = (from.number()?, from.number()?);
    let end = start.checked_add(len).ok_or("a range ends beyond all texts")?;
    Ok(start..end)
}
