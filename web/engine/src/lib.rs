//! The engine behind the page: it runs in a worker, so that the page never waits for a run, and
//! answers messages of [`folioscope_core::service`]. `assets/page/engine.js` hands them to it.
#![forbid(unsafe_code)]

use folioscope_core::service::Library;
use wasm_bindgen::prelude::wasm_bindgen;

/// Files of a folder of the assets by their names.
macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../assets/", $folder, "/", $name, ".toml")))),*]
    };
}

/// What comes with the page.
pub const LIBRARY: Library<'_> = Library {
    lessons: files!["lessons":
        "01-a-dirty-bit",
        "02-read-before-you-write",
        "03-how-a-bio-ends",
        "04-what-readahead-guesses",
        "05-where-eof-bites",
        "06-one-byte-through-mmap",
        "07-sub-page-dirty-tracking",
        "08-stripe-alignment",
        "09-the-partition-that-spoils-it",
        "10-first-touch",
        "14-checking-the-same-bytes-again",
        "15-ask-for-the-map-send-the-data-first",
        "16-the-append-race",
        "17-what-the-stripe-cache-absorbs",
        "18-bytes-from-the-wrong-place",
        "19-the-write-hole",
        "20-the-read-that-ended-twice",
    ],
    scenarios: files!["scenarios":
        "a-bio-a-buffer",
        "append-race",
        "data-before-map",
        "data-before-map-large",
        "direct-beside-cache",
        "dirty-bit",
        "dirty-throttle",
        "fault-in-chunks",
        "first-touch",
        "how-a-bio-ends",
        "one-byte-through-mmap",
        "read-before-write",
        "read-ended-twice",
        "readahead",
        "sandbox",
        "stripe-absorbed",
        "stripe-alignment",
        "stripe-alignment-partition",
        "stripe-stale-offset",
        "sub-page-dirty-tracking",
        "where-eof-bites",
        "write-hole",
    ],
};

/// The reply to a request, both as bytes.
#[wasm_bindgen]
pub fn answer(request: &[u8]) -> Vec<u8> {
    folioscope_core::service::answer(LIBRARY, request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use folioscope_core::service::{Reply, Request};
    use std::collections::BTreeSet;
    use std::fs;

    #[test]
    fn every_lesson_and_scenario_of_the_assets_is_in_it_and_opens() {
        for (folder, held) in [("lessons", LIBRARY.lessons), ("scenarios", LIBRARY.scenarios)] {
            let folder = format!("{}/../../assets/{folder}", env!("CARGO_MANIFEST_DIR"));
            let files = fs::read_dir(folder).expect("the folder").map(|entry| {
                let name = entry.expect("an entry").file_name();
                name.to_string_lossy().into_owned()
            });
            let files = files.filter_map(|name| name.strip_suffix(".toml").map(str::to_owned));
            let held: BTreeSet<String> = held.iter().map(|(name, _)| (*name).to_owned()).collect();
            assert_eq!(files.collect::<BTreeSet<_>>(), held);
        }
        let ask = |request: &Request| {
            Reply::decode(&answer(&request.encode())).expect("a reply that can be read")
        };
        let Reply::Contents(contents) = ask(&Request::Contents) else { panic!("no contents") };
        assert_eq!(contents.lessons.len(), LIBRARY.lessons.len());
        for (name, _) in contents.examples {
            assert!(matches!(ask(&Request::Example(name)), Reply::Opened(_)));
        }
    }
}
