//! A bitmap over the blocks of one folio, one word inline (64 blocks, or 256 KiB at 4 KiB).
//!
//! Ranges are half-open block ranges. Searching works a word at a time, so that the cost of a write
//! into a large folio does not grow with the folio (follows `find_next_bit` and its kin).

use smallvec::SmallVec;

/// Bits of one word.
pub const WORD: u32 = 64;

/// A bitmap of fixed length.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct Bits {
    words: SmallVec<[u64; 1]>,
    len: u32,
}

impl Clone for Bits {
    // Words as they are: a state that is copied has thousands of these.
    fn clone(&self) -> Self {
        Self { words: SmallVec::from_slice(&self.words), len: self.len }
    }
}

/// The bits of word `word` that lie in `[start, end)`.
fn mask(word: u32, start: u32, end: u32) -> u64 {
    let base = word * WORD;
    let lo = start.saturating_sub(base).min(WORD);
    let hi = end.saturating_sub(base).min(WORD);
    let below = |n: u32| if n == WORD { u64::MAX } else { (1 << n) - 1 };
    below(hi) & !below(lo)
}

impl Bits {
    /// `len` bits, all clear.
    pub fn new(len: u32) -> Self {
        Self { words: SmallVec::from_elem(0, len.div_ceil(WORD) as usize), len }
    }
    /// `len` bits, all set.
    pub fn full(len: u32) -> Self {
        let mut bits = Self::new(len);
        bits.set(0, len);
        bits
    }
    /// Number of bits.
    pub const fn len(&self) -> u32 {
        self.len
    }
    /// Whether there is no bit at all.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Number of words.
    pub fn words(&self) -> usize {
        self.words.len()
    }
    /// One word.
    pub fn word(&self, at: usize) -> u64 {
        self.words[at]
    }
    /// Replaces one word (used when a trace is replayed).
    pub fn set_word(&mut self, at: usize, word: u64) {
        self.words[at] = word;
    }
    /// Whether bit `at` is set.
    pub fn get(&self, at: u32) -> bool {
        debug_assert!(at < self.len, "bit {at} of {}", self.len);
        self.words[(at / WORD) as usize] >> (at % WORD) & 1 == 1
    }
    /// Sets `[start, end)`.
    pub fn set(&mut self, start: u32, end: u32) {
        self.update(start, end, |word, mask| word | mask);
    }
    /// Sets or clears `[start, end)`.
    pub fn put(&mut self, start: u32, end: u32, on: bool) {
        if on {
            self.set(start, end);
        } else {
            self.clear(start, end);
        }
    }
    /// Clears `[start, end)`.
    pub fn clear(&mut self, start: u32, end: u32) {
        self.update(start, end, |word, mask| word & !mask);
    }
    fn update(&mut self, start: u32, end: u32, change: impl Fn(u64, u64) -> u64) {
        debug_assert!(start <= end && end <= self.len, "[{start}, {end}) of {}", self.len);
        if start == end {
            return;
        }
        for word in start / WORD..=(end - 1) / WORD {
            let at = word as usize;
            self.words[at] = change(self.words[at], mask(word, start, end));
        }
    }
    /// Whether every bit is set.
    pub fn all(&self) -> bool {
        self.next_clear(0, self.len) == self.len
    }
    /// Whether any bit is set.
    pub fn any(&self) -> bool {
        self.words.iter().any(|word| *word != 0)
    }
    /// Whether `other`, of the same length, has every bit that this one has.
    pub fn lies_in(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).all(|(mine, others)| mine & !others == 0)
    }
    /// How many bits of `[start, end)` are set.
    pub fn count(&self, start: u32, end: u32) -> u32 {
        if start >= end {
            return 0;
        }
        (start / WORD..=(end - 1) / WORD)
            .map(|word| (self.words[word as usize] & mask(word, start, end)).count_ones())
            .sum()
    }
    /// The first set bit in `[start, end)`, or `end`.
    pub fn next_set(&self, start: u32, end: u32) -> u32 {
        self.find(start, end, 0)
    }
    /// The first clear bit in `[start, end)`, or `end`.
    pub fn next_clear(&self, start: u32, end: u32) -> u32 {
        self.find(start, end, u64::MAX)
    }
    fn find(&self, start: u32, end: u32, flip: u64) -> u32 {
        debug_assert!(end <= self.len, "[{start}, {end}) of {}", self.len);
        let mut at = start;
        while at < end {
            let word = at / WORD;
            let hit = (self.words[word as usize] ^ flip) & mask(word, at, end);
            if hit != 0 {
                return word * WORD + hit.trailing_zeros();
            }
            at = (word + 1) * WORD;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_plain_array(
            len in 1u32..200,
            edits in prop::collection::vec((any::<bool>(), 0u32..200, 0u32..200), 0..8),
            from in 0u32..200,
        ) {
            let mut bits = Bits::new(len);
            let mut plain = vec![false; len as usize];
            for (on, a, b) in edits {
                let (a, b) = (a.min(b).min(len), a.max(b).min(len));
                if on { bits.set(a, b) } else { bits.clear(a, b) }
                plain[a as usize..b as usize].fill(on);
            }
            let from = from.min(len);
            let find = |want: bool| (from..len).find(|i| plain[*i as usize] == want).unwrap_or(len);
            prop_assert_eq!(bits.next_set(from, len), find(true));
            prop_assert_eq!(bits.next_clear(from, len), find(false));
            let set = plain[from as usize..].iter().filter(|bit| **bit).count() as u32;
            prop_assert_eq!(bits.count(from, len), set);
            prop_assert_eq!(bits.all(), plain.iter().all(|bit| *bit));
            prop_assert_eq!(bits.any(), plain.iter().any(|bit| *bit));
        }
    }
}
