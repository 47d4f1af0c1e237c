//! Options that decide the world of a run: sizes, switches, memory.

use crate::error::{Failure, Outcome};
use clap::Args;
use folioscope_core::behaviour::{Behaviours, PROFILES, Profile};
use folioscope_core::geometry::{Geometry, MAX_ORDER};
use folioscope_core::scenario::size::parse_size;
use folioscope_core::trace::header::Header;
use folioscope_core::units::{Bytes, Order};

/// Sizes and switches.
#[derive(Args, Clone, Debug)]
pub(crate) struct WorldArgs {
    /// Page size of the engine, such as 64k; 4k if not given
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) page_size: Option<Bytes>,
    /// Block size of the file system; 4k if not given
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) block_size: Option<Bytes>,
    /// Largest folio: 2^N pages; the largest that fits into 2 MiB if not given
    #[arg(long, value_name = "N")]
    pub(crate) max_folio_order: Option<u8>,
    /// Kernel release whose switches are used, such as linux-6.1; the newest if not given
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
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
        let page = self.page_size.unwrap_or(Bytes::kib(4));
        let block = self.block_size.unwrap_or(Bytes::kib(4));
        let order = self.max_folio_order.unwrap_or_else(|| default_order(page));
        let geometry = Geometry::new(page, block, Order::new(order)).map_err(|error| {
            Failure::usage(format!("{error} (--page-size, --block-size, --max-folio-order)"))
        })?;
        let name = self.profile.as_deref().unwrap_or(Profile::usual().name);
        let profile = Profile::named(name).ok_or_else(|| {
            let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
            Failure::usage(format!(
                "--profile {:?} is unknown: expected one of {}",
                name,
                names.join(", ")
            ))
        })?;
        let mut behaviours = profile.behaviours;
        for switch in &self.switches {
            let (name, value) = switch.split_once('=').ok_or_else(|| {
                Failure::usage(format!(
                    "--set {switch:?} has no value: write it as in --set dirty_tracking=per-folio"
                ))
            })?;
            behaviours.set(name, value).map_err(|what| Failure::usage(format!("--set: {what}")))?;
        }
        Ok(World { geometry, behaviours, profile })
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
            tasks: Vec::new(),
        }
    }
}
