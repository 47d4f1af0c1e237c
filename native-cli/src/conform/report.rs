//! A line a case, a total by kind, or all of it as JSON.

use super::compare::{Difference, Kind, Verdict};
use super::known::Known;
use crate::error::{Failure, Outcome};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// How a case ended.
enum Status {
    Agree,
    Differ,
    Listed,
    Skipped(String),
    /// The file does not say what it should.
    Unreadable(String),
    /// Entries of the list of known differences that agree now.
    Stale(Vec<String>),
}

/// One case.
pub(super) struct Case {
    id: String,
    status: Status,
    by_kind: BTreeMap<Kind, (u64, u64)>,
    first: Option<Difference>,
    /// What of the case was not executed, and why.
    left_out: Option<String>,
    /// Told, and not scored.
    shown: Vec<String>,
}

impl Case {
    pub(super) fn skipped(id: String, why: impl Into<String>) -> Self {
        Self::not_compared(id, Status::Skipped(why.into()))
    }
    pub(super) fn unreadable(id: String, why: String) -> Self {
        Self::not_compared(id, Status::Unreadable(why))
    }
    fn not_compared(id: String, status: Status) -> Self {
        let (by_kind, shown) = (BTreeMap::new(), Vec::new());
        Self { id, status, by_kind, first: None, left_out: None, shown }
    }
    pub(super) fn compared(id: String, verdict: Verdict, known: &Known) -> Self {
        let Verdict { by_kind, differences, shown } = verdict;
        let stale = known.stale(&id, &differences);
        let unlisted = differences.iter().find(|difference| !known.lists(&id, difference));
        let status = if unlisted.is_some() {
            Status::Differ
        } else if !stale.is_empty() {
            Status::Stale(stale)
        } else if differences.is_empty() {
            Status::Agree
        } else {
            Status::Listed
        };
        let first = unlisted.or(differences.first()).cloned();
        Self { id, status, by_kind, first, left_out: None, shown }
    }
    /// Says what of the case was not executed, and why.
    pub(super) fn without(mut self, left_out: Option<String>) -> Self {
        self.left_out = left_out;
        self
    }
    fn fields(&self) -> (u64, u64) {
        self.by_kind.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
    const fn word(&self) -> &'static str {
        match self.status {
            Status::Agree => "agree",
            Status::Differ | Status::Stale(_) => "differ",
            Status::Listed => "listed",
            Status::Skipped(_) => "skipped",
            Status::Unreadable(_) => "unreadable",
        }
    }
    fn to_json(&self) -> Value {
        let (compared, agree) = self.fields();
        let mut out = json!({
            "id": self.id,
            "status": self.word(),
            "fields_compared": compared,
            "fields_agree": agree,
            "first_difference": self.first.as_ref().map(|first| json!({
                "field": first.kind.name(),
                "step": first.step,
                "expected": first.expected,
                "got": first.got,
            })),
        });
        match &self.status {
            Status::Skipped(why) | Status::Unreadable(why) => out["why"] = json!(why),
            Status::Stale(entries) => out["listed_but_agrees"] = json!(entries),
            Status::Agree | Status::Differ | Status::Listed => {}
        }
        if !self.shown.is_empty() {
            out["shown"] = json!(self.shown);
        }
        if let Some(left_out) = &self.left_out {
            out["left_out"] = json!(left_out);
        }
        out
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (compared, agree) = self.fields();
        match (&self.status, &self.first) {
            (Status::Unreadable(why), _) => write!(f, "{}: cannot be read: {why}", self.id),
            (Status::Skipped(why), _) => write!(f, "{}: skipped: needs {why}", self.id),
            (Status::Stale(entries), _) => write!(
                f,
                "{}: differs from the list of known differences: {} agrees now, take it off",
                self.id,
                entries.join(", ")
            ),
            (Status::Agree, _) | (_, None) => write!(f, "{}: agrees ({agree} fields)", self.id),
            (Status::Differ | Status::Listed, Some(first)) => write!(
                f,
                "{}: {} ({agree} of {compared} fields agree): {} of step {}: expected {}, got {}",
                self.id,
                if matches!(self.status, Status::Listed) { "listed" } else { "differs" },
                first.kind.name(),
                first.step,
                first.expected,
                first.got
            ),
        }?;
        if !self.shown.is_empty() {
            write!(f, "; not scored: {}", self.shown.join("; "))?;
        }
        self.left_out.as_ref().map_or(Ok(()), |what| write!(f, "; left out: {what}"))
    }
}

/// All cases.
#[derive(Default)]
pub(super) struct Report {
    cases: Vec<Case>,
}

impl Report {
    pub(super) fn add(&mut self, case: Case) {
        self.cases.push(case);
    }
    fn count(&self, word: &str) -> usize {
        self.cases.iter().filter(|case| case.word() == word).count()
    }
    fn by_kind(&self) -> BTreeMap<Kind, (u64, u64)> {
        let mut all: BTreeMap<Kind, (u64, u64)> = BTreeMap::new();
        for (kind, (compared, agree)) in self.cases.iter().flat_map(|case| &case.by_kind) {
            let sum = all.entry(*kind).or_default();
            *sum = (sum.0 + compared, sum.1 + agree);
        }
        all
    }
    fn fields(&self) -> (u64, u64) {
        self.by_kind().values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
    pub(super) fn to_json(&self) -> Value {
        let (compared, agree) = self.fields();
        let kinds: BTreeMap<&str, [u64; 2]> =
            self.by_kind().iter().map(|(kind, (a, b))| (kind.name(), [*a, *b])).collect();
        json!({
            "cases": self.cases.iter().map(Case::to_json).collect::<Vec<_>>(),
            "total": {
                "cases": self.cases.len(),
                "agree": self.count("agree"),
                "differ": self.count("differ"),
                "listed": self.count("listed"),
                "skipped": self.count("skipped"),
                "fields_compared": compared,
                "fields_agree": agree,
                "by_kind": kinds,
            },
        })
    }
    /// Fails if a case differs that is not listed, or a listed one agrees.
    pub(super) fn verdict(&self) -> Outcome<()> {
        let unreadable = self.cases.iter().find_map(|case| match &case.status {
            Status::Unreadable(why) => Some(format!("case {}: {why}", case.id)),
            Status::Agree
            | Status::Differ
            | Status::Listed
            | Status::Skipped(_)
            | Status::Stale(_) => None,
        });
        if let Some(why) = unreadable {
            return Err(Failure::usage(why));
        }
        match self.count("differ") {
            0 => Ok(()),
            n => Err(Failure::check(format!(
                "{n} of {} cases differ from what the kernel did",
                self.cases.len()
            ))),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (compared, agree) = self.fields();
        writeln!(
            f,
            "{} cases: {} agree, {} differ, {} listed, {} skipped; {agree} of {compared} fields agree",
            self.cases.len(),
            self.count("agree"),
            self.count("differ"),
            self.count("listed"),
            self.count("skipped"),
        )?;
        let rows: Vec<String> = self
            .by_kind()
            .iter()
            .map(|(kind, (compared, agree))| format!("  {:20} {agree} of {compared}", kind.name()))
            .collect();
        f.write_str(&rows.join("\n"))
    }
}
