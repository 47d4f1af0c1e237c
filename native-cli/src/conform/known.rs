//! The list of known differences: one file, each entry with its reason. An entry that agrees fails
//! the run, so the list can only shrink honestly.

use super::compare::Difference;
use crate::error::{Failure, Outcome};
use serde::Deserialize;

const EMBEDDED: &str = include_str!("../../../assets/conform/known-differences.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Known {
    #[serde(default)]
    difference: Vec<Entry>,
}

/// A difference that is known.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// The case.
    id: String,
    /// The kind of the field, such as `folios_added`.
    field: String,
    /// The step; all of them if missing.
    #[serde(default)]
    step: Option<usize>,
    /// Why, in a sentence for people.
    #[allow(dead_code, reason = "read by people; parsing checks that it is there")]
    reason: String,
}

impl Known {
    pub(super) fn embedded() -> Self {
        toml::from_str(EMBEDDED).expect("a test reads the embedded list")
    }
    pub(super) fn parse(name: &str, text: &str) -> Outcome<Self> {
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text[..at.min(text.len())].matches('\n').count() + 1;
            Failure::usage(format!("{name}:{line}: {}", error.message().replace('\n', " ")))
        })
    }
    /// Whether a difference of a case is listed.
    pub(super) fn lists(&self, id: &str, difference: &Difference) -> bool {
        self.difference.iter().any(|entry| entry.covers(id, difference))
    }
    /// The entries of a case that no difference needs any more.
    pub(super) fn stale(&self, id: &str, differences: &[Difference]) -> Vec<String> {
        let mine = self.difference.iter().filter(|entry| entry.id == id);
        mine.filter(|entry| !differences.iter().any(|difference| entry.covers(id, difference)))
            .map(|entry| match entry.step {
                Some(step) => format!("{} of step {step}", entry.field),
                None => entry.field.clone(),
            })
            .collect()
    }
}

impl Entry {
    fn covers(&self, id: &str, difference: &Difference) -> bool {
        self.id == id
            && self.field == difference.kind.name()
            && self.step.is_none_or(|step| step == difference.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_list_is_well_formed() {
        for entry in &Known::embedded().difference {
            assert!(entry.reason.len() > 20, "{}: a reason is a sentence", entry.id);
        }
    }
}
