//! Gauges of a run over time: which of them make a plot, and the plot as SVG or as text.
//!
//! A plot is drawn from the trace alone, and in whole numbers, as every picture.

mod draw;
mod text;

pub use draw::render_svg;
pub use text::{COLUMNS, render_text};

use super::fixed::{millis, size};
use super::tokens::Token;
use crate::gauges::{Gauge, GaugeKey, Of, Unit};
use crate::trace::series::{Point, gauges_of, series};
use crate::trace::timeline::Timeline;
use crate::units::{Bytes, Time};

/// What can be drawn over time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Dirty pages and pages under writeback, against the limits.
    Dirty,
    /// What devices write, and what tasks may dirty.
    Rates,
    /// How long tasks have paused.
    Pauses,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Dirty, Self::Rates, Self::Pauses];
    /// The word in options.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Dirty => "dirty",
            Self::Rates => "rates",
            Self::Pauses => "pauses",
        }
    }
    /// The kind with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
    const fn title(self) -> &'static str {
        match self {
            Self::Dirty => "Dirty pages over time",
            Self::Rates => "Rates over time",
            Self::Pauses => "Pauses over time",
        }
    }
    const fn gauges(self) -> &'static [(Gauge, Look)] {
        use Look::{Area, Limit, Line};
        match self {
            Self::Dirty => &[
                (Gauge::Dirty, Area),
                (Gauge::Writeback, Area),
                (Gauge::BackgroundThresh, Limit),
                (Gauge::Freerun, Limit),
                (Gauge::Setpoint, Limit),
                (Gauge::DirtyLimit, Limit),
            ],
            Self::Rates => &[
                (Gauge::AvgWriteBandwidth, Line),
                (Gauge::DirtyRatelimit, Line),
                (Gauge::TaskRatelimit, Line),
            ],
            Self::Pauses => &[(Gauge::TaskPaused, Line)],
        }
    }
}

/// How a gauge is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
    /// Filled, on top of the areas before it.
    Area,
    /// A line.
    Line,
    /// A thin line that others are held against.
    Limit,
}

/// One gauge in a plot.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Track {
    name: String,
    look: Look,
    token: Token,
    /// Its letter in text.
    sign: char,
    points: Vec<Point>,
}

/// Gauges of a run over time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plot {
    title: String,
    run: String,
    unit: Unit,
    page: Bytes,
    end: Time,
    tracks: Vec<Track>,
}

/// Colours of lines, in their order.
const INKS: [Token; 5] = [Token::Asked, Token::Waste, Token::Stripe, Token::Ok, Token::Error];
/// Letters of areas and lines in text.
const SIGNS: [char; 5] = ['#', '+', 'o', 'x', '*'];

impl Plot {
    /// The plot of a run in so many stretches of time; none if it has no such gauges, because dirty
    /// pages were not limited in it.
    pub fn of(kind: Kind, timeline: &Timeline, run: &str, count: usize) -> Option<Self> {
        let recording = timeline.recording();
        let there = gauges_of(recording);
        let mut keys: Vec<(GaugeKey, Look)> = Vec::new();
        for (gauge, look) in kind.gauges() {
            let mine = there.iter().filter(|(other, _)| other == gauge);
            keys.extend(mine.map(|key| (*key, *look)));
        }
        if keys.is_empty() {
            return None;
        }
        let wanted: Vec<GaugeKey> = keys.iter().map(|(key, _)| *key).collect();
        let mut inks = 0;
        let tracks = series(recording, &wanted, count).into_iter().zip(&keys);
        let tracks = tracks.map(|(series, (key, look))| {
            let at = inks % INKS.len();
            inks += usize::from(*look != Look::Limit);
            let (token, sign) =
                if *look == Look::Limit { (Token::Muted, '-') } else { (INKS[at], SIGNS[at]) };
            Track { name: name(*key), look: *look, token, sign, points: series.points }
        });
        let header = timeline.header();
        Some(Self {
            title: format!("{}: {}", header.title, kind.title()),
            run: run.to_owned(),
            unit: wanted[0].0.unit(),
            page: header.geometry.page_size(),
            end: recording.steps().last().map_or(Time::ZERO, |step| step.time),
            tracks: tracks.collect(),
        })
    }
    /// The value at which the top of the plot is.
    fn top(&self) -> u64 {
        let stacked = self.areas().into_iter().next().map_or_else(Vec::new, |(_, heights)| heights);
        let single = self.tracks.iter().flat_map(|track| &track.points).map(|point| point.max);
        stacked.into_iter().chain(single).max().unwrap_or(0).max(1)
    }
    /// A value with its unit.
    fn value(&self, n: u64) -> String {
        match self.unit {
            Unit::Pages => size(n * self.page.get()),
            Unit::PagesPerSecond => size(n * self.page.get()) + "/s",
            Unit::Millis => millis(n),
            Unit::Of1024 => format!("{n}/1024"),
        }
    }
    /// Areas, and how high each reaches with those before it: the highest first, so that each is
    /// painted over by those before it.
    fn areas(&self) -> Vec<(&Track, Vec<u64>)> {
        let mut all: Vec<(&Track, Vec<u64>)> = Vec::new();
        for track in self.tracks.iter().filter(|track| track.look == Look::Area) {
            let below =
                all.last().map_or_else(|| vec![0; track.points.len()], |(_, sum)| sum.clone());
            let sums = below.iter().zip(&track.points).map(|(below, point)| below + point.last);
            all.push((track, sums.collect()));
        }
        all.reverse();
        all
    }
    /// In words, for those who do not see it.
    fn alt(&self) -> String {
        let each = self.tracks.iter().map(|track| {
            let max = track.points.iter().map(|point| point.max).max().unwrap_or(0);
            let last = track.points.last().map_or(0, |point| point.last);
            format!("{}: {} at most, {} at the end", track.name, self.value(max), self.value(last))
        });
        let span = millis(self.end.get() / 1_000_000);
        format!("From 0 to {span}. {}.", each.collect::<Vec<_>>().join("; "))
    }
}

/// A gauge, and which one of several.
fn name((gauge, of): GaugeKey) -> String {
    match gauge.of() {
        Of::World => gauge.name().to_owned(),
        Of::Device | Of::Task => format!("{} {of}", gauge.name()),
    }
}
