//! Arrays without parity under random writes, while members fail, are replaced and filled row by
//! row: every byte is on every member that should have it, and reads give what a plain array of
//! bytes holds.

use folioscope_core::device::md::mirrors::{Copies, Mirrors};
use folioscope_core::device::md::plain::{Map, Plain};
use folioscope_core::device::md::zones::{ZoneOrder, Zones};
use folioscope_core::scenario::random::Random;
use folioscope_core::units::{MemberId, Sector, Sectors};
use std::time::Instant;

/// Sectors of a row.
const ROW: u64 = 8;

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
    let (mut lost, mut filling): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut writes = 0;
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
            94..97 => {
                let member = random.below(u64::from(members)) as u32;
                let room = ((lost.len() + filling.len()) as u32) < spare;
                if (room || filling.contains(&member)) && !lost.contains(&member) {
                    array.fail(MemberId::new(member));
                    filling.retain(|other| *other != member);
                    lost.push(member);
                }
            }
            97 => {
                if let Some(member) = lost.pop() {
                    array.replace(MemberId::new(member));
                    filling.push(member);
                }
            }
            _ => {
                let most = if random.one_in(2) { Some(random.below(12)) } else { None };
                let rows = (0..size.div_ceil(ROW)).map(|row| Sector::new(row * ROW));
                let (rebuilt, _) = array.rebuild(rows, most);
                assert_eq!(rebuilt.stopped, None, "seed {seed}");
                filling.retain(|member| array.filling().any(|other| other.get() == *member));
            }
        }
    }
    let (result, read, _) = array.read(Sector::ZERO, Sectors::new(size));
    assert!(result == Ok(()) && read == model, "seed {seed}");
    for member in lost {
        array.replace(MemberId::new(member));
    }
    let rows = || (0..size.div_ceil(ROW)).map(|row| Sector::new(row * ROW));
    let (rebuilt, _) = array.rebuild(rows(), None);
    assert_eq!(rebuilt.stopped, None, "seed {seed}");
    assert_eq!(array.check(rows(), false).0, 0, "seed {seed}: copies differ");
    writes
}

#[test]
fn copies_and_chunks_survive_failures_and_rebuilds() {
    let writes: u64 = (0..60).map(|seed| torture_plain(seed, 100)).sum();
    assert!(writes > 4_000);
}

/// An array has lost too much as soon as some stretch of it has no place left.
#[test]
fn copies_and_chunks_have_lost_too_much_when_a_stretch_is_gone() {
    let (mut broken, mut whole) = (0, 0);
    for seed in 0..240 {
        let (mut array, size, _) = plain_of(seed);
        let mut random = Random::new(seed);
        for member in 0..array.members() {
            if random.one_in(3) {
                array.fail(MemberId::new(member));
            }
        }
        let all = vec![1; (size * 512) as usize];
        let fails = array.write(Sector::ZERO, &all).0.is_err();
        assert_eq!(array.is_broken(), fails, "seed {seed}");
        (broken, whole) = (broken + u32::from(fails), whole + u32::from(!fails));
    }
    assert!(broken > 40 && whole > 40, "{broken} {whole}");
}

#[test]
#[ignore = "a million writes: run with --release -- --ignored"]
fn a_million_writes_to_copies_and_chunks_survive() {
    let start = Instant::now();
    let writes: u64 = (0..1_300).map(|seed| torture_plain(seed, 1000)).sum();
    println!("{writes} writes in {:.1} s", start.elapsed().as_secs_f64());
    assert!(writes >= 1_000_000);
}
