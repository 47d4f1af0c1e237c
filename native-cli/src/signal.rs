//! Ctrl-C: the first ends the run cleanly, the second at once.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether the run is to end.
pub(crate) fn interrupted() -> &'static AtomicBool {
    &INTERRUPTED
}

/// From now on an interrupt lets the run finish what is in flight.
pub(crate) fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let watched = ctrlc::set_handler(|| {
            if INTERRUPTED.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
            eprintln!("\nfolioscope: finishing what is in flight; once more ends at once");
        });
        if let Err(error) = watched {
            eprintln!("note: an interrupt will not be clean here ({error})");
        }
    });
}
