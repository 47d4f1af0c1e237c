//! What a trace says of a folio's buffers.

use super::delta::{Delta, DeltaKind};
use super::model::words_of;
use crate::bits::WORD;
use crate::buffer::state::BufferBit;
use crate::ordered::OrderedMap;
use crate::units::DevAddr;

/// The buffers of a folio: the words of their state that are not 0, by kind and number.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Buffers(OrderedMap<(u32, u32), u64>);

impl Buffers {
    /// Whether nothing is known of any: so it is where the file keeps its blocks otherwise.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// A bit of the buffer of block `at`.
    pub fn has(&self, bit: BufferBit, at: u32) -> bool {
        let word = self.0.get(&(bit.kind() as u32, at / WORD)).copied().unwrap_or(0);
        word >> (at % WORD) & 1 == 1
    }
    /// Where the buffer of block `at` says that it lies.
    pub fn addr(&self, at: u32) -> Option<DevAddr> {
        let word = self.0.get(&(DeltaKind::BufferAddr as u32, at))?;
        Some(DevAddr::new(word.checked_sub(1)?))
    }
    /// The word that a delta is about, of a folio with so many blocks; none: there is no such word.
    pub(super) fn swap<T>(
        &mut self,
        delta: &Delta,
        blocks: u32,
        change: impl FnOnce(&mut u64) -> T,
    ) -> Option<T> {
        let by_block = delta.kind == DeltaKind::BufferAddr;
        if delta.aux >= if by_block { blocks } else { words_of(blocks) } {
            return None;
        }
        let key = (delta.kind as u32, delta.aux);
        let word = self.0.get_or_insert_with(key, u64::default);
        let done = change(word);
        if *word == 0 {
            self.0.remove(&key);
        }
        Some(done)
    }
}
