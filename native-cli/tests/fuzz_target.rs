//! Streams of operations on real files of this kernel, in the target folder of cargo, and on a
//! fresh XFS where that can be made.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

/// Says why a test checks nothing, past the harness, which would swallow it.
fn skipped(why: &str) {
    let _ = writeln!(std::io::stdout(), "SKIPPED: {why}");
}

/// Runs so many operations in a folder.
fn agree(folder: &Path, ops: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_folioscope"));
    command.args(["fuzz", "--ops", ops, "--seed", "3", "--target"]).arg(folder);
    let output = command.output().expect("the program starts");
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{out}\n{err}");
    assert!(err.contains("note: left out here: mappings"), "{err}");
    assert!(out.contains("on real files agree"), "{out}");
    assert_eq!(std::fs::read_dir(folder).expect("lists").count(), 0, "something is left");
}

#[test]
fn a_real_file_agrees_with_a_plain_array() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    if let Err(error) = tempfile::tempfile_in(folder.path()) {
        return skipped(&format!("no unnamed file in the target folder ({error})"));
    }
    agree(folder.path(), "2000");
}

/// Takes a file system away again.
struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
#[ignore = "mounts a file system: needs root"]
fn a_fresh_xfs_agrees_with_a_plain_array() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let (image, place) = (folder.path().join("image"), folder.path().join("place"));
    std::fs::create_dir(&place).expect("a folder");
    std::fs::File::create(&image).and_then(|file| file.set_len(400 << 20)).expect("an image");
    for (program, args) in [
        ("mkfs.xfs", vec!["-q".as_ref(), "-b".as_ref(), "size=1024".as_ref(), image.as_os_str()]),
        ("mount", vec!["-o".as_ref(), "loop".as_ref(), image.as_os_str(), place.as_os_str()]),
    ] {
        match Command::new(program).args(args).output() {
            Ok(output) if output.status.success() => {}
            Ok(output) => {
                return skipped(&format!("{program}: {}", String::from_utf8_lossy(&output.stderr)));
            }
            Err(error) => return skipped(&format!("{program}: {error}")),
        }
    }
    let mounted = Mounted(&place);
    agree(mounted.0, "20000");
}
