//! Rules that one file keeps by itself: what it says first, how long and wide it is, which words it
//! does without.

use super::{Finding, Source};
use std::path::Path;

/// Most lines of a source file, its tests apart.
const LINES: usize = 600;
/// Most columns; a line is wider only for one string.
const COLUMNS: usize = 100;
/// Words that put off work, in halves so that this file may exist.
const LATER: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];
/// Crates without a word of unsafe code.
const SAFE: [&str; 2] = ["core/src/lib.rs", "web/src/lib.rs"];

/// Checks one file.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let Source { path, text } = source;
    let mut findings = Vec::new();
    let rust = Path::new(path).extension().is_some_and(|end| end == "rs");
    for (line, number) in text.lines().zip(1..) {
        if let Some(word) = LATER.iter().find(|word| line.contains(**word)) {
            findings.push(format!("{path}:{number}: {word}: do it, or open an issue"));
        }
        if rust && width(line) > COLUMNS {
            findings.push(format!("{path}:{number}: wider than {COLUMNS} columns"));
        }
    }
    if rust {
        if !text.starts_with("//!") {
            findings.push(format!("{path}: begin with `//!`: what it is, what it is not"));
        }
        let own = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        if own.lines().count() > LINES {
            findings.push(format!("{path}: longer than {LINES} lines, tests apart: split it"));
        }
    }
    if SAFE.contains(&path.as_str()) && !text.contains("\n#![forbid(unsafe_code)]\n") {
        findings.push(format!("{path}: add `#![forbid(unsafe_code)]`"));
    }
    findings
}

/// Columns of a line, its longest string and any address apart: those cannot be broken.
fn width(line: &str) -> usize {
    let longest = line.split('"').skip(1).step_by(2).map(str::len).max().unwrap_or(0);
    let address = line.split_whitespace().filter(|word| word.contains("://")).map(str::len).max();
    line.chars().count().saturating_sub(longest.max(address.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::{LATER, Source, check};

    fn findings(path: &str, text: &str) -> usize {
        check(&Source { path: path.to_owned(), text: text.to_owned() }).len()
    }

    #[test]
    fn a_file_that_keeps_the_rules_has_no_finding() {
        assert_eq!(findings("core/src/lib.rs", "//! Rooms.\n#![forbid(unsafe_code)]\n"), 0);
    }

    #[test]
    fn every_rule_is_noticed_when_broken() {
        assert_eq!(findings("core/src/lib.rs", "//! Rooms.\n"), 1);
        assert_eq!(findings("a.rs", "fn main() {}\n"), 1);
        assert_eq!(findings("a.rs", &format!("//! {}\n", "x".repeat(97))), 1);
        assert_eq!(findings("a.rs", &format!("//! A\n{}", "\n".repeat(600))), 1);
        assert_eq!(findings("a.md", &format!("{} later\n", LATER[0])), 1);
    }

    #[test]
    fn one_long_string_or_address_may_stand_out() {
        assert_eq!(findings("a.rs", &format!("//! A\nlet a = \"{}\";\n", "x".repeat(97))), 0);
        assert_eq!(findings("a.rs", &format!("//! https://{}\n", "x".repeat(97))), 0);
    }
}
