//! `folioscope render`: one moment of a run as text, SVG or link, or a range of them as one SVG
//! that moves; from a trace or a scenario.

mod share;

use crate::error::{Failure, Outcome};
use crate::input::{self, Input};
use crate::out::{self, Unfinished};
use crate::run::scenario::{chosen, record};
use clap::{Args, ValueEnum};
use folioscope_core::block::bio::{BioOp, BioState};
use folioscope_core::scene::plot::{
    COLUMNS, Kind, Plot, render_svg as render_plot_svg, render_text as render_plot_text,
};
use folioscope_core::scene::svg::render_svg;
use folioscope_core::scene::text::render_text;
use folioscope_core::scene::view::{Lane, Lanes, Theme, View};
use folioscope_core::scene::{Side, render as draw};
use folioscope_core::trace::delta::DeltaKind;
use folioscope_core::trace::header::Header;
use folioscope_core::trace::timeline::{Recording, Timeline};
use folioscope_core::units::{Bytes, FileId, FileRange, Pos};
use std::path::{Path, PathBuf};

/// Runs that one picture shows at most.
const MAX_SIDES: usize = 2;

/// Kinds of picture.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Format {
    /// Plain text, 72 columns at most
    Text,
    /// SVG
    Svg,
    /// The moment of a scenario as a link: what goes behind the address of the page
    Link,
}

/// What `render` can be told.
#[derive(Args, Debug)]
pub(crate) struct RenderArgs {
    /// Trace, or scenario (.toml); two traces are shown one under the other
    #[arg(required = true, num_args = 1..=MAX_SIDES)]
    files: Vec<PathBuf>,
    /// State after this many steps, for two runs also one of each: `44,31`; the end if not given
    #[arg(long, value_name = "N", value_delimiter = ',')]
    step: Vec<usize>,
    /// Make one SVG that moves through these steps of the first run, the other beside it
    #[arg(long, value_name = "FROM..TO", value_parser = share::range_of_steps,
        conflicts_with_all = ["step", "plot", "format"])]
    animate: Option<(usize, usize)>,
    /// Show this variant of a scenario only
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Kind of picture
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Width of an SVG in pixels; 1040 if not given
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(320..=8192))]
    width: Option<u32>,
    /// Draw gauges over the whole run instead of one moment: dirty, rates, pauses
    #[arg(long, value_name = "PLOT", value_parser = plot_kind, conflicts_with_all = ["step", "lanes"])]
    plot: Option<Kind>,
    /// Lanes to show: file, cache, mapping, bios, requests, device, members, times, left; all but
    /// `left`, what a remount would find, if not given
    #[arg(long, value_name = "LANE,…", value_delimiter = ',', value_parser = lane)]
    lanes: Vec<Lane>,
    /// Bytes of the file to show, such as 64k..128k; all that the run touches if not given
    #[arg(long, value_name = "FROM..TO", value_parser = share::range_of_bytes)]
    range: Option<FileRange>,
    /// Which file to show, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    file: u32,
    /// Colours of an SVG: light, dark or auto; auto if not given
    #[arg(long, value_parser = theme)]
    theme: Option<Theme>,
    /// Write into this file instead of standard output
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,
}

impl RenderArgs {
    fn width(&self) -> u32 {
        self.width.unwrap_or(1040)
    }
    fn theme(&self) -> Theme {
        self.theme.unwrap_or(Theme::Auto)
    }
}

fn lane(word: &str) -> Result<Lane, String> {
    Lane::from_word(word).ok_or_else(|| {
        let words: Vec<&str> = Lane::ALL.into_iter().map(Lane::word).collect();
        format!("expected one of {}", words.join(", "))
    })
}

fn plot_kind(word: &str) -> Result<Kind, String> {
    Kind::from_word(word).ok_or_else(|| {
        let words: Vec<&str> = Kind::ALL.into_iter().map(Kind::word).collect();
        format!("expected one of {}", words.join(", "))
    })
}

fn theme(word: &str) -> Result<Theme, String> {
    Theme::from_word(word).ok_or_else(|| "expected light, dark or auto".to_owned())
}

/// A run with its name.
pub(crate) struct Shown {
    pub(crate) name: String,
    pub(crate) timeline: Timeline,
}

/// Carries the command out.
pub(crate) fn render(args: &RenderArgs) -> Outcome<()> {
    let picture_in_words = args.format != Format::Svg && args.animate.is_none();
    if picture_in_words && (args.width.is_some() || args.theme.is_some()) {
        return Err(Failure::usage(
            "--width and --theme are for pictures: add `--format svg`, or leave them out",
        ));
    }
    let mut shown = Vec::new();
    for path in &args.files {
        shown.extend(load(path, args.variant.as_deref())?);
    }
    if shown.len() > MAX_SIDES {
        return Err(Failure::usage(format!(
            "these files hold {} runs, and a picture shows {MAX_SIDES} at most: name fewer, or choose with --variant",
            shown.len()
        )));
    }
    if args.step.len() > shown.len().max(1) {
        return Err(Failure::usage(format!(
            "--step names {} steps, and these files hold {} runs: name one, or one of each run",
            args.step.len(),
            shown.len()
        )));
    }
    let longest = shown.iter().map(|shown| shown.timeline.len()).max().unwrap_or(0);
    if let Some(step) = args.step.iter().find(|step| **step > longest) {
        return Err(Failure::usage(format!(
            "--step is {step}: the run has {longest} steps, and `folioscope steps` lists them"
        )));
    }
    for (at, Shown { timeline, .. }) in shown.iter_mut().enumerate() {
        let step = args.step.get(at).or(args.step.first());
        timeline.seek(step.copied().unwrap_or(timeline.len()));
    }
    let (width, theme, range) = (args.width(), args.theme(), args.range);
    let mut view = View { width, theme, range, file: FileId::new(args.file), ..View::default() };
    if !args.lanes.is_empty() {
        view.lanes = Lanes::only(&args.lanes);
    }
    let output = args.output.as_deref();
    let inputs = || args.files.iter().map(PathBuf::as_path);
    let output = output.map(|path| Unfinished::create("--output", path, inputs())).transpose()?;
    let picture = match (args.plot, args.animate, args.format) {
        (Some(kind), ..) => plotted(&shown, kind, args)?,
        (None, Some(range), _) => share::animated(&mut shown, range, &mut view)?,
        (None, None, Format::Link) => share::link(&shown, args)?,
        (None, None, Format::Text | Format::Svg) => picture(&shown, &view, args.format),
    };
    match output {
        Some(file) => file.finish(picture.as_bytes()),
        None => out::print(&picture),
    }
}

/// Gauges over time, of each run in text, of one in SVG.
fn plotted(shown: &[Shown], kind: Kind, args: &RenderArgs) -> Outcome<String> {
    let count = match args.format {
        Format::Text => COLUMNS,
        Format::Svg => args.width() as usize / 2,
        Format::Link => return Err(Failure::usage("a link leads to a moment: leave out --plot")),
    };
    let of = |Shown { name, timeline }: &Shown| {
        Plot::of(kind, timeline, name, count).ok_or_else(|| {
            Failure::usage(format!(
                "run {name:?} has nothing to plot: dirty pages are limited only where a scenario has [dirty]"
            ))
        })
    };
    let plots = shown.iter().map(of).collect::<Outcome<Vec<Plot>>>()?;
    match (args.format, &plots[..]) {
        (Format::Text, _) => {
            Ok(plots.iter().map(render_plot_text).collect::<Vec<String>>().join("\n"))
        }
        (Format::Svg, [plot]) => Ok(render_plot_svg(plot, args.width(), args.theme())),
        (Format::Svg | Format::Link, _) => Err(Failure::usage(format!(
            "a plot as SVG shows one run, and these files hold {}: choose with --variant",
            plots.len()
        ))),
    }
}

fn picture(shown: &[Shown], view: &View, format: Format) -> String {
    let sides = sides(shown);
    match format {
        Format::Text | Format::Link => render_text(&sides, view),
        Format::Svg => render_svg(&draw(&sides, view)),
    }
}

fn sides(shown: &[Shown]) -> Vec<Side<'_>> {
    let named = shown.iter().zip(["A", "B"]);
    named.map(|(Shown { name, timeline }, label)| Side { label, name, timeline }).collect()
}

/// The moment of each run at which its first write is on its way to the device, in text. `page` is
/// shown around it.
pub(crate) fn text_of_first_write(
    runs: Vec<(String, Header, Recording)>,
    page: Bytes,
) -> Outcome<String> {
    let mut shown = Vec::new();
    let mut range = None;
    for (name, header, recording) in runs {
        let mut run = open(Path::new("the run"), name, header, recording)?;
        if let Some(pos) = seek_first_write(&mut run.timeline) {
            let start = Pos::new(pos.get() / page.get() * page.get());
            range = range.or(FileRange::new(start, page));
        }
        shown.push(run);
    }
    let lanes = Lanes::only(&[Lane::File, Lane::Cache, Lane::Bios]);
    let view = View { lanes, range, ..View::default() };
    Ok(picture(&shown, &view, Format::Text))
}

/// Goes to the state in which the first write bio is in flight; the place in the file where it
/// begins, or none at the end of a run without one.
fn seek_first_write(timeline: &mut Timeline) -> Option<Pos> {
    let in_flight = BioState::InFlight.code();
    timeline.seek(0);
    while timeline.forward() {
        let mut changes = timeline.changes().iter();
        if !changes.any(|delta| delta.kind == DeltaKind::BioState && delta.new == in_flight) {
            continue;
        }
        let mut bios = timeline.model().bios();
        let write = bios
            .find(|(_, bio)| bio.state() == BioState::InFlight && bio.head().op == BioOp::Write);
        if let Some((_, bio)) = write {
            return Some(bio.pos());
        }
    }
    None
}

/// The runs of a file: that of a trace, or those of a scenario.
pub(crate) fn load(path: &Path, variant: Option<&str>) -> Outcome<Vec<Shown>> {
    match input::read(path)? {
        Input::Trace(trace) => {
            if let Some(variant) = variant {
                return Err(Failure::usage(format!(
                    "--variant is {variant:?}, and {} is a trace, which holds one run: leave it out",
                    path.display()
                )));
            }
            let (header, recording) = *trace;
            let name = header.profile.clone();
            Ok(vec![open(path, name, header, recording)?])
        }
        Input::Scenario(scenario) => chosen(&scenario, variant)?
            .into_iter()
            .map(|variant| {
                let ((header, _), recording) = record(&scenario, variant)?;
                open(path, variant.name.clone(), header, recording)
            })
            .collect(),
        Input::Job(_) => Err(Failure::usage(format!(
            "{0} is neither a trace nor a scenario: record a trace of the job first, with `folioscope run {0} --trace OUT`",
            path.display()
        ))),
    }
}

fn open(path: &Path, name: String, header: Header, recording: Recording) -> Outcome<Shown> {
    let timeline = Timeline::new(header, recording).map_err(|(at, mismatch)| {
        Failure::usage(format!(
            "{}: step {at} of the trace does not follow from the steps before it ({mismatch}): record it again",
            path.display()
        ))
    })?;
    Ok(Shown { name, timeline })
}
