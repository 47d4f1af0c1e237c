//! axe-core, which looks for what keeps people out of a page: one version of it, known by its
//! checksum, below the target folder. Nothing of it is part of the page.

use crate::folders::{find, tools};
use crate::program::{output, program, run};
use anyhow::{Context as _, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};

const VERSION: &str = "4.14.1";
/// Checksum of its archive, as npm prints it.
const INTEGRITY: &str = "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==";

/// The script, fetched if it is not there; otherwise why it cannot be had and what to do.
pub(crate) fn script() -> Result<PathBuf, String> {
    let folder = tools().join(format!("axe-core-{VERSION}"));
    let script = folder.join("axe.min.js");
    if script.is_file() {
        return Ok(script);
    }
    if find("npm").is_none() {
        return Err("npm, which fetches axe-core, is missing: install it, on Debian with \
                    `apt-get install npm`"
            .to_owned());
    }
    fetch(&folder).map(|()| script).map_err(|error| format!("{error:#}"))
}

fn fetch(folder: &Path) -> Result<()> {
    let parent = tools();
    fs::create_dir_all(&parent).with_context(|| format!("cannot make {}", parent.display()))?;
    let mut pack = program("npm pack --silent --json --pack-destination");
    let said = output(pack.arg(&parent).arg(format!("axe-core@{VERSION}")));
    let said = said.with_context(|| {
        format!("`npm pack axe-core@{VERSION}` failed: run it to see why; it needs a network")
    })?;
    let archive = parent.join(format!("axe-core-{VERSION}.tgz"));
    let checked = said.contains(INTEGRITY);
    if checked {
        // It appears under its name only once it is whole.
        let half = parent.join(format!("axe-core-{VERSION}.part"));
        fs::create_dir_all(&half)?;
        let mut tar = program("tar --strip-components=1 -xzf");
        run(tar.arg(&archive).arg("-C").arg(&half).arg("package/axe.min.js"))?;
        fs::rename(&half, folder)?;
    }
    fs::remove_file(&archive)?;
    ensure!(checked, "axe-core {VERSION} has another checksum than {INTEGRITY}: do not use it");
    Ok(())
}
