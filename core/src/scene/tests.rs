//! Tests of the picture as a whole: goldens, labels that keep apart, ids that stay unique.

use super::canvas::id;
use super::draw::Id;
use super::fixture::{BLOCK, BLOCKS, PAGE, overwrites, seed, sides};
use super::limits::Limits;
use super::view::{Lane, LaneMode, Lanes};
use super::*;
use crate::behaviour::DirtyTracking;
use crate::block::bio::BioState;
use crate::trace::delta::DeltaKind;
use crate::trace::rule::Rule;
use crate::trace::survey::{Survey, Surveys};
use crate::units::{Bytes, FileId, FileRange, Pos};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Compares with a file in `tests/golden/scene`; `UPDATE_GOLDENS=1` writes it anew.
pub(super) fn golden(name: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/scene").join(name);
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::create_dir_all(path.parent().expect("has one")).expect("can be made");
        std::fs::write(&path, found).expect("can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == found, "{} differs; UPDATE_GOLDENS=1 writes it anew", path.display());
}

fn claim(width: u32, theme: Theme) -> View {
    let title = "The app changed 4 KiB. How much goes to the disk?".to_owned();
    View { width, theme, title: Some(title), ..View::default() }
}

#[test]
fn the_seed_looks_as_kept() {
    let (a, b) = seed();
    for width in [360, 720, 1040, 1440] {
        let scene = render(&sides(&a, &b), &claim(width, Theme::Auto));
        golden(&format!("seed-{width}.svg"), &svg::render_svg(&scene));
    }
    let dark = render(&sides(&a, &b), &claim(1040, Theme::Dark));
    golden("seed-1040-dark.svg", &svg::render_svg(&dark));
    let single = render(&sides(&a, &b)[..1], &claim(1040, Theme::Light));
    golden("single-1040-light.svg", &svg::render_svg(&single));
}

#[test]
fn the_seed_reads_as_kept() {
    let (a, b) = seed();
    golden("seed.txt", &text::render_text(&sides(&a, &b), &claim(1040, Theme::Auto)));
    golden("single.txt", &text::render_text(&sides(&a, &b)[..1], &View::default()));
}

/// Pairs of runs that differ in size and step.
fn many() -> Vec<(Timeline, Timeline)> {
    let mut all = Vec::new();
    let far: Vec<u64> = (0..24).map(|n| n * 37 % 640).collect();
    for (folios, blocks) in [(1, &[5][..]), (2, &BLOCKS), (40, &far)] {
        let a = overwrites(DirtyTracking::PerFolio, folios, blocks);
        let b = overwrites(DirtyTracking::PerBlock, folios, blocks);
        for step in (0..a.len()).step_by(a.len() / 9) {
            let (mut a, mut b) = (a.clone(), b.clone());
            a.seek(step);
            b.seek(step + step % 3);
            all.push((a, b));
        }
    }
    all
}

#[test]
fn labels_keep_apart_and_ids_are_unique_at_every_width() {
    for (a, b) in many() {
        for width in [320, 360, 560, 720, 900, 1040, 1440, 2000] {
            let scene = render(&sides(&a, &b), &claim(width, Theme::Auto));
            let mut ids: BTreeSet<Id> = BTreeSet::new();
            let mut boxes: Vec<(Area, &str)> = Vec::new();
            for mark in &scene.marks {
                assert!(ids.insert(mark.id), "{} twice at {width}", mark.id);
                let Shape::Text { x, y, anchor, text } = &mark.shape else { continue };
                let size = mark.style.size();
                assert!(size >= 11, "{text} is too small");
                let area = canvas::text_area(*x, *y, *anchor, text, size);
                for (other, said) in &boxes {
                    assert!(!other.meets(area), "{text:?} over {said:?} at {width}");
                }
                let right = px(i32::try_from(scene.width).expect("small"));
                let inside = Fx::ZERO <= area.x0 && area.x1 <= right;
                assert!(inside, "{text:?} leaves the picture at {width}");
                boxes.push((area, text));
            }
            assert!(scene.marks.len() <= 1500, "{} marks at {width}", scene.marks.len());
        }
    }
}

#[test]
fn heights_never_change_from_step_to_step() {
    let (mut a, mut b) = seed();
    let view = claim(1040, Theme::Auto);
    let view = View { limits: Some(Limits::of(&sides(&a, &b), view.file, None)), ..view };
    let view = View { caption: false, ..view };
    let mut heights = BTreeSet::new();
    for step in 0..a.len() {
        a.seek(step);
        b.seek(step);
        heights.insert(render(&sides(&a, &b), &view).height);
    }
    assert_eq!(heights.len(), 1, "{heights:?}");
}

#[test]
fn text_fits_72_columns() {
    for (a, b) in many() {
        let view = claim(1040, Theme::Auto);
        for sides in [&sides(&a, &b)[..], &sides(&a, &b)[..1]] {
            for line in text::render_text(sides, &view).lines() {
                assert!(line.chars().count() <= text::COLUMNS, "{line:?}");
            }
        }
    }
}

#[test]
fn waste_asked_and_equal_lanes_are_where_they_should_be() {
    let (a, b) = seed();
    let scene = render(&sides(&a, &b), &View::default());
    assert_eq!(scene.legend, [Cell::Wasted, Cell::InFlight, Cell::Clean]);
    let words = "15 blocks being written though clean, 1 block being written";
    assert!(scene.alt.contains(words), "{}", scene.alt);
    let tables = table::rows(&sides(&a, &b), &View::default());
    let cache = |run: &str| tables.iter().find(|t| t.lane == Lane::Cache && t.run == run);
    let rows: Vec<String> =
        cache("A").expect("differs").rows.iter().map(|row| row.what.clone()).collect();
    assert_eq!(rows, ["blocks 0 to 15", "blocks 16 to 20", "block 21", "blocks 22 to 31"]);
    assert!(tables.iter().any(|table| table.lane == Lane::Mapping && table.run == "A = B"));
}

#[test]
fn the_page_has_the_colours_and_classes_of_the_picture() {
    golden("../../../../assets/page/scene.css", &svg::page_style());
}

#[test]
fn range_lanes_and_strips_are_obeyed() {
    let (a, b) = seed();
    let range = FileRange::new(Pos::new(PAGE), Bytes::new(PAGE));
    let lanes = Lanes::only(&[Lane::File, Lane::Cache, Lane::Device]);
    let view = View { range, lanes, caption: false, ..View::default() };
    let scene = render(&sides(&a, &b), &view);
    let cells: BTreeSet<u64> =
        scene.marks.iter().filter(|m| m.id.part == "cell").map(|m| m.id.n).collect();
    assert_eq!(cells, (PAGE / BLOCK..2 * PAGE / BLOCK).collect());
    golden("three-lanes.svg", &svg::render_svg(&scene));
    let strips =
        Lane::ALL.into_iter().fold(Lanes::default(), |all, lane| all.with(lane, LaneMode::Strip));
    let strips = View { lanes: strips, caption: false, ..View::default() };
    let low = render(&sides(&a, &b), &strips);
    assert!(low.height < 500, "{}", low.height);
    golden("strips.svg", &svg::render_svg(&low));
}

#[test]
fn a_long_file_becomes_bins() {
    let far: Vec<u64> = (0..24).map(|n| n * 37 % 640).collect();
    let mut a = overwrites(DirtyTracking::PerFolio, 40, &far);
    let mut b = overwrites(DirtyTracking::PerBlock, 40, &far);
    a.seek(41 + 23 * fixture::STEPS + fixture::IN_FLIGHT);
    b.seek(41 + 23 * fixture::STEPS + fixture::IN_FLIGHT);
    golden("bins.svg", &svg::render_svg(&render(&sides(&a, &b), &View::default())));
    golden("bins.txt", &text::render_text(&sides(&a, &b), &View::default()));
}

#[test]
fn nothing_at_all_is_a_picture_too() {
    let mut a = overwrites(DirtyTracking::PerBlock, 1, &[5]);
    a.seek(0);
    let side = [Side { label: "A", name: "linux-6.18", timeline: &a }];
    let scene = render(&side, &View::default());
    assert!(scene.height > 100);
    assert!(svg::render_svg(&render(&[], &View::default())).contains("</svg>"));
    assert!(text::render_text(&side, &View::default()).contains("not cached"));
}

/// Every state at 28, 14 and 6 pixels.
#[test]
fn every_state_has_its_shape() {
    let mut canvas = Canvas::default();
    for (row, wide) in [28, 14, 6].into_iter().enumerate() {
        for cell in Cell::ALL {
            let (x, y) = (px(12 + 40 * cell as i32), px(12 + 40 * fixed::whole(row)));
            let area = Area::new(x, y, x + px(wide), y + px(28));
            let n = row as u64 * 100 + cell as u64;
            lanes::cache::paint(&mut canvas, |k| id(0, "cell", n, k), cell, area);
        }
    }
    let shape = Shape::Rect { x: px(0), y: px(0), w: px(420), h: px(132), r: px(0) };
    let ground = Mark { id: id(0, "ground", 0, 0), shape, style: Style::Ground, pattern: None };
    let scene = Scene {
        marks: std::iter::once(ground).chain(canvas.marks).collect(),
        width: 420,
        height: 132,
        title: "States".to_owned(),
        alt: "Every state of a block at 28, 14 and 6 pixels.".to_owned(),
        legend: Cell::ALL.to_vec(),
        signs: Vec::new(),
        theme: Theme::Auto,
        prefix: "s".to_owned(),
        ..Scene::default()
    };
    golden("states.svg", &svg::render_svg(&scene));
}

#[test]
fn kept_surveys_are_those_of_a_replay_from_the_start() {
    let run = overwrites(DirtyTracking::PerBlock, 2, &[5; 1200]);
    assert!(run.len() > 9000, "it reaches beyond a kept survey");
    let (geometry, file) = (run.header().geometry, FileId::new(0));
    let mut kept = Surveys::new(geometry);
    for position in [0, 9, 8191, 8192, 8193, 8300, run.len(), 17] {
        let mut survey = Survey::new(geometry);
        survey.seek(run.recording(), position).expect("it fits");
        let found = kept.at(run.recording(), position).expect("it fits");
        assert_eq!(found.file(file), survey.file(file), "at {position}");
    }
}

#[test]
fn absurd_numbers_are_drawn_without_a_panic() {
    for huge in [u64::MAX, u64::MAX - 4095, 1 << 62, 1 << 44] {
        let mut builder = fixture::Builder::default();
        builder.file(1);
        builder.folio(0);
        builder.set(DeltaKind::FileSize, 0, 0, huge);
        builder.set(DeltaKind::ExtentLen, 0, 0, huge);
        builder.set(DeltaKind::ExtentAt, 0, 0, (huge & !7) | 2);
        builder.set(DeltaKind::ExtentLen, 0, u32::MAX, huge);
        builder.set(DeltaKind::OpHead, 0, 0, 1);
        builder.set(DeltaKind::OpPos, 0, 0, huge);
        builder.set(DeltaKind::OpLen, 0, 0, huge);
        for (bio, folio) in [(0, 0), (1, 77)] {
            builder.set(DeltaKind::BioHead, bio, 0, 3);
            builder.set(DeltaKind::BioAddr, bio, 0, huge);
            builder.set(DeltaKind::BioLen, bio, 0, huge);
            builder.set(DeltaKind::BioPos, bio, 0, huge);
            for piece in 0..2 {
                builder.set(DeltaKind::BioSegAt, bio, piece, (folio << 32) | (huge & 0xffff_ffff));
                builder.set(DeltaKind::BioSegLen, bio, piece, huge);
            }
        }
        builder.step(Rule::Zeroed, [huge, huge, huge, huge]);
        let mut timeline = builder.timeline("linux-6.1", DirtyTracking::PerFolio);
        timeline.seek(usize::MAX);
        let side = [Side { label: "A", name: "odd", timeline: &timeline }];
        let scene = render(&side, &View::default());
        assert!(scene.marks.len() < 1500, "{} marks", scene.marks.len());
        svg::render_svg(&scene);
        table::rows(&side, &View::default());
        for line in text::render_text(&side, &View::default()).lines() {
            assert!(line.chars().count() <= text::COLUMNS, "{line:?}");
        }
    }
}

/// A run with so many bios in flight, each of one block that lies alone in the file and on the
/// device, over a file of so many blocks.
fn crowd(bios: u64, blocks: u64) -> Timeline {
    let mut builder = fixture::Builder::default();
    builder.file(1);
    builder.folio(0);
    builder.set(DeltaKind::FileSize, 0, 0, blocks * BLOCK);
    for n in 0..bios {
        let (block, addr) = (2 * n as u32, (n * 7919 % bios) * 4 * BLOCK);
        builder.set(DeltaKind::ExtentLen, 0, block, BLOCK);
        builder.set(DeltaKind::ExtentAt, 0, block, addr << 3 | 2);
        // A direct write.
        builder.set(DeltaKind::BioHead, n as u32, 0, 3 | 1 << 12);
        builder.set(DeltaKind::BioAddr, n as u32, 0, addr);
        builder.set(DeltaKind::BioLen, n as u32, 0, BLOCK);
        builder.set(DeltaKind::BioPos, n as u32, 0, u64::from(block) * BLOCK);
        builder.set(DeltaKind::BioState, n as u32, 0, BioState::InFlight.code());
    }
    builder.step(Rule::BioSubmitted, [0; 4]);
    let mut timeline = builder.timeline("linux-6.1", DirtyTracking::PerFolio);
    timeline.seek(usize::MAX);
    timeline
}

#[test]
fn thousands_of_bios_and_a_million_blocks_are_few_marks() {
    for (bios, blocks) in [(100, 4096), (2048, 4096), (2048, 1 << 20)] {
        let timeline = crowd(bios, blocks);
        let side = [Side { label: "A", name: "crowd", timeline: &timeline }];
        let range = FileRange::between(Pos::ZERO, Pos::new(blocks * BLOCK));
        for width in [390, 1440] {
            let view = View { width, range: Some(range), ..View::default() };
            let scene = render(&side, &view);
            let mut ids = BTreeSet::new();
            assert!(scene.marks.iter().all(|mark| ids.insert(mark.id)), "an id is there twice");
            assert!(scene.marks.len() <= 1500, "{} marks of {bios} bios", scene.marks.len());
            let tables = table::rows(&side, &view);
            assert!(tables.iter().all(|table| table.rows.len() <= table::MAX_ROWS));
            assert!(tables.iter().any(|table| table.more > 0));
        }
    }
}
