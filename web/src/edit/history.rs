//! What can be undone: texts as they were, each with where it changed. What is typed in one go is
//! one change.

/// Most changes that are kept, and most bytes of them.
const MOST: usize = 500;
const MOST_BYTES: usize = 8 << 20;

/// Texts before and behind the one that is shown.
#[derive(Default)]
pub(super) struct History {
    back: Vec<String>,
    forth: Vec<String>,
    /// Where typing would go on.
    typing: Option<usize>,
}

impl History {
    /// The text is about to change.
    pub(super) fn changed(&mut self, text: &str) {
        self.typing = None;
        self.push(text);
    }
    /// The viewer typed.
    pub(super) fn typed(&mut self, old: &str, new: &str) {
        let (start, old_end, new_end) = difference(old, new);
        let goes_on = self.typing == Some(start) && old_end == start;
        let small = new_end - start <= 4 && !new[start..new_end].contains('\n');
        if !(goes_on && small) {
            self.push(old);
        }
        self.forth.clear();
        self.typing = (old_end == start && small).then_some(new_end);
    }
    fn push(&mut self, text: &str) {
        self.forth.clear();
        self.back.push(text.to_owned());
        while self.back.len() > MOST
            || (self.back.len() > 1
                && self.back.iter().map(String::len).sum::<usize>() > MOST_BYTES)
        {
            self.back.remove(0);
        }
    }
    /// The text before the last change, and where that was.
    pub(super) fn undo(&mut self, text: &str) -> Option<(String, usize)> {
        let old = self.back.pop()?;
        self.typing = None;
        let caret = difference(text, &old).2;
        self.forth.push(text.to_owned());
        Some((old, caret))
    }
    /// The text before the last undo, and where that was.
    pub(super) fn redo(&mut self, text: &str) -> Option<(String, usize)> {
        let new = self.forth.pop()?;
        self.typing = None;
        let caret = difference(text, &new).2;
        self.back.push(text.to_owned());
        Some((new, caret))
    }
    /// Whether there is something to undo, and to do again.
    pub(super) fn can(&self) -> (bool, bool) {
        (!self.back.is_empty(), !self.forth.is_empty())
    }
}

/// Where two texts begin to differ, and where they are the same again in each.
pub(super) fn difference(old: &str, new: &str) -> (usize, usize, usize) {
    let same = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let start = old.floor_char_boundary(same);
    let most = old.len().min(new.len()) - start;
    let tail = old.bytes().rev().zip(new.bytes().rev()).take(most).take_while(|(a, b)| a == b);
    let mut tail = tail.count();
    while !old.is_char_boundary(old.len() - tail) {
        tail -= 1;
    }
    (start, old.len() - tail, new.len() - tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_is_one_change_and_all_of_it_comes_back() {
        let mut history = History::default();
        let texts = ["a", "ab", "abc", "abc\n", "abc\nd", "c\nd"];
        for two in texts.windows(2) {
            history.typed(two[0], two[1]);
        }
        let mut text = texts[5].to_owned();
        let mut seen = Vec::new();
        while let Some((old, _)) = history.undo(&text) {
            text = old;
            seen.push(text.clone());
        }
        assert_eq!(seen, ["abc\nd", "abc\n", "abc", "a"]);
        assert_eq!(history.redo("a"), Some(("abc".to_owned(), 3)));
        history.changed("abc");
        assert_eq!(history.can(), (true, false));
    }

    #[test]
    fn texts_differ_at_whole_letters() {
        assert_eq!(difference("a\u{e4}b", "a\u{e5}b"), (1, 3, 3));
        assert_eq!(difference("aa", "aaa"), (2, 2, 3));
        assert_eq!(difference("", "x"), (0, 0, 1));
        assert_eq!(difference("same", "same"), (4, 4, 4));
    }
}
