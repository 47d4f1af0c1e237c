//! Bios, requests and operations as a trace describes them.

use crate::block::bio::{BioEnd, BioHead, BioState};
use crate::block::request::RequestState;
use crate::block::split::CutWhy;
use crate::ops::{OpKind, OpResult};
use crate::units::{Bytes, DevAddr, FileId, FolioId, Offset, Pos, RequestId, SECTOR_SIZE, TaskId};

/// A bio.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BioRecord {
    pub(super) head: u64,
    pub(super) addr: u64,
    pub(super) len: u64,
    pub(super) pos: u64,
    pub(super) io_size: u64,
    pub(super) state: u64,
    pub(super) end: u64,
    pub(super) segs: Vec<(u64, u64)>,
    pub(super) request: u64,
    pub(super) cuts: Vec<u64>,
}

/// A piece of a folio in a bio.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegRecord {
    /// Which folio.
    pub folio: FolioId,
    /// First byte in it.
    pub offset: Offset,
    /// Bytes.
    pub len: Bytes,
}

impl BioRecord {
    pub(super) const fn new() -> Self {
        let (head, addr, len, pos, io_size) = (0, 0, 0, 0, 0);
        let (state, end, request) = (0, 0, 0);
        let segs = Vec::new();
        Self { head, addr, len, pos, io_size, state, end, segs, request, cuts: Vec::new() }
    }
    /// Direction, flags, file.
    pub fn head(&self) -> BioHead {
        BioHead::unpack(self.head).expect("only bios that exist are kept")
    }
    /// First device byte.
    pub const fn addr(&self) -> DevAddr {
        DevAddr::new(self.addr)
    }
    /// Bytes.
    pub const fn len(&self) -> Bytes {
        Bytes::new(self.len)
    }
    /// Whether nothing was added yet.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// File position of its first byte.
    pub const fn pos(&self) -> Pos {
        Pos::new(self.pos)
    }
    /// Bytes of the file that its ioend counts.
    pub const fn io_size(&self) -> Bytes {
        Bytes::new(self.io_size)
    }
    /// How far it has come.
    pub fn state(&self) -> BioState {
        BioState::from_code(self.state).expect("checked when applied")
    }
    /// Why it ended.
    pub fn end(&self) -> BioEnd {
        BioEnd::from_code(self.end).expect("checked when applied")
    }
    /// The request that it belongs to.
    pub fn request(&self) -> Option<RequestId> {
        Some(RequestId::new(u32::try_from(self.request).ok()?.checked_sub(1)?))
    }
    /// Where its queue cut it, and why; device bytes of the whole disk.
    pub fn cuts(&self) -> impl Iterator<Item = (DevAddr, CutWhy)> {
        let low = SECTOR_SIZE - 1;
        let word = move |cut: &u64| Some((DevAddr::new(cut & !low), CutWhy::from_code(cut & low)?));
        self.cuts.iter().filter_map(word)
    }
    /// Its pieces.
    pub fn segs(&self) -> impl Iterator<Item = SegRecord> {
        self.segs.iter().map(|(at, len)| SegRecord {
            folio: FolioId::new((at >> 32) as u32),
            offset: Offset::new(at & u64::from(u32::MAX)),
            len: Bytes::new(*len),
        })
    }
}

/// A request of the block layer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RequestRecord {
    pub(super) head: u64,
    pub(super) addr: u64,
    pub(super) len: u64,
    pub(super) state: u64,
}

impl RequestRecord {
    /// Direction and flags of the bio that it was allocated for.
    pub fn head(&self) -> BioHead {
        BioHead::unpack(self.head).expect("only requests that exist are kept")
    }
    /// First device byte.
    pub const fn addr(&self) -> DevAddr {
        DevAddr::new(self.addr)
    }
    /// Bytes.
    pub const fn len(&self) -> Bytes {
        Bytes::new(self.len)
    }
    /// Whether it carries no bytes.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// How far it has come.
    pub fn state(&self) -> RequestState {
        RequestState::from_code(self.state).expect("checked when applied")
    }
}

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OpRecord {
    pub(super) head: u64,
    pub(super) pos: u64,
    pub(super) len: u64,
    pub(super) ret: u64,
}

impl OpRecord {
    /// What it does.
    pub fn kind(&self) -> OpKind {
        OpKind::from_code(self.head & 0xff).expect("checked when applied")
    }
    /// Whether it writes all of its range.
    pub fn writes(&self) -> bool {
        matches!(self.kind(), OpKind::Pwrite | OpKind::PwriteDsync)
    }
    /// Who does it.
    pub const fn task(&self) -> TaskId {
        TaskId::new((self.head >> 8) as u32)
    }
    /// To which file.
    pub const fn file(&self) -> FileId {
        FileId::new((self.head >> 40) as u32)
    }
    /// Where.
    pub const fn pos(&self) -> Pos {
        Pos::new(self.pos)
    }
    /// How many bytes.
    pub const fn len(&self) -> Bytes {
        Bytes::new(self.len)
    }
    /// Whether it concerns no bytes.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// The result, once it has ended.
    pub fn result(&self) -> Option<OpResult> {
        (self.ret != 0).then(|| OpResult::unpack(self.ret))
    }
}
