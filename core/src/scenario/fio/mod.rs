//! Job files of fio, as far as they describe buffered I/O of one job to one file.
//!
//! A key that is not known here is an error that names its line and column, never a guess. What a
//! key means is what fio means by it, with two differences that are stated: the order of random
//! blocks is our own (see [`order`]), and a sync follows the last write too.
//!
//! Limits: [`MAX_TEXT`] bytes of text, [`MAX_COPIES`] copies of jobs in one file.

mod draft;
mod order;
mod parse;
mod scenario;
mod value;

#[cfg(test)]
mod tests;

pub use order::{BlockOrder, JobOps};
pub use scenario::is_job;

use crate::units::{Blocks, Bytes, Nanos, Pos};
use core::fmt;
use thiserror::Error;

/// Longest job file that is read, in bytes.
pub const MAX_TEXT: usize = 1024 * 1024;
/// Most copies of jobs (`numjobs`, over all sections) that one file may start.
pub const MAX_COPIES: u32 = 64;

/// Where something stands in a job file: both count from 1, a column is a character.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

/// What is wrong with a job file, and where.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{file}:{}:{}: {what}", place.line, place.column)]
pub struct FioError {
    /// The name of the file, as it was given.
    pub file: String,
    /// Where.
    pub place: Place,
    /// What was found, what was expected, what to do.
    pub what: String,
}

/// Something that fio itself would refuse or ignore, and that the reader should know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FioNote {
    /// Where.
    pub place: Place,
    /// A sentence without a full stop.
    pub what: String,
}

/// A job file that was understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FioFile {
    /// The jobs in the order of their sections; at least one.
    pub jobs: Vec<FioJob>,
    /// What the reader should know.
    pub notes: Vec<FioNote>,
}

impl FioFile {
    /// Reads the text of a job file; `file` is its name for messages.
    pub fn parse(file: &str, text: &[u8]) -> Result<Self, FioError> {
        parse::parse(file, text)
    }
    /// Copies of jobs in all.
    pub fn copies(&self) -> u32 {
        self.jobs.iter().map(|job| job.num_jobs).sum()
    }
}

/// Kind and order of a job's I/O (`rw`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FioRw {
    /// Reads from the first block to the last.
    Read,
    /// Writes from the first block to the last.
    Write,
    /// Reads each block once, in random order.
    RandRead,
    /// Writes each block once, in random order.
    RandWrite,
}

impl FioRw {
    /// Every kind that is supported.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::RandRead, Self::RandWrite];
    /// The word in a job file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::RandRead => "randread",
            Self::RandWrite => "randwrite",
        }
    }
    /// Whether blocks are written.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::RandWrite)
    }
    /// Whether the order is random.
    pub const fn is_random(self) -> bool {
        matches!(self, Self::RandRead | Self::RandWrite)
    }
}

impl fmt::Display for FioRw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One job section with what it inherits from `[global]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FioJob {
    /// Name of the section, or the value of `name`.
    pub name: String,
    /// Kind and order of the I/O.
    pub rw: FioRw,
    /// Bytes of one I/O (`bs`).
    pub block_size: Bytes,
    /// Bytes of the file (`size`), at least one block. A tail below one block is never touched.
    pub size: Bytes,
    /// Folder of the files (`directory`); empty for the current one.
    pub directory: String,
    /// Name of the file (`filename`), if it is not made from the job's name.
    pub filename: Option<String>,
    /// Copies of the job (`numjobs`).
    pub num_jobs: u32,
    /// The file is laid out before the job begins (`overwrite`).
    pub overwrite: bool,
    /// The file is read into the cache before the job begins (`pre_read`).
    pub pre_read: bool,
    /// `fsync` after this many writes; 0 is never.
    pub fsync: u32,
    /// `fdatasync` after this many writes; 0 is never. `fsync` goes first where both are due.
    pub fdatasync: u32,
    /// The job ends after this time even if blocks are left.
    pub runtime: Option<Nanos>,
    /// Where the random order comes from (`randseed`).
    pub seed: u64,
    /// One report for all copies (`group_reporting`).
    pub group_reporting: bool,
}

impl FioJob {
    /// Blocks that the job touches.
    pub const fn blocks(&self) -> Blocks {
        Blocks::new(self.size.get() / self.block_size.get())
    }
    /// Whether the file must hold `size` bytes before the job begins.
    pub const fn needs_layout(&self) -> bool {
        self.overwrite || !self.rw.is_write()
    }
    /// Name of the file of one copy: `<job>.<copy>.0`, as fio has it, unless `filename` says
    /// another.
    pub fn file_name(&self, copy: u32) -> String {
        self.filename.clone().unwrap_or_else(|| format!("{}.{copy}.0", self.name))
    }
    /// The operations of one copy, in order. They depend on the job and the copy alone.
    pub fn ops(&self, copy: u32) -> JobOps {
        JobOps::new(self, copy)
    }
}

/// One thing that a job does to its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobOp {
    /// Read the file from its first byte into the cache, before time is taken.
    PreRead {
        /// Bytes.
        len: Bytes,
    },
    /// Write.
    Pwrite {
        /// First byte.
        pos: Pos,
        /// Bytes.
        len: Bytes,
    },
    /// Read.
    Pread {
        /// First byte.
        pos: Pos,
        /// Bytes.
        len: Bytes,
    },
    /// Make the file durable.
    Fsync,
    /// Make its data durable.
    Fdatasync,
}
