//! Prints the wide table of what writes cost arrays with parity, and says how long it took.

use folioscope_core::device::md::table::{HEAD, sweep};
use std::io::Write as _;
use std::time::Instant;

fn main() -> std::io::Result<()> {
    let start = Instant::now();
    let all = sweep();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    writeln!(out, "{HEAD}")?;
    for line in &all {
        writeln!(out, "{}", line.text(&line.cost()))?;
    }
    out.flush()?;
    eprintln!("{} lines in {:.2} s", all.len(), start.elapsed().as_secs_f64());
    Ok(())
}
