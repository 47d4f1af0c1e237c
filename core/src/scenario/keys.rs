//! Every key of a scenario file, table by table, with what its value looks like: the one list that
//! the reader knows keys by, and that editors make their forms of.

use super::fields::Problem;
use super::shape::{ADVICE, MODES};
use crate::behaviour::PROFILES;
use crate::device::md::parity::ParityLayout;
use toml::de::{DeTable, DeValue};

/// What a value looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A size such as `"64k"`, moved by blocks.
    Size,
    /// A size that is doubled or halved.
    Doubling,
    /// A whole number.
    Count,
    /// True or false.
    Flag,
    /// Any text.
    Text,
    /// One of these words.
    Word(fn() -> Vec<&'static str>),
    /// A list, a table, or several: not for a single field.
    Inner,
}
use Kind::{Count, Doubling, Flag, Inner, Size, Text, Word};

/// A key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Its name.
    pub(crate) name: &'static str,
    /// What its value looks like.
    pub(crate) kind: Kind,
}

const fn key(name: &'static str, kind: Kind) -> Key {
    Key { name, kind }
}

/// The names of keys.
pub(crate) fn names(keys: &[Key]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

fn profiles() -> Vec<&'static str> {
    PROFILES.iter().map(|profile| profile.name).collect()
}

/// The top of a file.
pub(crate) const ROOT: &[Key] = &[
    key("version", Inner),
    key("title", Text),
    key("profile", Word(profiles)),
    key("switches", Inner),
    key("world", Inner),
    key("device", Inner),
    key("disk", Inner),
    key("queue", Inner),
    key("partition", Inner),
    key("array", Inner),
    key("variant", Inner),
    key("file", Inner),
    key("op", Inner),
    key("fault", Inner),
    key("run", Inner),
    key("dirty", Inner),
    key("kswapd", Inner),
    key("schedule", Inner),
];

/// `[world]`.
pub(crate) const WORLD: &[Key] = &[
    key("page_size", Doubling),
    key("block_size", Doubling),
    key("max_folio_order", Count),
    key("readahead", Doubling),
    key("keep_going", Flag),
    key("scattered", Flag),
    key("free_blocks", Count),
];

/// What says how zones lie, in `[device]`.
pub(crate) const ZONES: &[Key] =
    &[key("zone_size", Doubling), key("zone_capacity", Size), key("conventional_zones", Count)];

/// A device with a queue.
pub(crate) const QUEUED: &[Key] = &[
    key("depth", Count),
    key("latency_us", Count),
    key("mib_per_second", Count),
    key("flush_us", Count),
];

/// A device that turns.
pub(crate) const DISK: &[Key] = &[
    key("rpm", Count),
    key("size", Doubling),
    key("track", Doubling),
    key("settle_us", Count),
    key("seek_us", Count),
    key("flush_us", Count),
];

/// `[queue]`.
pub(crate) const QUEUE: &[Key] = &[
    key("max_size", Doubling),
    key("max_segment_size", Doubling),
    key("segment_boundary", Doubling),
    key("virt_boundary", Doubling),
    key("chunk", Doubling),
    key("logical_block_size", Doubling),
    key("physical_block_size", Doubling),
    key("io_min", Doubling),
    key("io_opt", Doubling),
    key("max_segments", Count),
    key("raid_partial_stripes_expensive", Flag),
    key("requests", Flag),
];

/// `[array]`.
pub(crate) const ARRAY: &[Key] = &[
    key("level", Word(|| vec!["raid0", "raid1", "raid4", "raid5", "raid6", "raid10"])),
    key("members", Count),
    key("chunk", Doubling),
    // Of parity; that of raid10 has words with numbers in them.
    key("layout", Word(|| ParityLayout::ALL.iter().map(|layout| layout.name()).collect())),
    key("stripe_cache_size", Count),
    key("rmw_level", Count),
    key("consistency", Word(|| super::array::CONSISTENCIES.map(|(name, _)| name).to_vec())),
    key("failed", Inner),
];

/// `[partition]`.
pub(crate) const PARTITION: &[Key] = &[key("start", Size)];

/// `[run]`.
pub(crate) const RUN: &[Key] = &[key("seed", Count)];

/// `[[schedule]]`.
pub(crate) const SCHEDULE: &[Key] =
    &[key("task", Text), key("until", Text), key("at", Size), key("n", Count)];

/// `[dirty]`.
pub(crate) const DIRTY: &[Key] = &[
    key("memory", Doubling),
    key("background_ratio", Count),
    key("background_bytes", Size),
    key("ratio", Count),
    key("bytes", Size),
    key("writeback_centisecs", Count),
    key("expire_centisecs", Count),
];

/// `[kswapd]`.
pub(crate) const KSWAPD: &[Key] = &[key("pages", Count), key("times", Count)];

/// `[[variant]]`.
pub(crate) const VARIANT: &[Key] = &[
    key("name", Text),
    key("profile", Word(profiles)),
    key("switches", Inner),
    // Tables of its own ([`super::variants::OWN`]).
    key("world", Inner),
    key("device", Inner),
    key("queue", Inner),
    key("partition", Inner),
    key("array", Inner),
    key("dirty", Inner),
    key("kswapd", Inner),
    key("run", Inner),
];

/// `[[file]]`.
pub(crate) const FILE: &[Key] = &[
    key("name", Text),
    key("size", Size),
    key("device", Flag),
    key("memory", Flag),
    key("fill", Count),
    key("fs", Word(|| vec!["extents", "ext2", "zonefs"])),
    key("path", Word(|| vec!["iomap", "buffer_head", "buffer_head_ext4"])),
    key("sector", Count),
    key("extent", Inner),
    key("shares", Text),
    key("prealloc", Size),
    key("zone", Count),
    key("disk", Text),
];

/// `[[file.extent]]`.
pub(crate) const EXTENT: &[Key] = &[
    key("at", Size),
    key("len", Size),
    key("type", Word(|| vec!["mapped", "unwritten"])),
    key("sector", Count),
];

/// `[[op]]`.
pub(crate) const OP: &[Key] = &[
    key("do", Word(|| OPS.iter().map(|(name, _)| *name).collect())),
    key("task", Text),
    key("file", Text),
    key("at", Size),
    key("len", Size),
    key("byte", Count),
    key("nowait", Flag),
    key("direct", Flag),
    key("pages", Count),
    key("repeat", Count),
    key("seed", Count),
    key("then", Word(|| vec!["fsync", "fdatasync", "syncfs"])),
    key("size", Size),
    key("mode", Word(modes)),
    key("ms", Count),
    key("dontcache", Flag),
    key("advice", Word(|| ADVICE.map(|(name, _)| name).to_vec())),
    key("source", Text),
    key("source_at", Size),
    key("member", Count),
    key("members", Inner),
    key("rows", Count),
];

fn modes() -> Vec<&'static str> {
    MODES.map(|(name, _)| name).into_iter().chain(["none", "all", "some"]).collect()
}

/// `[[fault]]`.
pub(crate) const FAULT: &[Key] = &[
    key("at", Text),
    key("op", Count),
    key("until_op", Count),
    key("nth", Count),
    key("times", Inner),
    key("file", Text),
    key("file_off", Size),
    key("sector", Count),
    key("sectors", Count),
    key("copied", Size),
    key("err", Text),
    key("returns", Text),
    key("reaches", Size),
    key("waits", Count),
];

/// Words, each with the keys that mean something to it.
pub(crate) type Words = &'static [(&'static str, &'static [&'static str])];

/// Every operation, beside `do`, `task`, `file`, `repeat` and `then`.
pub(crate) const OPS: Words = &[
    ("pread", &["at", "len", "nowait", "direct", "dontcache"]),
    ("pwrite", &["at", "len", "byte", "nowait", "direct", "dontcache"]),
    ("pwrite_dsync", &["at", "len", "byte", "nowait", "direct", "dontcache"]),
    ("randwrite", &["len", "byte", "seed", "nowait", "direct", "dontcache"]),
    ("fsync", &[]),
    ("fdatasync", &[]),
    ("syncfs", &[]),
    ("reclaim", &["pages"]),
    ("reflink", &["at", "len", "source", "source_at"]),
    ("sleep", &["ms"]),
    ("mmap_load", &["at", "len"]),
    ("mmap_store", &["at", "len", "byte"]),
    ("msync", &["at", "len"]),
    ("sync_range", &["at", "len"]),
    ("sync_range_write", &["at", "len"]),
    ("truncate", &["size"]),
    ("fallocate", &["at", "len", "mode"]),
    ("fadvise", &["at", "len", "advice"]),
    ("seek_data", &["at"]),
    ("seek_hole", &["at"]),
    ("power_cut", &["mode", "seed", "members"]),
    ("fail_member", &["member"]),
    ("replace_member", &["member", "rows"]),
    ("rebuild_array", &["rows"]),
    ("check_array", &[]),
    ("repair_array", &[]),
];

/// Every level of arrays, beside `level`, `members` and `failed`.
pub(crate) const LEVELS: Words = &[
    ("raid0", &["chunk"]),
    ("raid1", &[]),
    ("raid4", &["chunk", "layout", "stripe_cache_size", "rmw_level", "consistency"]),
    ("raid5", &["chunk", "layout", "stripe_cache_size", "rmw_level", "consistency"]),
    ("raid6", &["chunk", "layout", "stripe_cache_size", "rmw_level", "consistency"]),
    ("raid10", &["chunk", "layout"]),
];

/// Every fault, beside `at`, `op` and `until_op`.
pub(crate) const FAULTS: Words = &[
    ("copy_from_user", &["copied", "times"]),
    ("fault_in", &["copied"]),
    ("reserve_block", &["file", "file_off", "err", "nth", "times"]),
    ("map_blocks", &["file", "file_off", "err", "returns", "nth", "times"]),
    ("alloc_ioend", &["file", "file_off", "err", "nth", "times"]),
    ("alloc_folio", &["file", "file_off", "err", "nth", "times"]),
    ("alloc_state", &["file", "file_off", "err", "nth", "times"]),
    ("alloc_bio", &["file", "file_off", "err", "nth", "times"]),
    ("convert_unwritten", &["file", "file_off", "err", "nth", "times"]),
    ("invalidate_folio", &["file", "file_off", "err", "nth", "times"]),
    ("submit", &["sector", "sectors", "err", "nth", "times"]),
    ("read_bio", &["sector", "sectors", "err", "waits", "nth", "times"]),
    ("write_bio", &["sector", "sectors", "err", "reaches", "waits", "nth", "times"]),
    ("flush", &["err", "nth", "times"]),
    ("device_gone", &["nth", "times"]),
];

/// A table whose keys depend on one of its words.
struct ByWord {
    table: &'static str,
    /// The key of the word.
    key: &'static str,
    /// Keys that mean something beside every word.
    always: &'static [&'static str],
    words: Words,
}

const BY_WORD: [ByWord; 3] = [
    ByWord {
        table: "op",
        key: "do",
        always: &["do", "task", "file", "repeat", "then"],
        words: OPS,
    },
    ByWord { table: "array", key: "level", always: &["level", "members", "failed"], words: LEVELS },
    ByWord { table: "fault", key: "at", always: &["at", "op", "until_op"], words: FAULTS },
];

/// A word, the keys that every word of its table takes, and its own.
type Taken<'t> = (&'t str, &'static [&'static str], Option<&'static [&'static str]>);

/// The word on which the keys of a table depend, and the keys that mean something there: those of
/// every word, and its own; none: the keys are the same whatever the table says.
pub(crate) fn of_word<'t>(table: &str, has: &'t DeTable<'_>) -> Option<Taken<'t>> {
    let by = BY_WORD.iter().find(|by| by.table == table)?;
    let word = has.get(by.key).and_then(|value| value.get_ref().as_str()).unwrap_or_default();
    let own = by.words.iter().find(|(known, _)| *known == word).map(|(_, own)| *own);
    Some((word, by.always, own))
}

/// Whether a key of a table means something where another one gets a word.
pub(crate) fn takes(table: &str, (by, word): (&str, &str), key: &str) -> bool {
    let by = BY_WORD.iter().find(|one| one.table == table && one.key == by);
    let found = by.and_then(|by| Some((by, by.words.iter().find(|(known, _)| *known == word)?)));
    found.is_none_or(|(by, (_, own))| own.contains(&key) || by.always.contains(&key))
}

/// Refuses a key that means nothing beside the word on which the keys of a table depend.
pub(crate) fn check_words(table: &str, has: &DeTable<'_>) -> Result<(), Problem> {
    let Some((word, always, Some(own))) = of_word(table, has) else { return Ok(()) };
    let takes = |name: &str| own.contains(&name) || always.contains(&name);
    let Some(key) = has.keys().find(|key| !takes(key.get_ref())) else { return Ok(()) };
    let list = [own, always].concat().join("`, `");
    let name = key.get_ref();
    let message = format!("`{word}` takes no `{name}`: leave it out; it takes `{list}`");
    Err((key.span(), message))
}

/// What a file can be, by a key and its value, where that says all; and the keys that then mean
/// nothing.
const FILES: [(&str, &str, &str, &[&str]); 7] = [
    (
        "memory",
        "true",
        "a file in memory",
        &["device", "fs", "path", "sector", "extent", "shares", "prealloc", "zone", "disk", "fill"],
    ),
    (
        "device",
        "true",
        "a file that is a device",
        &["fs", "sector", "extent", "shares", "prealloc", "zone"],
    ),
    (
        "fs",
        "zonefs",
        "a file that is a zone",
        &["path", "sector", "extent", "shares", "prealloc", "disk"],
    ),
    ("fs", "ext2", "a file of ext2", &["extent", "shares", "prealloc"]),
    ("path", "buffer_head_ext4", "a file of the ext4 driver", &["shares", "prealloc"]),
    ("shares", "", "a file that shares its blocks", &["size", "fill", "extent", "sector"]),
    ("extent", "", "a file whose extents are listed", &["sector"]),
];

/// Refuses a key that means nothing to what a file is.
pub(crate) fn check_file(has: &DeTable<'_>) -> Result<(), Problem> {
    let off = |value: &DeValue<'_>| value.as_bool() == Some(false);
    for (key, word, what, without) in FILES {
        let Some(value) = has.get(key).map(toml::Spanned::get_ref) else { continue };
        let is = match word {
            "" => true,
            "true" => value.as_bool() == Some(true),
            _ => value.as_str() == Some(word),
        };
        let given = |key: &str| has.get(key).is_some_and(|value| !off(value.get_ref()));
        let idle = without.iter().find(|key| is && given(key));
        if let Some((key, _)) = idle.and_then(|key| has.get_key_value(*key)) {
            let message = format!("{what} takes no `{}`: leave it out", key.get_ref());
            return Err((key.span(), message));
        }
    }
    Ok(())
}

/// The error for an operation of no known name.
pub(crate) fn no_operation(place: super::fields::Span, name: &str) -> Problem {
    let known: Vec<&str> = OPS.iter().map(|(name, _)| *name).collect();
    (place, format!("no operation `{name}`: expected {}", known.join(", ")))
}
