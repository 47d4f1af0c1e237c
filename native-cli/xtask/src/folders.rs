//! Where things lie: the target folder, and the tools that were installed into it.

use std::ffi::OsString;
use std::path::PathBuf;

/// The folder that cargo builds into, known by where this very program lies in it.
pub(crate) fn target() -> PathBuf {
    let this = std::env::current_exe().expect("the system tells where this program lies");
    let folder = this.ancestors().nth(2).expect("cargo puts it into TARGET/PROFILE/");
    folder.to_owned()
}

/// Root of the tools that are installed for this workspace only.
pub(crate) fn tools() -> PathBuf {
    target().join("tools")
}

/// `PATH`, with the tools of this workspace before all else.
pub(crate) fn search_path() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(tools().join("bin")).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).expect("a target folder has no colon in its name")
}

/// Where a program on that path is.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&search_path())
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}
