//! The order of a job's operations.
//!
//! fio visits each block once a pass, in an order that its own generators decide. So do we, but the
//! order is **not** fio's: a keyed permutation (four Feistel rounds over the block numbers, walked
//! until the result is in range), which needs no memory and is the same on every machine. The seed
//! and the number of the copy decide it.

use super::{FioJob, JobOp};
use crate::units::{BlockNo, Blocks, Bytes, Pos};

const ROUNDS: usize = 4;

/// A permutation of the blocks of a file.
#[derive(Clone, Debug)]
pub struct BlockOrder {
    blocks: Blocks,
    /// Half of the width that covers every block number, in bits; 0 keeps the order.
    half: u32,
    keys: [u64; ROUNDS],
}

impl BlockOrder {
    /// From the first block to the last.
    pub const fn sequential(blocks: Blocks) -> Self {
        Self { blocks, half: 0, keys: [0; ROUNDS] }
    }
    /// Each block once, in an order that the seed decides.
    pub fn random(blocks: Blocks, seed: u64) -> Self {
        let width = u64::BITS - blocks.get().saturating_sub(1).leading_zeros();
        let mut state = seed;
        let keys = core::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            mix(state)
        });
        Self { blocks, half: width.div_ceil(2), keys }
    }
    /// The block that comes at place `at`, which must be below the number of blocks.
    pub fn block(&self, at: u64) -> BlockNo {
        assert!(at < self.blocks.get(), "place {at} of {:?}", self.blocks);
        if self.half == 0 {
            return BlockNo::new(at);
        }
        let mut word = at;
        loop {
            word = self.permute(word);
            if word < self.blocks.get() {
                return BlockNo::new(word);
            }
        }
    }
    fn permute(&self, word: u64) -> u64 {
        let mask = (1u64 << self.half) - 1;
        let (mut left, mut right) = (word >> self.half, word & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        left << self.half | right
    }
}

/// The finalizer of `SplitMix64`.
const fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// The operations of one copy of a job.
#[derive(Clone, Debug)]
pub struct JobOps {
    order: BlockOrder,
    block_size: Bytes,
    write: bool,
    fsync: u64,
    fdatasync: u64,
    pre_read: Option<Bytes>,
    /// Blocks that were given out.
    at: u64,
    sync: Option<JobOp>,
}

impl JobOps {
    pub(super) fn new(job: &FioJob, copy: u32) -> Self {
        let order = if job.rw.is_random() {
            BlockOrder::random(job.blocks(), mix(job.seed).wrapping_add(u64::from(copy)))
        } else {
            BlockOrder::sequential(job.blocks())
        };
        Self {
            order,
            block_size: job.block_size,
            write: job.rw.is_write(),
            fsync: u64::from(job.fsync),
            fdatasync: u64::from(job.fdatasync),
            pre_read: (job.pre_read && job.needs_layout()).then_some(job.size),
            at: 0,
            sync: None,
        }
    }
    fn sync_due(&self) -> Option<JobOp> {
        let due = |every: u64| every != 0 && self.at.is_multiple_of(every);
        match (self.write, due(self.fsync), due(self.fdatasync)) {
            (true, true, _) => Some(JobOp::Fsync),
            (true, false, true) => Some(JobOp::Fdatasync),
            (false, _, _) | (true, false, false) => None,
        }
    }
}

impl Iterator for JobOps {
    type Item = JobOp;

    fn next(&mut self) -> Option<JobOp> {
        if let Some(len) = self.pre_read.take() {
            return Some(JobOp::PreRead { len });
        }
        if let Some(sync) = self.sync.take() {
            return Some(sync);
        }
        if self.at == self.order.blocks.get() {
            return None;
        }
        let pos = Pos::new(self.order.block(self.at).get() * self.block_size.get());
        let len = self.block_size;
        self.at += 1;
        self.sync = self.sync_due();
        Some(if self.write { JobOp::Pwrite { pos, len } } else { JobOp::Pread { pos, len } })
    }
}
