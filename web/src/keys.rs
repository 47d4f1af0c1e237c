//! Single keys: what each one does, and when it keeps quiet because a control uses it itself.

use crate::compare;
use crate::find::Key;

/// What the focused element does with keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Focus {
    /// Nothing.
    Page,
    /// Space and Enter press it.
    Button,
    /// Arrows, Home and End move it.
    Slider,
    /// It takes any key: text, or a list that is searched by typing.
    Typing,
}

/// What a key asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Play or pause.
    Play,
    /// One step at the chosen grain; true = forward.
    Step(bool),
    /// To the next or previous operation.
    Op(bool),
    /// To the start.
    Start,
    /// To the end.
    End,
    /// To so many percent.
    Percent(usize),
    /// To the next difference that reaches the device.
    Difference,
    /// To the first one, however little.
    First,
    /// To what is searched for, jumped to or marked.
    Find(Key),
    /// How two runs are looked at.
    Compare(compare::Key),
    /// The list of keys.
    Help,
}

/// Every key with what people read about it.
pub(crate) const KEYS: [(&str, &str); 18] = [
    ("Space", "play or pause"),
    (", .", "one step back, forward"),
    ("[ ]", "previous, next operation"),
    ("Home End", "start, end"),
    ("0 \u{2026} 9", "0 to 90 percent"),
    ("n N", "next, previous difference that reaches the device"),
    ("d", "the first difference of all"),
    ("v", "both runs, A alone, B alone"),
    ("x", "A and B change places"),
    ("/", "search"),
    ("f F", "next, previous that is found"),
    ("e E", "next, previous step of the chosen kind"),
    ("m", "mark this step, or take its mark away"),
    ("'", "next mark"),
    ("Alt arrows", "sandbox: change what is under the cursor: an order, a chunk, a start, a size"),
    ("Alt Enter", "sandbox: write the block under the cursor"),
    ("?", "this list"),
    ("Esc", "close it"),
];

/// What a key does while the focus is there.
pub(crate) fn action(key: &str, focus: Focus) -> Option<Action> {
    let found = match key {
        " " => Action::Play,
        "," => Action::Step(false),
        "." => Action::Step(true),
        "[" => Action::Op(false),
        "]" => Action::Op(true),
        "Home" => Action::Start,
        "End" => Action::End,
        "n" => Action::Difference,
        "d" => Action::First,
        "N" => Action::Compare(compare::Key::Back),
        "v" => Action::Compare(compare::Key::View),
        "x" => Action::Compare(compare::Key::Swap),
        "/" => Action::Find(Key::Open),
        "f" => Action::Find(Key::Next(true)),
        "F" => Action::Find(Key::Next(false)),
        "e" => Action::Find(Key::Jump(true)),
        "E" => Action::Find(Key::Jump(false)),
        "m" => Action::Find(Key::Mark),
        "'" => Action::Find(Key::NextMark),
        "?" => Action::Help,
        digit => {
            let percent = digit.parse::<usize>().ok().filter(|n| *n < 10 && digit.len() == 1)?;
            Action::Percent(percent * 10)
        }
    };
    let taken = match focus {
        Focus::Page => false,
        Focus::Button => found == Action::Play,
        Focus::Slider => matches!(found, Action::Start | Action::End),
        Focus::Typing => true,
    };
    (!taken).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_quiet_where_the_focus_uses_them() {
        assert_eq!(action(" ", Focus::Page), Some(Action::Play));
        assert_eq!(action(" ", Focus::Button), None);
        assert_eq!(action(".", Focus::Button), Some(Action::Step(true)));
        assert_eq!(action("Home", Focus::Slider), None);
        assert_eq!(action("Home", Focus::Button), Some(Action::Start));
        assert_eq!(action("7", Focus::Slider), Some(Action::Percent(70)));
        assert_eq!(action("?", Focus::Typing), None);
        for other in ["a", "10", "", "Enter", "\u{663}", "+1"] {
            assert_eq!(action(other, Focus::Page), None, "{other}");
        }
    }
}
