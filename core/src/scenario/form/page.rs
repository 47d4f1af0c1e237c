//! The tables of a scenario file with the places of their values.

use super::{Addable, Field, Input, Section};
use crate::behaviour::{Behaviours, Profile};
use crate::scenario::fields::{self, Span};
use crate::scenario::keys::{self, Key, Kind};
use crate::scenario::variants::OWN;
use core::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Tables that may be missing, each with a text that makes one: the sizes are usual ones.
const TEMPLATES: [(&str, &str); 6] = [
    ("queue", "[queue]\nmax_size = \"1m\"\n"),
    ("partition", "[partition]\nstart = \"1m\"\n"),
    ("array", "[array]\nlevel = \"raid5\"\nmembers = 4\nchunk = \"64k\"\n"),
    ("device", "[device]\ndepth = 32\nlatency_us = 80\nmib_per_second = 2000\nflush_us = 500\n"),
    ("variant", "[[variant]]\nname = \"before\"\nprofile = \"linux-6.1\"\n"),
    ("file", "[[file]]\nname = \"file\"\nsize = \"64k\"\n"),
];

/// A text whose tables are looked at.
pub(super) struct Page<'a> {
    text: &'a str,
    /// Where the blocks of the outer tables begin, ascending.
    blocks: Vec<usize>,
    /// Bytes by which places in files are moved.
    block_size: u64,
    /// The profile at the top of the file.
    profile: Profile,
}

/// A table that stands in the text.
struct Place<'a> {
    name: &'a str,
    span: Span,
    table: &'a DeTable<'a>,
}

impl<'a> Page<'a> {
    pub(super) fn new(text: &'a str, root: &DeTable<'_>) -> Self {
        let word = |name: &str| root.get(name).and_then(|value| value.get_ref().as_str());
        let world = root.get("world").and_then(|world| world.get_ref().as_table());
        let block = world.and_then(|world| world.get("block_size"));
        let block = block.and_then(|size| fields::size(size.get_ref()).ok());
        let mut page = Self {
            text,
            blocks: Vec::new(),
            block_size: block.map_or(4096, |bytes| bytes.get().max(1)),
            profile: word("profile").and_then(Profile::named).unwrap_or(Profile::usual()),
        };
        let mut blocks: Vec<usize> = Self::places(root)
            .iter()
            .filter(|place| page.is_header(&place.span))
            .map(|place| page.with_comments(place.span.start))
            .collect();
        blocks.sort_unstable();
        page.blocks = blocks;
        page
    }
    /// The outer tables, in the order in which the reader's list has them.
    fn places<'t>(root: &'t DeTable<'t>) -> Vec<Place<'t>> {
        let mut all = Vec::new();
        for Key { name, .. } in keys::ROOT {
            let Some(value) = root.get(*name) else { continue };
            if let Some(table) = value.get_ref().as_table().filter(|_| *name != "switches") {
                all.push(Place { name, span: value.span(), table });
            }
            if let Some(array) = value.get_ref().as_array() {
                let tables = array.iter().filter_map(|entry| {
                    let table = entry.get_ref().as_table()?;
                    Some(Place { name, span: entry.span(), table })
                });
                all.extend(tables);
            }
        }
        all
    }
    pub(super) fn sections(&self, root: &DeTable<'_>) -> Vec<Section> {
        let mut sections = vec![self.section(&Place { name: "", span: 0..0, table: root })];
        for place in &Self::places(root) {
            sections.push(self.section(place));
            sections.extend(self.own(place));
        }
        sections
    }
    /// The tables that a setting has of its own, such as `variant.array`; each has the setting's
    /// name.
    fn own(&self, place: &Place<'_>) -> Vec<Section> {
        if place.name != "variant" {
            return Vec::new();
        }
        let whose = words(place.name, place.table);
        let tables = OWN.iter().filter_map(|name| {
            let value = place.table.get(*name)?;
            let inner = Place { name, span: value.span(), table: value.get_ref().as_table()? };
            let section = self.section(&inner);
            let end = section.block.as_ref().map(|block| self.own_end(block.clone()));
            let block = section.block.zip(end).map(|(block, end)| block.start..end);
            let (table, words) = (format!("variant.{name}"), whose.clone());
            Some(Section { table, words, block, ..section })
        });
        tables.collect()
    }
    /// Where the block of an inner table ends: at the next header.
    fn own_end(&self, block: Span) -> usize {
        let body = &self.text[block.clone()];
        let header = body.find('[').map_or(0, |at| at + 1);
        let next = body[header..].find("\n[").map(|at| block.start + header + at + 1);
        next.map_or(block.end, |at| self.with_comments(at).max(block.start + header))
    }
    fn section(&self, place: &Place<'_>) -> Section {
        let Place { name, span, table } = place;
        let block = self.is_header(span).then(|| {
            let start = self.with_comments(span.start);
            let next = self.blocks.iter().find(|block| **block > start);
            start..next.copied().unwrap_or(self.text.len())
        });
        let block = block.filter(|_| !name.is_empty());
        let mut fields: Vec<Field> =
            keys_of(name, table).iter().filter_map(|key| self.field(place, key)).collect();
        if name.is_empty() || *name == "variant" {
            fields.extend(self.switches(place));
        }
        let words = words(name, table);
        Section { table: (*name).to_owned(), words, block, fields, ops: 0..0 }
    }
    /// Whether a table stands below a header of its own.
    fn is_header(&self, span: &Span) -> bool {
        let line = self.line_start(span.start);
        self.text[line..span.start].trim().is_empty() && self.text[span.start..].starts_with('[')
    }
    fn is_inline(&self, span: &Span) -> bool {
        self.text[span.start..].starts_with('{')
    }
    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |end| end + 1)
    }
    /// The end of a line, before what ends it.
    fn line_end(&self, at: usize) -> usize {
        let end = self.text[at..].find('\n').map_or(self.text.len(), |end| at + end);
        if self.text[at..end].ends_with('\r') { end - 1 } else { end }
    }
    /// The start of the comments right above a header.
    fn with_comments(&self, header: usize) -> usize {
        let mut start = self.line_start(header);
        while start > 0 {
            let before = self.line_start(start - 1);
            if !self.text[before..start].trim_start().starts_with('#') {
                break;
            }
            start = before;
        }
        // What begins the file is about the file.
        if start == 0 { self.line_start(header) } else { start }
    }
    /// The end of the last value that stands in the table's own lines, or between its braces.
    fn last_value(&self, table: &DeTable<'_>) -> Option<usize> {
        let end = |value: &Spanned<DeValue<'_>>| {
            let span = value.span();
            let inner = value.get_ref().as_table();
            if self.is_header(&span) && (inner.is_some() || value.get_ref().as_array().is_some()) {
                return None;
            }
            let dotted = inner.filter(|_| !self.is_inline(&span));
            dotted.map_or(Some(span.end), |inner| self.last_value(inner))
        };
        table.values().filter_map(end).max()
    }
    /// Where a key that a table does not have would go, with what goes before and behind its
    /// value; none: that is too hard to say.
    fn room(&self, place: &Place<'_>, key: &str) -> Option<(usize, String, String)> {
        let last = self.last_value(place.table);
        if self.is_inline(&place.span) {
            return Some(match last {
                Some(last) => (last, format!(", {key} = "), String::new()),
                None => (place.span.end - 1, format!(" {key} = "), " ".to_owned()),
            });
        }
        let at = match last {
            Some(last) => self.line_end(last),
            None if self.is_header(&place.span) => self.line_end(place.span.end),
            None => return None,
        };
        Some((at, format!("\n{key} = "), String::new()))
    }
    fn field(&self, place: &Place<'_>, key: &Key) -> Option<Field> {
        let value = place.table.get(key.name);
        let input = match key.kind {
            Kind::Size => Input::Size(self.block_size),
            Kind::Doubling => Input::Size(0),
            Kind::Count => Input::Count,
            Kind::Flag => Input::Flag,
            Kind::Text => Input::Text,
            Kind::Word(words) => Input::Word(words().into_iter().map(str::to_owned).collect()),
            Kind::Inner => return None,
        };
        let must = value.is_some() && needed(place.name, key.name);
        let mut field = self.value(place, key.name, value, input)?;
        if must {
            field.remove = None;
        }
        Some(field)
    }
    /// A field with its value, or with where it would go.
    fn value(
        &self,
        place: &Place<'_>,
        key: &str,
        value: Option<&Spanned<DeValue<'_>>>,
        input: Input,
    ) -> Option<Field> {
        let mut field = Field {
            key: key.to_owned(),
            switch: false,
            input,
            value: None,
            usual: String::new(),
            place: 0..0,
            before: String::new(),
            after: String::new(),
            remove: None,
        };
        if let Some(value) = value {
            field.value = Some(plain(value.get_ref())?);
            field.place = value.span();
            field.remove = self.removal(place, key, value);
        } else {
            let (at, before, after) = self.room(place, key)?;
            (field.place, field.before, field.after) = (at..at, before, after);
        }
        Some(field)
    }
    /// The bytes of a key with its value: a line, or a part of a line with its comma.
    fn removal(
        &self,
        place: &Place<'_>,
        key: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<Range<usize>> {
        let (name, _) = place.table.get_key_value(key)?;
        let (start, end) = (name.span().start, value.span().end);
        if self.is_inline(&place.span) {
            let rest = self.text[end..].trim_start();
            if rest.starts_with(',') {
                let comma = self.text.len() - rest.len() + 1;
                let spaces = self.text[comma..].len() - self.text[comma..].trim_start().len();
                return Some(start..comma + spaces);
            }
            let before = self.text[..start].trim_end();
            return Some(before.strip_suffix(',').map_or(start, str::len)..end);
        }
        let (line, stop) = (self.line_start(start), self.line_end(end));
        let alone = self.text[line..start].trim().is_empty();
        let rest = self.text[end..stop].trim_start();
        if !alone || !(rest.is_empty() || rest.starts_with('#')) {
            return None;
        }
        let newline = self.text[stop..].find('\n').map_or(self.text.len(), |at| stop + at + 1);
        Some(line..newline)
    }
    /// Every switch of a table that has switches.
    fn switches(&self, place: &Place<'_>) -> Vec<Field> {
        let inner = place.table.get("switches");
        let named = place.table.get("profile").and_then(|profile| profile.get_ref().as_str());
        let base = named.and_then(Profile::named).unwrap_or(self.profile).behaviours;
        let each = base.switches().filter_map(|(name, usual)| {
            let words = Behaviours::values(name)?.into_iter().map(str::to_owned).collect();
            let input = Input::Word(words);
            let mut field = if let Some(value) = inner {
                let table = value.get_ref().as_table()?;
                let within = Place { name: "switches", span: value.span(), table };
                self.value(&within, name, table.get(name), input)?
            } else {
                let field = self.value(place, "switches", None, input)?;
                let (before, after) =
                    (format!("{}{{ {name} = ", field.before), format!(" }}{}", field.after));
                Field { key: name.to_owned(), before, after, ..field }
            };
            (field.switch, field.usual) = (true, usual.to_owned());
            Some(field)
        });
        each.collect()
    }
    pub(super) fn addable(&self, root: &DeTable<'_>) -> Vec<Addable> {
        // Settings and what stands behind files come first, then files, then operations.
        let first_of = |names: &[&str]| {
            let places = Self::places(root);
            let headers = places.iter().filter(|place| self.is_header(&place.span));
            let named = headers.filter(|place| names.contains(&place.name));
            named.map(|place| self.with_comments(place.span.start)).min()
        };
        let missing = TEMPLATES.iter().filter(|(name, _)| {
            let Some(value) = root.get(*name) else { return true };
            let tables = value.get_ref().as_array();
            tables.is_some_and(|_| self.is_header(&value.span()))
        });
        let each = missing.map(|(name, text)| {
            let behind: &[&str] = match *name {
                "file" => &["op"],
                "variant" => &["file", "op"],
                _ => &["variant", "file", "op"],
            };
            let at = first_of(behind).unwrap_or(self.text.len());
            let text = Self::fresh(root, name, text);
            let gap = if self.text[..at].ends_with('\n') || at == 0 { "" } else { "\n\n" };
            Addable { table: (*name).to_owned(), at, text: format!("{gap}{text}\n") }
        });
        each.collect()
    }
    /// A template whose name no other table of its kind has.
    fn fresh(root: &DeTable<'_>, table: &str, text: &str) -> String {
        let places = Self::places(root);
        let taken: Vec<&str> = places
            .iter()
            .filter(|place| place.name == table)
            .filter_map(|place| place.table.get("name")?.get_ref().as_str())
            .collect();
        let Some((_, name)) = text.split_once("name = \"") else { return text.to_owned() };
        let name = name.split('"').next().unwrap_or_default();
        let free = |word: &String| !taken.contains(&word.as_str());
        let numbered = (2..).map(|n| format!("{name} {n}"));
        let new = core::iter::once(name.to_owned()).chain(numbered).find(free).unwrap_or_default();
        text.replacen(&format!("\"{name}\""), &format!("{new:?}"), 1)
    }
}

/// The keys that a table may have; where they depend on a word of it, those that mean something
/// beside this one, and those that it has.
fn keys_of(table: &str, has: &DeTable<'_>) -> Vec<Key> {
    let all = match table {
        "" => keys::ROOT,
        "world" => keys::WORLD,
        "device" if has.get("rpm").is_some() => return [keys::DISK, keys::ZONES].concat(),
        "device" => return [keys::QUEUED, keys::ZONES].concat(),
        "queue" => keys::QUEUE,
        "partition" => keys::PARTITION,
        "array" => keys::ARRAY,
        "variant" => keys::VARIANT,
        "file" => keys::FILE,
        "op" => keys::OP,
        "fault" => keys::FAULT,
        "run" => keys::RUN,
        "dirty" => keys::DIRTY,
        "kswapd" => keys::KSWAPD,
        "schedule" => keys::SCHEDULE,
        _ => &[],
    };
    let Some((_, always, own)) = keys::of_word(table, has) else { return all.to_vec() };
    let own = own.unwrap_or_default();
    let kept = |key: &&Key| {
        always.contains(&key.name) || own.contains(&key.name) || has.get(key.name).is_some()
    };
    all.iter().filter(kept).copied().collect()
}

/// Whether a table is nothing without a key.
fn needed(table: &str, key: &str) -> bool {
    match table {
        "" => key == "title",
        "op" => key == "do",
        "file" | "variant" => key == "name",
        "world" => ["page_size", "block_size", "max_folio_order"].contains(&key),
        "array" => ["level", "members"].contains(&key),
        "partition" => key == "start",
        _ => false,
    }
}

/// A value as it stands in a form.
fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(_) => fields::integer(value).ok().map(|number| number.to_string()),
        DeValue::Boolean(on) => Some(on.to_string()),
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// What tells a table from others.
fn words(name: &str, table: &DeTable<'_>) -> String {
    let get = |key: &str| table.get(key).and_then(|value| plain(value.get_ref()));
    let word = |key: &str| get(key).unwrap_or_default();
    match name {
        "op" => {
            let name = word("do");
            let with = |key: &str, before: &str| {
                get(key).map_or_else(String::new, |value| format!("{before}{value}"))
            };
            let place = match (get("len"), get("at")) {
                (Some(len), None) if name == "randwrite" => format!(" {len}"),
                (Some(len), at) => format!(" {len} at {}", at.as_deref().unwrap_or("0")),
                (None, _) => ["at", "size", "pages", "member"].map(|key| with(key, " ")).concat(),
            };
            let how = [with("mode", " "), with("advice", " ")].concat();
            [name, place, how, with("repeat", " \u{d7} "), with("then", ", ")].concat()
        }
        "file" | "variant" => word("name"),
        "array" => format!("{} of {}", word("level"), word("members")),
        "fault" => word("at"),
        _ => String::new(),
    }
}
