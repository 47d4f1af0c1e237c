//! The operations of a golden as the engine executes them, and what of them it does not have yet.

use super::golden::{Golden, Op};
use folioscope_core::engine::{ReadFlags, WriteFlags};
use folioscope_core::ops::advise::Advice;
use folioscope_core::ops::fallocate::FallocMode;
use folioscope_core::ops::mmap::MemAdvice;
use folioscope_core::ops::readahead::Pattern;
use folioscope_core::ops::sync::RangeSync;
use folioscope_core::scenario::size::parse_size;
use folioscope_core::units::{Bytes, FileRange, MAX_POS, Pos};

/// Largest file that `pre_read` reads.
const MAX_PRE_READ: u64 = 1 << 30;

impl Act {
    /// Whether it changes the size or the extents of a file by itself.
    pub(super) const fn reshapes(&self) -> bool {
        matches!(self, Self::Truncate(_) | Self::Fallocate(..))
    }
}

/// One executed operation: a step of the golden.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) file: usize,
    pub(super) act: Act,
}

/// What a step does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Act {
    Write {
        range: FileRange,
        byte: u8,
        flags: WriteFlags,
    },
    Read(FileRange, ReadFlags),
    Fsync {
        data_only: bool,
    },
    Syncfs,
    Fadvise(FileRange, Advice),
    MmapLoad(FileRange),
    MmapStore(FileRange, u8),
    Msync(FileRange),
    SyncRange(FileRange, RangeSync),
    Madvise(MemAdvice),
    Munmap,
    Truncate(Pos),
    Fallocate(FallocMode, FileRange),
    /// Several calls that one program made, as in a step of fio.
    Calls(Vec<Act>),
}

/// What of a case the engine does not have yet; none = it can run.
pub(super) fn missing(golden: &Golden) -> Option<String> {
    if golden.page_size != 4096 {
        return Some(format!("pages of {} bytes", golden.page_size));
    }
    if !matches!(golden.fs.kind.as_str(), "xfs" | "erofs") {
        return Some(format!("{} mappings", golden.fs.kind));
    }
    golden.ops.iter().find_map(|op| missing_op(golden, op))
}

fn missing_op(golden: &Golden, op: &Op) -> Option<String> {
    let known: &[&str] = if op.name == "pwrite" { &["dsync", "dontcache"] } else { &["dontcache"] };
    let odd = op.flag_words().into_iter().find(|word| !known.contains(&word.as_str()));
    match op.name.as_str() {
        name @ ("pwrite" | "pread") => odd.map(|word| format!("{name} with the flag {word}")),
        "fsync" | "fdatasync" | "syncfs" | "mmap_read" | "mmap_write" | "msync" | "munmap"
        | "truncate" => None,
        "fallocate" => {
            let word = op.mode.as_deref().unwrap_or("alloc");
            fallocate_mode(word).is_none().then(|| format!("fallocate with the mode {word}"))
        }
        "sync_range" => odd_sync_flag(op).map(|word| format!("sync_range with the flag {word}")),
        "madvise" => mem_advice(op).is_none().then(|| format!("the advice {}", advice_word(op))),
        "fadvise" => advice(op).is_none().then(|| format!("the advice {}", advice_word(op))),
        "fio" => {
            let calls = fio_calls(golden, op);
            calls
                .iter()
                .find(|call| !matches!(call.0.as_str(), "pwrite" | "pread" | "fsync" | "fdatasync"))
                .map(|call| format!("fio's call {}", call.0))
        }
        other => Some(format!("the operation {other}")),
    }
}

fn advice_word(op: &Op) -> &str {
    op.rest.get("advice").and_then(serde_json::Value::as_str).unwrap_or("")
}

fn odd_sync_flag(op: &Op) -> Option<String> {
    let known = ["wait_before", "write", "wait_after"];
    op.flag_words().into_iter().find(|word| !known.contains(&word.as_str()))
}

fn mem_advice(op: &Op) -> Option<MemAdvice> {
    match advice_word(op) {
        "MADV_NORMAL" => Some(MemAdvice::Normal),
        "MADV_RANDOM" => Some(MemAdvice::Random),
        "MADV_SEQUENTIAL" => Some(MemAdvice::Sequential),
        "MADV_HUGEPAGE" => Some(MemAdvice::Huge),
        _ => None,
    }
}

/// The mode of `fallocate` with this name.
pub(super) fn fallocate_mode(name: &str) -> Option<FallocMode> {
    match name {
        "alloc" => Some(FallocMode::Allocate),
        "keep" => Some(FallocMode::AllocateKeepSize),
        "punch" => Some(FallocMode::Punch),
        "zero" => Some(FallocMode::Zero),
        "zero_keep" => Some(FallocMode::ZeroKeepSize),
        "collapse" => Some(FallocMode::Collapse),
        "insert" => Some(FallocMode::Insert),
        "unshare" => Some(FallocMode::Unshare),
        _ => None,
    }
}

fn advice(op: &Op) -> Option<Advice> {
    match advice_word(op) {
        "normal" => Some(Advice::Pattern(Pattern::Normal)),
        "sequential" => Some(Advice::Pattern(Pattern::Sequential)),
        "random" => Some(Advice::Pattern(Pattern::Random)),
        "willneed" => Some(Advice::WillNeed),
        "dontneed" => Some(Advice::DontNeed),
        _ => None,
    }
}

/// The calls that fio made, which a golden keeps as the result of its step. The reads of its
/// `pre_read`, whole blocks from start to end, are not among them.
fn fio_calls(golden: &Golden, op: &Op) -> Vec<(String, u64, u64)> {
    let size = |key: &str| {
        let text = fio_args(op).find_map(|arg| arg.strip_prefix(key))?;
        parse_size(text).ok().map(Bytes::get)
    };
    let mut calls = Vec::new();
    if fio_args(op).any(|arg| arg == "--pre_read=1")
        && let (Some(block @ 1..), Some(size)) = (size("--bs="), size("--size="))
    {
        let blocks =
            (0..size.min(MAX_PRE_READ) / block).map(|n| ("pread".to_owned(), n * block, block));
        calls.extend(blocks);
    }
    calls.extend(golden.steps.iter().filter_map(|step| step.ret.as_array()).flatten().filter_map(
        |call| {
            let name = call.get(0)?.as_str()?.to_owned();
            Some((name, call.get(1)?.as_u64()?, call.get(2)?.as_u64()?))
        },
    ));
    calls
}

/// The steps of a case, in order.
pub(super) fn steps(golden: &Golden) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    for op in &golden.ops {
        let file = match &op.file {
            Some(name) => golden.files.iter().position(|file| file == name).ok_or_else(|| {
                format!("an operation names the file {name}, which is not listed")
            })?,
            None => 0,
        };
        for rep in 0..op.repeat {
            let off = rep
                .checked_mul(op.stride.unwrap_or(op.len))
                .and_then(|n| n.checked_add(op.off))
                .ok_or("an operation's offset is larger than a file can be")?;
            let act = act(golden, op, off, rep)?;
            steps.push(Step { file, act });
        }
    }
    Ok(steps)
}

fn act(golden: &Golden, op: &Op, off: u64, rep: u64) -> Result<Act, String> {
    let range = |off, len| {
        FileRange::new(Pos::new(off), Bytes::new(len))
            .ok_or_else(|| format!("{} of {len} bytes at {off} ends beyond any file", op.name))
    };
    // Without a length, to the end of the file.
    let to_end = |len| range(off, if len == 0 { MAX_POS.saturating_sub(off) } else { len });
    let has = |flag: &str| op.flag_words().iter().any(|word| word == flag);
    Ok(match op.name.as_str() {
        "pwrite" => Act::Write {
            range: range(off, op.len)?,
            byte: byte_of(op.fill, rep),
            flags: WriteFlags {
                dsync: has("dsync"),
                dontcache: has("dontcache"),
                ..WriteFlags::default()
            },
        },
        "pread" => Act::Read(
            range(off, op.len)?,
            ReadFlags { dontcache: has("dontcache"), ..ReadFlags::default() },
        ),
        "fadvise" => {
            let advice = advice(op).ok_or_else(|| format!("the advice {}", advice_word(op)))?;
            Act::Fadvise(to_end(op.len)?, advice)
        }
        "mmap_read" => Act::MmapLoad(range(off, op.len)?),
        "mmap_write" => Act::MmapStore(range(off, op.len)?, byte_of(op.fill, rep)),
        "msync" => Act::Msync(to_end(op.len)?),
        "sync_range" => Act::SyncRange(
            to_end(op.len)?,
            RangeSync {
                wait_before: has("wait_before"),
                write: has("write"),
                wait_after: has("wait_after"),
            },
        ),
        "munmap" => Act::Munmap,
        "truncate" => Act::Truncate(range(op.size, 0)?.start()),
        "fallocate" => {
            let word = op.mode.as_deref().unwrap_or("alloc");
            let mode = fallocate_mode(word).ok_or_else(|| format!("the mode {word}"))?;
            Act::Fallocate(mode, range(off, op.len)?)
        }
        "madvise" => {
            Act::Madvise(mem_advice(op).ok_or_else(|| format!("the advice {}", advice_word(op)))?)
        }
        "fsync" | "fdatasync" => Act::Fsync { data_only: op.name == "fdatasync" },
        "syncfs" => Act::Syncfs,
        "fio" => {
            let byte = fio_byte(op);
            let call = |(name, off, len): (String, u64, u64)| {
                Ok(match name.as_str() {
                    "pread" => Act::Read(range(off, len)?, ReadFlags::default()),
                    "pwrite" => {
                        Act::Write { range: range(off, len)?, byte, flags: WriteFlags::default() }
                    }
                    _ => Act::Fsync { data_only: name == "fdatasync" },
                })
            };
            Act::Calls(fio_calls(golden, op).into_iter().map(call).collect::<Result<_, String>>()?)
        }
        other => return Err(format!("the operation {other} is not executed yet")),
    })
}

/// The byte that an operation writes.
pub(super) const fn byte_of(fill: u64, rep: u64) -> u8 {
    (1 + (fill.wrapping_add(rep)) % 251) as u8
}

/// The words of fio's command line.
fn fio_args(op: &Op) -> impl Iterator<Item = &str> {
    let args = op.rest.get("args").and_then(serde_json::Value::as_array);
    args.into_iter().flatten().filter_map(serde_json::Value::as_str)
}

fn fio_byte(op: &Op) -> u8 {
    let pattern = fio_args(op).find_map(|arg| arg.strip_prefix("--buffer_pattern=0x"));
    pattern.and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0)
}
