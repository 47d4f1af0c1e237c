//! The top level holds four rooms and the usual files: the house is seen at a glance.

use super::{Finding, Source};
use std::collections::BTreeSet;

const ALLOWED: [&str; 13] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "assets",
    "core",
    "native-cli",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "web",
];

/// Names what does not belong there; names that begin with a dot do.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let top = |source: &Source| source.path.split('/').next().unwrap_or_default().to_owned();
    let names: BTreeSet<String> = sources.iter().map(top).collect();
    let stranger = |name: &String| !name.starts_with('.') && !ALLOWED.contains(&name.as_str());
    let say = |name| format!("{name}: the top level holds nothing new, move it into a room");
    names.into_iter().filter(stranger).map(say).collect()
}

#[cfg(test)]
mod tests {
    use super::{Source, check};

    #[test]
    fn only_strangers_are_named() {
        let source = |path: &str| Source { path: path.to_owned(), text: String::new() };
        let sources = [source("core/src/lib.rs"), source(".ci/run"), source("tools/x.rs")];
        let findings = check(&sources);
        assert!(findings.len() == 1 && findings[0].starts_with("tools:"), "{findings:?}");
    }
}
