//! Opening a file to write on, with everything that could hurt refused before the first write.
//!
//! A symbolic link is never followed; an existing file needs `--overwrite`; a file with several
//! names, one behind a loop device, one that somebody else has locked, a folder and a device are
//! refused. `O_DIRECT` is switched on after opening, so that a file system without it leaves no
//! empty file behind.

use super::Target;
use super::memory::{Arena, Ring};
use super::plain::Plain;
use super::uring::Direct;
use crate::error::{Failure, Outcome, reason};
use folioscope_core::frames::FrameStore;
use folioscope_core::units::{Bytes, Offset, Pages, Pfn};
use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat, StatxFlags};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Free space that is left on the file system.
const RESERVE: u64 = 16 * 1024 * 1024;

/// What is wanted.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The file.
    pub(crate) path: PathBuf,
    /// Bytes that it will hold.
    pub(crate) size: Bytes,
    /// Block size of the engine: every transfer is a multiple of it, at a multiple of it.
    pub(crate) block: Bytes,
    /// I/Os in flight.
    pub(crate) depth: usize,
    /// The file may exist, and its content may be lost.
    pub(crate) overwrite: bool,
    /// Go through the kernel's page cache where `O_DIRECT` or `io_uring` is missing.
    pub(crate) buffered_fallback: bool,
}

/// A file that is ready, empty, and what it is.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The file. All its descriptors share one lock.
    file: File,
    /// Alignment of file positions, if it is open past the kernel's page cache.
    direct: Option<usize>,
    /// I/Os in flight.
    depth: usize,
    /// Where.
    pub(crate) path: PathBuf,
    /// Why it is an ordinary file, if it is.
    pub(crate) fallback: Option<String>,
    created: bool,
}

impl Opened {
    /// Takes bios. Called by the thread that will use it: a ring belongs to one thread.
    pub(crate) fn target(&self) -> Outcome<Target> {
        let fail = |error: io::Error| Failure::file("use", &self.path, &error);
        let file = self.file.try_clone().map_err(fail)?;
        let Some(align) = self.direct else {
            return Ok(Target::Plain(Plain::new(file)));
        };
        let ring = Ring::new(file, self.depth).map_err(fail)?;
        Ok(Target::Direct(Box::new(Direct::new(ring, align))))
    }
    /// Removes the file, if this run made it.
    pub(crate) fn remove_if_created(&self) {
        if self.created {
            // It is a courtesy on the way out of an error: that one is reported.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Opens the file, empties it and finds out how it can be written.
pub(crate) fn open(request: &Request) -> Outcome<Opened> {
    let (file, created) = open_guarded(request)?;
    match prepare(request, &file) {
        Ok(mode) => {
            let (direct, fallback) = match mode {
                Ok(align) => (Some(align), None),
                Err(missing) => (None, Some(missing)),
            };
            let (path, depth) = (request.path.clone(), request.depth);
            Ok(Opened { file, direct, depth, path, fallback, created })
        }
        Err(failure) => {
            if created {
                let _ = std::fs::remove_file(&request.path);
            }
            Err(failure)
        }
    }
}

fn open_guarded(request: &Request) -> Outcome<(File, bool)> {
    let path = &request.path;
    let shown = path.display();
    let fail = |error: rustix::io::Errno| Failure::file("open", path, &error.into());
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let before = match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(rustix::io::Errno::NOENT) => {
            let flags = flags | OFlags::CREATE | OFlags::EXCL;
            let fd = rustix::fs::open(path, flags, Mode::from_raw_mode(0o644)).map_err(fail)?;
            return Ok((File::from(fd), true));
        }
        Err(error) => return Err(fail(error)),
    };
    refuse_kind(path, &before)?;
    if !request.overwrite {
        return Err(Failure::usage(format!(
            "{shown} exists: name a file that does not, or add --overwrite to lose its content"
        )));
    }
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(fail)?);
    let now = rustix::fs::fstat(&file).map_err(fail)?;
    if (now.st_dev, now.st_ino) != (before.st_dev, before.st_ino) {
        return Err(Failure::environment(format!(
            "{shown} was exchanged while it was opened: leave it alone and start again"
        )));
    }
    refuse_kind(path, &now)?;
    refuse_loop_backing(path, &now)?;
    Ok((file, false))
}

fn refuse_kind(path: &Path, stat: &Stat) -> Outcome<()> {
    let shown = path.display();
    let what = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if stat.st_nlink > 1 => {
            format!("has {} names (hard links): copy it, or name another file", stat.st_nlink)
        }
        FileType::RegularFile => return Ok(()),
        FileType::Symlink => "is a symbolic link: name the file itself".to_owned(),
        FileType::Directory => "is a folder: name a file in it".to_owned(),
        FileType::BlockDevice => {
            "is a block device, and this version writes to regular files only: name a file"
                .to_owned()
        }
        FileType::CharacterDevice | FileType::Fifo | FileType::Socket | FileType::Unknown => {
            "is not a regular file: name a file".to_owned()
        }
    };
    Err(Failure::usage(format!("{shown} {what}")))
}

/// Refuses a file that is the disk of a loop device.
fn refuse_loop_backing(path: &Path, stat: &Stat) -> Outcome<()> {
    let Ok(devices) = std::fs::read_dir("/sys/block") else {
        return Ok(());
    };
    for device in devices.flatten() {
        let Ok(backing) = std::fs::read_to_string(device.path().join("loop/backing_file")) else {
            continue;
        };
        let same = rustix::fs::stat(backing.trim_end())
            .is_ok_and(|other| (other.st_dev, other.st_ino) == (stat.st_dev, stat.st_ino));
        if same {
            return Err(Failure::usage(format!(
                "{} is the disk of loop device {}: name another file",
                path.display(),
                device.file_name().display()
            )));
        }
    }
    Ok(())
}

/// Empties the file. The alignment of `O_DIRECT`, or why the file is an ordinary one.
fn prepare(request: &Request, file: &File) -> Outcome<Result<usize, String>> {
    let shown = request.path.display();
    let fail = |what: &str, error: io::Error| Failure::file(what, &request.path, &error);
    rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
        Failure::environment(format!("{shown} is in use by another program: wait for it to end"))
    })?;
    check_space(request, file)?;
    let clone = file.try_clone().map_err(|error| fail("open", error))?;
    let ring = || match Ring::new(clone, request.depth) {
        Ok(_) => None,
        Err(error) => Some(format!("io_uring is not available here ({})", reason(&error))),
    };
    let found = alignment(request, file)?;
    let mut missing = match found {
        Alignment::None => Some(format!("{shown} is on a file system without O_DIRECT")),
        Alignment::Is(_) | Alignment::Unknown => ring(),
    };
    allow_fallback(request, missing.as_deref())?;
    // What can be refused without trying has been; from here on old content is lost.
    file.set_len(0).map_err(|error| fail("empty", error))?;
    if let (None, Alignment::Unknown) = (&missing, &found) {
        // tmpfs, for one, takes O_DIRECT and says nothing about alignment: try.
        if let Err(error) = probe(file, request.block) {
            let why = reason(&error);
            missing = Some(format!("O_DIRECT does not work on the file system of {shown} ({why})"));
            allow_fallback(request, missing.as_deref())?;
        }
    }
    if let Some(missing) = missing {
        switch_direct(file, false).map_err(|error| fail("reopen", error.into()))?;
        return Ok(Err(missing));
    }
    let block = request.block.get() as usize;
    Ok(Ok(if let Alignment::Is(align) = found { align } else { block }))
}

fn allow_fallback(request: &Request, missing: Option<&str>) -> Outcome<()> {
    match missing {
        Some(missing) if !request.buffered_fallback => Err(Failure::environment(format!(
            "{missing}: name a file elsewhere (--target), or add --buffered-fallback to go through the kernel's own page cache"
        ))),
        Some(_) | None => Ok(()),
    }
}

fn check_space(request: &Request, file: &File) -> Outcome<()> {
    let fail = |error: rustix::io::Errno| {
        Failure::file("find the free space for", &request.path, &error.into())
    };
    let space = rustix::fs::fstatvfs(file).map_err(fail)?;
    let held = rustix::fs::fstat(file).map_err(fail)?.st_blocks.unsigned_abs() * 512;
    let free = space.f_bavail.saturating_mul(space.f_frsize).saturating_add(held);
    let needed = request.size.get().saturating_add(RESERVE);
    // A file system without blocks, such as ramfs, counts nothing.
    if free >= needed || space.f_blocks == 0 {
        return Ok(());
    }
    Err(Failure::environment(format!(
        "{} needs {} and {} to spare, but {} are free there: make size smaller or name a file elsewhere",
        request.path.display(),
        request.size,
        Bytes::new(RESERVE),
        Bytes::new(free)
    )))
}

fn switch_direct(file: &File, on: bool) -> rustix::io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    let flags = if on { flags | OFlags::DIRECT } else { flags - OFlags::DIRECT };
    rustix::fs::fcntl_setfl(file, flags - OFlags::NONBLOCK)
}

/// What the system says about `O_DIRECT` on a file.
enum Alignment {
    /// There is none.
    None,
    /// Nothing is said.
    Unknown,
    /// Positions are multiples of this.
    Is(usize),
}

/// Switches `O_DIRECT` on and asks what it needs.
fn alignment(request: &Request, file: &File) -> Outcome<Alignment> {
    if switch_direct(file, true).is_err() {
        return Ok(Alignment::None);
    }
    let stated = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
        .ok()
        .filter(|stat| stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0);
    let Some(stat) = stated else {
        return Ok(Alignment::Unknown);
    };
    let (memory, offset) = (stat.stx_dio_mem_align, stat.stx_dio_offset_align);
    if memory == 0 || offset == 0 {
        return Ok(Alignment::None);
    }
    // Frames are aligned to pages, and everything inside them to blocks.
    let block = request.block.get();
    for (align, what) in [(offset, "positions"), (memory, "memory")] {
        if !block.is_multiple_of(u64::from(align)) {
            return Err(Failure::usage(format!(
                "--block-size is {block} but O_DIRECT on {} needs {what} in multiples of {align}: use a multiple of it",
                request.path.display()
            )));
        }
    }
    Ok(Alignment::Is(offset as usize))
}

/// Writes one block at the start of the empty file and reads it back.
fn probe(file: &File, block: Bytes) -> io::Result<()> {
    let first = Pfn::new(0);
    let mut arena = Arena::new(block, block)?;
    arena.allocate(first, Pages::new(1)).map_err(|_| io::ErrorKind::OutOfMemory)?;
    let memory = arena.bytes_mut(first, Offset::ZERO, block);
    memory.fill(0xa5);
    file.write_all_at(memory, 0)?;
    memory.fill(0);
    file.read_exact_at(memory, 0)?;
    let same = memory.iter().all(|byte| *byte == 0xa5);
    file.set_len(0)?;
    if same { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}
