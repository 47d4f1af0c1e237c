//! Queries as people write them.
//!
//! ```text
//! query     = condition { "and" condition }  |  "event" EVENT  |  any other text
//! condition = [ "not" ] ( blocks | amount | bio )
//! blocks    = "block" N [ "-" M ] [ "of" "file" F ] STATE
//! amount    = ( dirty | cached | writeback | folios | bios | requests
//!             | i_size | disk_size | a counter ) [ "of" "file" F ] ( > | >= | < | <= | = | != ) SIZE
//! bio       = "any" "bio" ( "crosses" ( SIZE | "a" "stripe" ) | "failed" | comparison SIZE )
//! ```

use super::blocks::{Blocks, Want};
use super::condition::{Compare, Condition, What};
use super::{Event, Query, State};
use crate::counters::Counter;
use crate::scenario::MAX_FILES;
use crate::scenario::size::parse_size;
use crate::trace::amount::Amount;
use crate::units::{Bytes, FileId};
use core::cmp::Ordering::{Equal, Greater, Less};
use thiserror::Error;

/// Longest query, in bytes.
const MAX_TEXT: usize = 200;
/// Most blocks of one condition.
const MAX_BLOCKS: u64 = 1 << 20;

/// Why a query cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("search, column {column}: {message}")]
pub struct QueryError {
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, what was expected.
    pub message: String,
}

/// The words of a query with the column of each.
struct Words<'a> {
    list: Vec<(usize, &'a str)>,
    at: usize,
    end: usize,
}

impl<'a> Words<'a> {
    fn new(text: &'a str) -> Self {
        let mut words = Vec::new();
        let mut start = None;
        let kind = |c: char| match c {
            c if c.is_whitespace() => 0,
            '<' | '>' | '=' | '!' => 1,
            _ => 2,
        };
        let mut before = 0;
        for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
            let now = kind(c);
            if now != before {
                if let Some(from) = start.take() {
                    words.push((from, &text[from..at]));
                }
                start = (now != 0).then_some(at);
                before = now;
            }
        }
        let column = |at: usize| text[..at].chars().count() + 1;
        let words = words.into_iter().map(|(at, word)| (column(at), word)).collect();
        Self { list: words, at: 0, end: column(text.len()) }
    }
    fn peek(&self) -> Option<&'a str> {
        self.list.get(self.at).map(|(_, word)| *word)
    }
    fn next(&mut self) -> Option<&'a str> {
        let word = self.peek();
        self.at += usize::from(word.is_some());
        word
    }
    fn takes(&mut self, word: &str) -> bool {
        let is = self.peek() == Some(word);
        self.at += usize::from(is);
        is
    }
    /// An error at the word that was taken last, or where one is missing.
    fn wrong(&self, found: Option<&str>, wanted: &str) -> QueryError {
        let (column, message) = match found {
            Some(word) => {
                (self.list[self.at - 1].0, format!("`{word}` was found, expected {wanted}"))
            }
            None => (self.end, format!("the query ends here, expected {wanted}")),
        };
        QueryError { column, message }
    }
    fn number(&mut self, wanted: &str, most: u64) -> Result<u64, QueryError> {
        let word = self.next();
        let number = word.and_then(|word| word.parse().ok()).filter(|n| *n <= most);
        number.ok_or_else(|| self.wrong(word, &format!("{wanted}, up to {most}")))
    }
    fn file(&mut self) -> Result<Option<FileId>, QueryError> {
        if !self.takes("of") {
            return Ok(None);
        }
        if !self.takes("file") {
            let word = self.next();
            return Err(self.wrong(word, "`file` and its number"));
        }
        let number = self.number("the number of a file", MAX_FILES as u64 - 1)?;
        Ok(Some(FileId::new(number as u32)))
    }
    /// A size, or a number of things; `1 MiB` are two words.
    fn size(&mut self) -> Result<u64, QueryError> {
        let word = self.next();
        let text = match (word, self.peek()) {
            (Some(number), Some(unit))
                if number.bytes().all(|byte| byte.is_ascii_digit())
                    && !matches!(unit, "and" | "not") =>
            {
                self.next();
                format!("{number} {unit}")
            }
            (word, _) => word.unwrap_or_default().to_owned(),
        };
        parse_size(&text)
            .map(Bytes::get)
            .map_err(|_| self.wrong(word, "a number, or a size such as 64k or 1 MiB"))
    }
    fn compare(&mut self) -> Result<Compare, QueryError> {
        let word = self.next();
        let fits: &[_] = match word {
            Some(">") => &[Greater],
            Some(">=") => &[Greater, Equal],
            Some("<") => &[Less],
            Some("<=") => &[Less, Equal],
            Some("=" | "==") => &[Equal],
            Some("!=") => &[Less, Greater],
            _ => return Err(self.wrong(word, "one of > >= < <= = !=")),
        };
        Ok(Compare { fits, value: self.size()? })
    }
}

/// A query from text.
pub(super) fn query(text: &str) -> Result<Query, QueryError> {
    let text = text.trim();
    if text.is_empty() {
        let message = "there is nothing to look for".to_owned();
        return Err(QueryError { column: 1, message });
    }
    if text.len() > MAX_TEXT {
        let message = format!("{} bytes are too long, {MAX_TEXT} is the most", text.len());
        return Err(QueryError { column: 1, message });
    }
    let small = text.to_ascii_lowercase();
    let mut words = Words::new(&small);
    if words.list.len() == 2 && words.takes("event") {
        let word = words.next();
        let names: Vec<&str> = Event::ALL.iter().map(|one| one.word()).collect();
        let known = word.and_then(Event::from_word);
        let wanted = || words.wrong(word, &format!("one of {}", names.join(", ")));
        return known.map(Query::Event).ok_or_else(wanted);
    }
    if !asks_for_state(&words) {
        return Ok(Query::Text(small));
    }
    let mut conditions = vec![condition(&mut words)?];
    while let Some(word) = words.next() {
        if word != "and" {
            return Err(words.wrong(Some(word), "`and`, or the end"));
        }
        conditions.push(condition(&mut words)?);
    }
    Ok(Query::State(State(conditions)))
}

/// Whether the words begin like a condition: `block 7`, `any bio`, or an amount that is compared.
fn asks_for_state(words: &Words<'_>) -> bool {
    let word = |at: usize| words.list.get(at).map(|(_, word)| *word);
    let skip = usize::from(word(0) == Some("not"));
    let digit = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    match (word(skip), word(skip + 1)) {
        (Some("block" | "blocks"), Some(next)) => digit(next),
        (Some("any"), Some("bio")) => true,
        (Some(name), Some(next)) => {
            amount(name).is_some() && (next == "of" || next.starts_with(['<', '>', '=', '!']))
        }
        _ => false,
    }
}

fn amount(name: &str) -> Option<Amount> {
    let named = Amount::NAMED.iter().find(|(known, _)| *known == name);
    let counter = || Counter::ALL.iter().find(|counter| counter.name() == name);
    named.map(|(_, amount)| *amount).or_else(|| counter().map(|one| Amount::Counter(*one)))
}

fn condition(words: &mut Words<'_>) -> Result<Condition, QueryError> {
    let not = words.takes("not");
    let word = words.next();
    let what = match word {
        Some("block" | "blocks") => blocks(words)?,
        Some("any") => {
            if !words.takes("bio") {
                let word = words.next();
                return Err(words.wrong(word, "`bio`"));
            }
            match words.peek() {
                Some("crosses") => {
                    words.next();
                    if words.takes("a") {
                        if !words.takes("stripe") {
                            let word = words.next();
                            return Err(words.wrong(word, "`stripe`"));
                        }
                        return Ok(Condition { not, what: What::BioCrosses(None) });
                    }
                    let every = words.size()?;
                    if every == 0 {
                        let word = words.list[words.at - 1].1;
                        return Err(words.wrong(Some(word), "a size that is not 0"));
                    }
                    What::BioCrosses(Some(Bytes::new(every)))
                }
                Some("failed") => {
                    words.next();
                    What::BioFailed
                }
                Some(">" | ">=" | "<" | "<=" | "=" | "==" | "!=") => What::BioLen(words.compare()?),
                _ => {
                    let word = words.next();
                    return Err(words.wrong(
                        word,
                        "`crosses` and a size or `a stripe`, `failed`, or > and a size",
                    ));
                }
            }
        }
        _ => {
            let known = word.and_then(amount);
            let wanted = "block, any bio, an amount such as dirty, or the name of a counter";
            let mut amount = known.ok_or_else(|| words.wrong(word, wanted))?;
            match (words.file()?, amount) {
                (Some(file), Amount::Size(_)) => amount = Amount::Size(file),
                (Some(file), Amount::DiskSize(_)) => amount = Amount::DiskSize(file),
                (Some(_), _) => return Err(words.wrong(Some("of file"), "an amount of all files")),
                (None, _) => {}
            }
            What::Amount(amount, words.compare()?)
        }
    };
    Ok(Condition { not, what })
}

fn blocks(words: &mut Words<'_>) -> Result<What, QueryError> {
    let word = words.next();
    let wanted = "the number of a block, or two with `-` between";
    let text = word.unwrap_or_default();
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.parse::<u64>().ok().filter(|n| *n < 1 << 60);
    let (Some(first), Some(last)) = (number(first), number(last)) else {
        return Err(words.wrong(word, wanted));
    };
    if first > last || last - first >= MAX_BLOCKS {
        return Err(words.wrong(word, &format!("ascending numbers, {MAX_BLOCKS} blocks at most")));
    }
    let file = words.file()?.unwrap_or(FileId::new(0));
    let not = words.takes("not");
    let word = words.next();
    let named = Want::NAMED.iter().find(|(name, _)| Some(*name) == word);
    let Some((_, want)) = named.filter(|_| !not) else {
        let names: Vec<&str> = Want::NAMED.iter().map(|(name, _)| *name).collect();
        return Err(words.wrong(word, &format!("one of {}", names.join(", "))));
    };
    Ok(What::Blocks(Blocks { file, first, last, want: *want }))
}
