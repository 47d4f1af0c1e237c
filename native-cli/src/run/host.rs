//! The two hosts of a job: a real file, and a simulated device.

use super::content::{ByteModel, Difference, LAYOUT, fill};
use crate::error::{Failure, Outcome};
use crate::target::memory::Arena;
use crate::target::open::Opened;
use crate::target::{Done, Tag, Target};
use folioscope_core::device::sim::Sim;
use folioscope_core::engine::{Engine, Host};
use folioscope_core::errno::Errno;
use folioscope_core::frames::FrameStore;
use folioscope_core::units::{Bytes, DevAddr, FileId, Nanos, Offset, Pages, Pfn, Pos, Time};
use folioscope_core::world::{Effect, Env, FlushId};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;

/// Bytes that are laid out or compared at once.
const CHUNK: Bytes = Bytes::kib(1024);

/// What a job needs beside carrying out effects.
pub(super) trait JobHost<E: Env>: Host<E> {
    /// Writes the file before the job begins, past the engine.
    fn lay_out(&mut self, size: Bytes) -> Outcome<()>;
    /// Time since the host was made, real or simulated.
    fn now(&self) -> Time;
    /// Why the device can no longer be used.
    fn take_failure(&mut self) -> Option<Failure>;
    /// Compares what is stored with the model.
    fn verify(&mut self, engine: &Engine<E>, file: FileId, model: &ByteModel) -> Outcome<()>;
}

/// A real file.
pub(super) struct Real<'a> {
    opened: &'a Opened,
    target: Target,
    block: Bytes,
    began: Instant,
    done: Vec<Done>,
    flushes: Vec<(u64, FlushId)>,
    next_flush: u64,
    failure: Option<Failure>,
}

impl<'a> Real<'a> {
    /// Called by the thread of the job.
    pub(super) fn new(opened: &'a Opened, block: Bytes) -> Outcome<Self> {
        Ok(Self {
            opened,
            target: opened.target()?,
            block,
            began: Instant::now(),
            done: Vec::new(),
            flushes: Vec::new(),
            next_flush: 0,
            failure: None,
        })
    }
    fn report<E: Env>(&mut self, engine: &Engine<E>) {
        for Done { tag, result } in self.done.drain(..) {
            match tag {
                Tag::Bio(id) => engine.handle_bio_end(id, result),
                Tag::Flush(number) => {
                    let at = self.flushes.iter().position(|(known, _)| *known == number);
                    let (_, id) = self.flushes.swap_remove(at.expect("it was started"));
                    engine.handle_flush_end(id, result);
                }
            }
        }
    }
}

impl<E: Env<Frames = Arena>> Host<E> for Real<'_> {
    fn start(&mut self, engine: &Engine<E>, effect: Effect) {
        match effect {
            Effect::Submit(bio) => engine.with_frames(|arena| self.target.submit(arena, &bio)),
            Effect::Issue(request) => engine.with_frames(|arena| {
                request.bios.iter().for_each(|bio| self.target.submit(arena, bio));
            }),
            Effect::Flush(id) => {
                self.flushes.push((self.next_flush, id));
                engine.with_frames(|arena| self.target.flush(arena, self.next_flush));
                self.next_flush += 1;
            }
            Effect::SetSize(id, _, size) => {
                let result = self.target.set_size(size);
                engine.handle_flush_end(id, result);
            }
            // No target has zones.
            Effect::Zone(id, ..) => engine.handle_flush_end(id, Err(Errno::OpNotSupp)),
        }
    }
    fn wait(&mut self, engine: &Engine<E>) -> bool {
        if self.target.pending() == 0 {
            return false;
        }
        let reaped = engine.with_frames(|arena| self.target.reap(arena, true, &mut self.done));
        if let Err(failure) = reaped {
            self.failure = Some(failure);
            return false;
        }
        engine.handle_time(self.began.elapsed_time());
        self.report(engine);
        true
    }
}

/// Time since a moment, as the engine counts it.
trait ElapsedTime {
    fn elapsed_time(&self) -> Time;
}

impl ElapsedTime for Instant {
    fn elapsed_time(&self) -> Time {
        Time::ZERO + Nanos::new(self.elapsed().as_nanos() as u64)
    }
}

impl<E: Env<Frames = Arena>> JobHost<E> for Real<'_> {
    fn lay_out(&mut self, size: Bytes) -> Outcome<()> {
        let fail = |error: io::Error| Failure::file("lay out", &self.opened.path, &error);
        let file = self.target.file();
        with_buffer(|buffer| {
            let mut at = 0;
            while at < size.get() {
                let left = (size.get() - at).next_multiple_of(self.block.get());
                let part = &mut buffer[..left.min(CHUNK.get()) as usize];
                fill(part, Pos::new(at), LAYOUT);
                file.write_all_at(part, at)?;
                at += part.len() as u64;
            }
            file.set_len(size.get())?;
            file.sync_all()
        })
        .map_err(fail)
    }
    fn now(&self) -> Time {
        self.began.elapsed_time()
    }
    fn take_failure(&mut self) -> Option<Failure> {
        self.failure.take()
    }
    fn verify(&mut self, _engine: &Engine<E>, _file: FileId, model: &ByteModel) -> Outcome<()> {
        let direct = matches!(self.target, Target::Direct(_)).then(|| self.target.file());
        verify_file(&self.opened.path, direct, model)
    }
}

/// Compares a file with the model, through the kernel's page cache and, if there is such a
/// descriptor, past it.
pub(super) fn verify_file(path: &Path, direct: Option<&File>, model: &ByteModel) -> Outcome<()> {
    let fail = |error: io::Error| Failure::file("read back", path, &error);
    let plain = File::options()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .map_err(fail)?;
    if let Some(direct) = direct {
        let inode = |file: &File| file.metadata().map(|meta| (meta.dev(), meta.ino()));
        if inode(direct).map_err(fail)? != inode(&plain).map_err(fail)? {
            return Err(Failure::check(format!(
                "verify: {} was exchanged for another file during the run",
                path.display()
            )));
        }
    }
    let ways = [(direct, "with O_DIRECT"), (Some(&plain), "through the kernel's page cache")];
    for (file, how) in ways {
        let Some(file) = file else { continue };
        let difference = with_buffer(|buffer| model.compare(file, buffer)).map_err(fail)?;
        if let Some(difference) = difference {
            return Err(difference.failure(&path.display().to_string(), how));
        }
    }
    Ok(())
}

/// Memory that `O_DIRECT` takes.
fn with_buffer<T>(work: impl FnOnce(&mut [u8]) -> io::Result<T>) -> io::Result<T> {
    let mut arena = Arena::new(CHUNK, CHUNK)?;
    let whole = (Pfn::new(0), Offset::ZERO);
    arena.allocate(whole.0, Pages::new(1)).map_err(|_| io::ErrorKind::OutOfMemory)?;
    work(arena.bytes_mut(whole.0, whole.1, CHUNK))
}

impl<E: Env> JobHost<E> for Sim {
    fn lay_out(&mut self, size: Bytes) -> Outcome<()> {
        let mut part = vec![0; CHUNK.get() as usize];
        let mut at = 0;
        while at < size.get() {
            let len = (size.get() - at).min(CHUNK.get());
            fill(&mut part, Pos::new(at), LAYOUT);
            self.store_mut().write(DevAddr::new(at), &part[..len as usize]);
            at += len;
        }
        Ok(())
    }
    fn now(&self) -> Time {
        Self::now(self)
    }
    fn take_failure(&mut self) -> Option<Failure> {
        None
    }
    fn verify(&mut self, engine: &Engine<E>, file: FileId, model: &ByteModel) -> Outcome<()> {
        let stored = self.durable_bytes(engine, file);
        model.compare_bytes(&stored).map_or(Ok(()), |difference: Difference| {
            Err(difference.failure("the simulated file", "from the simulated device"))
        })
    }
}
