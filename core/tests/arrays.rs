//! Arrays under random writes, while members fail and are rebuilt: every byte is where
//! the layout's own table says, P and Q are what this file computes, and reads give what a plain
//! array of bytes holds.
//!
//! Places and parities are written down here once more, so that an error of the engine's tables
//! cannot hide itself.

use folioscope_core::block::bio::BioOp;
use folioscope_core::device::md::mirrors::{Copies, Mirrors};
use folioscope_core::device::md::parity::{Parity, ParityLayout, ParityLevel};
use folioscope_core::device::md::plain::{Map, Plain};
use folioscope_core::device::md::run::{Bench, Token};
use folioscope_core::device::md::stripes::{Consistency, Pass, RmwLevel, StripeConfig};
use folioscope_core::device::md::zones::{ZoneOrder, Zones};
use folioscope_core::scenario::random::Random;
use folioscope_core::units::{Bytes, DevAddr, MemberId, Sector, Sectors};
use std::time::Instant;

/// Sectors of a row.
const ROW: u64 = 8;
/// Bytes of a row.
const BLOCK: usize = 4096;

/// Who holds P, Q and each data chunk of a stripe, as the kernel's documents draw it.
fn places(parity: &Parity, stripe: u64) -> (u32, Option<u32>, Vec<u32>) {
    use ParityLayout::{
        LeftAsymmetric, LeftSymmetric, ParityFirst, ParityLast, RightAsymmetric, RightSymmetric,
    };
    let n = parity.members();
    let turn = (stripe % u64::from(n)) as u32;
    let left = n - 1 - turn;
    let after = |p: u32, skip: u32| (p, move |index: u32| (p + skip + index) % n);
    let skipping = |p: u32, by: u32| move |index: u32| index + if index >= p { by } else { 0 };
    let of = |count: u32, place: &dyn Fn(u32) -> u32| (0..count).map(place).collect::<Vec<u32>>();
    if parity.level() == ParityLevel::Raid6 {
        let d = n - 2;
        return match parity.layout() {
            ParityFirst => (0, Some(1), of(d, &|index| index + 2)),
            ParityLast => (d, Some(d + 1), of(d, &|index| index)),
            layout @ (LeftSymmetric | RightSymmetric) => {
                let (p, place) = after(if layout == LeftSymmetric { left } else { turn }, 2);
                (p, Some((p + 1) % n), of(d, &place))
            }
            layout @ (LeftAsymmetric | RightAsymmetric) => {
                let p = if layout == LeftAsymmetric { left } else { turn };
                if p == n - 1 {
                    (p, Some(0), of(d, &|index| index + 1))
                } else {
                    (p, Some(p + 1), of(d, &skipping(p, 2)))
                }
            }
        };
    }
    let d = n - 1;
    match parity.layout() {
        ParityLast => (d, None, of(d, &|index| index)),
        ParityFirst => (0, None, of(d, &|index| index + 1)),
        LeftAsymmetric => (left, None, of(d, &skipping(left, 1))),
        RightAsymmetric => (turn, None, of(d, &skipping(turn, 1))),
        LeftSymmetric => (left, None, of(d, &after(left, 1).1)),
        RightSymmetric => (turn, None, of(d, &after(turn, 1).1)),
    }
}

/// Twice every byte of a block, in the field with the polynomial 0x11d.
fn double(block: &mut [u8]) {
    for byte in block {
        let wide = u16::from(*byte) << 1;
        *byte = (wide ^ if wide > 0xff { 0x11d } else { 0 }) as u8;
    }
}

fn add(to: &mut [u8], from: &[u8]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to ^= from);
}

/// What every working member holds is what the bytes of the array make it.
fn check_members(bench: &Bench, model: &[u8], lost: &[u32]) {
    let config = *bench.stripes.config();
    let parity = config.parity;
    let (chunk, n) = (parity.chunk().get(), parity.members());
    let data = u64::from(parity.data_members());
    for row in 0..config.member.get() / ROW {
        let (stripe, inside) = (row * ROW / chunk, row * ROW % chunk);
        let (p, q, places) = places(&parity, stripe);
        let block = |index: u64| {
            let start = (((stripe * data + index) * chunk + inside) * 512) as usize;
            &model[start..start + BLOCK]
        };
        let holds = |member: u32, bytes: &[u8], what: &str| {
            let at = DevAddr::new(row * ROW * 512);
            let found = bench.disk(MemberId::new(member)).bytes(at, Bytes::kib(4));
            let name = parity.layout().name();
            assert!(
                lost.contains(&member) || found == bytes,
                "{what} of row {row} on member {member} of {n}: {} {name}",
                parity.level().name()
            );
        };
        let mut sum = vec![0; BLOCK];
        for (index, member) in (0..).zip(&places) {
            holds(*member, block(index), "data");
            add(&mut sum, block(index));
        }
        holds(p, &sum, "P");
        let Some(q) = q else { continue };
        // Data members in the order in which they stand behind Q, the last one first.
        let mut sum = vec![0; BLOCK];
        for back in (1..n).rev() {
            let member = (q + back) % n;
            if let Some(index) = places.iter().position(|place| *place == member) {
                double(&mut sum);
                add(&mut sum, block(index as u64));
            }
        }
        holds(q, &sum, "Q");
    }
}

/// What a run did.
#[derive(Clone, Copy, Default, Debug)]
struct Done {
    writes: u64,
    reads: u64,
    failures: u64,
    rebuilds: u64,
    spoiled: u64,
}

impl std::ops::AddAssign for Done {
    fn add_assign(&mut self, more: Self) {
        self.writes += more.writes;
        self.reads += more.reads;
        self.failures += more.failures;
        self.rebuilds += more.rebuilds;
        self.spoiled += more.spoiled;
    }
}

/// An array, what it should hold, and dice.
struct Torture {
    bench: Bench,
    random: Random,
    seed: u64,
    model: Vec<u8>,
    lost: Vec<u32>,
    each_bio: bool,
    done: Done,
}

impl Torture {
    fn new(config: StripeConfig, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let each_bio = random.one_in(2);
        let token = if each_bio { Token::EachBio } else { Token::Sleep };
        Self {
            bench: Bench::new(config, token),
            random,
            seed,
            model: vec![0; (config.size().get() * 512) as usize],
            lost: Vec::new(),
            each_bio,
            done: Done::default(),
        }
    }
    /// Some sectors of the array; half of the time whole blocks.
    fn range(&mut self) -> (u64, u64) {
        let sectors = self.bench.stripes.config().size().get();
        let start = self.random.below(sectors);
        let len = 1 + self.random.below((sectors - start).min(40));
        if self.random.one_in(2) {
            let start = start / ROW * ROW;
            return (start, len.next_multiple_of(ROW).min(sectors - start));
        }
        (start, len)
    }
    fn write(&mut self) {
        let (start, len) = self.range();
        let salt = self.random.bits();
        let data: Vec<u8> = (0..len * 512).map(|at| (at % 251) as u8 ^ salt as u8).collect();
        let place = (start * 512) as usize..((start + len) * 512) as usize;
        self.model[place].copy_from_slice(&data);
        let (sync, range) = (salt >> 8 & 1 == 0, (Sector::new(start), Sectors::new(len)));
        let id = self.bench.submit(BioOp::Write, sync, range, data);
        self.done.writes += 1;
        if self.random.one_in(3) || self.each_bio {
            self.bench.settle();
            assert_eq!(self.bench.result(id).0, Ok(()), "seed {}", self.seed);
        }
    }
    fn read(&mut self) {
        let (start, len) = self.range();
        self.bench.settle();
        let read = self.bench.read(Sector::new(start), Sectors::new(len)).expect("enough is left");
        let place = (start * 512) as usize..((start + len) * 512) as usize;
        assert!(read == self.model[place], "seed {}: {len} sectors at {start}", self.seed);
        self.done.reads += 1;
    }
    fn can_lose(&self) -> bool {
        (self.lost.len() as u32) < self.bench.stripes.config().parity.level().parities()
    }
    fn any_member(&mut self) -> u32 {
        self.random.below(u64::from(self.bench.stripes.config().parity.members())) as u32
    }
    /// A member goes, also while rows wait for more data.
    fn fail(&mut self) {
        let member = self.any_member();
        if !self.can_lose() || self.lost.contains(&member) {
            return;
        }
        if self.random.one_in(2) {
            self.bench.settle();
        }
        self.bench.fail(MemberId::new(member));
        self.lost.push(member);
        self.done.failures += 1;
    }
    /// Empty disks take the places of those that went, and are filled; in the middle of it the
    /// array is written and read.
    fn rebuild(&mut self) {
        if self.lost.is_empty() {
            return;
        }
        self.bench.settle();
        let rows = self.bench.stripes.config().member.get() / ROW;
        for member in self.lost.clone() {
            self.bench.replace(MemberId::new(member));
        }
        let half = self.random.below(rows + 1);
        self.bench.pass_rows(Pass::Rebuild, 0..half);
        for _ in 0..self.random.below(4) {
            self.write();
            self.read();
        }
        self.bench.settle();
        self.bench.pass_rows(Pass::Rebuild, half..rows);
        self.lost.clear();
        self.done.rebuilds += 1;
        check_members(&self.bench, &self.model, &[]);
    }
    /// A block cannot be read until it is written anew, which a pass over the array finds.
    fn spoil(&mut self) {
        let member = self.any_member();
        if !self.can_lose() || self.lost.contains(&member) {
            return;
        }
        self.bench.settle();
        let row = self.random.below(self.bench.stripes.config().member.get() / ROW) * ROW;
        self.bench.spoil(MemberId::new(member), Sector::new(row));
        self.bench.pass(Pass::Repair);
        self.done.spoiled += 1;
    }
    fn step(&mut self) {
        match self.random.below(100) {
            0..80 => self.write(),
            80..92 => self.read(),
            92..95 => self.fail(),
            95..98 => self.rebuild(),
            _ => self.spoil(),
        }
    }
    fn end(mut self) -> Done {
        self.bench.settle();
        assert!(self.bench.stripes.is_idle(), "nothing waits for ever");
        check_members(&self.bench, &self.model, &self.lost);
        let sectors = self.bench.stripes.config().size();
        let read = self.bench.read(Sector::ZERO, sectors).expect("enough is left");
        assert!(read == self.model, "seed {}", self.seed);
        assert_eq!(self.bench.stripes.tally().mismatches, 0, "seed {}", self.seed);
        self.done
    }
}

/// Every level with each of its layouts.
fn kinds() -> Vec<(ParityLevel, ParityLayout)> {
    let all = |level| ParityLayout::ALL.map(|layout| (level, layout));
    let mut kinds = vec![(ParityLevel::Raid4, ParityLayout::ParityLast)];
    kinds.extend(all(ParityLevel::Raid5));
    kinds.extend(all(ParityLevel::Raid6));
    kinds
}

/// The array of a seed: levels and layouts in turn, few rows in its cache.
fn array_of(seed: u64) -> StripeConfig {
    let kinds = kinds();
    let (level, layout) = kinds[seed as usize % kinds.len()];
    let mut random = Random::new(!seed);
    let members = level.parities() + 2 + random.below(5) as u32;
    let chunk = Sectors::new(ROW << random.below(3));
    let parity = Parity::new(level, layout, members, chunk).expect("a good array");
    let levels = [RmwLevel::Never, RmwLevel::Fewer, RmwLevel::NotMore];
    let consistencies = [
        Consistency::Resync,
        Consistency::Bitmap,
        Consistency::Journal,
        Consistency::PartialParity,
    ];
    StripeConfig {
        rmw: levels[random.below(3) as usize],
        consistency: consistencies[random.below(4) as usize],
        rows: 24 + 8 * random.below(4) as u32,
        ..StripeConfig::new(parity, Sectors::new(chunk.get() * u64::from(members + 1)))
    }
}

fn torture(seed: u64, steps: u64) -> Done {
    let mut torture = Torture::new(array_of(seed), seed);
    (0..steps).for_each(|_| torture.step());
    torture.end()
}

#[test]
fn every_byte_and_parity_survives_failures_and_rebuilds() {
    let mut done = Done::default();
    for seed in 0..52 {
        done += torture(seed, 50);
    }
    assert!(done.failures > 20 && done.rebuilds > 20 && done.spoiled > 10, "{done:?}");
}

#[test]
#[ignore = "a million writes: run with --release -- --ignored"]
fn a_million_writes_survive_failures_and_rebuilds() {
    const ARRAYS: u64 = 1_300;
    let start = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let share = |first: u64| {
        let mut done = Done::default();
        for seed in (first..ARRAYS).step_by(threads as usize) {
            done += torture(seed, 1000);
        }
        done
    };
    let mut done = Done::default();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|first| scope.spawn(move || share(first))).collect();
        for one in all {
            done += one.join().expect("no share fails");
        }
    });
    println!("{ARRAYS} arrays in {:.1} s: {done:?}", start.elapsed().as_secs_f64());
    assert!(done.writes >= 1_000_000, "{done:?}");
}

/// An array without parity of a kind that a number chooses, and the members that it can lose.
fn plain_of(seed: u64) -> (Plain, u64, u32) {
    const CHUNKS: u64 = 12;
    let mut random = Random::new(!seed);
    let members = 2 + random.below(5) as u32;
    let chunk = Sectors::new(ROW << random.below(3));
    let member = Sectors::new(chunk.get() * CHUNKS);
    let copies = |near, far, offset| Copies { near, far, offset };
    let ten = |members: u32, copies: Copies| {
        let mirrors = Mirrors::new(members, chunk, copies, member).expect("a good array");
        (Map::Copies(mirrors, chunk), mirrors.size().get(), members, copies.count() - 1)
    };
    let (map, size, members, spare) = match seed % 6 {
        0 => {
            let sizes: Vec<Sectors> =
                (0..members).map(|nth| member + Sectors::new(u64::from(nth) * 40)).collect();
            let zones = Zones::new(chunk, &sizes, ZoneOrder::Alternate).expect("a good array");
            let size = zones.size().get();
            (Map::Chunks(zones, chunk), size, members, 0)
        }
        1 => {
            let mirrors = Mirrors::all(members, member).expect("a good array");
            (Map::Copies(mirrors, member), mirrors.size().get(), members, members - 1)
        }
        2 => ten(members, copies(2, 1, false)),
        3 => ten(members, copies(1, 2, false)),
        4 => ten(members, copies(1, 2, true)),
        _ => ten(members.max(3), copies(3, 1, false)),
    };
    (Plain::new(map, members), size, spare)
}

/// RAID0, RAID1, RAID10: writes, reads, failures and rebuilds; the writes.
fn torture_plain(seed: u64, steps: u64) -> u64 {
    let (mut array, size, spare) = plain_of(seed);
    let members = array.members();
    let mut random = Random::new(seed);
    let mut model = vec![0; (size * 512) as usize];
    let (mut lost, mut writes): (Vec<u32>, u64) = (Vec::new(), 0);
    for _ in 0..steps {
        let start = random.below(size);
        let len = 1 + random.below((size - start).min(40));
        let place = (start * 512) as usize..((start + len) * 512) as usize;
        match random.below(100) {
            0..80 => {
                let salt = random.bits();
                for (at, byte) in model[place.clone()].iter_mut().enumerate() {
                    *byte = (at % 251) as u8 ^ salt as u8;
                }
                let (result, _) = array.write(Sector::new(start), &model[place]);
                assert_eq!(result, Ok(()));
                writes += 1;
            }
            80..94 => {
                let (result, read, _) = array.read(Sector::new(start), Sectors::new(len));
                assert!(result == Ok(()) && read == model[place], "seed {seed}");
            }
            94..97 if (lost.len() as u32) < spare => {
                let member = random.below(u64::from(members)) as u32;
                if !lost.contains(&member) {
                    array.fail(MemberId::new(member));
                    lost.push(member);
                }
            }
            _ => {
                for member in lost.drain(..) {
                    array.replace(MemberId::new(member));
                }
                array.rebuild((0..size.div_ceil(ROW)).map(|row| Sector::new(row * ROW)));
            }
        }
    }
    let (result, read, _) = array.read(Sector::ZERO, Sectors::new(size));
    assert!(result == Ok(()) && read == model, "seed {seed}");
    for member in lost {
        array.replace(MemberId::new(member));
    }
    let rows = || (0..size.div_ceil(ROW)).map(|row| Sector::new(row * ROW));
    array.rebuild(rows());
    assert_eq!(array.check(rows(), false).0, 0, "seed {seed}: copies differ");
    writes
}

#[test]
fn copies_and_chunks_survive_failures_and_rebuilds() {
    let writes: u64 = (0..60).map(|seed| torture_plain(seed, 100)).sum();
    assert!(writes > 4_000);
}

#[test]
#[ignore = "a million writes: run with --release -- --ignored"]
fn a_million_writes_to_copies_and_chunks_survive() {
    let start = Instant::now();
    let writes: u64 = (0..1_300).map(|seed| torture_plain(seed, 1000)).sum();
    println!("{writes} writes in {:.1} s", start.elapsed().as_secs_f64());
    assert!(writes >= 1_000_000);
}
