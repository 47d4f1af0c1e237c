//! The page.
#![forbid(unsafe_code)]
