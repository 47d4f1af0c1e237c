//! Prints what stands for the traces of some random streams: the same everywhere, so that a test on
//! wasm can be held against it.

use folioscope_core::streams::simulated::fingerprint;

fn main() {
    println!("{:016x}", fingerprint(3, 80));
}
