//! Values of keys. Every function takes the text as written and says what it expected.

use crate::units::{Bytes, MAX_POS, Nanos};

/// Quotes what stands in a file: escaped, and cut if it is long.
pub(super) fn quote(text: &str) -> String {
    const LONGEST: usize = 40;
    if text.chars().count() <= LONGEST {
        return format!("{text:?}");
    }
    let cut: String = text.chars().take(LONGEST).collect();
    format!("{:?}", cut + "…")
}

/// Splits a number from the letters behind it.
fn split_number(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

/// A size such as `4096`, `4k`, `64K`, `1m`, `1G`: a `k` is 1024, as fio has it by default.
pub(super) fn size(text: &str) -> Result<Bytes, String> {
    const EXPECTED: &str = "expected a positive size such as 4096, 4k, 16m or 1g";
    let found = quote(text);
    if text.starts_with('-') {
        return Err(format!("{found} is negative: {EXPECTED}"));
    }
    if text.ends_with('%') {
        return Err(format!("{found} is a percentage, which is not supported: {EXPECTED}"));
    }
    if text.contains([',', '-', ':', '/']) {
        return Err(format!("{found} is a list or a range, which is not supported: {EXPECTED}"));
    }
    let Some((number, unit)) = split_number(text) else {
        return Err(format!("{found} is not a size: {EXPECTED}"));
    };
    let unit = unit.to_ascii_lowercase();
    let shift = match unit.as_str() {
        "" | "b" => 0,
        "k" | "kb" => 10,
        "m" | "mb" => 20,
        "g" | "gb" => 30,
        "t" | "tb" => 40,
        "kib" | "mib" | "gib" | "tib" | "ki" | "mi" | "gi" | "ti" => {
            let short = &unit[..1];
            return Err(format!(
                "{found} is ambiguous, because fio counts {short} by 1024 and {short}ib by 1000: write {number}{short}"
            ));
        }
        _ => return Err(format!("{found} has an unknown unit: {EXPECTED}")),
    };
    let bytes = number.checked_mul(1 << shift).filter(|bytes| *bytes <= MAX_POS);
    match bytes {
        None => Err(format!("{found} is larger than any file can be: {EXPECTED}")),
        Some(0) => Err(format!("{found} is zero: {EXPECTED}")),
        Some(bytes) => Ok(Bytes::new(bytes)),
    }
}

/// A whole number within limits.
pub(super) fn number(text: &str, min: u64, max: u64) -> Result<u64, String> {
    let number: Option<u64> = text.parse().ok().filter(|_| !text.starts_with('+'));
    number
        .filter(|number| (min..=max).contains(number))
        .ok_or_else(|| format!("{} is not a whole number from {min} to {max}", quote(text)))
}

/// A switch: `1` or `0`; a key alone switches on.
pub(super) fn switch(text: Option<&str>) -> Result<bool, String> {
    match text {
        None | Some("1") => Ok(true),
        Some("0") => Ok(false),
        Some(other) => Err(format!("{} is neither 0 nor 1", quote(other))),
    }
}

/// A span of time such as `60`, `60s`, `5m` or `500ms`; zero is no limit.
pub(super) fn time(text: &str) -> Result<Option<Nanos>, String> {
    let expected = || format!("{} is not a time such as 60, 90s, 5m or 500ms", quote(text));
    let (number, unit) = split_number(text).ok_or_else(expected)?;
    let nanos = match unit.to_ascii_lowercase().as_str() {
        "" | "s" => 1_000_000_000,
        "us" => 1_000,
        "ms" => 1_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return Err(expected()),
    };
    let nanos: u64 = number.checked_mul(nanos).ok_or_else(expected)?;
    Ok((nanos > 0).then_some(Nanos::new(nanos)))
}

/// The name of one file, without a folder.
pub(super) fn plain_name(text: &str) -> Result<String, String> {
    let what = if text.is_empty() {
        "is empty"
    } else if text.contains('/') {
        "has a slash: put the folder into directory="
    } else if text.contains(':') {
        "has a colon, which means several files in fio and is not supported"
    } else if text == "." || text == ".." {
        "is a folder"
    } else if text.chars().any(char::is_control) {
        "has a control character"
    } else if text.len() > 200 {
        "is longer than 200 bytes"
    } else {
        return Ok(text.to_owned());
    };
    Err(format!("{} {what}", quote(text)))
}
