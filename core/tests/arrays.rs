//! Arrays under random writes, while members fail, are replaced and filled row by row, and the
//! power goes: every byte is where the layout's own table says, P and Q are what this file
//! computes, and reads give what a plain array of bytes holds.
//!
//! Places and parities are written down here once more, so that an error of the engine's tables
//! cannot hide itself.

use folioscope_core::block::bio::BioOp;
use folioscope_core::device::md::parity::{Parity, ParityLayout, ParityLevel};
use folioscope_core::device::md::run::{Bench, Token};
use folioscope_core::device::md::stripes::{Consistency, Pass, RmwLevel, StripeConfig};
use folioscope_core::device::volatile::Choose;
use folioscope_core::errno::Errno;
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
            let lacks = !bench.stripes.holds(MemberId::new(member), Sector::new(row * ROW));
            assert!(
                lost.contains(&member) || lacks || found == bytes,
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
    /// Parts of such, which left some of a member empty.
    parts: u64,
    spoiled: u64,
    cuts: u64,
    /// Of these, cuts while a member was lost or filled.
    lame_cuts: u64,
}

impl std::ops::AddAssign for Done {
    fn add_assign(&mut self, more: Self) {
        self.writes += more.writes;
        self.reads += more.reads;
        self.failures += more.failures;
        self.rebuilds += more.rebuilds;
        self.parts += more.parts;
        self.spoiled += more.spoiled;
        self.cuts += more.cuts;
        self.lame_cuts += more.lame_cuts;
    }
}

/// What a cut leaves of each sector, by dice.
struct Thrown<'a>(&'a mut Random);

impl Choose for Thrown<'_> {
    fn choose(&mut self, n: usize, _write: usize) -> usize {
        self.0.below(n as u64) as usize
    }
}

/// An array, what it should hold, and dice.
struct Torture {
    bench: Bench,
    random: Random,
    seed: u64,
    model: Vec<u8>,
    /// What is on the members for sure, and what was written since.
    durable: Vec<u8>,
    since: Vec<(usize, Vec<u8>)>,
    lost: Vec<u32>,
    /// Members that were replaced and do not hold everything yet.
    filling: Vec<u32>,
    each_bio: bool,
    done: Done,
}

impl Torture {
    fn new(config: StripeConfig, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let each_bio = random.one_in(2);
        let token = if each_bio { Token::EachBio } else { Token::Sleep };
        let mut bench = Bench::new(config, token);
        if random.one_in(2) {
            bench.track_power();
        }
        let model = vec![0; (config.size().get() * 512) as usize];
        Self {
            bench,
            random,
            seed,
            durable: model.clone(),
            since: Vec::new(),
            model,
            lost: Vec::new(),
            filling: Vec::new(),
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
        self.since.push((place.start, data.clone()));
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
        let parities = self.bench.stripes.config().parity.level().parities();
        ((self.lost.len() + self.filling.len()) as u32) < parities
    }
    fn any_member(&mut self) -> u32 {
        self.random.below(u64::from(self.bench.stripes.config().parity.members())) as u32
    }
    fn rows(&self) -> u64 {
        self.bench.stripes.config().member.get() / ROW
    }
    /// A member goes, also while rows wait for more data, or while it is filled.
    fn fail(&mut self) {
        let member = self.any_member();
        let filled = self.filling.contains(&member);
        if !filled && !self.can_lose() || self.lost.contains(&member) {
            return;
        }
        if self.random.one_in(2) {
            self.bench.settle();
        }
        self.bench.fail(MemberId::new(member));
        self.filling.retain(|other| *other != member);
        self.lost.push(member);
        self.done.failures += 1;
    }
    /// An empty disk takes the place of one that went.
    fn replace(&mut self) {
        if let Some(member) = self.lost.pop() {
            self.bench.replace(MemberId::new(member));
            self.filling.push(member);
            self.durable_now();
        }
    }
    /// Disks that took such places are filled, all of them or some rows.
    fn rebuild(&mut self) {
        if self.filling.is_empty() {
            return;
        }
        let rows = self.rows();
        let most = if self.random.one_in(2) { Some(self.random.below(rows)) } else { None };
        self.bench.settle();
        let rebuilt = self.bench.rebuild(0..rows, most);
        assert_eq!((rebuilt.stopped, rebuilt.filled.len()), (None, self.filling.len()));
        self.durable_now();
        if self.bench.stripes.filling().next().is_some() {
            self.done.parts += 1;
        } else {
            self.filling.clear();
            self.done.rebuilds += 1;
        }
        check_members(&self.bench, &self.model, &self.lost);
    }
    /// Everything that was written is on the members for good.
    fn flush(&mut self) {
        self.bench.settle();
        self.bench.flush(1);
        self.durable_now();
    }
    fn durable_now(&mut self) {
        self.durable.copy_from_slice(&self.model);
        self.since.clear();
    }
    /// The power goes: each sector is what was durable, or what was written there since. Without a
    /// log a row is not safe whose members are not all there.
    fn cut(&mut self) {
        let config = *self.bench.stripes.config();
        let closed = match config.consistency {
            Consistency::Journal => true,
            Consistency::PartialParity => config.parity.level() != ParityLevel::Raid6,
            Consistency::Resync | Consistency::Bitmap => false,
        };
        let lame = !self.lost.is_empty() || !self.filling.is_empty();
        if lame && !closed {
            self.flush();
        }
        let filled: Vec<_> = self.bench.stripes.filling().collect();
        self.bench.cut(0, &mut Thrown(&mut self.random));
        assert_eq!(self.bench.stripes.filling().collect::<Vec<_>>(), filled, "they say how far");
        if !closed && !lame {
            self.bench.pass(Pass::Repair);
            self.bench.assemble();
        }
        let size = config.size();
        let found = self.bench.read(Sector::ZERO, size).expect("enough is left");
        for (nth, sector) in found.chunks(512).enumerate() {
            let place = nth * 512..(nth + 1) * 512;
            let was = |(start, data): &(usize, Vec<u8>)| {
                let at = place.start.checked_sub(*start);
                at.and_then(|at| data.get(at..at + 512)) == Some(sector)
            };
            let known = sector == &self.model[place.clone()]
                || sector == &self.durable[place.clone()]
                || self.since.iter().any(was);
            assert!(known, "seed {}: sector {nth} is what it never was", self.seed);
        }
        self.model = found;
        self.durable_now();
        self.done.cuts += 1;
        self.done.lame_cuts += u64::from(lame);
        check_members(&self.bench, &self.model, &self.lost);
    }
    /// A block cannot be read until it is written anew, which a pass over the array finds.
    fn spoil(&mut self) {
        let member = self.any_member();
        if !self.can_lose() || self.lost.contains(&member) || self.filling.contains(&member) {
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
            0..76 => self.write(),
            76..83 => self.read(),
            83..86 => self.fail(),
            86..90 => self.replace(),
            90..95 => self.rebuild(),
            95 => self.flush(),
            96..98 => self.cut(),
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
    println!("{done:?}");
    assert!(done.failures > 20 && done.rebuilds > 10 && done.spoiled > 10, "{done:?}");
    assert!(done.parts > 5 && done.cuts > 15 && done.lame_cuts > 5, "{done:?}");
}

/// Too many members go while a write waits: it fails, and what the other members hold is read as
/// before.
#[test]
fn a_write_that_waits_fails_with_too_many_members_and_the_others_are_read() {
    let (mut read, mut gone) = (0, 0);
    for seed in 0..52 {
        let config = array_of(seed);
        let lost = config.parity.level().parities() + 1;
        let size = config.size().get();
        let mut bench = Bench::new(config, Token::Sleep);
        assert_eq!(bench.write(Sector::ZERO, vec![7; (size * 512) as usize]), Ok(()));
        if seed % 2 == 0 {
            // Nothing is in the cache.
            bench.assemble();
        }
        let mut random = Random::new(seed);
        let (start, len) = (random.below(size - 24), 1 + random.below(24));
        let place = (Sector::new(start), Sectors::new(len));
        let data = vec![9; (len * 512) as usize];
        let waits = bench.submit(BioOp::Write, random.one_in(2), place, data);
        (0..lost).for_each(|member| bench.fail(MemberId::new(member)));
        bench.settle();
        assert_eq!(bench.result(waits).0, Err(Errno::Io), "seed {seed}");
        assert!(bench.stripes.is_idle(), "seed {seed}");
        for at in (0..size).step_by(ROW as usize) {
            let works = config.parity.locate(Sector::new(at)).member.get() >= lost;
            match bench.read(Sector::new(at), Sectors::new(ROW)) {
                Ok(bytes) => assert!(bytes.iter().all(|byte| *byte == 7), "seed {seed}: {at}"),
                Err(error) => assert!(!works && error == Errno::Io, "seed {seed}: {at}"),
            }
            (read, gone) = (read + u32::from(works), gone + u32::from(!works));
        }
    }
    assert!(read > 500 && gone > 500, "{read} {gone}");
}

#[test]
#[ignore = "a million writes: run with --release -- --ignored"]
fn a_million_writes_survive_failures_and_rebuilds() {
    const ARRAYS: u64 = 1_350;
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
