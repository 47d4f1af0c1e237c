//! The engine as a module for browsers: what it exports is [`folioscope_web_engine::answer`].
#![forbid(unsafe_code)]

pub use folioscope_web_engine::answer;
