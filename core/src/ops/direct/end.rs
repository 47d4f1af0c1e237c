//! The end of a direct read or write (`iomap_dio_complete`): the file system's records first, then
//! the cache is dropped once more, then it is in flight no longer.

use super::drop::Sweep;
use super::{Halt, Stage};
use crate::counters::Counter;
use crate::errno::Errno;
use crate::fault::{FaultEffect, FaultPoint};
use crate::fs::{Manner, Provider};
use crate::ops::OpResult;
use crate::ordered::OrderedMap;
use crate::trace::rule::Rule;
use crate::trace::step::Context;
use crate::units::{Bytes, FileId, FileRange, OpId, Pos};
use crate::world::{Caller, Env, World};

impl<E: Env> World<E> {
    /// No more bios follow.
    pub(super) fn direct_sent(&mut self, op: OpId, halt: Option<&Halt>) {
        let dio = self.dio_mut(op);
        dio.building = false;
        if let Some(Halt::Error(errno)) = halt {
            dio.error.get_or_insert(*errno);
        }
        let waits = u64::from(!dio.queued);
        let args = [dio.range.start().get(), dio.size.get(), u64::from(dio.in_flight), waits];
        self.step(Rule::DirectSent, args);
    }
    /// A bio of it ended.
    pub(crate) fn direct_bio_ended(&mut self, op: OpId, result: Result<(), Errno>) {
        let Some(dio) = self.dios.get_mut(&op) else { return };
        dio.in_flight -= 1;
        if let Err(errno) = result {
            dio.error.get_or_insert(errno);
        }
    }
    /// The worker ends writes that nobody waits for.
    pub(crate) fn end_queued(&mut self) {
        let ready: Vec<OpId> = self
            .dios
            .iter()
            .filter(|(_, dio)| dio.queued && !dio.building && dio.in_flight == 0)
            .filter(|(_, dio)| dio.result.is_none())
            .map(|(op, _)| op)
            .collect();
        let caller = self.caller;
        for op in ready {
            self.caller = Caller { op: Some(op), context: Context::Worker, ..caller };
            if self.end_direct(op) {
                let result = self.dios[&op].result.unwrap_or(Err(Errno::Io));
                self.end_op(op, OpResult(result));
            }
        }
        self.caller = caller;
    }
    /// The result of a write that nobody waited for, once it has ended.
    pub(crate) fn take_queued(&mut self, op: OpId) -> Option<Result<Bytes, Errno>> {
        let Some(dio) = self.dios.get(&op) else { return Some(Err(Errno::Inval)) };
        let result = dio.result?;
        self.dios.remove(&op);
        Some(result)
    }
    /// Does what is left to do when the last bio has ended; whether it has ended for good.
    pub(super) fn end_direct(&mut self, op: OpId) -> bool {
        let Some(dio) = self.dios.get(&op) else { return true };
        if dio.result.is_some() {
            return true;
        }
        if dio.building || dio.in_flight > 0 {
            return false;
        }
        let (file, range) = (dio.file, dio.range);
        if matches!(dio.stage, Stage::InFlight) {
            let cached = !self.file(file).mapping.is_empty();
            let drops = dio.write && dio.error.is_none() && !dio.size.is_zero() && cached;
            let written = FileRange::between(range.start(), range.start() + dio.size);
            if dio.write {
                self.record_direct(op, file, written);
            }
            if !drops {
                return self.close_direct(op);
            }
            let sweep = Sweep::over(self.geometry(), written);
            self.dio_mut(op).stage = Stage::Dropping(sweep);
        }
        let stage = core::mem::replace(&mut self.dio_mut(op).stage, Stage::InFlight);
        let Stage::Dropping(mut sweep) = stage else { return false };
        let through = self.sweep(file, range, &mut sweep);
        if through && !sweep.failed() && !sweep.waited() {
            // Nothing in the cache is older than what was written. Where it waited, what is cached
            // by now may have been read since.
            let fresh = Sweep::over(self.geometry(), range);
            let none = !self.has_cache(file, &fresh);
            self.require(none, 40, range.start());
        }
        if through && sweep.failed() {
            self.count(Counter::DirectCollisions, 1);
            self.keep_error(file, range.start(), Errno::Io);
            self.step(Rule::DirectCollides, [range.start().get(), 0, 0, 0]);
        }
        if through {
            return self.close_direct(op);
        }
        self.dio_mut(op).stage = Stage::Dropping(sweep);
        false
    }
    /// It is in flight no longer.
    fn close_direct(&mut self, op: OpId) -> bool {
        let dio = self.dio_mut(op);
        // A read tells of no bytes behind the EOF that it began with.
        let inside = FileRange::between(dio.range.start(), dio.eof).len();
        let done = if dio.write { dio.size } else { dio.size.min(inside) };
        let result = dio.error.map_or(Ok(done), Err);
        dio.result = Some(result);
        let (file, start, write) = (dio.file, dio.range.start(), dio.write);
        let left = self.file(file).direct.saturating_sub(1);
        self.set_direct(file, left);
        self.settle_zone(file, left);
        if write {
            let dio = self.dios.remove(&op).expect("looked at above");
            self.free_pages(&dio);
            let pages = OrderedMap::default();
            self.dios.insert(op, super::Dio { pages, ..dio });
            self.count(Counter::AppWritten, result.map_or(0, Bytes::get));
        }
        let args = [start.get(), OpResult(result).pack(), u64::from(left), 0];
        self.step(Rule::DirectEnds, args);
        true
    }
    /// The records of a write that has ended: shared blocks are replaced, unwritten ones converted,
    /// then the sizes move; after an error none of it (`xfs_dio_write_end_io`).
    fn record_direct(&mut self, op: OpId, file: FileId, written: FileRange) {
        let dio = &self.dios[&op];
        let (shared, unwritten, range) = (dio.shared, dio.unwritten, dio.range);
        if dio.error.is_none() && unwritten {
            let fault = self.fault(FaultPoint::ConvertUnwritten, file, written);
            if let Some((_, FaultEffect::Fails(errno))) = fault {
                self.dio_mut(op).error = Some(errno);
            }
        }
        let (start, len) = (written.start().get(), written.len().get());
        if let Some(errno) = self.dios[&op].error {
            self.step(Rule::DirectRecorded, [start, len, u64::from(errno.number()), 0]);
            self.free_unused(file, range);
            return;
        }
        if written.is_empty() {
            return;
        }
        if shared {
            let given_up = self.file_mut(file).provider.remap(written);
            self.note_extents(file);
            self.release_shared(&given_up);
            self.step(Rule::Remapped, [start, len, 0, 0]);
        }
        if unwritten && self.file_mut(file).provider.convert(written) {
            self.note_extents(file);
            self.step(Rule::Converted, [start, len, 0, 0]);
        }
        let size = self.file(file).size;
        let grows = written.end() > size;
        if grows {
            self.set_size(file, written.end());
            self.step(Rule::SizeMoved, [size.get(), written.end().get(), 0, 0]);
        }
        let recorded = self.file(file).disk_size;
        let end = written.end().min(self.file(file).size);
        if (grows || unwritten) && end > recorded {
            self.set_disk_size(file, end);
            self.step(Rule::DiskSizeMoved, [recorded.get(), end.get(), 0, 0]);
        }
        self.step(Rule::DirectRecorded, [start, len, 0, 0]);
    }
    /// A write failed: blocks that it got behind EOF go again, where the file system does not leave
    /// them until the file is closed (`ext2_write_failed`).
    fn free_unused(&mut self, file: FileId, range: FileRange) {
        let (geometry, size) = (self.geometry(), self.file(file).size);
        let provider = &self.file(file).provider;
        let ext2 = matches!(provider, Provider::Indirect(_));
        let frees = ext2 || provider.manner() == Some(Manner::Generic);
        let from = geometry.round_up_block(size).max(geometry.round_down_block(range.start()));
        let behind = FileRange::between(from, geometry.round_up_block(range.end()));
        if frees {
            self.free_space(file, behind, true);
        }
    }
    /// When nothing is in flight any more, a zone is written as far as its file is long: what
    /// failed left its place (`zonefs_io_error`).
    fn settle_zone(&mut self, file: FileId, left: u32) {
        let inode = self.file(file);
        let Provider::Zone(zone) = &inode.provider else { return };
        let size = inode.size;
        if let Some(pointer) = zone.pointer().filter(|at| left == 0 && *at != size) {
            self.move_zone_pointer(file, pointer, size);
        }
    }
    pub(super) fn move_zone_pointer(&mut self, file: FileId, from: Pos, to: Pos) {
        self.set_zone_pointer(file, to);
        self.step(Rule::ZonePointerMoved, [from.get(), to.get(), 0, 0]);
    }
}
