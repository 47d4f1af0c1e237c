//! Options that decide the world of a run: sizes, switches, memory.

use crate::error::{Failure, Outcome};
use clap::Args;
use folioscope_core::behaviour::{
    Behaviours, DirtyTracking, IoSizeClamp, PROFILES, Profile, WriteChunk,
};
use folioscope_core::geometry::{Geometry, MAX_ORDER};
use folioscope_core::scenario::fio::parse_size;
use folioscope_core::trace::header::Header;
use folioscope_core::units::{Bytes, Order};

/// Sizes and switches.
#[derive(Args, Clone, Debug)]
pub(crate) struct WorldArgs {
    /// Page size of the engine, such as 4k or 64k
    #[arg(long, value_name = "SIZE", default_value = "4k", value_parser = parse_size)]
    pub(crate) page_size: Bytes,
    /// Block size of the file system
    #[arg(long, value_name = "SIZE", default_value = "4k", value_parser = parse_size)]
    pub(crate) block_size: Bytes,
    /// Largest folio: 2^N pages; the largest that fits into 2 MiB if not given
    #[arg(long, value_name = "N")]
    pub(crate) max_folio_order: Option<u8>,
    /// Kernel release whose switches are used
    #[arg(long, value_name = "NAME", default_value = Profile::latest().name)]
    pub(crate) profile: String,
    /// One switch, such as dirty_tracking=per-folio; may be given several times
    #[arg(long = "set", value_name = "SWITCH=VALUE")]
    pub(crate) switches: Vec<String>,
}

/// A world that was understood.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// Sizes.
    pub(crate) geometry: Geometry,
    /// Switches.
    pub(crate) behaviours: Behaviours,
    /// Name of the profile that the switches began with.
    pub(crate) profile: Profile,
}

impl WorldArgs {
    /// Checks them against each other.
    pub(crate) fn world(&self) -> Outcome<World> {
        let order = self.max_folio_order.unwrap_or_else(|| default_order(self.page_size));
        let geometry =
            Geometry::new(self.page_size, self.block_size, Order::new(order)).map_err(|error| {
                Failure::usage(format!("{error} (--page-size, --block-size, --max-folio-order)"))
            })?;
        let profile = Profile::named(&self.profile).ok_or_else(|| {
            let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
            Failure::usage(format!(
                "--profile {:?} is unknown: expected one of {}",
                self.profile,
                names.join(", ")
            ))
        })?;
        let behaviours = self.behaviours(&profile, geometry)?;
        Ok(World { geometry, behaviours, profile })
    }

    fn behaviours(&self, profile: &Profile, geometry: Geometry) -> Outcome<Behaviours> {
        let header = World { geometry, behaviours: profile.behaviours, profile: *profile }
            .header(String::new(), None);
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let mut all: Vec<(String, String)> = header.switches().into_iter().map(owned).collect();
        for switch in &self.switches {
            let pair = switch.split_once('=').ok_or_else(|| {
                Failure::usage(format!(
                    "--set {switch:?} has no value: write it as in --set dirty_tracking=per-folio"
                ))
            })?;
            all.push(owned(pair));
        }
        Header::behaviours_from(&all).map_err(|(name, value)| {
            Failure::usage(match values(&name) {
                Some(known) => format!("--set {name}={value}: expected one of {known}"),
                None => format!(
                    "--set {name}={value}: there is no such switch; expected dirty_tracking, write_chunk or io_size_clamp"
                ),
            })
        })
    }
}

/// What a switch can be set to.
fn values(switch: &str) -> Option<String> {
    let join = |names: Vec<&str>| Some(names.join(", "));
    match switch {
        "dirty_tracking" => join(DirtyTracking::ALL.iter().map(|value| value.name()).collect()),
        "write_chunk" => join(WriteChunk::ALL.iter().map(|value| value.name()).collect()),
        "io_size_clamp" => join(IoSizeClamp::ALL.iter().map(|value| value.name()).collect()),
        _ => None,
    }
}

/// Folios of up to 2 MiB, as far as the page cache has such orders.
fn default_order(page: Bytes) -> u8 {
    let pages = (2 * 1024 * 1024 / page.get().max(1)).max(1);
    (pages.ilog2() as u8).min(MAX_ORDER)
}

impl World {
    /// What a trace of this world says about itself; `real` names the kind of target.
    pub(crate) fn header(&self, title: String, real: Option<String>) -> Header {
        use folioscope_core::trace::header::Source;
        Header {
            engine: folioscope_core::ENGINE_VERSION.to_owned(),
            title,
            profile: self.profile.name.to_owned(),
            behaviours: self.behaviours,
            geometry: self.geometry,
            source: real.map_or(Source::Simulated, Source::Real),
        }
    }
}
