//! The table: an invariant, a rule that keeps it, and the least that breaks it without that rule.

use folioscope_core::check::invariants::{
    END_BEHIND_START, INSIDE_A_STRIPE, PARITY_FITS, REQUEST_COVERS, REQUEST_FITS, ROW_IS_CHEAP,
    ZERO_OR_WRITTEN,
};
use folioscope_core::check::mutant::Mutant;

/// What is there before the operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Start {
    /// The files of the scenario.
    Files,
    /// A dirty folio at the second page, too, as if it had been there before.
    DirtyFolio,
    /// The operations go to a file whose bytes live with its inode.
    Inline,
}

/// An invariant, a rule that keeps it, and the least that breaks it without.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) number: u8,
    pub(crate) mutant: Mutant,
    /// What else breaks: without the rule it cannot hold either.
    pub(crate) also: &'static [u8],
    pub(crate) profile: &'static str,
    /// Bytes of a page and of a block.
    pub(crate) sizes: (u64, u64),
    /// Tables of the scenario before its operations: the file, and whatever else it needs.
    pub(crate) start: &'static str,
    pub(crate) before: Start,
    /// Operations, a field after the other.
    pub(crate) ops: &'static [&'static str],
    /// What goes wrong by itself.
    pub(crate) faults: &'static [&'static str],
}

const EMPTY: &str = "[[file]]\nname = \"f\"";
/// As long as two blocks of 16 B, all of it written.
const TWO: &str = "[[file]]\nname = \"f\"\nsize = 32";

const fn case(
    number: u8,
    mutant: Mutant,
    start: &'static str,
    ops: &'static [&'static str],
) -> Case {
    Case {
        number,
        mutant,
        also: &[],
        profile: "linux-6.18",
        sizes: (64, 16),
        start,
        before: Start::Files,
        ops,
        faults: &[],
    }
}

const PWRITE: &str = "do = \"pwrite\"; len = 16";
const PWRITE_DIRECT: &str = "do = \"pwrite\"; len = 16; direct = true";
const FSYNC: &str = "do = \"fsync\"";
const NEW: &str = "linux-7.3";
const PAIR: (u64, u64) = (32, 16);

pub(crate) const CASES: &[Case] = &[
    Case {
        sizes: PAIR,
        faults: &["at = \"read_bio\""],
        ..case(
            1,
            Mutant::FailedReadStaysPending,
            TWO,
            &["do = \"fadvise\"; advice = \"willneed\"; len = 32", "do = \"truncate\"; size = 0"],
        )
    },
    case(
        2,
        Mutant::DropsUnderWriteback,
        EMPTY,
        &[PWRITE, "do = \"sync_range_write\"", "do = \"truncate\"; size = 0"],
    ),
    Case {
        sizes: PAIR,
        ..case(3, Mutant::ForgetsTheFolio, EMPTY, &[PWRITE, "do = \"pwrite\"; at = 16; len = 16"])
    },
    Case {
        sizes: PAIR,
        profile: NEW,
        ..case(4, Mutant::UptodateDuringRead, TWO, &["do = \"pread\"; len = 32"])
    },
    case(5, Mutant::DirtiesNoBlock, EMPTY, &[PWRITE]),
    case(5, Mutant::LeavesBlocksDirty, EMPTY, &[PWRITE, FSYNC]),
    case(6, Mutant::CopyIsNotValid, EMPTY, &[PWRITE]),
    // Who wants to read tries again after readahead has failed.
    Case {
        sizes: PAIR,
        profile: NEW,
        faults: &["at = \"read_bio\""],
        ..case(7, Mutant::FailedReadStaysPending, TWO, &["do = \"pread\"; len = 32"])
    },
    // What is pending stays so, and the folio is uptodate by then.
    Case {
        sizes: PAIR,
        profile: NEW,
        also: &[4],
        ..case(
            8,
            Mutant::PendsBeforeSubmitting,
            EMPTY,
            &["do = \"truncate\"; size = 32", "do = \"pread\"; len = 32"],
        )
    },
    Case {
        sizes: (64, 64),
        profile: NEW,
        ..case(
            9,
            Mutant::ReadsHalfAFolio,
            "[[file]]\nname = \"f\"\nsize = 256",
            &["do = \"pread\"; len = 64"],
        )
    },
    case(10, Mutant::ReservesFromTheNext, EMPTY, &["do = \"pwrite\"; at = 1; len = 16"]),
    // What is empty and begins in time does not reach beyond it either.
    Case {
        also: &[12],
        faults: &["at = \"reserve_block\""],
        ..case(11, Mutant::ReservesNothing, EMPTY, &[PWRITE])
    },
    case(
        12,
        Mutant::AnswersForTheBlockBefore,
        "[[file]]\nname = \"f\"\nsize = 16",
        &["do = \"pwrite\"; at = 16; len = 16"],
    ),
    case(13, Mutant::OldMapping, EMPTY, &[PWRITE]),
    case(
        14,
        Mutant::ZeroSkipsABlock,
        "[[file]]\nname = \"f\"\nsize = 8",
        &["do = \"pwrite\"; at = 100; len = 1"],
    ),
    case(
        16,
        Mutant::UnsharesHoles,
        "[[file]]\nname = \"g\"\nsize = 64\n[[file]]\nname = \"f\"\nshares = \"g\"",
        &[
            "do = \"pwrite\"; len = 1; file = \"f\"",
            "do = \"fallocate\"; mode = \"punch\"; at = 32; len = 16; file = \"f\"",
            "do = \"fallocate\"; mode = \"unshare\"; at = 32; len = 16; file = \"f\"",
        ],
    ),
    Case {
        sizes: (64, 64),
        before: Start::Inline,
        ..case(17, Mutant::InlineIsNotFilled, EMPTY, &["do = \"pwrite\"; len = 1"])
    },
    // What is stored into then is dirty and not uptodate.
    Case {
        also: &[6],
        ..case(18, Mutant::MapsBeforeReading, EMPTY, &[PWRITE, "do = \"mmap_store\"; len = 1"])
    },
    case(
        19,
        Mutant::ZeroesBehindEof,
        "[[file]]\nname = \"f\"\nprealloc = 192",
        &["do = \"pwrite\"; at = 12; len = 1", "do = \"pwrite\"; at = 161; len = 1"],
    ),
    case(20, Mutant::WritesUnlocked, EMPTY, &[PWRITE, FSYNC]),
    case(21, Mutant::CleansLate, EMPTY, &[PWRITE, FSYNC]),
    Case {
        sizes: (16, 16),
        ..case(
            22,
            Mutant::WritesTwice,
            EMPTY,
            &[PWRITE, "do = \"sync_range_write\"", PWRITE, FSYNC],
        )
    },
    Case {
        before: Start::DirtyFolio,
        ..case(END_BEHIND_START, Mutant::WritesAtEof, "[[file]]\nname = \"f\"\nsize = 64", &[FSYNC])
    },
    Case {
        sizes: PAIR,
        ..case(
            23,
            Mutant::MapsAsOneBlock,
            EMPTY,
            &["do = \"pwrite\"; len = 32", "do = \"fallocate\"; at = 16; len = 16", FSYNC],
        )
    },
    Case {
        sizes: PAIR,
        ..case(24, Mutant::WritesWithoutState, EMPTY, &["do = \"pwrite\"; len = 32", FSYNC])
    },
    case(25, Mutant::CountsNothing, EMPTY, &[PWRITE, FSYNC]),
    Case { sizes: PAIR, ..case(26, Mutant::WritesTheMapping, TWO, &[PWRITE, FSYNC]) },
    case(27, Mutant::WritesPromises, EMPTY, &[PWRITE, FSYNC]),
    Case {
        faults: &["at = \"fault_in\"; op = 0; copied = 0"],
        ..case(31, Mutant::ReleasesUnlocked, EMPTY, &[PWRITE])
    },
    case(32, Mutant::ReleasesFromTheStart, EMPTY, &[PWRITE]),
    Case {
        faults: &["at = \"fault_in\"; op = 0; copied = 0"],
        ..case(33, Mutant::KeepsReservation, EMPTY, &[PWRITE])
    },
    Case {
        sizes: (4096, 4096),
        ..case(
            REQUEST_COVERS,
            Mutant::MergesApart,
            "[queue]\n[[file]]\nname = \"f\"\nsize = 16384",
            &[
                "do = \"pwrite\"; len = 4096",
                "do = \"pwrite\"; at = 8192; len = 4096",
                "do = \"syncfs\"",
            ],
        )
    },
    Case {
        sizes: (4096, 4096),
        ..case(
            REQUEST_FITS,
            Mutant::MergesTooMuch,
            "[queue]\nmax_size = 4096\n[[file]]\nname = \"f\"\nsize = 8192\n\
             [[file.extent]]\nat = 0\nlen = 4096\ntype = \"mapped\"\nsector = 8000\n\
             [[file.extent]]\nat = 4096\nlen = 4096\ntype = \"unwritten\"\nsector = 8008",
            &["do = \"pwrite\"; len = 8192", "do = \"syncfs\""],
        )
    },
    Case {
        sizes: (4096, 4096),
        ..case(
            INSIDE_A_STRIPE,
            Mutant::CrossesStripes,
            "[switches]\nstripe_alignment = \"iomap\"\n\
             [queue]\nio_opt = 8192\nraid_partial_stripes_expensive = true\n\
             [[file]]\nname = \"f\"\nsize = 8192\nsector = 8",
            &["do = \"pwrite\"; len = 8192", FSYNC],
        )
    },
    Case {
        sizes: (4096, 4096),
        ..case(
            PARITY_FITS,
            Mutant::MakesNoParity,
            "[array]\nlevel = \"raid5\"\nmembers = 3\nchunk = \"4k\"\n\
             [[file]]\nname = \"f\"\nsize = 4096\nsector = 0",
            &["do = \"pwrite\"; len = 4096", FSYNC],
        )
    },
    // With five members one block of four is cheaper by what changes: two reads, not three.
    Case {
        sizes: (4096, 4096),
        ..case(
            ROW_IS_CHEAP,
            Mutant::ReadsTheRow,
            "[array]\nlevel = \"raid5\"\nmembers = 5\nchunk = \"4k\"\n\
             [[file]]\nname = \"f\"\nsize = 4096\nsector = 0",
            &["do = \"pwrite\"; len = 4096", FSYNC],
        )
    },
    Case {
        also: &[41],
        ..case(40, Mutant::DropsNothing, TWO, &["do = \"pread\"; len = 16", PWRITE_DIRECT])
    },
    Case { also: &[40], ..case(41, Mutant::DropsNothing, TWO, &[PWRITE, PWRITE_DIRECT]) },
    Case {
        faults: &["at = \"write_bio\""],
        ..case(ZERO_OR_WRITTEN, Mutant::RecordsWhatFailed, EMPTY, &[PWRITE, FSYNC])
    },
    case(
        ZERO_OR_WRITTEN,
        Mutant::RecordsUnwritten,
        "[[file]]\nname = \"f\"\nsize = 16",
        &["do = \"truncate\"; size = 8", "do = \"truncate\"; size = 16"],
    ),
];
