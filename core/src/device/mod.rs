//! Simulated devices: they hold real bytes, sparsely, and complete bios in virtual time.
//!
//! They claim order and counts, not seconds.

pub mod sim;
pub mod store;
