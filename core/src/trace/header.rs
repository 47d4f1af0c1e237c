//! What a trace says about the run it came from.

use crate::behaviour::{
    Behaviours, ClearRounding, DirtyTracking, FirstAccess, IoSizeClamp, IoendMerge, PlugOrder,
    ReadFolioStep, ReadSubmission, ReadaheadRules, WriteChunk,
};
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
    pub fn switches(&self) -> [(&'static str, &'static str); 10] {
        let Behaviours {
            dirty_tracking,
            write_chunk,
            io_size_clamp,
            readahead_rules,
            read_folio_step,
            read_submission,
            clear_rounding,
            ioend_merge,
            plug_order,
            first_access,
        } = self.behaviours;
        [
            ("dirty_tracking", dirty_tracking.name()),
            ("write_chunk", write_chunk.name()),
            ("io_size_clamp", io_size_clamp.name()),
            ("readahead_rules", readahead_rules.name()),
            ("read_folio_step", read_folio_step.name()),
            ("read_submission", read_submission.name()),
            ("clear_rounding", clear_rounding.name()),
            ("ioend_merge", ioend_merge.name()),
            ("plug_order", plug_order.name()),
            ("first_access", first_access.name()),
        ]
    }
    /// Sets one switch by name and value; the error names what was expected.
    pub fn set_switch(all: &mut Behaviours, name: &str, value: &str) -> Result<(), String> {
        fn pick<T: Copy>(
            slot: &mut T,
            known: &[T],
            names: fn(T) -> &'static str,
            value: &str,
        ) -> Result<(), Vec<&'static str>> {
            let found = known.iter().find(|one| names(**one) == value);
            *slot =
                *found.ok_or_else(|| known.iter().map(|one| names(*one)).collect::<Vec<_>>())?;
            Ok(())
        }
        let picked = match name {
            "dirty_tracking" => {
                pick(&mut all.dirty_tracking, DirtyTracking::ALL, DirtyTracking::name, value)
            }
            "write_chunk" => pick(&mut all.write_chunk, WriteChunk::ALL, WriteChunk::name, value),
            "io_size_clamp" => {
                pick(&mut all.io_size_clamp, IoSizeClamp::ALL, IoSizeClamp::name, value)
            }
            "readahead_rules" => {
                pick(&mut all.readahead_rules, ReadaheadRules::ALL, ReadaheadRules::name, value)
            }
            "read_folio_step" => {
                pick(&mut all.read_folio_step, ReadFolioStep::ALL, ReadFolioStep::name, value)
            }
            "read_submission" => {
                pick(&mut all.read_submission, ReadSubmission::ALL, ReadSubmission::name, value)
            }
            "clear_rounding" => {
                pick(&mut all.clear_rounding, ClearRounding::ALL, ClearRounding::name, value)
            }
            "ioend_merge" => pick(&mut all.ioend_merge, IoendMerge::ALL, IoendMerge::name, value),
            "plug_order" => pick(&mut all.plug_order, PlugOrder::ALL, PlugOrder::name, value),
            "first_access" => {
                pick(&mut all.first_access, FirstAccess::ALL, FirstAccess::name, value)
            }
            _ => {
                return Err(format!(
                    "no switch `{name}`: expected dirty_tracking, write_chunk, io_size_clamp, \
                     readahead_rules, read_folio_step, read_submission, clear_rounding, \
                     ioend_merge, plug_order or first_access"
                ));
            }
        };
        picked.map_err(|known| {
            format!("{name} cannot be `{value}`: expected one of {}", known.join(", "))
        })
    }
    /// The behaviours that these names and values mean.
    pub fn behaviours_from(switches: &[(String, String)]) -> Result<Behaviours, String> {
        let mut all = Behaviours::default();
        for (name, value) in switches {
            Self::set_switch(&mut all, name, value)?;
        }
        Ok(all)
    }
}
