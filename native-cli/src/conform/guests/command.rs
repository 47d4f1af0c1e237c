//! The command lines of a case: `io FILE COMMANDS` and `xfs_io -f -c COMMAND … FILE`.

use folioscope_core::scenario::size::parse_size;
use folioscope_core::units::Bytes;

/// Bytes of one call where the command says nothing.
const USUAL_BLOCK: u64 = 4096;
/// Most calls of one command.
const MAX_CALLS: u64 = 1 << 20;

/// One system call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Call {
    Write { off: u64, len: u64, byte: u8 },
    Read { off: u64, len: u64 },
    Fsync { data_only: bool },
    Sync,
}

/// One command line: a process of its own.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Line {
    pub(super) file: Option<String>,
    /// The file is made by it.
    pub(super) creates: bool,
    pub(super) calls: Vec<Call>,
    /// What of it the engine does not have.
    pub(super) missing: Option<String>,
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
        [first, ..] => {
            line.missing = Some(format!("the command {first}"));
            return Ok(line);
        }
        [] => return Err("an operation is an empty command line".to_owned()),
    };
    let mut words = commands.iter().copied().peekable();
    while let Some(word) = words.next() {
        match word {
            "-f" | "-c" => {}
            "fsync" => line.calls.push(Call::Fsync { data_only: false }),
            "fdatasync" => line.calls.push(Call::Fsync { data_only: true }),
            "sync" => line.calls.push(Call::Sync),
            "pwrite" | "pread" => {
                let mut own = Vec::new();
                while let Some(next) = words.peek().copied()
                    && (next.starts_with('-') && next != "-c"
                        || next.starts_with(|first: char| first.is_ascii_digit()))
                {
                    own.push(next);
                    words.next();
                }
                transfer(&mut line, word, &own).map_err(|why| format!("`{text}`: {why}"))?;
            }
            other => {
                line.missing = Some(other.to_owned());
                return Ok(line);
            }
        }
    }
    Ok(line)
}

/// The calls of a `pwrite` or `pread`.
fn transfer(line: &mut Line, name: &str, words: &[&str]) -> Result<(), String> {
    let size = |word: &str| {
        parse_size(word).map(Bytes::get).map_err(|_| format!("`{word}` is not a size"))
    };
    let (mut byte, mut block, mut numbers) = (0xcd, USUAL_BLOCK, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "-q" => {}
            "-b" => block = size(words.next().ok_or("-b needs a size")?)?,
            "-S" => {
                let word = words.next().ok_or("-S needs a byte")?;
                let hex = word.strip_prefix("0x").unwrap_or(word);
                byte = u8::from_str_radix(hex, 16)
                    .map_err(|_| format!("`{word}` is not a byte such as 0x22"))?;
            }
            option if option.starts_with('-') => {
                line.missing = Some(format!("{name} {option}"));
                return Ok(());
            }
            number => numbers.push(size(number)?),
        }
    }
    let [off, len] = numbers[..] else {
        return Err(format!("{name} needs an offset and a length"));
    };
    if block == 0 || len / block > MAX_CALLS || off.checked_add(len).is_none() {
        return Err(format!("{len} bytes at {off} in pieces of {block} are out of range"));
    }
    let mut at = off;
    while at < off + len {
        let len = block.min(off + len - at);
        line.calls.push(match name {
            "pwrite" => Call::Write { off: at, len, byte },
            _ => Call::Read { off: at, len },
        });
        at += len;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_are_cut_into_calls() {
        let line = parse("io /mnt/f2 pwrite -q -S 0x63 2105000 9000 fdatasync").expect("good");
        let write = |off, len| Call::Write { off, len, byte: 0x63 };
        assert_eq!(line.file.as_deref(), Some("/mnt/f2"));
        assert_eq!(
            line.calls,
            [
                write(2_105_000, 4096),
                write(2_109_096, 4096),
                write(2_113_192, 808),
                Call::Fsync { data_only: true }
            ]
        );
        let line = parse("xfs_io -f -c pwrite -q -S 0x93 0 16k -c pread -q -b 1m 20k 3000 /mnt/f");
        let line = line.expect("good");
        assert!(line.creates && line.calls.len() == 5 && line.missing.is_none());
        assert_eq!(line.calls[4], Call::Read { off: 20480, len: 3000 });
    }

    #[test]
    fn what_is_missing_is_named_and_what_is_malformed_is_an_error() {
        for (text, missing) in [
            ("io /mnt/f6 truncate 530k", "truncate"),
            ("xfs_io -f -c falloc 0 1m /mnt/f7", "falloc"),
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
