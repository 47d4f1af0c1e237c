//! A trace as bytes: the file that the terminal writes and the page opens.
//!
//! `folioscope-trace` and a line feed, then the version as two little-endian bytes, then blocks of
//! `length (4 bytes) | CRC-32 (4 bytes) | postcard`: first the header, then chunks of up to 4,096
//! steps, then an empty block that says that the trace is complete. Wire types are apart from the
//! engine's own, so that these may change.
//!
//! Version 0 carries no promise: until the page ships links, a change may break old files.

use super::delta::{Delta, DeltaKind};
use super::header::{Header, Source};
use super::rule::Rule;
use super::step::{Context, Step};
use super::timeline::Recording;
use crate::geometry::Geometry;
use crate::units::{Bytes, OpId, Order, TaskId, Time};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// First bytes of every trace.
pub const MAGIC: &[u8] = b"folioscope-trace\n";
/// Version that is written, and the newest that is read.
pub const VERSION: u16 = 0;
/// Steps of a chunk.
const CHUNK: usize = 4096;
/// Longest block that is read: a chunk of steps is far below it.
const MAX_BLOCK: u32 = 256 * 1024 * 1024;
/// Most steps that a trace may hold.
pub const MAX_STEPS: usize = 10_000_000;

/// Why bytes are not a trace.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum WireError {
    /// Something else altogether.
    #[error(
        "this is not a folioscope trace (it does not begin with \"folioscope-trace\"): open a file that `folioscope run --trace FILE` wrote"
    )]
    NotATrace,
    /// From the future.
    #[error(
        "the trace has version {found}, and this program reads versions up to {VERSION}: use a newer folioscope"
    )]
    Version {
        /// Version of the file.
        found: u16,
    },
    /// It ends too early.
    #[error(
        "the trace is cut off at byte {at}, after {steps} complete steps: copy it again, or record it again"
    )]
    Truncated {
        /// Where more was expected.
        at: usize,
        /// Steps before.
        steps: usize,
    },
    /// A checksum or a field is wrong.
    #[error(
        "the trace is damaged in the block at byte {at} ({what}): copy it again, or record it again"
    )]
    Damaged {
        /// First byte of the block.
        at: usize,
        /// What is wrong there.
        what: String,
    },
}

#[derive(Serialize, Deserialize)]
struct WireHeader {
    engine: String,
    title: String,
    profile: String,
    switches: Vec<(String, String)>,
    page_size: u64,
    block_size: u64,
    max_order: u8,
    real: Option<String>,
    tasks: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct WireStep {
    time: u64,
    task: u32,
    op: Option<u32>,
    context: u8,
    rule: u16,
    args: [u64; 4],
    deltas: Vec<WireDelta>,
}

#[derive(Serialize, Deserialize)]
struct WireDelta(u8, u32, u32, u64, u64);

/// The bytes of a trace.
pub fn encode(header: &Header, recording: &Recording) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&VERSION.to_le_bytes());
    push_block(&mut out, &to_bytes(&wire_header(header)));
    let all: Vec<usize> = (0..recording.len()).collect();
    for chunk in all.chunks(CHUNK) {
        let steps: Vec<WireStep> = chunk.iter().map(|at| wire_step(recording, *at)).collect();
        push_block(&mut out, &to_bytes(&steps));
    }
    push_block(&mut out, &[]);
    out
}

/// Reads the bytes of a trace.
pub fn decode(bytes: &[u8]) -> Result<(Header, Recording), WireError> {
    if !bytes.starts_with(MAGIC) {
        let cut = !bytes.is_empty() && MAGIC.starts_with(bytes);
        return Err(if cut {
            WireError::Truncated { at: bytes.len(), steps: 0 }
        } else {
            WireError::NotATrace
        });
    }
    let mut reader = Reader { bytes, at: MAGIC.len(), steps: 0 };
    let version = u16::from_le_bytes(reader.take::<2>()?);
    if version > VERSION {
        return Err(WireError::Version { found: version });
    }
    let start = reader.at;
    let block = reader.block()?;
    let header = read_header(block).map_err(|what| WireError::Damaged { at: start, what })?;
    let mut recording = Recording::default();
    loop {
        let start = reader.at;
        let block = reader.block()?;
        if block.is_empty() {
            return Ok((header, recording));
        }
        read_steps(block, &mut recording).map_err(|what| WireError::Damaged { at: start, what })?;
        reader.steps = recording.len();
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    steps: usize,
}

impl<'a> Reader<'a> {
    fn slice(&mut self, len: usize) -> Result<&'a [u8], WireError> {
        let end = self.at.checked_add(len).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or(WireError::Truncated { at: self.bytes.len(), steps: self.steps })?;
        let slice = &self.bytes[self.at..end];
        self.at = end;
        Ok(slice)
    }
    fn take<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        Ok(self.slice(N)?.try_into().expect("the slice has N bytes"))
    }
    fn block(&mut self) -> Result<&'a [u8], WireError> {
        let at = self.at;
        let len = u32::from_le_bytes(self.take()?);
        let sum = u32::from_le_bytes(self.take()?);
        if len > MAX_BLOCK {
            return Err(WireError::Damaged { at, what: format!("its length is {len} bytes") });
        }
        let block = self.slice(len as usize)?;
        if crc32fast::hash(block) != sum {
            return Err(WireError::Damaged { at, what: "its checksum differs".to_owned() });
        }
        Ok(block)
    }
}

fn to_bytes(value: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).expect("plain data in memory")
}

fn push_block(out: &mut Vec<u8>, block: &[u8]) {
    out.extend_from_slice(&(block.len() as u32).to_le_bytes());
    out.extend_from_slice(&crc32fast::hash(block).to_le_bytes());
    out.extend_from_slice(block);
}

fn wire_header(header: &Header) -> WireHeader {
    let geometry = header.geometry;
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    WireHeader {
        engine: header.engine.clone(),
        title: header.title.clone(),
        profile: header.profile.clone(),
        switches: header.behaviours.switches().map(owned).collect(),
        page_size: geometry.page_size().get(),
        block_size: geometry.block_size().get(),
        max_order: geometry.max_order().get(),
        real: match &header.source {
            Source::Simulated => None,
            Source::Real(what) => Some(what.clone()),
        },
        tasks: header.tasks.clone(),
    }
}

fn wire_step(recording: &Recording, at: usize) -> WireStep {
    let step = recording.step(at);
    WireStep {
        time: step.time.get(),
        task: step.task.get(),
        op: step.op.map(OpId::get),
        context: step.context as u8,
        rule: step.rule.code(),
        args: step.args,
        deltas: recording
            .deltas(at)
            .iter()
            .map(|delta| WireDelta(delta.kind as u8, delta.object, delta.aux, delta.old, delta.new))
            .collect(),
    }
}

fn read_header(block: &[u8]) -> Result<Header, String> {
    let wire: WireHeader = postcard::from_bytes(block).map_err(|error| error.to_string())?;
    let geometry = Geometry::new(
        Bytes::new(wire.page_size),
        Bytes::new(wire.block_size),
        Order::new(wire.max_order),
    );
    let behaviours = Header::behaviours_from(&wire.switches)?;
    Ok(Header {
        engine: wire.engine,
        title: wire.title,
        profile: wire.profile,
        behaviours,
        geometry: geometry.map_err(|error| error.to_string())?,
        source: wire.real.map_or(Source::Simulated, Source::Real),
        tasks: wire.tasks,
    })
}

fn read_steps(block: &[u8], recording: &mut Recording) -> Result<(), String> {
    let steps: Vec<WireStep> = postcard::from_bytes(block).map_err(|error| error.to_string())?;
    if recording.len() + steps.len() > MAX_STEPS {
        return Err(format!("it holds more than {MAX_STEPS} steps"));
    }
    let mut deltas = Vec::new();
    for wire in steps {
        let rule = Rule::from_code(wire.rule).ok_or(format!("rule {} is unknown", wire.rule))?;
        let context =
            Context::from_code(wire.context).ok_or(format!("context {}", wire.context))?;
        deltas.clear();
        for WireDelta(code, object, aux, old, new) in wire.deltas {
            let kind = DeltaKind::from_code(code).ok_or(format!("change {code} is unknown"))?;
            deltas.push(Delta { kind, object, aux, old, new });
        }
        let step = Step {
            time: Time::new(wire.time),
            task: TaskId::new(wire.task),
            op: wire.op.map(OpId::new),
            context,
            rule,
            args: wire.args,
        };
        recording.push(step, &deltas);
    }
    Ok(())
}
