//! The disks of an array as pictures, text and tables show them: of each stripe, what was read and
//! written of every member's chunk, how its rows were handled and why, and what the cache holds.

use super::fixed::plural;
use super::limits::Limits;
use crate::trace::array::{ArrayState, MemberState, RowCosts, RowDecision};
use crate::trace::model::Model;
use crate::units::MemberId;

/// Sectors of a row.
const ROW: u64 = 8;

/// What a chunk is to its stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Data,
    P,
    Q,
}

/// A member's chunk of a stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ChunkView {
    pub(super) part: Part,
    /// Rows of it that were written.
    pub(super) written: u64,
    /// Rows of it that were read.
    pub(super) read: u64,
    /// How often the row was written that was written most.
    pub(super) most: u64,
    /// Rows of it that are wrong: of parity those that do not fit the data, of data those that are
    /// not what they were though nobody wrote them.
    pub(super) wrong: u64,
}

/// A stripe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StripeView {
    pub(super) number: u64,
    /// By member.
    pub(super) chunks: Vec<ChunkView>,
    /// Blocks of members written, read, each as often as it was.
    pub(super) written: u64,
    pub(super) read: u64,
    /// What was decided about the row that is furthest from whole, and what that weighed.
    pub(super) decision: Option<(RowDecision, Option<RowCosts>)>,
    /// Rows of it in the cache.
    pub(super) held: u64,
    /// In the end all of its data is written, so that no read was needed.
    pub(super) whole: bool,
}

/// A member.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DiskView {
    state: MemberState,
    /// While it is filled, rows from its start that hold what they should.
    filled: u64,
}

/// An array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ArrayView {
    /// Rows of a chunk.
    pub(super) rows: u64,
    pub(super) disks: Vec<DiskView>,
    pub(super) stripes: Vec<StripeView>,
}

impl ArrayView {
    /// The stripes that any run touches; none where there is no array yet.
    pub(super) fn of(model: &Model, limits: &Limits, run: usize) -> Option<Self> {
        let array = model.array();
        let shape = array.shape()?;
        let members = || (0..u32::from(shape.members)).map(MemberId::new);
        let rows = shape.stripe_sectors() / ROW;
        let whole = limits.whole.get(run);
        let fresh = |number: &u64| StripeView {
            number: *number,
            chunks: members()
                .map(|member| ChunkView {
                    part: part_of(array, *number, member),
                    written: 0,
                    read: 0,
                    most: 0,
                    wrong: 0,
                })
                .collect(),
            written: 0,
            read: 0,
            decision: None,
            held: 0,
            whole: whole.is_some_and(|all| all.contains(number)),
        };
        let mut stripes: Vec<StripeView> = limits.stripes.iter().map(fresh).collect();
        let place = |number: u64| limits.stripes.binary_search(&number).ok();
        for (member, at, read, written) in array.blocks() {
            let Some(stripe) = place(shape.stripe_of(at)).map(|at| &mut stripes[at]) else {
                continue;
            };
            stripe.written += written;
            stripe.read += read;
            if let Some(chunk) = stripe.chunks.get_mut(member.get() as usize) {
                chunk.written += u64::from(written > 0);
                chunk.read += u64::from(read > 0);
                chunk.most = chunk.most.max(written);
            }
        }
        for (at, decision) in array.rows() {
            let Some(stripe) = place(shape.stripe_of(at)).map(|at| &mut stripes[at]) else {
                continue;
            };
            let before = stripe.decision.map(|(before, _)| before.code());
            if before.is_none_or(|before| before < decision.code()) {
                stripe.decision = Some((decision, array.costs(at)));
            }
        }
        for (at, _) in array.held() {
            if let Some(at) = place(shape.stripe_of(at)) {
                stripes[at].held += 1;
            }
        }
        for row in array.unfit() {
            let Some(stripe) = place(shape.stripe_of(row)).map(|at| &mut stripes[at]) else {
                continue;
            };
            let parity = stripe.chunks.iter_mut().filter(|chunk| chunk.part != Part::Data);
            parity.for_each(|chunk| chunk.wrong += 1);
        }
        for (_, at) in array.damaged() {
            let Some(stripe) = place(shape.stripe_of(at.row)).map(|at| &mut stripes[at]) else {
                continue;
            };
            if let Some(chunk) = stripe.chunks.get_mut(at.member.get() as usize) {
                chunk.wrong += 1;
            }
        }
        let disk = |member| DiskView {
            state: array.member(member),
            filled: array.filled(member).map_or(0, |at| at.get() / ROW),
        };
        Some(Self { rows, disks: members().map(disk).collect(), stripes })
    }
    /// Rows of a disk's chunk of a stripe that hold what they should, and whether filling has come
    /// to here.
    pub(super) fn held(&self, disk: usize, stripe: u64) -> (u64, bool) {
        let Some(DiskView { state, filled }) = self.disks.get(disk) else { return (0, false) };
        match state {
            MemberState::Working => (self.rows, false),
            MemberState::Failed => (0, false),
            MemberState::Filling => {
                let (start, end) = (stripe * self.rows, (stripe + 1) * self.rows);
                ((*filled).clamp(start, end) - start, (start..end).contains(filled))
            }
        }
    }
}

impl DiskView {
    /// Whether nothing of it can be read or written.
    pub(super) fn has_failed(self) -> bool {
        self.state == MemberState::Failed
    }
    /// What is said of it where it does not simply work, the longest words first.
    pub(super) fn words(self) -> Vec<String> {
        match (self.state, self.filled) {
            (MemberState::Working, _) => Vec::new(),
            (MemberState::Failed, _) => vec!["failed".to_owned()],
            (MemberState::Filling, 0) => vec!["is filled".to_owned()],
            (MemberState::Filling, rows) => {
                vec![format!("is filled up to sector {}", rows * ROW), "is filled".to_owned()]
            }
        }
    }
}

fn part_of(array: &ArrayState, stripe: u64, member: MemberId) -> Part {
    match array.parity(stripe) {
        Some(parity) if parity.p == member => Part::P,
        Some(parity) if parity.q == Some(member) => Part::Q,
        Some(_) | None => Part::Data,
    }
}

/// Stripes of which all data is written.
pub(super) fn whole_stripes(array: &ArrayState) -> Vec<u64> {
    let Some(shape) = array.shape() else { return Vec::new() };
    let mut counts: crate::ordered::OrderedMap<u64, u64> = crate::ordered::OrderedMap::new();
    for (member, at, _, written) in array.blocks() {
        let stripe = shape.stripe_of(at);
        if written > 0 && part_of(array, stripe, member) == Part::Data {
            *counts.get_or_insert_with(stripe, || 0) += 1;
        }
    }
    let all = u64::from(shape.data) * shape.stripe_sectors() / ROW;
    counts.iter().filter(|(_, count)| **count >= all).map(|(stripe, _)| stripe).collect()
}

/// Blocks of members that the stripe cost which cost most.
pub(super) fn most_transfers(array: &ArrayState) -> u64 {
    let Some(shape) = array.shape() else { return 0 };
    let mut counts: crate::ordered::OrderedMap<u64, u64> = crate::ordered::OrderedMap::new();
    for (_, at, read, written) in array.blocks() {
        *counts.get_or_insert_with(shape.stripe_of(at), || 0) += read + written;
    }
    counts.iter().map(|(_, count)| *count).max().unwrap_or(0)
}

impl ChunkView {
    /// Its letter in text; `whole`: no read of its stripe was needed.
    pub(super) const fn letter(&self, whole: bool) -> char {
        match (self.read, self.written, self.part) {
            _ if self.wrong > 0 => '!',
            (1.., ..) if whole => 'Y',
            (1.., ..) => 'R',
            (_, 0, _) => '.',
            (_, _, Part::Data) => 'W',
            (_, _, Part::P) => 'P',
            (_, _, Part::Q) => 'Q',
        }
    }
    /// What is wrong with it, the longest words first.
    pub(super) const fn wrong_words(&self) -> [&'static str; 2] {
        match self.part {
            Part::Data => ["damaged", "!"],
            Part::P => ["P does not fit", "P!"],
            Part::Q => ["Q does not fit", "Q!"],
        }
    }
}

impl StripeView {
    /// Whether something of it is wrong: parity, data.
    fn wrong(&self) -> (bool, bool) {
        let any = |data: bool| {
            let wrong = |chunk: &&ChunkView| chunk.wrong > 0;
            self.chunks.iter().filter(wrong).any(|chunk| (chunk.part == Part::Data) == data)
        };
        (any(false), any(true))
    }
    /// Whether it is worth words of its own: it was read for, or something is wrong.
    pub(super) fn is_notable(&self) -> bool {
        self.read > 0 || self.wrong() != (false, false)
    }
    /// What it cost, the longest words first.
    pub(super) fn cost(&self, rows: u64) -> [String; 2] {
        let (unit, per) = if self.written.is_multiple_of(rows) && self.read.is_multiple_of(rows) {
            ("chunk", rows)
        } else {
            ("block", 1)
        };
        let (written, read) = (self.written / per, self.read / per);
        if self.read == 0 {
            return [format!("{} written", plural(written, unit)), format!("{written}")];
        }
        [
            format!("{} written, {read} read", plural(written, unit)),
            format!("{written} + {read} read"),
        ]
    }
    /// How its rows were handled and why, the longest words first; empty where nothing was decided.
    pub(super) fn why(&self) -> Vec<String> {
        let Some((decision, costs)) = self.decision else { return Vec::new() };
        match (decision, costs) {
            (RowDecision::Full, _) => vec!["whole rows".to_owned(), "whole".to_owned()],
            (RowDecision::Delayed, _) => vec!["waits for more".to_owned(), "waits".to_owned()],
            (RowDecision::Rmw, Some(costs)) => vec![
                format!("from what changes: {} reads, anew {}", costs.rmw, costs.rcw),
                format!("rmw {} < {}", costs.rmw, costs.rcw),
            ],
            (RowDecision::Rcw, Some(costs)) => {
                let than = if costs.rcw < costs.rmw { "<" } else { "=" };
                vec![
                    format!("anew: {} reads, from what changes {}", costs.rcw, costs.rmw),
                    format!("rcw {} {than} {}", costs.rcw, costs.rmw),
                ]
            }
            (RowDecision::Rmw, None) => vec!["rmw".to_owned()],
            (RowDecision::Rcw, None) => vec!["rcw".to_owned()],
        }
    }
    /// All of it in words.
    pub(super) fn words(&self, rows: u64) -> String {
        let mut words = vec![self.cost(rows)[0].clone()];
        words.extend(self.why().into_iter().next());
        if self.held > 0 {
            words.push(format!("{} in the cache", plural(self.held, "row")));
        }
        let (parity, data) = self.wrong();
        if parity {
            words.push("parity does not fit the data".to_owned());
        }
        if data {
            words.push("data that nobody wrote is damaged".to_owned());
        }
        words.join("; ")
    }
}
