//! Tells the service worker of the page what a build is: its files with their checksums.

use anyhow::{Context as _, Result, ensure};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The service worker.
const WORKER: &str = "sw.js";
/// Its lines that are written here.
const LINES: [&str; 2] = ["const BUILD = \"\";\n", "const FILES = {};\n"];

/// Writes the files of the page into its service worker, which is one of them.
pub(crate) fn write(files: &mut BTreeMap<PathBuf, Vec<u8>>) -> Result<()> {
    let text = files.get(Path::new(WORKER)).with_context(|| format!("{WORKER} is missing"))?;
    let mut text = String::from_utf8(text.clone()).context("the service worker is no text")?;
    let mut list = String::new();
    for (name, content) in files.iter().filter(|(name, _)| *name != Path::new(WORKER)) {
        // A name of the build, so no letter of it needs to be escaped.
        writeln!(list, "  {:?}: {:?},", name.to_string_lossy(), sum(content))?;
    }
    let build = sum(list.as_bytes());
    let full = [format!("const BUILD = {build:?};\n"), format!("const FILES = {{\n{list}}};\n")];
    for (empty, full) in LINES.iter().zip(full) {
        ensure!(text.matches(empty).count() == 1, "{WORKER} has no line {empty:?}");
        text = text.replace(empty, &full);
    }
    files.insert(WORKER.into(), text.into_bytes());
    Ok(())
}

/// SHA-256 in hex.
fn sum(content: &[u8]) -> String {
    Sha256::digest(content).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a String takes everything");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_in_the_worker_and_any_change_makes_another_build() {
        let worker = include_str!("../../../assets/page/sw.js");
        let built = |page: &str| {
            let mut files = BTreeMap::from([
                (PathBuf::from(WORKER), worker.as_bytes().to_vec()),
                (PathBuf::from("index.html"), page.as_bytes().to_vec()),
                (PathBuf::from("pkg/a.wasm"), vec![0]),
            ]);
            write(&mut files).expect("it can be written");
            String::from_utf8(files.remove(Path::new(WORKER)).expect("it is there")).expect("text")
        };
        let text = built("a");
        let of_a = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
        assert!(
            text.contains(&format!("\n  \"index.html\": \"{of_a}\",\n  \"pkg/a.wasm\": ")),
            "{text}"
        );
        let build = |text: &str| {
            text.lines().find(|line| line.starts_with("const BUILD")).map(str::to_owned)
        };
        assert!(build(&text).is_some() && build(&text) != build(&built("b")));
        assert!(write(&mut BTreeMap::new()).is_err());
    }
}
