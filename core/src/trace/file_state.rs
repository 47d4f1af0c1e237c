//! A file as a trace describes it.

use crate::iomap::MapType;
use crate::locks::{Lock, LockUse};
use crate::units::{Bytes, DevAddr, Pos};
use std::collections::BTreeMap;

/// State of an extent as packed into [`ExtentAt`](super::delta::DeltaKind::ExtentAt).
pub type ExtentState = MapType;

/// A file.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct FileState {
    pub(super) open: u64,
    pub(super) size: u64,
    pub(super) disk_size: u64,
    pub(super) extents: ExtentWords,
    pub(super) cow: ExtentWords,
    pub(super) shared: ExtentWords,
    /// What reclaimed folios left behind, by the block where they started.
    pub(super) shadows: ExtentWords,
    /// Who has to do with each lock: operation, and the word of how.
    pub(super) locks: [BTreeMap<u32, u64>; 2],
}

/// Extents by first block: bytes, and the word of state and place. Shared stretches and shadows
/// have the first word alone.
pub(super) type ExtentWords = BTreeMap<u32, (u64, u64)>;

fn extents_of(words: &ExtentWords) -> impl Iterator<Item = (u32, Bytes, ExtentState, DevAddr)> {
    words.iter().map(|(block, (len, at))| {
        let state = MapType::from_code(at & 7).unwrap_or(MapType::Hole);
        (*block, Bytes::new(*len), state, DevAddr::new(at >> 3))
    })
}

impl FileState {
    /// `i_size`.
    pub const fn size(&self) -> Pos {
        Pos::new(self.size)
    }
    /// The size that is recorded durably.
    pub const fn disk_size(&self) -> Pos {
        Pos::new(self.disk_size)
    }
    /// The extents, ascending: first block of the file, bytes, state, device address.
    pub fn extents(&self) -> impl Iterator<Item = (u32, Bytes, ExtentState, DevAddr)> {
        extents_of(&self.extents)
    }
    /// The extents of the CoW fork.
    pub fn cow(&self) -> impl Iterator<Item = (u32, Bytes, ExtentState, DevAddr)> {
        extents_of(&self.cow)
    }
    /// The stretches whose blocks are shared with another file: first block, bytes.
    pub fn shared(&self) -> impl Iterator<Item = (u32, Bytes)> {
        self.shared.iter().map(|(block, (len, _))| (*block, Bytes::new(*len)))
    }
    /// The operations that hold a lock or wait for it.
    pub fn lock_uses(&self, lock: Lock) -> impl Iterator<Item = (u32, LockUse)> {
        let all = self.locks[lock as usize].iter();
        all.filter_map(|(op, word)| Some((*op, LockUse::unpack(*word)?)))
    }
    /// One word for [`ExtentAt`](super::delta::DeltaKind::ExtentAt).
    pub fn pack_extent(state: ExtentState, addr: Option<DevAddr>) -> u64 {
        addr.map_or(0, DevAddr::get) << 3 | state.code()
    }
}
