//! What a trace says about the run it came from.

use crate::behaviour::Behaviours;
use crate::dirty::flusher::flusher_of;
use crate::geometry::Geometry;
use crate::tasks::{KSWAPD, KSWAPD_TASK, flusher_name};
use crate::units::TaskId;
use std::borrow::Cow;

/// Where the steps come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A simulated device.
    Simulated,
    /// A real file or disk; the words say which kind, never where.
    Real(String),
}

/// What a trace says about its run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Version of the engine that wrote it.
    pub engine: String,
    /// Title of the scenario.
    pub title: String,
    /// The profile, such as `linux-6.18`.
    pub profile: String,
    /// Every switch.
    pub behaviours: Behaviours,
    /// Sizes of the world.
    pub geometry: Geometry,
    /// Where the steps come from.
    pub source: Source,
    /// Names of the tasks, from task 1 on; none where there is one.
    pub tasks: Vec<String>,
}

impl Header {
    /// The name of a task, if it has one.
    pub fn task_name(&self, task: TaskId) -> Option<Cow<'_, str>> {
        if let Some(bdi) = flusher_of(task) {
            return Some(flusher_name(bdi).into());
        }
        if task == KSWAPD_TASK {
            return Some(KSWAPD.into());
        }
        let at = task.get().checked_sub(1)? as usize;
        self.tasks.get(at).map(|name| name.as_str().into())
    }
    /// The behaviours that these names and values mean.
    pub fn behaviours_from(switches: &[(String, String)]) -> Result<Behaviours, String> {
        let mut all = Behaviours::default();
        for (name, value) in switches {
            all.set(name, value)?;
        }
        Ok(all)
    }
}
