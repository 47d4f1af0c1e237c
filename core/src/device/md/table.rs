//! What a write costs an array with parity, as rows of a table: I/Os of members by what they are.

use super::parity::{Parity, ParityLayout, ParityLevel};
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

/// The names of a line's columns. Sizes are in KiB; `at` is where the write begins in a stripe;
/// `read` and `write` are blocks of 4 KiB of the members, then rows by decision, and bytes moved to
/// and from members for 100 of data.
pub const HEAD: &str = "level   n chunk   size     at |  read write | full  rmw  rcw |  moved";

/// A write to an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// The array.
    pub parity: Parity,
    /// First sector of the write.
    pub start: Sector,
    /// Its sectors.
    pub len: Sectors,
}

impl Line {
    /// What it costs.
    pub fn cost(&self) -> Cost {
        cost(self.parity, self.start, self.len)
    }
    /// As a line under [`HEAD`].
    pub fn text(&self, cost: &Cost) -> String {
        let kib = |sectors: u64| match sectors % 2 {
            0 => (sectors / 2).to_string(),
            _ => format!("{}.5", sectors / 2),
        };
        format!(
            "{:<6} {:>2} {:>5} {:>6} {:>6} | {:>5} {:>5} | {:>4} {:>4} {:>4} | {:>5}%",
            self.parity.level().name(),
            self.parity.members(),
            kib(self.parity.chunk().get()),
            kib(self.len.get()),
            kib(self.start.get()),
            cost.reads(),
            cost.writes(),
            cost.rows.full,
            cost.rows.rmw,
            cost.rows.rcw,
            cost.percent(),
        )
    }
}

/// The wide table: chunks, levels with numbers of members, sizes of the write, and where in a
/// stripe it begins, also off a sector, a block and a chunk.
pub fn sweep() -> Vec<Line> {
    const CHUNKS: [u64; 7] = [8, 16, 32, 64, 128, 256, 1024];
    const ARRAYS: [(ParityLevel, u32); 9] = [
        (ParityLevel::Raid4, 4),
        (ParityLevel::Raid5, 3),
        (ParityLevel::Raid5, 4),
        (ParityLevel::Raid5, 5),
        (ParityLevel::Raid5, 8),
        (ParityLevel::Raid6, 4),
        (ParityLevel::Raid6, 6),
        (ParityLevel::Raid6, 8),
        (ParityLevel::Raid6, 10),
    ];
    const SIZES: [u64; 9] = [1, 8, 16, 64, 128, 256, 768, 1024, 2048];
    let mut all = Vec::new();
    for chunk in CHUNKS {
        for (level, members) in ARRAYS {
            let parity =
                Parity::new(level, ParityLayout::LeftSymmetric, members, Sectors::new(chunk))
                    .expect("members are enough, chunks whole rows");
            let stripe = chunk * u64::from(parity.data_members());
            let near = |place: u64| [place.saturating_sub(8), place.saturating_sub(1), place];
            let mut places = vec![0, 1, 4, 7, 8, 16, 24, 64];
            places.extend(near(chunk));
            places.extend(near(stripe / 2 / 8 * 8));
            places.extend(near(stripe - chunk));
            places.extend(near(stripe));
            for len in SIZES {
                for at in &places {
                    let start = Sector::new(at % stripe);
                    all.push(Line { parity, start, len: Sectors::new(len) });
                }
            }
        }
    }
    all
}
