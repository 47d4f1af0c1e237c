//! Numbers of a form: sizes as people write them, moved one step up or down.

use folioscope_core::scenario::size::parse_size;
use folioscope_core::service::Input;

/// Bytes as a scenario file has them: `64k`, `4097`.
pub(crate) fn written(bytes: u64) -> String {
    for (shift, unit) in [(30, "g"), (20, "m"), (10, "k")] {
        if bytes > 0 && bytes.trailing_zeros() >= shift {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// A value one step further, or back; none where there is nothing to step.
pub(crate) fn stepped(input: &Input, value: &str, up: bool) -> Option<String> {
    match input {
        Input::Count => {
            let number = if value.is_empty() { 0 } else { value.parse::<i64>().ok()? };
            let next = if up { number.checked_add(1)? } else { (number - 1).max(0) };
            Some(next.to_string())
        }
        Input::Size(step) => {
            let bytes = if value.is_empty() { 0 } else { parse_size(value).ok()?.get() };
            let next = match (*step, up) {
                (0, true) if bytes == 0 => 4096,
                (0, true) => bytes.checked_mul(2)?,
                (0, false) => bytes / 2,
                // To the next multiple: what is not aligned becomes so.
                (step, true) => (bytes / step + 1) * step,
                (step, false) => bytes.saturating_sub(1) / step * step,
            };
            Some(written(next))
        }
        Input::Flag | Input::Text | Input::Word(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_go_by_blocks_or_double() {
        let size = |step, value, up| stepped(&Input::Size(step), value, up).unwrap_or_default();
        assert_eq!(size(4096, "8k", true), "12k");
        assert_eq!(size(4096, "5000", true), "8k");
        assert_eq!(size(4096, "5000", false), "4k");
        assert_eq!(size(4096, "0", false), "0");
        assert_eq!(size(0, "64k", true), "128k");
        assert_eq!(size(0, "", true), "4k");
        assert_eq!(size(0, "1", false), "0");
        assert_eq!(size(4096, "what", true), "");
        assert_eq!(stepped(&Input::Count, "0", false), Some("0".to_owned()));
        assert_eq!(written(3 << 20), "3m");
    }
}
