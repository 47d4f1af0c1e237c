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
    /// Makes it in the folder of `path`; `option` is the word on the command line. `others` are
    /// the files that the command reads or writes besides: it must be none of them. What is there
    /// already is replaced if it is a regular file, also behind a symbolic link; a device or a pipe
    /// stays what it is.
    pub(crate) fn create<'a>(
        option: &str,
        path: &Path,
        others: impl IntoIterator<Item = &'a Path>,
    ) -> Outcome<Self> {
        let refuse = |what: &str| {
            Err(Failure::usage(format!(
                "{option} {} {what}: name a file of its own",
                path.display()
            )))
        };
        let place = place(path);
        match std::fs::metadata(&place).map(|found| found.file_type()) {
            Ok(kind) if kind.is_dir() => return refuse("is a folder"),
            Ok(kind) if !kind.is_file() => return refuse("is not a regular file"),
            Ok(_) | Err(_) => {}
        }
        if others.into_iter().any(|other| self::place(other) == place) {
            return refuse("is also an input or the target");
        }
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
        // Other people may read it, as any file; the umask still applies.
        let file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            .map_err(|error| Failure::file("write", path, &error))?;
        Ok(Self { path: place, file })
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

/// Where a file lies, or will lie, without symbolic links.
fn place(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize();
        match (folder, path.file_name()) {
            (Ok(folder), Some(name)) => folder.join(name),
            (Ok(_) | Err(_), _) => path.to_owned(),
        }
    })
}
