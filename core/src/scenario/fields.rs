//! Tables of a TOML file, read by hand: each value with its place, unknown keys refused.
//!
//! Not with serde: the page carries this code, and derived readers of values with places are a
//! third of its size.

use super::MAX_FILE;
use super::size::parse_size;
use crate::units::Bytes;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Why a scenario file, or a lesson, cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{name}:{line}:{column}: {message}")]
pub struct ScenarioError {
    /// The file, as the caller named it.
    pub name: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, what was expected, what to do.
    pub message: String,
}

/// What is wrong, and where.
pub(crate) type Problem = (Span, String);

/// A problem with the line and the column of its place.
pub(crate) fn locate(name: &str, text: &str, (place, message): &Problem) -> ScenarioError {
    let before = &text[..text.floor_char_boundary(place.start.min(text.len()))];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    ScenarioError { name: name.to_owned(), line, column, message: message.clone() }
}

/// Switches by name.
pub(crate) type Switches = Vec<(Spanned<String>, Spanned<String>)>;

/// Where something stands in the text.
pub(crate) type Span = core::ops::Range<usize>;

/// The table that a text is.
pub(crate) fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, Problem> {
    DeTable::parse(text).map_err(|error| {
        let place = error.span().unwrap_or(0..0);
        let message = error.message().replace('\n', " ");
        match text.get(place.clone()).filter(|_| message == "duplicate key") {
            Some(key) => (place, format!("`{}` stands here twice: leave one out", cut(key))),
            None => (place, message),
        }
    })
}

/// A table whose keys are all known.
pub(crate) struct Fields<'a> {
    span: Span,
    table: &'a DeTable<'a>,
}

pub(crate) type Read<T> = fn(&DeValue<'_>) -> Result<T, &'static str>;

impl<'a> Fields<'a> {
    pub(crate) fn new(span: Span, table: &'a DeTable<'a>, known: &[&str]) -> Result<Self, Problem> {
        let stranger = table.keys().find(|key| !known.contains(&key.get_ref().as_ref()));
        if let Some(key) = stranger {
            let list: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
            let (name, list) = (cut(key.get_ref()), list.join(", "));
            return Err((key.span(), format!("unknown field `{name}`, expected one of {list}")));
        }
        Ok(Self { span, table })
    }
    pub(crate) fn missing(&self, name: &str) -> Problem {
        (self.span.clone(), format!("missing field `{name}`"))
    }
    fn get(&self, name: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(name)
    }
    pub(crate) fn may<T>(&self, name: &str, read: Read<T>) -> Result<Option<Spanned<T>>, Problem> {
        self.get(name).map(|value| spanned(name, value, read)).transpose()
    }
    pub(crate) fn need<T>(&self, name: &str, read: Read<T>) -> Result<Spanned<T>, Problem> {
        self.may(name, read)?.ok_or_else(|| self.missing(name))
    }
    pub(crate) fn table(&self, name: &str) -> Result<Option<(Span, &'a DeTable<'a>)>, Problem> {
        let table = |value| inner(name, value);
        self.get(name).map(table).transpose()
    }
    /// The tables of an array, such as `[[op]]`.
    pub(crate) fn list<T>(
        &self,
        name: &str,
        read: fn(Span, &DeTable<'_>) -> Result<T, Problem>,
    ) -> Result<Vec<Spanned<T>>, Problem> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let Some(all) = value.get_ref().as_array() else {
            return Err(wrong(name, value, "tables with a header in double brackets"));
        };
        let each = all.iter().map(|entry| {
            let (span, table) = inner(name, entry)?;
            Ok(Spanned::new(span.clone(), read(span, table)?))
        });
        each.collect()
    }
    pub(crate) fn switches(&self) -> Result<Switches, Problem> {
        let Some((_, table)) = self.table("switches")? else { return Ok(Vec::new()) };
        let each = table.iter().map(|(key, value)| {
            let value = spanned(&cut(key.get_ref()), value, label)?;
            Ok((Spanned::new(key.span(), cut(key.get_ref())), value))
        });
        each.collect()
    }
}

fn inner<'a>(
    name: &str,
    value: &'a Spanned<DeValue<'a>>,
) -> Result<(Span, &'a DeTable<'a>), Problem> {
    let table = value.get_ref().as_table().ok_or_else(|| wrong(name, value, "a table"))?;
    Ok((value.span(), table))
}

fn spanned<T>(
    name: &str,
    value: &Spanned<DeValue<'_>>,
    read: Read<T>,
) -> Result<Spanned<T>, Problem> {
    let got = read(value.get_ref()).map_err(|expected| wrong(name, value, expected))?;
    Ok(Spanned::new(value.span(), got))
}

fn wrong(name: &str, value: &Spanned<DeValue<'_>>, expected: &str) -> Problem {
    let found = match value.get_ref() {
        DeValue::String(text) => format!("\"{}\"", cut(text)),
        DeValue::Integer(number) => cut(&number.to_string()),
        DeValue::Float(number) => cut(&number.to_string()),
        DeValue::Boolean(on) => on.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    };
    (value.span(), format!("{name} is {found}: expected {expected}"))
}

/// The start of a text, with nothing in it that a terminal would obey.
fn cut(text: &str) -> String {
    const MOST: usize = 48;
    let mut out = String::new();
    for letter in text.chars().take(MOST) {
        if is_plain(letter) { out.push(letter) } else { out.extend(letter.escape_unicode()) }
    }
    if text.chars().nth(MOST).is_some() {
        out.push('\u{2026}');
    }
    out
}

/// Whether a letter is one, and no order to whoever shows it: no control character, no end of a
/// line, no turn of the direction of writing.
fn is_plain(letter: char) -> bool {
    !letter.is_control() && !matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

pub(crate) fn string(value: &DeValue<'_>) -> Result<String, &'static str> {
    value.as_str().map(str::to_owned).ok_or("a string")
}

/// A string that can go to a terminal and into a picture.
pub(crate) fn label(value: &DeValue<'_>) -> Result<String, &'static str> {
    let text = string(value)?;
    if !(1..=1000).contains(&text.len()) || !text.chars().all(is_plain) {
        return Err("1 to 1000 bytes of text on one line, without control characters");
    }
    Ok(text)
}

pub(crate) fn boolean(value: &DeValue<'_>) -> Result<bool, &'static str> {
    value.as_bool().ok_or("true or false")
}

pub(crate) fn integer(value: &DeValue<'_>) -> Result<i64, &'static str> {
    let number = value.as_integer().ok_or("a whole number")?;
    i64::from_str_radix(number.as_str(), number.radix())
        .map_err(|_| "a whole number that fits into 64 bits")
}

/// A list such as `[1, 2]`.
pub(crate) fn integers(value: &DeValue<'_>) -> Result<Vec<Spanned<i64>>, &'static str> {
    const EXPECTED: &str = "whole numbers in brackets, such as [1, 2]";
    let all = value.as_array().ok_or(EXPECTED)?;
    let each = all.iter().map(|entry| {
        let number = integer(entry.get_ref()).map_err(|_| EXPECTED)?;
        Ok(Spanned::new(entry.span(), number))
    });
    each.collect()
}

/// How often: a number, or all the time, which is none.
pub(crate) fn times(value: &DeValue<'_>) -> Result<Option<u32>, &'static str> {
    let all = value.as_str() == Some("all");
    let number = integer(value).ok().and_then(|n| u32::try_from(n).ok()).filter(|n| *n > 0);
    if all || number.is_some() { Ok(number) } else { Err("1 to 4294967295, or \"all\"") }
}

/// A size, at most that of the largest file.
pub(crate) fn size(value: &DeValue<'_>) -> Result<Bytes, &'static str> {
    const { assert!(MAX_FILE.get() == 17_179_869_184, "the sentence says so") };
    let bytes = match value.as_str() {
        Some(text) => parse_size(text).ok(),
        None => integer(value).ok().and_then(|n| u64::try_from(n).ok()).map(Bytes::new),
    };
    bytes
        .filter(|bytes| *bytes <= MAX_FILE)
        .ok_or("a size such as 4096, \"64k\" or \"2 MiB\", at most 17179869184 bytes (16 GiB)")
}

/// A number within limits.
pub(crate) fn number(name: &str, raw: &Spanned<i64>, min: u64, max: u64) -> Result<u64, Problem> {
    let value = *raw.get_ref();
    u64::try_from(value)
        .ok()
        .filter(|n| (min..=max).contains(n))
        .ok_or_else(|| (raw.span(), format!("{name} is {value}: expected {min} to {max}")))
}
