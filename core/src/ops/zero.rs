//! Zeroing through the cache (`iomap_zero_range`): what a write beyond EOF leaves behind it must
//! read as zero.

use super::iter;
use super::write::write_begin;
use crate::cache::mapping::Tag;
use crate::engine::{Cx, WriteFlags};
use crate::errno::Errno;
use crate::iomap::{Intent, MapType};
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, Offset, Pages};
use crate::world::{Env, World};

/// Zeroes `range` where it has data; holes and unwritten blocks read as zero already, unless the
/// cache over them is dirty: then it is written first and the mapping asked for again. Tells
/// whether anything was zeroed.
pub(crate) async fn zero_range<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
) -> Result<bool, Errno> {
    let mut zeroed = false;
    let mut flush = cx.with(|world| world.range_is_dirty(file, range));
    let mut at = range.start();
    while at < range.end() {
        let rest = FileRange::between(at, range.end());
        let mapping = iter::begin(cx, file, rest, Intent::Zero, false).await?;
        let part = FileRange::between(at, at + mapping.left(at, rest.len()));
        let source = mapping.source().kind;
        if matches!(source, MapType::Hole | MapType::Unwritten) {
            if core::mem::take(&mut flush) {
                super::sync::write_and_wait(cx, file, rest).await?;
                continue;
            }
            cx.with(|world| {
                let args = [part.start().get(), part.len().get(), source.code(), 0];
                world.step(Rule::ZeroSkipped, args);
            });
            at = part.end();
            continue;
        }
        let Some(folio) =
            write_begin(cx, file, &mapping, at, (part.len(), WriteFlags::default())).await?
        else {
            continue;
        };
        at += cx.with(|world| {
            let start = world.folio_pos(folio);
            let offset = Offset::ZERO + part.start().since(start);
            let len = part.intersect(world.folio_range(folio)).len();
            world.zero_bytes(folio, offset, offset + len);
            world.mark_accessed(folio);
            world.write_end(folio, offset, len, len);
            world.unlock(folio);
            world.step(Rule::Zeroed, [part.start().get(), len.get(), 0, 0]);
            len
        });
        zeroed = true;
    }
    Ok(zeroed)
}

impl<E: Env> World<E> {
    /// Whether any page of a range is dirty or under writeback (`filemap_range_needs_writeback`).
    fn range_is_dirty(&self, file: FileId, range: FileRange) -> bool {
        if range.is_empty() {
            return false;
        }
        let geometry = self.geometry();
        let first = geometry.page_floor(range.start());
        let last = geometry.page_floor(range.end() - Bytes::new(1)) + Pages::new(1);
        let mapping = &self.file(file).mapping;
        [Tag::Dirty, Tag::Writeback]
            .into_iter()
            .any(|tag| mapping.next_tagged(tag, first, last).is_some())
    }
}
