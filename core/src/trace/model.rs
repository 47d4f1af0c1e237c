//! The state that a trace describes, built from its deltas and from nothing else.
//!
//! A viewer shows this and never the engine. `apply` checks every old value, so each replay is a
//! test of the trace; applying an inverse takes a change back exactly.

use super::array::ArrayState;
pub use super::buffers::Buffers;
use super::delta::{ABSENT, Delta, DeltaKind};
use super::file_state::ExtentWords;
pub use super::file_state::{ExtentState, FileState};
pub use super::folio_state::FolioState;
pub use super::io::{BioRecord, OpRecord, RequestRecord, SegRecord};
pub use super::place::Place;
use super::rows::Rows;
pub use super::tally::{Tallies, Tally};
use crate::bits::{Bits, WORD};
use crate::block::bio::{BioEnd, BioHead, BioState};
use crate::block::request::RequestState;
use crate::buffer::Driver;
use crate::counters::Counters;
use crate::gauges::{Gauge, Gauges};
use crate::geometry::Geometry;
use crate::locks::{Lock, LockUse};
use crate::ops::OpKind;
use crate::ordered::OrderedMap;
use crate::units::{FileId, FolioId};
use thiserror::Error;

/// A delta that does not fit the state it is applied to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("{} of {} (part {}) is {found:#x}, but the trace says it was {:#x}", .delta.kind.name(), .delta.object, .delta.aux, .delta.old)]
pub struct Mismatch {
    /// What was to be applied.
    pub delta: Delta,
    /// The value found instead of the old one.
    pub found: u64,
}

/// The state that a trace describes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    pub(super) geometry: Geometry,
    files: Rows<FileState>,
    pub(super) folios: OrderedMap<u32, FolioState>,
    pub(super) bios: Rows<BioRecord>,
    requests: Rows<RequestRecord>,
    ops: Rows<OpRecord>,
    counters: Counters,
    gauges: Gauges,
    pub(super) tallies: Rows<Tallies>,
    array: ArrayState,
}

impl Model {
    /// The empty state.
    pub fn new(geometry: Geometry) -> Self {
        Self {
            geometry,
            files: Rows::default(),
            folios: OrderedMap::new(),
            bios: Rows::default(),
            requests: Rows::default(),
            ops: Rows::default(),
            counters: Counters::default(),
            gauges: Gauges::default(),
            tallies: Rows::default(),
            array: ArrayState::default(),
        }
    }
    /// Sizes of the world.
    pub const fn geometry(&self) -> Geometry {
        self.geometry
    }
    /// Files, ascending.
    pub fn files(&self) -> impl Iterator<Item = (FileId, &FileState)> {
        self.files.iter().map(|(id, file)| (FileId::new(id), file))
    }
    /// One file.
    pub fn file(&self, id: FileId) -> Option<&FileState> {
        self.files.get(id.get())
    }
    /// Cached folios in the order of their number.
    pub fn folios(&self) -> impl Iterator<Item = (FolioId, &FolioState)> {
        self.folios.iter().map(|(id, folio)| (FolioId::new(id), folio))
    }
    /// One folio.
    pub fn folio(&self, id: FolioId) -> Option<&FolioState> {
        self.folios.get(&id.get())
    }
    /// Bios that are being built, in flight, or done a moment ago, in the order of allocation.
    pub fn bios(&self) -> impl Iterator<Item = (u32, &BioRecord)> {
        self.bios.iter()
    }
    /// One bio.
    pub fn bio(&self, id: u32) -> Option<&BioRecord> {
        self.bios.get(id)
    }
    /// Requests that wait, are with the device, or were done a moment ago.
    pub fn requests(&self) -> impl Iterator<Item = (u32, &RequestRecord)> {
        self.requests.iter()
    }
    /// Operations that run, or ended a moment ago.
    pub fn ops(&self) -> impl Iterator<Item = (u32, &OpRecord)> {
        self.ops.iter()
    }
    /// The array behind the device.
    pub const fn array(&self) -> &ArrayState {
        &self.array
    }
    /// Running totals.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }
    /// Values that go up and down; all 0 where dirty pages are not limited.
    pub const fn gauges(&self) -> &Gauges {
        &self.gauges
    }
    /// How often each block of a file was written so far.
    pub fn tallies(&self, file: FileId) -> &Tallies {
        static NONE: Tallies = Tallies::new();
        self.tallies.get(file.get()).unwrap_or(&NONE)
    }
    /// The same state without what only a trace can know (the tallies), to be compared with an
    /// engine's own.
    #[must_use]
    pub fn without_tallies(&self) -> Self {
        Self { tallies: Rows::default(), ..self.clone() }
    }

    /// Applies one change after checking its old value.
    pub fn apply(&mut self, delta: &Delta) -> Result<(), Mismatch> {
        let id = delta.object;
        match delta.kind {
            DeltaKind::FileOpen => self.swap_file(delta, |file| &mut file.open),
            DeltaKind::FileSize => self.swap_file(delta, |file| &mut file.size),
            DeltaKind::FileDriver => {
                let known = delta.new == 0 || Driver::from_code(delta.new).is_some();
                if !known {
                    return Err(bad(delta));
                }
                self.swap_file(delta, |file| &mut file.driver)
            }
            DeltaKind::FileDiskSize => self.swap_file(delta, |file| &mut file.disk_size),
            DeltaKind::FileDirect => self.swap_file(delta, |file| &mut file.direct),
            DeltaKind::ZonePointer => self.swap_file(delta, |file| &mut file.zone_pointer),
            DeltaKind::ExtentLen | DeltaKind::ExtentAt => {
                self.swap_extent(delta, |file| &mut file.extents)
            }
            DeltaKind::CowLen | DeltaKind::CowAt => self.swap_extent(delta, |file| &mut file.cow),
            DeltaKind::SharedLen => self.swap_extent(delta, |file| &mut file.shared),
            DeltaKind::Shadow => self.swap_extent(delta, |file| &mut file.shadows),
            DeltaKind::IoLock => self.swap_lock(delta, Lock::Io),
            DeltaKind::InvalidateLock => self.swap_lock(delta, Lock::Invalidate),
            DeltaKind::FolioPlace => self.place_folio(delta),
            DeltaKind::FolioPfn => self.swap_folio(delta, |folio| &mut folio.pfn),
            DeltaKind::FolioFlags => self.swap_folio(delta, |folio| &mut folio.flags),
            DeltaKind::FolioReadPending => self.swap_folio(delta, |folio| &mut folio.read_pending),
            DeltaKind::FolioWritePending => {
                self.swap_folio(delta, |folio| &mut folio.write_pending)
            }
            DeltaKind::FolioUptodate => self.swap_bits(delta, |folio| &mut folio.uptodate),
            DeltaKind::FolioDirty => self.swap_bits(delta, |folio| &mut folio.dirty),
            DeltaKind::FolioAsked => self.swap_bits(delta, |folio| &mut folio.asked),
            DeltaKind::FolioWaste => self.swap_bits(delta, |folio| &mut folio.waste),
            DeltaKind::BufferLocked
            | DeltaKind::BufferMapped
            | DeltaKind::BufferNew
            | DeltaKind::BufferDelay
            | DeltaKind::BufferUnwritten
            | DeltaKind::BufferBoundary
            | DeltaKind::BufferAsyncRead
            | DeltaKind::BufferAsyncWrite
            | DeltaKind::BufferAddr => self.swap_buffer(delta),
            DeltaKind::BioHead => self.place_bio(delta),
            DeltaKind::BioAddr => self.swap_bio(delta, |bio| &mut bio.addr),
            DeltaKind::BioLen => self.swap_bio(delta, |bio| &mut bio.len),
            DeltaKind::BioPos => self.swap_bio(delta, |bio| &mut bio.pos),
            DeltaKind::BioIoSize => self.swap_bio(delta, |bio| &mut bio.io_size),
            DeltaKind::BioState => self.move_bio(delta),
            DeltaKind::BioEnd => {
                BioEnd::from_code(delta.new).ok_or_else(|| bad(delta))?;
                self.swap_bio(delta, |bio| &mut bio.end)
            }
            DeltaKind::BioSegAt | DeltaKind::BioSegLen => self.swap_seg(delta),
            DeltaKind::BioCut => self.swap_cut(delta),
            DeltaKind::ArrayShape
            | DeltaKind::MemberRead
            | DeltaKind::MemberWritten
            | DeltaKind::RowDecision
            | DeltaKind::MemberState
            | DeltaKind::RowCosts
            | DeltaKind::RowHeld
            | DeltaKind::StripeParity
            | DeltaKind::RowUnfit
            | DeltaKind::BlockDamaged
            | DeltaKind::MemberFilled => {
                let mut word = self.array.word(delta.kind, delta.object, delta.aux);
                swap(&mut word, delta)?;
                self.array.set(delta.kind, delta.object, delta.aux, word);
                Ok(())
            }
            DeltaKind::BioRequest => self.swap_bio(delta, |bio| &mut bio.request),
            DeltaKind::RequestHead => self.place_request(delta),
            DeltaKind::RequestAddr => self.swap_request(delta, |request| &mut request.addr),
            DeltaKind::RequestLen => self.swap_request(delta, |request| &mut request.len),
            DeltaKind::RequestState => {
                RequestState::from_code(delta.new).ok_or_else(|| bad(delta))?;
                self.swap_request(delta, |request| &mut request.state)
            }
            DeltaKind::OpHead => self.place_op(delta),
            DeltaKind::OpPos => self.swap_op(delta, |op| &mut op.pos),
            DeltaKind::OpLen => self.swap_op(delta, |op| &mut op.len),
            DeltaKind::OpRet => self.swap_op(delta, |op| &mut op.ret),
            DeltaKind::Counter => {
                let slot = self.counters.slot(id).ok_or_else(|| bad(delta))?;
                swap(slot, delta)
            }
            DeltaKind::Gauge => {
                let gauge = Gauge::from_code(id).ok_or_else(|| bad(delta))?;
                let mut value = self.gauges.get(gauge, delta.aux);
                swap(&mut value, delta)?;
                self.gauges.set(gauge, delta.aux, value);
                Ok(())
            }
        }
    }

    fn swap_file(
        &mut self,
        delta: &Delta,
        word: impl Fn(&mut FileState) -> &mut u64,
    ) -> Result<(), Mismatch> {
        let file = self.files.entry(delta.object, FileState::default);
        let done = swap(word(file), delta);
        if *file == FileState::default() {
            self.files.remove(delta.object);
        }
        done
    }

    fn swap_extent(
        &mut self,
        delta: &Delta,
        fork: fn(&mut FileState) -> &mut ExtentWords,
    ) -> Result<(), Mismatch> {
        let extents = fork(self.files.entry(delta.object, FileState::default));
        let extent = extents.get_or_insert_with(delta.aux, Default::default);
        let place = matches!(delta.kind, DeltaKind::ExtentAt | DeltaKind::CowAt);
        let word = if place { &mut extent.1 } else { &mut extent.0 };
        let done = swap(word, delta);
        if *extent == (0, 0) {
            extents.remove(&delta.aux);
        }
        done
    }

    fn swap_lock(&mut self, delta: &Delta, lock: Lock) -> Result<(), Mismatch> {
        if delta.new != 0 {
            LockUse::unpack(delta.new).ok_or_else(|| bad(delta))?;
        }
        let uses = &mut self.files.entry(delta.object, FileState::default).locks[lock as usize];
        let mut word = uses.get(&delta.aux).copied().unwrap_or(0);
        swap(&mut word, delta)?;
        if word == 0 {
            uses.remove(&delta.aux);
        } else {
            uses.insert(delta.aux, word);
        }
        Ok(())
    }

    fn place_folio(&mut self, delta: &Delta) -> Result<(), Mismatch> {
        let found = self.folios.get(&delta.object).map_or(ABSENT, |folio| folio.place);
        if found != delta.old {
            return Err(Mismatch { delta: *delta, found });
        }
        match Place::unpack(delta.new) {
            Some(place) => {
                if place.order > self.geometry.max_order() {
                    return Err(bad(delta));
                }
                let blocks = self.geometry.blocks_per_folio(place.order).get() as u32;
                match self.folios.get_mut(&delta.object) {
                    // A folio that was split is smaller.
                    Some(folio) if folio.blocks() != blocks => {
                        *folio = folio.with_blocks(delta.new, blocks).ok_or_else(|| bad(delta))?;
                    }
                    Some(folio) => folio.place = delta.new,
                    None => {
                        self.folios.insert(delta.object, FolioState::new(delta.new, blocks));
                    }
                }
            }
            None => {
                self.folios.remove(&delta.object);
            }
        }
        Ok(())
    }

    fn swap_folio(
        &mut self,
        delta: &Delta,
        word: impl Fn(&mut FolioState) -> &mut u64,
    ) -> Result<(), Mismatch> {
        let folio = self.folios.get_mut(&delta.object).ok_or_else(|| bad(delta))?;
        swap(word(folio), delta)
    }

    fn swap_bits(
        &mut self,
        delta: &Delta,
        bits: impl Fn(&mut FolioState) -> &mut Bits,
    ) -> Result<(), Mismatch> {
        let folio = self.folios.get_mut(&delta.object).ok_or_else(|| bad(delta))?;
        let bits = bits(folio);
        let at = delta.aux as usize;
        if at >= bits.words() {
            return Err(bad(delta));
        }
        let mut word = bits.word(at);
        swap(&mut word, delta)?;
        bits.set_word(at, word);
        Ok(())
    }

    /// A word of the state of a folio's buffers.
    fn swap_buffer(&mut self, delta: &Delta) -> Result<(), Mismatch> {
        let folio = self.folios.get_mut(&delta.object).ok_or_else(|| bad(delta))?;
        let blocks = folio.blocks();
        let done = folio.buffers.swap(delta, blocks, |word| swap(word, delta));
        done.unwrap_or_else(|| Err(bad(delta)))
    }

    fn place_bio(&mut self, delta: &Delta) -> Result<(), Mismatch> {
        let found = self.bios.get(delta.object).map_or(0, |bio| bio.head);
        if found != delta.old {
            return Err(Mismatch { delta: *delta, found });
        }
        if delta.new == 0 {
            self.bios.remove(delta.object);
        } else if BioHead::unpack(delta.new).is_none() {
            return Err(bad(delta));
        } else {
            self.bios.entry(delta.object, BioRecord::new).head = delta.new;
        }
        Ok(())
    }

    fn swap_bio(
        &mut self,
        delta: &Delta,
        word: impl Fn(&mut BioRecord) -> &mut u64,
    ) -> Result<(), Mismatch> {
        let bio = self.bios.get_mut(delta.object).ok_or_else(|| bad(delta))?;
        swap(word(bio), delta)
    }

    fn swap_seg(&mut self, delta: &Delta) -> Result<(), Mismatch> {
        let bio = self.bios.get_mut(delta.object).ok_or_else(|| bad(delta))?;
        let at = delta.aux as usize;
        if at == bio.segs.len() {
            bio.segs.push((0, 0));
        }
        let Some(seg) = bio.segs.get_mut(at) else { return Err(bad(delta)) };
        let word = if delta.kind == DeltaKind::BioSegAt { &mut seg.0 } else { &mut seg.1 };
        let done = swap(word, delta);
        while bio.segs.last() == Some(&(0, 0)) {
            bio.segs.pop();
        }
        done
    }

    fn swap_cut(&mut self, delta: &Delta) -> Result<(), Mismatch> {
        let bio = self.bios.get_mut(delta.object).ok_or_else(|| bad(delta))?;
        let at = delta.aux as usize;
        if at == bio.cuts.len() {
            bio.cuts.push(0);
        }
        let done = swap(bio.cuts.get_mut(at).ok_or_else(|| bad(delta))?, delta);
        while bio.cuts.last() == Some(&0) {
            bio.cuts.pop();
        }
        done
    }

    /// A bio changes state; where it is written, or was, the blocks' tallies follow.
    fn move_bio(&mut self, delta: &Delta) -> Result<(), Mismatch> {
        let new = BioState::from_code(delta.new).ok_or_else(|| bad(delta))?;
        let old = BioState::from_code(delta.old).ok_or_else(|| bad(delta))?;
        self.swap_bio(delta, |bio| &mut bio.state)?;
        let in_flight = BioState::InFlight;
        if old == in_flight && new == BioState::Done {
            self.tally(delta.object, true);
        } else if old == BioState::Done && new == in_flight {
            self.tally(delta.object, false);
        }
        Ok(())
    }

    fn place_request(&mut self, delta: &Delta) -> Result<(), Mismatch> {
        let found = self.requests.get(delta.object).map_or(0, |request| request.head);
        if found != delta.old {
            return Err(Mismatch { delta: *delta, found });
        }
        if delta.new == 0 {
            self.requests.remove(delta.object);
        } else {
            BioHead::unpack(delta.new).ok_or_else(|| bad(delta))?;
            self.requests.entry(delta.object, RequestRecord::default).head = delta.new;
        }
        Ok(())
    }

    fn swap_request(
        &mut self,
        delta: &Delta,
        word: impl Fn(&mut RequestRecord) -> &mut u64,
    ) -> Result<(), Mismatch> {
        let request = self.requests.get_mut(delta.object).ok_or_else(|| bad(delta))?;
        swap(word(request), delta)
    }

    fn place_op(&mut self, delta: &Delta) -> Result<(), Mismatch> {
        let found = self.ops.get(delta.object).map_or(0, |op| op.head);
        if found != delta.old {
            return Err(Mismatch { delta: *delta, found });
        }
        if delta.new == 0 {
            self.ops.remove(delta.object);
        } else {
            OpKind::from_code(delta.new & 0xff).ok_or_else(|| bad(delta))?;
            self.ops.entry(delta.object, OpRecord::default).head = delta.new;
        }
        Ok(())
    }

    fn swap_op(
        &mut self,
        delta: &Delta,
        word: impl Fn(&mut OpRecord) -> &mut u64,
    ) -> Result<(), Mismatch> {
        let op = self.ops.get_mut(delta.object).ok_or_else(|| bad(delta))?;
        swap(word(op), delta)
    }
}

/// Number of words of the bitmap of a folio with this many blocks.
pub const fn words_of(blocks: u32) -> u32 {
    blocks.div_ceil(WORD)
}

const fn bad(delta: &Delta) -> Mismatch {
    Mismatch { delta: *delta, found: ABSENT }
}

fn swap(word: &mut u64, delta: &Delta) -> Result<(), Mismatch> {
    if *word != delta.old {
        return Err(Mismatch { delta: *delta, found: *word });
    }
    *word = delta.new;
    Ok(())
}
