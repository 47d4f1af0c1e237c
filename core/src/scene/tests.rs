//! Tests of the picture as a whole: goldens, labels that keep apart, ids that stay unique.

use super::fixture::{BLOCKS, STEPS, overwrites, seed, sides};
use super::*;
use crate::behaviour::DirtyTracking;
use crate::scene::canvas::text_area;
use crate::scene::view::{Lane, LaneMode, Lanes};
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
