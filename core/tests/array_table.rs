//! The wide table: chunk, members, level, size and place of a write, and what the members then do.
//!
//! The snapshot keeps each fortieth line, to be read, and a checksum of every line of each array,
//! so that a change anywhere is seen and placed. `cargo run --release --example array_table` prints
//! all of it.

use folioscope_core::device::md::table::{Cost, HEAD, Line, sweep};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Of so many lines one is kept.
const EVERY: usize = 40;

fn snapshot() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/md/table.txt")
}

fn update() -> bool {
    std::env::var_os("UPDATE_GOLDENS").is_some()
}

/// Every block that is touched is written once, parity once a row, and what is read is what the
/// cheaper way needs.
fn keeps_its_laws(line: &Line, cost: &Cost) {
    let (first, end) = (line.start.get() / 8, (line.start + line.len).get().div_ceil(8));
    assert_eq!(cost.sums.written[0].0, end - first, "{line:?}: data");
    let rows = cost.rows.full + cost.rows.rmw + cost.rows.rcw;
    assert_eq!(cost.sums.written[1].0, rows, "{line:?}: P, once a row");
    let second = u64::from(line.parity.level().parities() == 2);
    assert_eq!(cost.sums.written[2].0, rows * second, "{line:?}: Q");
    assert!(cost.percent() >= 100, "{line:?}");
}

/// FNV-1a.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

fn sampled(all: &[Line]) -> String {
    let mut out = String::from(HEAD);
    for line in all.iter().step_by(EVERY) {
        let cost = line.cost();
        keeps_its_laws(line, &cost);
        write!(out, "\n{}", line.text(&cost)).expect("a String takes everything");
    }
    out
}

#[test]
fn lines_of_the_wide_table_are_as_kept() {
    let all = sweep();
    assert!(all.len() >= 10_000, "{}", all.len());
    let found = sampled(&all);
    if update() {
        return;
    }
    let kept = std::fs::read_to_string(snapshot()).unwrap_or_default();
    let (lines, _) = kept.split_once("\n\n").unwrap_or_default();
    assert!(lines == found, "a line differs; see the test beside this one for how to update");
}

#[test]
#[ignore = "ten thousand lines: run with --release -- --ignored"]
fn the_whole_wide_table_is_as_kept() {
    let start = Instant::now();
    let all = sweep();
    let mut found = sampled(&all);
    found.push_str("\n\nlevel   n chunk | lines checksum");
    let mut bytes = 0;
    for of_array in all.chunk_by(|a, b| a.parity == b.parity) {
        let mut text = String::new();
        for line in of_array {
            let cost = line.cost();
            keeps_its_laws(line, &cost);
            writeln!(text, "{}", line.text(&cost)).expect("a String takes everything");
        }
        bytes += text.len();
        let parity = of_array[0].parity;
        write!(
            found,
            "\n{:<6} {:>2} {:>5} | {:>5} {:016x}",
            parity.level().name(),
            parity.members(),
            parity.chunk().get() / 2,
            of_array.len(),
            checksum(&text),
        )
        .expect("a String takes everything");
    }
    found.push('\n');
    let seconds = start.elapsed().as_secs_f64();
    println!("{} lines, {bytes} bytes of text, in {seconds:.2} s", all.len());
    let path = snapshot();
    if update() {
        std::fs::write(&path, &found).expect("can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == found,
        "{} differs; UPDATE_GOLDENS=1 cargo test --release --test array_table -- --ignored writes \
         it anew",
        path.display()
    );
}
