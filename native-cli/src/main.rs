//! The terminal: `folioscope`.
#![deny(unsafe_code)]

mod error;
mod target;
fn main() {}
