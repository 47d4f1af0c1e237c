//! Arrays with parity: what each write costs, and that every byte and every parity is right.

use folioscope_core::block::bio::BioOp;
use folioscope_core::device::md::parity::{Parity, ParityLayout, ParityLevel};
use folioscope_core::device::md::run::{Bench, Token};
use folioscope_core::device::md::stripes::{Consistency, StripeConfig};
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

/// Writes the first block of a row, and the power goes after so many writes of members; then the
/// member with the last data block of the row is lost, and its block is read.
fn after_power_cut(consistency: Consistency, writes: u64) -> Vec<u8> {
    let config = StripeConfig { consistency, ..array(ParityLevel::Raid5, 4, ROW, 2) };
    let mut bench = Bench::new(config, Token::Sleep);
    bench.write(Sector::ZERO, [vec![1; 4096], vec![2; 4096], vec![3; 4096]].concat()).expect("ok");
    bench.cut_power_after(writes);
    bench.write(Sector::ZERO, vec![9; 4096]).expect("nobody told the writer");
    bench.power_on();
    bench.fail(config.parity.data_member(Sector::ZERO, 2));
    bench.read(Sector::new(2 * ROW), Sectors::new(ROW)).expect("one member is made up for")
}

#[test]
fn a_power_cut_between_data_and_parity_is_a_hole_unless_a_log_closes_it() {
    let right = vec![3; 4096];
    let holes: Vec<bool> =
        (0..3).map(|writes| after_power_cut(Consistency::Resync, writes) != right).collect();
    // Of the two writes, data and parity, one alone makes the row's other blocks wrong.
    assert_eq!(holes, [false, true, false]);
    for consistency in [Consistency::Journal, Consistency::PartialParity] {
        for writes in 0..3 {
            assert!(after_power_cut(consistency, writes) == right, "{consistency:?} {writes}");
        }
    }
}

#[test]
fn a_log_costs_writes_of_its_own() {
    let extra = |consistency| {
        let config = StripeConfig { consistency, ..array(ParityLevel::Raid5, 4, ROW, 2) };
        let mut bench = Bench::new(config, Token::Sleep);
        bench.write(Sector::ZERO, vec![1; 4096]).expect("ok");
        bench.write(Sector::ZERO, vec![2; 4096]).expect("ok");
        bench.stripes.tally().extra
    };
    assert_eq!(extra(Consistency::Resync), 0);
    // One bitmap write on each member, once; a header, data and parity each time; a header and
    // what parity was of the rest.
    assert_eq!(extra(Consistency::Bitmap), 4);
    assert_eq!(extra(Consistency::Journal), 6);
    assert_eq!(extra(Consistency::PartialParity), 4);
}

#[test]
fn a_degraded_read_reads_every_other_block_of_its_row() {
    for (level, members, lost) in [
        (ParityLevel::Raid5, 4, vec![0]),
        (ParityLevel::Raid6, 6, vec![0]),
        (ParityLevel::Raid6, 6, vec![0, 1]),
    ] {
        let mut bench = Bench::new(array(level, members, ROW, 4), Token::Sleep);
        let size = bench.stripes.config().size();
        bench.write(Sector::ZERO, vec![5; (size.get() * 512) as usize]).expect("ok");
        let parity = bench.stripes.config().parity;
        // The rows are forgotten.
        bench.assemble();
        for index in &lost {
            bench.fail(parity.data_member(Sector::ZERO, *index));
        }
        bench.take_sums();
        assert_eq!(bench.read(Sector::ZERO, Sectors::new(ROW)), Ok(vec![5; 4096]));
        let read: u64 = bench.take_sums().read.iter().map(|(ios, _)| ios).sum();
        assert_eq!(read, u64::from(members) - lost.len() as u64);
    }
}

#[test]
fn halves_of_a_stripe_meet_in_the_cache_or_cost_reads() {
    let parity = ParityLevel::Raid6;
    let halves = |sync, token| {
        let config = StripeConfig { bytes: false, ..array(parity, 8, 128, 64) };
        let mut bench = Bench::new(config, token);
        // Bios of 1 MiB over stripes of 384 KiB.
        for at in 0..3 {
            let range = (Sector::new(at * 2048), Sectors::new(2048));
            bench.submit(BioOp::Write, sync, range, Vec::new());
        }
        bench.settle();
        let tally = bench.stripes.tally();
        let sums = bench.take_sums();
        (sums.sectors(), tally.full, tally.rcw + tally.rmw)
    };
    let full = 6144 * 8 / 6;
    assert_eq!(halves(true, Token::Sleep), (full, 128, 0), "one plug holds all of them");
    let (sectors, rows, partial) = halves(true, Token::EachBio);
    assert_eq!((rows, partial), (96, 64), "the two cut stripes, each end by itself");
    assert!(sectors > full);
}

/// Blocks moved for a row of 8 members of RAID6 that comes in two parts, of `k` blocks and the
/// rest; whether the row is still in the cache when the second one comes.
fn in_two_parts(k: u64, cached: bool) -> u64 {
    let mut bench = Bench::new(array(ParityLevel::Raid6, 8, ROW, 2), Token::Sleep);
    bench.write(Sector::ZERO, vec![1; (k * 4096) as usize]).expect("ok");
    if !cached {
        bench.assemble();
    }
    bench.write(Sector::new(k * ROW), vec![2; ((6 - k) * 4096) as usize]).expect("ok");
    bench.take_sums().sectors() / ROW
}

#[test]
fn a_row_in_two_parts_costs_what_the_lesson_says() {
    let all = |cached| (1..6).map(|k| in_two_parts(k, cached)).collect::<Vec<_>>();
    assert_eq!(all(false), [14, 16, 16, 16, 14]);
    assert_eq!(all(true), [13, 14, 13, 12, 11]);
    // 601.0 to 614.5 MB/s. Lesson 8 cuts rows after 4 and after 2 blocks.
    let one_in = |extra: u64| (extra * 6010 * 10 / 8 / (6145 - 6010) + 5) / 10;
    let extra = [in_two_parts(4, true), in_two_parts(2, true), in_two_parts(2, false)];
    assert_eq!(extra.map(|moved| one_in(moved - 8)), [22, 33, 45]);
}
