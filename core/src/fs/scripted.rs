//! Replays the mappings that a kernel gave, in the order in which it was asked.
//!
//! A record is used when it answers the same kind of question and covers the position. A question
//! that the kernel never asked gets an error, which the caller reports as a difference. Writeback's
//! mappings come from the extent list that the script sets before each operation.

use super::Metadata;
use super::extent_map::ExtentMap;
use crate::errno::Errno;
use crate::geometry::Geometry;
use crate::iomap::{Intent, Iomap, MapType, Mapping};
use crate::units::{Bytes, FileRange, Pos};
use std::collections::VecDeque;

/// One mapping that the kernel gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// What it was asked for; none: whatever is asked next.
    pub intent: Option<Intent>,
    /// Blocks of the file system's own that had to be read first.
    pub metadata: VecDeque<Metadata>,
    /// What it said.
    pub mapping: Mapping,
}

/// Mappings to replay.
#[derive(Clone, Debug)]
pub struct Scripted {
    map: ExtentMap,
    answers: VecDeque<Answer>,
    unanswered: Vec<(Intent, Pos)>,
    /// Questions that a record answered: what for, the position, the bytes asked for.
    answered: Vec<(Intent, Pos, Bytes)>,
    /// Where promised blocks will lie, one piece an allocation. With these the extent list answers
    /// what no record does.
    allocations: Option<Vec<Iomap>>,
    inline: (Pos, Vec<u8>),
}

impl Scripted {
    /// Nothing to replay yet.
    pub const fn new(geometry: Geometry) -> Self {
        Self {
            map: ExtentMap::new(geometry),
            answers: VecDeque::new(),
            unanswered: Vec::new(),
            answered: Vec::new(),
            allocations: None,
            inline: (Pos::ZERO, Vec::new()),
        }
    }
    /// The extents that writeback sees.
    pub const fn map(&self) -> &ExtentMap {
        &self.map
    }
    /// The extents that writeback sees, to be changed.
    pub const fn map_mut(&mut self) -> &mut ExtentMap {
        &mut self.map
    }
    /// Bytes that live with the inode, from a position on.
    pub fn set_inline(&mut self, at: Pos, bytes: Vec<u8>) {
        self.inline = (at, bytes);
    }
    /// Bytes that live with the inode, and where they begin.
    pub fn inline(&self) -> (Pos, &[u8]) {
        (self.inline.0, &self.inline.1)
    }
    /// The answers of the next operation; those left over are dropped.
    pub fn expect(&mut self, answers: impl IntoIterator<Item = Answer>) {
        self.answers = answers.into_iter().collect();
    }
    /// Questions that the kernel never asked, so far.
    pub fn unanswered(&self) -> &[(Intent, Pos)] {
        &self.unanswered
    }
    /// The same, and forgets them.
    pub fn take_unanswered(&mut self) -> Vec<(Intent, Pos)> {
        core::mem::take(&mut self.unanswered)
    }
    /// From now on the extent list answers where no record does, and promises what it lacks; these
    /// are the places that promised blocks get.
    pub fn allocate_from(&mut self, pieces: Vec<Iomap>) {
        self.allocations = Some(pieces);
    }
    /// The questions that records answered since this was last asked.
    pub fn take_answered(&mut self) -> Vec<(Intent, Pos, Bytes)> {
        core::mem::take(&mut self.answered)
    }
    fn next_answer(&self, range: FileRange, intent: Intent) -> Option<usize> {
        self.answers.iter().position(|answer| {
            let map = answer.mapping.iomap.range;
            let fits = answer.intent.is_none_or(|of| of == intent);
            fits && map.start() <= range.start() && range.start() < map.end()
        })
    }
    /// A block that must be read before the next answer can be given.
    pub fn metadata_for(&self, range: FileRange, intent: Intent) -> Option<Metadata> {
        let answer = &self.answers[self.next_answer(range, intent)?];
        answer.metadata.front().copied()
    }
    /// That block was read.
    pub fn metadata_known(&mut self, range: FileRange, intent: Intent) {
        if let Some(at) = self.next_answer(range, intent) {
            self.answers[at].metadata.pop_front();
        }
    }
    /// The next answer to this kind of question, if it covers the position.
    pub fn begin(&mut self, range: FileRange, intent: Intent) -> Result<Mapping, Errno> {
        let Some(at) = self.next_answer(range, intent) else {
            if self.allocations.is_some() {
                return Ok(self.begin_by_list(range, intent));
            }
            self.unanswered.push((intent, range.start()));
            return Err(Errno::Io);
        };
        let Answer { mut mapping, .. } = self.answers.remove(at).expect("found above");
        let next = self.answers.get(at);
        mapping.iomap.reads_next |= next.is_some_and(|next| !next.metadata.is_empty());
        self.answered.push((intent, range.start(), range.len()));
        let map = &mapping.iomap;
        if self.allocations.is_some() && map.kind == MapType::Mapped {
            self.map.set(map.range, map.kind, map.addr);
        }
        Ok(mapping)
    }
    /// What the extent list says, and a promise where a write finds nothing.
    fn begin_by_list(&mut self, range: FileRange, intent: Intent) -> Mapping {
        let mut iomap = self.map.lookup(range.start(), range.end());
        if iomap.kind == MapType::Hole && intent != Intent::Read {
            iomap = Iomap { new: true, ..Iomap::plain(iomap.range, MapType::Delalloc, None, 0) };
            self.map.set(iomap.range, MapType::Delalloc, None);
        }
        Mapping { iomap, srcmap: None }
    }
    /// Gives the promise at the start of a range the place that the script has for it.
    fn allocate(&mut self, range: FileRange) {
        let pieces = self.allocations.iter().flatten();
        let mut holders = pieces.filter(|piece| !piece.range.intersect(range).is_empty());
        if let Some(piece) = holders.find(|piece| piece.range.start() <= range.start()) {
            let part = piece.cut_to(range);
            self.map.set(part.range, MapType::Mapped, part.addr);
        }
    }
    /// What the extent list says of the start of `range`; a promise without a place is an error.
    pub fn writeback_map(&mut self, range: FileRange) -> Result<Iomap, Errno> {
        let mut found = self.map.lookup(range.start(), range.end());
        if found.kind == MapType::Delalloc && self.allocations.is_some() {
            self.allocate(range);
            // One allocation, though the one behind it may follow on the device.
            let pieces = self.allocations.iter().flatten();
            let mut holders = pieces.filter(|piece| !piece.range.intersect(range).is_empty());
            let piece = holders.find(|piece| piece.range.start() <= range.start());
            let part = piece.map_or(range, |piece| piece.range.intersect(range));
            found = self.map.lookup(range.start(), part.end());
        }
        if matches!(found.kind, MapType::Delalloc | MapType::Inline) {
            self.unanswered.push((Intent::Write, range.start()));
            return Err(Errno::Io);
        }
        Ok(found)
    }
}
