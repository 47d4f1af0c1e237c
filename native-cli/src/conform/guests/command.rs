//! The command lines of a case: `io FILE COMMANDS` and `xfs_io -f -c COMMAND … FILE`.

use crate::conform::script::Act;
use folioscope_core::engine::{ReadFlags, WriteFlags};
use folioscope_core::ops::fallocate::FallocMode;
use folioscope_core::ops::sync::RangeSync;
use folioscope_core::scenario::size::parse_size;
use folioscope_core::units::{Bytes, FileRange, MAX_POS, Pos};

/// Bytes of one call where the command says nothing.
const USUAL_BLOCK: u64 = 4096;
/// The byte that `pwrite` writes, and the one that `mwrite` stores, where the command says nothing.
const USUAL_BYTES: (u8, u8) = (0xcd, 0x58);
/// Most calls of one command.
const MAX_CALLS: u64 = 1 << 20;

/// One command line: a process of its own.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Line {
    pub(super) file: Option<String>,
    /// The file is made by it.
    pub(super) creates: bool,
    pub(super) calls: Vec<Act>,
    /// What of it the engine does not have.
    pub(super) missing: Option<String>,
}

impl Line {
    /// Whether it writes bytes of its file.
    pub(super) fn writes(&self) -> bool {
        self.calls.iter().any(|call| matches!(call, Act::Write { .. } | Act::MmapStore(..)))
    }
    /// The file was opened for direct I/O.
    pub(super) fn go_direct(&mut self) {
        for call in &mut self.calls {
            if let Act::Write { flags, .. } = call {
                flags.direct = true;
            } else if let Act::Read(_, flags) = call {
                flags.direct = true;
            }
        }
    }
    /// Bytes of its longest read or write.
    pub(super) fn longest_call(&self) -> Bytes {
        let len = |call: &Act| {
            let (Act::Write { range, .. } | Act::Read(range, _)) = call else { return None };
            Some(range.len())
        };
        self.calls.iter().filter_map(len).max().unwrap_or(Bytes::ZERO)
    }
    /// Whether it changes the size or the extents of its file by itself.
    pub(super) fn reshapes(&self) -> bool {
        self.calls.iter().any(Act::reshapes)
    }
}

/// Reads a command line. What is not known is noted as missing; what is malformed is an error.
pub(super) fn parse(text: &str) -> Result<Line, String> {
    let words: Vec<&str> = text.split([' ', '"']).filter(|word| !word.is_empty()).collect();
    let mut line = Line::default();
    let commands = match words.as_slice() {
        ["io", file, rest @ ..] => {
            line.file = Some((*file).to_owned());
            rest
        }
        ["xfs_io", rest @ .., file] => {
            line.file = Some((*file).to_owned());
            line.creates = rest.contains(&"-f");
            rest
        }
        ["sync"] => &words[..],
        // What happened on its own.
        ["(before", ..] => return Ok(line),
        [first, ..] => {
            line.missing = Some(format!("the command {first}"));
            return Ok(line);
        }
        [] => return Err("an operation is an empty command line".to_owned()),
    };
    let mut words = commands.iter().copied().peekable();
    while let Some(word) = words.next() {
        if matches!(word, "-f" | "-c") {
            continue;
        }
        let mut own = Vec::new();
        while let Some(next) = words.peek().copied()
            && (next.starts_with('-') && next != "-c"
                || next.starts_with(|first: char| first.is_ascii_digit()))
        {
            own.push(next);
            words.next();
        }
        let known = command(&mut line, word, &own).map_err(|why| format!("`{text}`: {why}"))?;
        if let Some(missing) = known {
            line.missing = Some(missing);
            return Ok(line);
        }
    }
    Ok(line)
}

/// The options and numbers of one command.
#[derive(Default)]
struct Words<'a> {
    numbers: Vec<u64>,
    byte: Option<u8>,
    block: Option<u64>,
    /// Options without a value.
    flags: Vec<&'a str>,
}

impl<'a> Words<'a> {
    /// `sized`: the option `-b` has a value, the size of a call.
    fn read(words: &[&'a str], sized: bool) -> Result<Self, String> {
        let size = |word: &str| {
            parse_size(word).map(Bytes::get).map_err(|_| format!("`{word}` is not a size"))
        };
        let mut out = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "-q" => {}
                "-b" if sized => {
                    out.block = Some(size(words.next().ok_or("-b needs a size")?)?);
                }
                "-S" => {
                    let word = words.next().ok_or("-S needs a byte")?;
                    let hex = word.strip_prefix("0x").unwrap_or(word);
                    let byte = u8::from_str_radix(hex, 16)
                        .map_err(|_| format!("`{word}` is not a byte such as 0x22"))?;
                    out.byte = Some(byte);
                }
                option if option.starts_with('-') => out.flags.push(option),
                number => out.numbers.push(size(number)?),
            }
        }
        Ok(out)
    }
    /// An offset and a length.
    fn range(&self, name: &str) -> Result<FileRange, String> {
        let [off, len] = self.numbers[..] else {
            return Err(format!("{name} needs an offset and a length"));
        };
        FileRange::new(Pos::new(off), Bytes::new(len))
            .ok_or_else(|| format!("{len} bytes at {off} end beyond any file"))
    }
    /// The same, or the whole file where it names none.
    fn range_or_all(&self, name: &str) -> Result<FileRange, String> {
        if self.numbers.is_empty() {
            return Ok(FileRange::between(Pos::ZERO, Pos::new(MAX_POS)));
        }
        self.range(name)
    }
    fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }
    /// An option that is none of these.
    fn other(&self, name: &str, known: &[&str]) -> Option<String> {
        let other = self.flags.iter().find(|flag| !known.contains(flag))?;
        Some(format!("{name} {other}"))
    }
}

/// Adds the calls of a command; what is missing of it.
fn command(line: &mut Line, name: &str, words: &[&str]) -> Result<Option<String>, String> {
    let known: &[&str] = match name {
        "fsync" | "fdatasync" | "sync" | "pwrite" | "pread" | "mwrite" | "munmap" | "truncate"
        | "fpunch" | "fcollapse" | "finsert" => &[],
        "mread" => &["-f", "-v"],
        "mmap" => &["-r", "-w"],
        "msync" => &["-s"],
        "sync_range" => &["-a", "-b", "-w"],
        "falloc" | "fzero" => &["-k"],
        other => return Ok(Some(other.to_owned())),
    };
    let words = Words::read(words, matches!(name, "pwrite" | "pread"))?;
    if let Some(missing) = words.other(name, known) {
        return Ok(Some(missing));
    }
    let act = match name {
        "fsync" | "fdatasync" => Act::Fsync { data_only: name == "fdatasync" },
        "sync" => Act::Syncfs,
        "mread" => Act::MmapLoad(words.range(name)?),
        "mwrite" => Act::MmapStore(words.range(name)?, words.byte.unwrap_or(USUAL_BYTES.1)),
        // The mapping itself touches no page.
        "mmap" => return Ok(None),
        "munmap" => Act::Munmap,
        "msync" if !words.has("-s") => return Ok(Some("msync without -s".to_owned())),
        "msync" => Act::Msync(words.range_or_all(name)?),
        "sync_range" => {
            let some = !words.flags.is_empty();
            let flags = RangeSync {
                wait_before: words.has("-b"),
                write: words.has("-w") || !some,
                wait_after: words.has("-a"),
            };
            Act::SyncRange(words.range(name)?, flags)
        }
        "truncate" => match words.numbers[..] {
            [size] if size <= MAX_POS => Act::Truncate(Pos::new(size)),
            _ => return Err("truncate needs one size".to_owned()),
        },
        "falloc" | "fpunch" | "fzero" | "fcollapse" | "finsert" => {
            let mode = match (name, words.has("-k")) {
                ("falloc", false) => FallocMode::Allocate,
                ("falloc", true) => FallocMode::AllocateKeepSize,
                ("fzero", false) => FallocMode::Zero,
                ("fzero", true) => FallocMode::ZeroKeepSize,
                ("fpunch", _) => FallocMode::Punch,
                ("fcollapse", _) => FallocMode::Collapse,
                _ => FallocMode::Insert,
            };
            Act::Fallocate(mode, words.range(name)?)
        }
        _ => {
            transfer(line, name, &words)?;
            return Ok(None);
        }
    };
    line.calls.push(act);
    Ok(None)
}

/// The calls of a `pwrite` or `pread`.
fn transfer(line: &mut Line, name: &str, words: &Words<'_>) -> Result<(), String> {
    let whole = words.range(name)?;
    let block = words.block.unwrap_or(USUAL_BLOCK);
    if block == 0 || whole.len().get() / block > MAX_CALLS {
        return Err(format!("{} in pieces of {block} bytes is out of range", whole.len()));
    }
    let byte = words.byte.unwrap_or(USUAL_BYTES.0);
    let mut at = whole.start();
    while at < whole.end() {
        let range = FileRange::between(at, (at + Bytes::new(block)).min(whole.end()));
        line.calls.push(match name {
            "pwrite" => Act::Write { range, byte, flags: WriteFlags::default() },
            _ => Act::Read(range, ReadFlags::default()),
        });
        at = range.end();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(off: u64, len: u64) -> FileRange {
        FileRange::new(Pos::new(off), Bytes::new(len)).expect("in bounds")
    }

    #[test]
    fn transfers_are_cut_into_calls() {
        let line = parse("io /mnt/f2 pwrite -q -S 0x63 2105000 9000 fdatasync").expect("good");
        let write = |off, len| Act::Write {
            range: range(off, len),
            byte: 0x63,
            flags: WriteFlags::default(),
        };
        assert_eq!(line.file.as_deref(), Some("/mnt/f2"));
        assert_eq!(
            line.calls,
            [
                write(2_105_000, 4096),
                write(2_109_096, 4096),
                write(2_113_192, 808),
                Act::Fsync { data_only: true }
            ]
        );
        let line = parse("xfs_io -f -c pwrite -q -S 0x93 0 16k -c pread -q -b 1m 20k 3000 /mnt/f");
        let line = line.expect("good");
        assert!(line.creates && line.calls.len() == 5 && line.missing.is_none());
        assert_eq!(line.calls[4], Act::Read(range(20480, 3000), ReadFlags::default()));
    }

    #[test]
    fn mappings_and_ranges_are_read() {
        let line =
            parse("io /mnt/f mmap -w 0 1m mwrite -S 0x41 100 5 msync -s sync_range -b -w 0 8k");
        let write = RangeSync { wait_before: true, write: true, wait_after: false };
        assert_eq!(
            line.expect("good").calls,
            [
                Act::MmapStore(range(100, 5), 0x41),
                Act::Msync(range(0, MAX_POS)),
                Act::SyncRange(range(0, 8192), write),
            ]
        );
    }

    #[test]
    fn sizes_and_space_are_read() {
        let line = parse("io /mnt/f truncate 530k fzero -k 200k 20k fpunch 0 4k fsync");
        assert_eq!(
            line.expect("good").calls,
            [
                Act::Truncate(Pos::new(542_720)),
                Act::Fallocate(FallocMode::ZeroKeepSize, range(204_800, 20480)),
                Act::Fallocate(FallocMode::Punch, range(0, 4096)),
                Act::Fsync { data_only: false },
            ]
        );
    }

    #[test]
    fn what_is_missing_is_named_and_what_is_malformed_is_an_error() {
        for (text, missing) in [
            ("io /mnt/f6 copy_range 530k", "copy_range"),
            ("xfs_io -f -c reflink 0 1m /mnt/f7", "reflink"),
            ("io /mnt/f pwrite -q -D 0 4k", "pwrite -D"),
            ("umount /mnt", "the command umount"),
        ] {
            assert_eq!(parse(text).expect("read").missing.as_deref(), Some(missing));
        }
        for text in ["", "io /mnt/f pwrite 0", "io /mnt/f pread -b 0 0 4k", "io f pwrite -S zz 0 1"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
