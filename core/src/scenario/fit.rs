//! A line fitted to published measurements: what touching user memory again and again cost a write.
//! A fit, not a law: the engine counts touches, and never times them.

/// Time of a page as a line over its touches, up to what the device takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TouchFit {
    /// Bytes of a page.
    pub page: f64,
    /// Microseconds of a page without touches.
    pub page_us: f64,
    /// Microseconds of a touch.
    pub touch_us: f64,
    /// What the device takes, in MB/s.
    pub device_mb: f64,
}

/// The line through the five rows of the measurements of patch "iomap: fault in smaller chunks for
/// non-large folio mappings" (May 2024, an ARM64 machine) in which the processor was the limit, and
/// the plateau of the others.
pub const FAULT_IN_FIT: TouchFit =
    TouchFit { page: 4096.0, page_us: 4.06, touch_us: 0.115, device_mb: 336.0 };

impl TouchFit {
    /// MB/s of a long write that touches user memory so often for each page.
    pub fn mb_per_second(self, touches_per_page: f64) -> f64 {
        let micros = self.page_us + self.touch_us * touches_per_page;
        (self.page / micros).min(self.device_mb)
    }
}
