//! Arrays of the guests: the bios that the kernel submitted to an array are given to the engine's
//! array, and what this does with them is compared.
//!
//! Direct I/O waits for each call, so that rows fill as they do here. What the flusher writes may
//! be handled before a row is full, and a file system has written rows before the case that are
//! still in the array's cache, which is not recorded: there only bounds hold.

use super::buffers::in_file;
use super::command::Line;

use super::format::{GuestCase, GuestOp, Md, Member, folded, name, number, text};
use super::members::Queues;
use crate::conform::compare::{Kind, Verdict};
use crate::conform::script::Act;
use folioscope_core::block::bio::BioOp;
use folioscope_core::device::md::mirrors::{Copies, Mirrors};
use folioscope_core::device::md::parity::Parity;
use folioscope_core::device::md::run::{Bench, Event, Sums, Token};
use folioscope_core::device::md::stripes::{Consistency, Note, ROW, RmwLevel, StripeConfig};
use folioscope_core::device::md::zones::{ZoneOrder, Zones};
use folioscope_core::units::{SECTOR_SIZE, Sector, Sectors};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Sectors of the members that the guests used (512 MiB each), where the array does not say.
const MEMBER: u64 = 1 << 20;

/// A bio of the array.
#[derive(Clone, Copy, Debug)]
struct Top {
    op: BioOp,
    sync: bool,
    /// It is of readahead.
    ahead: bool,
    start: u64,
    len: u64,
}

/// What of a case on an array is compared.
pub(super) struct Array<'a> {
    md: &'a Md,
    members: &'a [Member],
    /// Every operation is direct I/O, whose calls wait for their bios.
    direct: bool,
    /// Operations on the array itself whose results are the same on every kernel.
    stable: BTreeSet<usize>,
    queues: Queues<'a>,
}

impl<'a> Array<'a> {
    pub(super) fn new(
        id: &str,
        (md, members): (&'a Md, &'a [Member]),
        stable: BTreeSet<usize>,
        queues: Queues<'a>,
    ) -> Self {
        let direct = id.contains("dio");
        Self { md, members, direct, stable, queues }
    }
    /// Gives the array the bios of every operation, and compares.
    pub(super) fn compare(
        mut self,
        verdict: &mut Verdict,
        lines: &[Line],
        case: &GuestCase,
    ) -> Result<(), String> {
        match self.md.level.as_str() {
            "raid4" | "raid5" | "raid6" => self.compare_stripes(verdict, lines, case),
            "raid0" | "raid1" | "raid10" => self.compare_maps(verdict, &case.ops),
            other => Err(format!("an array of level `{other}`")),
        }
    }
    fn chunk(&self) -> Sectors {
        Sectors::new(self.md.chunk_size / 512)
    }
    fn config(&self) -> Result<StripeConfig, String> {
        let parity = super::limits::parity(self.md)?;
        let member = self.md.component_size.filter(|kib| *kib > 0).map_or(MEMBER, |kib| kib * 2);
        let bitmap = self.md.bitmap.as_deref().is_some_and(|place| place != "none");
        let rmw = match self.md.rmw_level {
            Some(0) => RmwLevel::Never,
            Some(2) => RmwLevel::NotMore,
            _ => RmwLevel::Fewer,
        };
        Ok(StripeConfig {
            rows: self.md.stripe_cache_size.unwrap_or(256),
            bypass: self.md.preread_bypass_threshold.unwrap_or(1),
            consistency: if bitmap { Consistency::Bitmap } else { Consistency::Resync },
            rmw,
            bytes: false,
            ..StripeConfig::new(parity, Sectors::new(member))
        })
    }
    fn compare_stripes(
        &mut self,
        verdict: &mut Verdict,
        lines: &[Line],
        case: &GuestCase,
    ) -> Result<(), String> {
        let config = self.config()?;
        let mut bench = Bench::new(config, Token::Sleep);
        for (at, (line, op)) in lines.iter().zip(&case.ops).enumerate() {
            let tops = tops(op);
            let calls = groups(case, line, &tops, self.direct);
            for group in &calls {
                for top in *group {
                    let range = (Sector::new(top.start), Sectors::new(top.len));
                    bench.submit(top.op, top.sync, range, Vec::new());
                }
                bench.settle();
            }
            let sums = bench.take_sums();
            let (mut notes, mut seen) = (Vec::new(), Vec::new());
            for event in bench.take_events() {
                match event {
                    Event::Note(note) => notes.push(note),
                    Event::Io(io) => seen.push(io),
                }
            }
            let scored = self.stable.contains(&at);
            let ordered = scored && calls.iter().all(|group| self.has_one_order(group));
            if !ordered {
                self.queues.remember(&op.member_requests);
            }
            let Some(expected) = &op.member_sum else { continue };
            if scored {
                // Reads pass by the rows: as many as the bios, which user memory decides.
                let reads = tops.iter().all(|top| top.op == BioOp::Read);
                let part = |sums: Value| if reads { sums["sectors"].clone() } else { sums };
                let (want, got) = (part(expected_sums(expected)), part(sums_json(&sums)));
                verdict.value(Kind::GuestMembers, at, want, got);
                verdict.field(Kind::GuestRows, at, &op.md_rmw_rcw, &rows_json(&notes));
            }
            if ordered {
                let ahead = tops.iter().all(|top| top.ahead);
                let asked = self.queues.run(&seen, ahead);
                verdict.field(Kind::GuestMemberBios, at, &op.member_bios, &asked.bios);
                verdict.field(Kind::GuestMemberRequests, at, &op.member_requests, &asked.requests);
                let counts = json!([expected["merges"], expected["requests"]]);
                verdict.value(Kind::GuestMemberCounts, at, counts, asked.counts);
            }
            if !scored && !tops.is_empty() {
                bounds(verdict, at, (&tops, &expected_sums(expected)), &config.parity);
                let read = read_sectors(&sums_json(&sums));
                verdict.show(at, "sectors read of members", read_sectors(expected), read);
            }
        }
        Ok(())
    }
    /// Whether the bios of a call can reach the members in one order only: it is one bio, inside a
    /// chunk or of whole chunks of a stripe, so that all its rows are alike. Else some rows are
    /// written while others wait for what is read, and how far the thread has come when a read ends
    /// is a matter of time.
    fn has_one_order(&self, group: &[Top]) -> bool {
        let width = super::limits::parity(self.md).map_or(0, |parity| parity.width().get());
        let (stripe, chunk) = (width / SECTOR_SIZE, self.chunk().get());
        let [top] = group else { return false };
        let within = |unit: u64| top.start / unit == (top.start + top.len - 1) / unit;
        let whole = |at: u64| at.is_multiple_of(chunk);
        stripe > 0 && within(stripe) && (within(chunk) || whole(top.start) && whole(top.len))
    }
    /// Where each piece of each bio goes, for arrays without rows.
    fn compare_maps(&self, verdict: &mut Verdict, ops: &[GuestOp]) -> Result<(), String> {
        let map = self.map()?;
        for (at, op) in ops.iter().enumerate() {
            // Which copy is read is a matter of load.
            let one_way = |op: BioOp| op == BioOp::Write || matches!(map, AnyMap::Zones(_));
            let mut got: Vec<Value> = Vec::new();
            for top in tops(op).into_iter().filter(|top| one_way(top.op)) {
                let (mut start, end) = (top.start, top.start + top.len);
                while start < end {
                    // RAID1 has no chunks.
                    let chunk = self.chunk().get();
                    let room = if chunk == 0 { end } else { chunk - start % chunk };
                    let room = room.min(end - start);
                    for (member, sector) in map.places(start) {
                        let member = self.members.iter().find(|one| one.rd == member);
                        let Some(member) = member else { continue };
                        let place = sector + member.offset;
                        got.push(json!([member.dev, place, room, start]));
                    }
                    start += room;
                }
            }
            let mut want: Vec<Value> = Vec::new();
            for row in op.ev.iter().filter(|row| name(row) == "A" && text(row, 5).starts_with("md"))
            {
                let (Some(to), Some(len), Some(from)) =
                    (number(row, 3), number(row, 4), number(row, 6))
                else {
                    continue;
                };
                let op = if text(row, 2).contains('W') { BioOp::Write } else { BioOp::Read };
                if len == 0 || !one_way(op) {
                    continue;
                }
                want.extend(
                    (0..folded(row))
                        .map(|nth| json!([text(row, 1), to + nth * len, len, from + nth * len])),
                );
            }
            verdict.field(Kind::GuestRemaps, at, &joined(want), &joined(got));
        }
        Ok(())
    }
    fn map(&self) -> Result<AnyMap, String> {
        let member = Sectors::new(
            self.md.component_size.filter(|kib| *kib > 0).map_or(MEMBER, |kib| kib * 2),
        );
        let map = match self.md.level.as_str() {
            "raid0" => {
                let sizes = vec![Sectors::new(1 << 40); self.md.raid_disks as usize];
                Zones::new(self.chunk(), &sizes, ZoneOrder::Alternate).map(AnyMap::Zones)
            }
            "raid1" => Mirrors::all(self.md.raid_disks, member).map(AnyMap::Mirrors),
            _ => {
                let copies = Copies::from_word(self.md.layout_number()?);
                let map = Mirrors::new(self.md.raid_disks, self.chunk(), copies, member);
                map.map(AnyMap::Mirrors)
            }
        };
        map.ok_or_else(|| "an array of these members and chunks cannot be".to_owned())
    }
}

/// Rows by where they go, those that follow each other as one: where a bio is cut for the memory
/// that it comes from is not the array's doing.
fn joined(mut rows: Vec<Value>) -> Vec<Value> {
    let number = |row: &Value, at: usize| row[at].as_u64().unwrap_or(0);
    rows.sort_by_key(|row| (row[0].to_string(), number(row, 3)));
    let mut out: Vec<Value> = Vec::new();
    for row in rows {
        let follows = |last: &Value| {
            let len = number(last, 2);
            last[0] == row[0]
                && number(last, 1) + len == number(&row, 1)
                && number(last, 3) + len == number(&row, 3)
        };
        match out.last_mut().filter(|last| follows(last)) {
            Some(last) => last[2] = json!(number(last, 2) + number(&row, 2)),
            None => out.push(row),
        }
    }
    out
}

/// An array without rows.
enum AnyMap {
    Zones(Zones),
    Mirrors(Mirrors),
}

impl AnyMap {
    fn places(&self, at: u64) -> Vec<(u64, u64)> {
        let at = Sector::new(at);
        match self {
            Self::Zones(map) => {
                let place = |(member, sector): (folioscope_core::units::MemberId, Sector)| {
                    (u64::from(member.get()), sector.get())
                };
                map.locate(at).map(place).into_iter().collect()
            }
            Self::Mirrors(map) => {
                let all = map.locate(at).into_iter();
                all.map(|(member, sector)| (u64::from(member.get()), sector.get())).collect()
            }
        }
    }
}

/// The bios of data that an operation submitted to the array, in order.
fn tops(op: &GuestOp) -> Vec<Top> {
    let of_array = |row: &&Vec<Value>| name(row) == "Q" && text(row, 1).starts_with("md");
    let bios = op.ev.iter().filter(of_array).flat_map(|row| {
        let (start, len) = (number(row, 3).unwrap_or(0), number(row, 4).unwrap_or(0));
        let letters = text(row, 2);
        let top = move |nth| Top {
            op: if letters.contains('W') { BioOp::Write } else { BioOp::Read },
            sync: letters.contains('S'),
            ahead: letters == "RA",
            start: start + nth * len,
            len,
        };
        (0..folded(row)).map(top)
    });
    bios.filter(|top| top.len > 0).collect()
}

/// Bios that one plug holds: those of each call of direct I/O, or all of an operation.
fn groups<'a>(case: &GuestCase, line: &Line, tops: &'a [Top], direct: bool) -> Vec<&'a [Top]> {
    if !direct {
        return vec![tops];
    }
    let ends: Vec<u64> = line
        .calls
        .iter()
        .filter_map(|call| {
            let (Act::Write { range, .. } | Act::Read(range, _)) = call else { return None };
            Some(range.end().get() / 512)
        })
        .collect();
    let file = line.file.as_deref().unwrap_or("");
    let at = |top: &Top| in_file(case, file, top.start).unwrap_or(top.start);
    let mut groups = Vec::new();
    let mut rest = tops;
    while let Some(first) = rest.first() {
        let end = ends.iter().copied().find(|end| at(first) < *end).unwrap_or(u64::MAX);
        let count = rest.iter().take_while(|top| at(top) < end).count().max(1);
        let (group, then) = rest.split_at(count);
        groups.push(group);
        rest = then;
    }
    groups
}

/// The golden's sums, without what a merge in a member's queue or another one's writes change.
fn expected_sums(sum: &Value) -> Value {
    json!({ "bios": sum["bios"], "sectors": sum["sectors"] })
}

fn sums_json(sums: &Sums) -> Value {
    let (mut bios, mut sectors) = (Map::new(), Map::new());
    for (letter, all) in [("R", sums.read), ("W", sums.written)] {
        for (role, (count, len)) in ["D", "P", "Q"].into_iter().zip(all) {
            if count > 0 {
                bios.insert(format!("{letter}{role}"), json!(count));
                sectors.insert(format!("{letter}{role}"), json!(len));
            }
        }
    }
    json!({ "bios": bios, "sectors": sectors })
}

/// Decisions about rows, those that follow each other as one.
fn rows_json(notes: &[Note]) -> Vec<Value> {
    let mut rows: Vec<(&str, u64, u64, String)> = Vec::new();
    for note in notes {
        let (kind, row, words) = match note {
            Note::Rmw { row, needed, .. } => ("rmw", row.get(), needed.to_string()),
            Note::Rcw { row, needed, now, delayed, .. } => {
                ("rcw", row.get(), format!("{needed} {now} {}", u8::from(*delayed)))
            }
            Note::Full { .. } => continue,
        };
        match rows.last_mut() {
            Some(last) if last.0 == kind && last.3 == words && last.1 + last.2 * 8 == row => {
                last.2 += 1;
            }
            _ => rows.push((kind, row, 1, words)),
        }
    }
    rows.into_iter().map(|(kind, row, count, words)| json!([kind, row, count, words])).collect()
}

/// Sectors that were read of members, of any role.
fn read_sectors(sum: &Value) -> u64 {
    ["RD", "RP", "RQ"].iter().filter_map(|key| sum["sectors"][key].as_u64()).sum()
}

/// What holds whatever the order was: the data is written once, and each parity once for each row
/// that a write touches at least, and three times at most.
fn bounds(verdict: &mut Verdict, at: usize, (tops, got): (&[Top], &Value), parity: &Parity) {
    let writes = || tops.iter().filter(|top| top.op == BioOp::Write);
    let data: u64 = writes().map(|top| top.len).sum();
    let sectors = |key: &str| got["sectors"][key].as_u64().unwrap_or(0);
    verdict.value(Kind::GuestMembers, at, json!(data), json!(sectors("WD")));
    let row = ROW.get();
    let pieces = writes().flat_map(|top| top.start / row..(top.start + top.len).div_ceil(row));
    let rows: BTreeSet<u64> =
        pieces.map(|piece| parity.locate(Sector::new(piece * row)).sector.get()).collect();
    let least = rows.len() as u64 * row;
    for key in ["WP", "WQ"].into_iter().take(parity.level().parities() as usize) {
        let got = sectors(key);
        let fits = (least..=3 * least).contains(&got);
        let inside = json!([key, "from", least, "to", 3 * least]);
        let is = if fits { inside.clone() } else { json!([key, got]) };
        verdict.value(Kind::GuestMembers, at, inside, is);
    }
}
