//! Checks: the numbered invariants, and the engine's own state as a model.

pub mod invariants;
pub mod mirror;
pub mod mutant;
mod written;

pub(crate) use written::Written;
