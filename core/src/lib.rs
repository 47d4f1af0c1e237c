//! The Linux buffered I/O engine of Folioscope.
//!
//! Sans-IO: it owns no clock, thread, file or global. Operations, completions and the time are put
//! in, effects are taken out, and the host that carries them out may be a browser, a terminal with
//! a real disk, or a test.
#![forbid(unsafe_code)]

pub mod behaviour;
pub mod bits;
pub mod block;
pub mod buffer;
pub mod cache;
pub mod check;
pub mod counters;
pub mod device;
pub mod dirty;
pub mod engine;
pub mod errno;
pub mod fault;
pub mod frames;
pub mod fs;
pub mod gauges;
pub mod geometry;
pub mod inner;
pub mod iomap;
pub mod journal;
pub mod lesson;
pub mod link;
pub mod locks;
pub mod ops;
pub mod ordered;
pub mod power;
pub mod scenario;
pub mod scene;
pub mod search;
pub mod service;
pub mod sort;
pub mod stops;
pub mod streams;
pub mod tasks;
pub mod trace;
pub mod units;
pub mod world;
pub mod writeback;

/// Version of the engine, as written into traces.
pub const ENGINE_VERSION: &str = env!("CARGO_PKG_VERSION");
