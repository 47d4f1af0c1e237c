//! Switches: what a patch changes is one named switch with named values. A profile names a set.
//!
//! "Before" and "after" are two settings of one engine. A switch that no code reads yet does not
//! stand here.

use core::fmt;

macro_rules! switch {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $value:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $($(#[$vdoc])* $value,)* }

        impl $name {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$value,)*];
            /// The name of the value.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$value => $text,)* }
            }
            /// The value with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

switch! {
    /// Which blocks of a dirty folio writeback writes.
    DirtyTracking {
        /// All that are uptodate: dirt is known per folio only (before 6.6).
        PerFolio = "per-folio",
        /// Those whose dirty bit is set, by the rules of the second RFC (2023): the bits of the
        /// whole asked length are set, and only those up to EOF are cleared.
        PerBlockRfc2 = "per-block-rfc2",
        /// Those whose dirty bit is set, as merged in 6.6.
        PerBlock = "per-block",
    }
}

switch! {
    /// Into how large pieces a buffered write is cut, and which folios it asks for.
    WriteChunk {
        /// A page at a time, into one-page folios (before 6.6).
        Page = "page",
        /// Up to 2 MiB at a time (any page size), whatever the mapping's folios are (6.6 to 6.9).
        MaxOrder = "max-order",
        /// Up to the mapping's largest folio (6.10).
        MappingMax = "mapping-max",
    }
}

switch! {
    /// Whether the size that an ioend counts for the file ends at EOF.
    IoSizeClamp {
        /// Whole blocks.
        Off = "off",
        /// Byte-accurate (6.13).
        On = "on",
    }
}

/// One value for every switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Behaviours {
    /// See [`DirtyTracking`].
    pub dirty_tracking: DirtyTracking,
    /// See [`WriteChunk`].
    pub write_chunk: WriteChunk,
    /// See [`IoSizeClamp`].
    pub io_size_clamp: IoSizeClamp,
}

/// How a profile is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Evidence {
    /// Compared with what this kernel did.
    Seen,
    /// Read in its source only.
    ByReading,
}

impl Evidence {
    /// Words that stand beside the profile's name.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Seen => "seen",
            Self::ByReading => "by reading",
        }
    }
}

/// A named set of switches: a kernel release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Profile {
    /// Such as `linux-6.18`.
    pub name: &'static str,
    /// How we know.
    pub evidence: Evidence,
    /// The switches.
    pub behaviours: Behaviours,
}

/// The profiles that differ by the switches there are, oldest first.
pub const PROFILES: &[Profile] = &[
    profile(
        "linux-5.15",
        Evidence::ByReading,
        DirtyTracking::PerFolio,
        WriteChunk::Page,
        IoSizeClamp::Off,
    ),
    profile(
        "linux-6.1",
        Evidence::Seen,
        DirtyTracking::PerFolio,
        WriteChunk::Page,
        IoSizeClamp::Off,
    ),
    profile(
        "linux-6.6",
        Evidence::ByReading,
        DirtyTracking::PerBlock,
        WriteChunk::MaxOrder,
        IoSizeClamp::Off,
    ),
    profile(
        "linux-6.12",
        Evidence::Seen,
        DirtyTracking::PerBlock,
        WriteChunk::MappingMax,
        IoSizeClamp::Off,
    ),
    profile(
        "linux-6.18",
        Evidence::Seen,
        DirtyTracking::PerBlock,
        WriteChunk::MappingMax,
        IoSizeClamp::On,
    ),
];

const fn profile(
    name: &'static str,
    evidence: Evidence,
    dirty_tracking: DirtyTracking,
    write_chunk: WriteChunk,
    io_size_clamp: IoSizeClamp,
) -> Profile {
    Profile {
        name,
        evidence,
        behaviours: Behaviours { dirty_tracking, write_chunk, io_size_clamp },
    }
}

impl Profile {
    /// The profile with this name.
    pub fn named(name: &str) -> Option<Self> {
        PROFILES.iter().copied().find(|profile| profile.name == name)
    }
    /// The newest profile.
    pub const fn latest() -> Self {
        PROFILES[PROFILES.len() - 1]
    }
}

impl Default for Behaviours {
    /// Those of the newest profile.
    fn default() -> Self {
        Profile::latest().behaviours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for value in DirtyTracking::ALL {
            assert_eq!(DirtyTracking::from_name(value.name()), Some(*value));
        }
        for profile in PROFILES {
            assert_eq!(Profile::named(profile.name), Some(*profile));
        }
        assert_eq!(Profile::named("linux-2.4"), None);
    }
}
