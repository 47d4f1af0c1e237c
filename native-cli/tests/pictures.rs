//! The pictures of the README are what the renderer makes today.
//!
//! `UPDATE_GOLDENS=1 cargo test` makes them anew; the diff is the review.

use assert_cmd::Command;
use std::path::Path;

#[test]
fn the_pictures_of_the_readme_are_the_renderers() {
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets");
    for theme in ["light", "dark"] {
        let output = Command::cargo_bin("folioscope")
            .expect("the program is built")
            .arg("render")
            .arg(assets.join("scenarios/sub-page-dirty-tracking.toml"))
            .args(["--step", "44", "--format", "svg", "--theme", theme])
            .args(["--lanes", "file,cache,mapping,bios,device"])
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let kept = assets.join(format!("pictures/one-block-{theme}.svg"));
        if std::env::var_os("UPDATE_GOLDENS").is_some() {
            std::fs::write(&kept, &output.stdout).expect("writable");
        }
        let same = std::fs::read(&kept).expect("it is there") == output.stdout;
        assert!(same, "{} differs; UPDATE_GOLDENS=1 makes it anew", kept.display());
    }
}
