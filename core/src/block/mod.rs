//! The block layer: what happens to an I/O between the file system and the device.

pub mod bio;
pub mod limits;
pub mod queue;
pub mod request;
pub mod split;
pub(crate) mod submit;
