//! The three ways in which the bytes of a folio under writeback were counted, told by their traces.

mod common;

use common::{Kind, Rig, TASK, geometry};
use folioscope_core::behaviour::{Behaviours, Profile, WritePending};
use folioscope_core::cache::folio::FolioFlags;
use folioscope_core::engine::drive;
use folioscope_core::errno::Errno;
use folioscope_core::fault::{Fault, FaultEffect, FaultPoint};
use folioscope_core::trace::delta::DeltaKind;
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::sink::NoTrace;
use folioscope_core::trace::timeline::Recording;
use folioscope_core::units::Pos;

/// What a folio of four blocks went through, of which the first two and the last are dirty.
fn story(write_pending: WritePending) -> (Vec<&'static str>, Vec<u64>) {
    let behaviours = Behaviours { write_pending, ..Behaviours::default() };
    let sizes = geometry(64, 16, 0);
    let mut rig = Rig::new(sizes, behaviours, Kind::Extents, Recording::default());
    rig.write(0, 64, 1, true);
    rig.write(0, 32, 2, false);
    rig.write(48, 16, 3, false);
    rig.fsync();
    let recording = rig.engine.into_sink();
    let start = recording.steps().iter().rposition(|step| step.rule == Rule::WritebackFolio);
    let (mut what, mut pending) = (Vec::new(), Vec::new());
    for at in start.expect("written back") + 1..recording.len() {
        for delta in recording.deltas(at) {
            let flag = |flag| {
                let (old, new) =
                    (FolioFlags::from_word(delta.old), FolioFlags::from_word(delta.new));
                delta.kind == DeltaKind::FolioFlags && old.has(flag) != new.has(flag)
            };
            if flag(FolioFlags::WRITEBACK) && recording.step(at).rule != Rule::WritebackEnds {
                what.push("writeback");
            }
            if flag(FolioFlags::LOCKED) {
                what.push("unlocked");
            }
            if delta.kind == DeltaKind::FolioWritePending {
                pending.push(delta.new);
            }
        }
        // What changed on the way to a step belongs to it.
        let named = [
            (Rule::MappedForWriteback, "mapped"),
            (Rule::BioSubmitted, "sent"),
            (Rule::WritebackEnds, "ended"),
        ];
        let rule = recording.step(at).rule;
        what.extend(named.iter().find(|(known, _)| *known == rule).map(|(_, word)| *word));
    }
    (what, pending)
}

#[test]
fn before_6_9_the_mark_comes_after_mapping_and_the_bios_after_the_lock() {
    let (what, pending) = story(WritePending::PerBlock);
    // The second ioend stays open until the walk ends.
    assert_eq!(what, ["mapped", "mapped", "writeback", "unlocked", "sent", "sent", "ended"]);
    assert_eq!(pending, [16, 32, 48, 16, 0]);
}

#[test]
fn a_count_with_one_too_many_stays_above_zero_while_it_is_mapped() {
    let (what, pending) = story(WritePending::Biased);
    assert_eq!(what, ["writeback", "mapped", "mapped", "sent", "unlocked", "sent", "ended"]);
    assert_eq!(pending, [1, 33, 49, 48, 16, 0]);
}

#[test]
fn a_count_that_begins_with_the_folio_is_only_taken_down() {
    let (what, pending) = story(WritePending::FolioSize);
    assert_eq!(what, ["writeback", "mapped", "mapped", "sent", "unlocked", "sent", "ended"]);
    assert_eq!(pending, [64, 48, 16, 0]);
}

#[test]
fn each_profile_has_the_protocol_of_its_kernel() {
    for (profile, want) in [
        ("linux-5.15", WritePending::PerBlock),
        ("linux-6.6", WritePending::PerBlock),
        ("linux-6.12", WritePending::Biased),
        ("linux-6.18", WritePending::Biased),
        ("linux-7.3", WritePending::FolioSize),
    ] {
        let found = Profile::named(profile).expect("a profile").behaviours.write_pending;
        assert_eq!(found, want, "{profile}");
    }
}

/// The second range of a folio cannot be mapped, or the first cannot.
fn unmapped(write_pending: WritePending, at: u64) -> (u64, u64, Vec<u8>) {
    let behaviours = Behaviours { write_pending, ..Behaviours::default() };
    let mut rig = Rig::new(geometry(64, 16, 0), behaviours, Kind::Extents, NoTrace);
    rig.write(0, 64, 1, true);
    rig.write(0, 16, 2, false);
    rig.write(32, 16, 3, false);
    let effect = FaultEffect::Fails(Errno::Io);
    let at = Some(Pos::new(at));
    let fault = Fault { at, ..Fault::once(FaultPoint::MapBlocks, effect) };
    rig.engine.replace_faults(vec![fault]);
    let op = rig.engine.fsync(TASK, rig.file, false);
    let done = drive(&rig.engine, &mut rig.sim, op).expect("nothing hangs");
    assert_eq!(done.0, Err(Errno::Io));
    let (dirty, writing) = rig.engine.look(|world| {
        assert_eq!(world.broken_invariants(), []);
        let state = world.snapshot();
        let (_, folio) = state.folios().next().expect("cached");
        let bits = (0..4).filter(|block| folio.dirty_bit(*block)).count();
        (bits as u64, u64::from(folio.flags().has(FolioFlags::WRITEBACK)))
    });
    (dirty, writing, rig.durable())
}

#[test]
fn a_folio_that_cannot_be_mapped_leaves_writeback_or_never_enters_it() {
    let old = vec![1; 64];
    for protocol in WritePending::ALL {
        // Nothing of it could be added: before 6.9 its dirty bits stay.
        let left = if *protocol == WritePending::PerBlock { 2 } else { 0 };
        assert_eq!(unmapped(*protocol, 0), (left, 0, old.clone()), "{protocol}");
        // The first range was added, and what is still open ends with the error.
        assert_eq!(unmapped(*protocol, 32), (0, 0, old.clone()), "{protocol}");
    }
}
