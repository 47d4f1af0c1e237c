//! Completed ioends that wait for a worker: sorted by file offset, neighbours become one
//! (`iomap_sort_ioends`, `iomap_ioend_try_merge`).

use crate::behaviour::{Behaviours, IoendMerge};
use crate::errno::Errno;
use crate::trace::rule::Rule;
use crate::trace::sink::Sink;
use crate::trace::step::Context;
use crate::units::{BioId, Bytes, DevAddr, Pos};
use crate::world::{Caller, Env, World};

/// An ioend whose I/O is complete.
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own in the kernel")]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompletedIoend {
    /// First byte of the file.
    pub pos: Pos,
    /// Bytes.
    pub len: Bytes,
    /// Where it lies on the device.
    pub addr: DevAddr,
    /// Its blocks are unwritten.
    pub unwritten: bool,
    /// Its blocks were shared.
    pub shared: bool,
    /// It must not be joined to the one before.
    pub boundary: bool,
    /// Its folios are to leave the cache.
    pub dontcache: bool,
    /// What the file system attached (`io_private`).
    pub private: String,
    /// How its I/O failed.
    pub error: Option<Errno>,
    /// Its bio, and those of the ioends that joined it.
    pub bios: Vec<BioId>,
}

impl CompletedIoend {
    fn takes(&self, next: &Self, behaviours: Behaviours) -> bool {
        let private = match behaviours.ioend_merge {
            IoendMerge::Flags => true,
            IoendMerge::Private => self.private == next.private,
        };
        private
            && !next.boundary
            && self.error == next.error
            && (self.unwritten, self.shared, self.dontcache)
                == (next.unwritten, next.shared, next.dontcache)
            && self.pos + self.len == next.pos
            && self.addr + self.len == next.addr
    }
}

/// Sorts and joins.
pub fn sort_and_merge(
    mut ioends: Vec<CompletedIoend>,
    behaviours: Behaviours,
) -> Vec<CompletedIoend> {
    ioends.sort_by_key(|ioend| ioend.pos);
    let mut out: Vec<CompletedIoend> = Vec::new();
    for next in ioends {
        match out.last_mut() {
            Some(last) if last.takes(&next, behaviours) => {
                last.len += next.len;
                last.bios.extend(next.bios);
            }
            Some(_) | None => out.push(next),
        }
    }
    out
}

impl<E: Env> World<E> {
    /// An ioend whose bio ended.
    fn completed(&self, id: BioId) -> CompletedIoend {
        let entry = self.bio(id);
        let (bio, head) = (&entry.bio, entry.bio.head);
        CompletedIoend {
            pos: bio.pos,
            len: bio.io_size,
            addr: bio.addr,
            unwritten: head.unwritten,
            shared: head.shared,
            boundary: head.boundary,
            dontcache: head.dontcache,
            private: String::new(),
            error: entry.error,
            bios: vec![id],
        }
    }
    /// The bio of an ioend ended: what changes the file system's records waits for the worker
    /// (`iomap_ioend_writeback_end_bio`, `xfs_end_bio`).
    pub(crate) fn ioend_ended(&mut self, id: BioId, deferred: bool) {
        if deferred {
            self.deferred.push(id);
        } else {
            let ioend = self.completed(id);
            self.finish_ioend(&ioend);
        }
    }
    /// The worker of each file takes what completed since it last ran, in the order of the file,
    /// and neighbours as one (`xfs_end_io`).
    pub(crate) fn run_workers(&mut self) {
        if !self.workers_wait {
            self.work();
        }
    }
    /// The same, whether or not the workers are held.
    pub(crate) fn work(&mut self) {
        if !self.deferred.is_empty() {
            self.finish_deferred();
        }
        if !self.dios.is_empty() {
            self.end_queued();
        }
    }
    fn finish_deferred(&mut self) {
        let caller = self.caller;
        let mut all = core::mem::take(&mut self.deferred);
        while let Some(first) = all.first() {
            let file = self.bio(*first).bio.head.file;
            let (mine, others) =
                all.into_iter().partition(|id| self.bio(*id).bio.head.file == file);
            all = others;
            let mine: Vec<BioId> = mine;
            let ended: Vec<CompletedIoend> = mine.iter().map(|id| self.completed(*id)).collect();
            for ioend in sort_and_merge(ended, self.behaviours()) {
                let task = self.bio(ioend.bios[0]).bio.task;
                self.caller = Caller { task, op: None, context: Context::Worker };
                if ioend.bios.len() > 1 {
                    let bios = ioend.bios.len() as u64;
                    self.step(Rule::IoendsMerged, [ioend.pos.get(), ioend.len.get(), bios, 0]);
                }
                self.finish_ioend(&ioend);
            }
        }
        self.caller = caller;
    }
    /// Records first, then the folios leave writeback (`iomap_finish_ioends`).
    fn finish_ioend(&mut self, ioend: &CompletedIoend) {
        let file = self.bio(ioend.bios[0]).bio.head.file;
        self.end_ioend(file, ioend);
        for id in &ioend.bios {
            let segs = self.bio(*id).bio.segs.clone();
            for seg in &segs {
                self.end_folio_piece(seg);
            }
            if !E::Sink::ON {
                self.bios.remove(id);
            }
        }
    }
}
