//! C1: every byte below a file's recorded size is on the device, is zero there, or lies in a hole
//! or in unwritten blocks. Then a power cut shows nobody what other files, or this one, had there.
//!
//! Known from extents and bios alone: no byte is looked at. Kept where a trace is, and for files in
//! the manner of XFS: ext2 orders nothing, and how data goes before a journal's commit in ext4 and
//! gfs2 is not modelled. Space is never given out twice, so what was never written is known by its
//! address.

use super::invariants::ZERO_OR_WRITTEN;
use crate::fs::extent_map::ExtentChange;
use crate::fs::{Fork, Manner, Provider};
use crate::iomap::MapType;
use crate::trace::sink::Sink;
use crate::units::{Bytes, DevAddr, FileId, FileRange, Offset, Pos};
use crate::world::{Env, World};
use std::collections::BTreeMap;

/// Stretches of the device: ends by starts, none touches another.
#[derive(Clone, Default, Debug)]
struct Stretches(BTreeMap<DevAddr, DevAddr>);

/// What the device holds of files.
#[derive(Clone, Default, Debug)]
pub(crate) struct Written {
    /// What was written since it was given out.
    held: Stretches,
    /// Of that, what lies behind the end of a file that was longer.
    old: Stretches,
    /// Records are as the device has them: nothing is to be checked.
    quiet: bool,
}

impl Stretches {
    fn add(&mut self, mut start: DevAddr, mut end: DevAddr) {
        if start >= end {
            return;
        }
        let touching = self.0.range(..=end).rev().take_while(|(_, to)| **to >= start);
        for (from, to) in touching.map(|(from, to)| (*from, *to)).collect::<Vec<_>>() {
            self.0.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        self.0.insert(start, end);
    }
    fn remove(&mut self, start: DevAddr, end: DevAddr) {
        let inside = self.0.range(..end).rev().take_while(|(_, to)| **to > start);
        for (from, to) in inside.map(|(from, to)| (*from, *to)).collect::<Vec<_>>() {
            self.0.remove(&from);
            self.add(from, start.min(to));
            self.add(end.max(from), to);
        }
    }
    /// The first byte of `[start, end)` that is in none.
    fn gap(&self, start: DevAddr, end: DevAddr) -> Option<DevAddr> {
        let before = self.0.range(..=start).next_back();
        let at = before.map_or(start, |(_, to)| start.max(*to));
        (at < end).then_some(at)
    }
    /// The first byte of `[start, end)` that is in one.
    fn first(&self, start: DevAddr, end: DevAddr) -> Option<DevAddr> {
        if self.gap(start, start + Bytes::new(1)).is_none() {
            return (start < end).then_some(start);
        }
        self.0.range(start..end).next().map(|(from, _)| *from)
    }
}

impl<E: Env> World<E> {
    /// Whether C1 is asked of a file.
    fn is_known(&self, file: FileId) -> bool {
        let inode = self.file(file);
        let extents = matches!(inode.provider, Provider::Extents(_)) && inode.driver.is_none();
        E::Sink::ON && extents && inode.provider.manner() == Some(Manner::Xfs)
    }
    /// What a file has now it has had before.
    pub(crate) fn know_extents(&mut self, file: FileId) {
        if !E::Sink::ON {
            return;
        }
        for map in self.file(file).provider.extents(self.geometry()) {
            if let (MapType::Mapped, Some(addr)) = (map.kind, map.addr) {
                self.written.held.add(addr, addr + map.range.len());
            }
        }
    }
    /// Bytes are on the device.
    #[inline]
    pub(crate) fn know_written(&mut self, addr: DevAddr, len: Bytes) {
        if E::Sink::ON {
            self.written.held.add(addr, addr + len);
            self.written.old.remove(addr, addr + len);
        }
    }
    /// The file ends earlier: behind its new end its last block holds what nobody is to see.
    pub(crate) fn know_cut(&mut self, file: FileId, new: Pos) {
        if !self.is_known(file) || self.file(file).provider.is_shared() {
            return;
        }
        let end = self.geometry().round_up_block(new);
        let found = self.file(file).provider.peek(new, end);
        if let (MapType::Mapped, Some(addr)) = (found.kind, found.addr_of(new)) {
            self.written.old.add(addr, addr + FileRange::between(new, end).len());
        }
    }
    /// Records are as the device has them, or not so any longer.
    pub(crate) fn know_quietly(&mut self, on: bool) -> bool {
        core::mem::replace(&mut self.written.quiet, on)
    }
    /// C1 of extents that changed.
    pub(crate) fn require_changes_written(
        &mut self,
        file: FileId,
        changes: &[(Fork, ExtentChange)],
    ) {
        for (fork, (block, _, extent)) in changes {
            let Some(extent) = extent.filter(|one| one.state == MapType::Mapped) else { continue };
            if *fork == Fork::Data {
                let geometry = self.geometry();
                let start = Pos::ZERO + geometry.block_offset(*block).since(Offset::ZERO);
                let whole = FileRange::between(start, start + geometry.blocks_bytes(extent.len));
                self.require_written(file, whole);
            }
        }
    }
    /// C1 of a range.
    pub(crate) fn require_written(&mut self, file: FileId, range: FileRange) {
        self.require_held(file, range, |all, start, end| all.held.gap(start, end));
    }
    /// C1 of a range that a larger size is recorded for: what was zeroed of it is written. The end
    /// of an ioend does not see to that: it may record a size before the block of a former EOF is
    /// written, whose old bytes a power cut shows then.
    pub(crate) fn require_zeroed(&mut self, file: FileId, range: FileRange) {
        self.require_held(file, range, |all, start, end| all.old.first(start, end));
    }
    fn require_held(
        &mut self,
        file: FileId,
        range: FileRange,
        wrong: impl Fn(&Written, DevAddr, DevAddr) -> Option<DevAddr>,
    ) {
        if !E::Sink::ON || self.written.quiet || !self.is_known(file) {
            return;
        }
        let range = range.intersect(FileRange::between(Pos::ZERO, self.file(file).disk_size));
        let mut at = range.start();
        while at < range.end() {
            let found = self.file(file).provider.peek(at, range.end());
            let end = found.range.end().min(range.end());
            if let (MapType::Mapped, Some(addr)) = (found.kind, found.addr_of(at))
                && let Some(gap) = wrong(&self.written, addr, addr + end.since(at))
            {
                self.require(false, ZERO_OR_WRITTEN, at + gap.since(addr));
                return;
            }
            at = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addr(at: u64) -> DevAddr {
        DevAddr::new(at)
    }

    #[test]
    fn stretches_join_and_are_cut() {
        let mut known = Stretches::default();
        known.add(addr(10), addr(20));
        known.add(addr(30), addr(40));
        assert_eq!(known.gap(addr(10), addr(40)), Some(addr(20)));
        known.add(addr(20), addr(30));
        assert_eq!((known.0.len(), known.gap(addr(10), addr(40))), (1, None));
        known.remove(addr(15), addr(18));
        assert_eq!(known.gap(addr(10), addr(40)), Some(addr(15)));
        assert_eq!(known.gap(addr(15), addr(16)), Some(addr(15)));
        assert_eq!(known.gap(addr(18), addr(40)), None);
        assert_eq!(known.first(addr(15), addr(18)), None);
        assert_eq!(known.first(addr(15), addr(19)), Some(addr(18)));
        assert_eq!(known.first(addr(12), addr(19)), Some(addr(12)));
        assert_eq!(known.first(addr(50), addr(60)), None);
        known.remove(addr(0), addr(100));
        assert!(known.0.is_empty());
    }
}
