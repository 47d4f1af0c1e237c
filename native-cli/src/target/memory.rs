//! The one module with `unsafe`: memory that the kernel reads and writes while this program runs.
//!
//! [`Arena`] is the memory of the page cache: one anonymous mapping, 2 MiB aligned and advised to
//! use huge pages, frame `n` at byte `n * page_size`. [`Ring`] hands stretches of it to `io_uring`.
//!
//! Why this is sound:
//!
//! 1. *Nobody else touches what is in flight.* By the engine's rules a folio that is read is
//!    locked, and one that is written is under writeback and, with `stable_writes` (always on
//!    here), is not written into. Safe code does not have to trust that: every stretch in flight is
//!    noted in the arena, and an access that would conflict (any access while the kernel writes, a
//!    change while the kernel reads) panics before a reference to it exists.
//! 2. *The memory outlives the I/O.* Each I/O in flight holds a share of the mapping, which is
//!    unmapped when the last share goes. [`Ring`] waits for what is in flight when it is dropped;
//!    where even that fails, the share is leaked.
//! 3. *The kernel stays in bounds.* Stretches are checked against the mapping when they are noted;
//!    the file is owned by the ring; `iovec`s live in the entry until completion.
//! 4. References are made to the asked stretch only, from the mapping's raw address, so two
//!    stretches that do not overlap never alias.
//!
//! Besides, one system call that no crate offers: [`clone_range`].
#![allow(unsafe_code)]

use folioscope_core::block::bio::{BioOp, BioVec};
use folioscope_core::errno::Errno;
use folioscope_core::frames::FrameStore;
use folioscope_core::units::{Bytes, Offset, Pages, Pfn};
use io_uring::{IoUring, opcode, squeue, types};
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::rc::Rc;

/// What `FICLONERANGE` takes (`struct file_clone_range`).
#[repr(C)]
struct CloneRange {
    source: i64,
    from: u64,
    len: u64,
    to: u64,
}

/// Gives `file` the `len` bytes of `source` from `from` on, at `to`, so that both have the same
/// blocks (`FICLONERANGE`); up to the end of the source where `len` is zero.
pub(crate) fn clone_range(
    file: &File,
    source: &File,
    (from, len, to): (u64, u64, u64),
) -> rustix::io::Result<()> {
    const CODE: rustix::ioctl::Opcode = rustix::ioctl::opcode::write::<CloneRange>(0x94, 13);
    let range = CloneRange { source: i64::from(source.as_raw_fd()), from, len, to };
    // SAFETY: the kernel takes this structure for this number, reads it during the call, and
    // changes no memory of this program; both files are open as long as it lasts.
    unsafe { rustix::ioctl::ioctl(file, rustix::ioctl::Setter::<CODE, CloneRange>::new(range)) }
}

/// Size and alignment of a huge page.
const HUGE: usize = 2 * 1024 * 1024;

/// An anonymous mapping; `base` is aligned inside it.
#[derive(Debug)]
struct Map {
    whole: NonNull<u8>,
    whole_len: usize,
    base: NonNull<u8>,
    len: usize,
}

impl Map {
    fn new(len: usize) -> io::Result<Self> {
        let len = len.max(1).next_multiple_of(HUGE);
        let whole_len = len + HUGE;
        let (prot, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new anonymous mapping at an address that the kernel chooses touches no memory
        // that is in use.
        let whole = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                whole_len,
                prot,
                flags | MapFlags::NORESERVE,
            )?
        };
        let whole = NonNull::new(whole.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let skip = whole.as_ptr().align_offset(HUGE);
        // SAFETY: `skip < HUGE`, and the mapping is `HUGE` longer than `len`.
        let base = unsafe { whole.add(skip) };
        // SAFETY: the range lies in the mapping made above, and the advice changes no content.
        // It is advice: a kernel without huge pages refuses it, and all works as before.
        let _ = unsafe { rustix::mm::madvise(base.as_ptr().cast(), len, Advice::LinuxHugepage) };
        Ok(Self { whole, whole_len, base, len })
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: exactly what `new` mapped, once; nobody holds a share any more.
        let _ = unsafe { rustix::mm::munmap(self.whole.as_ptr().cast(), self.whole_len) };
    }
}

/// A stretch of the arena, in bytes from its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    start: usize,
    len: usize,
}

impl Span {
    /// Bytes.
    pub(crate) const fn len(self) -> usize {
        self.len
    }
    /// What is left behind its first `n` bytes.
    pub(crate) const fn behind(self, n: usize) -> Self {
        Self { start: self.start + n, len: self.len - n }
    }
    const fn end(self) -> usize {
        self.start + self.len
    }
}

/// Stretches of one I/O in flight.
#[derive(Debug)]
struct Pin {
    kernel_writes: bool,
    spans: Vec<Span>,
}

/// The memory of a page cache.
#[derive(Debug)]
pub(crate) struct Arena {
    map: Rc<Map>,
    page: usize,
    /// Bytes that were handed out at least once, so that they may hold old content.
    used: usize,
    pins: Vec<Option<Pin>>,
    /// For each page, how many stretches in flight touch it.
    busy: Vec<u16>,
}

impl Arena {
    /// Room for `capacity` bytes in frames of `page` bytes. Memory is taken when it is used.
    pub(crate) fn new(page: Bytes, capacity: Bytes) -> io::Result<Self> {
        let (page, capacity) = (page.get() as usize, capacity.get() as usize);
        let map = Rc::new(Map::new(capacity)?);
        let busy = vec![0; map.len / page];
        Ok(Self { map, page, used: 0, pins: Vec::new(), busy })
    }

    /// The stretch that a bio names.
    pub(crate) fn span(&self, vec: &BioVec) -> Span {
        self.checked(vec.pfn, vec.offset, vec.len)
    }

    /// Fills a stretch with zeroes.
    pub(crate) fn zero(&mut self, span: Span) {
        self.slice_mut(span).fill(0);
    }

    fn checked(&self, first: Pfn, offset: Offset, len: Bytes) -> Span {
        let start = first.get() as usize * self.page + offset.get() as usize;
        let span = Span { start, len: len.get() as usize };
        let inside = start.checked_add(span.len).is_some_and(|end| end <= self.map.len);
        assert!(inside, "{span:?} lies outside the arena of {} bytes", self.map.len);
        span
    }

    /// Panics if the kernel may be using the stretch in a way that conflicts.
    fn assert_free(&self, span: Span, change: bool) {
        let pages = span.start / self.page..span.end().div_ceil(self.page);
        if self.busy[pages].iter().all(|count| *count == 0) {
            return;
        }
        for pin in self.pins.iter().flatten().filter(|pin| change || pin.kernel_writes) {
            let hit = pin.spans.iter().find(|s| s.start < span.end() && span.start < s.end());
            assert!(hit.is_none(), "{span:?} is in flight: {hit:?}");
        }
    }

    fn slice(&self, span: Span) -> &[u8] {
        self.assert_free(span, false);
        // SAFETY: in bounds (`checked`), initialised (the kernel zeroes fresh memory), and neither
        // the kernel (`assert_free`) nor a `&mut` (which would borrow `self`) changes it meanwhile.
        unsafe { std::slice::from_raw_parts(self.map.base.as_ptr().add(span.start), span.len) }
    }

    fn slice_mut(&mut self, span: Span) -> &mut [u8] {
        self.assert_free(span, true);
        // SAFETY: as in `slice`; `self` is borrowed exclusively, and the kernel does not read it.
        unsafe { std::slice::from_raw_parts_mut(self.map.base.as_ptr().add(span.start), span.len) }
    }

    /// Notes stretches as in flight.
    fn pin(&mut self, spans: &[Span], kernel_writes: bool) -> usize {
        for span in spans {
            assert!(span.end() <= self.map.len, "{span:?} lies outside the arena");
            self.assert_free(*span, kernel_writes);
            for page in span.start / self.page..span.end().div_ceil(self.page) {
                self.busy[page] += 1;
            }
        }
        let pin = Some(Pin { kernel_writes, spans: spans.to_vec() });
        let free = self.pins.iter().position(Option::is_none).unwrap_or(self.pins.len());
        if free == self.pins.len() {
            self.pins.push(pin);
        } else {
            self.pins[free] = pin;
        }
        free
    }

    fn unpin(&mut self, pin: usize) {
        let pin = self.pins[pin].take().expect("it was pinned");
        for span in pin.spans {
            for page in span.start / self.page..span.end().div_ceil(self.page) {
                self.busy[page] -= 1;
            }
        }
    }
}

impl FrameStore for Arena {
    fn allocate(&mut self, first: Pfn, count: Pages) -> Result<(), Errno> {
        let bytes = |pages: u64| pages.checked_mul(self.page as u64);
        let start = bytes(first.get()).ok_or(Errno::NoMem)?;
        let len = bytes(count.get()).ok_or(Errno::NoMem)?;
        let end = start.checked_add(len).filter(|end| *end <= self.map.len as u64);
        let (start, end) = (start as usize, end.ok_or(Errno::NoMem)? as usize);
        if start < self.used {
            self.zero(Span { start, len: end.min(self.used) - start });
        }
        self.used = self.used.max(end);
        Ok(())
    }
    fn release(&mut self, first: Pfn, count: Pages) {
        let len = Bytes::new(count.get() * self.page as u64);
        self.assert_free(self.checked(first, Offset::ZERO, len), true);
    }
    fn bytes(&self, first: Pfn, offset: Offset, len: Bytes) -> &[u8] {
        self.slice(self.checked(first, offset, len))
    }
    fn bytes_mut(&mut self, first: Pfn, offset: Offset, len: Bytes) -> &mut [u8] {
        let span = self.checked(first, offset, len);
        self.slice_mut(span)
    }
}

/// What an I/O in flight keeps alive.
struct Flying {
    token: u64,
    /// The mapping and the pin of its stretches; none for a flush.
    memory: Option<(Rc<Map>, usize)>,
    _iovecs: Vec<libc::iovec>,
}

/// What came back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Landed {
    /// The number that was given at the start.
    pub(crate) token: u64,
    /// Bytes, or the number of an error.
    pub(crate) result: Result<usize, i32>,
}

/// An `io_uring` on one file.
pub(crate) struct Ring {
    uring: IoUring,
    file: File,
    depth: usize,
    flying: Vec<Option<Flying>>,
    in_flight: usize,
}

impl Ring {
    /// A ring with up to `depth` I/Os in flight.
    pub(crate) fn new(file: File, depth: usize) -> io::Result<Self> {
        let entries = depth as u32;
        // Completions are only wanted when the ring is entered: newer kernels need not interrupt.
        let uring = IoUring::builder()
            .setup_single_issuer()
            .setup_coop_taskrun()
            .build(entries)
            .or_else(|_| IoUring::new(entries))?;
        Ok(Self { uring, file, depth, flying: Vec::new(), in_flight: 0 })
    }
    /// The file.
    pub(crate) const fn file(&self) -> &File {
        &self.file
    }
    /// I/Os in flight.
    pub(crate) const fn in_flight(&self) -> usize {
        self.in_flight
    }
    /// Whether another I/O may start.
    pub(crate) const fn has_room(&self) -> bool {
        self.in_flight < self.depth
    }

    /// Starts a transfer between the file, from byte `at`, and stretches of the arena.
    pub(crate) fn start(
        &mut self,
        arena: &mut Arena,
        token: u64,
        op: BioOp,
        at: u64,
        spans: &[Span],
    ) {
        let pin = arena.pin(spans, op == BioOp::Read);
        let iovecs: Vec<libc::iovec> = spans
            .iter()
            .map(|span| libc::iovec {
                // SAFETY: `pin` checked that the stretch lies in the mapping.
                iov_base: unsafe { arena.map.base.as_ptr().add(span.start) }.cast(),
                iov_len: span.len,
            })
            .collect();
        let (fd, list, count) =
            (types::Fd(self.file.as_raw_fd()), iovecs.as_ptr(), iovecs.len() as u32);
        let entry = match op {
            BioOp::Read => opcode::Readv::new(fd, list, count).offset(at).build(),
            BioOp::Write => opcode::Writev::new(fd, list, count).offset(at).build(),
        };
        // The heap part of `iovecs`, which `list` points to, stays where it is when moved.
        let memory = Some((Rc::clone(&arena.map), pin));
        self.push(entry, Flying { token, memory, _iovecs: iovecs });
    }

    /// Starts making the file's data durable.
    pub(crate) fn start_datasync(&mut self, token: u64) {
        let entry = opcode::Fsync::new(types::Fd(self.file.as_raw_fd()))
            .flags(types::FsyncFlags::DATASYNC)
            .build();
        self.push(entry, Flying { token, memory: None, _iovecs: Vec::new() });
    }

    fn push(&mut self, entry: squeue::Entry, flying: Flying) {
        assert!(self.has_room(), "{} I/Os are in flight already", self.in_flight);
        let free = self.flying.iter().position(Option::is_none).unwrap_or(self.flying.len());
        if free == self.flying.len() {
            self.flying.push(None);
        }
        self.flying[free] = Some(flying);
        self.in_flight += 1;
        // SAFETY: the memory, its `iovec`s and the file that the entry names stay valid until its
        // completion is seen: `flying` holds the first two, `self` the file (see the top).
        let pushed = unsafe { self.uring.submission().push(&entry.user_data(free as u64)) };
        pushed.expect("the queue has room for `depth` entries");
    }

    /// Hands what was started to the kernel; with `wait`, sleeps until something has landed.
    pub(crate) fn enter(&mut self, wait: bool) -> io::Result<()> {
        let wait = wait && self.in_flight > 0 && self.uring.completion().is_empty();
        loop {
            let entered = self.uring.submit_and_wait(usize::from(wait));
            match entered {
                Ok(_) => return Ok(()),
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                // The kernel wants completions to be taken first.
                Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY)) => {
                    if !self.uring.completion().is_empty() {
                        return Ok(());
                    }
                    std::thread::yield_now();
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes one I/O that has landed. `arena` is the one that it was started with.
    pub(crate) fn land(&mut self, arena: &mut Arena) -> Option<Landed> {
        let (Flying { token, memory, .. }, result) = self.take()?;
        if let Some((map, pin)) = memory {
            assert!(Rc::ptr_eq(&map, &arena.map), "another arena than at the start");
            arena.unpin(pin);
        }
        Some(Landed { token, result })
    }

    fn take(&mut self) -> Option<(Flying, Result<usize, i32>)> {
        let done = self.uring.completion().next()?;
        let flying = self.flying[done.user_data() as usize].take().expect("it was in flight");
        self.in_flight -= 1;
        Some((flying, usize::try_from(done.result()).map_err(|_| -done.result())))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        while self.in_flight > 0 {
            if self.enter(true).is_err() {
                // The kernel may still use the memory: never unmap it.
                std::mem::forget(std::mem::take(&mut self.flying));
                return;
            }
            while self.take().is_some() {}
        }
    }
}
