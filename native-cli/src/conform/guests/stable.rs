//! Which operations gave the same on every kernel that ran them: the file `stable.json` beside the
//! goldens. Without it nothing is called stable.

use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Operations by case.
#[derive(Default, Deserialize)]
pub(in crate::conform) struct Stable {
    /// All of it is the same.
    #[serde(default)]
    all: BTreeMap<String, Vec<usize>>,
    /// Only the number of the first bios differs.
    #[serde(default)]
    same_sectors: BTreeMap<String, Vec<usize>>,
}

/// The name of the file.
const NAME: &str = "stable.json";

impl Stable {
    /// Whether a document is such a list: it is read with the goldens that lie beside it.
    pub(in crate::conform) fn is_file(path: &Path, value: &Value) -> bool {
        path.ends_with(NAME) && value.get("all").is_some() && value.get("differ").is_some()
    }
    /// The file beside a golden.
    pub(in crate::conform) fn beside(golden: &Path) -> Result<Self, String> {
        let path = golden.with_file_name(NAME);
        let Ok(text) = std::fs::read_to_string(&path) else { return Ok(Self::default()) };
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
    }
    /// The stable operations of a case.
    pub(super) fn of(&self, case: &str) -> BTreeSet<usize> {
        let lists = [self.all.get(case), self.same_sectors.get(case)];
        lists.into_iter().flatten().flatten().copied().collect()
    }
}
