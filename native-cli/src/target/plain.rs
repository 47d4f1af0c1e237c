//! Bios through the kernel's own page cache, one at a time: for machines without `O_DIRECT` or
//! `io_uring`, and only when asked for.

use super::memory::Arena;
use super::{Done, Tag, errno};
use folioscope_core::block::bio::{Bio, BioOp, BioVec};
use folioscope_core::frames::FrameStore;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// An ordinary file.
pub(crate) struct Plain {
    file: File,
    done: Vec<Done>,
}

impl Plain {
    pub(super) const fn new(file: File) -> Self {
        Self { file, done: Vec::new() }
    }
    pub(super) const fn file(&self) -> &File {
        &self.file
    }
    pub(super) const fn pending(&self) -> usize {
        self.done.len()
    }
    pub(super) fn submit(&mut self, arena: &mut Arena, bio: &Bio) {
        let mut at = bio.addr.get();
        let result = bio.vecs.iter().try_for_each(|vec| {
            let moved = self.transfer(arena, bio.head.op, at, vec);
            at += vec.len.get();
            moved
        });
        let result = result.map_err(|error| errno(error.raw_os_error()));
        self.done.push(Done { tag: Tag::Bio(bio.id), result });
    }
    pub(super) fn flush(&mut self, number: u64) {
        let result = self.file.sync_data().map_err(|error| errno(error.raw_os_error()));
        self.done.push(Done { tag: Tag::Flush(number), result });
    }
    pub(super) fn reap(&mut self, done: &mut Vec<Done>) {
        done.append(&mut self.done);
    }

    fn transfer(&self, arena: &mut Arena, op: BioOp, at: u64, vec: &BioVec) -> io::Result<()> {
        let BioVec { pfn, offset, len } = *vec;
        match op {
            BioOp::Write => self.file.write_all_at(arena.bytes(pfn, offset, len), at),
            BioOp::Read => read_or_zero(&self.file, arena.bytes_mut(pfn, offset, len), at),
        }
    }
}

/// Reads, with zeroes behind the end of the file.
fn read_or_zero(file: &File, mut to: &mut [u8], mut at: u64) -> io::Result<()> {
    while !to.is_empty() {
        match file.read_at(to, at) {
            Ok(0) => {
                to.fill(0);
                return Ok(());
            }
            Ok(n) => {
                to = &mut to[n..];
                at += n as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
