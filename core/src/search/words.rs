//! Steps whose function or sentence contains some words.
//!
//! Whether a rule's function, or what all of its sentences share, contains them is the same for
//! every step of the rule and found once; only what the inputs say is looked at step by step.

use crate::trace::rule::Rule;
use crate::trace::step::Step;

/// What is known about the steps of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    /// The rule was not met yet.
    Nothing,
    /// Every step fits.
    All,
    /// No step fits.
    None,
    /// It depends on the inputs.
    Some,
}

/// Words that are looked for, in small letters.
#[derive(Clone, Debug)]
pub(super) struct Words {
    text: String,
    /// By the code of a rule.
    known: Vec<Known>,
    sentence: String,
}

impl Words {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), known: Vec::new(), sentence: String::new() }
    }
    /// Whether a step has them.
    pub(super) fn fit(&mut self, step: &Step) -> bool {
        let code = usize::from(step.rule.code());
        if code >= self.known.len() {
            self.known.resize(code + 1, Known::Nothing);
        }
        if self.known[code] == Known::Nothing {
            self.known[code] = self.of_rule(step.rule);
        }
        match self.known[code] {
            Known::All => true,
            Known::None | Known::Nothing => false,
            Known::Some => {
                self.sentence.clear();
                step.rule.write_sentence(&mut self.sentence, step.args);
                self.sentence.make_ascii_lowercase();
                self.sentence.contains(&self.text)
            }
        }
    }
    fn of_rule(&self, rule: Rule) -> Known {
        let has = |words: &str| words.to_ascii_lowercase().contains(&self.text);
        let mut fixed = rule.fixed_words();
        if has(rule.function()) || fixed.by_ref().any(has) {
            return Known::All;
        }
        if rule.fixed_words().count() > 1 { Known::Some } else { Known::None }
    }
}
