//! A listing of `filefrag -v` as a scenario: the mapping of a real file, with a read, a write and a
//! sync of its beginning.
//!
//! Of the listing only blocks, lengths and flags count. That an extent is shared becomes a second
//! file with the same blocks, for a scenario cannot share some of them only.

use super::MAX_FILE;
use super::fields::ScenarioError;
use super::form::quoted;
use core::fmt::Write as _;

/// Most extents of a listing.
const MAX_EXTENTS: usize = 4096;
/// Numbers of blocks end here, and sectors of a scenario there.
const MAX_BLOCK: u64 = 1 << 40;
const MAX_SECTOR: u64 = 1 << 40;
/// Bytes that are read and written of the file at first.
const TOUCHED: u64 = 256 << 10;

/// Extents whose blocks lie nowhere yet, or not as they are listed: flag, and what it means.
const REFUSED: [(&str, &str); 7] = [
    ("delalloc", "has no blocks yet: sync the file, and list it again"),
    ("unknown_loc", "lies nowhere that the file system tells: sync the file, and list it again"),
    ("encoded", "is compressed, and files here are not: list another file"),
    ("data_encrypted", "is encrypted, and files here are not: list another file"),
    ("inline", "lives with the inode, and not in blocks: list a larger file"),
    ("tail_packed", "shares its block with other files: list another file"),
    ("not_aligned", "is not aligned to blocks: list another file"),
];

/// A line of the listing.
struct Extent {
    logical: u64,
    physical: u64,
    len: u64,
    unwritten: bool,
    shared: bool,
}

/// Whether a text is such a listing.
pub fn is_listing(text: &str) -> bool {
    let starts = ["Filesystem type is:", "File size of "];
    text.lines().take(4).any(|line| starts.iter().any(|start| line.starts_with(start)))
}

/// The text of a scenario whose file has the mapping of a listing. `name` stands in front of
/// errors.
pub fn scenario_of(name: &str, text: &str) -> Result<String, ScenarioError> {
    let mut head = None;
    let mut extents: Vec<Extent> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let fail = |(column, message): (usize, String)| {
            let name = name.to_owned();
            ScenarioError { name, line: at + 1, column: column + 1, message }
        };
        if line.starts_with("File size of ") {
            if head.is_some() {
                return Err(fail((0, "a second file begins: list one file alone".to_owned())));
            }
            head = Some(header(line).map_err(fail)?);
        } else if line.trim_start().starts_with(|letter: char| letter.is_ascii_digit())
            && !line.ends_with(" found")
        {
            if head.is_none() {
                let message = "an extent before the line `File size of \u{2026}`: keep that line";
                return Err(fail((0, message.to_owned())));
            }
            let next = extent(line).and_then(|next| fits(&extents, next)).map_err(fail)?;
            extents.push(next);
        }
    }
    let whole = |message: &str| ScenarioError {
        name: name.to_owned(),
        line: 1,
        column: 1,
        message: message.to_owned(),
    };
    let (file, size, block) = head.ok_or_else(|| {
        whole("no line says `File size of \u{2026} (\u{2026} blocks of \u{2026} bytes)`: give the whole output of `filefrag -v`")
    })?;
    let ends = |extent: &Extent| (extent.logical + extent.len).saturating_mul(block);
    if extents.iter().map(ends).max().unwrap_or(0).max(size) > MAX_FILE.get() {
        return Err(whole(&format!("the file ends beyond {MAX_FILE}: list a smaller one")));
    }
    let far = |extent: &Extent| (extent.physical + extent.len) * (block / 512) > MAX_SECTOR;
    if extents.iter().any(far) {
        return Err(whole("an extent lies beyond 512 TiB of the device: list another file"));
    }
    Ok(written(file, size, block, &extents))
}

type Read<T> = Result<T, (usize, String)>;

/// Name, size and block size of the file.
fn header(line: &str) -> Read<(&str, u64, u64)> {
    const WANTED: &str = "expected `File size of NAME is SIZE (N blocks of SIZE bytes)`";
    let wrong = || (0, WANTED.to_owned());
    let (file, rest) = line["File size of ".len()..].rsplit_once(" is ").ok_or_else(wrong)?;
    let (size, rest) = rest.split_once(' ').ok_or_else(wrong)?;
    let size = size.parse().map_err(|_| wrong())?;
    let old = rest.rsplit_once("blocksize ").map(|(_, block)| block);
    let block = old.or_else(|| Some(rest.rsplit_once(" of ")?.1)).ok_or_else(wrong)?;
    let digits = block.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(block.len());
    let at = line.len() - block.len();
    let bytes: u64 = block[..digits].parse().map_err(|_| wrong())?;
    if !(bytes.is_power_of_two() && (512..=65536).contains(&bytes)) {
        let message = format!("blocks of {bytes} bytes: expected a power of two, 512 to 65536");
        return Err((column(line, at), message));
    }
    Ok((file.rsplit('/').next().unwrap_or(file), size, bytes))
}

/// The column of a byte of a line, from 0.
fn column(line: &str, at: usize) -> usize {
    line[..line.floor_char_boundary(at)].chars().count()
}

fn extent(line: &str) -> Read<Extent> {
    const WANTED: &str = "expected an extent such as `0: 0.. 15: 3456.. 3471: 16: last,eof`";
    let mut places = Vec::new();
    let mut at = 0;
    for part in line.split(':') {
        places.push((at, part.trim()));
        at += part.len() + 1;
    }
    let (flags, first) = match places.len() {
        5 => (places[4], &places[1..4]),
        6 => (places[5], &places[1..4]),
        _ => return Err((0, WANTED.to_owned())),
    };
    let number = |(at, text): (usize, &str)| -> Read<u64> {
        let found = text.trim().parse().ok().filter(|number| *number < MAX_BLOCK);
        found.ok_or_else(|| (column(line, at), format!("`{}` is no block: {WANTED}", text.trim())))
    };
    let range = |(at, text): (usize, &str)| -> Read<(u64, u64)> {
        let (start, end) = text.split_once("..").ok_or((column(line, at), WANTED.to_owned()))?;
        Ok((number((at, start))?, number((at, end))?))
    };
    let (logical, physical, len) = (range(first[0])?, range(first[1])?, number(first[2])?);
    for ((start, end), place) in [(logical, first[0].0), (physical, first[1].0)] {
        if end < start || end - start + 1 != len {
            let message = format!("blocks {start} to {end} are not {len}: list the file again");
            return Err((column(line, place), message));
        }
    }
    let has = |wanted: &str| flags.1.split(',').any(|flag| flag.trim() == wanted);
    if let Some((flag, why)) = REFUSED.iter().find(|(flag, _)| has(flag)) {
        return Err((column(line, flags.0), format!("an extent that is `{flag}` {why}")));
    }
    Ok(Extent {
        logical: logical.0,
        physical: physical.0,
        len,
        unwritten: has("unwritten"),
        shared: has("shared"),
    })
}

/// An extent that follows others: behind them in the file, and elsewhere on the device.
fn fits(others: &[Extent], next: Extent) -> Read<Extent> {
    let apart = |other: &Extent| {
        other.physical + other.len <= next.physical || next.physical + next.len <= other.physical
    };
    let behind = others.last().is_none_or(|last| last.logical + last.len <= next.logical);
    if others.len() == MAX_EXTENTS {
        return Err((0, format!("more than {MAX_EXTENTS} extents: list a file with fewer")));
    }
    if !behind || !others.iter().all(apart) {
        let message = "its blocks are those of an extent above: list the file again";
        return Err((0, message.to_owned()));
    }
    Ok(next)
}

/// The scenario.
fn written(file: &str, size: u64, block: u64, extents: &[Extent]) -> String {
    let mut out = String::new();
    let page = 4096;
    let order = if block > page { (block / page).trailing_zeros().max(4) } else { 4 };
    let touched = size.min(TOUCHED);
    let mut put = |words: core::fmt::Arguments<'_>| {
        out.write_fmt(words).expect("a string takes everything");
    };
    put(format_args!(
        "# The mapping is that of a listing of `filefrag -v`; what is done is made up.\n"
    ));
    put(format_args!("version = 0\ntitle = {}\n\n", quoted(&format!("The mapping of {file}"))));
    put(format_args!("[world]\npage_size = {page}\nblock_size = {block}\n"));
    put(format_args!("max_folio_order = {order}\n\n"));
    put(format_args!("[[file]]\nname = {}\nsize = {size}\n", quoted(file)));
    for extent in extents {
        let kind = if extent.unwritten { "unwritten" } else { "mapped" };
        let (at, len) = (extent.logical * block, extent.len * block);
        let sector = extent.physical * (block / 512);
        put(format_args!("\n[[file.extent]]\nat = {at}\nlen = {len}\n"));
        put(format_args!("type = \"{kind}\"\nsector = {sector}\n"));
    }
    if extents.iter().any(|extent| extent.shared) {
        let copy = quoted(&format!("{file}, a copy"));
        put(format_args!("\n# Some extents are shared: here all are.\n[[file]]\nname = {copy}\n"));
        put(format_args!("shares = {}\n", quoted(file)));
    }
    if touched > 0 {
        put(format_args!("\n[[op]]\ndo = \"pread\"\nlen = {touched}\n"));
        put(format_args!("\n[[op]]\ndo = \"pwrite\"\nlen = {touched}\n"));
    }
    put(format_args!("\n[[op]]\ndo = \"fsync\"\n"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::Behaviours;
    use crate::iomap::MapType;
    use crate::scenario::file::parse_scenario;
    use crate::scenario::run::run;
    use crate::trace::timeline::Recording;
    use proptest::prelude::*;

    const LISTING: &str = include_str!("../../tests/data/filefrag-ext4.txt");

    fn refused(from: &str, to: &str) -> (usize, String) {
        let text = LISTING.replacen(from, to, 1);
        assert_ne!(text, LISTING, "{from}");
        let error = scenario_of("list", &text).expect_err("it is refused");
        (error.line, error.message)
    }

    #[test]
    fn a_listing_of_ext4_becomes_the_same_mapping() {
        assert!(is_listing(LISTING) && !is_listing("[global]\nrw=write\n"));
        let text = scenario_of("list", LISTING).expect("it is one");
        let scenario =
            parse_scenario("made", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let file = &scenario.files[0];
        assert_eq!((file.name.as_str(), file.size.get()), ("frag.bin", 2_228_224));
        let extents = file.extents.as_ref().expect("extents");
        let plain: Vec<_> = extents
            .iter()
            .map(|one| {
                (
                    one.range.start().get() / 4096,
                    one.range.len().get() / 4096,
                    one.addr.get() / 4096,
                )
            })
            .collect();
        assert_eq!(
            plain,
            [
                (0, 16, 40_508_484),
                (64, 2, 64_160_980),
                (256, 10, 64_161_172),
                (512, 32, 64_161_440)
            ]
        );
        assert_eq!(extents[3].state, MapType::Unwritten);
        assert_eq!(scenario.variants[0].behaviours, Behaviours::default());
        let done = run(&scenario, &scenario.variants[0], Recording::default());
        assert!(done.is_ok_and(|done| !done.sink.is_empty()), "it runs");
    }

    #[test]
    fn a_bad_line_is_named_with_what_was_expected() {
        for (from, to, line, words) in [
            ("4096 bytes", "4095 bytes", 2, "blocks of 4095 bytes: expected a power of two"),
            ("64..      65", "64..      66", 5, "blocks 64 to 66 are not 2"),
            ("64160980..", "6416o980..", 5, "`6416o980` is no block: expected an extent such as"),
            ("unwritten", "delalloc", 7, "has no blocks yet: sync the file"),
            ("   256..     265", "    65..      74", 6, "its blocks are those of an extent above"),
            ("     10:            ", "     10", 6, "expected an extent such as"),
        ] {
            let (at, said) = refused(from, to);
            assert!(at == line && said.contains(words), "{at}: {said}");
        }
        let twice = format!("{LISTING}{LISTING}");
        assert_eq!(scenario_of("list", &twice).expect_err("two").line, 10);
        let large = LISTING
            .replace("544 blocks of 4096", "9 blocks of 65536")
            .replace("512..     543", "999512.. 999543");
        assert!(scenario_of("list", &large).expect_err("large").message.contains("16 GiB"));
        assert!(scenario_of("list", "").expect_err("empty").message.contains("filefrag -v"));
    }

    #[test]
    fn shared_extents_have_a_second_file() {
        let text =
            scenario_of("list", &LISTING.replace("last,", "last,shared,")).expect("it is one");
        let scenario =
            parse_scenario("made", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(scenario.files.len() == 2 && scenario.files[1].shared);
    }

    proptest! {
        #[test]
        fn no_listing_breaks_it(at in 0..LISTING.len(), cut in 0..60usize, new in "[ :.,0-9a-z\n\u{e4}]{0,8}") {
            let end = (at + cut).min(LISTING.len());
            let text = format!("{}{new}{}", &LISTING[..at], &LISTING[end..]);
            if let Ok(scenario) = scenario_of("list", &text) {
                let read = parse_scenario("made", &scenario);
                prop_assert!(read.is_ok(), "{:?}\n{scenario}", read.err());
            }
        }
    }
}
