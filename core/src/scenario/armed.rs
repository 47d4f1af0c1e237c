//! The faults of a scenario while it runs: armed during the operations that they are for.

use super::Scenario;
use super::fault::FaultKind;
use crate::device::fault::DeviceFault;
use crate::device::sim::Sim;
use crate::engine::Engine;
use crate::fault::Fault;
use crate::frames::UserFault;
use crate::world::Env;
use core::ops::Range;

/// The faults, with what is left of each.
pub(crate) struct Armed {
    engine: Vec<(Range<usize>, Fault)>,
    device: Vec<(Range<usize>, DeviceFault)>,
    user: Vec<(Range<usize>, UserFault)>,
    /// The operation for which they are armed.
    now: Option<usize>,
}

impl Armed {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let mut all = Self { engine: Vec::new(), device: Vec::new(), user: Vec::new(), now: None };
        for fault in &scenario.faults {
            let ops = fault.ops.clone();
            match fault.kind {
                FaultKind::Engine(one) => all.engine.push((ops, one)),
                FaultKind::Device(one) => all.device.push((ops, one)),
                FaultKind::User(one) => all.user.push((ops, one)),
            }
        }
        all
    }
    /// Those of the user memory of an operation.
    pub(crate) fn user(&self, op: usize) -> Vec<UserFault> {
        self.user.iter().filter(|(ops, _)| ops.contains(&op)).map(|(_, one)| *one).collect()
    }
    /// Arms those that are for an operation, in place of those that were for the last one.
    pub(crate) fn arm<E: Env>(&mut self, op: usize, engine: &Engine<E>, sim: &mut Sim) {
        let last = self.now.replace(op);
        if !self.engine.is_empty() {
            keep(&mut self.engine, last, engine.replace_faults(Vec::new()));
            drop(engine.replace_faults(chosen(&self.engine, op)));
        }
        if !self.device.is_empty() {
            keep(&mut self.device, last, sim.replace_faults(Vec::new()));
            drop(sim.replace_faults(chosen(&self.device, op)));
        }
    }
}

/// The faults of an operation.
fn chosen<T: Copy>(all: &[(Range<usize>, T)], op: usize) -> Vec<T> {
    all.iter().filter(|(ops, _)| ops.contains(&op)).map(|(_, one)| *one).collect()
}

/// Keeps what is left of those that were armed for an operation.
fn keep<T: Copy>(all: &mut [(Range<usize>, T)], op: Option<usize>, armed: Vec<T>) {
    let Some(op) = op else { return };
    let mine = all.iter_mut().filter(|(ops, _)| ops.contains(&op));
    for ((_, one), left) in mine.zip(armed) {
        *one = left;
    }
}
