//! Simulated devices: they hold real bytes, sparsely, and complete bios in virtual time.
//!
//! They claim order and counts, not seconds.

pub mod array;
pub mod behind;
pub mod disk;
pub mod fault;
mod flights;
pub mod md;
mod service;
pub mod sim;
pub mod store;
pub mod volatile;
pub mod zoned;
