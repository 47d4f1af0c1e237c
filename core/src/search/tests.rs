//! Queries find what looking at every state finds.

use super::*;
use crate::scenario::Variant;
use crate::scenario::file::parse_scenario;
use crate::scenario::run::run;
use crate::trace::align::Alignment;
use crate::trace::timeline::Recording;

const SCENARIO: &str = r#"
version = 0
title = "two writes, each made durable"
profile = "linux-6.18"
[world]
page_size = "4k"
block_size = "4k"
max_folio_order = 4
[[file]]
name = "a"
size = "64k"
[[op]]
do = "pread"
len = "64k"
[[op]]
do = "pwrite"
at = "28k"
len = "4k"
then = "fsync"
repeat = 3
"#;

fn timeline() -> Timeline {
    let scenario = parse_scenario("s.toml", SCENARIO).expect("it is right");
    let run = run(&scenario, &scenario.variants[0], Recording::default()).expect("it ends");
    Timeline::new(run.header, run.sink).expect("a trace of ours")
}

fn all(timeline: &Timeline, query: &str, forward: bool) -> Vec<usize> {
    let query = Query::parse(query).expect("it is right");
    let mut from = if forward { 0 } else { timeline.len() };
    let mut found = Vec::new();
    while let Some(at) = query.find(timeline, from, forward) {
        found.push(at);
        from = at;
    }
    if !forward {
        found.reverse();
    }
    found
}

/// What a query finds, by looking at the whole state after every step.
fn plainly(timeline: &Timeline, holds: impl Fn(&Model) -> bool) -> Vec<usize> {
    let states: Vec<bool> = (0..=timeline.len()).map(|at| holds(&timeline.model_at(at))).collect();
    (1..states.len()).filter(|at| states[*at] && !states[at - 1]).collect()
}

#[test]
fn a_state_is_found_where_it_begins_in_both_directions() {
    let timeline = timeline();
    let dirty = |model: &Model, at: u64| {
        let mut folios = model.folios().map(|(_, folio)| folio);
        folios.any(|folio| {
            let base = folio.place().index.get();
            let inside = base <= at && at < base + u64::from(folio.blocks());
            inside && folio.is_dirty((at - base) as u32)
        })
    };
    let wanted = plainly(&timeline, |model| dirty(model, 7));
    assert!(!wanted.is_empty());
    assert_eq!(all(&timeline, "block 7 dirty", true), wanted);
    assert_eq!(all(&timeline, "blocks 7-7 dirty", false), wanted);
    let count = |model: &Model| (0..16).filter(|at| dirty(model, *at)).count();
    let some = plainly(&timeline, |model| count(model) > 0);
    assert_eq!(all(&timeline, "dirty > 0", true), some);
    assert_eq!(all(&timeline, "dirty>=4k and not dirty > 8 KiB", false), some);
    let both = plainly(&timeline, |model| {
        dirty(model, 7) && model.counters().get(crate::counters::Counter::Flushes) > 0
    });
    assert_eq!(all(&timeline, "block 7 dirty and device_flushes > 0", true), both);
}

#[test]
fn bios_and_sizes_can_be_asked_for() {
    let timeline = timeline();
    assert_eq!(
        all(&timeline, "any bio crosses 16k", true).len(),
        all(&timeline, "any bio >= 8k", true).len()
    );
    assert!(all(&timeline, "any bio failed", true).is_empty());
    assert_eq!(all(&timeline, "cached = 64k", true).len(), 1);
    assert_eq!(all(&timeline, "i_size of file 0 = 65536", true).len(), 1);
    assert_eq!(all(&timeline, "writeback > 0", true), all(&timeline, "writeback > 0", false));
}

#[test]
fn stripes_of_the_array_are_known_to_the_query() {
    let text = include_str!("../../../assets/scenarios/stripe-alignment.toml");
    let scenario = parse_scenario("s.toml", text).expect("it is right");
    let crossing = |variant: &Variant| {
        let run = run(&scenario, variant, Recording::default()).expect("it ends");
        let timeline = Timeline::new(run.header, run.sink).expect("a trace of ours");
        let shape = timeline.model_at(usize::MAX).array().shape().expect("it has an array");
        let found = all(&timeline, "any bio crosses a stripe", true);
        let kib = shape.data_of_stripe().get() >> 10;
        assert_eq!(found, all(&timeline, &format!("any bio crosses {kib}k"), true));
        found.len()
    };
    let counts: Vec<usize> = scenario.variants.iter().map(crossing).collect();
    assert!(counts[0] > 0 && counts[1] == 0, "{counts:?}");
    assert!(all(&timeline(), "any bio crosses a stripe", true).is_empty(), "there is no array");
}

#[test]
fn text_is_found_in_functions_and_sentences() {
    let timeline = timeline();
    let found = all(&timeline, "SUBMIT_BIO", true);
    assert!(!found.is_empty());
    assert_eq!(found, all(&timeline, "submit_bio", false));
    assert!(all(&timeline, "no such words", true).is_empty());
}

#[test]
fn events_are_found_by_their_word() {
    let timeline = timeline();
    for event in Event::ALL {
        assert_eq!(Event::from_word(event.word()), Some(*event));
        let query = format!("event {}", event.word());
        let steps = (1..=timeline.len()).filter(|at| event.is(timeline.recording().step(at - 1)));
        assert_eq!(all(&timeline, &query, true), steps.collect::<Vec<_>>(), "{query}");
    }
    assert_eq!(all(&timeline, "event flush", true).len(), 3);
}

#[test]
fn a_hunt_in_slices_finds_what_single_searches_find() {
    let timeline = timeline();
    let way = Alignment::of(&[timeline.recording(), timeline.recording()]);
    for query in
        ["submit_bio", "order 4", "event bio", "dirty > 0", "not dirty = 0", "block 7 clean"]
    {
        let wanted = all(&timeline, query, true);
        let runs = [&timeline, &timeline];
        let mut hunt = Hunt::new(&Query::parse(query).expect("it is right"), &runs);
        while !hunt.advance(&way, &runs, 7) {
            assert!(hunt.found().iter().all(|found| found.at as usize <= hunt.reached()));
        }
        let found: Vec<usize> = hunt.found().iter().map(|found| found.at as usize).collect();
        assert_eq!(found, wanted, "{query}");
        assert!(hunt.found().iter().all(|found| found.sides == [true, true]));
        for from in 0..=way.last() {
            let next = found.iter().copied().find(|at| *at > from);
            assert_eq!(hunt.nearest(from, true), next, "{query} from {from}");
            let before = found.iter().rev().copied().find(|at| *at < from);
            assert_eq!(hunt.nearest(from, false), before, "{query} from {from}");
            assert_eq!(hunt.number(from), found.iter().position(|at| *at == from));
        }
    }
}

#[test]
fn words_are_found_in_every_part_of_a_sentence() {
    let timeline = timeline();
    for text in ["pwrite", "sector", "64.0 ki", "0x7000", "returns 4096", "a", "}", "zzz"] {
        let has = |at: &usize| {
            let step = timeline.recording().step(at - 1);
            let has = |words: &str| words.to_ascii_lowercase().contains(text);
            has(step.rule.function()) || has(&step.rule.sentence(step.args))
        };
        let wanted: Vec<usize> = (1..=timeline.len()).filter(has).collect();
        assert_eq!(all(&timeline, text, true), wanted, "{text}");
    }
}

#[test]
fn a_wrong_query_says_where_and_what_was_expected() {
    let error = |text: &str| Query::parse(text).expect_err(text).to_string();
    for (text, words) in [
        ("", "column 1: there is nothing to look for"),
        ("block 7 red", "column 9: `red` was found, expected one of clean, dirty"),
        ("block 7", "column 8: the query ends here, expected one of clean"),
        ("block 9-7 clean", "column 7: `9-7` was found, expected ascending"),
        ("dirty > much", "column 9: `much` was found, expected a number"),
        ("dirty > 1 MiB or x", "column 15: `or` was found, expected `and`"),
        ("any bio crosses 0", "column 17: `0` was found, expected a size that is not 0"),
        ("any bio crosses a line", "column 19: `line` was found, expected `stripe`"),
        ("any bio flies", "column 9: `flies` was found"),
        ("i_size of file 99 > 1", "column 16: `99` was found"),
        ("event bang", "column 7: `bang` was found, expected one of op, bio, "),
        ("block 7 of file 0 dirty and", "column 28: the query ends here"),
    ] {
        assert!(error(text).contains(words), "{text}: {}", error(text));
    }
    for text in ["blockage", "any folio", "dirty", "not", "event", "event of a kind"] {
        assert!(matches!(Query::parse(text), Ok(Query::Text(_))), "{text}");
    }
    assert!(error(&"dirty > 1 and ".repeat(20)).contains("too long"));
}
