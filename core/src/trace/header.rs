//! What a trace says about the run it came from.

use crate::behaviour::{Behaviours, DirtyTracking, IoSizeClamp, WriteChunk};
use crate::geometry::Geometry;

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
}

impl Header {
    /// The switches by name and value.
    pub fn switches(&self) -> [(&'static str, &'static str); 3] {
        let Behaviours { dirty_tracking, write_chunk, io_size_clamp } = self.behaviours;
        [
            ("dirty_tracking", dirty_tracking.name()),
            ("write_chunk", write_chunk.name()),
            ("io_size_clamp", io_size_clamp.name()),
        ]
    }
    /// The behaviours that these names and values mean; the first pair that means nothing.
    pub fn behaviours_from(switches: &[(String, String)]) -> Result<Behaviours, (String, String)> {
        let mut all = Behaviours::default();
        for (name, value) in switches {
            let known = match name.as_str() {
                "dirty_tracking" => {
                    DirtyTracking::from_name(value).map(|value| all.dirty_tracking = value)
                }
                "write_chunk" => WriteChunk::from_name(value).map(|value| all.write_chunk = value),
                "io_size_clamp" => {
                    IoSizeClamp::from_name(value).map(|value| all.io_size_clamp = value)
                }
                _ => None,
            };
            known.ok_or_else(|| (name.clone(), value.clone()))?;
        }
        Ok(all)
    }
}
