//! Maps and sets in the order of their keys, each key one word.
//!
//! They offer what is used here of `BTreeMap` and `BTreeSet`. Because every key is a word, the
//! search is the same code whatever the keys and values are, and the page carries it once.
//!
//! The words stand in chunks of at most [`CHUNK`]: a search is two binary ones, an insertion moves
//! a part of one chunk, and one in sixty-four the list of chunks.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Bound, Index, RangeBounds};

/// Most words of a chunk.
const CHUNK: usize = 128;

/// What can be a key: anything that is one word, in the order of these.
pub trait Key: Copy {
    /// The word.
    fn word(self) -> u64;
    /// The key whose word this is.
    fn of_word(word: u64) -> Self;
}

impl Key for u64 {
    fn word(self) -> u64 {
        self
    }
    fn of_word(word: u64) -> Self {
        word
    }
}

impl Key for u32 {
    fn word(self) -> u64 {
        self.into()
    }
    fn of_word(word: u64) -> Self {
        word as Self
    }
}

impl Key for usize {
    fn word(self) -> u64 {
        self as u64
    }
    fn of_word(word: u64) -> Self {
        word as Self
    }
}

impl Key for (u32, u32) {
    fn word(self) -> u64 {
        u64::from(self.0) << 32 | u64::from(self.1)
    }
    fn of_word(word: u64) -> Self {
        ((word >> 32) as u32, word as u32)
    }
}

/// Words in ascending order, each with a number that belongs to it.
#[derive(Clone)]
struct Words {
    chunks: Vec<Chunk>,
    len: usize,
}

#[derive(Clone)]
struct Chunk {
    /// No word of this chunk is smaller, and every word of the chunks before it is.
    least: u64,
    words: Vec<(u64, u32)>,
}

/// Chunk, and place in it.
type At = (usize, usize);

impl Words {
    const EMPTY: Self = Self { chunks: Vec::new(), len: 0 };

    /// Where a word stands, or would.
    fn find(&self, word: u64) -> Result<At, At> {
        let chunk = self.chunks.partition_point(|chunk| chunk.least <= word).saturating_sub(1);
        let Some(Chunk { words, .. }) = self.chunks.get(chunk) else { return Err((0, 0)) };
        match words.binary_search_by_key(&word, |(word, _)| *word) {
            Ok(at) => Ok((chunk, at)),
            Err(at) => Err((chunk, at)),
        }
    }
    fn get(&self, word: u64) -> Option<u32> {
        self.find(word).ok().map(|(chunk, at)| self.chunks[chunk].words[at].1)
    }
    /// Puts a word where [`Self::find`] says that it would stand.
    fn insert(&mut self, (mut chunk, mut at): At, word: u64, number: u32) {
        self.len += 1;
        if self.chunks.is_empty() {
            self.chunks.push(Chunk { least: 0, words: Vec::new() });
        }
        let words = &mut self.chunks[chunk].words;
        if words.len() == CHUNK {
            // What is filled in ascending order is filled to the brim.
            let kept = if at == CHUNK { CHUNK } else { CHUNK / 2 };
            let words = words.split_off(kept);
            let least = words.first().map_or(word, |(least, _)| *least);
            self.chunks.insert(chunk + 1, Chunk { least, words });
            if at > kept || kept == CHUNK {
                (chunk, at) = (chunk + 1, at - kept);
            }
        }
        self.chunks[chunk].words.insert(at, (word, number));
    }
    /// Takes out the word that stands there.
    fn remove(&mut self, (chunk, at): At) -> u32 {
        self.len -= 1;
        let (_, number) = self.chunks[chunk].words.remove(at);
        // The first chunk is where the smallest words go.
        if chunk > 0 && self.chunks[chunk].words.is_empty() {
            self.chunks.remove(chunk);
        }
        number
    }
    fn range(&self, range: (Bound<u64>, Bound<u64>)) -> Stretch<'_> {
        let before = |word: u64| self.find(word).unwrap_or_else(|at| at);
        let behind =
            |word: u64| self.find(word).map_or_else(|at| at, |(chunk, at)| (chunk, at + 1));
        let front = match range.0 {
            Bound::Included(word) => before(word),
            Bound::Excluded(word) => behind(word),
            Bound::Unbounded => (0, 0),
        };
        let back = match range.1 {
            Bound::Included(word) => behind(word),
            Bound::Excluded(word) => before(word),
            Bound::Unbounded => (self.chunks.len(), 0),
        };
        Stretch { chunks: &self.chunks, front, back }
    }
}

/// Words of a range with their numbers.
#[derive(Clone)]
struct Stretch<'a> {
    chunks: &'a [Chunk],
    front: At,
    back: At,
}

impl Iterator for Stretch<'_> {
    type Item = (u64, u32);

    fn next(&mut self) -> Option<(u64, u32)> {
        while self.front < self.back {
            let (chunk, at) = self.front;
            if let Some(entry) = self.chunks[chunk].words.get(at) {
                self.front.1 += 1;
                return Some(*entry);
            }
            self.front = (chunk + 1, 0);
        }
        None
    }
}

impl DoubleEndedIterator for Stretch<'_> {
    fn next_back(&mut self) -> Option<(u64, u32)> {
        while self.front < self.back {
            let (chunk, at) = self.back;
            if let Some(at) = at.checked_sub(1) {
                self.back.1 = at;
                return Some(self.chunks[chunk].words[at]);
            }
            self.back = (chunk - 1, self.chunks[chunk - 1].words.len());
        }
        None
    }
}

fn words_of<K: Key>(range: &impl RangeBounds<K>) -> (Bound<u64>, Bound<u64>) {
    let word = |key: &K| key.word();
    (range.start_bound().map(word), range.end_bound().map(word))
}

/// Values by key, in the order of the keys.
#[derive(Clone)]
pub struct OrderedMap<K, V> {
    words: Words,
    /// Values where the numbers of the words say.
    values: Vec<Option<V>>,
    free: Vec<u32>,
    keys: PhantomData<K>,
}

impl<K: Key, V> OrderedMap<K, V> {
    /// A map of nothing.
    pub const fn new() -> Self {
        Self { words: Words::EMPTY, values: Vec::new(), free: Vec::new(), keys: PhantomData }
    }
    /// How many values there are.
    pub const fn len(&self) -> usize {
        self.words.len
    }
    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.words.len == 0
    }
    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.values[self.words.get(key.word())? as usize].as_ref()
    }
    /// The value of a key, to be changed.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.values[self.words.get(key.word())? as usize].as_mut()
    }
    /// Whether a key has a value.
    pub fn contains_key(&self, key: &K) -> bool {
        self.words.get(key.word()).is_some()
    }
    /// Gives a key a value; the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.slot(key).replace(value)
    }
    /// The value of a key, made if there is none.
    pub fn get_or_insert_with(&mut self, key: K, fresh: impl FnOnce() -> V) -> &mut V {
        self.slot(key).get_or_insert_with(fresh)
    }
    /// The place of the value of a key.
    fn slot(&mut self, key: K) -> &mut Option<V> {
        let word = key.word();
        let number = match self.words.find(word) {
            Ok((chunk, at)) => self.words.chunks[chunk].words[at].1,
            Err(at) => {
                let number = self.free.pop().unwrap_or_else(|| {
                    self.values.push(None);
                    self.values.len() as u32 - 1
                });
                self.words.insert(at, word, number);
                number
            }
        };
        &mut self.values[number as usize]
    }
    /// Takes a key out; its value.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let at = self.words.find(key.word()).ok()?;
        let number = self.words.remove(at);
        self.free.push(number);
        self.values[number as usize].take()
    }
    /// Keys and values, ascending.
    pub fn iter(&self) -> Entries<'_, K, V> {
        self.range(..)
    }
    /// Keys and values of a range, ascending.
    pub fn range(&self, range: impl RangeBounds<K>) -> Entries<'_, K, V> {
        let stretch = self.words.range(words_of(&range));
        Entries { stretch, values: &self.values, keys: PhantomData }
    }
    /// The values, in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
    /// The values, in no order, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.values.iter_mut().flatten()
    }
}

/// Keys and values of a map, ascending.
#[derive(Clone)]
pub struct Entries<'a, K, V> {
    stretch: Stretch<'a>,
    values: &'a [Option<V>],
    keys: PhantomData<K>,
}

impl<'a, K: Key, V> Iterator for Entries<'a, K, V> {
    type Item = (K, &'a V);

    fn next(&mut self) -> Option<(K, &'a V)> {
        let (word, number) = self.stretch.next()?;
        Some((K::of_word(word), self.values[number as usize].as_ref()?))
    }
}

impl<K: Key, V> DoubleEndedIterator for Entries<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let (word, number) = self.stretch.next_back()?;
        Some((K::of_word(word), self.values[number as usize].as_ref()?))
    }
}

impl<'a, K: Key, V> IntoIterator for &'a OrderedMap<K, V> {
    type Item = (K, &'a V);
    type IntoIter = Entries<'a, K, V>;

    fn into_iter(self) -> Entries<'a, K, V> {
        self.iter()
    }
}

impl<K: Key, V> Default for OrderedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Key, V: PartialEq> PartialEq for OrderedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        let words = |entries: (K, _)| (entries.0.word(), entries.1);
        self.iter().map(words).eq(other.iter().map(words))
    }
}

impl<K: Key, V: Eq> Eq for OrderedMap<K, V> {}

impl<K: Key + fmt::Debug, V: fmt::Debug> fmt::Debug for OrderedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Key, V> Index<&K> for OrderedMap<K, V> {
    type Output = V;

    fn index(&self, key: &K) -> &V {
        self.get(key).expect("no value for this key")
    }
}

/// Keys in their order.
#[derive(Clone)]
pub struct OrderedSet<K> {
    words: Words,
    keys: PhantomData<K>,
}

impl<K: Key> OrderedSet<K> {
    /// A set of nothing.
    pub const fn new() -> Self {
        Self { words: Words::EMPTY, keys: PhantomData }
    }
    /// How many keys there are.
    pub const fn len(&self) -> usize {
        self.words.len
    }
    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.words.len == 0
    }
    /// Whether a key is there.
    pub fn contains(&self, key: &K) -> bool {
        self.words.get(key.word()).is_some()
    }
    /// Adds a key; whether it was not there.
    pub fn insert(&mut self, key: K) -> bool {
        let at = self.words.find(key.word());
        if let Err(at) = at {
            self.words.insert(at, key.word(), 0);
        }
        at.is_err()
    }
    /// Takes a key out; whether it was there.
    pub fn remove(&mut self, key: &K) -> bool {
        self.words.find(key.word()).map(|at| self.words.remove(at)).is_ok()
    }
    /// The keys, ascending.
    pub fn iter(&self) -> Keys<'_, K> {
        self.range(..)
    }
    /// The keys of a range, ascending.
    pub fn range(&self, range: impl RangeBounds<K>) -> Keys<'_, K> {
        Keys { stretch: self.words.range(words_of(&range)), keys: PhantomData }
    }
}

/// Keys of a set, ascending.
#[derive(Clone)]
pub struct Keys<'a, K> {
    stretch: Stretch<'a>,
    keys: PhantomData<K>,
}

impl<K: Key> Iterator for Keys<'_, K> {
    type Item = K;

    fn next(&mut self) -> Option<K> {
        self.stretch.next().map(|(word, _)| K::of_word(word))
    }
}

impl<K: Key> DoubleEndedIterator for Keys<'_, K> {
    fn next_back(&mut self) -> Option<K> {
        self.stretch.next_back().map(|(word, _)| K::of_word(word))
    }
}

impl<'a, K: Key> IntoIterator for &'a OrderedSet<K> {
    type Item = K;
    type IntoIter = Keys<'a, K>;

    fn into_iter(self) -> Keys<'a, K> {
        self.iter()
    }
}

impl<K: Key> Extend<K> for OrderedSet<K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        keys.into_iter().for_each(|key| {
            self.insert(key);
        });
    }
}

impl<K: Key> Default for OrderedSet<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Key + fmt::Debug> fmt::Debug for OrderedSet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn known<'a>((key, value): (&u64, &'a u32)) -> (u64, &'a u32) {
        (*key, value)
    }
    /// The same map in both forms.
    fn check(map: &OrderedMap<u64, u32>, plain: &BTreeMap<u64, u32>) {
        assert_eq!(map.len(), plain.len());
        assert_eq!(map.is_empty(), plain.is_empty());
        assert!(map.iter().eq(plain.iter().map(known)));
        assert!(map.iter().rev().eq(plain.iter().rev().map(known)));
        let chunks = &map.words.chunks;
        assert!(chunks.iter().skip(1).all(|chunk| (1..=CHUNK).contains(&chunk.words.len())));
    }

    #[test]
    fn what_is_filled_in_order_is_filled_to_the_brim_and_emptied_from_the_front() {
        let mut map = OrderedMap::new();
        let many = 10 * CHUNK as u64;
        for key in 0..many {
            map.insert(key, key as u32);
        }
        assert_eq!(map.words.chunks.len(), 10);
        for key in 0..many {
            assert_eq!(map.iter().next(), Some((key, &(key as u32))));
            assert_eq!(map.remove(&key), Some(key as u32));
        }
        assert!(map.is_empty() && map.words.chunks.len() == 1);
        assert!(map.iter().next().is_none() && map.iter().next_back().is_none());
    }

    proptest! {
        #[test]
        fn agrees_with_a_search_tree(
            edits in prop::collection::vec((any::<bool>(), 0u64..600, 1u64..40), 0..60),
            ranges in prop::collection::vec((0u64..700, 0u64..700), 9),
        ) {
            let (mut map, mut plain) = (OrderedMap::new(), BTreeMap::new());
            for (at, (add, first, count)) in edits.into_iter().enumerate() {
                for key in first..first + count {
                    // Not in order.
                    let key = key ^ 5;
                    if add {
                        prop_assert_eq!(map.insert(key, at as u32), plain.insert(key, at as u32));
                    } else {
                        prop_assert_eq!(map.remove(&key), plain.remove(&key));
                    }
                }
            }
            check(&map, &plain);
            for (one, two) in ranges {
                prop_assert_eq!(map.get(&one), plain.get(&one));
                prop_assert_eq!(map.contains_key(&one), plain.contains_key(&one));
                let (start, end) = (one.min(two), one.max(two));
                prop_assert!(map.range(start..end).eq(plain.range(start..end).map(known)));
                prop_assert!(map.range(start..=end).eq(plain.range(start..=end).map(known)));
                let (back, known_back) = (map.range(..start).rev(), plain.range(..start).rev());
                prop_assert!(back.eq(known_back.map(known)));
                *map.get_or_insert_with(one, || 7) += 1;
                *plain.entry(one).or_insert(7) += 1;
            }
            check(&map, &plain);
            // Equality does not see the way.
            let mut other = OrderedMap::new();
            for (key, value) in plain.iter().rev() {
                other.insert(*key, *value);
            }
            prop_assert_eq!(&map, &other);
            other.insert(1000, 0);
            prop_assert!(map != other);
        }
        #[test]
        fn a_set_is_a_map_of_nothing(keys in prop::collection::vec(0u32..300, 0..300)) {
            let (mut set, mut plain) = (OrderedSet::new(), std::collections::BTreeSet::new());
            for key in &keys {
                prop_assert_eq!(set.insert(*key), plain.insert(*key));
            }
            for key in keys.iter().step_by(3) {
                prop_assert_eq!(set.remove(key), plain.remove(key));
                prop_assert!(!set.contains(key));
            }
            prop_assert!(set.iter().eq(plain.iter().copied()));
            prop_assert_eq!(set.len(), plain.len());
        }
    }
}
