//! Random scenarios to cut the power in, as text: one that finds something can be kept as a file.

use super::history::STALE;
use crate::behaviour::PROFILES;
use crate::scenario::random::Random;
use core::fmt::Write as _;

/// What keeps the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Extents,
    Prealloc,
    Cow,
    Ext2,
    BlockDev,
}

const KINDS: [Kind; 8] = [
    Kind::Extents,
    Kind::Extents,
    Kind::Extents,
    Kind::Prealloc,
    Kind::Cow,
    Kind::Cow,
    Kind::Ext2,
    Kind::BlockDev,
];

/// Page, block, largest order.
const WORLDS: [(u64, u64, u8); 5] =
    [(4096, 1024, 2), (4096, 1024, 0), (4096, 4096, 3), (65536, 4096, 0), (4096, 512, 1)];

struct Draft {
    random: Random,
    text: String,
    block: u64,
    kind: Kind,
    /// Largest file.
    most: u64,
    size: u64,
    written: u8,
}

/// The scenario of a seed.
pub fn generate(seed: u64) -> String {
    let mut random = Random::new(seed);
    let kind = KINDS[random.below(KINDS.len() as u64) as usize];
    let (page, block, order) = WORLDS[random.below(WORLDS.len() as u64) as usize];
    let profile = PROFILES[random.below(PROFILES.len() as u64) as usize].name;
    let most = if page > 4096 { 256 } else { 64 } * 1024;
    let mut draft = Draft { random, text: String::new(), block, kind, most, size: 0, written: 0 };
    draft.say(&format!(
        "version = 0\ntitle = \"power cut, seed {seed}\"\nprofile = \"{profile}\"\n\n[world]\n\
         page_size = {page}\nblock_size = {block}\nmax_folio_order = {order}"
    ));
    draft.device();
    draft.files();
    for _ in 0..8 + draft.random.below(9) {
        draft.op();
    }
    draft.text
}

impl Draft {
    fn say(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("a String takes everything");
    }
    fn one_in(&mut self, n: u64) -> bool {
        self.random.below(n) == 0
    }
    fn device(&mut self) {
        if !self.one_in(4) {
            let depth = [1, 2, 4, 32][self.random.below(4) as usize];
            self.say(&format!(
                "\n[device]\ndepth = {depth}\nlatency_us = 80\nmib_per_second = 200\nflush_us = 500"
            ));
        }
        if self.one_in(3) {
            self.say("\n[queue]");
        }
    }
    fn files(&mut self) {
        let half = self.most / 2;
        self.size = if self.one_in(3) { 0 } else { self.random.below(half) + 1 };
        self.say("\n[[file]]\nname = \"a\"");
        match self.kind {
            Kind::Extents => {}
            Kind::Prealloc => self.say("prealloc = \"64k\""),
            Kind::Cow => self.size = self.size.max(self.block),
            Kind::Ext2 => self.say("fs = \"ext2\""),
            Kind::BlockDev => {
                self.size = self.most;
                self.say("device = true");
            }
        }
        self.say(&format!("size = {}\nfill = 161", self.size));
        if self.kind == Kind::Cow {
            self.say("\n[[file]]\nname = \"b\"\nshares = \"a\"");
        } else if self.kind != Kind::BlockDev && self.one_in(4) {
            self.say("\n[[file]]\nname = \"b\"\nsize = 5000\nfill = 162");
        }
    }
    fn byte(&mut self) -> u8 {
        self.written = self.written % 120 + 1;
        debug_assert!(self.written != STALE, "no operation writes it");
        self.written
    }
    /// A place in the file or a little behind it, often at a block.
    fn place(&mut self) -> u64 {
        let at = self.random.below(self.size + self.size / 4 + 3000);
        let at = if self.one_in(2) { at / self.block * self.block } else { at };
        if self.kind == Kind::BlockDev { at.min(self.size - 1) } else { at }
    }
    fn len(&mut self) -> u64 {
        let most = [100, 1500, 9000, self.most / 4][self.random.below(4) as usize];
        let len = self.random.below(most) + 1;
        if self.one_in(2) { len.next_multiple_of(self.block) } else { len }
    }
    fn op(&mut self) {
        let shapes = !matches!(self.kind, Kind::Ext2 | Kind::BlockDev);
        match self.random.below(if shapes { 26 } else { 17 }) {
            0..=4 => self.write(false),
            5 => self.write(true),
            6..=7 => self.append(),
            8 => self.plain("fsync"),
            9 => self.plain("fdatasync"),
            10 => self.plain("syncfs"),
            11..=12 => self.store(),
            13 => self.ranged("msync"),
            14 => self.ranged("sync_range"),
            15 => self.ranged("sync_range_write"),
            16 => self.ranged("pread"),
            17..=19 => self.truncate(),
            20..=21 => self.space("punch"),
            22 => self.space("zero"),
            23 => self.space("collapse"),
            24 => self.space("insert"),
            _ => self.space(if self.kind == Kind::Cow { "unshare" } else { "alloc" }),
        }
    }
    fn begin(&mut self, what: &str) {
        self.say(&format!("\n[[op]]\ndo = \"{what}\""));
    }
    fn plain(&mut self, what: &str) {
        self.begin(what);
    }
    fn ranged(&mut self, what: &str) {
        let (at, len) = (self.place(), self.len());
        self.begin(what);
        self.say(&format!("at = {at}\nlen = {len}"));
    }
    fn write_at(&mut self, at: u64, dsync: bool) {
        let len = self.len().min(self.most.saturating_sub(at));
        if len == 0 {
            return;
        }
        let byte = self.byte();
        self.size = self.size.max(at + len);
        self.begin(if dsync { "pwrite_dsync" } else { "pwrite" });
        self.say(&format!("at = {at}\nlen = {len}\nbyte = {byte}"));
    }
    fn write(&mut self, dsync: bool) {
        let at = self.place();
        self.write_at(at, dsync);
    }
    fn append(&mut self) {
        if self.kind != Kind::BlockDev {
            self.write_at(self.size, false);
        }
    }
    fn store(&mut self) {
        let (at, len) = (self.place(), self.len());
        let end = (at + len).min(self.size);
        if at < end {
            let byte = self.byte();
            self.begin("mmap_store");
            self.say(&format!("at = {at}\nlen = {}\nbyte = {byte}", end - at));
        }
    }
    fn truncate(&mut self) {
        self.size = self.place().min(self.most);
        self.begin("truncate");
        self.say(&format!("size = {}", self.size));
    }
    fn space(&mut self, mode: &str) {
        let (mut at, mut len) = (self.place(), self.len());
        let moves = matches!(mode, "collapse" | "insert");
        if moves {
            (at, len) = (at / self.block * self.block, len.next_multiple_of(self.block));
        }
        let fits = match mode {
            "collapse" => at + len < self.size,
            "insert" => at < self.size && self.size + len <= self.most,
            _ => at + len <= self.most,
        };
        if !fits {
            return;
        }
        self.begin("fallocate");
        self.say(&format!("mode = \"{mode}\"\nat = {at}\nlen = {len}"));
        match mode {
            "collapse" => self.size -= len,
            "insert" => self.size += len,
            "punch" => {}
            _ => self.size = self.size.max(at + len),
        }
    }
}
