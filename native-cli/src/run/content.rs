//! What a job writes, and the plain array that knows what the file must hold.

use crate::error::Failure;
use folioscope_core::units::{Bytes, Pos};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Number of the writer that laid the file out. The first write of the job is 1.
pub(crate) const LAYOUT: u64 = 0;

/// Fills `to`, the bytes from `pos` on, with what writer `writer` writes there: every eight bytes
/// differ by place and writer, so a block in the wrong place or from the wrong write shows.
pub(crate) fn fill(to: &mut [u8], pos: Pos, writer: u64) {
    let salt = (writer + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for (at, chunk) in to.chunks_mut(8).enumerate() {
        let word = (pos.get() + at as u64 * 8).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ salt;
        chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
    }
}

/// The file as a plain array of bytes, and who wrote each block last.
#[derive(Debug)]
pub(crate) struct ByteModel {
    bytes: Vec<u8>,
    writers: Vec<u64>,
    block: u64,
}

/// A difference between the file and the array.
#[derive(Clone, Debug)]
pub(crate) enum Difference {
    /// The sizes differ.
    Size {
        /// Of the array.
        expected: u64,
        /// Of the file.
        found: u64,
    },
    /// The first byte that differs.
    Byte {
        /// Where.
        pos: u64,
        /// In the array.
        expected: u8,
        /// In the file.
        found: u8,
        /// Who wrote the block last, by the array.
        writer: u64,
        /// Bytes that differ in all.
        bytes: u64,
    },
}

impl Difference {
    /// As the end of a run. `how` says how the file was read.
    pub(crate) fn failure(&self, file: &str, how: &str) -> Failure {
        let what = match self {
            Self::Size { expected, found } => {
                format!("has {found} bytes, expected {expected}")
            }
            Self::Byte { pos, expected, found, writer, bytes } => {
                let who = if *writer == LAYOUT {
                    "the layout before the job".to_owned()
                } else {
                    format!("write {writer}")
                };
                format!(
                    "differs at byte {pos}: expected {expected:#04x} from {who}, found {found:#04x}; {bytes} bytes differ in all"
                )
            }
        };
        Failure::check(format!("verify: {file} {what} (read {how})"))
    }
}

impl ByteModel {
    /// An empty file whose writers are kept by blocks of `block` bytes.
    pub(crate) const fn new(block: Bytes) -> Self {
        Self { bytes: Vec::new(), writers: Vec::new(), block: block.get() }
    }
    /// `data` was written at `pos` by `writer`.
    pub(crate) fn write(&mut self, pos: Pos, data: &[u8], writer: u64) {
        let (start, end) = (pos.get() as usize, pos.get() as usize + data.len());
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
            self.writers.resize(end.div_ceil(self.block as usize), LAYOUT);
        }
        self.bytes[start..end].copy_from_slice(data);
        let blocks = start / self.block as usize..end.div_ceil(self.block as usize);
        self.writers[blocks].fill(writer);
    }
    /// The bytes from `pos` on.
    pub(crate) fn bytes(&self, pos: Pos, len: usize) -> &[u8] {
        let start = (pos.get() as usize).min(self.bytes.len());
        &self.bytes[start..self.bytes.len().min(start + len)]
    }

    /// Compares every byte and the size of the file. `buffer` is aligned for the file.
    pub(crate) fn compare(&self, file: &File, buffer: &mut [u8]) -> io::Result<Option<Difference>> {
        let found = file.metadata()?.len();
        if let Some(difference) = self.compare_size(found) {
            return Ok(Some(difference));
        }
        let mut seen = Seen::default();
        let mut at = 0;
        while at < self.bytes.len() {
            let n = read_fully(file, buffer, at as u64)?.min(self.bytes.len() - at);
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            seen.compare(at, &self.bytes[at..at + n], &buffer[..n]);
            at += n;
        }
        Ok(self.difference(&seen))
    }
    /// The same for bytes in memory.
    pub(crate) fn compare_bytes(&self, found: &[u8]) -> Option<Difference> {
        let mut seen = Seen::default();
        self.compare_size(found.len() as u64).or_else(|| {
            seen.compare(0, &self.bytes, found);
            self.difference(&seen)
        })
    }
    fn compare_size(&self, found: u64) -> Option<Difference> {
        let expected = self.bytes.len() as u64;
        (expected != found).then_some(Difference::Size { expected, found })
    }
    fn difference(&self, seen: &Seen) -> Option<Difference> {
        let (at, expected, found) = seen.first?;
        let writer = self.writers[at / self.block as usize];
        Some(Difference::Byte { pos: at as u64, expected, found, writer, bytes: seen.bytes })
    }
}

/// Differences so far: place, expected and found of the first, and how many.
#[derive(Default)]
struct Seen {
    first: Option<(usize, u8, u8)>,
    bytes: u64,
}

impl Seen {
    fn compare(&mut self, at: usize, expected: &[u8], found: &[u8]) {
        if expected == found {
            return;
        }
        for (i, (expected, found)) in expected.iter().zip(found).enumerate() {
            if expected != found {
                self.bytes += 1;
                self.first.get_or_insert((at + i, *expected, *found));
            }
        }
    }
}

/// Fills the buffer, or less at the end of the file.
fn read_fully(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], at + done as u64) {
            Ok(0) => break,
            Ok(n) => {
                done += n;
                // Only the end of the file is short of a sector, and O_DIRECT cannot go on there.
                if n % 512 != 0 {
                    break;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_is_found_with_its_writer() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("file");
        let mut model = ByteModel::new(Bytes::new(16));
        let mut data = vec![0; 100];
        fill(&mut data, Pos::ZERO, LAYOUT);
        model.write(Pos::ZERO, &data, LAYOUT);
        fill(&mut data[32..48], Pos::new(32), 5);
        let block = data[32..48].to_vec();
        model.write(Pos::new(32), &block, 5);
        let compare = |data: &[u8]| {
            std::fs::write(&path, data).expect("writes");
            model.compare(&File::open(&path).expect("opens"), &mut [0; 64]).expect("reads")
        };
        assert!(compare(&data).is_none());
        data[40] ^= 1;
        data[70] ^= 1;
        let words = compare(&data).expect("differs").failure("f", "so").to_string();
        assert!(words.starts_with("verify: f differs at byte 40: expected 0x"), "{words}");
        assert!(words.contains("from write 5") && words.contains("2 bytes differ"), "{words}");
        let words = compare(&data[..99]).expect("differs").failure("f", "so").to_string();
        assert_eq!(words, "verify: f has 99 bytes, expected 100 (read so)");
    }
}
