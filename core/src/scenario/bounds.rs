//! What a scenario asks of memory and of its devices where its bytes are compared.

use super::{Action, MAX_HELD, Scenario, size};
use crate::device::array::ArrayAct;
use crate::units::{Bytes, MemberId, Pos};

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
    /// Whether the array that the device is has enough members at any time to know its bytes; true
    /// of another device.
    pub fn keeps_bytes(&self) -> bool {
        let Some(array) = self.array else { return true };
        let mut failed: Vec<MemberId> = self.array_failed.iter().collect();
        let mut most = failed.len();
        for op in &self.ops {
            match op.action {
                Action::Array(ArrayAct::Fail(member)) if !failed.contains(&member) => {
                    failed.push(member);
                }
                Action::Array(ArrayAct::Replace(member)) => failed.retain(|one| *one != member),
                _ => {}
            }
            most = most.max(failed.len());
        }
        most <= array.tolerates() as usize
    }
}
