//! A step: what the engine did at once, on whose behalf, in which kernel function, by which rule.

use super::rule::Rule;
use crate::units::{OpId, TaskId, Time};

/// Where the code of a step runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Context {
    /// In the task that called.
    Task = 0,
    /// In the interrupt that ends an I/O.
    Softirq = 1,
    /// In a worker of the kernel.
    Worker = 2,
}

/// How coarse a step is: an operation's start or end, a function, or a detail inside one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Grain {
    /// An operation starts or ends.
    Op = 0,
    /// A decision of a kernel function.
    Function = 1,
    /// A change inside one.
    Delta = 2,
}

impl Context {
    /// The context with this code.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Task),
            1 => Some(Self::Softirq),
            2 => Some(Self::Worker),
            _ => None,
        }
    }
    /// The word in trace text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Softirq => "softirq",
            Self::Worker => "worker",
        }
    }
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// When.
    pub time: Time,
    /// On whose behalf.
    pub task: TaskId,
    /// For which operation; none for background work.
    pub op: Option<OpId>,
    /// Where its code runs.
    pub context: Context,
    /// The rule that fired: it names the kernel function and renders the sentence.
    pub rule: Rule,
    /// Inputs of the rule.
    pub args: [u64; 4],
}
