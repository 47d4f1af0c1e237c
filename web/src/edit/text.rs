//! Places in a text: the browser counts in UTF-16, the engine in bytes.

/// The place of a byte as the browser counts.
pub(crate) fn utf16(text: &str, at: usize) -> u32 {
    let at = text.floor_char_boundary(at.min(text.len()));
    text[..at].encode_utf16().count() as u32
}

/// The byte of a place as the browser counts.
pub(crate) fn from_utf16(text: &str, at: u32) -> usize {
    let mut left = at as usize;
    for (byte, letter) in text.char_indices() {
        if left == 0 {
            return byte;
        }
        left = left.saturating_sub(letter.len_utf16());
    }
    text.len()
}

/// Line and column of a byte, both from 0; a column is a character.
pub(crate) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at.min(text.len()))];
    let line = before.matches('\n').count();
    (line, before.rsplit('\n').next().unwrap_or_default().chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_go_both_ways() {
        let text = "\u{e4}\u{1f600}\nb";
        for (byte, units) in [(0, 0), (2, 1), (6, 3), (7, 4), (8, 5)] {
            assert_eq!((utf16(text, byte), from_utf16(text, units)), (units, byte));
        }
        assert_eq!(from_utf16(text, 99), text.len());
        assert_eq!(place(text, 8), (1, 1));
    }
}
