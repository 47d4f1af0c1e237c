//! Sizes as people write them: `4096`, `4k`, `1.5 MiB` is not one, `64 KiB` is.

use crate::units::Bytes;

/// Bytes from text: digits and an optional unit, which counts in 1024 (`k`, `KiB`, `kb`, `m`, `g`,
/// `t`, in any case, with or without a space). The error says what was expected.
pub fn parse_size(text: &str) -> Result<Bytes, String> {
    const WANTED: &str = "expected a size such as 4096, 64k or 2 MiB";
    let text = text.trim();
    if text.starts_with('-') {
        return Err(format!("`{text}` is negative: {WANTED}"));
    }
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(format!("`{text}` is not a size: {WANTED}")),
    };
    let number: u64 = number.parse().map_err(|_| format!("`{text}` is not a size: {WANTED}"))?;
    let bytes = number.checked_mul(1 << shift).filter(|bytes| *bytes <= crate::units::MAX_POS);
    bytes.map(Bytes::new).ok_or_else(|| format!("`{text}` is larger than any file can be"))
}

/// A size and the most that it may be, in words that differ.
pub(crate) fn beside(size: Bytes, most: Bytes) -> [String; 2] {
    let words = [size, most].map(|size| size.to_string());
    if words[0] == words[1] {
        [size, most].map(|size| format!("{} bytes", size.get()))
    } else {
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_people_write_them() {
        for (text, bytes) in
            [("0", 0), ("4096", 4096), ("64k", 65536), ("2 MiB", 2 << 20), ("1G", 1 << 30)]
        {
            assert_eq!(parse_size(text), Ok(Bytes::new(bytes)), "{text}");
        }
        for text in ["", "k", "-1", "1.5m", "4q", "99999999999g"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
