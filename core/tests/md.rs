//! Arrays with parity: what each write costs, and that every byte and every parity is right.

use folioscope_core::block::bio::BioOp;
use folioscope_core::device::md::field;
use folioscope_core::device::md::parity::{Parity, ParityLayout, ParityLevel};
use folioscope_core::device::md::run::{Bench, Token};
use folioscope_core::device::md::stripes::{Consistency, Pass, RmwLevel, StripeConfig};
use folioscope_core::device::md::table;
use folioscope_core::units::{Bytes, DevAddr, MemberId, Sector, Sectors};
use std::fmt::Write as _;

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

/// A small generator (splitmix64), so that a seed gives the same script everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Every parity of every row is what the data on the members makes it.
fn check_parity(bench: &Bench, lost: &[u32]) {
    let config = *bench.stripes.config();
    let parity = config.parity;
    for row in 0..config.member.get() / ROW {
        let at = Sector::new(row * ROW);
        let block = |member: MemberId| {
            bench.disk(member).bytes(DevAddr::new(at.get() * 512), Bytes::kib(4))
        };
        let data: Vec<(MemberId, Vec<u8>)> = (0..parity.data_members())
            .map(|index| parity.data_member(at, index))
            .map(|member| (member, block(member)))
            .collect();
        if data.iter().any(|(member, _)| lost.contains(&member.get())) {
            continue;
        }
        let roles = parity.roles(at);
        if !lost.contains(&roles.p.get()) {
            let p = field::p_of(data.iter().map(|(_, bytes)| bytes.as_slice()), 4096);
            assert!(block(roles.p) == p, "P of row {row}");
        }
        if let Some(q) = roles.q.filter(|q| !lost.contains(&q.get())) {
            let all =
                data.iter().map(|(member, bytes)| (parity.slot(at, *member), bytes.as_slice()));
            assert!(block(q) == field::q_of(all, 4096), "Q of row {row}");
        }
    }
}

/// Random writes and reads, members that fail and are rebuilt, rows that cannot be read: what is
/// read is what a plain array of bytes holds, and parity is right at the end.
fn torture(config: StripeConfig, seed: u64, steps: u64) {
    let mut random = Random(seed);
    let token = if random.below(2) == 0 { Token::Sleep } else { Token::EachBio };
    let mut bench = Bench::new(config, token);
    let sectors = config.size().get();
    let mut model = vec![0u8; (sectors * 512) as usize];
    let most = u64::from(config.parity.level().parities());
    let mut lost: Vec<u32> = Vec::new();
    for step in 0..steps {
        let start = random.below(sectors);
        let len = 1 + random.below((sectors - start).min(40));
        // Some writes are whole blocks.
        let (start, len) = if random.below(2) == 0 {
            (start / 8 * 8, len.next_multiple_of(8))
        } else {
            (start, len)
        };
        let len = len.min(sectors - start);
        let range = (start * 512) as usize..((start + len) * 512) as usize;
        match random.below(100) {
            0..70 => {
                let data: Vec<u8> =
                    (0..len * 512).map(|at| (at % 251) as u8 ^ random.0 as u8).collect();
                model[range].copy_from_slice(&data);
                let sync = random.below(2) == 0;
                let id =
                    bench.submit(BioOp::Write, sync, (Sector::new(start), Sectors::new(len)), data);
                if random.below(3) == 0 || token == Token::EachBio {
                    bench.settle();
                    assert_eq!(bench.result(id).0, Ok(()), "step {step}");
                }
            }
            70..90 => {
                bench.settle();
                let read =
                    bench.read(Sector::new(start), Sectors::new(len)).expect("enough is left");
                assert!(read == model[range], "step {step} of seed {seed}");
            }
            90..95 if (lost.len() as u64) < most => {
                bench.settle();
                let member = random.below(u64::from(config.parity.members())) as u32;
                if !lost.contains(&member) {
                    bench.stripes.fail(MemberId::new(member));
                    lost.push(member);
                }
            }
            95..98 if !lost.is_empty() => {
                bench.settle();
                for member in lost.drain(..) {
                    bench.replace(MemberId::new(member));
                }
                bench.pass(Pass::Rebuild);
                check_parity(&bench, &[]);
            }
            _ if (lost.len() as u64) < most => {
                bench.settle();
                let member = random.below(u64::from(config.parity.members())) as u32;
                let row = random.below(config.member.get() / ROW) * ROW;
                if !lost.contains(&member) {
                    bench.spoil(MemberId::new(member), Sector::new(row));
                    // It is found, and mended, before another one goes.
                    bench.pass(Pass::Repair);
                }
            }
            _ => {}
        }
    }
    bench.settle();
    assert!(bench.stripes.is_idle(), "nothing waits for ever");
    check_parity(&bench, &lost);
    let read = bench.read(Sector::ZERO, Sectors::new(sectors)).expect("enough is left");
    assert!(read == model, "seed {seed}");
}

/// An array of a kind that a number chooses, with few rows in its cache.
fn any_array(seed: u64) -> StripeConfig {
    let mut random = Random(seed);
    let levels = [ParityLevel::Raid4, ParityLevel::Raid5, ParityLevel::Raid6];
    let level = levels[random.below(3) as usize];
    let layout = ParityLayout::ALL[random.below(6) as usize];
    let members = level.parities() + 2 + random.below(4) as u32;
    let chunk = ROW << random.below(3);
    let rmw = [RmwLevel::Never, RmwLevel::Fewer, RmwLevel::NotMore][random.below(3) as usize];
    let consistency = [Consistency::Resync, Consistency::Bitmap][random.below(2) as usize];
    let rows = 24 + 8 * random.below(4) as u32;
    StripeConfig { rmw, consistency, rows, ..laid_out(level, layout, members, chunk, 6) }
}

#[test]
fn every_byte_survives_failures_and_rebuilds() {
    for seed in 0..60 {
        torture(any_array(seed), seed, 60);
    }
    for seed in 60..64 {
        torture(any_array(seed), seed, 600);
    }
}

#[test]
#[ignore = "a million writes: run with --release -- --ignored"]
fn a_million_writes_survive_failures_and_rebuilds() {
    for seed in 0..1400 {
        torture(any_array(seed), seed, 1000);
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
        // The rows are forgotten: the array is assembled anew.
        bench.power_on();
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

#[test]
fn the_table_of_costs_is_as_kept() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/md/costs.txt");
    let mut found =
        String::from("level   n chunk   size     at |  read write | full  rmw  rcw | moved\n");
    for (level, members) in
        [(ParityLevel::Raid5, 4), (ParityLevel::Raid5, 8), (ParityLevel::Raid6, 8)]
    {
        for chunk in [128, 1024] {
            let layout = ParityLayout::LeftSymmetric;
            let parity = Parity::new(level, layout, members, Sectors::new(chunk)).expect("good");
            let stripe = chunk * u64::from(parity.data_members());
            for len in [8, chunk, stripe, stripe + chunk, 2048] {
                for at in [0, 8, chunk] {
                    let line = table::line(parity, Sector::new(at), Sectors::new(len));
                    writeln!(found, "{line}").expect("a String takes everything");
                }
            }
        }
    }
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("can be made");
        std::fs::write(&path, &found).expect("can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == found, "{} differs; UPDATE_GOLDENS=1 writes it anew", path.display());
}

/// Every row of the wide table; the costs follow the formula wherever the write is whole rows.
fn sweep(rows: usize) -> usize {
    let mut lines = 0;
    for chunk in [8, 16, 32, 64, 128, 256, 1024] {
        for (level, members) in [
            (ParityLevel::Raid4, 4),
            (ParityLevel::Raid5, 3),
            (ParityLevel::Raid5, 4),
            (ParityLevel::Raid5, 5),
            (ParityLevel::Raid5, 8),
            (ParityLevel::Raid6, 4),
            (ParityLevel::Raid6, 6),
            (ParityLevel::Raid6, 8),
            (ParityLevel::Raid6, 10),
        ] {
            let layout = ParityLayout::LeftSymmetric;
            let parity = Parity::new(level, layout, members, Sectors::new(chunk)).expect("good");
            let stripe = chunk * u64::from(parity.data_members());
            for len in [8, 16, 64, 128, 256, 768, 1024, 2048] {
                for nth in 0..20 {
                    if lines == rows {
                        return lines;
                    }
                    let at = nth * 8 % stripe;
                    let cost = table::cost(parity, Sector::new(at), Sectors::new(len));
                    let data = cost.sums.written[0].1;
                    assert_eq!(data, len, "data is written once");
                    let rows = cost.rows.full + cost.rows.rmw + cost.rows.rcw;
                    assert_eq!(cost.sums.written[1].0, rows, "and parity once a row");
                    assert!(cost.percent() >= 100);
                    lines += 1;
                }
            }
        }
    }
    lines
}

#[test]
fn the_wide_table_keeps_its_laws() {
    assert_eq!(sweep(300), 300);
}

#[test]
#[ignore = "ten thousand rows: run with --release -- --ignored"]
fn the_whole_wide_table_keeps_its_laws() {
    assert_eq!(sweep(10_000), 10_000);
}
