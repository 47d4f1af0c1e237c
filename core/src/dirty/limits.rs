//! How much may be dirty, and how far from there we are: arithmetic on whole numbers alone, so that
//! every machine decides the same (`domain_dirty_limits`, `wb_position_ratio`).

use super::DirtyConfig;
use crate::units::{Bytes, Pages};

/// Digits behind the point of a ratio, in binary (`RATELIMIT_CALC_SHIFT`).
const SHIFT: u32 = 10;
/// A ratio of one.
pub const ONE: u64 = 1 << SHIFT;

/// A limit: of the memory that there is, or as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Share {
    /// So many hundredths of the pages that can be dirty (`vm.dirty_ratio`).
    Percent(u8),
    /// So many bytes (`vm.dirty_bytes`).
    Bytes(Bytes),
}

impl Share {
    /// In pages of a world of `available` ones.
    fn pages(self, available: Pages, page: Bytes) -> u64 {
        match self {
            Self::Percent(n) => {
                let per_page = u64::from(n) * page.get() / 100;
                let bytes = u128::from(per_page) * u128::from(available.get());
                (bytes / u128::from(page.get())) as u64
            }
            Self::Bytes(bytes) => bytes.get().div_ceil(page.get()),
        }
    }
}

/// From where on the flusher writes, and from where on nobody may dirty more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The flusher writes while more is dirty.
    pub background: Pages,
    /// Nobody dirties more while as much is dirty or being written.
    pub thresh: Pages,
}

impl Limits {
    /// The limits that a configuration means with pages of this size. A background limit that is no
    /// lower than the hard one is half of that.
    pub fn new(config: &DirtyConfig, page: Bytes) -> Self {
        let thresh = config.hard.pages(config.available, page);
        let background = config.background.pages(config.available, page);
        let background = if background >= thresh { thresh / 2 } else { background };
        Self { background: Pages::new(background), thresh: Pages::new(thresh) }
    }
    /// Up to here nobody pauses (`dirty_freerun_ceiling`).
    #[must_use]
    pub const fn freerun(self) -> Pages {
        Pages::new(u64::midpoint(self.thresh.get(), self.background.get()))
    }
    /// Where throttling keeps the dirty pages under this smoothed limit.
    #[must_use]
    pub const fn setpoint(self, limit: Pages) -> Pages {
        Pages::new(u64::midpoint(self.freerun().get(), limit.get()))
    }
}

/// After how many pages a task that need not pause asks again (`dirty_poll_interval`).
pub fn poll_interval(dirty: Pages, thresh: Pages) -> Pages {
    let room = thresh.saturating_sub(dirty).get();
    Pages::new(room.checked_ilog2().map_or(1, |log| 1 << (log / 2)))
}

/// Where the dirty pages of the world and of one device stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The limits.
    pub limits: Limits,
    /// The smoothed hard limit.
    pub limit: Pages,
    /// Pages that are dirty or being written.
    pub dirty: Pages,
    /// Those of the device.
    pub wb_dirty: Pages,
    /// The device's share of the hard limit.
    pub wb_thresh: Pages,
    /// Pages that the device writes in a second, smoothed.
    pub wb_bandwidth: u64,
}

impl Position {
    /// How much of their rate tasks get for where the world stands: in 1024ths, one at the
    /// setpoint, none at the limit (`pos_ratio_polynom`).
    pub fn of_world(&self) -> u64 {
        if self.dirty >= self.limit {
            return 0;
        }
        let signed = |pages: Pages| i128::from(pages.get());
        let setpoint = self.limits.setpoint(self.limit);
        let span = (signed(self.limit) - signed(setpoint)) | 1;
        let x = ((signed(setpoint) - signed(self.dirty)) << SHIFT) / span;
        // Beyond this the cube is out of bounds anyway.
        let x = x.clamp(-(2 << SHIFT), 2 << SHIFT);
        let cube = (((x * x) >> SHIFT) * x) >> SHIFT;
        u64::try_from(cube + i128::from(ONE)).unwrap_or(0).min(2 * ONE)
    }
    /// The same once it is known how the device stands in its share: the line falls to a quarter
    /// above it, and rises where the device might run dry (`wb_position_ratio`).
    pub fn of_device(&self) -> u64 {
        let world = u128::from(self.of_world());
        if self.dirty >= self.limit {
            return 0;
        }
        let thresh = u128::from(self.limits.thresh.get());
        let setpoint = u128::from(self.limits.setpoint(self.limit).get());
        let wb_dirty = u128::from(self.wb_dirty.get());
        let wb_thresh = u128::from(self.wb_thresh.get()).min(thresh);
        let x = (wb_thresh << 16) / (thresh | 1);
        let wb_setpoint = (setpoint * x) >> 16;
        let eight_seconds = 8 * u128::from(self.wb_bandwidth);
        let span = ((thresh.saturating_sub(wb_thresh) + eight_seconds) * x) >> 16;
        let end = wb_setpoint + span;
        let mut ratio = if wb_dirty < end - span / 4 {
            world * (end - wb_dirty) / ((end - wb_setpoint) | 1)
        } else {
            world / 4
        };
        let reserve = wb_thresh / 2;
        if wb_dirty < reserve {
            ratio = if wb_dirty > reserve / 8 { ratio * reserve / wb_dirty } else { ratio * 8 };
        }
        u64::try_from(ratio).unwrap_or(u64::MAX)
    }
}

/// A rate under a ratio.
pub const fn scaled(rate: u64, ratio: u64) -> u64 {
    ((rate as u128 * ratio as u128) >> SHIFT) as u64
}
