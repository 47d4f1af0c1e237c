//! One state that a power cut may leave: the bytes of the files, the space that they take, and what
//! a fresh engine makes of it.

use super::Watch;
use super::history::Wrong;
use crate::check::invariants::name;
use crate::device::behind::Left;
use crate::device::sim::Timing;
use crate::device::store::Store;
use crate::device::zoned::Zoned;
use crate::engine::{WriteFlags, drive};
use crate::errno::Errno;
use crate::frames::Fill;
use crate::fs::extent_map::Extent;
use crate::iomap::MapType;
use crate::journal::Image;
use crate::scenario::run::Simulation;
use crate::scenario::{FileSystem, Scenario, StartFile};
use crate::trace::sink::NoTrace;
use crate::units::{Bytes, DevAddr, FileId, Pos};
use std::collections::BTreeSet;

/// What is wrong, with which file.
pub(super) type Problem = (usize, String, Option<Wrong>);

impl Watch<'_> {
    pub(super) fn check(&self, images: &[Image], left: &Left, mounts: bool) -> Result<(), Problem> {
        let medium = &left.bytes;
        self.check_space(images)?;
        let contents: Vec<Vec<u8>> =
            (0..images.len()).map(|file| self.content(&images[file], file, medium)).collect();
        for (file, content) in contents.iter().enumerate().filter(|(file, _)| self.kept(*file)) {
            let history = &self.files[file];
            let in_order = !self.in_order(file) || history.began_with(content);
            let ordered = if in_order { Ok(()) } else { Err(Wrong::Order(content.len() as u64)) };
            history.look(content, self.exposes(file)).and(ordered).map_err(|wrong| {
                let what = match wrong {
                    Wrong::Size(size) => format!("it has {size} bytes, as it never had"),
                    Wrong::Stale(pos) => format!("byte {pos} is what the device held before"),
                    Wrong::Byte(pos, byte) => format!("byte {pos} is {byte}, as it never was"),
                    Wrong::Order(len) => format!("it never began with these {len} bytes"),
                };
                (file, what, Some(wrong))
            })?;
        }
        if mounts { self.check_mounted(images, left, &contents) } else { Ok(()) }
    }
    /// The records with the sizes that a mount finds: of a file that is a zone that is written in
    /// order, up to the write pointer.
    pub(super) fn at_pointers(&self, images: &[Image], zoned: Option<&Zoned>) -> Vec<Image> {
        let mut images = images.to_vec();
        for (image, file) in images.iter_mut().zip(&self.scenario.files) {
            if let (FileSystem::Zone(zone), Some(zoned)) = (file.fs, zoned) {
                let at = zoned.pointer(zone.start() + self.scenario.partition);
                image.size = zone.size_at(at.since(zone.start() + self.scenario.partition));
            }
        }
        images
    }
    /// Whether a file takes bytes behind those that it has, and no others.
    fn in_order(&self, file: usize) -> bool {
        matches!(self.scenario.files[file].fs, FileSystem::Zone(zone) if zone.pointer().is_some())
    }
    /// The bytes of a file as its records and the medium give them.
    fn content(&self, image: &Image, file: usize, medium: &Store) -> Vec<u8> {
        let mut out = vec![0; image.size.get() as usize];
        if self.scenario.files[file].extents.is_none() {
            medium.read(DevAddr::ZERO + self.scenario.partition, &mut out);
            return out;
        }
        let geometry = self.scenario.geometry;
        for (at, extent) in &image.data {
            let start = geometry.block_offset(at).get() as usize;
            let len = geometry.blocks_bytes(extent.len).get() as usize;
            let end = (start + len).min(out.len());
            if let (MapType::Mapped, Some(addr)) = (extent.state, extent.addr)
                && start < end
            {
                medium.read(addr + self.scenario.partition, &mut out[start..end]);
            }
        }
        out
    }
    /// No two blocks of files lie in one place, unless they share it.
    fn check_space(&self, images: &[Image]) -> Result<(), Problem> {
        let geometry = self.scenario.geometry;
        let mut places: Vec<(DevAddr, DevAddr, usize)> = Vec::new();
        for (file, image) in images.iter().enumerate() {
            for extent in image.data.values() {
                if let Some(addr) = extent.addr {
                    places.push((addr, addr + geometry.blocks_bytes(extent.len), file));
                }
            }
        }
        places.sort_unstable();
        for pair in places.windows(2) {
            let [(_, end, first), (start, _, second)] = pair else { continue };
            if start < end && !self.links.may_share(*first, *second) {
                let what = format!("sector {} is in use twice", start.sector_floor());
                return Err((*second, what, None));
            }
        }
        Ok(())
    }
    /// A fresh engine on these records gives these bytes, counts the space that they take, and goes
    /// on from there.
    fn check_mounted(
        &self,
        images: &[Image],
        left: &Left,
        contents: &[Vec<u8>],
    ) -> Result<(), Problem> {
        let calm = Scenario { device: Timing::Ram, ..self.scenario.clone() };
        let Simulation { engine, mut sim } =
            Simulation::with_store(&calm, self.variant, NoTrace, Store::stale(self.stale));
        sim.set_bytes(left.bytes.clone());
        if let Some(zoned) = &left.zoned {
            sim.set_zones(zoned.clone());
        }
        for (file, image) in images.iter().enumerate() {
            engine.mount(FileId::new(file as u32), image);
        }
        for (file, content) in contents.iter().enumerate().filter(|(file, _)| self.kept(*file)) {
            let id = FileId::new(file as u32);
            let mut bytes = vec![0; content.len() + 1];
            let mut dest = bytes.as_mut_slice();
            let flags = crate::engine::ReadFlags::default();
            let op = engine.pread(crate::units::TaskId::new(1), id, Pos::ZERO, &mut dest, flags);
            let read = drive(&engine, &mut sim, op).map(|read| read.0);
            let wrong = |what: String| (file, what, None);
            if read != Ok(Ok(Bytes::new(content.len() as u64))) {
                return Err(wrong(format!("a read after the mount gives {read:?}")));
            }
            bytes.truncate(content.len());
            if let Some(at) = bytes.iter().zip(content).position(|(one, other)| one != other) {
                return Err(wrong(format!("byte {at} is another after the mount")));
            }
        }
        for (file, content) in contents.iter().enumerate().filter(|(file, _)| self.in_order(*file))
        {
            // The device takes the next write where the file says.
            let block = self.scenario.geometry.block_size();
            let (id, at) = (FileId::new(file as u32), Pos::new(content.len() as u64));
            let mut source = Fill { byte: 1, len: block };
            let flags = WriteFlags { direct: true, ..WriteFlags::default() };
            let op = engine.pwrite(crate::units::TaskId::new(1), id, at, &mut source, flags);
            let wrote = drive(&engine, &mut sim, op).map(|wrote| wrote.0);
            if wrote != Ok(Ok(block)) && wrote != Ok(Err(Errno::FBig)) {
                return Err((file, format!("a write behind its end gives {wrote:?}"), None));
            }
        }
        let broken = engine.look(crate::world::World::broken_invariants);
        if let Some((number, pos)) = broken.first() {
            return Err((0, format!("invariant {} is broken at {pos}", name(*number)), None));
        }
        let taken = engine.look(crate::world::World::space_taken);
        let counted = self.space_of(images);
        let listed = |file: &StartFile| file.fs == FileSystem::Extents && file.extents.is_some();
        if self.scenario.files.iter().all(listed) && taken != counted {
            return Err((0, format!("{taken} are taken, and files have {counted}"), None));
        }
        Ok(())
    }
    /// Bytes of the device that these records speak of, each once.
    fn space_of(&self, images: &[Image]) -> Bytes {
        let block = self.scenario.geometry.block_size();
        let mut blocks: BTreeSet<u64> = BTreeSet::new();
        let all = images.iter().flat_map(|image| image.data.values());
        for Extent { len, addr, .. } in all.copied() {
            let Some(addr) = addr else { continue };
            for n in 0..len.get() {
                blocks.insert(addr.get() / block.get() + n);
            }
        }
        self.scenario.geometry.blocks_bytes(crate::units::Blocks::new(blocks.len() as u64))
    }
}
