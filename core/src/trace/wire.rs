//! A trace as bytes: the file that the terminal writes and the page opens.
//!
//! `folioscope-trace` and a line feed, then the version as two little-endian bytes, then blocks of
//! `length (4 bytes) | CRC-32 (4 bytes) | values`: first the header, then chunks of up to 4,096
//! steps, then an empty block that says that the trace is complete. How a value is packed says
//! [`super::packed`].
//!
//! Version 0 carries no promise: until the page ships links, a change may break old files.

use super::crc::Crc;
use super::delta::{Delta, DeltaKind};
use super::header::{Header, Source};
use super::packed::{Packed, put, put_option, put_text};
use super::rule::Rule;
use super::step::{Context, Step};
use super::timeline::Recording;
use crate::geometry::Geometry;
use crate::units::{Bytes, OpId, Order, TaskId, Time};
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

/// The bytes of a trace.
pub fn encode(header: &Header, recording: &Recording) -> Vec<u8> {
    let crc = Crc::new();
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&VERSION.to_le_bytes());
    push_block(&mut out, &crc, |block| put_header(block, header));
    for first in (0..recording.len()).step_by(CHUNK) {
        let steps = first..recording.len().min(first + CHUNK);
        push_block(&mut out, &crc, |block| {
            put(block, steps.len() as u64);
            steps.for_each(|at| put_step(block, recording.step(at), recording.deltas(at)));
        });
    }
    push_block(&mut out, &crc, |_| ());
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
    let mut reader = Reader { bytes, at: MAGIC.len(), steps: 0, crc: Crc::new() };
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
            let more = bytes.len() - reader.at;
            if more > 0 {
                let what = format!("{more} bytes follow its end");
                return Err(WireError::Damaged { at: reader.at, what });
            }
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
    crc: Crc,
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
        if self.crc.of(block) != sum {
            return Err(WireError::Damaged { at, what: "its checksum differs".to_owned() });
        }
        Ok(block)
    }
}

/// Adds a block of what `fill` adds.
fn push_block(out: &mut Vec<u8>, crc: &Crc, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut block = Vec::new();
    fill(&mut block);
    out.extend_from_slice(&(block.len() as u32).to_le_bytes());
    out.extend_from_slice(&crc.of(&block).to_le_bytes());
    out.extend_from_slice(&block);
}

fn put_header(out: &mut Vec<u8>, header: &Header) {
    for text in [&header.engine, &header.title, &header.profile] {
        put_text(out, text);
    }
    let switches: Vec<_> = header.behaviours.switches().collect();
    put(out, switches.len() as u64);
    for (name, value) in switches {
        put_text(out, name);
        put_text(out, value);
    }
    put(out, header.geometry.page_size().get());
    put(out, header.geometry.block_size().get());
    out.push(header.geometry.max_order().get());
    let real = match &header.source {
        Source::Simulated => None,
        Source::Real(what) => Some(what.as_str()),
    };
    put_option(out, real, put_text);
    put(out, header.tasks.len() as u64);
    header.tasks.iter().for_each(|name| put_text(out, name));
}

fn read_header(block: &[u8]) -> Result<Header, String> {
    let mut block = Packed(block);
    let (engine, title, profile) = (block.text()?, block.text()?, block.text()?);
    let switches = (0..block.number::<u32>()?).map(|_| Ok((block.text()?, block.text()?)));
    let behaviours = Header::behaviours_from(&switches.collect::<Result<Vec<_>, String>>()?)?;
    let (page_size, block_size) = (Bytes::new(block.number()?), Bytes::new(block.number()?));
    let geometry = Geometry::new(page_size, block_size, Order::new(block.byte()?));
    let geometry = geometry.map_err(|error| error.to_string())?;
    let source = block.option(Packed::text)?.map_or(Source::Simulated, Source::Real);
    let tasks = (0..block.number::<u32>()?).map(|_| block.text()).collect::<Result<_, _>>()?;
    block.end()?;
    Ok(Header { engine, title, profile, behaviours, geometry, source, tasks })
}

fn put_step(out: &mut Vec<u8>, step: &Step, deltas: &[Delta]) {
    put(out, step.time.get());
    put(out, step.task.get());
    put_option(out, step.op.map(OpId::get), put);
    out.push(step.context as u8);
    put(out, step.rule.code());
    step.args.into_iter().for_each(|arg| put(out, arg));
    put(out, deltas.len() as u64);
    for Delta { kind, object, aux, old, new } in deltas {
        out.push(*kind as u8);
        for word in [u64::from(*object), u64::from(*aux), *old, *new] {
            put(out, word);
        }
    }
}

fn read_step(block: &mut Packed<'_>, deltas: &mut Vec<Delta>) -> Result<Step, String> {
    let (time, task) = (Time::new(block.number()?), TaskId::new(block.number()?));
    let op = block.option(Packed::number)?.map(OpId::new);
    let (context, rule) = (block.byte()?, block.number()?);
    let context =
        Context::from_code(context).ok_or_else(|| format!("context {context} is unknown"))?;
    let rule = Rule::from_code(rule).ok_or_else(|| format!("rule {rule} is unknown"))?;
    let args = [block.number()?, block.number()?, block.number()?, block.number()?];
    deltas.clear();
    for _ in 0..block.number::<u32>()? {
        let code = block.byte()?;
        deltas.push(Delta {
            kind: DeltaKind::from_code(code).ok_or_else(|| format!("change {code} is unknown"))?,
            object: block.number()?,
            aux: block.number()?,
            old: block.number()?,
            new: block.number()?,
        });
    }
    Ok(Step { time, task, op, context, rule, args })
}

fn read_steps(block: &[u8], recording: &mut Recording) -> Result<(), String> {
    let mut block = Packed(block);
    let mut deltas = Vec::new();
    for _ in 0..block.number::<u32>()? {
        if recording.len() == MAX_STEPS {
            return Err(format!("it holds more than {MAX_STEPS} steps"));
        }
        let step = read_step(&mut block, &mut deltas)?;
        recording.push(step, &deltas);
    }
    block.end()
}
