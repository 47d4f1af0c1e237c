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
        let mut lacking: Vec<MemberId> = self.array_failed.iter().collect();
        // Of these, members that were replaced and hold some rows.
        let mut filling: Vec<MemberId> = Vec::new();
        let mut most = lacking.len();
        for op in &self.ops {
            let Action::Array(act) = op.action else { continue };
            if let ArrayAct::Fail(member) | ArrayAct::Replace(member, _) = act {
                lacking.retain(|one| *one != member);
                filling.retain(|one| *one != member);
                lacking.push(member);
                most = most.max(lacking.len());
            }
            if let ArrayAct::Replace(member, _) = act {
                filling.push(member);
            }
            // How many rows there are to fill nobody knows before the run.
            if let ArrayAct::Replace(_, None) | ArrayAct::Rebuild(None) = act {
                lacking.retain(|one| !filling.contains(one));
                filling.clear();
            }
        }
        most <= array.tolerates() as usize
    }
}
