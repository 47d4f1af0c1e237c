//! Arrays with parity: what each write costs, and that every byte and every parity is right.

use folioscope_core::device::md::parity::{Parity, ParityLayout, ParityLevel};
use folioscope_core::device::md::run::{Bench, Token};
use folioscope_core::device::md::stripes::StripeConfig;
use folioscope_core::units::{Sector, Sectors};

const ROW: u64 = 8;

fn array(level: ParityLevel, members: u32, chunk: u64, stripes: u64) -> StripeConfig {
    laid_out(level, ParityLayout::LeftSymmetric, members, chunk, stripes)
}

fn laid_out(
    level: ParityLevel,
    layout: ParityLayout,
    members: u32,
    chunk: u64,
    stripes: u64,
) -> StripeConfig {
    let parity = Parity::new(level, layout, members, Sectors::new(chunk)).expect("a good array");
    StripeConfig::new(parity, Sectors::new(chunk * stripes))
}

/// Blocks read and written for one row of which the first `k` data blocks are written.
fn cost(level: ParityLevel, members: u32, k: u64) -> (u64, u64) {
    let mut bench = Bench::new(array(level, members, ROW, 2), Token::Sleep);
    bench.write(Sector::ZERO, vec![7; (k * 4096) as usize]).expect("it succeeds");
    let sums = bench.take_sums();
    let count = |all: [(u64, u64); 4]| all.iter().map(|(ios, _)| ios).sum();
    (count(sums.read), count(sums.written))
}

#[test]
fn rows_cost_what_the_table_says() {
    let table = [
        (ParityLevel::Raid5, 4, vec![(2, 2), (1, 3), (0, 4)]),
        (ParityLevel::Raid5, 5, vec![(2, 2), (2, 3), (1, 4), (0, 5)]),
        (ParityLevel::Raid5, 8, vec![(2, 2), (3, 3), (4, 4), (3, 5), (2, 6), (1, 7), (0, 8)]),
        (ParityLevel::Raid6, 8, vec![(3, 3), (4, 4), (3, 5), (2, 6), (1, 7), (0, 8)]),
        (
            ParityLevel::Raid6,
            10,
            vec![(3, 3), (4, 4), (5, 5), (4, 6), (3, 7), (2, 8), (1, 9), (0, 10)],
        ),
    ];
    for (level, members, costs) in table {
        let d = members - level.parities();
        assert_eq!(costs.len() as u32, d);
        for (k, expected) in (1..).zip(costs) {
            let got = cost(level, members, k);
            assert_eq!(got, expected, "{level:?} of {members}, {k} blocks");
            let (p, d) = (u64::from(level.parities()), u64::from(d));
            let reads = if k == d { 0 } else { (k + p).min(d - k) };
            assert_eq!(got, (reads, k + p), "the formula");
        }
    }
}
