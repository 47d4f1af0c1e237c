//! The limits of a real disk's queue, as the kernel shows them under `/sys/class/block`.
//!
//! Nothing of the disk itself is opened or read.

use crate::error::{Failure, Outcome};
use folioscope_core::block::limits::QueueLimits;
use folioscope_core::units::Bytes;
use std::path::Path;

/// Where the kernel lists block devices.
const LISTED: &str = "/sys/class/block";

/// What is taken over from a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DiskLimits {
    pub(super) queue: QueueLimits,
    /// Where the partition begins, if it is one.
    pub(super) partition: Bytes,
    /// Bytes of the device.
    pub(super) size: Bytes,
}

/// Reads the limits of a device such as `/dev/vda` or of a partition of one.
pub(super) fn read(device: &Path) -> Outcome<DiskLimits> {
    // A link of udev or of the device mapper names a device under another name.
    let real = device.canonicalize().unwrap_or_else(|_| device.to_owned());
    let name = real.file_name().unwrap_or_default();
    let folder = Path::new(LISTED).join(name);
    if name.is_empty() || !folder.is_dir() {
        return Err(Failure::usage(format!(
            "--limits {} is no block device that this system lists in {LISTED}: expected one such as /dev/vda or /dev/md0",
            device.display()
        )));
    }
    let file = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    parse(&file).map_err(|why| {
        Failure::environment(format!(
            "--limits {}: {why}: leave the option out and write a [queue] table instead",
            device.display()
        ))
    })
}

/// The limits in the files of a device's folder.
fn parse(file: &impl Fn(&str) -> Option<String>) -> Result<DiskLimits, String> {
    let part = file("partition").is_some();
    // The queue is the whole disk's.
    let queue = if part { "../queue" } else { "queue" };
    let number = |name: &str| {
        let text = file(name).ok_or_else(|| format!("the kernel does not show {name}"))?;
        let text = text.trim();
        text.parse::<u64>().map_err(|_| format!("{name} says {text:?}, not a number"))
    };
    let limit = |name: &str| number(&format!("{queue}/{name}"));
    // Kernels show a mask only since they can tell it; without one there is no limit.
    let optional = |name: &str| limit(name).unwrap_or(0);
    let md = |name: &str| file(&if part { format!("../md/{name}") } else { format!("md/{name}") });
    let level = md("level").unwrap_or_default();
    let gap = optional("virt_boundary_mask");
    let sectors = |n: u64| Bytes::new(n.saturating_mul(512));
    Ok(DiskLimits {
        queue: QueueLimits {
            bytes: Bytes::new(limit("max_sectors_kb")?.saturating_mul(1024)),
            hardware: Bytes::new(limit("max_hw_sectors_kb")?.saturating_mul(1024)),
            segments: limit("max_segments")?,
            segment: Bytes::new(limit("max_segment_size")?),
            boundary: QueueLimits::USUAL.boundary,
            gap: Bytes::new(if gap == 0 { 0 } else { gap.saturating_add(1) }),
            chunk: sectors(optional("chunk_sectors")),
            logical: Bytes::new(limit("logical_block_size")?),
            physical: Bytes::new(limit("physical_block_size")?),
            io_min: Bytes::new(limit("minimum_io_size")?),
            io_opt: Bytes::new(limit("optimal_io_size")?),
            // The kernel shows it nowhere; of its own devices these have it.
            partial_stripes_expensive: matches!(level.trim(), "raid4" | "raid5" | "raid6"),
            requests: level.trim().is_empty(),
        },
        partition: if part { sectors(number("start")?) } else { Bytes::ZERO },
        size: sectors(number("size")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of an array's folder, by lines of name and content.
    fn folder(text: &'static str) -> impl Fn(&str) -> Option<String> {
        move |name| {
            let line = text.lines().find(|line| line.split(' ').next() == Some(name))?;
            Some(line.split_once(' ')?.1.to_owned() + "\n")
        }
    }

    const ARRAY: &str = "size 6291456\nmd/level raid6\nqueue/max_sectors_kb 1024\n\
        queue/max_hw_sectors_kb 1024\nqueue/max_segments 65535\n\
        queue/max_segment_size 4294967295\nqueue/chunk_sectors 768\n\
        queue/logical_block_size 512\nqueue/physical_block_size 512\n\
        queue/minimum_io_size 65536\nqueue/optimal_io_size 393216\n\
        queue/virt_boundary_mask 0";

    #[test]
    fn an_array_is_read_with_its_stripe() {
        let found = parse(&folder(ARRAY)).expect("all is there");
        assert_eq!(found.queue.stripe(), Some(Bytes::kib(384)));
        assert_eq!((found.queue.chunk, found.queue.bytes), (Bytes::kib(384), Bytes::kib(1024)));
        assert!(!found.queue.requests && found.partition.is_zero());
        assert_eq!(found.size, Bytes::kib(3 << 20));
    }

    #[test]
    fn a_partition_has_the_disks_queue_and_a_start() {
        let text = "partition 1\nstart 2048\nsize 8192\n../queue/max_sectors_kb 1280\n\
            ../queue/max_hw_sectors_kb 2147483647\n../queue/max_segments 254\n\
            ../queue/max_segment_size 65536\n../queue/logical_block_size 512\n\
            ../queue/physical_block_size 4096\n../queue/minimum_io_size 4096\n\
            ../queue/optimal_io_size 0";
        let found = parse(&folder(text)).expect("all is there");
        assert_eq!(found.partition, Bytes::kib(1024));
        assert!(found.queue.requests && found.queue.stripe().is_none());
    }

    #[test]
    fn what_is_missing_or_odd_is_named() {
        let error = parse(&folder("size 8")).expect_err("nothing there");
        assert!(error.contains("queue/max_sectors_kb"), "{error}");
        let odd = parse(&|name: &str| Some(if name == "partition" { "1" } else { "x" }.into()));
        assert!(odd.expect_err("no number").contains("\"x\""));
    }
}
