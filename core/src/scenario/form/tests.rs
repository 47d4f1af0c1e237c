//! Of every scenario of the assets: a value can be set, and taken out, without touching another.

use super::{Checked, Field, Input, Splice, check, form};
use crate::scenario::{fields, keys};
use proptest::prelude::*;
use std::fs;

const SIMPLE: &str = "version = 0\ntitle = \"t\"\n\n[world]\npage_size = 4096 # bytes\n\
    block_size = \"4k\"\nmax_folio_order = 2\n\n# Both.\n[[variant]]\nname = \"a\"\n\
    switches = { dirty_tracking = \"per-folio\", write_chunk = \"page\" }\n\n\
    [[file]]\nname = \"f\"\nsize = \"64k\"\n\n# First.\n[[op]]\ndo = \"pwrite\"\nlen = \"8k\"\n\
    repeat = 2\n\n[[op]]\ndo = \"fsync\"";

fn spliced(text: &str, (place, new): Splice) -> String {
    format!("{}{new}{}", &text[..place.start], &text[place.end..])
}

/// Tables, keys and values, without their places.
fn values(checked: &Checked) -> Vec<(String, String, Option<String>)> {
    let sections = checked.sections.iter().enumerate();
    let each = sections.flat_map(|(at, section)| {
        let name = format!("{at} {}", section.table);
        section
            .fields
            .iter()
            .map(move |field| (name.clone(), field.key.clone(), field.value.clone()))
    });
    each.collect()
}

fn scenarios() -> Vec<String> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/scenarios");
    let mut all: Vec<_> = [root.to_owned(), format!("{root}/races")]
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("the folder"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    all.sort();
    assert!(all.len() > 15);
    all.iter().map(|path| fs::read_to_string(path).expect("a scenario")).collect()
}

fn other_value(field: &Field) -> String {
    match &field.input {
        Input::Size(_) => "12k".to_owned(),
        Input::Count => "3".to_owned(),
        Input::Flag => "false".to_owned(),
        Input::Text => "a \"b\" \\ c\u{7}".to_owned(),
        Input::Word(words) => words[0].clone(),
    }
}

#[test]
fn a_value_is_set_and_taken_out_and_no_other_changes() {
    for text in scenarios().iter().chain([&SIMPLE.to_owned()]) {
        let (checked, scenario) = check(text);
        assert!(scenario.is_some() && checked.wrong.is_none(), "{text}");
        let before = values(&checked);
        let all = checked.sections.iter().flat_map(|section| &section.fields).enumerate();
        for (nth, field) in all {
            // Another one of these has other keys.
            if ["do", "rpm", "level"].contains(&field.key.as_str()) {
                continue;
            }
            if let Some(value) = &field.value {
                let same = form(&spliced(text, field.set(value)));
                assert_eq!(values(&same), before, "{}", field.key);
            }
            let new = other_value(field);
            let changed = spliced(text, field.set(&new));
            let after = values(&form(&changed));
            let mut wanted = before.clone();
            wanted[nth].2 = Some(new);
            assert_eq!(after, wanted, "{} in\n{changed}", field.key);
            if let Some(gone) = field.remove.clone() {
                let changed = spliced(text, (gone, String::new()));
                let after = values(&form(&changed));
                let mut wanted = before.clone();
                wanted[nth].2 = None;
                // A key that an operation need not have is gone with its value.
                let kept = |entry: &(String, String, Option<String>)| entry.2.is_some();
                let (after, wanted): (Vec<_>, Vec<_>) = (
                    after.into_iter().filter(kept).collect(),
                    wanted.into_iter().filter(kept).collect(),
                );
                assert_eq!(after, wanted, "{} in\n{changed}", field.key);
            }
        }
    }
}

#[test]
fn blocks_cover_the_text_once_and_operations_know_their_number() {
    let (checked, _) = check(SIMPLE);
    let blocks: Vec<_> = checked.sections.iter().filter_map(|one| one.block.clone()).collect();
    assert!(SIMPLE[blocks[1].clone()].starts_with("# Both.\n[[variant]]"));
    assert_eq!(blocks.last().expect("blocks").end, SIMPLE.len());
    assert!(blocks.windows(2).all(|two| two[0].end == two[1].start), "{blocks:?}");
    let ops: Vec<_> = checked.sections.iter().filter(|one| one.table == "op").collect();
    assert_eq!((ops[0].ops.clone(), ops[1].ops.clone()), (0..2, 2..3));
    assert_eq!(ops[0].words, "pwrite 8k at 0 \u{d7} 2");
    let taken = format!("{}{}", &SIMPLE[..blocks[3].start], &SIMPLE[blocks[3].end..]);
    assert_eq!(check(&taken).1.expect("it is one").ops.len(), 1);
}

#[test]
fn every_table_that_can_be_added_makes_a_scenario() {
    for text in scenarios().iter().chain([&SIMPLE.to_owned()]) {
        for addable in form(text).addable {
            let more = spliced(text, (addable.at..addable.at, addable.text));
            let (now, before) = (form(&more).sections.len(), form(text).sections.len());
            assert_eq!(now, before + 1, "{} in\n{more}", addable.table);
        }
    }
    for addable in check(SIMPLE).0.addable {
        let more = spliced(SIMPLE, (addable.at..addable.at, addable.text));
        assert!(check(&more).1.is_some(), "{}: {:?}", addable.table, check(&more).0.wrong);
    }
}

#[test]
fn what_is_wrong_has_its_place() {
    let text = SIMPLE.replace("\"8k\"", "\"8q\"");
    let (checked, scenario) = check(&text);
    assert!(scenario.is_none());
    let wrong = checked.wrong.expect("it is wrong");
    assert_eq!((wrong.line, wrong.column), (21, 7));
    assert_eq!(&text[wrong.place.clone()], "\"8q\"");
    assert!(!checked.sections.is_empty(), "its form is there all the same");
    let (checked, _) = check("version = 0\n\u{e4} = \n");
    assert!(checked.sections.is_empty());
    assert_eq!(checked.wrong.expect("it is wrong").line, 2);
    assert!(check("").0.wrong.is_some());
}

proptest! {
    #[test]
    fn no_text_breaks_it(at in 0..SIMPLE.len(), cut in 0..40usize, new in "[\\[\\]{}\"=,.#\n a0]{0,6}") {
        let end = (at + cut).min(SIMPLE.len());
        let text = format!("{}{new}{}", &SIMPLE[..at], &SIMPLE[end..]);
        let (checked, _) = check(&text);
        for field in checked.sections.iter().flat_map(|section| &section.fields) {
            let _ = spliced(&text, field.set("1"));
            let _ = field.remove.clone().map(|gone| spliced(&text, (gone, String::new())));
        }
        for section in &checked.sections {
            let _ = section.block.clone().map(|block| &text[block]);
        }
        for addable in &checked.addable {
            let _ = &text[addable.at..];
        }
    }
}

/// What a word takes is a key of its table, every key is taken by some word, and a form offers no
/// key that would be refused.
#[test]
fn keys_and_the_words_that_take_them_are_the_same_keys() {
    for (table, keys, words, word) in [
        ("op", keys::OP, keys::OPS, "do"),
        ("array", keys::ARRAY, keys::LEVELS, "level"),
        ("fault", keys::FAULT, keys::FAULTS, "at"),
    ] {
        let mut taken: Vec<&str> = Vec::new();
        for (name, own) in words {
            let text = format!("{word} = {name:?}");
            let root = fields::parse(&text).expect("it is TOML");
            let (_, always, found) = keys::of_word(table, root.get_ref()).expect("it has words");
            assert_eq!(found, Some(*own));
            taken.extend(always.iter().chain(*own));
        }
        for key in keys::names(keys) {
            assert!(taken.contains(&key), "{table}: nothing takes {key}");
        }
        let known = keys::names(keys);
        assert!(taken.iter().all(|key| known.contains(key)), "{table}: {taken:?}");
    }
    let text = SIMPLE.replace("[[file]]", "[array]\nlevel = \"raid0\"\nmembers = 2\n\n[[file]]");
    let (checked, _) = check(&text);
    let array = checked.sections.iter().find(|one| one.table == "array").expect("an array");
    let keys: Vec<&str> = array.fields.iter().map(|field| field.key.as_str()).collect();
    assert_eq!(keys, ["level", "members", "chunk"]);
}
