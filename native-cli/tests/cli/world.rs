//! A folder for one test, and the program in it.

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The seed's job, in small.
pub(crate) const SEED: &str = "[global]
\tioengine=psync
\trw=randwrite
\toverwrite=1
\tpre_read=1
\tdirect=0
\tbs=4k
\tsize=1m
\tdir=./
\tnumjobs=2
\tfdatasync=1
\truntime=60
\tiodepth=64
\tgroup_reporting=1

[fio-run]
";

/// A folder on a real disk.
pub(crate) struct World {
    folder: TempDir,
}

/// How the program ended.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    /// Without notes.
    pub(crate) err: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let parent = env!("CARGO_TARGET_TMPDIR");
        Self { folder: tempfile::tempdir_in(parent).expect("a folder") }
    }
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).expect("writes");
    }
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("reads")
    }
    /// Names in the folder, without those of `write`n jobs.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("lists");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("lists").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
    /// The program with these words as its arguments, in this folder.
    pub(crate) fn run(&self, words: &str) -> Ended {
        let mut command = program();
        command.current_dir(self.folder.path()).args(words.split_whitespace());
        end(&mut command)
    }
    /// The same, which must succeed and print JSON.
    pub(crate) fn json(&self, words: &str) -> Value {
        let Ended { code, out, err } = self.run(words);
        assert_eq!(code, 0, "{words}: {err}");
        serde_json::from_str(&out).expect("JSON")
    }
    /// Whether files here take `O_DIRECT`; says so if not.
    pub(crate) fn has_direct(&self) -> bool {
        self.write("probe.fio", "[probe]\nrw=write\nsize=4k\n");
        let ended = self.run("run probe.fio --target probe");
        if ended.code == 3 {
            eprintln!("NOT TESTED: {}", ended.err);
            return false;
        }
        assert_eq!(ended.code, 0, "{}", ended.err);
        for name in ["probe.fio", "probe"] {
            std::fs::remove_file(self.path(name)).expect("removes");
        }
        true
    }
}

/// The program.
pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_folioscope"))
}

/// Its path.
pub(crate) fn program_path() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_folioscope"))
}

/// Waits for it.
pub(crate) fn end(command: &mut Command) -> Ended {
    let output = command.output().expect("starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let err = text(&output.stderr);
    let err = err.lines().filter(|line| !line.starts_with("note: ")).collect::<Vec<_>>();
    Ended {
        code: output.status.code().expect("not killed"),
        out: text(&output.stdout),
        err: err.join("\n"),
    }
}
