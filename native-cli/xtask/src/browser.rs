//! Chromium and its driver, for the tests that need a browser.

use crate::folders::find;
use crate::program::{program, run};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The driver of a browser that is there or could be installed; otherwise what is missing and what
/// to do.
pub(crate) fn ensure() -> Result<PathBuf, String> {
    installed().or_else(|missing| {
        if !is_root() || find("apt-get").is_none() {
            return Err(missing);
        }
        let apt = |words: &str| run(program(words).env("DEBIAN_FRONTEND", "noninteractive"));
        apt("apt-get update")
            .and_then(|()| {
                apt("apt-get install -y --no-install-recommends chromium chromium-driver")
            })
            .map_err(|error| format!("{missing} ({error})"))?;
        installed()
    })
}

fn installed() -> Result<PathBuf, String> {
    let driver = std::env::var_os("CHROMEDRIVER").map(PathBuf::from);
    let driver = driver.or_else(|| find("chromedriver"));
    match driver {
        Some(driver) if BROWSERS.iter().any(|name| find(name).is_some()) => Ok(driver),
        _ => Err("Chromium and chromedriver are missing: install both, on Debian with \
                  `apt-get install chromium chromium-driver`"
            .to_owned()),
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|this| this.uid() == 0)
}
