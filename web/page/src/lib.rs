//! The page as a module for browsers: what it exports is [`folioscope_web::start`].
#![forbid(unsafe_code)]

pub use folioscope_web::start;
