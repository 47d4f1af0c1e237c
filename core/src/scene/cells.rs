//! The state of a block as the picture shows it: one letter, one shape, one phrase.
//!
//! Computed from the model of the trace; the same letters serve SVG, text and tables.

/// State of a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cell {
    /// No folio holds it.
    NotCached,
    /// A folio holds it, without its data.
    NotUptodate,
    /// In memory and as on the device.
    Clean,
    /// Zeroed by the last step.
    Zeroed,
    /// Being read.
    Reading,
    /// Changed by the application.
    Dirty,
    /// On its way to the device.
    InFlight,
    /// Changed again while on its way.
    Again,
    /// On its way though nobody changed it.
    Wasted,
    /// Its I/O failed.
    Failed,
}

impl Cell {
    /// Every state, the least notable first.
    pub const ALL: [Self; 10] = [
        Self::NotCached,
        Self::NotUptodate,
        Self::Clean,
        Self::Zeroed,
        Self::Reading,
        Self::Dirty,
        Self::InFlight,
        Self::Again,
        Self::Wasted,
        Self::Failed,
    ];
    /// Its letter.
    pub const fn letter(self) -> char {
        match self {
            Self::NotCached | Self::NotUptodate => '-',
            Self::Clean => '.',
            Self::Zeroed => '0',
            Self::Reading => 'R',
            Self::Dirty => 'D',
            Self::InFlight => 'W',
            Self::Again => 'B',
            Self::Wasted => 'X',
            Self::Failed => '!',
        }
    }
    /// What it is called in legends, tables and narration.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NotCached => "not cached",
            Self::NotUptodate => "cached, no data yet",
            Self::Clean => "clean",
            Self::Zeroed => "zeroed",
            Self::Reading => "being read",
            Self::Dirty => "dirty",
            Self::InFlight => "being written",
            Self::Again => "dirty again while being written",
            Self::Wasted => "being written though clean",
            Self::Failed => "failed",
        }
    }
}

/// What a piece of a bio carries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cargo {
    /// Blocks that the application changed.
    Asked,
    /// Blocks that nobody changed.
    Waste,
    /// Blocks to be read.
    Read,
    /// Nothing any more: the I/O is done.
    Done,
    /// The I/O failed.
    Failed,
}

impl Cargo {
    /// The letter of its blocks.
    pub const fn letter(self) -> char {
        match self {
            Self::Asked => Cell::InFlight.letter(),
            Self::Waste => Cell::Wasted.letter(),
            Self::Read => Cell::Reading.letter(),
            Self::Done => '=',
            Self::Failed => Cell::Failed.letter(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_letters_differ_by_case_alone() {
        let letters: Vec<char> = Cell::ALL[1..].iter().map(|cell| cell.letter()).collect();
        for (at, letter) in letters.iter().enumerate() {
            let lower = letter.to_ascii_lowercase();
            assert!(!letters[..at].iter().any(|other| other.to_ascii_lowercase() == lower));
        }
    }
}
