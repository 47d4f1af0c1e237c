//! What a write costs an array with parity, as rows of a table: I/Os of members by what they are.

use super::parity::Parity;
use super::run::{Bench, Sums, Token};
use super::stripes::{ROW, StripeConfig, Tally};
use crate::block::bio::BioOp;
use crate::units::{Sector, Sectors};

/// What one write cost an array whose cache was empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// Blocks of 4 KiB read, written by role.
    pub sums: Sums,
    /// Rows by decision.
    pub rows: Tally,
    /// Sectors of the write.
    pub len: Sectors,
}

impl Cost {
    /// Blocks read.
    pub fn reads(&self) -> u64 {
        self.sums.read.iter().map(|(ios, _)| ios).sum()
    }
    /// Blocks written.
    pub fn writes(&self) -> u64 {
        self.sums.written.iter().map(|(ios, _)| ios).sum()
    }
    /// Bytes moved to and from members for 100 bytes of data.
    pub fn percent(&self) -> u64 {
        self.sums.sectors() * 100 / self.len.get().max(1)
    }
}

/// The cost of one write of `len` sectors at `start` of an array of that shape.
pub fn cost(parity: Parity, start: Sector, len: Sectors) -> Cost {
    let stripe = parity.chunk().get() * u64::from(parity.data_members());
    let stripes = (start + len).get() / stripe + 1;
    let member = Sectors::new(stripes * parity.chunk().get());
    // As many rows as the write touches: none of it waits for another.
    let rows = (member.get() / ROW.get()).next_multiple_of(8).max(256) as u32;
    let config = StripeConfig { bytes: false, rows, ..StripeConfig::new(parity, member) };
    let mut bench = Bench::new(config, Token::Sleep);
    bench.submit(BioOp::Write, true, (start, len), Vec::new());
    bench.settle();
    Cost { sums: bench.take_sums(), rows: bench.stripes.tally(), len }
}

/// A line of the table: level, members, chunk, write and where it begins in a stripe, all in KiB,
/// then blocks read, blocks written, rows full, rmw and rcw, and bytes moved for 100 of data.
pub fn line(parity: Parity, start: Sector, len: Sectors) -> String {
    let cost = cost(parity, start, len);
    let kib = |sectors: u64| sectors / 2;
    format!(
        "{:<6} {:>2} {:>5} {:>6} {:>6} | {:>5} {:>5} | {:>4} {:>4} {:>4} | {:>5}%",
        parity.level().name(),
        parity.members(),
        kib(parity.chunk().get()),
        kib(len.get()),
        kib(start.get()),
        cost.reads(),
        cost.writes(),
        cost.rows.full,
        cost.rows.rmw,
        cost.rows.rcw,
        cost.percent(),
    )
}
