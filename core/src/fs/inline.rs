//! Bytes of a small file that live with its inode (gfs2 calls such a file stuffed).

use crate::iomap::{Intent, Iomap, MapType};
use crate::units::{Bytes, FileRange, Pos};

/// The bytes, in memory and as the device last got them with the inode.
#[derive(Clone, Debug)]
pub struct InlineData {
    capacity: Bytes,
    bytes: Vec<u8>,
    durable: Vec<u8>,
}

impl InlineData {
    /// Bytes of which as many as `capacity` find room.
    pub fn new(capacity: Bytes, mut bytes: Vec<u8>) -> Self {
        bytes.truncate(capacity.get() as usize);
        Self { capacity, durable: bytes.clone(), bytes }
    }
    /// The bytes in memory.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// The bytes on the device.
    pub fn durable(&self) -> &[u8] {
        &self.durable
    }
    /// Whether a write that ends there finds room.
    pub fn holds(&self, end: Pos) -> bool {
        end <= Pos::ZERO + self.capacity
    }
    /// The mapping for `range` of a file of `size` bytes: writes may use all of the room
    /// (`__gfs2_iomap_get`).
    pub fn begin(&self, range: FileRange, intent: Intent, size: Pos, cookie: u64) -> Iomap {
        let end = if intent == Intent::Write { Pos::ZERO + self.capacity } else { size };
        if range.start() >= end {
            return Iomap::plain(range, MapType::Hole, None, cookie);
        }
        let whole = FileRange::between(Pos::ZERO, end);
        Iomap::plain(whole, MapType::Inline, None, cookie)
    }
    /// Takes bytes at `pos` over (`iomap_write_end_inline`); what lies between is zero.
    pub fn put(&mut self, pos: Pos, bytes: &[u8]) {
        let start = pos.get() as usize;
        let end = start + bytes.len();
        self.bytes.resize(self.bytes.len().max(end), 0);
        self.bytes[start..end].copy_from_slice(bytes);
    }
    /// What was not written with the inode is gone.
    pub fn revert(&mut self) {
        self.bytes.clone_from(&self.durable);
    }
    /// The inode is on the device.
    pub fn commit(&mut self) {
        self.durable.clone_from(&self.bytes);
    }
}
