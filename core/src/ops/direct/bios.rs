//! The bios of a direct read or write (`iomap_dio_iter`): those of one mapping hold nothing of the
//! next, each has at most 256 vecs of the application's memory, and what else a new block holds is
//! zeroed on the device.

use super::{Halt, Landing, Memory};
use crate::behaviour::DirectReads;
use crate::block::bio::{BioEnd, BioHead, BioOp, BioVec, MAX_BYTES, MAX_VECS};
use crate::errno::Errno;
use crate::frames::{FrameStore, UserDest};
use crate::fs::Provider;
use crate::iomap::{Iomap, MapType};
use crate::trace::rule::Rule;
use crate::units::{Bytes, DevAddr, FileRange, Offset, OpId, Order, Pages, Pfn, Pos};
use crate::world::{Env, Purpose, World};

/// The page of zeroes among the pages of a direct write.
const ZEROES: u64 = u64::MAX;

impl<E: Env> World<E> {
    /// Does what one mapping says of a part of a direct read or write: how many bytes of it were
    /// done, and why no more may follow.
    pub(super) fn direct_part(
        &mut self,
        op: OpId,
        map: &Iomap,
        part: FileRange,
        memory: &mut Memory<'_>,
    ) -> (Bytes, Option<Halt>) {
        let (file, write) = (self.dios[&op].file, self.dios[&op].write);
        let provider = &self.file(file).provider;
        let refused = match (map.kind, write) {
            (MapType::Mapped, _) | (MapType::Unwritten, true) => {
                let sector = self.geometry().sector_size().get();
                let whole = |at: u64| at.is_multiple_of(sector);
                if whole(part.start().get()) && whole(part.len().get()) {
                    return self.direct_bios(op, map, part, memory);
                }
                Errno::Inval
            }
            (MapType::Hole | MapType::Unwritten | MapType::Inline, false) => {
                return self.direct_memory(op, map, part, memory);
            }
            (MapType::Hole, true) if provider.falls_back_over_holes() => {
                return (Bytes::ZERO, Some(Halt::NotBlock));
            }
            (MapType::Inline, true) => return (Bytes::ZERO, Some(Halt::NotBlock)),
            // The file system must have given blocks; a store has dirtied what was flushed.
            (MapType::Hole, true) | (MapType::Delalloc, _) => Errno::Io,
        };
        let errno = u64::from(refused.number());
        let args = [part.start().get(), part.len().get(), map.kind.code(), errno];
        self.step(Rule::DirectRefused, args);
        (Bytes::ZERO, Some(Halt::Error(refused)))
    }
    /// A read of what is on no device: zero, or bytes that live with the inode.
    fn direct_memory(
        &mut self,
        op: OpId,
        map: &Iomap,
        part: FileRange,
        memory: &mut Memory<'_>,
    ) -> (Bytes, Option<Halt>) {
        let Memory::To(dest) = memory else { return (Bytes::ZERO, Some(Halt::NotBlock)) };
        let at = self.user_offset(op, part.start());
        let args = [part.start().get(), part.len().get(), map.kind.code(), 0];
        let done = if map.kind == MapType::Inline {
            let provider = &self.file(self.dios[&op].file).provider;
            let held = part.start().since(provider.inline_start()).get() as usize;
            let bytes = provider.inline_bytes().get(held..).unwrap_or_default();
            let bytes = &bytes[..bytes.len().min(part.len().get() as usize)];
            let mut done = dest.copy_out(at, bytes);
            if done.get() == bytes.len() as u64 {
                done += zero(*dest, at + done, part.len().saturating_sub(done));
            }
            self.step(Rule::DirectInline, args);
            done
        } else {
            self.step(Rule::DirectZeroed, args);
            zero(*dest, at, part.len())
        };
        self.dio_mut(op).size += done;
        let short = done < part.len();
        (done, short.then_some(Halt::Error(Errno::Fault)))
    }
    fn user_offset(&self, op: OpId, pos: Pos) -> Offset {
        Offset::ZERO + pos.since(self.dios[&op].range.start())
    }
    pub(super) fn dio_mut(&mut self, op: OpId) -> &mut super::Dio {
        self.dios.get_mut(&op).expect("a direct read or write that has not ended")
    }
    /// Sends what lies on the device.
    fn direct_bios(
        &mut self,
        op: OpId,
        map: &Iomap,
        part: FileRange,
        memory: &mut Memory<'_>,
    ) -> (Bytes, Option<Halt>) {
        let geometry = self.geometry();
        let sector = map.addr_of(part.start()).map_or(u64::MAX, DevAddr::get);
        let args = [part.start().get(), part.len().get(), map.kind.code(), sector];
        self.step(Rule::DirectMapped, args);
        let dio = self.dio_mut(op);
        let write = dio.write;
        dio.unwritten |= write && map.kind == MapType::Unwritten;
        dio.shared |= write && map.shared;
        let fresh = write && (map.kind == MapType::Unwritten || map.new);
        let head = FileRange::between(geometry.round_down_block(part.start()), part.start());
        if fresh {
            self.direct_pad(op, map, head);
        }
        let mut at = part.start();
        let mut halt = None;
        while at < part.end() {
            if self.dios[&op].error.is_some() {
                return (Bytes::ZERO, Some(Halt::Failed));
            }
            let rest = FileRange::between(at, part.end());
            let (vecs, len) = self.user_vecs(op, rest, memory);
            if len.is_zero() {
                halt = Some(Halt::Error(Errno::Fault));
                break;
            }
            let end = if len < rest.len() { BioEnd::VecsFull } else { self.end_of(op, rest) };
            self.direct_bio(op, map, (at, len), vecs, end);
            self.dio_mut(op).size += len;
            at += len;
        }
        let dio = &self.dios[&op];
        let behind_eof = write && at >= self.file(dio.file).size;
        if fresh || behind_eof {
            self.direct_pad(op, map, FileRange::between(at, geometry.round_up_block(at)));
        }
        (at.since(part.start()), halt)
    }
    fn end_of(&self, op: OpId, rest: FileRange) -> BioEnd {
        let last = rest.end() == self.dios[&op].range.end();
        if last { BioEnd::LastRange } else { BioEnd::MappingEnds }
    }
    /// Zeroes on the device what lies beside a write in its block.
    fn direct_pad(&mut self, op: OpId, map: &Iomap, range: FileRange) {
        if range.is_empty() {
            return;
        }
        self.step(Rule::DirectPads, [range.start().get(), range.len().get(), 0, 0]);
        let Some(pfn) = self.user_page(op, ZEROES) else {
            self.dio_mut(op).error.get_or_insert(Errno::NoMem);
            return;
        };
        let page = self.geometry().page_size();
        let mut vecs = Vec::new();
        let mut left = range.len();
        while !left.is_zero() {
            let len = left.min(page);
            vecs.push(BioVec { pfn, offset: Offset::ZERO, len });
            left -= len;
        }
        self.direct_bio(op, map, (range.start(), range.len()), vecs, BioEnd::LastRange);
    }
    fn direct_bio(
        &mut self,
        op: OpId,
        map: &Iomap,
        (pos, len): (Pos, Bytes),
        vecs: Vec<BioVec>,
        end: BioEnd,
    ) {
        let dio = self.dio_mut(op);
        dio.in_flight += 1;
        let (file, write) = (dio.file, dio.write);
        // The path of block devices is older than that of iomap.
        let raw = matches!(self.file(file).provider, Provider::BlockDev(_));
        let sync = write || raw || self.behaviours().direct_reads == DirectReads::Sync;
        let dir = if write { BioOp::Write } else { BioOp::Read };
        let head = BioHead { op: dir, sync, direct: true, ..BioHead::read(file) };
        let addr = map.addr_of(pos).or(map.addr).unwrap_or(DevAddr::ZERO);
        let bio = self.new_bio(head, addr, Purpose::Direct(op));
        self.fill_bio(bio, pos, len, vecs);
        self.submit_bio(bio, end);
    }
    /// The next pages of the application's memory, as many as a bio takes; of memory that cannot be
    /// read, the whole sectors before it.
    fn user_vecs(
        &mut self,
        op: OpId,
        rest: FileRange,
        memory: &mut Memory<'_>,
    ) -> (Vec<BioVec>, Bytes) {
        let (page, sector) = (self.geometry().page_size().get(), self.geometry().sector_size());
        let mut vecs: Vec<BioVec> = Vec::new();
        let mut done = Bytes::ZERO;
        while done < rest.len() {
            let at = self.user_offset(op, rest.start() + done);
            let offset = Offset::new(at.get() % page);
            let len = (rest.len() - done).min(Bytes::new(page - offset.get()));
            let Some(pfn) = self.user_page(op, at.get() / page) else { break };
            let vec = BioVec { pfn, offset, len };
            let follows = vecs.last().is_some_and(|last| self.follows(last, &vec));
            if !follows && vecs.len() >= MAX_VECS || (done + len).get() > MAX_BYTES {
                break;
            }
            let good = match memory {
                Memory::From(source) => {
                    let got = source.copy_in(at, self.memory.bytes_mut(pfn, offset, len));
                    let whole = (done + got).get() / sector.get() * sector.get();
                    if got < len { Bytes::new(whole).saturating_sub(done) } else { len }
                }
                Memory::To(_) => {
                    self.dio_mut(op).landings.push(Landing { at, frame: pfn, offset, len });
                    len
                }
            };
            match vecs.last_mut() {
                Some(last) if follows => last.len += good,
                Some(_) | None if good.is_zero() => {}
                Some(_) | None => vecs.push(BioVec { len: good, ..vec }),
            }
            done += good;
            if good < len {
                break;
            }
        }
        (vecs, done)
    }
    fn follows(&self, last: &BioVec, next: &BioVec) -> bool {
        let page = self.geometry().page_size().get();
        let phys = |vec: &BioVec| vec.pfn.get() * page + vec.offset.get();
        phys(last) + last.len.get() == phys(next)
    }
    /// The frame that stands for a page of the application's memory.
    fn user_page(&mut self, op: OpId, page: u64) -> Option<Pfn> {
        if let Some(pfn) = self.dios[&op].pages.get(&page) {
            return Some(*pfn);
        }
        let pfn = self.pfns.allocate_user();
        if self.memory.allocate(pfn, Pages::new(1)).is_err() {
            self.pfns.release(pfn, Order::ZERO);
            return None;
        }
        self.dio_mut(op).pages.insert(page, pfn);
        Some(pfn)
    }
    /// The application's memory is its own again.
    pub(super) fn free_pages(&mut self, dio: &super::Dio) {
        // The last one first, so that the next user finds them in order.
        for (_, pfn) in dio.pages.iter().rev() {
            self.pfns.release(*pfn, Order::ZERO);
            self.memory.release(*pfn, Pages::new(1));
        }
    }
}

/// Zeroes memory of the application; how much could be.
fn zero(dest: &mut dyn UserDest, at: Offset, len: Bytes) -> Bytes {
    const PART: u64 = 4096;
    let part = [0; PART as usize];
    let mut done = Bytes::ZERO;
    while done < len {
        let n = (len - done).min(Bytes::new(PART));
        let copied = dest.copy_out(at + done, &part[..n.get() as usize]);
        done += copied;
        if copied < n {
            break;
        }
    }
    done
}
