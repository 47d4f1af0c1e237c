//! The switches of the read side, each with what tells its values apart.

mod common;

use common::{Host, TASK};
use folioscope_core::behaviour::{
    Behaviours, Profile, ReadPending, ReadSubmission, ReadaheadRules,
};
use folioscope_core::cache::frame_alloc::FramePolicy;
use folioscope_core::device::sim::{Sim, Timing};
use folioscope_core::engine::{Engine, ReadFlags, drive};
use folioscope_core::frames::{Discard, HeapFrames};
use folioscope_core::fs::blockdev::BlockDev;
use folioscope_core::fs::scripted::{Answer, Scripted};
use folioscope_core::fs::{Metadata, Provider, SpaceAllocator};
use folioscope_core::geometry::Geometry;
use folioscope_core::iomap::{Iomap, MapType, Mapping};
use folioscope_core::ops::readahead::ReadaheadLimits;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::{Bytes, DevAddr, FileId, FileRange, Order, Pos};
use folioscope_core::world::Config;
use std::collections::VecDeque;

const PAGE: Bytes = Bytes::kib(4);

fn engine(behaviours: Behaviours, order: u8) -> (Engine<Host<Recording>>, Geometry) {
    let geometry = Geometry::new(PAGE, PAGE, Order::new(order)).expect("sizes fit");
    let config = Config {
        geometry,
        behaviours,
        stable_writes: false,
        frames: FramePolicy::Packed,
        space: SpaceAllocator::new(DevAddr::ZERO, None),
        readahead: ReadaheadLimits::usual(geometry),
        queue: None,
        partition: Bytes::ZERO,
    };
    (Engine::new(config, HeapFrames::new(PAGE), Recording::default()), geometry)
}

/// Reads `[from, to)` in calls of 4 KiB.
fn read(engine: &Engine<Host<Recording>>, file: FileId, from: u64, to: u64) {
    let mut sim = Sim::new(Timing::Ram);
    for at in (from..to).step_by(4096) {
        let mut dest = Discard(PAGE);
        let op = engine.pread(TASK, file, Pos::new(at), &mut dest, ReadFlags::default());
        drive(engine, &mut sim, op).expect("nothing hangs").0.expect("reads succeed");
    }
}

/// What each call into the file system read, and the orders of its folios.
fn calls(rules: ReadaheadRules) -> Vec<(u64, Vec<u64>)> {
    let (engine, _) = engine(Behaviours { readahead_rules: rules, ..Behaviours::default() }, 9);
    let disk = Bytes::kib(16 << 10);
    let file = engine.open(Pos::new(disk.get()), Provider::BlockDev(BlockDev::new(disk)));
    read(&engine, file, 0, 128 << 10);
    let recording = engine.into_sink();
    let mut orders = Vec::new();
    let mut calls = Vec::new();
    for step in recording.steps() {
        if step.rule == Rule::FolioMadeForRead {
            orders.push(step.args[0]);
        } else if step.rule == Rule::FoliosToRead {
            calls.push((step.args[0], std::mem::take(&mut orders)));
        }
    }
    calls
}

#[test]
fn readahead_windows_and_orders_are_those_that_each_kernel_was_seen_to_use() {
    // 6.1: the window of 8 would be its own trigger and takes in the next 16 pages.
    assert_eq!(
        calls(ReadaheadRules::OneRoutine)[..3],
        [(4, vec![2]), (24, vec![2; 6]), (32, vec![2, 4, 3, 2])]
    );
    // 6.12: each window four, eight, sixteen; its order that of the marked folio and two more.
    assert_eq!(
        calls(ReadaheadRules::FolioOrder)[..4],
        [(4, vec![2]), (8, vec![2, 2]), (16, vec![2, 3, 2]), (32, vec![2, 4, 3, 2])]
    );
    // 6.18: order 0 first, and the end of a window is aligned to its order.
    let new = calls(ReadaheadRules::WindowOrder);
    assert_eq!(new[..4], [(4, vec![0; 4]), (8, vec![2, 2]), (4, vec![2]), (8, vec![3])]);
}

/// Sectors of the bios of a read over two mappings, of which the second needs its metadata read.
fn sectors(submission: ReadSubmission) -> Vec<u64> {
    let behaviours = Behaviours { read_submission: submission, ..Behaviours::default() };
    let (engine, geometry) = engine(behaviours, 0);
    let one = |n: &u64| Metadata { addr: DevAddr::new(n * 512), len: PAGE, meta: true };
    let piece = |pos: u64, sector: u64, metadata: &[u64]| Answer {
        intent: None,
        metadata: metadata.iter().map(one).collect::<VecDeque<_>>(),
        mapping: Mapping {
            iomap: Iomap::plain(
                FileRange::between(Pos::new(pos), Pos::new(pos + 8192)),
                MapType::Mapped,
                Some(DevAddr::new(sector * 512)),
                0,
            ),
            srcmap: None,
        },
    };
    let mut fs = Scripted::new(geometry);
    fs.expect([piece(0, 39232, &[39032]), piece(8192, 39256, &[39248])]);
    let file = engine.open(Pos::new(16384), Provider::Scripted(fs));
    read(&engine, file, 0, 4096);
    let recording = engine.into_sink();
    let sent = recording.steps().iter().filter(|step| step.rule == Rule::BioSubmitted);
    sent.map(|step| step.args[1] / 512).collect()
}

#[test]
fn a_pending_read_goes_before_or_behind_the_metadata_of_the_next_mapping() {
    assert_eq!(sectors(ReadSubmission::AtEnd), [39032, 39248, 39232, 39256]);
    assert_eq!(sectors(ReadSubmission::BeforeNextMapping), [39032, 39232, 39248, 39256]);
    assert_eq!(sectors(ReadSubmission::BoundaryFlag), [39032, 39232, 39248, 39256]);
}

#[test]
fn every_profile_is_named_once_and_the_newest_differs_by_reads_counts_and_flushes() {
    let newest = Profile::named("linux-7.3").expect("there is one");
    let usual = Profile::usual().behaviours;
    assert_eq!(newest.behaviours.read_submission, ReadSubmission::BeforeNextMapping);
    assert_eq!(newest.behaviours.read_pending, ReadPending::FolioSize);
    let Behaviours { read_submission, read_pending, write_pending, .. } = usual;
    let Behaviours { zero_flush, insert_flush, stripe_alignment, .. } = usual;
    let same = Behaviours {
        read_submission,
        read_pending,
        write_pending,
        zero_flush,
        insert_flush,
        stripe_alignment,
        ..newest.behaviours
    };
    assert_eq!(same, usual);
}
