//! Own copies of shared blocks, though no byte changes (`iomap_file_unshare`).

use super::iter;
use super::write::{end_write_mapping, unshare_begin};
use crate::check::mutant::Mutant;
use crate::dirty;
use crate::engine::Cx;
use crate::errno::Errno;
use crate::iomap::{Intent, MapType, Mapping};
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, FolioId, Offset};
use crate::world::{Env, World};

/// Makes the cache over the shared blocks of a range valid and dirty, so that writeback gives them
/// blocks of their own.
pub(crate) async fn unshare<E: Env>(
    cx: &Cx<'_, E>,
    file: FileId,
    range: FileRange,
) -> Result<(), Errno> {
    let inside = cx.with(|world| range.intersect(world.whole(file)));
    let mut at = inside.start();
    while at < inside.end() {
        let rest = FileRange::between(at, inside.end());
        let mapping = iter::begin(cx, file, rest, Intent::Unshare, false).await?;
        let end = at + mapping.left(at, rest.len());
        let all = cx.with(|world| world.mutant(Mutant::UnsharesHoles)) && mapping.iomap.shared;
        if !wants_copy(&mapping) && !all {
            at = end;
            continue;
        }
        let mut begun = Ok(None);
        while at < end {
            begun = unshare_begin(cx, file, &mapping, at, end.since(at)).await;
            // None: the mapping is stale.
            let Ok(Some(folio)) = begun else { break };
            at += cx.with(|world| world.dirty_as_it_is(folio, FileRange::between(at, end)));
            begun = dirty::balance(cx, file, at, false).await.map(|()| None);
        }
        end_write_mapping(cx, file, &mapping, rest, at).await;
        begun?;
    }
    Ok(())
}

/// Whether there are shared blocks with bytes to copy (`iomap_want_unshare_iter`).
fn wants_copy(mapping: &Mapping) -> bool {
    let bytes = mapping.srcmap.is_some_and(|source| source.kind == MapType::Mapped);
    mapping.iomap.shared && bytes
}

impl<E: Env> World<E> {
    /// Marks what a locked folio holds of a range dirty and unlocks it; how many bytes.
    fn dirty_as_it_is(&mut self, folio: FolioId, range: FileRange) -> Bytes {
        let part = range.intersect(self.folio_range(folio));
        let offset = Offset::ZERO + part.start().since(self.folio_pos(folio));
        self.write_end(folio, offset, part.len(), part.len());
        self.unlock(folio);
        self.step(Rule::Unshared, [part.start().get(), part.len().get(), 0, 0]);
        part.len()
    }
}
