//! How the program ends when something is wrong: one sentence, one exit code.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

/// Exit codes, the same for every command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// A check found a difference.
    Check = 1,
    /// The command line or an input file makes no sense.
    Usage = 2,
    /// The machine cannot do it: no `O_DIRECT`, no `io_uring`, no permission, no space.
    Environment = 3,
    /// An invariant of the engine is broken: a bug of ours.
    Broken = 4,
    /// Ctrl-C, as shells have it.
    Interrupted = 130,
}

/// Why the program ends early.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    sentence: String,
    /// Lines of an input file that show the place.
    excerpt: Option<String>,
}

/// Result of anything that can end the program.
pub(crate) type Outcome<T> = Result<T, Failure>;

impl Failure {
    fn new(exit: Exit, sentence: impl Into<String>) -> Self {
        Self { exit, sentence: sentence.into(), excerpt: None }
    }
    /// Ctrl-C, after all was brought to a clean end.
    pub(crate) fn interrupted() -> Self {
        Self::new(
            Exit::Interrupted,
            "interrupted: what was written is durable, the rest was left out",
        )
    }
    /// Shows the place below the sentence.
    pub(crate) fn with_excerpt(mut self, excerpt: String) -> Self {
        self.excerpt = Some(excerpt);
        self
    }
    /// A check found a difference.
    pub(crate) fn check(sentence: impl Into<String>) -> Self {
        Self::new(Exit::Check, sentence)
    }
    /// The command line or an input file makes no sense.
    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Self::new(Exit::Usage, sentence)
    }
    /// The machine cannot do it.
    pub(crate) fn environment(sentence: impl Into<String>) -> Self {
        Self::new(Exit::Environment, sentence)
    }
    /// A bug of ours.
    pub(crate) fn broken(sentence: impl Into<String>) -> Self {
        Self::new(Exit::Broken, sentence)
    }
    /// A file could not be used. A file that is not there is a matter of the command line.
    pub(crate) fn file(what: &str, path: &Path, error: &std::io::Error) -> Self {
        use std::io::ErrorKind::{IsADirectory, NotADirectory, NotFound, PermissionDenied};
        let misnamed = matches!(error.kind(), NotFound | IsADirectory | NotADirectory);
        let exit = if misnamed { Exit::Usage } else { Exit::Environment };
        let remedy = if matches!(error.kind(), NotFound | NotADirectory) {
            ": check the name"
        } else if error.kind() == PermissionDenied {
            ": change the permissions, or name another file"
        } else {
            ""
        };
        let reason = reason(error);
        Self::new(exit, format!("cannot {what} {}: {reason}{remedy}", path.display()))
    }
    /// Whether a check found a difference.
    pub(crate) fn is_check(&self) -> bool {
        self.exit == Exit::Check
    }
    /// Its exit code.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.exit as u8)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)?;
        self.excerpt.iter().try_for_each(|excerpt| write!(f, "\n{excerpt}"))
    }
}

/// What the system says, without the number that Rust appends.
pub(crate) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let plain = text.split(" (os error").next().unwrap_or_default();
    let mut chars = plain.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_lowercase().collect::<String>() + chars.as_str())
}
