//! The worlds that streams run in: sizes, what keeps the records of the file, how long it may get.

use crate::behaviour::PROFILES;
use crate::block::limits::QueueLimits;
use crate::buffer::Driver;
use crate::cache::frame_alloc::FramePolicy;
use crate::device::sim::Timing;
use crate::fs::indirect::Indirect;
use crate::fs::prealloc::Prealloc;
use crate::geometry::Geometry;
use crate::iomap::MapType;
use crate::scenario::random::Random;
use crate::scenario::{FileSystem, Order as Course, Scenario, StartExtent, StartFile, Variant};
use crate::units::{BdiId, Bytes, DevAddr, FileId, FileRange, Nanos, Order, Pos, Sector};

/// The byte that a file holds where it has bytes at the start.
const FILL: u8 = 0x55;
/// Where its blocks lie then.
const FIRST: DevAddr = Sector::new(98_304).addr();

/// What the file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A list of extents, empty at the start.
    Extents,
    /// Two files with the same blocks; what is reserved at EOF grows with the file.
    Shared,
    /// Arrays of pointers.
    Ext2,
    /// The same, and blocks are kept in buffers.
    Ext2Buffers,
    /// Extents whose blocks are kept in buffers.
    Ext4,
    /// Nothing but memory.
    Memory,
    /// A device.
    Device,
}

/// A kind of world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct World {
    /// Its name on the command line.
    pub name: &'static str,
    /// Bytes of a page, bytes of a block, largest order.
    sizes: (u64, u64, u8),
    kind: Kind,
    /// Bytes that the file has at the start.
    start: u64,
    /// How long the file gets, in bytes.
    pub limit: u64,
}

const fn world(
    name: &'static str,
    sizes: (u64, u64, u8),
    kind: Kind,
    start: u64,
    limit: u64,
) -> World {
    World { name, sizes, kind, start, limit }
}

const KIB: u64 = 1024;

/// Every world.
pub const WORLDS: [World; 12] = [
    world("tiny", (64, 16, 2), Kind::Extents, 0, 700),
    world("4k", (4 * KIB, 4 * KIB, 0), Kind::Extents, 0, 32 * KIB),
    world("large-cow", (4 * KIB, KIB, 9), Kind::Shared, 20 * KIB + 100, 96 * KIB),
    world("block-2k", (KIB, 2 * KIB, 2), Kind::Extents, 0, 20 * KIB),
    world("64k", (64 * KIB, 4 * KIB, 1), Kind::Extents, 0, 256 * KIB),
    world("16k-ext2", (16 * KIB, 512, 0), Kind::Ext2, 9000, 80 * KIB),
    world("block-16k", (4 * KIB, 16 * KIB, 4), Kind::Extents, 0, 128 * KIB),
    world("device", (4 * KIB, 512, 2), Kind::Device, 64 * KIB, 64 * KIB),
    world("4k-ext4", (4 * KIB, 4 * KIB, 2), Kind::Ext4, 9000, 96 * KIB),
    world("4k-ext4-1k", (4 * KIB, KIB, 3), Kind::Ext4, 9000, 64 * KIB),
    world("4k-ext2-1k", (4 * KIB, KIB, 2), Kind::Ext2Buffers, 9000, 64 * KIB),
    world("memory", (4 * KIB, 4 * KIB, 4), Kind::Memory, 0, 96 * KIB),
];

impl World {
    /// A real file, empty at the start, of a file system with blocks of so many bytes.
    /// `shares`: a second one can have the same blocks.
    pub const fn real(page: u64, block: u64, shares: bool) -> Self {
        let order = if block > page { (block / page).ilog2() as u8 } else { 0 };
        let kind = if shares { Kind::Shared } else { Kind::Extents };
        world("real", (page, block, order), kind, 0, 64 * KIB)
    }
    /// The world with this name.
    pub fn named(name: &str) -> Option<Self> {
        WORLDS.into_iter().find(|world| world.name == name)
    }
    /// The world of a scenario's sizes and file, as far as the generator cares.
    pub const fn reshapes(&self) -> bool {
        !matches!(self.kind, Kind::Device)
    }
    /// Whether a block that could not be written may be read from the device again.
    pub const fn forgets(&self) -> bool {
        matches!(self.kind, Kind::Ext4 | Kind::Ext2Buffers)
    }
    /// Bytes of a page, and of a block.
    pub const fn units(&self) -> (u64, u64) {
        (self.sizes.0, self.sizes.1)
    }
    /// Whether two files have the same blocks at the start.
    pub fn shares(&self) -> bool {
        self.kind == Kind::Shared
    }
    /// The file that most operations are about.
    pub fn file(&self) -> FileId {
        FileId::new(u32::from(self.shares()))
    }
    /// The file that shares blocks with it, if there is one.
    pub fn other(&self) -> FileId {
        FileId::new(0)
    }
    /// A scenario without operations; profile, device and queue by chance.
    pub fn scenario(&self, random: &mut Random, title: String) -> Scenario {
        let (page, block, order) = self.sizes;
        let geometry = Geometry::new(Bytes::new(page), Bytes::new(block), Order::new(order))
            .expect("the sizes of the table fit");
        let profile = PROFILES[random.below(PROFILES.len() as u64) as usize];
        let variant = Variant {
            name: "run".to_owned(),
            profile: profile.name.to_owned(),
            behaviours: profile.behaviours,
            own: None,
        };
        let device = match random.below(3) {
            0 => Timing::Queue {
                depth: 3,
                latency: Nanos::new(10_000),
                per_kib: Nanos::new(1_000_000_000 / (1000 * 1024)),
                flush: Nanos::new(50_000),
            },
            _ => Timing::Ram,
        };
        Scenario {
            title,
            geometry,
            readahead: Bytes::new(page * [0, 2, 4, 8][random.below(4) as usize]),
            keep_going: true,
            variants: vec![variant],
            files: self.files(geometry, random),
            device,
            disks: Vec::new(),
            partition: Bytes::ZERO,
            array: None,
            zones: None,
            array_failed: crate::device::md::Members::NONE,
            frames: FramePolicy::Packed,
            dirty: None,
            kswapd: None,
            tasks: vec!["main".to_owned()],
            order: Course::InTurn,
            queue: random.one_in(3).then_some(QueueLimits::USUAL),
            ops: Vec::new(),
            faults: Vec::new(),
            free_blocks: None,
        }
    }
    fn files(&self, geometry: Geometry, random: &mut Random) -> Vec<StartFile> {
        let size = Pos::new(self.start);
        let whole = geometry.block_range(FileRange::between(Pos::ZERO, size));
        let all = StartExtent { range: whole, state: MapType::Mapped, addr: FIRST };
        let mut file = StartFile {
            name: "file".to_owned(),
            driver: None,
            on: BdiId::new(0),
            size,
            fs: FileSystem::Extents,
            extents: Some(if whole.is_empty() { Vec::new() } else { vec![all] }),
            fill: FILL,
            shared: false,
            prealloc: Prealloc::Off,
        };
        match self.kind {
            Kind::Extents => {
                let (page, _) = self.units();
                let fixed = Prealloc::Fixed(Bytes::new(3 * page));
                file.prealloc = if random.one_in(3) { fixed } else { Prealloc::Off };
                file.fill = 0;
                vec![file]
            }
            Kind::Shared => {
                let other = StartFile { name: "other".to_owned(), shared: true, ..file.clone() };
                vec![other, StartFile { shared: true, prealloc: Prealloc::Dynamic, ..file }]
            }
            Kind::Ext2 | Kind::Ext2Buffers => {
                let len = Bytes::new(self.start);
                let (ext2, _) = Indirect::written(geometry, len, FIRST).expect("it reaches so far");
                let extents = ext2
                    .map()
                    .iter()
                    .map(|(at, extent)| crate::scenario::start_extent(geometry, at, &extent));
                let driver = (self.kind == Kind::Ext2Buffers).then_some(Driver::Ext2);
                let extents = Some(extents.collect());
                vec![StartFile { fs: FileSystem::Ext2, extents, driver, ..file }]
            }
            Kind::Ext4 => vec![StartFile { driver: Some(Driver::Ext4), ..file }],
            Kind::Memory => vec![StartFile { fs: FileSystem::Memory, ..file }],
            Kind::Device => vec![StartFile { extents: None, ..file }],
        }
    }
}
