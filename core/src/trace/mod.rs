//! The trace: every step of a run with its reason and its changes, and everything that is derived
//! from it alone: the model, the timeline, the wire format, the text.

pub mod address;
pub mod align;
pub(crate) mod amount;
pub mod array;
mod buffers;
mod crc;
pub mod curve;
pub mod delta;
mod file_state;
mod folio_state;
pub mod header;
pub mod io;
pub mod model;
pub(crate) mod packed;
mod place;
mod rows;
pub mod rule;
pub mod series;
pub mod sink;
pub mod stack;
pub mod step;
pub(crate) mod sum;
pub mod survey;
mod tally;
pub mod text;
pub mod timeline;
pub mod wire;
