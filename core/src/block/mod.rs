//! The block layer: what happens to an I/O between the file system and the device.

pub mod bio;
pub(crate) mod submit;
