//! The rounds of a buffered write (`iomap_write_iter`): one folio each.
//!
//! A round is a few pieces of work on the world with points between at which it may have to wait,
//! or be held. Where it need not, the same pieces follow each other at once
//! ([`World::write_ready`]).

use super::truncate::eof_moved;
use super::write::{reserved_in_vain, write_begin};
use crate::behaviour::FirstAccess;
use crate::cache::folio::FolioFlags;
use crate::counters::Counter;
use crate::engine::{Cx, WriteFlags};
use crate::errno::Errno;
use crate::frames::UserSource;
use crate::iomap::{Intent, MapType, Mapping};
use crate::locks::{Lock, Mode};
use crate::stops::StopPoint;
use crate::trace::rule::Rule;
use crate::units::{Bytes, FileId, FileRange, FolioId, Offset, Pos};
use crate::world::{Env, World};

/// How the work on one mapping went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// The mapping, or the request, is used up.
    Mapping,
    /// The mapping no longer says the truth and must be asked for again.
    Stale,
}

/// A write on its way through one mapping.
pub(super) struct Walk<'a> {
    mapping: &'a Mapping,
    file: FileId,
    /// All of the request.
    range: FileRange,
    /// Up to here it is done.
    pub(super) at: Pos,
    flags: WriteFlags,
    /// Into how large pieces it is cut.
    chunk: Bytes,
    /// After a copy that fell short: what was copied.
    shorter: Option<Bytes>,
}

/// What a round copied: the part of the file that it is about, and how much of it was copied.
type Copied = (FileRange, Bytes);

/// Copies as much as one mapping allows, a folio at a time.
pub(super) async fn write_mapping<E: Env>(
    cx: &Cx<'_, E>,
    walk: &mut Walk<'_>,
    source: &mut dyn UserSource,
) -> Result<Progress, Errno> {
    let (mapping, file) = (walk.mapping, walk.file);
    loop {
        if !cx.engine.stops.any() {
            cx.with(|world| world.write_ready(walk, None, source))?;
            if walk.at == walk.range.end() {
                return Ok(Progress::Mapping);
            }
        }
        let Some(bytes) = cx.with(|world| world.next_piece(walk, source))? else {
            return Ok(Progress::Mapping);
        };
        let begun = write_begin(cx, file, mapping, walk.at, (bytes, walk.flags)).await?;
        let Some(folio) = begun else { return Ok(Progress::Stale) };
        let copied = cx.with(|world| world.copy_piece(walk, folio, bytes, source));
        cx.reach(StopPoint::AfterCopy, |_| copied.0).await;
        let accepted = cx.with(|world| world.end_piece(walk, folio, copied));
        cx.reach(StopPoint::AfterWriteEnd, |_| copied.0).await;
        let mut old_size = walk.at;
        if accepted {
            old_size = cx.with(|world| world.accept_piece(walk, copied));
            cx.reach(StopPoint::AfterSizeUpdate, |_| copied.0).await;
        }
        cx.with(|world| world.unlock(folio));
        if !copied.1.is_zero() && old_size < walk.at {
            eof_moved(cx, file, old_size, walk.at).await;
        }
        cx.with(|world| world.end_round(walk, copied, accepted));
    }
}

impl<E: Env> World<E> {
    /// A write of `range` that begins to use a mapping at `at`.
    pub(super) fn walk<'a>(
        &self,
        mapping: &'a Mapping,
        (file, range): (FileId, FileRange),
        at: Pos,
        flags: WriteFlags,
    ) -> Walk<'a> {
        let chunk = self.write_chunk(file);
        Walk { mapping, file, range, at, flags, chunk, shorter: None }
    }
    /// Does what is left of a write at once, up to the end of the first mapping, if one folio holds
    /// it that need not be waited for; none, and nothing was done, if not.
    pub(super) fn write_in_one(
        &mut self,
        (file, range): (FileId, FileRange),
        at: &mut Pos,
        flags: WriteFlags,
        source: &mut dyn UserSource,
    ) -> Option<Result<Progress, Errno>> {
        let folio = self.ready_folio(file, *at, flags)?;
        let rest = FileRange::between(*at, range.end());
        // Space that a mapping reserves in vain is given back under this lock.
        if !self.file(file).locks[Lock::Invalidate as usize].is_idle() {
            return None;
        }
        let metadata = self.file(file).provider.metadata_for(rest, Intent::Write);
        if metadata.is_some() || self.folio_range(folio).end() < rest.end() {
            return None;
        }
        let mapping = match self.begin(file, rest, Intent::Write) {
            Ok(mapping) => mapping,
            Err(errno) => return Some(Err(errno)),
        };
        let mut walk = self.walk(&mapping, (file, range), *at, flags);
        let status = self.write_ready(&mut walk, Some(folio), source);
        *at = walk.at;
        let locked = reserved_in_vain(&mapping, rest, *at)
            && self.take_lock(file, Lock::Invalidate, Mode::Exclusive);
        self.end_mapping(file, &mapping, rest, *at);
        if locked {
            self.leave_lock(file, Lock::Invalidate);
        }
        Some(status.map(|()| Progress::Mapping))
    }
    /// Rounds that need not wait, as many as follow each other; `first` is the folio of the first,
    /// if it is known.
    fn write_ready(
        &mut self,
        walk: &mut Walk,
        mut first: Option<FolioId>,
        source: &mut dyn UserSource,
    ) -> Result<(), Errno> {
        let Walk { mapping, file, range, flags, .. } = *walk;
        if !self.file(file).provider.is_valid(&mapping.iomap) {
            return Ok(());
        }
        let end = range.end().min(mapping.end());
        while walk.at < end
            && let Some(folio) = first.take().or_else(|| self.ready_folio(file, walk.at, flags))
            && let Some(bytes) = self.next_piece(walk, source)?
        {
            self.raise(folio, FolioFlags::LOCKED);
            self.found_used(folio);
            self.found(folio, self.geometry().page_floor(walk.at), flags);
            if mapping.source().kind != MapType::Inline {
                let edges = self.edges_of(folio, walk.at, (bytes, flags.nowait, false))?;
                debug_assert_eq!(edges, None, "the folio is uptodate");
            }
            let copied = self.copy_piece(walk, folio, bytes, source);
            let accepted = self.end_piece(walk, folio, copied);
            if accepted {
                self.accept_piece(walk, copied);
            }
            self.unlock(folio);
            self.end_round(walk, copied, accepted);
        }
        Ok(())
    }
    /// The folio that holds `at`, if a write need neither wait for it nor read any of it, and does
    /// not move EOF away from older bytes.
    fn ready_folio(&self, file: FileId, at: Pos, flags: WriteFlags) -> Option<FolioId> {
        let inode = self.file(file);
        if flags.nowait || inode.size < at {
            return None;
        }
        let folio = inode.mapping.find(self.geometry().page_floor(at))?;
        let has = self.folios.at(folio).flags;
        let free = !has.has(FolioFlags::LOCKED) && !self.must_stay_stable(folio);
        (free && has.has(FolioFlags::UPTODATE)).then_some(folio)
    }
    /// How much is tried next, once it was asked whether too much is dirty and the user memory was
    /// made present; none if the mapping, or the request, is used up.
    fn next_piece(
        &mut self,
        walk: &mut Walk,
        source: &mut dyn UserSource,
    ) -> Result<Option<Bytes>, Errno> {
        let Walk { range, at, .. } = *walk;
        let left = range.end().since(at);
        let in_mapping = walk.mapping.left(at, left);
        if in_mapping.is_zero() {
            return Ok(None);
        }
        self.balance_dirty(walk.file, at, walk.flags.nowait)?;
        let offset = self.geometry().in_chunk(at, walk.chunk).since(Offset::ZERO);
        let most = walk.shorter.take().unwrap_or(left);
        let bytes = (walk.chunk - offset).min(most).min(in_mapping);
        let user = Offset::ZERO + at.since(range.start());
        let present = source.fault_in(user, bytes);
        let touches = self.user_touches(user, (bytes, present));
        self.count(Counter::FaultInBytes, bytes.get());
        self.count(Counter::UserTouches, touches);
        self.step(Rule::FaultedIn, [user.get(), bytes.get(), present.get(), touches]);
        if present.is_zero() { Err(Errno::Fault) } else { Ok(Some(bytes)) }
    }
    /// Copies from user memory into a locked folio.
    fn copy_piece(
        &mut self,
        walk: &Walk,
        folio: FolioId,
        bytes: Bytes,
        source: &mut dyn UserSource,
    ) -> Copied {
        let pos = walk.at;
        let part = FileRange::between(pos, pos + bytes).intersect(self.folio_range(folio));
        let offset = Offset::ZERO + pos.since(self.folio_pos(folio));
        let user = Offset::ZERO + pos.since(walk.range.start());
        let copied = source.copy_in(user, self.folio_bytes_mut(folio, offset, part.len()));
        self.count(Counter::CopyAttempts, 1);
        self.step(Rule::Copied, [pos.get(), part.len().get(), copied.get(), 0]);
        if self.behaviours().first_access == FirstAccess::MarkAfterVisible {
            self.mark_accessed(folio);
        }
        (part, copied)
    }
    /// Marks what was copied; false if the copy cannot be used.
    fn end_piece(&mut self, walk: &Walk, folio: FolioId, (part, copied): Copied) -> bool {
        let offset = Offset::ZERO + part.start().since(self.folio_pos(folio));
        if walk.mapping.iomap.kind == MapType::Inline {
            self.write_end_inline(walk.file, folio, offset, copied);
            return true;
        }
        self.write_end(folio, offset, part.len(), copied)
    }
    /// The bytes are the file's now; how large it was before.
    fn accept_piece(&mut self, walk: &Walk, (part, copied): Copied) -> Pos {
        let old_size = self.file(walk.file).size;
        self.count(Counter::AppWritten, copied.get());
        self.grow(walk.file, part.start() + copied);
        old_size
    }
    /// Goes on behind what was copied, or tries again with less.
    fn end_round(&mut self, walk: &mut Walk, (part, copied): Copied, accepted: bool) {
        if accepted && !copied.is_zero() {
            walk.at += copied;
            return;
        }
        self.write_failed(walk.file, part);
        if walk.chunk > self.geometry().page_size() {
            walk.chunk = Bytes::new(walk.chunk.get() / 2);
        }
        walk.shorter = (!copied.is_zero()).then_some(copied);
    }
}
