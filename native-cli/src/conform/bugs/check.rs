//! What a case expects against what it showed: one field a thing compared.

use super::expect::{CounterName, Expected, Invariant, Layer, Ret};
use super::format::{DevSpan, Scenario};
use super::run::{Got, Shown};
use super::state;
use super::words::{BioWords, Dir, Fill, IoendFlag, Run};
use crate::conform::compare::{Kind, Verdict};
use folioscope_core::counters::Counter;
use folioscope_core::device::store::Store;
use folioscope_core::iomap::MapType;
use folioscope_core::units::DevAddr;
use serde_json::{Value, json};
use sha2::Digest;

/// Fields, and what could not be looked at.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) verdict: Verdict,
    pub(super) unchecked: Vec<String>,
}

impl Findings {
    pub(super) fn field(&mut self, kind: &'static str, step: usize, want: Value, got: Value) {
        self.verdict.value(Kind::Bug(kind), step, want, got);
    }
    pub(super) fn unchecked(&mut self, what: String) {
        if !self.unchecked.contains(&what) {
            self.unchecked.push(what);
        }
    }
}

/// The step of a thing that holds at the end.
fn end(shown: &Shown) -> usize {
    shown.got.len().saturating_sub(1)
}

/// Compares everything that `want` names.
pub(super) fn check(out: &mut Findings, scenario: &Scenario, want: &Expected, shown: &Shown) {
    for ret in want.ret.iter().flatten() {
        result(out, ret, shown.got.get(ret.op));
    }
    let block = scenario.bs.unwrap_or(4096);
    for (op, wanted) in want.after.iter().flatten() {
        let all = shown.got.len();
        let at = if op == "end" { Some(all) } else { op.parse().ok().filter(|at| *at < all) };
        match at.and_then(|at| Some((at.min(end(shown)), shown.after.get(at)?))) {
            Some((at, got)) => state::check(out, at, block, wanted, got),
            None => out.field("bug_after", 0, json!({ "op": op }), json!(null)),
        }
    }
    for (step, wanted) in want.at_step.iter().flatten() {
        let at = step.parse().ok().and_then(|at: usize| shown.at_step.get(at));
        match at {
            Some(got) => state::check(out, end(shown), block, wanted, got),
            None => out.field("bug_at_step", 0, json!({ "step": step }), json!(null)),
        }
    }
    bios(out, scenario, want, shown);
    ioends(out, want, shown);
    pieces(out, want, shown);
    bytes(out, want, shown);
    counters(out, want, shown);
    task_counters(out, want, shown);
    for invariant in want.invariants.iter().flatten() {
        holds(out, scenario, *invariant, shown);
    }
    if let Some(derived) = &want.derived {
        let io_opt = scenario.dev.as_ref().and_then(|dev| dev.io_opt).unwrap_or(0);
        for (key, want, got) in [
            ("io_opt_sectors", derived.io_opt_sectors, io_opt / 512),
            ("ra_kib_uncapped", derived.ra_kib_uncapped, io_opt * 2 / 1024),
        ] {
            if let Some(want) = want {
                out.field("bug_derived", end(shown), json!({ key: want }), json!({ key: got }));
            }
        }
    }
    if let Some(merged) = &want.merged_ioends {
        let row = |off: u64, len: u64, private: &str| json!([off, len, private]);
        let want: Value = merged.iter().map(|one| row(one.off, one.len, &one.private)).collect();
        let all = shown.merged.iter().flatten();
        let got: Value = all.map(|one| row(one.pos.get(), one.len.get(), &one.private)).collect();
        out.field("bug_merged_ioends", end(shown), want, got);
    }
    if let Some(parts) = &want.any_of {
        any_of(out, scenario, parts, shown);
    }
    for (key, there) in [("split_bios", want.split_bios.is_some())] {
        if there {
            out.unchecked(format!("the expected key `{key}`"));
        }
    }
}

/// At least one part holds as a whole.
fn any_of(out: &mut Findings, scenario: &Scenario, parts: &[Expected], shown: &Shown) {
    let mut first = None;
    let mut open = Vec::new();
    for part in parts {
        let mut found = Findings::default();
        check(&mut found, scenario, part, shown);
        match found.verdict.differences.first() {
            Some(difference) => {
                first.get_or_insert_with(|| (difference.expected.clone(), difference.got.clone()));
            }
            None if found.unchecked.is_empty() => {
                out.field("bug_any_of", end(shown), json!(true), json!(true));
                return;
            }
            None => open.extend(found.unchecked),
        }
    }
    if open.is_empty() {
        let (want, got) = first.unwrap_or_default();
        out.field("bug_any_of", end(shown), json!({ "no part holds": want }), got);
    }
    for what in open {
        out.unchecked(what);
    }
}

fn result(out: &mut Findings, want: &Ret, got: Option<&Got>) {
    let none = Got::default();
    let got = got.unwrap_or(&none);
    let plain = match &got.ret {
        Some(Ok(ret)) => json!({ "ret": ret }),
        Some(Err(name)) => json!({ "err": name }),
        None => json!(null),
    };
    let step = want.op;
    let wanted = match (&want.any_of, &want.err, want.ret) {
        (Some(list), ..) if list.contains(&plain) => plain.clone(),
        (Some(list), ..) => json!({ "any_of": list }),
        (None, Some(name), _) => json!({ "err": name }),
        (None, None, ret) => json!({ "ret": ret }),
    };
    out.field("bug_ret", step, wanted, plain);
    if let Some(runs) = &want.bytes {
        let (off, bytes) = got.bytes.clone().unwrap_or_default();
        same_bytes(out, "bug_ret", step, runs, off, &bytes);
    }
    if let Some(did) = want.did_zero {
        out.field("bug_ret", step, json!({ "did_zero": did }), json!({ "did_zero": got.did_zero }));
    }
    if let Some(left) = want.nr_to_write {
        let got = json!({ "nr_to_write": got.nr_to_write });
        out.field("bug_ret", step, json!({ "nr_to_write": left }), got);
    }
    if let Some(pos) = want.pos {
        out.field("bug_ret", step, json!({ "pos": pos }), json!({ "pos": got.pos }));
    }
}

/// Run lists against bytes that begin at `base`: the first byte that is not as said.
fn same_bytes(
    out: &mut Findings,
    kind: &'static str,
    step: usize,
    runs: &[Run],
    base: u64,
    bytes: &[u8],
) {
    let covered = runs.iter().fold(0u64, |all, run| all.saturating_add(run.1));
    if covered != bytes.len() as u64 {
        out.field(kind, step, json!({ "bytes": covered }), json!({ "bytes": bytes.len() }));
        return;
    }
    let at = |off: u64| bytes.get(usize::try_from(off.checked_sub(base)?).ok()?).copied();
    first_wrong(out, kind, step, runs.iter().map(|(off, len, fill)| (*off, *len, *fill)), at);
}

/// One field: all runs hold, or the first place where one does not.
fn first_wrong(
    out: &mut Findings,
    kind: &'static str,
    step: usize,
    runs: impl Iterator<Item = Run>,
    at: impl Fn(u64) -> Option<u8>,
) {
    for (off, len, Fill(fill)) in runs {
        if let Some(wrong) = (off..off.saturating_add(len)).find(|byte| at(*byte) != Some(fill)) {
            let got = json!({ "at": wrong, "byte": at(wrong) });
            out.field(kind, step, json!({ "at": wrong, "byte": fill }), got);
            return;
        }
    }
    out.field(kind, step, json!(true), json!(true));
}

fn bios(out: &mut Findings, scenario: &Scenario, want: &Expected, shown: &Shown) {
    let port = shown.machine.port.borrow();
    let data = || port.sent.iter().filter(|sent| sent.layer == Layer::Data);
    let compare =
        |out: &mut Findings, kind, step, want: &[BioWords], of: &dyn Fn(usize) -> bool| {
            let sent = data().filter(|sent| of(sent.op));
            let got: Vec<_> = sent.map(|sent| (sent.dir, sent.addr, sent.len)).collect();
            same_io(out, kind, step, want, &got);
        };
    if let Some(all) = &want.bios {
        compare(out, "bug_bios", end(shown), all, &|_| true);
    }
    if let Some(all) = &want.all_bios {
        let layers: Value = all.iter().map(|row| json!(row.0.name())).collect();
        let got: Value = port.sent.iter().map(|sent| json!(sent.layer.name())).collect();
        out.field("bug_all_bios", end(shown), layers, got);
        let rows: Vec<BioWords> = all.iter().map(|row| (row.1, row.2, row.3)).collect();
        let got: Vec<_> = port.sent.iter().map(|sent| (sent.dir, sent.addr, sent.len)).collect();
        same_io(out, "bug_all_bios", end(shown), &rows, &got);
    }
    if let Some(all) = &want.requests {
        if port.at_submit {
            out.unchecked("requests of bios that end inside submission".to_owned());
        } else {
            same_io(out, "bug_requests", end(shown), all, &shown.machine.seen.requests);
        }
    }
    for (op, list) in want.bios_op.iter().flatten() {
        let at = op.parse().unwrap_or(usize::MAX);
        compare(out, "bug_bios_op", at, list, &|of| of == at);
    }
    for (task, list) in want.bios_task.iter().flatten() {
        let mine = |of: usize| scenario.ops.get(of).is_some_and(|op| op.task == *task);
        compare(out, "bug_bios_task", end(shown), list, &mine);
    }
    let spans = |dir: Dir| {
        data().filter(move |sent| sent.dir == dir).map(|sent| (sent.addr, sent.addr + sent.len))
    };
    for (kind, list, dir, must) in [
        ("bug_must_write", &want.must_write, Dir::Write, true),
        ("bug_must_not_write", &want.must_not_write, Dir::Write, false),
        ("bug_must_not_read", &want.must_not_read, Dir::Read, false),
    ] {
        for (addr, len) in list.iter().flatten() {
            span(out, kind, end(shown), (*addr, *len), spans(dir).collect(), must);
        }
    }
    if let Some(max) = want.read_dev_max {
        let beyond = spans(Dir::Read).map(|span| span.1).filter(|end| *end > max).max();
        out.field("bug_read_dev_max", end(shown), json!(max), json!(beyond.unwrap_or(max)));
    }
    if let Some(spans) = &want.must_allocate {
        let extents = shown.machine.extents();
        let there = |at: u64| {
            extents.iter().find(|row| {
                row.0 <= at
                    && at < row.0 + row.1
                    && matches!(row.2, MapType::Mapped | MapType::Unwritten)
            })
        };
        for (off, len) in spans {
            let mut at = *off;
            while at < off + len
                && let Some(row) = there(at)
            {
                at = row.0 + row.1;
            }
            let got = if at < off + len { json!({ "hole": at }) } else { json!([off, len]) };
            out.field("bug_must_allocate", end(shown), json!([off, len]), got);
        }
    }
}

/// I/O in its order.
fn same_io(
    out: &mut Findings,
    kind: &'static str,
    step: usize,
    want: &[BioWords],
    got: &[(Dir, u64, u64)],
) {
    let fits = want.len() == got.len()
        && want
            .iter()
            .zip(got)
            .all(|((dir, addr, len), one)| (*dir, *len) == (one.0, one.2) && addr.is(one.1));
    let words: Value =
        want.iter().map(|(dir, addr, len)| json!([dir.name(), addr.shown(), len])).collect();
    let shown: Value = got.iter().map(|one| json!([one.0.name(), one.1, one.2])).collect();
    out.field(kind, step, words.clone(), if fits { words } else { shown });
}

/// Whether a device range is wholly covered, or not touched at all.
fn span(
    out: &mut Findings,
    kind: &'static str,
    step: usize,
    (addr, len): DevSpan,
    mut sent: Vec<(u64, u64)>,
    must: bool,
) {
    let super::words::Addr::At(start) = addr else {
        out.unchecked(format!("the address NEW in `{kind}`"));
        return;
    };
    let stop = start.saturating_add(len);
    let want = json!([start, len]);
    sent.sort_unstable();
    let wrong = if must {
        let mut at = start;
        for (from, to) in sent {
            if from <= at {
                at = at.max(to);
            }
        }
        (at < stop).then_some(at)
    } else {
        let touched = sent.into_iter().find(|(from, to)| *from < stop && start < *to);
        touched.map(|(from, _)| from.max(start))
    };
    out.field(kind, step, want.clone(), wrong.map_or(want, |at| json!({ "wrong at": at })));
}

fn ioends(out: &mut Findings, want: &Expected, shown: &Shown) {
    let Some(list) = &want.ioends else { return };
    let names = |flags: [bool; 3]| -> Vec<&str> {
        let all = ["unwritten", "shared", "boundary"];
        all.into_iter().zip(flags).filter_map(|(name, on)| on.then_some(name)).collect()
    };
    let words: Value = list
        .iter()
        .map(|one| {
            let has = |flag| one.flags.contains(&flag);
            let flags = [IoendFlag::Unwritten, IoendFlag::Shared, IoendFlag::Boundary].map(has);
            json!([one.off, one.io_size, one.bio_len, names(flags)])
        })
        .collect();
    let port = shown.machine.port.borrow();
    let got: Value = port
        .sent
        .iter()
        .filter(|sent| sent.dir == Dir::Write && !sent.direct)
        .map(|one| {
            let flags = names([one.unwritten, one.shared, one.boundary]);
            json!([one.pos, one.io_size, one.len, flags])
        })
        .collect();
    out.field("bug_ioends", end(shown), words, got);
}

fn pieces(out: &mut Findings, want: &Expected, shown: &Shown) {
    let seen = &shown.machine.seen;
    for (kind, want, got) in [
        ("bug_read_ranges", &want.read_ranges, &seen.read_ranges),
        ("bug_zeroed_ranges", &want.zeroed_ranges, &seen.zeroed_ranges),
    ] {
        if let Some(want) = want {
            out.field(kind, end(shown), json!(want), json!(got));
        }
    }
    for one in want.writeback_end.iter().flatten() {
        let ends: Vec<u64> =
            seen.writeback_ends.iter().filter(|row| row.0 == one.folio).map(|row| row.1).collect();
        let want = json!([one.folio, one.bios]);
        let got = if ends.contains(&one.bios) { want.clone() } else { json!([one.folio, ends]) };
        out.field("bug_writeback_end", end(shown), want, got);
    }
}

fn bytes(out: &mut Findings, want: &Expected, shown: &Shown) {
    let last = shown.after.last();
    let runs_of = |op: &str| op.parse().ok().and_then(|at: usize| Some((at, shown.after.get(at)?)));
    if let (Some(runs), Some(last)) = (&want.bytes, last) {
        same_bytes(out, "bug_bytes", end(shown), runs, 0, &last.bytes);
    }
    if let (Some(wanted), Some(last)) = (&want.sha256, last) {
        let hash = sha2::Sha256::digest(&last.bytes);
        let half = |at: usize| {
            hash[at..at + 16].iter().fold(0u128, |word, byte| word << 8 | u128::from(*byte))
        };
        let got = format!("{:032x}{:032x}", half(0), half(16));
        out.field("bug_sha256", end(shown), json!(wanted), json!(got));
    }
    for (op, runs) in want.bytes_after.iter().flatten() {
        match runs_of(op) {
            Some((at, got)) => same_bytes(out, "bug_bytes_after", at, runs, 0, &got.bytes),
            None => out.field("bug_bytes_after", 0, json!({ "op": op }), json!(null)),
        }
    }
    if let Some(runs) = &want.cache_bytes {
        let blocks = shown.machine.cached_blocks();
        let at = |byte: u64| {
            let (start, _, bytes) = blocks.iter().rfind(|block| block.0 <= byte)?;
            bytes.get((byte - start) as usize).copied()
        };
        first_wrong(out, "bug_cache_bytes", end(shown), runs.iter().copied(), at);
    }
    let at_disk =
        |out: &mut Findings, kind, step, runs: &[(super::words::Addr, u64, Fill)], disk: &Store| {
            let mut placed = Vec::new();
            for (addr, len, fill) in runs {
                match addr {
                    super::words::Addr::At(at) => placed.push((*at, *len, *fill)),
                    super::words::Addr::New => {
                        out.unchecked(format!("the address NEW in `{kind}`"));
                    }
                }
            }
            let at = |byte: u64| {
                let mut one = [0];
                disk.read(DevAddr::new(byte), &mut one);
                Some(one[0])
            };
            first_wrong(out, kind, step, placed.into_iter(), at);
        };
    if let (Some(runs), Some(last)) = (&want.disk, last) {
        at_disk(out, "bug_disk", end(shown), runs, &last.disk);
    }
    for (op, runs) in want.disk_after.iter().flatten() {
        match runs_of(op) {
            Some((at, got)) => at_disk(out, "bug_disk_after", at, runs, &got.disk),
            None => out.field("bug_disk_after", 0, json!({ "op": op }), json!(null)),
        }
    }
    for (off, len, fills) in want.allowed_bytes.iter().flatten() {
        let bytes = last.map_or(&[][..], |last| &last.bytes);
        let fills: Vec<u8> = fills.iter().map(|fill| fill.0).collect();
        let start = (*off as usize).min(bytes.len());
        let stop = (off.saturating_add(*len) as usize).min(bytes.len());
        let wrong = (start..stop).find(|at| !fills.contains(&bytes[*at]));
        let got = wrong.map_or(json!(fills), |at| json!({ "at": at, "byte": bytes[at] }));
        out.field("bug_allowed_bytes", end(shown), json!(fills), got);
    }
    for (label, snapshot) in want.snapshots.iter().flatten() {
        let Some((size, bytes)) = shown.crashes.get(label) else {
            out.field("bug_snapshots", end(shown), json!({ "label": label }), json!(null));
            continue;
        };
        let got = json!({ "disk_size": size });
        out.field("bug_snapshots", end(shown), json!({ "disk_size": snapshot.disk_size }), got);
        same_bytes(out, "bug_snapshots", end(shown), &snapshot.bytes, 0, bytes);
    }
}

fn counters(out: &mut Findings, want: &Expected, shown: &Shown) {
    let (machine, seen) = (&shown.machine, &shown.machine.seen);
    for (name, limits) in want.counters.iter().flatten() {
        let value = match name {
            CounterName::BeginCalls => machine.counter(Counter::BeginCalls),
            CounterName::CopyAttempts => machine.counter(Counter::CopyAttempts),
            CounterName::CopySteps => seen.copy_steps,
            CounterName::FaultInBytes => machine.counter(Counter::FaultInBytes),
            CounterName::FoliosCreated => machine.counter(Counter::FoliosCreated),
            CounterName::EndReadCalls | CounterName::FolioUnlocks => seen.reads_ended,
            CounterName::MapBlocksFaults => machine.map_faults(),
            CounterName::WritePendingPeak => seen.write_peak,
            CounterName::MkwriteCalls => seen.mkwrite_calls,
            CounterName::DioCollisions => machine.counter(Counter::DirectCollisions),
            CounterName::DioFallbacks => machine.counter(Counter::DirectFallbacks),
            // No operation that is executed can raise it.
            CounterName::RedirtiedFolios => 0,
            CounterName::NodeBlocksWritten
            | CounterName::PagesSkipped
            | CounterName::WriteAttemptsPerBlock => {
                out.unchecked(format!("the counter {name:?}"));
                continue;
            }
        };
        let key = format!("{name:?}");
        let got = if limits.hold(value) { limits.shown() } else { json!(value) };
        let want = json!({ key.clone(): limits.shown() });
        out.field("bug_counters", end(shown), want, json!({ key: got }));
    }
}

/// What the engine counted while it worked for one task.
fn task_counters(out: &mut Findings, want: &Expected, shown: &Shown) {
    for (task, wanted) in want.counters_task.iter().flatten() {
        let ran = shown.task_counts.get(task);
        for (name, limits) in wanted {
            let counter = match name {
                CounterName::BeginCalls => Counter::BeginCalls,
                CounterName::CopyAttempts => Counter::CopyAttempts,
                CounterName::FaultInBytes => Counter::FaultInBytes,
                CounterName::FoliosCreated => Counter::FoliosCreated,
                CounterName::DioCollisions => Counter::DirectCollisions,
                CounterName::DioFallbacks => Counter::DirectFallbacks,
                CounterName::CopySteps
                | CounterName::EndReadCalls
                | CounterName::FolioUnlocks
                | CounterName::MapBlocksFaults
                | CounterName::WritePendingPeak
                | CounterName::MkwriteCalls
                | CounterName::RedirtiedFolios
                | CounterName::NodeBlocksWritten
                | CounterName::PagesSkipped
                | CounterName::WriteAttemptsPerBlock => {
                    out.unchecked(format!("the counter {name:?} of one task"));
                    continue;
                }
            };
            let value: u64 = ran
                .into_iter()
                .flatten()
                .map(|(before, after)| after.get(counter) - before.get(counter))
                .sum();
            let key = format!("{task}: {name:?}");
            let got = if limits.hold(value) { limits.shown() } else { json!(value) };
            let want = json!({ key.clone(): limits.shown() });
            out.field("bug_counters", end(shown), want, json!({ key: got }));
        }
    }
}

fn holds(out: &mut Findings, scenario: &Scenario, invariant: Invariant, shown: &Shown) {
    let seen = &shown.machine.seen;
    let broken = shown.machine.counter(Counter::BrokenInvariants);
    let first = |list: &[String]| list.first().cloned();
    let wrong = match invariant {
        Invariant::NoHang => shown.hangs.then(|| "an operation never ends".to_owned()),
        Invariant::NoPanic | Invariant::StateBitsInRange => {
            (broken > 0).then(|| format!("{broken} invariants of the engine are broken"))
        }
        Invariant::EndedOnce => first(&seen.ended_twice),
        Invariant::FolioLockedUntilLastCompletion => first(&seen.ended_early),
        Invariant::NoAccessAfterEnd => first(&seen.touched_late),
        Invariant::NoBytesOnlyInCleanCache => first(&shown.lost_bytes),
        Invariant::ReadsMatchModel => first(&shown.wrong_reads),
        Invariant::NoStaleDeviceBytes => {
            let stale = scenario.dev_stale_fill.map_or(0, |fill| fill.0);
            let reads = shown.got.iter().filter_map(|got| got.bytes.as_ref());
            let last = shown.after.last().map_or(&[][..], |last| &last.bytes);
            let any = stale != 0
                && (last.contains(&stale) || reads.into_iter().any(|(_, b)| b.contains(&stale)));
            any.then(|| "a reader got stale bytes of the device".to_owned())
        }
        Invariant::FreeBlocksRestored => {
            let taken = shown.machine.taken();
            (taken != shown.taken).then(|| format!("{taken} bytes are taken, not {}", shown.taken))
        }
        Invariant::PostEofZero => first(&shown.behind_eof),
        Invariant::NoReadOfFreedBlocks => first(&seen.read_freed),
        Invariant::EachBlockReleasedOnce => {
            out.unchecked(format!("the invariant {invariant:?}"));
            return;
        }
    };
    let key = format!("{invariant:?}");
    let want = json!({ key.clone(): true });
    let got = wrong.map_or(want.clone(), |why| json!({ key: why }));
    out.field("bug_invariants", end(shown), want, got);
}
