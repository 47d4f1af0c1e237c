//! Bios through `io_uring`: a limit on what is in flight, short transfers, the end of the file.

use super::memory::{Arena, Ring};
use super::{Done, Tag, Transfer, errno};
use crate::error::{Failure, Outcome, reason};
use folioscope_core::block::bio::{Bio, BioOp};
use folioscope_core::errno::Errno;
use std::collections::VecDeque;
use std::fs::File;

/// Work for the ring.
enum Work {
    Transfer(Transfer),
    Flush(u64),
}

/// A file behind `O_DIRECT`.
pub(crate) struct Direct {
    ring: Ring,
    waiting: VecDeque<Work>,
    /// What is in flight, by token.
    flying: Vec<Option<Work>>,
    /// Alignment of file positions, which tells the end of the file from a short transfer.
    align: usize,
}

impl Direct {
    pub(super) const fn new(ring: Ring, align: usize) -> Self {
        Self { ring, waiting: VecDeque::new(), flying: Vec::new(), align }
    }
    pub(super) const fn file(&self) -> &File {
        self.ring.file()
    }
    pub(super) fn pending(&self) -> usize {
        self.waiting.len() + self.ring.in_flight()
    }
    pub(super) fn submit(&mut self, arena: &mut Arena, bio: &Bio) {
        self.begin(arena, Work::Transfer(Transfer::new(arena, bio)));
    }
    pub(super) fn flush(&mut self, arena: &mut Arena, number: u64) {
        self.begin(arena, Work::Flush(number));
    }

    fn begin(&mut self, arena: &mut Arena, work: Work) {
        if !self.ring.has_room() {
            self.waiting.push_back(work);
            return;
        }
        let free = self.flying.iter().position(Option::is_none).unwrap_or(self.flying.len());
        if free == self.flying.len() {
            self.flying.push(None);
        }
        match &work {
            Work::Transfer(Transfer { op, at, spans, .. }) => {
                self.ring.start(arena, free as u64, *op, *at, spans);
            }
            Work::Flush(_) => self.ring.start_datasync(free as u64),
        }
        self.flying[free] = Some(work);
    }

    pub(super) fn reap(
        &mut self,
        arena: &mut Arena,
        wait: bool,
        done: &mut Vec<Done>,
    ) -> Outcome<()> {
        let before = done.len();
        loop {
            // A transfer that was short goes on, and then there is something to wait for again.
            let wait = wait && done.len() == before;
            self.ring.enter(wait).map_err(|error| {
                Failure::environment(format!("io_uring failed: {}", reason(&error)))
            })?;
            while let Some(landed) = self.ring.land(arena) {
                let work = self.flying[landed.token as usize].take().expect("it was in flight");
                done.extend(self.landed(arena, work, landed.result));
                if let Some(next) = self.waiting.pop_front() {
                    self.begin(arena, next);
                }
            }
            if done.len() > before || !wait || self.pending() == 0 {
                return Ok(());
            }
        }
    }

    /// What became of one piece of work; none if it goes on.
    fn landed(
        &mut self,
        arena: &mut Arena,
        work: Work,
        result: Result<usize, i32>,
    ) -> Option<Done> {
        let again = matches!(result, Err(libc::EINTR | libc::EAGAIN));
        if again {
            self.begin(arena, work);
            return None;
        }
        let mut transfer = match work {
            Work::Flush(number) => {
                let result = result.map(drop).map_err(|number| errno(Some(number)));
                return Some(Done { tag: Tag::Flush(number), result });
            }
            Work::Transfer(transfer) => transfer,
        };
        let finished = |result| Some(Done { tag: transfer.tag, result });
        let moved = match result {
            Ok(moved) => moved,
            Err(number) => return finished(Err(errno(Some(number)))),
        };
        if moved == transfer.left() {
            return finished(Ok(()));
        }
        let at_end = moved == 0 || !moved.is_multiple_of(self.align);
        match (transfer.op, at_end) {
            // Behind the end of a file there are zeroes.
            (BioOp::Read, true) => {
                transfer.advance(moved);
                for span in &transfer.spans {
                    arena.zero(*span);
                }
                Some(Done { tag: transfer.tag, result: Ok(()) })
            }
            (BioOp::Write, true) => finished(Err(Errno::Io)),
            (BioOp::Read | BioOp::Write, false) => {
                transfer.advance(moved);
                self.begin(arena, Work::Transfer(transfer));
                None
            }
        }
    }
}
