//! Reading whole folios without buffers, as long as their blocks lie one behind the other
//! (`do_mpage_readpage`), and ext4's loop, which differs in one test.
//!
//! A mapping is kept from folio to folio and asked for up to the end of what is read. Where it is
//! flagged as a boundary and a folio ends exactly with it, what there is is sent: the next mapping
//! takes a read. The common loop counts from the start of the mapping; ext4's counts what this
//! folio took of it, so that it notices only mappings that one folio uses up.

use super::BufferIo;
use super::get_block::{Blocks, get_block};
use super::read::read_full_folio;
use crate::block::bio::{BioEnd, BioHead, vecs_for};
use crate::cache::folio::FolioFlags;
use crate::engine::Cx;
use crate::trace::rule::Rule;
use crate::units::{
    BioId, BlockNo, Bytes, DevAddr, FileId, FileRange, FolioId, Offset, Pages, Pos,
};
use crate::world::{Env, Purpose, World};

/// The bio that more may be added to.
struct Open {
    id: BioId,
    capacity: usize,
    /// First device byte behind the last folio that it holds.
    end: DevAddr,
}

/// How far some folios have been read (`mpage_readpage_args`).
pub(super) struct Pass {
    file: FileId,
    readahead: bool,
    /// Ext4's test for a boundary.
    near: bool,
    open: Option<Open>,
    /// The last mapping, and whether some of it is left.
    last: Option<Blocks>,
    live: bool,
}

/// Why a folio cannot be read as a whole.
#[derive(Clone, Copy)]
enum Confused {
    HasBuffers = 0,
    DataBehindHole = 1,
    Scattered = 2,
    NoMapping = 3,
}

/// What a folio looks like once its blocks are mapped.
struct Found {
    /// Its first block.
    addr: Option<DevAddr>,
    /// Blocks before the first hole; all of them if there is none.
    blocks: u64,
    /// It ends exactly with a mapping that is a boundary.
    boundary: bool,
}

impl Pass {
    pub(super) const fn new(file: FileId, readahead: bool, near: bool) -> Self {
        Self { file, readahead, near, open: None, last: None, live: false }
    }
    /// Sends what there is.
    pub(super) fn send<E: Env>(&mut self, world: &mut World<E>, why: BioEnd) {
        if let Some(open) = self.open.take() {
            world.submit_bio(open.id, why);
        }
    }
}

/// Reads one folio; `left` pages are still to be read, this one's among them.
pub(super) async fn read_folio<E: Env>(
    cx: &Cx<'_, E>,
    pass: &mut Pass,
    folio: FolioId,
    left: Pages,
) {
    let found = if cx.with(|world| world.ring(folio).is_some()) {
        Err(Confused::HasBuffers)
    } else {
        map_folio(cx, pass, folio, left).await
    };
    match found {
        Ok(found) => cx.with(|world| world.add_folio_to_read(pass, folio, &found, left)),
        Err(why) => {
            cx.with(|world| {
                let args = [world.folio_pos(folio).get(), why as u64, 0, 0];
                world.step(Rule::ReadConfused, args);
                pass.send(world, BioEnd::Confused);
            });
            if cx.with(|world| world.has(folio, FolioFlags::UPTODATE)) {
                cx.with(|world| world.unlock(folio));
            } else {
                read_full_folio(cx, pass.file, folio).await;
            }
        }
    }
}

/// Maps the blocks of a folio, with what the last mapping still covers first.
async fn map_folio<E: Env>(
    cx: &Cx<'_, E>,
    pass: &mut Pass,
    folio: FolioId,
    left: Pages,
) -> Result<Found, Confused> {
    let (whole, size, stop) = cx.with(|world| {
        let geometry = world.geometry();
        let whole = world.folio_range(folio);
        let window = whole.start() + Bytes::new(left.get() * geometry.page_size().get());
        let stop = window.min(world.eof_block(pass.file));
        (whole, geometry.block_size(), stop)
    });
    let mut at = whole.start();
    let mut first: Option<DevAddr> = None;
    let mut hole: Option<Pos> = None;
    let mut exact = false;
    let kept =
        pass.last.filter(|last| pass.live && last.range.start() < at && at < last.range.end());
    if let Some(last) = kept {
        let end = last.range.end().min(whole.end());
        first = last.addr.map(|addr| addr + at.since(last.range.start()));
        pass.live = end < last.range.end();
        exact = !pass.near && end == last.range.end();
        at = end;
    }
    while at < whole.end() {
        let mut got = None;
        if at < stop {
            let asked = FileRange::between(at, stop);
            let answer = get_block(cx, pass.file, asked, false).await;
            got = Some(answer.map_err(|_| Confused::NoMapping)?);
        }
        let placed =
            got.filter(|got| got.kind == crate::iomap::MapType::Mapped && got.addr.is_some());
        let Some(got) = placed else {
            (pass.last, pass.live, exact) = (None, false, false);
            hole = hole.or(Some(at));
            at += size;
            continue;
        };
        (pass.last, pass.live) = (Some(got), true);
        if hole.is_some() {
            return Err(Confused::DataBehindHole);
        }
        let expected = first.map(|addr| addr + at.since(whole.start()));
        if expected.is_some_and(|expected| got.addr != Some(expected)) {
            return Err(Confused::Scattered);
        }
        first = first.or(got.addr);
        let end = got.range.end().min(whole.end());
        pass.live = end < got.range.end();
        exact = end == got.range.end();
        at = end;
    }
    let end = hole.unwrap_or(whole.end());
    Ok(Found {
        addr: first,
        blocks: end.since(whole.start()).get() / size.get(),
        boundary: exact && pass.last.is_some_and(|last| last.boundary),
    })
}

impl<E: Env> World<E> {
    /// A folio whose blocks lie one behind the other, up to a hole if there is one.
    fn add_folio_to_read(&mut self, pass: &mut Pass, id: FolioId, found: &Found, left: Pages) {
        let whole = self.folio_range(id);
        let len = self.geometry().block_offset(BlockNo::new(found.blocks)).since(Offset::ZERO);
        if len < whole.len() {
            self.zero_bytes(id, Offset::ZERO + len, Offset::ZERO + whole.len());
            let args = [(whole.start() + len).get(), (whole.len() - len).get(), 0, 0];
            self.step(Rule::FolioTailZeroed, args);
        }
        let Some(addr) = found.addr.filter(|_| !len.is_zero()) else {
            self.end_folios_read(id, true);
            return;
        };
        if pass.open.as_ref().is_some_and(|open| open.end != addr) {
            pass.send(self, BioEnd::SectorGap);
        }
        if let Some(open) = &pass.open
            && let Err(why) = self.add_to_bio(open.id, id, Offset::ZERO, len, open.capacity)
        {
            pass.send(self, why);
        } else if let Some(open) = &mut pass.open {
            open.end = addr + len;
        }
        if pass.open.is_none() {
            let head = BioHead { readahead: pass.readahead, ..self.read_head(id) };
            let bio = self.new_bio(head, addr, Purpose::Buffer(BufferIo::ReadFolios));
            let capacity = vecs_for(left);
            self.add_to_bio(bio, id, Offset::ZERO, len, capacity)
                .expect("an empty bio takes one piece");
            pass.open = Some(Open { id: bio, capacity, end: addr + len });
        }
        self.step(Rule::FolioJoinsRead, [whole.start().get(), len.get(), addr.get(), 0]);
        if found.boundary {
            pass.send(self, BioEnd::BlockBoundary);
        } else if len < whole.len() {
            pass.send(self, BioEnd::HoleFollows);
        }
    }
}
