//! The files of a scenario at its start: what they hold, and where it lies on the device.

use super::fields::{Problem, Span, number, size};
use super::file::{given, within};
use super::raw::{Raw, RawExtent, RawFile};
use super::{FileSystem, MAX_FILES, StartExtent, StartFile, zoned};
use crate::buffer::Driver;
use crate::fs::extent_map::Extent;
use crate::fs::indirect::Indirect;
use crate::fs::prealloc::Prealloc;
use crate::geometry::Geometry;
use crate::iomap::MapType;
use crate::ordered::OrderedMap;
use crate::units::{BdiId, BlockNo, Bytes, DevAddr, FileRange, Offset, Pos, Sector};
use toml::Spanned;
use toml::de::DeValue;

/// First sector of a file that says nothing about its place.
const FIRST_SECTOR: u64 = 98_304;
const SECTORS: &str = "sectors of the device";

pub(super) fn build_files(geometry: Geometry, raw: &Raw) -> Result<Vec<StartFile>, Problem> {
    let mut files: Vec<StartFile> = Vec::new();
    let mut next = Sector::new(FIRST_SECTOR).addr();
    for file in raw.file.iter().map(Spanned::get_ref).filter(|file| file.device) {
        let len = given(file.size.as_ref());
        next = next.max(DevAddr::ZERO + len);
    }
    let mut device = Taken::default();
    for entry in &raw.file {
        let file = entry.get_ref();
        let name = file.name.get_ref();
        if files.len() == MAX_FILES {
            let message =
                format!("a scenario has at most {MAX_FILES} [[file]]: leave this one out");
            return Err((entry.span(), message));
        }
        if files.iter().any(|other| other.name == *name) {
            let message = format!("two files are called `{name}`: give one another name");
            return Err((file.name.span(), message));
        }
        let len = given(file.size.as_ref());
        let fill = file.fill.as_ref().map_or(Ok(0), |fill| number("fill", fill, 0, 255))? as u8;
        let mut size = Pos::ZERO + len;
        let zonefs = file.fs.as_ref().is_some_and(|fs| fs.get_ref() == "zonefs");
        let mut fs = if zonefs { FileSystem::Extents } else { build_fs(file)? };
        if let Some(sector) = &file.sector {
            next = Sector::new(number("sector", sector, 0, 1 << 40)?).addr();
        }
        let extents = if zonefs {
            let (zone, extents, (start, whole), len) = zoned::file(geometry, raw, &files, file)?;
            device.take(start.get(), whole, entry.span(), SECTORS)?;
            (fs, size) = (zone, Pos::ZERO + len);
            Some(extents)
        } else if fs == FileSystem::Memory {
            Some(Vec::new())
        } else if file.device {
            let block = geometry.block_size().get();
            if !len.get().is_multiple_of(block) {
                let place = file.size.as_ref().map_or_else(|| entry.span(), Spanned::span);
                let message = format!(
                    "size is {} bytes: expected a multiple of the block size {block}, as the file \
                     is a device",
                    len.get()
                );
                return Err((place, message));
            }
            device.take(DevAddr::ZERO.get(), len, entry.span(), SECTORS)?;
            None
        } else if fs == FileSystem::Ext2 {
            let too_large = |_| {
                let block = geometry.block_size();
                let message = format!(
                    "size is {} bytes, more than ext2 reaches with blocks of {block}: make it \
                     smaller, or the blocks larger",
                    len.get()
                );
                (file.size.as_ref().map_or_else(|| entry.span(), Spanned::span), message)
            };
            let (ext2, end) = Indirect::written(geometry, len, next).map_err(too_large)?;
            device.take(next.get(), Bytes::new(end.get() - next.get()), entry.span(), SECTORS)?;
            next = end;
            Some(
                ext2.map().iter().map(|(at, extent)| start_extent(geometry, at, &extent)).collect(),
            )
        } else if file.extent.is_empty() && !len.is_zero() {
            let range = geometry.block_range(FileRange::between(Pos::ZERO, size));
            let extent = StartExtent { range, state: MapType::Mapped, addr: next };
            next += range.len();
            device.take(extent.addr.get(), range.len(), entry.span(), SECTORS)?;
            Some(vec![extent])
        } else {
            let mut blocks = Taken::default();
            let mut all = Vec::new();
            for entry in &file.extent {
                let extent = build_extent(geometry, entry)?;
                let (start, len) = (extent.range.start().get(), extent.range.len());
                blocks.take(start, len, entry.span(), "blocks of the file")?;
                device.take(extent.addr.get(), len, entry.span(), SECTORS)?;
                all.push(extent);
            }
            Some(all)
        };
        let prealloc = file.prealloc.as_ref().map_or(Prealloc::Off, |one| *one.get_ref());
        let driver = build_path(file, fs)?;
        let mut start = StartFile {
            name: name.clone(),
            size,
            fs,
            extents,
            fill,
            shared: false,
            prealloc,
            driver,
            on: disk_of(raw, file)?,
        };
        if let Some(of) = &file.shares {
            share(&mut files, of, &mut start)?;
        }
        files.push(start);
    }
    Ok(files)
}

/// The device that a file is on.
fn disk_of(raw: &Raw, file: &RawFile) -> Result<BdiId, Problem> {
    let Some(name) = &file.disk else { return Ok(BdiId::new(0)) };
    let mut disks = raw.disk.iter().map(|disk| disk.get_ref().name.get_ref());
    let at = disks.position(|disk| disk == name.get_ref());
    let at = at.ok_or_else(|| (name.span(), format!("no [[disk]] is called `{}`", name.get_ref())));
    Ok(BdiId::new(at? as u32 + 1))
}

/// What keeps the records of a file that is no zone.
fn build_fs(file: &RawFile) -> Result<FileSystem, Problem> {
    if let Some(zone) = &file.zone {
        let message = "`zone` is for a file with fs = \"zonefs\": say it, or leave out `zone`";
        return Err((zone.span(), message.to_owned()));
    }
    let Some(fs) = &file.fs else {
        return Ok(if file.memory { FileSystem::Memory } else { FileSystem::Extents });
    };
    match fs.get_ref().as_str() {
        "extents" => Ok(FileSystem::Extents),
        "ext2" => Ok(FileSystem::Ext2),
        other => {
            let message = format!("no file system `{other}`: expected extents, ext2 or zonefs");
            Err((fs.span(), message))
        }
    }
}

/// Which way a file's blocks go between cache and device.
fn build_path(file: &RawFile, fs: FileSystem) -> Result<Option<Driver>, Problem> {
    let Some(path) = &file.path else { return Ok(None) };
    let driver = match (path.get_ref().as_str(), fs) {
        ("iomap", _) => return Ok(None),
        ("buffer_head", _) if file.device => Ok(Driver::BlockDevice),
        ("buffer_head", FileSystem::Ext2) => Ok(Driver::Ext2),
        ("buffer_head", FileSystem::Extents) => {
            Err("extents are kept in buffers by the ext4 driver only: say `buffer_head_ext4`")
        }
        ("buffer_head_ext4", _) if file.device => {
            Err("a device is not a file of ext4: say `buffer_head`")
        }
        ("buffer_head_ext4", _) => Ok(Driver::Ext4),
        (other, _) => {
            let known = "iomap, buffer_head or buffer_head_ext4";
            return Err((path.span(), format!("no path `{other}`: expected {known}")));
        }
    };
    driver.map(Some).map_err(|message| (path.span(), message.to_owned()))
}

pub(crate) fn start_extent(geometry: Geometry, at: BlockNo, extent: &Extent) -> StartExtent {
    let start = Pos::ZERO + geometry.block_offset(at).since(Offset::ZERO);
    let range = FileRange::between(start, start + geometry.blocks_bytes(extent.len));
    StartExtent { range, state: extent.state, addr: extent.addr.unwrap_or(DevAddr::ZERO) }
}

/// A file starts as a copy of another that has the same blocks.
fn share(
    files: &mut [StartFile],
    of: &Spanned<String>,
    start: &mut StartFile,
) -> Result<(), Problem> {
    let other = files.iter_mut().find(|other| other.name == *of.get_ref());
    let lists = |other: &&mut StartFile| other.extents.is_some() && other.fs == FileSystem::Extents;
    let Some(other) = other.filter(lists) else {
        let name = of.get_ref();
        let message = format!("no file `{name}` with extents stands above: name one that does");
        return Err((of.span(), message));
    };
    let why = if other.driver.is_some() {
        "is one of the ext4 driver, which shares nothing"
    } else if other.on != start.on {
        "is on another disk, and blocks are shared on one only"
    } else {
        ""
    };
    if !why.is_empty() {
        let message = format!("file `{}` {why}: share those of another file", of.get_ref());
        return Err((of.span(), message));
    }
    other.shared = true;
    let StartFile { size, extents, fill, .. } = other.clone();
    *start = StartFile { size, extents, fill, shared: true, ..start.clone() };
    Ok(())
}

/// How much a write at EOF reserves.
pub(super) fn prealloc(value: &DeValue<'_>) -> Result<Prealloc, &'static str> {
    match value.as_str() {
        Some("dynamic") => Ok(Prealloc::Dynamic),
        Some("off") => Ok(Prealloc::Off),
        _ => {
            let len = size(value).ok().filter(|len| !len.is_zero());
            len.map(Prealloc::Fixed).ok_or(
                "a size of 1 to 17179869184 bytes (16 GiB), such as \"64k\", or \"dynamic\" or \
                 \"off\"",
            )
        }
    }
}

/// Stretches that are in use: first byte to the byte behind the last.
#[derive(Default)]
pub(super) struct Taken(OrderedMap<u64, u64>);

impl Taken {
    /// Takes a stretch, some of which may be in use; how many bytes were not.
    pub(super) fn cover(&mut self, mut start: u64, mut end: u64) -> u64 {
        let mut known = 0;
        while let Some((at, to)) = self.0.range(..=end).next_back().map(|(at, to)| (at, *to))
            && to >= start
        {
            self.0.remove(&at);
            known += to - at;
            (start, end) = (start.min(at), end.max(to));
        }
        self.0.insert(start, end);
        end - start - known
    }
    fn take(&mut self, start: u64, len: Bytes, place: Span, what: &str) -> Result<(), Problem> {
        let end = start + len.get();
        if self.0.range(..end).next_back().is_some_and(|(_, other)| *other > start) {
            let message =
                format!("these {what} are in use by another extent or file: choose others");
            return Err((place, message));
        }
        self.0.insert(start, end);
        Ok(())
    }
}

fn build_extent(geometry: Geometry, entry: &Spanned<RawExtent>) -> Result<StartExtent, Problem> {
    let raw = entry.get_ref();
    let (at, len) = (*raw.at.get_ref(), *raw.len.get_ref());
    let block = geometry.block_size().get();
    let whole = |size: Bytes| size.get().is_multiple_of(block);
    if !whole(at) {
        let at = at.get();
        let message = format!("at is {at} bytes: expected a multiple of the block size {block}");
        return Err((raw.at.span(), message));
    }
    if len.is_zero() || !whole(len) {
        let len = len.get();
        let message =
            format!("len is {len} bytes: expected one block of {block} bytes, or several");
        return Err((raw.len.span(), message));
    }
    within(entry.span(), Pos::ZERO + at + len)?;
    let state = match raw.kind.get_ref().as_str() {
        "mapped" => MapType::Mapped,
        "unwritten" => MapType::Unwritten,
        other => {
            let message = format!("no extent type `{other}`: expected mapped or unwritten");
            return Err((raw.kind.span(), message));
        }
    };
    let sector = number("sector", &raw.sector, 0, 1 << 40)?;
    let range = FileRange::between(Pos::ZERO + at, Pos::ZERO + at + len);
    Ok(StartExtent { range, state, addr: Sector::new(sector).addr() })
}
