//! What a scenario asks of memory and of its devices where its bytes are compared.

use super::{MAX_HELD, Scenario, size};
use crate::units::{Bytes, Pos};

impl Scenario {
    /// What plain arrays of its files need in memory, where their bytes are compared with such
    /// arrays; an error where that is more than [`MAX_HELD`].
    pub fn check_arrays(&self) -> Result<(), String> {
        let whole = self.grown().iter().fold(Bytes::ZERO, |all, size| all + Bytes::new(size.get()));
        if whole <= MAX_HELD {
            return Ok(());
        }
        let [whole, most] = size::beside(whole, MAX_HELD);
        Err(format!(
            "its files are compared byte for byte and grow to {whole}, and {most} is the most: \
             make them, or what is done behind their end, smaller"
        ))
    }
    /// How long each file is at most, at any time.
    pub fn grown(&self) -> Vec<Pos> {
        let mut sizes: Vec<Pos> = self.files.iter().map(|file| file.size).collect();
        for op in &self.ops {
            let size = &mut sizes[op.file.get() as usize];
            *size = op.action.grows_to(*size).max(op.action.touched().end());
        }
        sizes
    }
    /// Whether the array that the device is has enough members to know its bytes; true of another
    /// device.
    pub fn keeps_bytes(&self) -> bool {
        self.array.is_none_or(|array| self.array_failed.count() <= array.tolerates())
    }
}
