//! Random streams of operations, checked against a plain array of bytes (as `fsx` does it).
//!
//! A stream is a scenario whose operations a generator chose from a seed: it can be run again,
//! made shorter, written to a file. The same operations run on anything that is a [`Subject`]: the
//! engine, or a real file of a kernel. No kernel code has this; it checks that all of it together
//! keeps the bytes.

pub mod check;
mod direct;
pub mod expect;
mod faults;
pub mod generate;
pub mod judge;
pub mod model;
pub mod shrink;
pub mod simulated;
mod space;
pub mod worlds;

pub use check::{Blind, Failure, Subject, replay, run};

use crate::scenario::fault::{FaultKind, ScenarioFault};
use crate::scenario::{Scenario, ScenarioOp};

/// An operation of a stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// What is done.
    pub op: ScenarioOp,
    /// What fails meanwhile.
    pub faults: Vec<FaultKind>,
}

/// The operations of a scenario.
pub fn steps_of(scenario: &Scenario) -> Vec<Step> {
    let of = |(at, op): (usize, &ScenarioOp)| {
        let mine = scenario.faults.iter().filter(|fault| fault.ops.contains(&at));
        Step { op: *op, faults: mine.map(|fault| fault.kind).collect() }
    };
    scenario.ops.iter().enumerate().map(of).collect()
}

/// Gives a scenario these operations.
pub fn put_steps(scenario: &mut Scenario, steps: &[Step]) {
    scenario.ops = steps.iter().map(|step| step.op).collect();
    let faults = steps.iter().enumerate().flat_map(|(at, step)| {
        step.faults.iter().map(move |kind| ScenarioFault { kind: *kind, ops: at..at + 1 })
    });
    scenario.faults = faults.collect();
}
