//! Streams on real files of this kernel: the same operations as system calls, the same checks.
//!
//! Left out, and said so: mappings and their syncs (they would need memory that the kernel changes
//! behind our back), `sync_file_range`, reclaim, every mode of `fallocate` that the file system
//! does not know, and direct I/O and cloning where there is none.

use super::FuzzArgs;
use super::report::{progress_bar, report};
use crate::error::{Failure, Outcome, reason};
use crate::out::{self, Unfinished};
use crate::signal;
use crate::target::memory::clone_range;
use folioscope_core::engine::{ReadFlags, WriteFlags};
use folioscope_core::errno::Errno;
use folioscope_core::geometry::Geometry;
use folioscope_core::ops::OpResult;
use folioscope_core::ops::advise::Advice;
use folioscope_core::ops::fallocate::FallocMode;
use folioscope_core::ops::readahead::Pattern;
use folioscope_core::scenario::random::Random;
use folioscope_core::scenario::{Action, Scenario};
use folioscope_core::streams::expect::{Abilities, Expectation, Shapes};
use folioscope_core::streams::generate::Generator;
use folioscope_core::streams::model::Model;
use folioscope_core::streams::worlds::World;
use folioscope_core::streams::{Failure as Wrong, Step, Subject, put_steps, replay, run, steps_of};
use folioscope_core::units::{Bytes, FileId, Order, Pos};
use rustix::fs::{FallocateFlags, SeekFrom};
use rustix::io::ReadWriteFlags;
use std::fs::File;
use std::io::{IoSlice, IoSliceMut};
use std::num::NonZeroU64;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Bytes of a page, as far as positions are chosen near its edges.
const PAGE: u64 = 4096;
/// What `statfs` says of XFS.
const XFS: i64 = 0x5846_5342;
/// `RWF_DONTCACHE` (6.14).
const DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

/// Modes with their flags and names.
const MODES: [(FallocMode, FallocateFlags, &str); 8] = [
    (FallocMode::Allocate, FallocateFlags::empty(), "allocate"),
    (FallocMode::AllocateKeepSize, FallocateFlags::KEEP_SIZE, "keep size"),
    (FallocMode::Punch, FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE), "punch"),
    (FallocMode::Zero, FallocateFlags::ZERO_RANGE, "zero"),
    (
        FallocMode::ZeroKeepSize,
        FallocateFlags::ZERO_RANGE.union(FallocateFlags::KEEP_SIZE),
        "zero and keep size",
    ),
    (FallocMode::Collapse, FallocateFlags::COLLAPSE_RANGE, "collapse"),
    (FallocMode::Insert, FallocateFlags::INSERT_RANGE, "insert"),
    (FallocMode::Unshare, FallocateFlags::UNSHARE_RANGE, "unshare"),
];

/// What the file system of a folder can do.
#[allow(clippy::struct_excessive_bools, reason = "each is an ability of its own")]
#[derive(Clone, Debug)]
struct Able {
    block: u64,
    modes: Vec<FallocMode>,
    nowait_writes: bool,
    nowait_reads: bool,
    dontcache: bool,
    /// What direct I/O must be whole multiples of, where there is any.
    sector: Option<u64>,
    reflink: bool,
    /// XFS looks at the alignment of a whole direct write before it begins.
    sector_first: bool,
}

/// Files of this kernel, each opened twice: the second time for direct I/O, if there is any.
struct Real<'a> {
    files: Vec<(File, Option<File>)>,
    able: &'a Able,
    memory: Aligned,
}

/// Memory for direct I/O, which wants it aligned.
#[derive(Default)]
struct Aligned(Vec<u8>);

impl Aligned {
    /// So many bytes of it.
    fn part(&mut self, len: usize) -> &mut [u8] {
        let most = len + PAGE as usize;
        if self.0.len() < most {
            self.0.resize(most, 0);
        }
        let start = self.0.as_ptr().align_offset(PAGE as usize);
        &mut self.0[start..start + len]
    }
}

/// Opens a file once more, past the cache; none: it cannot be.
fn open_direct(file: &File) -> Option<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::DIRECT;
    rustix::fs::open(path, flags, rustix::fs::Mode::empty()).ok().map(File::from)
}

/// The smallest power of two that direct reads and writes may be multiples of.
fn sector_of(file: &File) -> Option<u64> {
    let direct = open_direct(file)?;
    let mut memory = Aligned::default();
    (9..=16).map(|bits| 1u64 << bits).find(|unit| {
        let part = memory.part(*unit as usize);
        rustix::io::pread(&direct, &mut *part, *unit).is_ok()
            && rustix::io::pwrite(&direct, &*part, *unit).is_ok()
    })
}

fn flags_of(mode: FallocMode) -> FallocateFlags {
    let found = MODES.iter().find(|(known, ..)| *known == mode);
    found.map_or(FallocateFlags::empty(), |(_, flags, _)| *flags)
}

impl Able {
    /// Tries everything on a file of its own.
    fn probe(folder: &Path) -> Outcome<Self> {
        let fail = |error: std::io::Error| Failure::file("make a file in", folder, &error);
        let file = tempfile::tempfile_in(folder).map_err(fail)?;
        let stat = rustix::fs::fstatvfs(&file).map_err(|error| fail(error.into()))?;
        let block = stat.f_bsize.clamp(512, 1 << 16);
        rustix::io::pwrite(&file, &vec![1; 4 << 16], 0).map_err(|error| fail(error.into()))?;
        let works = |mode: &&(FallocMode, FallocateFlags, &str)| {
            rustix::fs::fallocate(&file, mode.1, block, block).is_ok()
        };
        let modes = MODES.iter().filter(works).map(|(mode, ..)| *mode).collect();
        let takes = |flags| {
            let wrote = rustix::io::pwritev2(&file, &[IoSlice::new(&[1])], 0, flags);
            !matches!(wrote, Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::INVAL))
        };
        let reads = |flags| {
            let read = rustix::io::preadv2(&file, &mut [IoSliceMut::new(&mut [0])], 0, flags);
            !matches!(read, Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::INVAL))
        };
        let other = tempfile::tempfile_in(folder).map_err(fail)?;
        let kind = rustix::fs::fstatfs(&file).map_err(|error| fail(error.into()))?.f_type;
        Ok(Self {
            block,
            sector: sector_of(&file),
            reflink: clone_range(&other, &file, (0, block, 0)).is_ok(),
            sector_first: kind == XFS,
            modes,
            nowait_writes: takes(ReadWriteFlags::NOWAIT),
            nowait_reads: reads(ReadWriteFlags::NOWAIT),
            dontcache: takes(DONTCACHE) && reads(DONTCACHE),
        })
    }
    /// What is left out here, as people read it.
    fn missing(&self) -> String {
        let mut all = vec!["mappings", "sync_file_range", "reclaim"];
        let lacks = |(mode, ..): &&(FallocMode, FallocateFlags, &str)| !self.modes.contains(mode);
        all.extend(MODES.iter().filter(lacks).map(|(.., name)| *name));
        for (name, has) in [
            ("RWF_NOWAIT of writes", self.nowait_writes),
            ("RWF_NOWAIT of reads", self.nowait_reads),
            ("RWF_DONTCACHE", self.dontcache),
            ("O_DIRECT", self.sector.is_some()),
            ("FICLONERANGE", self.reflink),
        ] {
            all.extend((!has).then_some(name));
        }
        all.join(", ")
    }
    fn world(&self) -> World {
        World::real(PAGE, self.block, self.reflink)
    }
    fn abilities(&self) -> Outcome<Abilities> {
        let order = Order::new((self.block / PAGE).max(1).ilog2() as u8);
        let geometry = Geometry::new(Bytes::new(PAGE), Bytes::new(self.block), order);
        let geometry = geometry.map_err(|error| Failure::environment(error.to_string()))?;
        let sector = Bytes::new(self.sector.unwrap_or(self.block));
        let links = self.reflink;
        Ok(Abilities {
            geometry,
            shapes: Shapes::All,
            fixed: None,
            sector,
            sector_first: self.sector_first,
            links,
            volume: 0,
            hides_tail: true,
            hides_tail_of_direct: true,
            forgets: false,
            // Nobody here is told of bios.
            writes_clean: false,
        })
    }
}

/// The error as the engine names it.
fn errno(error: rustix::io::Errno) -> Result<Errno, String> {
    let number = u8::try_from(error.raw_os_error()).ok();
    number
        .and_then(Errno::from_number)
        .ok_or_else(|| format!("the kernel says: {}", reason(&std::io::Error::from(error))))
}

impl Real<'_> {
    fn call(&mut self, step: &Step, dest: &mut [u8], source: &[u8]) -> rustix::io::Result<u64> {
        let (file, direct) = &self.files[step.op.file.get() as usize];
        let done = |n: usize| n as u64;
        match step.op.action {
            Action::Pread { range, flags } if flags.direct => {
                let mut all = ReadWriteFlags::empty();
                all.set(ReadWriteFlags::NOWAIT, flags.nowait && self.able.nowait_reads);
                let file = direct.as_ref().unwrap_or(file);
                let memory = self.memory.part(dest.len());
                let at = range.start().get();
                let read = rustix::io::preadv2(file, &mut [IoSliceMut::new(memory)], at, all)?;
                dest[..read].copy_from_slice(&memory[..read]);
                Ok(done(read))
            }
            Action::Pwrite { range, flags, .. } if flags.direct => {
                let mut all = ReadWriteFlags::empty();
                all.set(ReadWriteFlags::DSYNC, flags.dsync);
                all.set(ReadWriteFlags::NOWAIT, flags.nowait && self.able.nowait_writes);
                let file = direct.as_ref().unwrap_or(file);
                let memory = self.memory.part(source.len());
                memory.copy_from_slice(source);
                let at = range.start().get();
                rustix::io::pwritev2(file, &[IoSlice::new(memory)], at, all).map(done)
            }
            Action::Reflink { source, from, range } => {
                let (source, _) = &self.files[source.get() as usize];
                let (from, to, len) = (from.get(), range.start().get(), range.len().get());
                let size = source.metadata().map_or(0, |stat| stat.len());
                clone_range(file, source, (from, len, to))?;
                Ok(if len == 0 { size.saturating_sub(from) } else { len })
            }
            Action::Pread { range, flags } => {
                let ReadFlags { dontcache, nowait, .. } = flags;
                let mut all = ReadWriteFlags::empty();
                all.set(DONTCACHE, dontcache && self.able.dontcache);
                all.set(ReadWriteFlags::NOWAIT, nowait && self.able.nowait_reads);
                let at = range.start().get();
                rustix::io::preadv2(file, &mut [IoSliceMut::new(dest)], at, all).map(done)
            }
            Action::Pwrite { range, flags, .. } => {
                let WriteFlags { dsync, dontcache, nowait, .. } = flags;
                let mut all = ReadWriteFlags::empty();
                all.set(ReadWriteFlags::DSYNC, dsync);
                all.set(DONTCACHE, dontcache && self.able.dontcache);
                all.set(ReadWriteFlags::NOWAIT, nowait && self.able.nowait_writes);
                let at = range.start().get();
                rustix::io::pwritev2(file, &[IoSlice::new(source)], at, all).map(done)
            }
            Action::Fadvise(range, advice) => {
                let (at, len) = (range.start().get(), NonZeroU64::new(range.len().get()));
                rustix::fs::fadvise(file, at, len, advice_of(advice)).map(|()| 0)
            }
            Action::Fsync => rustix::fs::fsync(file).map(|()| 0),
            Action::Fdatasync | Action::Syncfs => rustix::fs::fdatasync(file).map(|()| 0),
            Action::Truncate(size) => rustix::fs::ftruncate(file, size.get()).map(|()| 0),
            Action::Fallocate(mode, range) => {
                let (at, len) = (range.start().get(), range.len().get());
                rustix::fs::fallocate(file, flags_of(mode), at, len).map(|()| 0)
            }
            Action::Seek { pos, data } => {
                let pos = pos.get();
                let from = if data { SeekFrom::Data(pos) } else { SeekFrom::Hole(pos) };
                rustix::fs::seek(file, from)
            }
            Action::Reclaim(_)
            | Action::MmapLoad(_)
            | Action::MmapStore { .. }
            | Action::Msync(_)
            | Action::SyncRange(..)
            | Action::PowerCut(_)
            | Action::Array(_)
            | Action::Sleep(_) => Ok(0),
        }
    }
}

const fn advice_of(advice: Advice) -> rustix::fs::Advice {
    match advice {
        Advice::Pattern(Pattern::Normal) => rustix::fs::Advice::Normal,
        Advice::Pattern(Pattern::Sequential) => rustix::fs::Advice::Sequential,
        Advice::Pattern(Pattern::Random) => rustix::fs::Advice::Random,
        Advice::WillNeed => rustix::fs::Advice::WillNeed,
        Advice::DontNeed => rustix::fs::Advice::DontNeed,
    }
}

impl Subject for Real<'_> {
    fn perform(&mut self, step: &Step, dest: &mut [u8], source: &[u8]) -> Result<OpResult, String> {
        match self.call(step, dest, source) {
            Ok(done) => Ok(OpResult(Ok(Bytes::new(done)))),
            Err(error) => errno(error).map(|errno| OpResult(Err(errno))),
        }
    }
    fn can(&self, action: &Action) -> bool {
        match action {
            Action::Fallocate(mode, _) => self.able.modes.contains(mode),
            Action::Reclaim(_)
            | Action::MmapLoad(_)
            | Action::MmapStore { .. }
            | Action::Msync(_)
            | Action::SyncRange(..)
            | Action::PowerCut(_)
            | Action::Array(_)
            | Action::Sleep(_) => false,
            Action::Reflink { .. } => self.able.reflink,
            Action::Pread { flags: ReadFlags { direct, .. }, .. }
            | Action::Pwrite { flags: WriteFlags { direct, .. }, .. } => {
                !direct || self.able.sector.is_some()
            }
            Action::Fadvise(..)
            | Action::Fsync
            | Action::Fdatasync
            | Action::Syncfs
            | Action::Truncate(_)
            | Action::Seek { .. } => true,
        }
    }
    fn size(&mut self, file: FileId) -> Result<Pos, String> {
        let stat = self.files[file.get() as usize].0.metadata().map_err(|error| reason(&error))?;
        Ok(Pos::new(stat.len()))
    }
    /// Drops what is cached and reads the whole file from the device.
    fn check_end(&mut self, id: FileId, expectation: &mut Expectation) -> Result<(), String> {
        let say = |error: rustix::io::Errno| reason(&error.into());
        let size = self.size(id)?.get();
        let (file, _) = &self.files[id.get() as usize];
        rustix::fs::fsync(file).map_err(say)?;
        rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed).map_err(say)?;
        let mut bytes = vec![0; size as usize];
        std::os::unix::fs::FileExt::read_exact_at(file, &mut bytes, 0)
            .map_err(|error| reason(&error))?;
        expectation.model.look(0, &bytes).map_err(|at| {
            let (got, want) = (bytes[at], expectation.model.bytes()[at]);
            format!("byte {at} ({at:#x}) is {got:#04x} at the end, expected {want:#04x}")
        })
    }
}

/// Runs streams on files in a folder.
pub(super) fn fuzz(args: &FuzzArgs, folder: &Path) -> Outcome<()> {
    if !folder.is_dir() {
        let shown = folder.display();
        return Err(Failure::usage(format!("{shown} is not a folder: name one to make files in")));
    }
    let save = args.save.as_deref();
    let save = save.map(|path| Unfinished::create("--save", path, [])).transpose()?;
    let able = Able::probe(folder)?;
    eprintln!("note: left out here: {}", able.missing());
    let (world, abilities) = (able.world(), able.abilities()?);
    let open = || {
        let mut files = Vec::new();
        for _ in 0..=u32::from(able.reflink) {
            let file = tempfile::tempfile_in(folder);
            let file = file.map_err(|error| Failure::file("make a file in", folder, &error))?;
            let direct = open_direct(&file).filter(|_| able.sector.is_some());
            files.push((file, direct));
        }
        Ok::<_, Failure>(Real { files, able: &able, memory: Aligned::default() })
    };
    let empty = || vec![(abilities, Model::new(Vec::new(), true)); 1 + usize::from(able.reflink)];
    signal::watch();
    let (streams, start) = (args.ops.div_ceil(args.length), Instant::now());
    let bar = progress_bar(args.ops);
    for number in 0..streams {
        if signal::interrupted().load(Ordering::SeqCst) {
            return Err(Failure::interrupted());
        }
        let seed = args.seed.wrapping_add(number);
        let mut random = Random::new(seed);
        let mut scenario = world.scenario(&mut random, format!("real file, seed {seed}"));
        let mut generator = Generator::new(world, random, false, false);
        let mut steps = Vec::new();
        // The last one is shorter where they do not come out even.
        let count = args.length.min(args.ops - number * args.length) as usize;
        let mut real = open()?;
        let result = run(&mut real, empty(), &mut generator, count, &mut steps);
        bar.inc(count as u64);
        let Err(wrong) = result else { continue };
        put_steps(&mut scenario, &steps);
        let fails = |scenario: &Scenario| -> Option<Wrong> {
            replay(&mut open().ok()?, empty(), &steps_of(scenario)).err()
        };
        bar.finish_and_clear();
        let words =
            format!("--target {} --seed {seed} --length {count} --ops {count}", folder.display());
        return report(&words, scenario, wrong, save, fails);
    }
    bar.finish_and_clear();
    let (ops, seconds) = (args.ops, start.elapsed().as_secs_f64());
    out::print(&format!(
        "{ops} operations in {streams} streams on real files agree: {seconds:.2} s, {:.0} a second\n",
        ops as f64 / seconds.max(1e-9)
    ))
}
