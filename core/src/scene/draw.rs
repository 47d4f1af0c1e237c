//! The draw list: rectangles, lines, paths and texts with a style each, in the order of painting.
//!
//! A style is a meaning, never a colour. Ids follow the thing and not its state, so that a page can
//! patch what changed between two steps.

use super::fixed::Fx;
use core::fmt;

macro_rules! styles {
    ($($(#[$doc:meta])* $name:ident = $class:literal, $size:literal;)*) => {
        /// What a mark means; the writer turns it into colours.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Style { $($(#[$doc])* $name,)* }

        impl Style {
            /// Every style.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// Class in the SVG.
            pub const fn class(self) -> &'static str {
                match self { $(Self::$name => $class,)* }
            }
            /// Height of its letters in pixels; 0 for shapes.
            pub const fn size(self) -> i32 {
                match self { $(Self::$name => $size,)* }
            }
        }
    };
}

styles! {
    /// The ground of the whole picture.
    Ground = "bg", 0;
    /// Line that only parts.
    Hair = "hair", 0;
    /// Box around the blocks of a folio.
    Folio = "folio", 0;
    /// A clean block, and the plate under a letter.
    Clean = "clean", 0;
    /// A block that is not in memory.
    Empty = "none", 0;
    /// Solid: what the application asked for.
    Asked = "asked", 0;
    /// A chunk of parity that was written.
    Parity = "par", 0;
    /// In a pattern: written though clean.
    WasteFill = "fwaste", 0;
    /// In a pattern: read.
    ReadFill = "fread", 0;
    /// In a pattern: zeroed.
    ZeroFill = "fzero", 0;
    /// A block whose I/O failed.
    Failed = "fail", 0;
    /// The slash over it.
    Slash = "slash", 0;
    /// Changed by the last step.
    Changed = "chg", 0;
    /// A small mark that keeps waste visible where blocks are too narrow.
    WasteTick = "wtick", 0;
    /// The same for errors.
    ErrorTick = "etick", 0;
    /// The same for what changed.
    ChangedTick = "ctick", 0;
    /// Blocks with data.
    Mapped = "mapped", 0;
    /// Blocks whose content is undefined.
    Unwritten = "unwr", 0;
    /// A promise of space.
    Delalloc = "dela", 0;
    /// Nothing behind the file.
    Hole = "hole", 0;
    /// From a mapping to where it lies.
    Ribbon = "rib", 0;
    /// Outline of a bio that is being built.
    BioOpen = "bopen", 0;
    /// Outline of a bio in flight.
    BioSent = "bsent", 0;
    /// Outline of a bio that is done.
    BioDone = "bdone", 0;
    /// The end of a bio.
    Cap = "cap", 0;
    /// The byte axis.
    Axis = "axis", 0;
    /// The sector axis.
    SectorAxis = "saxis", 0;
    /// Where a stripe of an array begins.
    Stripe = "stripe", 0;
    /// The running operation.
    Op = "op", 0;
    /// End of file.
    Eof = "eof", 0;
    /// Plate of run A.
    PlateA = "pa", 0;
    /// Plate of every other run.
    PlateB = "pb", 0;
    /// Name of a lane.
    LaneName = "tlane", 12;
    /// Quiet words.
    Quiet = "tq", 12;
    /// The claim.
    Claim = "tclaim", 16;
    /// Words under the picture.
    Words = "tw", 12;
    /// Words about waste.
    WasteWords = "tww", 12;
    /// Name of a run on its plate.
    RunName = "trun", 12;
    /// Numbers at the byte axis, labels of folios.
    Tick = "tt", 11;
    /// Numbers at the sector axis.
    SectorTick = "ts", 11;
    /// Letter of parity.
    ParityWords = "tp", 11;
    /// Words on the stage.
    Stage = "tg", 11;
    /// Letter of a block on a plate.
    Letter = "tl", 11;
    /// Letter of a block on solid colour.
    LetterOn = "tlo", 11;
    /// Letter of a block whose I/O failed.
    LetterFailed = "tlf", 11;
}

/// Pattern of a filled shape.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pattern {
    /// Diagonal lines: waste, and nothing else.
    Hatch,
    /// Dots: reads.
    Dots,
    /// Horizontal lines: zeroed.
    Rules,
}

impl Pattern {
    /// Every pattern.
    pub const ALL: [Self; 3] = [Self::Hatch, Self::Dots, Self::Rules];
    /// The style of what it fills.
    pub const fn style(self) -> Style {
        match self {
            Self::Hatch => Style::WasteFill,
            Self::Dots => Style::ReadFill,
            Self::Rules => Style::ZeroFill,
        }
    }
    /// Its name in ids.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hatch => "hatch",
            Self::Dots => "dots",
            Self::Rules => "rules",
        }
    }
}

/// Which end of a text its position names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    /// The left end.
    Start,
    /// The middle.
    Middle,
    /// The right end.
    End,
}

/// Geometry of a mark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A rectangle with round corners of radius `r`.
    Rect {
        /// Left edge.
        x: Fx,
        /// Upper edge.
        y: Fx,
        /// Width.
        w: Fx,
        /// Height.
        h: Fx,
        /// Radius of its corners.
        r: Fx,
    },
    /// A line.
    Line {
        /// One end.
        from: (Fx, Fx),
        /// The other end.
        to: (Fx, Fx),
    },
    /// A closed path through these points.
    Path(Vec<(Fx, Fx)>),
    /// A text on this baseline.
    Text {
        /// Where its anchor is.
        x: Fx,
        /// Baseline.
        y: Fx,
        /// Which end `x` names.
        anchor: Anchor,
        /// The words.
        text: String,
    },
}

/// What a mark belongs to and which part of it is drawn: the same in every step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Id {
    /// Which run: 0 for A, or for both where they are equal.
    pub run: u8,
    /// Kind of thing, a short word.
    pub part: &'static str,
    /// Number of the thing: block, folio, bio.
    pub n: u64,
    /// Which of several shapes.
    pub k: u16,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = char::from(b'a' + self.run);
        write!(f, "{run}-{}-{}", self.part, self.n)?;
        if self.k > 0 { write!(f, "-{}", self.k) } else { Ok(()) }
    }
}

/// One thing to paint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// Unique in its scene.
    pub id: Id,
    /// Where.
    pub shape: Shape,
    /// What it means.
    pub style: Style,
    /// Its filling, for the styles that say so.
    pub pattern: Option<Pattern>,
}
