//! What a case starts with: where the file lies on the device, and which faults are armed.

use super::device::BioFault;
use super::format::{Extent, FaultAt, FaultWords, MetaFlag, Metadata, Scenario};
use super::machine::{MAX_FILE, errno_of, map_type, range_of};
use super::words::ExtentKind;
use folioscope_core::device::store::Store;
use folioscope_core::errno::Errno;
use folioscope_core::fault::{Fault, FaultEffect, FaultPoint};
use folioscope_core::fs::Provider;
use folioscope_core::fs::extents::Extents;
use folioscope_core::fs::indirect::Indirect;
use folioscope_core::fs::scripted::{Answer, Scripted};
use folioscope_core::geometry::Geometry;
use folioscope_core::iomap::{Intent, Iomap, Mapping};
use folioscope_core::units::{Bytes, DevAddr, Pos};
use std::collections::VecDeque;

/// A fault of the engine, with what it has left.
pub(super) struct EngineFault {
    pub(super) words: FaultWords,
    pub(super) fault: Fault,
}

/// The same blocks behind arrays of pointers, which lie where `metadata` says.
pub(super) fn indirect(
    extents: &Extents,
    metadata: &[Metadata],
    geometry: Geometry,
) -> Result<Indirect, String> {
    let mut fs = Indirect::new(geometry);
    for (block, extent) in extents.map().iter() {
        let start = geometry.block_offset(block).get();
        let range = range_of(start, geometry.blocks_bytes(extent.len).get());
        fs.map_mut().set(range, extent.state, extent.addr);
    }
    for one in metadata {
        let (at, addr) = (one.needed_for_file_off, DevAddr::new(one.dev_off));
        if one.len != geometry.block_size().get() {
            return Err(format!("the metadata at {} is not one block", one.dev_off));
        }
        let meta = one.op_flags.contains(&MetaFlag::Meta);
        if !fs.place_array(Pos::new(at), addr, meta) {
            return Err(format!("the mapping at {at} needs no more metadata"));
        }
    }
    Ok(fs)
}

/// Answers that are finer than a block, in the order of the file; only reads ask for them.
pub(super) fn fine(scenario: &Scenario, geometry: Geometry) -> Provider {
    let answer = |extent: &Extent| {
        let range = range_of(extent.file_off, extent.len);
        let addr = extent.dev_off.map(DevAddr::new);
        let iomap = Iomap::plain(range, map_type(extent.kind), addr, 0);
        let mapping = Mapping { iomap, srcmap: None };
        Answer { intent: Some(Intent::Read), metadata: VecDeque::new(), mapping }
    };
    let mut fs = Scripted::new(geometry);
    fs.expect(scenario.extents.iter().map(answer));
    Provider::Scripted(fs)
}

/// Puts an extent of the start state into the list and its bytes onto the device.
pub(super) fn place(
    extents: &mut Extents,
    disk: &mut Store,
    extent: &Extent,
    (size, tail): (u64, u8),
    geometry: Geometry,
) -> Result<(), String> {
    let range = range_of(extent.file_off, extent.len);
    if geometry.block_range(range) != range {
        return Err(format!("the extent at {} is finer than a block", extent.file_off));
    }
    if extent.len > MAX_FILE {
        return Err(format!("an extent of {} bytes is more than is laid out", extent.len));
    }
    if extent.boundary {
        extents.set_boundary(range.start());
    }
    if extent.kind == ExtentKind::Hole {
        return Ok(());
    }
    let addr = extent.dev_off.map(DevAddr::new);
    extents.map_mut().set(range, map_type(extent.kind), addr);
    if extent.shared {
        extents.set_shared(range, true);
    }
    if let Some(at) = extent.dev_off {
        let fill = extent.fill.map_or(0, |fill| fill.0);
        let inside = size.saturating_sub(extent.file_off).min(extent.len);
        let at = DevAddr::new(at);
        disk.write(at, &vec![fill; inside as usize]);
        disk.write(at + Bytes::new(inside), &vec![tail; (extent.len - inside) as usize]);
    }
    Ok(())
}

/// Faults of the engine and of the device; those of user memory belong to their operations.
pub(super) fn faults_of(all: &[FaultWords]) -> Result<(Vec<EngineFault>, Vec<BioFault>), String> {
    let (mut engine, mut bios) = (Vec::new(), Vec::new());
    for words in all {
        let errno = words.err.as_deref().map(|name| {
            errno_of(name).ok_or_else(|| format!("the error {name} is not one of the engine's"))
        });
        let errno = errno.transpose()?;
        let point = match words.at {
            FaultAt::ReserveBlock => FaultPoint::ReserveBlock,
            FaultAt::MapBlocks => FaultPoint::MapBlocks,
            FaultAt::AllocIoend => FaultPoint::AllocIoend,
            FaultAt::ConvertUnwritten => FaultPoint::ConvertUnwritten,
            FaultAt::InvalidateFolio => FaultPoint::InvalidateFolio,
            FaultAt::Submit | FaultAt::WriteBio => {
                bios.push(BioFault {
                    at_submit: words.at == FaultAt::Submit,
                    op: words.op,
                    until_op: words.until_op,
                    addr: words.dev_off,
                    errno: errno.unwrap_or(Errno::Io),
                    left: words.times.0,
                });
                continue;
            }
            FaultAt::CopyFromUser | FaultAt::FaultIn => continue,
        };
        let effect = match words.returns {
            Some(kind) => FaultEffect::Gives(map_type(kind)),
            None => FaultEffect::Fails(errno.unwrap_or(Errno::Io)),
        };
        let (at, times) = (words.file_off.map(Pos::new), words.times.0);
        let fault = Fault { at, times, ..Fault::once(point, effect) };
        engine.push(EngineFault { words: words.clone(), fault });
    }
    Ok((engine, bios))
}
