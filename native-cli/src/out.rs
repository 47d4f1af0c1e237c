//! Standard output, and files that take their name only when they are complete.

use crate::error::{Failure, Outcome, reason};
use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Prints text. A reader that went away, as `head` does, is no error.
pub(crate) fn print(text: &str) -> Outcome<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::environment(
            format!("cannot write to standard output: {}", reason(&error)),
        )),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A file to be: made at once, so that what cannot be written is known early, and named when it is
/// complete.
pub(crate) struct Unfinished {
    path: PathBuf,
    file: NamedTempFile,
}

impl Unfinished {
    /// Makes it in the folder of `path`; `option` is the word on the command line.
    pub(crate) fn create(option: &str, path: &Path) -> Outcome<Self> {
        if path.is_dir() {
            return Err(Failure::usage(format!(
                "{option} {} is a folder: name a file in it",
                path.display()
            )));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        // Other people may read it, as any file; the umask still applies.
        let file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            .map_err(|error| Failure::file("write", path, &error))?;
        Ok(Self { path: path.to_owned(), file })
    }
    /// Writes it whole and names it.
    pub(crate) fn finish(mut self, bytes: &[u8]) -> Outcome<()> {
        let fail = |error: io::Error| Failure::file("write", &self.path, &error);
        self.file.write_all(bytes).map_err(fail)?;
        self.file.as_file().sync_all().map_err(fail)?;
        let kept = self.file.persist(&self.path);
        kept.map(drop).map_err(|error| Failure::file("write", &self.path, &error.error))
    }
}
