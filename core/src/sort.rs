//! Sorting by a key, in place and without memory. Things with the same key may change places.
//!
//! The page carries code for each type that is sorted: this is a heap of some 200 bytes, where the
//! standard library's sorts have five to eight thousand.

/// Puts things in the order of their keys.
pub fn sort_by_key<T, K: Ord>(all: &mut [T], key: impl Fn(&T) -> K) {
    // Most lists are in order as they come.
    if all.windows(2).all(|two| key(&two[0]) <= key(&two[1])) {
        return;
    }
    let sink = |all: &mut [T], mut at: usize| loop {
        let mut child = 2 * at + 1;
        if child >= all.len() {
            return;
        }
        if child + 1 < all.len() && key(&all[child]) < key(&all[child + 1]) {
            child += 1;
        }
        if key(&all[child]) <= key(&all[at]) {
            return;
        }
        all.swap(at, child);
        at = child;
    };
    for at in (0..all.len() / 2).rev() {
        sink(all, at);
    }
    for end in (1..all.len()).rev() {
        all.swap(0, end);
        sink(&mut all[..end], 0);
    }
}

/// Puts things in their order.
pub fn sort<T: Ord + Copy>(all: &mut [T]) {
    sort_by_key(all, |one| *one);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_does_what_the_standard_one_does(mut all: Vec<u8>) {
            let mut other = all.clone();
            sort(&mut all);
            other.sort_unstable();
            prop_assert_eq!(all, other);
        }
    }
}
