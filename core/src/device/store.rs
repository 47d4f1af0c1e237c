//! The bytes of a simulated device, kept only where something was written.

use crate::ordered::OrderedMap;
use crate::units::{Bytes, DevAddr};

const CHUNK: u64 = 4096;

/// Sparse bytes; what was never written is zero, or what the device held before.
#[derive(Clone, Default, Debug)]
pub struct Store {
    chunks: OrderedMap<u64, Box<[u8]>>,
    /// What is everywhere else.
    stale: u8,
}

impl Store {
    /// A device on which this byte is everywhere.
    pub const fn stale(byte: u8) -> Self {
        Self { chunks: OrderedMap::new(), stale: byte }
    }
    /// Writes `bytes` at `at`.
    pub fn write(&mut self, at: DevAddr, bytes: &[u8]) {
        let mut done = 0;
        while done < bytes.len() {
            let addr = at.get() + done as u64;
            let offset = (addr % CHUNK) as usize;
            let len = (CHUNK as usize - offset).min(bytes.len() - done);
            let stale = self.stale;
            let fresh = || vec![stale; CHUNK as usize].into();
            let chunk = self.chunks.get_or_insert_with(addr / CHUNK, fresh);
            chunk[offset..offset + len].copy_from_slice(&bytes[done..done + len]);
            done += len;
        }
    }
    /// It is as if nothing was ever written there.
    pub fn forget(&mut self, at: DevAddr, len: Bytes) {
        let end = at + len;
        let first = DevAddr::new(at.get().next_multiple_of(CHUNK)).min(end);
        let last = DevAddr::new(end.get() / CHUNK * CHUNK).max(first);
        let chunks = first.get() / CHUNK..last.get() / CHUNK;
        let gone: Vec<u64> = self.chunks.range(chunks).map(|(chunk, _)| chunk).collect();
        for chunk in gone {
            self.chunks.remove(&chunk);
        }
        for (from, to) in [(at, first), (last, end)] {
            self.write(from, &vec![self.stale; to.since(from).get() as usize]);
        }
    }
    /// Nothing but zeros is there.
    pub fn zero(&mut self, at: DevAddr, len: Bytes) {
        self.forget(at, len);
        let (mut at, end) = (at, at + len);
        while self.stale != 0 && at < end {
            let part = Bytes::new(CHUNK.min(end.since(at).get()));
            self.write(at, &vec![0; part.get() as usize]);
            at += part;
        }
    }
    /// Reads into `to` from `at`.
    pub fn read(&self, at: DevAddr, to: &mut [u8]) {
        let mut done = 0;
        while done < to.len() {
            let addr = at.get() + done as u64;
            let offset = (addr % CHUNK) as usize;
            let len = (CHUNK as usize - offset).min(to.len() - done);
            let part = &mut to[done..done + len];
            match self.chunks.get(&(addr / CHUNK)) {
                Some(chunk) => part.copy_from_slice(&chunk[offset..offset + len]),
                None => part.fill(self.stale),
            }
            done += len;
        }
    }
    /// Where something was written, in stretches of 4 KiB with their bytes.
    pub fn chunks(&self) -> impl Iterator<Item = (DevAddr, &[u8])> {
        self.chunks.iter().map(|(at, bytes)| (DevAddr::new(at * CHUNK), &**bytes))
    }
    /// `len` bytes from `at`.
    pub fn bytes(&self, at: DevAddr, len: Bytes) -> Vec<u8> {
        let mut out = vec![0; len.get() as usize];
        self.read(at, &mut out);
        out
    }
}
