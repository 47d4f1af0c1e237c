//! What a file may hold after a power cut: every byte as it was when it was last durable for sure,
//! or as it was at any time since.

use crate::engine::WriteFlags;
use crate::errno::Errno;
use crate::ops::fallocate::FallocMode;
use crate::scenario::Action;
use crate::units::{Bytes, FileRange, Pos};

/// What the device held before anybody wrote anything, unless a scenario writes it: then the next
/// byte that it does not.
pub(super) const STALE: u8 = 0xd7;
/// Bytes that are compared at once.
const PART: usize = 512;

/// What is wrong with a byte after a power cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// The recorded size is none that the file had.
    Size(u64),
    /// A byte that nobody wrote there, and that is what the device held before.
    Stale(u64),
    /// A byte that the file has not had there since it was durable.
    Byte(u64, u8),
    /// So many bytes, of a file that is written in order, which it never began with.
    Order(u64),
}

/// Blocks of a file moved: those behind a byte, by so many bytes.
#[derive(Clone, Copy, Debug)]
enum Shift {
    Down(usize, usize),
    Up(usize, usize),
}

impl Shift {
    /// A content of before as it is afterwards.
    fn apply(self, content: &mut Vec<u8>) {
        match self {
            Self::Down(start, len) if start < content.len() => {
                drop(content.drain(start..(start + len).min(content.len())));
            }
            Self::Up(start, len) if start < content.len() => {
                content.splice(start..start, core::iter::repeat_n(0, len));
            }
            Self::Down(..) | Self::Up(..) => {}
        }
    }
    /// Where a byte was before.
    const fn before(self, pos: usize) -> Option<usize> {
        match self {
            Self::Down(start, len) => Some(if pos < start { pos } else { pos + len }),
            Self::Up(start, len) if pos >= start + len => Some(pos - len),
            Self::Up(start, _) => {
                if pos < start {
                    Some(pos)
                } else {
                    None
                }
            }
        }
    }
}

/// The contents of a file since a sync, oldest first; the last one is what it is now.
#[derive(Clone, Debug)]
pub(super) struct History {
    all: Vec<Vec<u8>>,
    /// The contents from here on are of the layout that this shift made. Blocks are written where
    /// they lie, and nothing waits until the record of a shift is durable: without it, what was
    /// written later shows where the blocks were before.
    shifts: Vec<(usize, Shift)>,
    /// What it was before the operation that runs, if that fails.
    before: usize,
    /// Something failed: what was to be written may be lost for good, whatever later syncs say, and
    /// what the operation had done by then nobody knows.
    unsure: bool,
    /// A change of size or space failed on its way: what the file holds now is not known here, but
    /// never what the device held before.
    lost: bool,
    /// What was stored behind EOF, and where EOF was then: in some kernels it shows when the file
    /// grows over it.
    tails: Vec<(usize, u8)>,
    /// Bytes that were written to whatever may have blocks in common with this file, itself
    /// included. Whether a block is shared is known before the record of it is durable: who has it
    /// alone by then writes it in place, and without that record another file shows it.
    foreign: Box<[bool; 256]>,
    /// What the device held before.
    stale: u8,
    /// Changes with every change.
    pub(super) version: u64,
}

fn at(content: &[u8], pos: usize) -> u8 {
    content.get(pos).copied().unwrap_or(0)
}

fn span(range: FileRange) -> (usize, usize) {
    (range.start().get() as usize, range.end().get() as usize)
}

fn put(content: &mut Vec<u8>, range: FileRange, byte: u8, grows: bool) {
    let (start, mut end) = span(range);
    if grows && content.len() < end {
        content.resize(end, 0);
    }
    end = end.min(content.len());
    if start < end {
        content[start..end].fill(byte);
    }
}

impl History {
    /// A file that is durable as it is.
    pub(super) fn new(content: Vec<u8>, stale: u8) -> Self {
        Self {
            all: vec![content],
            shifts: Vec::new(),
            before: 0,
            unsure: false,
            lost: false,
            tails: Vec::new(),
            foreign: Box::new([false; 256]),
            stale,
            version: 0,
        }
    }
    fn now(&self) -> &Vec<u8> {
        self.all.last().expect("there is always one")
    }
    fn push(&mut self, content: Vec<u8>) {
        self.version += 1;
        if *self.now() == content {
            return;
        }
        let changed = |pos: &usize| self.now().get(*pos) != content.get(*pos);
        let mut moved: Vec<(usize, u8)> =
            (0..content.len()).filter(changed).map(|pos| (pos, content[pos])).collect();
        let mut older = Vec::new();
        let mut end = self.all.len();
        for (first, shift) in self.shifts.iter().rev() {
            let back = |(pos, byte): (usize, u8)| Some((shift.before(pos)?, byte));
            moved = moved.into_iter().filter_map(back).collect();
            if *first < end {
                let mut content = self.all[*first - 1].clone();
                for (pos, byte) in &moved {
                    if let Some(old) = content.get_mut(*pos) {
                        *old = *byte;
                    }
                }
                older.push((*first, content));
                end = *first;
            }
        }
        self.all.push(content);
        for (first, content) in older {
            self.all.insert(first, content);
            self.before += usize::from(self.before >= first);
            for (other, _) in self.shifts.iter_mut().filter(|(other, _)| *other >= first) {
                *other += 1;
            }
        }
    }
    /// As [`Self::push`], of a content that a shift made.
    fn push_shifted(&mut self, content: Vec<u8>, shift: Shift) {
        self.shifts.push((self.all.len(), shift));
        self.all.push(content);
        self.version += 1;
    }
    /// An operation begins: from now on the file may be as it makes it, or as it is on the way.
    /// `hides_tail`: what a mapping stores behind EOF does not show when the file grows over it.
    pub(super) fn begin(&mut self, action: &Action, block: u64, hides_tail: bool) {
        self.before = self.all.len() - 1;
        let mut now = self.now().clone();
        match action {
            Action::Pwrite { range, byte, .. } => put(&mut now, *range, *byte, true),
            Action::MmapStore { range, byte } => {
                if !hides_tail && range.end().get() > now.len() as u64 {
                    self.tails.push((now.len(), *byte));
                }
                put(&mut now, *range, *byte, false);
            }
            Action::Truncate(size) => now.resize(size.get() as usize, 0),
            Action::Fallocate(mode, range) => return self.reshape(*mode, *range, block),
            Action::Pread { .. }
            | Action::Fsync
            | Action::Fdatasync
            | Action::Syncfs
            | Action::Reclaim(_)
            | Action::MmapLoad(_)
            | Action::Msync(_)
            | Action::SyncRange(..)
            | Action::PowerCut(_)
            | Action::Array(_)
            | Action::Fadvise(..)
            | Action::Sleep(_)
            | Action::Seek { .. }
            // [`Self::link`] knows the bytes.
            | Action::Reflink { .. } => {}
        }
        self.push(now);
    }
    /// The bytes that a link of a stretch gives: all behind `from` if it has no length, none if it
    /// reaches behind EOF; whether they are known for sure.
    pub(super) fn given(&self, from: Pos, len: Bytes) -> (Vec<u8>, bool) {
        let now = self.now();
        let from = from.get() as usize;
        let end = if len.is_zero() { now.len() } else { from + len.get() as usize };
        let bytes = now.get(from..end).unwrap_or_default().to_vec();
        (bytes, !self.lost && !self.unsure)
    }
    /// Blocks with these bytes take the place of others, from `start` on: one after the other, each
    /// in a transaction of its own, and the size last.
    pub(super) fn link(&mut self, start: Pos, (bytes, sure): (Vec<u8>, bool)) {
        self.lost |= !sure;
        if bytes.is_empty() {
            return;
        }
        let mut now = self.now().clone();
        let range = FileRange::between(start, start + Bytes::new(bytes.len() as u64));
        put(&mut now, range, 0, true);
        self.push(now.clone());
        let (start, end) = span(range);
        now[start..end].copy_from_slice(&bytes);
        self.push(now);
    }
    /// Somebody who may share blocks with this file changes its own as the operation does.
    pub(super) fn shared_with(&mut self, action: &Action) {
        let mut byte = 0;
        if let Action::Pwrite { byte: new, .. } | Action::MmapStore { byte: new, .. } = action {
            byte = *new;
        }
        self.version += u64::from(!self.foreign[usize::from(byte)]);
        self.foreign[usize::from(byte)] = true;
    }
    /// Space changes in several transactions, and each may be the last that is durable.
    fn reshape(&mut self, mode: FallocMode, range: FileRange, block: u64) {
        let mut now = self.now().clone();
        let (start, end) = span(range);
        let aligned = [start, end].iter().all(|pos| (*pos as u64).is_multiple_of(block));
        match mode {
            FallocMode::Allocate | FallocMode::Unshare => {
                now.resize(now.len().max(end), 0);
            }
            FallocMode::Punch | FallocMode::ZeroKeepSize => put(&mut now, range, 0, false),
            FallocMode::Zero => {
                put(&mut now, range, 0, false);
                self.push(now.clone());
                now.resize(now.len().max(end), 0);
            }
            FallocMode::Collapse if aligned && end < now.len() => {
                put(&mut now, range, 0, false);
                self.push(now.clone());
                let size = now.len();
                drop(now.drain(start..end));
                now.resize(size, 0);
                self.push_shifted(now.clone(), Shift::Down(start, end - start));
                now.truncate(size - (end - start));
            }
            FallocMode::Insert if aligned && start < now.len() => {
                let size = now.len() + (end - start);
                now.resize(size, 0);
                self.push(now.clone());
                now.splice(start..start, core::iter::repeat_n(0, end - start));
                now.truncate(size);
                self.push_shifted(now.clone(), Shift::Up(start, end - start));
            }
            FallocMode::AllocateKeepSize | FallocMode::Collapse | FallocMode::Insert => {}
        }
        self.push(now);
    }
    /// The operation failed: the file is as it was, though it may have been otherwise meanwhile.
    pub(super) fn failed(&mut self, tried: bool) {
        self.unsure |= tried;
        let before = self.all[self.before].clone();
        self.push(before);
    }
    /// An operation that is no sync failed.
    pub(super) fn gave_up(&mut self, action: &Action, errno: Option<Errno>) {
        if let Action::MmapStore { .. } = action {
            // The pages before the first one behind EOF were stored; how many before another error
            // nobody says.
            self.unsure |= errno != Some(Errno::Fault);
            return;
        }
        self.failed(false);
        // What is not refused at once may have been done in part.
        let refusals = [Errno::Inval, Errno::FBig, Errno::OpNotSupp, Errno::Perm, Errno::XDev];
        let refused = errno.is_some_and(|errno| refusals.contains(&errno));
        let changes = matches!(action, Action::Truncate(_) | Action::Fallocate(..));
        self.lost |= changes && !refused;
    }
    /// Bytes of memory that went bad may have been copied into clean folios, and may be written
    /// with them at any time.
    pub(super) const fn spoiled(&mut self) {
        self.unsure = true;
    }
    /// The operation, no sync, did so many bytes of what it was asked for.
    pub(super) fn done(&mut self, action: &Action, done: Bytes) {
        if let Action::Pwrite { range, byte, .. } = action
            && done < range.len()
        {
            let mut short = self.all[self.before].clone();
            put(&mut short, FileRange::between(range.start(), range.start() + done), *byte, true);
            self.push(short);
        }
    }
    /// The file is durable as it is.
    pub(super) fn synced(&mut self) {
        if self.unsure || self.lost {
            return;
        }
        let now = self.now().clone();
        let tails = core::mem::take(&mut self.tails);
        *self = Self { version: self.version + 1, tails, ..Self::new(now, self.stale) };
    }
    /// The bytes of a range are durable as they are, and the size that they need: zeros behind the
    /// recorded size need none. All records are durable, so that the file was shifted for sure.
    pub(super) fn range_synced(&mut self, range: FileRange) {
        if self.unsure || self.lost {
            return;
        }
        let now = self.now().clone();
        for (first, shift) in core::mem::take(&mut self.shifts) {
            self.all[..first].iter_mut().for_each(|content| shift.apply(content));
        }
        let (start, end) = span(range);
        let (start, end) = (start.min(now.len()), end.min(now.len()));
        let written = (start..end).rev().find(|pos| now[*pos] != 0).map_or(0, |pos| pos + 1);
        for old in &mut self.all {
            if old.len() < written {
                old.resize(written, 0);
            }
            let end = end.min(old.len());
            if start < end {
                old[start..end].copy_from_slice(&now[start..end]);
            }
        }
        self.version += 1;
    }
    /// Whether a file that is written in order, from its start, began with these bytes at any time.
    pub(super) fn began_with(&self, found: &[u8]) -> bool {
        self.lost || self.all.iter().any(|content| content.starts_with(found))
    }
    /// What is wrong with these bytes as the content after a power cut. `exposes`: the file system
    /// orders no data before its records, so that blocks that were never durable may show what the
    /// device held before.
    pub(super) fn look(&self, found: &[u8], exposes: bool) -> Result<(), Wrong> {
        if self.lost && exposes {
            return Ok(());
        }
        if self.lost {
            let stale = found.iter().position(|byte| *byte == self.stale);
            return stale.map_or(Ok(()), |pos| Err(Wrong::Stale(pos as u64)));
        }
        let sizes = self.all.iter().map(Vec::len);
        let (least, most) = (sizes.clone().min(), sizes.max());
        if Some(found.len()) < least || Some(found.len()) > most {
            return Err(Wrong::Size(found.len() as u64));
        }
        for start in (0..found.len()).step_by(PART) {
            let end = (start + PART).min(found.len());
            let part = &found[start..end];
            let same = |content: &&Vec<u8>| content.get(start..end) == Some(part);
            if self.all.iter().rev().any(|content| same(&content)) {
                continue;
            }
            for (pos, byte) in (start..end).zip(part) {
                if self.all.iter().any(|content| at(content, pos) == *byte) {
                    continue;
                }
                let changed = || {
                    let first = at(&self.all[0], pos);
                    first == 0 || self.all.iter().any(|content| at(content, pos) != first)
                };
                let tail = |(eof, stored): &(usize, u8)| pos >= *eof && byte == stored;
                if self.foreign[usize::from(*byte)] || self.tails.iter().any(tail) {
                    continue;
                }
                if *byte != self.stale {
                    return Err(Wrong::Byte(pos as u64, *byte));
                }
                if !(exposes && changed()) {
                    return Err(Wrong::Stale(pos as u64));
                }
            }
        }
        Ok(())
    }
}

/// What a sync that succeeded makes durable of a file.
pub(super) fn durable_by(action: &Action, written: Bytes) -> Option<FileRange> {
    let all = FileRange::between(Pos::ZERO, Pos::new(u64::MAX >> 1));
    match action {
        Action::Fsync | Action::Fdatasync | Action::Syncfs => Some(all),
        Action::Pwrite { range, flags: WriteFlags { dsync: true, .. }, .. } => {
            Some(FileRange::between(range.start(), range.start() + written))
        }
        Action::Msync(range) => Some(*range),
        Action::Pread { .. }
        | Action::Pwrite { .. }
        | Action::Reclaim(_)
        | Action::MmapLoad(_)
        | Action::MmapStore { .. }
        | Action::SyncRange(..)
        | Action::Truncate(_)
        | Action::Fallocate(..)
        | Action::PowerCut(_)
        | Action::Array(_)
        | Action::Reflink { .. }
        | Action::Fadvise(..)
        | Action::Sleep(_)
        | Action::Seek { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(start: u64, end: u64, byte: u8) -> Action {
        let range = FileRange::between(Pos::new(start), Pos::new(end));
        Action::Pwrite { range, byte, flags: WriteFlags::default() }
    }

    #[test]
    fn old_and_new_and_nothing_else_is_fine_until_a_sync() {
        let mut history = History::new(vec![1; 4], STALE);
        history.begin(&write(2, 6, 2), 1, false);
        for fine in [&[1, 1, 1, 1][..], &[1, 1, 2, 1], &[1, 1, 1, 2, 0], &[1, 1, 2, 2, 2, 2]] {
            assert_eq!(history.look(fine, false), Ok(()), "{fine:?}");
        }
        assert_eq!(history.look(&[1, 2, 1, 1], false), Err(Wrong::Byte(1, 2)));
        assert_eq!(history.look(&[1, 1, 0, 1], false), Err(Wrong::Byte(2, 0)));
        assert_eq!(history.look(&[1, 1, 1], false), Err(Wrong::Size(3)));
        assert_eq!(history.look(&[1, 1, STALE, 1], false), Err(Wrong::Stale(2)));
        assert_eq!(history.look(&[1, 1, STALE, 1], true), Ok(()));
        assert_eq!(history.look(&[1, STALE, 2, 1], true), Err(Wrong::Stale(1)));
        history.range_synced(FileRange::between(Pos::new(2), Pos::new(3)));
        assert_eq!(history.look(&[1, 1, 1, 1], false), Err(Wrong::Byte(2, 1)));
        assert_eq!(history.look(&[1, 1, 2, 1], false), Ok(()));
        history.synced();
        assert_eq!(history.look(&[1, 1, 2, 2], false), Err(Wrong::Size(4)));
    }

    #[test]
    fn a_link_brings_the_bytes_of_its_source_and_nothing_else() {
        let source = History::new(vec![5, 6, 7, 8], STALE);
        let mut history = History::new(vec![1, 2], STALE);
        let range = FileRange::between(Pos::new(1), Pos::new(3));
        let action =
            Action::Reflink { source: crate::units::FileId::new(0), from: Pos::new(2), range };
        history.begin(&action, 1, false);
        history.link(range.start(), source.given(Pos::new(2), range.len()));
        for fine in [&[1, 2][..], &[1, 0], &[1, 7], &[1, 7, 8], &[1, 0, 0]] {
            assert_eq!(history.look(fine, false), Ok(()), "{fine:?}");
        }
        assert_eq!(history.look(&[1, 5], false), Err(Wrong::Byte(1, 5)));
        assert_eq!(history.look(&[1, 7, 8, 0], false), Err(Wrong::Size(4)));
        // The source is written where it lies, as it has the block alone by then.
        history.shared_with(&write(0, 1, 9));
        assert_eq!(history.look(&[1, 9], false), Ok(()));
        history.synced();
        assert_eq!(history.look(&[1, 9, 8], false), Err(Wrong::Byte(1, 9)));
    }

    #[test]
    fn a_file_that_is_written_in_order_begins_as_it_did_at_some_time() {
        let mut history = History::new(vec![1, 1], STALE);
        history.begin(&write(2, 4, 2), 1, true);
        history.begin(&Action::Truncate(Pos::ZERO), 1, true);
        history.begin(&write(0, 3, 3), 1, true);
        for fine in [&[1, 1][..], &[1, 1, 2], &[], &[3, 3]] {
            assert!(history.began_with(fine), "{fine:?}");
        }
        // Zeros in place of what was lost are seen as such only here.
        for wrong in [&[1, 1, 0, 2][..], &[3, 1], &[0]] {
            assert!(!history.began_with(wrong), "{wrong:?}");
        }
        assert_eq!(history.look(&[1, 1, 0, 2], false), Ok(()));
    }

    #[test]
    fn a_collapse_may_be_caught_on_its_way() {
        let mut history = History::new(vec![1, 2, 3, 4], STALE);
        let range = FileRange::between(Pos::new(1), Pos::new(2));
        history.begin(&Action::Fallocate(FallocMode::Collapse, range), 1, false);
        for fine in [&[1, 2, 3, 4][..], &[1, 0, 3, 4], &[1, 3, 4, 0], &[1, 3, 4]] {
            assert_eq!(history.look(fine, false), Ok(()), "{fine:?}");
        }
        assert_eq!(history.look(&[2, 3, 4, 0], false), Err(Wrong::Byte(0, 2)));
        // Written in place after the shift, which was never recorded.
        history.begin(&write(2, 3, 9), 1, false);
        assert_eq!(history.look(&[1, 3, 9], false), Ok(()));
        assert_eq!(history.look(&[1, 2, 3, 9], false), Ok(()));
        assert_eq!(history.look(&[1, 9, 3, 4], false), Err(Wrong::Byte(1, 9)));
        history.range_synced(FileRange::between(Pos::ZERO, Pos::new(1)));
        assert_eq!(history.look(&[1, 4, 3], false), Err(Wrong::Byte(1, 4)));
    }
}
