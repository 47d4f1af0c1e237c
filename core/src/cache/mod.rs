//! The page cache: folios, their per-block state, and where they lie in their files and in memory.

pub mod folio;
pub mod frame_alloc;
pub mod ifs;
mod index;
pub(crate) mod life;
pub(crate) mod lru;
pub mod mapping;
pub mod policy;
mod ranges;
mod reclaim;
mod split;
pub mod workingset;
