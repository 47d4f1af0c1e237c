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
}

/// Why the program ends early.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    sentence: String,
}

/// Result of anything that can end the program.
pub(crate) type Outcome<T> = Result<T, Failure>;

impl Failure {
    /// A check found a difference.
    pub(crate) fn check(sentence: impl Into<String>) -> Self {
        Self { exit: Exit::Check, sentence: sentence.into() }
    }
    /// The command line or an input file makes no sense.
    pub(crate) fn usage(sentence: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, sentence: sentence.into() }
    }
    /// The machine cannot do it.
    pub(crate) fn environment(sentence: impl Into<String>) -> Self {
        Self { exit: Exit::Environment, sentence: sentence.into() }
    }
    /// A bug of ours.
    pub(crate) fn broken(sentence: impl Into<String>) -> Self {
        Self { exit: Exit::Broken, sentence: sentence.into() }
    }
    /// A file could not be used. A file that is not there is a matter of the command line.
    pub(crate) fn file(what: &str, path: &Path, error: &std::io::Error) -> Self {
        let exit = match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::IsADirectory => Exit::Usage,
            _ => Exit::Environment,
        };
        let reason = reason(error);
        Self { exit, sentence: format!("cannot {what} {}: {reason}", path.display()) }
    }
    /// Its exit code.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(self.exit as u8)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
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
