//! The small words of the case format: fills, addresses, ranges, rows.

use serde::Deserialize;
use serde_json::{Value, json};

/// Where the allocator begins: 1 GiB.
pub(super) const ALLOC: u64 = 1 << 30;

/// A byte: one character, or the number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Fill(pub(super) u8);

impl TryFrom<Value> for Fill {
    type Error = String;
    fn try_from(value: Value) -> Result<Self, String> {
        let byte = match value.as_str() {
            Some(text) if text.len() == 1 => text.bytes().next(),
            Some(_) => None,
            None => value.as_u64().and_then(|n| u8::try_from(n).ok()),
        };
        byte.map(Self).ok_or_else(|| format!("{value} is no fill: one character or 0 to 255"))
    }
}

/// A device address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(super) enum Addr {
    /// This byte.
    At(u64),
    /// Any that the allocator gave.
    New,
}

impl TryFrom<Value> for Addr {
    type Error = String;
    fn try_from(value: Value) -> Result<Self, String> {
        let found = match value.as_str() {
            Some("NEW") => Some(Self::New),
            Some("ALLOC") => Some(Self::At(ALLOC)),
            Some(text) => text
                .strip_prefix("ALLOC+")
                .and_then(|rest| rest.parse::<u64>().ok())
                .and_then(|n| ALLOC.checked_add(n))
                .map(Self::At),
            None => value.as_u64().map(Self::At),
        };
        found.ok_or_else(|| format!("{value} is no address: a number, ALLOC, ALLOC+n or NEW"))
    }
}

impl Addr {
    /// Whether a device byte is what this says.
    pub(super) const fn is(self, byte: u64) -> bool {
        match self {
            Self::At(at) => at == byte,
            Self::New => byte >= ALLOC,
        }
    }
    /// As it stands in a report.
    pub(super) fn shown(self) -> Value {
        match self {
            Self::At(at) => json!(at),
            Self::New => json!("NEW"),
        }
    }
}

/// A number, or limits for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Limits {
    min: i128,
    max: i128,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MinMax {
    min: Option<i64>,
    max: Option<i64>,
}

impl TryFrom<Value> for Limits {
    type Error = String;
    fn try_from(value: Value) -> Result<Self, String> {
        let exact = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
        if let Some(exact) = exact {
            return Ok(Self { min: exact, max: exact });
        }
        let MinMax { min, max } =
            serde_json::from_value(value).map_err(|error| format!("limits: {error}"))?;
        Ok(Self { min: min.map_or(i128::MIN, i128::from), max: max.map_or(i128::MAX, i128::from) })
    }
}

impl Limits {
    /// Whether a number lies within.
    pub(super) fn hold(self, n: u64) -> bool {
        (self.min..=self.max).contains(&i128::from(n))
    }
    /// As they stand in a report.
    pub(super) fn shown(self) -> Value {
        if self.min == self.max {
            return json!(self.min);
        }
        let side = |n: i128, none: i128| (n != none).then_some(n);
        json!({ "min": side(self.min, i128::MIN), "max": side(self.max, i128::MAX) })
    }
}

/// Read or write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Dir {
    Read,
    Write,
}

impl Dir {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// What stands behind a range of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ExtentKind {
    Mapped,
    Unwritten,
    Hole,
    Delalloc,
    Inline,
}

impl ExtentKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Mapped => "mapped",
            Self::Unwritten => "unwritten",
            Self::Hole => "hole",
            Self::Delalloc => "delalloc",
            Self::Inline => "inline",
        }
    }
}

/// A row of an expected extent list: `[off, len, type, address or null, ["shared"]]`.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct ExtentRow {
    pub(super) off: u64,
    pub(super) len: u64,
    pub(super) kind: ExtentKind,
    pub(super) addr: Option<Addr>,
    pub(super) shared: bool,
}

impl TryFrom<Value> for ExtentRow {
    type Error = String;
    fn try_from(value: Value) -> Result<Self, String> {
        type Four = (u64, u64, ExtentKind, Option<Addr>);
        type Five = (u64, u64, ExtentKind, Option<Addr>, Vec<String>);
        let rows = value.as_array().map_or(0, Vec::len);
        let said = |error: serde_json::Error| format!("extent row {value}: {error}");
        let (row, flags): (Four, Vec<String>) = if rows == 5 {
            let (off, len, kind, addr, flags): Five = Five::deserialize(&value).map_err(said)?;
            ((off, len, kind, addr), flags)
        } else {
            (Four::deserialize(&value).map_err(said)?, Vec::new())
        };
        if let Some(unknown) = flags.iter().find(|flag| *flag != "shared") {
            return Err(format!("extent row {value}: unknown flag `{unknown}`"));
        }
        let (off, len, kind, addr) = row;
        Ok(Self { off, len, kind, addr, shared: !flags.is_empty() })
    }
}

/// Flags of an ioend.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum IoendFlag {
    Unwritten,
    Shared,
    Boundary,
}

/// One block a character.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct BitString(pub(super) Vec<bool>);

impl TryFrom<String> for BitString {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let bit = |c: char| match c {
            '0' => Some(false),
            '1' => Some(true),
            _ => None,
        };
        let bits: Option<Vec<bool>> = text.chars().map(bit).collect();
        bits.filter(|bits| !bits.is_empty())
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no bit string"))
    }
}

/// Bits as text.
pub(super) fn bit_text(bits: impl Iterator<Item = bool>) -> String {
    bits.map(|bit| if bit { '1' } else { '0' }).collect()
}

/// `[off, len, fill]`.
pub(super) type Run = (u64, u64, Fill);
/// `[off, len]`.
pub(super) type Span = (u64, u64);
/// `[read or write, address, len]`.
pub(super) type BioWords = (Dir, Addr, u64);
