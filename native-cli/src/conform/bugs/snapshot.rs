//! The state after an operation.

use super::machine::{ExtentSeen, FILE, Machine};
use folioscope_core::cache::folio::FolioFlags;
use folioscope_core::device::store::Store;
use std::collections::BTreeMap;

/// A cached folio.
#[derive(Clone)]
pub(super) struct FolioSeen {
    pub(super) order: u8,
    pub(super) uptodate: Vec<bool>,
    /// None where this kernel knows no dirt per block.
    pub(super) dirty: Option<Vec<bool>>,
    pub(super) flags: FolioFlags,
    pub(super) read_pending: u64,
    pub(super) write_pending: u64,
}

/// A state.
#[derive(Clone)]
pub(super) struct Snapshot {
    pub(super) i_size: u64,
    pub(super) disk_size: u64,
    pub(super) folios: BTreeMap<u64, FolioSeen>,
    pub(super) extents: Vec<ExtentSeen>,
    pub(super) cow_extents: Vec<ExtentSeen>,
    pub(super) writeback_index: u64,
    pub(super) zone_pointer: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) disk: Store,
}

pub(super) fn snapshot(machine: &Machine) -> Snapshot {
    use folioscope_core::behaviour::DirtyTracking;
    let per_block = machine.behaviours().dirty_tracking != DirtyTracking::PerFolio;
    let geometry = machine.geometry;
    let (i_size, disk_size) = machine.sizes();
    let folios = machine.watch.model.folios().map(|(_, folio)| folio);
    let folios = folios.filter(|folio| folio.place().file == FILE).map(|folio| {
        let flags = folio.flags();
        let whole = flags.has(FolioFlags::UPTODATE);
        let dirty = flags.has(FolioFlags::DIRTY);
        let stateful = flags.has(FolioFlags::BLOCK_STATE);
        let blocks = 0..folio.blocks();
        let seen = FolioSeen {
            order: folio.place().order.get(),
            uptodate: blocks.clone().map(|at| whole || folio.is_uptodate(at)).collect(),
            dirty: (per_block || folio.blocks() == 1).then(|| {
                blocks.map(|at| if stateful { folio.dirty_bit(at) } else { dirty }).collect()
            }),
            flags,
            read_pending: folio.read_pending().get(),
            write_pending: folio.write_pending().get(),
        };
        (geometry.page_pos(folio.place().index).get(), seen)
    });
    Snapshot {
        i_size,
        disk_size,
        folios: folios.collect(),
        extents: machine.extents(),
        cow_extents: machine.cow_extents(),
        zone_pointer: machine.watch.model.file(FILE).map_or(0, |file| file.zone_pointer().get()),
        writeback_index: machine.engine.writeback_index(FILE).get(),
        bytes: machine.file_bytes(),
        disk: machine.port.borrow().disk.clone(),
    }
}
