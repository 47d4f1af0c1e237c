//! A request: what the block layer hands to the device, one bio or several that follow each other
//! there.

use super::bio::{Bio, BioHead};
use crate::units::{BioId, Bytes, DevAddr, RequestId, TaskId};

/// How far a request has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestState {
    /// Allocated for its first bio.
    New,
    /// Waits in the plug of its task; bios may still join it.
    Plugged,
    /// Waits to be issued by a worker.
    Inserted,
    /// Handed to the device.
    Issued,
    /// The device is done with it.
    Done,
}

impl RequestState {
    /// Every state, in the order of its code.
    pub const ALL: [Self; 5] = [Self::New, Self::Plugged, Self::Inserted, Self::Issued, Self::Done];
    /// The code used in deltas.
    pub const fn code(self) -> u64 {
        self as u64
    }
    /// The state with this code.
    pub fn from_code(code: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(code).ok()?).copied()
    }
    /// Words for a picture.
    pub const fn words(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Plugged => "in the plug",
            Self::Inserted => "inserted",
            Self::Issued => "issued",
            Self::Done => "done",
        }
    }
}

/// A request as the device gets it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Its number.
    pub id: RequestId,
    /// Direction and flags of the bio that it was allocated for.
    pub head: BioHead,
    /// Its bios: each begins where the one before ends.
    pub bios: Vec<Bio>,
}

impl Request {
    /// Bytes of all its bios.
    pub fn len(&self) -> Bytes {
        self.bios.iter().map(|bio| bio.len).sum()
    }
    /// Whether it carries no bytes.
    pub fn is_empty(&self) -> bool {
        self.len().is_zero()
    }
}

/// What of a bio a request begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// All of it.
    Whole,
    /// A part that another one follows: nothing merges with it (`REQ_NOMERGE`).
    First,
    /// The last part.
    Last,
}

/// A request with what the queue knows of it.
#[derive(Clone, Debug)]
pub(crate) struct RequestEntry {
    pub(crate) head: BioHead,
    pub(crate) addr: DevAddr,
    pub(crate) len: Bytes,
    /// Pieces of memory that the device would be told of.
    pub(crate) segments: u64,
    /// In the order of their addresses.
    pub(crate) bios: Vec<BioId>,
    /// It was allocated for a part of a bio.
    pub(crate) part: Option<Part>,
    /// That part.
    pub(crate) cut: Option<Box<Bio>>,
    /// How many of them have not ended.
    pub(crate) left: usize,
    pub(crate) task: TaskId,
    pub(crate) state: RequestState,
}
