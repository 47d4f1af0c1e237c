//! A file of the format `guests`. Fields that nothing reads are left out.

use folioscope_core::block::limits::QueueLimits;
use folioscope_core::units::Bytes;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// What holds for every case of the file that does not say otherwise.
#[derive(Deserialize)]
pub(super) struct Common {
    pub(super) kernel: String,
    #[serde(default)]
    pub(super) limits: BTreeMap<String, Queue>,
    pub(super) md: Option<Md>,
    #[serde(default)]
    pub(super) members: Vec<Member>,
}

/// An array, in the names of its files under `/sys`.
#[derive(Clone, Deserialize)]
pub(super) struct Md {
    pub(super) level: String,
    /// A number; some kernels' goldens have it as text.
    pub(super) layout: Value,
    #[serde(default)]
    pub(super) chunk_size: u64,
    pub(super) raid_disks: u32,
    /// In KiB; 0 where members may differ.
    pub(super) component_size: Option<u64>,
    pub(super) stripe_cache_size: Option<u32>,
    pub(super) rmw_level: Option<u32>,
    pub(super) preread_bypass_threshold: Option<u32>,
    #[serde(rename = "bitmap/location")]
    pub(super) bitmap: Option<String>,
}

impl Md {
    /// The layout as the kernel's number.
    pub(super) fn layout_number(&self) -> Result<u64, String> {
        let number = self.layout.as_u64();
        let text = || self.layout.as_str().and_then(|text| text.parse().ok());
        number.or_else(text).ok_or_else(|| format!("the layout {} is no number", self.layout))
    }
}

/// A member of an array: its number, its name, and where its data begins, in sectors.
#[derive(Clone, Deserialize)]
pub(super) struct Member {
    pub(super) rd: u64,
    pub(super) dev: String,
    pub(super) offset: u64,
}

/// Limits of a device's queue.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct Queue {
    pub(super) read_ahead_kb: u64,
    pub(super) max_sectors_kb: u64,
    #[serde(default = "usual_segments")]
    pub(super) max_segments: u64,
    #[serde(default = "usual_segment")]
    pub(super) max_segment_size: u64,
    #[serde(default)]
    pub(super) max_hw_sectors_kb: u64,
    #[serde(default)]
    pub(super) minimum_io_size: u64,
    #[serde(default)]
    pub(super) optimal_io_size: u64,
    #[serde(default)]
    pub(super) chunk_sectors: u64,
    #[serde(default)]
    pub(super) scheduler: SchedulerName,
}

const fn usual_segments() -> u64 {
    QueueLimits::USUAL.segments
}

const fn usual_segment() -> u64 {
    QueueLimits::USUAL.segment.get()
}

/// Who orders a device's requests.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize)]
pub(super) enum SchedulerName {
    #[serde(rename = "mq-deadline")]
    MqDeadline,
    /// Nobody, or somebody whose ways are not known.
    #[default]
    #[serde(other)]
    Other,
}

/// A case.
#[derive(Deserialize)]
pub(super) struct GuestCase {
    #[serde(default)]
    pub(super) geometry: String,
    #[serde(default)]
    pub(super) limits: BTreeMap<String, Queue>,
    pub(super) md: Option<Md>,
    #[serde(default)]
    pub(super) members: Vec<Member>,
    #[serde(default)]
    pub(super) extents: BTreeMap<String, Vec<Snapshot>>,
    pub(super) ops: Vec<GuestOp>,
}

/// A file's extents at one moment: logical and physical sector, sectors, flags.
#[derive(Deserialize)]
pub(super) struct Snapshot {
    pub(super) size: u64,
    pub(super) ino: u64,
    #[serde(default)]
    pub(super) ext: Vec<(u64, u64, u64, String)>,
}

/// A command with what the kernel then did.
#[derive(Deserialize)]
pub(super) struct GuestOp {
    #[serde(rename = "op")]
    pub(super) command: String,
    #[serde(default)]
    pub(super) ev: Vec<Vec<Value>>,
    /// Inode, byte offset, order, how many one after another.
    #[serde(default)]
    pub(super) folios_added: Vec<(u64, u64, u8, u64)>,
    /// Bytes, how often.
    #[serde(default)]
    pub(super) faultin: Vec<(u64, u64)>,
    /// Of an array with parity: I/Os of its members by role, and its decisions about rows.
    pub(super) member_sum: Option<Value>,
    #[serde(default)]
    pub(super) md_rmw_rcw: Vec<Value>,
    /// Its members' bios by device, and their requests in the order of their issue.
    #[serde(default)]
    pub(super) member_bios: Vec<Value>,
    #[serde(default)]
    pub(super) member_requests: Vec<Value>,
}

/// The name of an event row.
pub(super) fn name(row: &[Value]) -> &str {
    row.first().and_then(Value::as_str).unwrap_or("")
}

/// Whether a row is of a mapping of the file system.
pub(super) fn is_mapping(row: &[Value]) -> bool {
    name(row).starts_with("iomap_iter")
}

/// A word of a row, or nothing.
pub(super) fn text(row: &[Value], at: usize) -> &str {
    row.get(at).and_then(Value::as_str).unwrap_or("")
}

/// A number of a row.
pub(super) fn number(row: &[Value], at: usize) -> Option<u64> {
    row.get(at).and_then(Value::as_u64)
}

/// How many rows this one stands for, one after another.
pub(super) fn folded(row: &[Value]) -> u64 {
    row.last().and_then(|last| last.get("n")).and_then(Value::as_u64).unwrap_or(1)
}

/// A mapping as the kernel printed it.
pub(super) struct MapText<'a> {
    pub(super) ino: u64,
    /// None: it has no place.
    pub(super) addr: Option<u64>,
    pub(super) off: u64,
    pub(super) len: u64,
    pub(super) kind: &'a str,
    pub(super) flags: &'a str,
}

impl<'a> MapText<'a> {
    /// Reads `ino 0x83 addr 0x18000 offset 0x0 length 0x20000 type MAPPED (0x2) flags NEW|DIRTY`.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let after = |key: &str| {
            let mut words = text.split_whitespace().skip_while(move |word| *word != key);
            words.next()?;
            words.next()
        };
        let hex = |key: &str| {
            let word = after(key)?;
            u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
        };
        Some(Self {
            ino: hex("ino")?,
            addr: hex("addr").filter(|addr| *addr != u64::MAX),
            off: hex("offset")?,
            len: hex("length")?,
            kind: after("type")?,
            flags: after("flags").unwrap_or(""),
        })
    }
}

/// A question where blocks of a file lie, by arrays of pointers, and what was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct IndirectMap {
    pub(super) ino: u64,
    pub(super) block: u64,
    pub(super) len: u64,
    /// None: nothing lies there.
    pub(super) place: Option<u64>,
    pub(super) creates: bool,
    pub(super) new: bool,
    pub(super) boundary: bool,
}

/// A row about such a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mapping {
    /// It is asked; what must be read for it follows.
    Begins(Option<IndirectMap>),
    /// It is answered.
    Ends(Option<IndirectMap>),
}

impl Mapping {
    /// Reads a row of `ext4_ind_map_blocks_enter` or `_exit`, `gfs2_iomap_start` or `_end` (which
    /// name no block here), or `gfs2_bmap`, in blocks of `block` bytes.
    pub(super) fn parse(row: &[Value], block: Bytes) -> Option<Self> {
        let words = text(row, 1);
        Some(match name(row) {
            "ext4_ind_map_blocks_enter" => Self::Begins(IndirectMap::of_ext4(words)),
            "ext4_ind_map_blocks_exit" => Self::Ends(IndirectMap::of_ext4(words)),
            "gfs2_iomap_start" => Self::Begins(None),
            "gfs2_iomap_end" => Self::Ends(None),
            "gfs2_bmap" => {
                let map = IndirectMap::of_gfs2(words, block);
                // The result is printed as 1 where there is none yet.
                if words.ends_with(" 1") { Self::Begins(map) } else { Self::Ends(map) }
            }
            _ => return None,
        })
    }
}

impl IndirectMap {
    /// Reads `ino 34 lblk 0 len 24 flags CREATE`, or the same with `pblk 66048 len 3 mflags MB ret
    /// 3`.
    fn of_ext4(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let after = |key: &str| {
            let at = words.iter().rposition(|word| *word == key)?;
            words.get(at + 1).copied()
        };
        let count = |key: &str| after(key)?.parse::<u64>().ok();
        let found = count("ret").is_some_and(|ret| ret > 0);
        let flags = after("mflags").filter(|flags| *flags != "ret").unwrap_or("");
        Some(Self {
            ino: count("ino")?,
            block: count("lblk")?,
            len: count("len")?,
            place: count("pblk").filter(|_| found),
            creates: words.contains(&"CREATE"),
            new: flags.contains('N'),
            boundary: flags.contains('B'),
        })
    }
    /// Reads `254,16 bmap 5680 map 483/106496 to 6165 flags:00000210 nocreate 0`: inode, block and
    /// bytes, the place, the buffer's state in hex.
    fn of_gfs2(text: &str, block: Bytes) -> Option<Self> {
        /// `BH_New`, `BH_Mapped` and `BH_Boundary`.
        const NEW: u64 = 1 << 5;
        const MAPPED: u64 = 1 << 4;
        const BOUNDARY: u64 = 1 << 9;
        let [_, "bmap", ino, "map", range, "to", place, flags, creates, _] =
            text.split_whitespace().collect::<Vec<_>>()[..]
        else {
            return None;
        };
        let (first, bytes) = range.split_once('/')?;
        let flags = u64::from_str_radix(flags.strip_prefix("flags:")?, 16).ok()?;
        let place = place.parse().ok()?;
        Some(Self {
            ino: ino.parse().ok()?,
            block: first.parse().ok()?,
            len: bytes.parse::<u64>().ok()?.div_ceil(block.get().max(1)),
            place: (flags & MAPPED != 0).then_some(place),
            creates: creates == "create",
            new: flags & NEW != 0,
            boundary: flags & BOUNDARY != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_is_read_from_the_kernels_text() {
        let map = MapText::parse(
            "ino 0x89 addr 0xffffffffffffffff offset 0x11000 length 0xf000 \
             type DELALLOC (0x1) flags NEW|DIRTY (0x3)",
        )
        .expect("it is one");
        assert_eq!((map.ino, map.addr, map.off, map.len), (0x89, None, 0x11000, 0xf000));
        assert_eq!((map.kind, map.flags), ("DELALLOC", "NEW|DIRTY"));
        assert!(MapText::parse("ino 0x89").is_none());
    }

    #[test]
    fn questions_about_blocks_are_read_from_the_kernels_text() {
        let row = |name: &str, text: &str| {
            Mapping::parse(&[name.into(), text.into()], Bytes::kib(4)).expect("it is one")
        };
        let asked = IndirectMap {
            ino: 5680,
            block: 483,
            len: 29,
            place: None,
            creates: false,
            new: false,
            boundary: false,
        };
        let text = "254,16 bmap 5680 map 483/118784 to 0 flags:00000000 nocreate 1";
        assert_eq!(row("gfs2_bmap", text), Mapping::Begins(Some(asked)));
        let told = IndirectMap { len: 26, place: Some(6165), boundary: true, ..asked };
        let text = "254,16 bmap 5680 map 483/106496 to 6165 flags:00000210 nocreate 0";
        assert_eq!(row("gfs2_bmap", text), Mapping::Ends(Some(told)));
        let text = "ino 13 flags  lblk 0 pblk 75 len 12 mflags MB ret 12";
        let told =
            IndirectMap { ino: 13, block: 0, len: 12, place: Some(75), boundary: true, ..asked };
        assert_eq!(row("ext4_ind_map_blocks_exit", text), Mapping::Ends(Some(told)));
        assert_eq!(row("gfs2_bmap", "254,16 bmap x"), Mapping::Ends(None));
    }
}
