//! The program from outside: real files through `O_DIRECT`, bad input, traces.
//!
//! Tests on real files run in the target folder of cargo. Where its file system has no `O_DIRECT`,
//! they say so and check nothing.

mod fuzz;
mod judges;
mod races;
mod refusals;
mod runs;
mod share;
mod world;
