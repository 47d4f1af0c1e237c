//! Where blocks lie: the question that buffers ask of the file system (`get_block_t`). What it must
//! read to answer, such as an indirect block, is read and waited for first.

use super::Driver;
use super::state::BufferBit;
use crate::counters::Counter;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::iomap::{Intent, MapType};
use crate::ops::iter;
use crate::trace::rule::Rule;
use crate::units::{Bytes, DevAddr, FileId, FileRange, FolioId};
use crate::world::{Env, World};

/// What stands behind the first of some blocks, and how many more go on from there
/// (`map_bh`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Blocks {
    /// The bytes of the file that it covers.
    pub(super) range: FileRange,
    pub(super) kind: MapType,
    pub(super) addr: Option<DevAddr>,
    pub(super) new: bool,
    /// What lies behind the last takes a read to map.
    pub(super) boundary: bool,
}

impl Blocks {
    /// The device address of the first block, if it has one.
    pub(super) fn placed(&self) -> Option<DevAddr> {
        self.addr.filter(|_| matches!(self.kind, MapType::Mapped | MapType::Unwritten))
    }
}

/// Asks for the start of `range`; `create`: what is missing is allocated, or reserved.
pub(super) async fn get_block<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
    create: bool,
) -> Result<Blocks, Errno> {
    let intent = if create { Intent::Write } else { Intent::Read };
    iter::read_what_maps(cx, file, range, intent, false).await?;
    cx.with(|world| world.map_blocks(file, range, intent))
}

impl<E: Env> World<E> {
    fn map_blocks(
        &mut self,
        file: FileId,
        range: FileRange,
        intent: Intent,
    ) -> Result<Blocks, Errno> {
        let got = self.ask(file, range, intent)?;
        let map = got.iomap;
        let len = got.left(range.start(), range.len());
        let end = range.start() + len;
        let boundary = map.reads_next && end == map.range.end();
        let blocks = Blocks {
            range: FileRange::between(range.start(), end),
            kind: map.kind,
            addr: map.addr_of(range.start()),
            new: map.new,
            boundary,
        };
        let rule = match (map.kind, map.new) {
            (MapType::Hole | MapType::Inline, _) => Rule::BlocksHole,
            (MapType::Delalloc, _) => Rule::BlocksReserved,
            (MapType::Mapped | MapType::Unwritten, true) => Rule::BlocksAllocated,
            (MapType::Mapped | MapType::Unwritten, false) if boundary => Rule::BlocksBoundary,
            (MapType::Mapped | MapType::Unwritten, false) => Rule::BlocksFound,
        };
        let addr = blocks.addr.map_or(u64::MAX, DevAddr::get);
        self.step(rule, [range.start().get(), range.len().get(), len.get(), addr]);
        Ok(blocks)
    }
    /// Buffer `at` learns what stands behind its block (`map_bh`).
    pub(super) fn attach(&mut self, id: FolioId, at: u32, blocks: &Blocks) {
        let one = (at, at + 1);
        let reserved = blocks.kind == MapType::Delalloc;
        if let Some(addr) = blocks.placed() {
            self.set_buffer_addr(id, at, Some(addr));
        }
        let mapped = reserved || blocks.placed().is_some();
        self.set_buffers(id, BufferBit::Mapped, one, mapped);
        self.set_buffers(id, BufferBit::New, one, blocks.new || reserved);
        self.set_buffers(id, BufferBit::Delay, one, reserved);
        self.set_buffers(id, BufferBit::Unwritten, one, blocks.kind == MapType::Unwritten);
        let boundary = blocks.boundary && blocks.range.len() == self.geometry().block_size();
        self.set_buffers(id, BufferBit::Boundary, one, boundary);
    }
    /// The first byte behind the blocks that hold a file, in bytes of the file.
    pub(super) fn eof_block(&self, file: FileId) -> crate::units::Pos {
        self.geometry().round_up_block(self.file(file).size)
    }
    /// Whether the file is a block device.
    pub(super) fn is_block_device(&self, file: FileId) -> bool {
        self.driver(file) == Some(Driver::BlockDevice)
    }
    /// A read that a write needs is counted.
    pub(super) fn count_read_for_modify(&mut self, len: Bytes) {
        self.count(Counter::ReadForModify, len.get());
    }
}
