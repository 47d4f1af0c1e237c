//! A scenario file as a form: its tables, the keys that each has or may have, and where in the text
//! each value stands, so that an editor can change one value and leave all else as it is.
//!
//! Places are bytes of the text that was read, and good for that text only. The keys are those of
//! [`super::keys`], of which the reader knows them by, too.

mod page;

use super::fields::{self, Problem, locate};
use super::{Scenario, file, keys};
use core::fmt::Write as _;
use core::ops::Range;
use page::Page;

/// What a text is.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Checked {
    /// Its tables, as far as it is TOML.
    pub sections: Vec<Section>,
    /// Tables that it does not have and could have.
    pub addable: Vec<Addable>,
    /// What is wrong with it; none: it can be run.
    pub wrong: Option<Wrong>,
}

/// What is wrong with a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// Line, from 1; 0: it is about the whole.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The bytes that it is about.
    pub place: Range<usize>,
    /// What is wrong, what was expected, what to do: one sentence, without a full stop.
    pub message: String,
}

/// A table of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// The name of the table, such as `op`; empty: the top of the file.
    pub table: String,
    /// What tells it from others, in a few words.
    pub words: String,
    /// Its lines, with the comments right above; none: it does not stand by itself.
    pub block: Option<Range<usize>>,
    /// Its keys.
    pub fields: Vec<Field>,
    /// The first operation that it stands for, and how many; of operations only, and only where
    /// nothing is wrong.
    pub ops: Range<usize>,
}

/// A key of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub key: String,
    /// Whether it is a switch.
    pub switch: bool,
    /// What its value looks like.
    pub input: Input,
    /// Its value, as far as it has one: text without quotes.
    pub value: Option<String>,
    /// What holds where it has none.
    pub usual: String,
    /// The bytes that a new value takes the place of.
    pub place: Range<usize>,
    /// What goes before a new value.
    pub before: String,
    /// What goes behind it.
    pub after: String,
    /// What is taken out so that it has no value; none: it must have one.
    pub remove: Option<Range<usize>>,
}

/// What a value looks like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A size, moved by so many bytes; 0: it is doubled and halved.
    Size(u64),
    /// A whole number.
    Count,
    /// True or false.
    Flag,
    /// Any text.
    Text,
    /// One of these words.
    Word(Vec<String>),
}

/// A table that can be added.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Addable {
    /// Its name.
    pub table: String,
    /// Where it goes.
    pub at: usize,
    /// Its text.
    pub text: String,
}

/// Looks at a text. What holds for running it besides is the host's matter.
pub fn check(text: &str) -> (Checked, Option<Scenario>) {
    let (read, wrong) = match file::parse(text) {
        Ok(read) => (Some(read), None),
        Err(problem) => (None, Some(wrong(text, &problem))),
    };
    let mut checked = Checked { wrong, ..form(text) };
    if let Some((_, entries)) = &read {
        let ops = checked.sections.iter_mut().filter(|section| section.table == "op");
        for (section, entry) in ops.zip(entries) {
            section.ops = entry.clone();
        }
    }
    (checked, read.map(|read| read.0))
}

/// The tables of a text, whether or not they mean anything.
fn form(text: &str) -> Checked {
    let Ok(root) = fields::parse(text) else { return Checked::default() };
    let page = Page::new(text, root.get_ref());
    let (sections, addable) = (page.sections(root.get_ref()), page.addable(root.get_ref()));
    Checked { sections, addable, wrong: None }
}

fn wrong(text: &str, problem: &Problem) -> Wrong {
    let error = locate("", text, problem);
    let start = text.floor_char_boundary(problem.0.start.min(text.len()));
    let end = text.floor_char_boundary(problem.0.end.clamp(start, text.len()));
    Wrong { line: error.line, column: error.column, place: start..end, message: error.message }
}

/// A splice of a text: what goes, and what comes in its place.
pub type Splice = (Range<usize>, String);

impl Field {
    /// The splice that gives it a value. What does not fit is written all the same: the check that
    /// follows says what is wrong with it.
    pub fn set(&self, value: &str) -> Splice {
        let bare = match self.input {
            Input::Size(_) => value.parse::<u64>().is_ok(),
            Input::Count => value.parse::<i64>().is_ok(),
            Input::Flag => true,
            Input::Text | Input::Word(_) => false,
        };
        let literal = if bare { value.to_owned() } else { quoted(value) };
        (self.place.clone(), format!("{}{literal}{}", self.before, self.after))
    }
}

/// Whether a key of a table means something where another one gets a word: another operation has
/// other keys.
pub fn means(table: &str, word: (&str, &str), key: &str) -> bool {
    keys::takes(table, word, key)
}

/// A text in quotes.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            control if control.is_control() => {
                write!(out, "\\u{:04x}", u32::from(control)).expect("a string takes everything");
            }
            plain => out.push(plain),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests;
