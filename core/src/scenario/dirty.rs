//! Limits on dirty pages of a scenario file, named as the settings in `/proc/sys/vm`.

use super::fields::{Problem, number};
use super::file::missing;
use super::raw::{RawDirty, RawOp};
use crate::dirty::DirtyConfig;
use crate::dirty::limits::Share;
use crate::geometry::Geometry;
use crate::units::{Bytes, Nanos, Pages};
use toml::Spanned;

/// Nanoseconds of a hundredth of a second.
const CENTISEC: u64 = 10_000_000;
/// The longest interval, an hour, in hundredths of a second.
const HOUR: u64 = 360_000;

/// The limits that a table means.
pub(super) fn build_dirty(geometry: Geometry, raw: &RawDirty) -> Result<DirtyConfig, Problem> {
    let available = Pages::new(raw.memory.get_ref().get() / geometry.page_size().get());
    if available.is_zero() {
        let message = format!(
            "memory is {} bytes, less than a page: expected all that can be dirty, such as 64m",
            raw.memory.get_ref().get()
        );
        return Err((raw.memory.span(), message));
    }
    let usual = DirtyConfig::usual(available);
    let names = ("background_ratio", "background_bytes");
    let background = share(names, raw.background_ratio.as_ref(), raw.background_bytes.as_ref())?;
    let hard = share(("ratio", "bytes"), raw.ratio.as_ref(), raw.bytes.as_ref())?;
    let span = |name, field: Option<&Spanned<i64>>| {
        let n = field.map(|field| number(name, field, 0, HOUR)).transpose()?;
        Ok(n.map(|n| Nanos::new(n * CENTISEC)))
    };
    Ok(DirtyConfig {
        background: background.unwrap_or(usual.background),
        hard: hard.unwrap_or(usual.hard),
        interval: span("writeback_centisecs", raw.writeback_centisecs.as_ref())?
            .unwrap_or(usual.interval),
        expire: span("expire_centisecs", raw.expire_centisecs.as_ref())?.unwrap_or(usual.expire),
        ..usual
    })
}

/// A limit as a ratio or as bytes, not both.
fn share(
    names: (&str, &str),
    ratio: Option<&Spanned<i64>>,
    bytes: Option<&Spanned<Bytes>>,
) -> Result<Option<Share>, Problem> {
    match (ratio, bytes) {
        (Some(_), Some(bytes)) => {
            let message = format!("`{}` and `{}` say the same: leave out one", names.0, names.1);
            Err((bytes.span(), message))
        }
        (Some(ratio), None) => Ok(Some(Share::Percent(number(names.0, ratio, 0, 100)? as u8))),
        (None, Some(bytes)) => Ok(Some(Share::Bytes(*bytes.get_ref()))),
        (None, None) => Ok(None),
    }
}

/// How long a task does something else.
pub(super) fn span(entry: &Spanned<RawOp>) -> Result<Nanos, Problem> {
    let ms = entry.get_ref().ms.as_ref().ok_or_else(|| missing(entry, "ms"))?;
    Ok(Nanos::new(number("ms", ms, 1, 3_600_000)? * 1_000_000))
}
