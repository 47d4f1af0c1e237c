//! What the end of a bio does to the buffers, or folios, that it carries.
//!
//! The end of one buffer looks around the ring for others of the same operation that are still
//! under way: the last one ends the folio's read or writeback.

use super::BufferIo;
use super::state::BufferBit;
use crate::block::bio::BioSeg;
use crate::cache::folio::FolioFlags;
use crate::cache::ifs::Half;
use crate::errno::Errno;
use crate::trace::rule::Rule;
use crate::units::{FileId, FileRange, FolioId};
use crate::world::{Env, World};

impl<E: Env> World<E> {
    /// A bio of buffers ended.
    pub(crate) fn buffer_bio_ended(
        &mut self,
        io: BufferIo,
        segs: &[BioSeg],
        unwritten: bool,
        result: Result<(), Errno>,
    ) {
        for seg in segs.iter().filter(|_| unwritten && result.is_ok()) {
            let range = FileRange::between(seg.pos, seg.pos + seg.len);
            self.convert_blocks(self.folios.at(seg.folio).file(), range);
        }
        for seg in segs {
            let (first, end) = self.blocks_touched(seg.offset, seg.len);
            match io {
                BufferIo::Begin => {
                    self.set_blocks(seg.folio, Half::Uptodate, (first, end), result.is_ok());
                    self.set_buffers(seg.folio, BufferBit::Locked, (first, end), false);
                }
                BufferIo::Read => self.buffer_read_ended(seg.folio, first, result),
                BufferIo::ReadFolios => self.end_folios_read(seg.folio, result.is_ok()),
                BufferIo::Write => {
                    for at in first..end {
                        self.buffer_write_ended(seg.folio, at, result);
                    }
                    self.end_if_last_written(seg.folio, end - 1);
                }
                BufferIo::WriteFolios => {
                    self.note_write_error(seg.folio, result);
                    self.set_blocks(seg.folio, Half::Waste, (first, end), false);
                    self.end_writeback(seg.folio);
                }
            }
        }
    }
    /// Blocks that had never been written are on the device now.
    fn convert_blocks(&mut self, file: FileId, range: FileRange) {
        if self.file_mut(file).provider.convert(range) {
            self.note_extents(file);
            self.step(Rule::Converted, [range.start().get(), range.len().get(), 0, 0]);
        }
    }
    /// One block of a folio's read ended (`end_buffer_async_read`).
    fn buffer_read_ended(&mut self, id: FolioId, at: u32, result: Result<(), Errno>) {
        let one = (at, at + 1);
        self.set_blocks(id, Half::Uptodate, one, result.is_ok());
        self.set_buffers(id, BufferBit::AsyncRead, one, false);
        self.set_buffers(id, BufferBit::Locked, one, false);
        let (visits, busy) = self.walk_ring(id, BufferBit::AsyncRead, at);
        let pos = self.buffer_range(id, at).start().get();
        self.step(Rule::BufferReadEnds, [pos, u64::from(visits), u64::from(busy), 0]);
        if !busy {
            let all = self.state(id).is_some_and(|state| state.uptodate.all());
            self.end_folios_read(id, all);
        }
    }
    /// From the buffer behind `at` around the ring to one that is still under way: how many were
    /// looked at, and whether one was found.
    fn walk_ring(&mut self, id: FolioId, bit: BufferBit, at: u32) -> (u32, bool) {
        let buffers = self.folio_blocks(id);
        let Some(ring) = self.ring(id) else { return (0, false) };
        let bits = ring.bits(bit);
        let next = bits.next_set(at + 1, buffers);
        let (visits, busy) = if next < buffers {
            (next - at, true)
        } else {
            let wrapped = bits.next_set(0, at);
            if wrapped < at { (buffers - at + wrapped, true) } else { (buffers, false) }
        };
        self.visit_buffers(visits);
        (visits, busy)
    }
    /// The read of a folio ended; it is uptodate if all of it could be read
    /// (`folio_end_read`).
    pub(super) fn end_folios_read(&mut self, id: FolioId, uptodate: bool) {
        let pos = self.folio_pos(id);
        self.require(self.has(id, FolioFlags::LOCKED), 35, pos);
        if uptodate {
            self.raise(id, FolioFlags::UPTODATE);
        }
        self.lower(id, FolioFlags::LOCKED);
        self.step(Rule::ReadEnds, [pos.get(), u64::from(uptodate), 0, 0]);
    }
    /// One block of a folio's writeback ended: after an error its content counts as lost
    /// (`end_buffer_async_write`).
    fn buffer_write_ended(&mut self, id: FolioId, at: u32, result: Result<(), Errno>) {
        let one = (at, at + 1);
        if result.is_err() {
            self.set_blocks(id, Half::Uptodate, one, false);
        }
        self.note_write_error(id, result);
        self.set_blocks(id, Half::Waste, one, false);
        self.set_buffers(id, BufferBit::AsyncWrite, one, false);
        self.set_buffers(id, BufferBit::Locked, one, false);
    }
    fn end_if_last_written(&mut self, id: FolioId, at: u32) {
        let (visits, busy) = self.walk_ring(id, BufferBit::AsyncWrite, at);
        let pos = self.buffer_range(id, at).start().get();
        self.step(Rule::BufferWriteEnds, [pos, u64::from(visits), u64::from(busy), 0]);
        if !busy {
            self.end_writeback(id);
        }
    }
    fn note_write_error(&mut self, id: FolioId, result: Result<(), Errno>) {
        if let Err(errno) = result {
            self.record_error(self.folios.at(id).file(), self.folio_pos(id), errno);
        }
    }
}
