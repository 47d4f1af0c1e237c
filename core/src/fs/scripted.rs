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
use crate::units::{Bytes, DevAddr, FileRange, Pos};
use std::collections::VecDeque;

/// One mapping that the kernel gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// What it was asked for; none: whatever is asked next.
    pub intent: Option<Intent>,
    /// Blocks of the file system's own that had to be read first: address and bytes.
    pub metadata: VecDeque<(DevAddr, Bytes)>,
    /// What it said.
    pub mapping: Mapping,
}

/// Mappings to replay.
#[derive(Clone, Debug)]
pub struct Scripted {
    map: ExtentMap,
    answers: VecDeque<Answer>,
    unanswered: Vec<(Intent, Pos)>,
    inline: (Pos, Vec<u8>),
    /// Blocks of the file system's own are read like data.
    plain_metadata: bool,
}

impl Scripted {
    /// Nothing to replay yet.
    pub const fn new(geometry: Geometry) -> Self {
        Self {
            map: ExtentMap::new(geometry),
            answers: VecDeque::new(),
            unanswered: Vec::new(),
            inline: (Pos::ZERO, Vec::new()),
            plain_metadata: false,
        }
    }
    /// The same, whose own blocks are read like data, as ext4 does it.
    #[must_use]
    pub fn with_plain_metadata(self) -> Self {
        Self { plain_metadata: true, ..self }
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
        let (addr, len) = *answer.metadata.front()?;
        Some(Metadata { addr, len, meta: !self.plain_metadata })
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
            self.unanswered.push((intent, range.start()));
            return Err(Errno::Io);
        };
        let Answer { mut mapping, .. } = self.answers.remove(at).expect("found above");
        let next = self.answers.get(at);
        mapping.iomap.reads_next = next.is_some_and(|next| !next.metadata.is_empty());
        Ok(mapping)
    }
    /// What the extent list says of the start of `range`; a promise without a place is an error.
    pub fn writeback_map(&mut self, range: FileRange) -> Result<Iomap, Errno> {
        let found = self.map.lookup(range.start(), range.end());
        if matches!(found.kind, MapType::Delalloc | MapType::Inline) {
            self.unanswered.push((Intent::Write, range.start()));
            return Err(Errno::Io);
        }
        Ok(found)
    }
}
