//! How long going through a run of a million steps takes, and the longest slice of it, as a page
//! that must not block would take it: for the curves of its measures, and for searches.

use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run;
use folioscope_core::scene::chart::draw;
use folioscope_core::search::{Hunt, Query};
use folioscope_core::trace::align::Alignment;
use folioscope_core::trace::curve::{Curves, Measure};
use folioscope_core::trace::timeline::{Recording, Timeline};
use std::time::{Duration, Instant};

const SCENARIO: &str = r#"
version = 0
title = "a million steps"
profile = "linux-6.18"
[world]
page_size = "4k"
block_size = "4k"
max_folio_order = 9
[[file]]
name = "a"
size = "64m"
[[op]]
do = "pread"
len = "64m"
[[op]]
do = "randwrite"
len = "4k"
then = "fdatasync"
repeat = 42000
"#;

/// Moments of a slice.
const SLICE: usize = 256;

fn main() {
    let scenario = parse_scenario("speed.toml", SCENARIO).expect("it is right");
    let done = run(&scenario, &scenario.variants[0], Recording::default()).expect("it ends");
    let timed = Instant::now();
    let timeline = Timeline::new(done.header, done.sink).expect("a trace of ours");
    println!("{} steps, opened in {:?}", timeline.len(), timed.elapsed());
    let way = Alignment::of(&[timeline.recording()]);
    let timed = Instant::now();
    let runs = [&timeline];
    let mut curves = Curves::new(&way, &runs);
    while !curves.advance(&way, &runs, SLICE) {}
    let went = timed.elapsed();
    let timed = Instant::now();
    let svg = draw(&curves, Measure::Dirty, 1440, 44);
    println!("curves in {went:?}, drawn in {:?}, {} bytes", timed.elapsed(), svg.len());
    for text in [
        "event split",
        "submit_bio",
        "0xfff000 copied",
        "dirty > 1 MiB",
        "dirty > 0",
        "block 7 dirty",
        "blocks 0-16383 clean",
        "any bio crosses 384k",
        "writeback > 0 and device_flushes > 7",
    ] {
        let query = Query::parse(text).expect("it is right");
        let runs = [&timeline];
        let timed = Instant::now();
        let mut hunt = Hunt::new(&query, &runs);
        let mut longest = Duration::ZERO;
        loop {
            let slice = Instant::now();
            let ended = hunt.advance(&way, &runs, SLICE);
            longest = longest.max(slice.elapsed());
            if ended {
                break;
            }
        }
        let whole = timed.elapsed().as_millis();
        let found = hunt.found().len();
        println!("{text:38} {whole:5} ms, longest slice {longest:9.1?}, found {found}");
    }
}
