//! What a job did: counts, times, and both ways to print them.

use super::setup::World;
use folioscope_core::scenario::fio::FioJob;
use folioscope_core::units::{Bytes, Nanos};
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use std::fmt::{self, Write as _};

/// Latencies of one kind of call, in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Latency(Histogram<u64>);

impl Default for Latency {
    fn default() -> Self {
        Self(Histogram::new(3).expect("three digits are in range"))
    }
}

const PERCENTILES: [(&str, f64); 5] =
    [("p50", 50.0), ("p90", 90.0), ("p95", 95.0), ("p99", 99.0), ("p99.9", 99.9)];

impl Latency {
    /// One call took this long.
    pub(crate) fn record(&mut self, time: Nanos) {
        self.0.record(time.get()).expect("a histogram that grows takes all");
    }
    /// Calls.
    pub(crate) fn count(&self) -> u64 {
        self.0.len()
    }
    /// Whether any call took time: on a simulated device, calls that only copy take none.
    fn is_timed(&self) -> bool {
        self.0.max() > 0
    }
    /// Half of the calls took at most this many nanoseconds.
    pub(crate) fn median(&self) -> u64 {
        self.0.value_at_percentile(50.0)
    }
    fn add(&mut self, other: &Self) {
        self.0.add(&other.0).expect("a histogram that grows takes all");
    }
    fn json(&self) -> Value {
        let mut all = json!({
            "count": self.0.len(),
            "min_ns": self.0.min(),
            "mean_ns": self.0.mean(),
            "max_ns": self.0.max(),
        });
        for (name, percentile) in PERCENTILES {
            all[format!("{name}_ns")] = self.0.value_at_percentile(percentile).into();
        }
        all
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |nanos: f64| nanos / 1000.0;
        write!(
            f,
            "lat (µs): min={:.1}, avg={:.1}",
            micros(self.0.min() as f64),
            micros(self.0.mean())
        )?;
        for (name, percentile) in PERCENTILES {
            write!(f, ", {name}={:.1}", micros(self.0.value_at_percentile(percentile) as f64))?;
        }
        write!(f, ", max={:.1}", micros(self.0.max() as f64))
    }
}

/// What one copy of a job did, or several together.
#[derive(Clone, Default, Debug)]
pub(crate) struct Report {
    /// Copies.
    pub(crate) copies: u32,
    /// Bytes that the job's calls wrote.
    pub(crate) app_written: Bytes,
    /// Bytes that its calls read.
    pub(crate) app_read: Bytes,
    /// Bytes of write bios.
    pub(crate) device_written: Bytes,
    /// Bytes of read bios, without those of `pre_read`.
    pub(crate) device_read: Bytes,
    /// Bytes written in blocks that nobody had changed.
    pub(crate) clean_written: Bytes,
    /// Write bios.
    pub(crate) write_bios: u64,
    /// Flushes of the device.
    pub(crate) flushes: u64,
    /// Folios in the cache.
    pub(crate) folios: u64,
    /// Time of the job, without what comes before and behind; of the slowest copy.
    pub(crate) elapsed: Nanos,
    /// Time of the last fsync, which makes durable what the job left.
    pub(crate) final_sync: Nanos,
    /// Write calls.
    pub(crate) writes: Latency,
    /// Read calls.
    pub(crate) reads: Latency,
    /// Calls of fsync and fdatasync.
    pub(crate) syncs: Latency,
    /// Blocks that were not reached, and why.
    pub(crate) unfinished: Option<Unfinished>,
    /// Every byte was compared.
    pub(crate) verified: bool,
}

/// Why a job ended before its last block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unfinished {
    /// `runtime` was over.
    Runtime,
    /// Ctrl-C.
    Interrupted,
    /// The trace holds as many steps as a trace may hold.
    TraceFull,
}

impl Unfinished {
    const fn words(self) -> &'static str {
        match self {
            Self::Runtime => "runtime was over",
            Self::Interrupted => "interrupted",
            Self::TraceFull => "the trace is full",
        }
    }
}

impl Report {
    /// Adds what another copy did at the same time.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.copies += other.copies;
        self.app_written += other.app_written;
        self.app_read += other.app_read;
        self.device_written += other.device_written;
        self.device_read += other.device_read;
        self.clean_written += other.clean_written;
        self.write_bios += other.write_bios;
        self.flushes += other.flushes;
        self.folios += other.folios;
        self.elapsed = self.elapsed.max(other.elapsed);
        self.final_sync = self.final_sync.max(other.final_sync);
        self.writes.add(&other.writes);
        self.reads.add(&other.reads);
        self.syncs.add(&other.syncs);
        self.unfinished = self.unfinished.or(other.unfinished);
        self.verified |= other.verified;
    }
    /// Bytes that the device got for each byte that the application wrote.
    pub(crate) fn amplification(&self) -> Option<f64> {
        let app = self.app_written.get();
        (app > 0).then(|| self.device_written.get() as f64 / app as f64)
    }
    /// Bytes a second, counting the calls alone.
    pub(crate) fn bandwidth(&self, bytes: Bytes) -> f64 {
        per_second(bytes.get(), self.elapsed)
    }

    /// For people, in the manner of fio.
    pub(crate) fn text(&self, title: &str) -> String {
        let mut out = format!("{title}\n");
        self.write_text(&mut out).expect("a String takes everything");
        out
    }

    fn write_text(&self, out: &mut String) -> fmt::Result {
        for (name, calls, bytes) in
            [("write", &self.writes, self.app_written), ("read", &self.reads, self.app_read)]
        {
            if calls.count() == 0 {
                continue;
            }
            if self.elapsed.is_zero() {
                let calls = calls.count();
                writeln!(out, "  {name}: {calls} calls, {bytes}, none of which had to wait")?;
                continue;
            }
            let bandwidth = self.bandwidth(bytes);
            writeln!(
                out,
                "  {name}: IOPS={:.0}, BW={}/s ({:.1} MB/s) ({bytes} in {:.3} s)",
                per_second(calls.count(), self.elapsed),
                whole_per_second(bytes.get(), self.elapsed),
                bandwidth / 1e6,
                seconds(self.elapsed)
            )?;
            if calls.is_timed() {
                writeln!(out, "    {calls}")?;
            }
        }
        if self.syncs.count() > 0 {
            writeln!(out, "  sync: {} calls of fsync or fdatasync", self.syncs.count())?;
            writeln!(out, "    {}", self.syncs)?;
        }
        if !self.app_written.is_zero() {
            writeln!(
                out,
                "  application wrote {}; device got {} in {} bios; amplification {:.2}",
                self.app_written,
                self.device_written,
                self.write_bios,
                self.amplification().unwrap_or_default()
            )?;
            writeln!(out, "  clean bytes written: {}", self.clean_written)?;
            writeln!(
                out,
                "  last fsync, outside of the times above: {:.3} s",
                seconds(self.final_sync)
            )?;
        }
        if !self.device_read.is_zero() {
            writeln!(out, "  device read: {}", self.device_read)?;
        }
        writeln!(out, "  cache: {} folios; {} flushes of the device", self.folios, self.flushes)?;
        if let Some(why) = self.unfinished {
            writeln!(
                out,
                "  ended early ({}): {} writes and {} reads were done, and all that was written is durable",
                why.words(),
                self.writes.count(),
                self.reads.count()
            )?;
        }
        Ok(())
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        json!({
            "copies": self.copies,
            "app_bytes_written": self.app_written.get(),
            "app_bytes_read": self.app_read.get(),
            "device_bytes_written": self.device_written.get(),
            "device_bytes_read": self.device_read.get(),
            "clean_bytes_written": self.clean_written.get(),
            "amplification": self.amplification(),
            "write_bios": self.write_bios,
            "device_flushes": self.flushes,
            "folios": self.folios,
            "elapsed_ns": self.elapsed.get(),
            "final_sync_ns": self.final_sync.get(),
            "write_iops": per_second(self.writes.count(), self.elapsed),
            "read_iops": per_second(self.reads.count(), self.elapsed),
            "write_bytes_per_second": self.bandwidth(self.app_written),
            "read_bytes_per_second": self.bandwidth(self.app_read),
            "write_latency": self.writes.json(),
            "read_latency": self.reads.json(),
            "sync_latency": self.syncs.json(),
            "ended_early": self.unfinished.map(Unfinished::words),
            "verified": self.verified,
        })
    }
}

fn seconds(time: Nanos) -> f64 {
    time.get() as f64 / 1e9
}

fn whole_per_second(count: u64, time: Nanos) -> Bytes {
    let nanos = u128::from(time.get().max(1));
    Bytes::new((u128::from(count) * 1_000_000_000 / nanos) as u64)
}

fn per_second(count: u64, time: Nanos) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / seconds(time) }
}

/// The line above the numbers of a job.
pub(crate) fn title(job: &FioJob, copies: u32) -> String {
    let mut out = format!("{}: rw={}, bs={}, size={}", job.name, job.rw, job.block_size, job.size);
    for (every, name) in [(job.fsync, "fsync"), (job.fdatasync, "fdatasync")] {
        if every > 0 {
            write!(out, ", {name}={every}").expect("a String takes everything");
        }
    }
    if copies > 1 {
        write!(out, ", {copies} copies").expect("a String takes everything");
    }
    out
}

/// The line about the world.
pub(crate) fn world_line(world: &World) -> String {
    let geometry = world.geometry;
    let switches = world.header(String::new(), None);
    let switches: Vec<String> =
        switches.behaviours.switches().map(|(name, value)| format!("{name}={value}")).collect();
    format!(
        "page {}, block {}, folios up to {}; {} ({}): {}",
        geometry.page_size(),
        geometry.block_size(),
        geometry.max_folio_size(),
        world.profile.name,
        world.profile.evidence.words(),
        switches.join(", ")
    )
}
