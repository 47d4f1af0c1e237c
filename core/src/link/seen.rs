//! What a run gave: enough to notice that it gives something else today, and about from where on.
//! It is no proof against somebody who wants to deceive.

use crate::trace::step::Step;
use crate::trace::timeline::Recording;
use crate::units::OpId;

/// What a run gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Its steps.
    pub steps: u64,
    /// A checksum of all its steps and changes.
    pub hash: u32,
    /// The checksums after each eighth of them but the last, cut to their lower half; a link may
    /// have none.
    pub marks: Vec<u16>,
}

/// How a run differs from what was seen of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Since {
    /// Steps that it had.
    pub then: u64,
    /// Steps that it has.
    pub now: u64,
    /// Steps up to which it is as it was, as far as the link can tell.
    pub same: u64,
}

impl Seen {
    /// How many marks there are.
    pub const MARKS: usize = 7;

    /// What this run gives.
    pub fn of(run: &Recording) -> Self {
        let mut marks = Vec::with_capacity(Self::MARKS);
        let mut hash = Hash::default();
        let mut at = 0;
        let wanted = (1..=Self::MARKS).map(|mark| place(run.len() as u64, mark));
        for next in wanted {
            hash.add(run, &mut at, next);
            marks.push(hash.0 as u16);
        }
        hash.add(run, &mut at, run.len() as u64);
        Self { steps: run.len() as u64, hash: hash.half(), marks }
    }
    /// How the run differs from this; none if it does not.
    pub fn since(&self, run: &Recording) -> Option<Since> {
        let (mut same, mut at) = (0, 0);
        let mut hash = Hash::default();
        for (mark, then) in (1..).zip(&self.marks) {
            let next = place(self.steps, mark);
            if next > run.len() as u64 {
                break;
            }
            hash.add(run, &mut at, next);
            if hash.0 as u16 != *then {
                break;
            }
            same = next;
        }
        let now = Self::of(run);
        let differs = (now.steps, now.hash) != (self.steps, self.hash);
        differs.then_some(Since { then: self.steps, now: now.steps, same })
    }
}

/// After how many steps a mark stands.
const fn place(steps: u64, mark: usize) -> u64 {
    // In this order nothing overflows, whatever a link says.
    steps / 8 * mark as u64 + steps % 8 * mark as u64 / 8
}

/// FNV-1a by words, with the upper half folded in: its lower bits alone would forget upper ones.
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    fn word(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3);
        self.0 = mixed ^ (mixed >> 32);
    }
    /// Adds the steps from `at` on until there are `end` of them.
    fn add(&mut self, run: &Recording, at: &mut usize, end: u64) {
        while (*at as u64) < end {
            let Step { time, task, op, context, rule, args } = run.step(*at);
            let op = op.map_or(u64::MAX, |op: OpId| op.get().into());
            let who = [time.get(), task.get().into(), op, *context as u64, rule.code().into()];
            who.iter().chain(args).for_each(|word| self.word(*word));
            for delta in run.deltas(*at) {
                let object = u64::from(delta.object) << 32 | u64::from(delta.aux);
                for word in [delta.kind as u64, object, delta.old, delta.new] {
                    self.word(word);
                }
            }
            *at += 1;
        }
    }
    const fn half(&self) -> u32 {
        self.0 as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::rule::Rule;
    use crate::trace::step::Context;
    use crate::units::{TaskId, Time};

    fn run(steps: u64, odd: Option<u64>) -> Recording {
        let mut run = Recording::default();
        for at in 0..steps {
            let args = [at, u64::from(odd == Some(at)), 0, 0];
            let (task, rule) = (TaskId::new(1), Rule::Copied);
            let time = Time::new(at);
            run.push(Step { time, task, op: None, context: Context::Task, rule, args }, &[]);
        }
        run
    }

    #[test]
    fn what_changed_is_noticed_and_about_where() {
        let before = Seen::of(&run(800, None));
        assert_eq!(before.marks.len(), Seen::MARKS);
        assert_eq!(before.since(&run(800, None)), None);
        for (odd, same) in [(0, 0), (99, 0), (100, 100), (450, 400), (799, 700)] {
            let since = before.since(&run(800, Some(odd))).expect("it differs");
            assert_eq!(since, Since { then: 800, now: 800, same }, "{odd}");
        }
        let cut = before.since(&run(399, None)).expect("it differs");
        assert_eq!((cut.now, cut.same), (399, 300));
        assert_eq!(before.since(&run(801, None)).map(|since| since.same), Some(700));
        let bare = Seen { marks: Vec::new(), ..before };
        assert_eq!(bare.since(&run(800, Some(799))).map(|since| since.same), Some(0));
    }

    #[test]
    fn few_steps_and_absurd_numbers_are_no_trouble() {
        for steps in 0..9 {
            assert_eq!(Seen::of(&run(steps, None)).since(&run(steps, None)), None);
        }
        let absurd = Seen { steps: u64::MAX, hash: 0, marks: vec![0; Seen::MARKS] };
        assert!(absurd.since(&run(3, None)).is_some());
    }
}
