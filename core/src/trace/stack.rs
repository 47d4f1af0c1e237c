//! The way from a system call to the kernel function that a step follows, and what the function is
//! called in the kernel of the run.
//!
//! A table says who calls whom on the paths that are modelled, for a file system on iomap; a chain
//! that has more than one caller ends where they part, and what the step was for says how it goes
//! on. It leaves out what does nothing here, and it is what people look up, not what a debugger
//! would print.

use super::header::Header;
use super::step::{Context, Step};
use crate::dirty::flusher::flusher_of;
use crate::ops::OpKind;

/// Function, and who calls it.
const CALLERS: &[(&str, &str)] = &[
    // Buffered writes.
    ("iomap_file_buffered_write", "vfs_write"),
    ("shmem_write_end", "generic_perform_write"),
    ("__block_write_begin_int", "block_write_begin"),
    ("block_write_begin", "generic_perform_write"),
    ("block_commit_write", "block_write_end"),
    ("block_write_end", "generic_perform_write"),
    ("ext4_da_get_block_prep", "__block_write_begin_int"),
    ("generic_perform_write", "vfs_write"),
    ("iomap_write_iter", "iomap_file_buffered_write"),
    ("iomap_write_begin", "iomap_write_iter"),
    ("__iomap_write_begin", "iomap_write_begin"),
    ("iomap_block_needs_zeroing", "__iomap_write_begin"),
    ("iomap_read_folio_sync", "__iomap_write_begin"),
    ("__filemap_get_folio", "iomap_write_begin"),
    ("init_page_accessed", "__filemap_get_folio"),
    ("copy_folio_from_iter_atomic", "iomap_write_iter"),
    ("iomap_write_end", "iomap_write_iter"),
    ("iomap_write_end_inline", "iomap_write_end"),
    ("i_size_write", "iomap_write_iter"),
    ("fault_in_iov_iter_readable", "iomap_write_iter"),
    ("filemap_dirty_folio", "iomap_dirty_folio"),
    ("balance_dirty_pages", "balance_dirty_pages_ratelimited"),
    ("balance_dirty_pages_ratelimited", "iomap_write_iter"),
    ("domain_dirty_limits", "balance_dirty_pages"),
    ("wb_position_ratio", "balance_dirty_pages"),
    ("io_schedule_timeout", "balance_dirty_pages"),
    ("wb_update_dirty_ratelimit", "balance_dirty_pages"),
    ("iomap_write_delalloc_release", "iomap_write_iter"),
    // Zeroing and its kin.
    ("iomap_zero_iter", "iomap_zero_range"),
    ("iomap_zero_iter_flush_and_stale", "iomap_zero_range"),
    ("iomap_unshare_iter", "iomap_file_unshare"),
    // Reads.
    ("filemap_read", "vfs_read"),
    ("filemap_create_folio", "filemap_get_pages"),
    ("page_cache_sync_ra", "filemap_get_pages"),
    ("page_cache_async_ra", "filemap_get_pages"),
    ("filemap_get_pages", "filemap_read"),
    ("iomap_readahead", "read_pages"),
    ("mpage_readahead", "read_pages"),
    ("do_mpage_readpage", "mpage_readahead"),
    ("read_pages", "page_cache_ra_order"),
    ("iomap_readpage_iter", "iomap_readahead"),
    ("iomap_read_inline_data", "iomap_readpage_iter"),
    ("iomap_bio_read_folio_range", "iomap_readpage_iter"),
    // Page faults.
    ("iomap_page_mkwrite", "do_page_mkwrite"),
    ("do_page_mkwrite", "handle_mm_fault"),
    ("filemap_map_pages", "handle_mm_fault"),
    // Writeback.
    ("writeback_iter", "iomap_writepages"),
    ("iomap_writepages", "do_writepages"),
    ("iomap_writeback_folio", "iomap_writepages"),
    ("iomap_writepage_map", "iomap_writepages"),
    ("iomap_writeback_handle_eof", "iomap_writeback_folio"),
    ("iomap_find_dirty_range", "iomap_writeback_folio"),
    ("iomap_writeback_range", "iomap_writeback_folio"),
    ("folio_start_writeback", "iomap_writeback_folio"),
    ("iomap_clear_range_dirty", "iomap_writeback_folio"),
    ("xfs_bmapi_convert_delalloc", "iomap_writeback_range"),
    ("iomap_add_to_ioend", "iomap_writeback_range"),
    ("iomap_can_add_to_ioend", "iomap_add_to_ioend"),
    ("iomap_alloc_ioend", "iomap_add_to_ioend"),
    ("iomap_submit_ioend", "iomap_writepages"),
    ("__mpage_writepage", "mpage_writepages"),
    ("mpage_writepages", "do_writepages"),
    ("block_write_full_folio", "__mpage_writepage"),
    ("folio_redirty_for_writepage", "block_write_full_folio"),
    ("writeback_sb_inodes", "wb_writeback"),
    ("queue_io", "wb_writeback"),
    ("requeue_inode", "writeback_sb_inodes"),
    ("wb_check_background_flush", "wb_do_writeback"),
    ("wb_check_old_data_flush", "wb_do_writeback"),
    ("wb_writeback", "wb_do_writeback"),
    ("wb_do_writeback", "wb_workfn"),
    // The block layer.
    ("bio_submit_split", "blk_mq_submit_bio"),
    ("blk_mq_get_new_requests", "blk_mq_submit_bio"),
    ("bio_attempt_back_merge", "blk_mq_submit_bio"),
    ("bio_attempt_front_merge", "blk_mq_submit_bio"),
    ("blk_add_rq_to_plug", "blk_mq_submit_bio"),
    ("blk_mq_submit_bio", "submit_bio"),
    ("blk_partition_remap", "submit_bio"),
    ("raid5_make_request", "submit_bio"),
    ("handle_stripe_dirtying", "handle_stripe"),
    ("ops_run_io", "handle_stripe"),
    ("handle_stripe", "raid5d"),
    ("blk_mq_insert_request", "blk_finish_plug"),
    ("dd_dispatch_request", "blk_mq_sched_dispatch_requests"),
    ("blk_mq_start_request", "blk_mq_dispatch_rq_list"),
    // Ends of I/O.
    ("bio_endio", "blk_update_request"),
    ("blk_update_request", "blk_mq_end_request"),
    ("bio_chain_endio", "bio_endio"),
    ("folio_end_writeback", "iomap_finish_ioend_buffered"),
    ("folio_end_read", "iomap_read_end_io"),
    ("iomap_read_end_io", "bio_endio"),
    ("end_buffer_async_read", "bio_endio"),
    ("end_buffer_async_write", "bio_endio"),
    ("xfs_iomap_write_unwritten", "xfs_end_ioend"),
    ("xfs_reflink_end_cow", "xfs_end_ioend"),
    ("xfs_setfilesize", "xfs_end_ioend"),
    ("iomap_ioend_try_merge", "xfs_end_io"),
    ("xfs_end_ioend", "xfs_end_io"),
    ("iomap_finish_ioend_buffered", "xfs_end_ioend"),
    // Direct I/O.
    ("invalidate_inode_pages2_range", "kiocb_invalidate_pages"),
    ("kiocb_invalidate_pages", "iomap_dio_rw"),
    ("iomap_dio_bio_iter", "iomap_dio_iter"),
    ("iomap_dio_hole_iter", "iomap_dio_iter"),
    ("iomap_dio_inline_iter", "iomap_dio_iter"),
    ("iomap_dio_zero", "iomap_dio_bio_iter"),
    ("iomap_dio_iter", "iomap_dio_rw"),
    ("dio_warn_stale_pagecache", "iomap_dio_complete"),
    ("iomap_dio_complete", "iomap_dio_rw"),
    // What changes a file, and what keeps errors.
    ("zonefs_inode_zone_mgmt", "zonefs_file_truncate"),
    ("truncate_inode_partial_folio", "truncate_inode_pages_range"),
    ("folio_split", "truncate_inode_partial_folio"),
    ("iomap_release_folio", "folio_split"),
    ("xfs_bmap_collapse_extents", "xfs_collapse_file_space"),
    ("xfs_bmap_insert_extents", "xfs_insert_file_space"),
    ("iomap_seek_data", "vfs_llseek"),
    ("file_check_and_advance_wb_err", "vfs_fsync_range"),
    ("blkdev_issue_flush", "vfs_fsync_range"),
    ("file_write_and_wait_range", "vfs_fsync_range"),
    // Reclaim.
    ("shrink_folio_list", "shrink_inactive_list"),
    ("folio_check_references", "shrink_folio_list"),
    ("shrink_active_list", "shrink_lruvec"),
    ("shrink_inactive_list", "shrink_lruvec"),
];

/// From a release on a function has this name; before it, the other.
struct Renamed {
    name: &'static str,
    since: (u32, u32),
    before: &'static str,
}

const fn renamed(name: &'static str, since: (u32, u32), before: &'static str) -> Renamed {
    Renamed { name, since, before }
}

/// Names that changed, the latest change first.
const RENAMED: &[Renamed] = &[
    renamed("iomap_writeback_range", (6, 17), "iomap_writepage_map_blocks"),
    renamed("iomap_writeback_folio", (6, 17), "iomap_writepage_map"),
    renamed("iomap_writeback_handle_eof", (6, 17), "iomap_writepage_handle_eof"),
    renamed("iomap_writepage_map_blocks", (6, 9), "iomap_writepage_map"),
    renamed("iomap_writepage_handle_eof", (6, 9), "iomap_do_writepage"),
    renamed("iomap_find_dirty_range", (6, 9), "iomap_writepage_map"),
    renamed("writeback_iter", (6, 9), "write_cache_pages"),
    renamed("ifs_alloc", (6, 6), "iomap_page_create"),
];

/// The function that a step follows, in the kernel of its run.
pub fn function_in(header: &Header, step: &Step) -> &'static str {
    name_in(release(&header.profile), step.rule.function())
}

/// The release of a profile such as `linux-6.12`; none for others.
fn release(profile: &str) -> Option<(u32, u32)> {
    let (major, minor) = profile.strip_prefix("linux-")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn name_in(release: Option<(u32, u32)>, function: &'static str) -> &'static str {
    let Some(release) = release else { return function };
    RENAMED.iter().fold(function, |name, one| {
        if one.name == name && release < one.since { one.before } else { name }
    })
}

/// Who calls the function of a step, outermost first and without the function itself; `op` is what
/// the step is for.
pub fn callers(header: &Header, step: &Step, op: Option<OpKind>) -> Vec<&'static str> {
    let release = release(&header.profile);
    let own = step.rule.function();
    let mut chain = vec![own];
    let caller = |of: &str| CALLERS.iter().find(|(name, _)| *name == of).map(|(_, by)| *by);
    while let Some(next) = chain.last().and_then(|last| caller(last))
        && !chain.contains(&next)
    {
        chain.push(next);
    }
    if step.context == Context::Task {
        chain.extend(entry(step, chain.last().copied().unwrap_or(own), op));
    }
    let mut names: Vec<&str> = chain.into_iter().map(|name| name_in(release, name)).collect();
    // What was one function of two names is told once.
    names.dedup();
    let mine = name_in(release, own);
    names.retain(|name| *name != mine);
    names.reverse();
    names
}

/// How a chain goes on where several call its last function.
fn entry(step: &Step, last: &str, op: Option<OpKind>) -> Vec<&'static str> {
    let syncs = matches!(op, Some(OpKind::Fsync | OpKind::Fdatasync));
    match last {
        "do_writepages" if flusher_of(step.task).is_some() => {
            vec!["writeback_sb_inodes", "wb_writeback", "wb_workfn"]
        }
        "do_writepages" => vec!["file_write_and_wait_range", "vfs_fsync_range"],
        "folio_wait_writeback" if syncs => vec!["file_write_and_wait_range", "vfs_fsync_range"],
        "iomap_iter" | "submit_bio" | "filemap_dirty_folio" | "iomap_dirty_folio" => match op {
            Some(OpKind::Pwrite | OpKind::PwriteDsync) => {
                vec!["iomap_file_buffered_write", "vfs_write"]
            }
            Some(OpKind::Pread) => vec!["filemap_read", "vfs_read"],
            Some(_) if syncs => {
                vec!["do_writepages", "file_write_and_wait_range", "vfs_fsync_range"]
            }
            _ => Vec::new(),
        },
        "iomap_dio_rw" | "page_cache_ra_order" | "page_cache_ra_unbounded" => match op {
            Some(OpKind::Pread | OpKind::PreadDirect) => vec!["vfs_read"],
            Some(OpKind::Pwrite | OpKind::PwriteDsync | OpKind::PwriteDirect) => vec!["vfs_write"],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::behaviour::Behaviours;
    use crate::geometry::Geometry;
    use crate::trace::header::Source;
    use crate::trace::rule::Rule;
    use crate::units::{Bytes, OpId, Order, TaskId, Time};

    fn header(profile: &str) -> Header {
        let page = Bytes::kib(4);
        Header {
            engine: String::new(),
            title: String::new(),
            profile: profile.to_owned(),
            behaviours: Behaviours::default(),
            geometry: Geometry::new(page, page, Order::ZERO).expect("sizes fit"),
            source: Source::Simulated,
            tasks: Vec::new(),
        }
    }
    fn step(rule: Rule) -> Step {
        Step {
            time: Time::ZERO,
            task: TaskId::new(1),
            op: Some(OpId::new(0)),
            context: Context::Task,
            rule,
            args: [0; 4],
        }
    }

    #[test]
    fn a_sync_leads_to_the_dirty_range() {
        let found = callers(&header("linux-6.18"), &step(Rule::DirtyRun), Some(OpKind::Fdatasync));
        assert_eq!(
            found,
            [
                "vfs_fsync_range",
                "file_write_and_wait_range",
                "do_writepages",
                "iomap_writepages",
                "iomap_writeback_folio"
            ]
        );
        let found = callers(&header("linux-6.1"), &step(Rule::DirtyRun), Some(OpKind::Fdatasync));
        assert_eq!(found.last(), Some(&"iomap_writepages"), "the function is its own caller's");
        assert_eq!(function_in(&header("linux-6.1"), &step(Rule::DirtyRun)), "iomap_writepage_map");
        let mapped = step(Rule::MappedForWriteback);
        assert_eq!(function_in(&header("linux-6.12"), &mapped), "iomap_writepage_map_blocks");
        assert_eq!(function_in(&header("next"), &mapped), "iomap_writeback_range");
    }

    #[test]
    fn every_chain_ends_and_names_a_function_once() {
        let kinds = [None, Some(OpKind::Pwrite), Some(OpKind::Pread), Some(OpKind::Fsync)];
        for rule in Rule::ALL {
            for kind in kinds {
                for profile in ["linux-3.15", "linux-6.1", "linux-6.12", "linux-7.3", "next"] {
                    let chain = callers(&header(profile), &step(*rule), kind);
                    let once: std::collections::BTreeSet<_> = chain.iter().collect();
                    assert_eq!(once.len(), chain.len(), "{rule:?}: {chain:?}");
                    assert!(chain.len() < 12);
                }
            }
        }
        for (at, (name, _)) in CALLERS.iter().enumerate() {
            assert!(CALLERS[..at].iter().all(|(other, _)| other != name), "{name} stands twice");
        }
    }
}
