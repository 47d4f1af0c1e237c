//! What is refused: the exit code, one sentence, and nothing half written.

use crate::world::{SEED, World, end, program_path};
use assert_cmd::Command;
use std::os::unix::fs::{PermissionsExt, symlink};

/// Runs, and expects this exit code and a sentence that begins so.
fn refused(world: &World, words: &str, code: i32, start: &str) {
    let before = world.names();
    let ended = world.run(words);
    assert_eq!(ended.code, code, "{words}: {}", ended.err);
    let start = format!("folioscope: {start}");
    assert!(ended.err.starts_with(&start), "{words}:\n{}\nexpected\n{start}", ended.err);
    assert_eq!(ended.out, "", "{words}");
    assert_eq!(world.names(), before, "{words} left something");
    let sentence = ended.err.lines().next().unwrap_or_default();
    assert!(!sentence.contains("  "), "{words}: {sentence}");
    let excerpt = ended
        .err
        .lines()
        .skip(1)
        .all(|line| line.get(5..8) == Some(" | ") || line.get(6..8) == Some("| "));
    assert!(excerpt, "{words}: {}", ended.err);
}

#[test]
fn bad_jobs_name_line_column_and_key() {
    let world = World::new();
    for (text, start) in [
        ("[j]\nsize=1m\nverify=md5\n", "job.fio:3:1: unknown or unsupported key \"verify\""),
        ("[j]\nsize=-4k\n", "job.fio:2:6: size: \"-4k\" is negative"),
        ("[j]\nsize=4k\nbs=8k\n", "job.fio:3:4: bs: a block of 8 KiB does not fit into size"),
        ("bs=4k\n", "job.fio:1:1: \"bs\" stands before any section"),
        ("[j]\nioengine=libaio\n", "job.fio:2:10: ioengine: \"libaio\" is not supported"),
        ("", "job.fio:1:1: the file has no job"),
    ] {
        world.write("job.fio", text);
        refused(&world, "run job.fio --target . --trace t", 2, start);
    }
    world.write("job.fio", [0xff; 4]);
    refused(&world, "run job.fio", 2, "job.fio:1:1: this is not text in UTF-8");
    world.write("job.fio", vec![b' '; 2_000_000]);
    refused(&world, "run job.fio", 2, "job.fio is longer than 1048576 bytes");
    refused(&world, "run absent.fio", 2, "cannot read absent.fio: no such file");
}

#[test]
fn files_of_other_kinds_say_what_was_expected() {
    let world = World::new();
    world.write("binary.json", [b'{', 0xff, 0xfe]);
    let says = "binary.json is not text in UTF-8 (byte 1): expected a golden in JSON";
    refused(&world, "conform binary.json", 2, says);
    world.write("empty.toml", "# nothing\n");
    refused(&world, "run empty.toml", 2, "empty.toml:1:1: the file says nothing: a scenario has");
}

#[test]
fn bad_options_say_what_was_expected() {
    let world = World::new();
    world.write("job.fio", "[j]\nrw=write\nsize=1m\n");
    world.write("two.fio", SEED);
    world.write("s.toml", include_str!("../../../assets/scenarios/sub-page-dirty-tracking.toml"));
    let file = "version = 0\ntitle = \"t\"\n[world]\npage_size = 4096\nblock_size = 4096\nmax_folio_order = 0\n\
                [[file]]\nname = \"f\"\n[[op]]\ndo = \"truncate\"\nsize = \"2g\"\n";
    world.write("one.toml", file);
    let traced = world.run("run one.toml --trace t.trace");
    assert_eq!(traced.code, 0, "{}", traced.err);
    let mut bytes = world.read("t.trace");
    bytes.push(0);
    world.write("long.trace", bytes);
    world.write("big.toml", format!("{file}[[op]]\ndo = \"fsync\"\ntask = \"a\"\n"));
    world.write("held.toml", format!("{file}[[op]]\ndo = \"fadvise\"\nadvice = \"willneed\"\n"));
    for (words, start) in [
        ("run job.fio --profile linux-2.4", "--profile \"linux-2.4\" is unknown: expected one of"),
        ("run job.fio --set x=1", "--set: no switch `x`: expected one of dirty_tracking"),
        ("run job.fio --set dirty_tracking", "--set \"dirty_tracking\" has no value"),
        ("run job.fio --page-size 5k", "page_size is 5120: expected a power of two"),
        ("run job.fio --page-size 4k --block-size 64k --max-folio-order 2", "block_size is 65536"),
        ("run job.fio --memory 4k", "the files of the job need 1 MiB of memory"),
        ("run job.fio --variant x", "--variant is for scenarios"),
        ("run job.fio --limits /dev/null", "--limits is for scenarios"),
        ("run s.toml --limits /dev/null", "--limits /dev/null is no block device"),
        ("run s.toml --limits absent", "--limits absent is no block device"),
        ("run job.fio --trace .", "--trace . is a folder"),
        ("run job.fio --trace no/where", "cannot write no/where: no such file or directory"),
        ("run two.fio --target one", "--target one is one file, and the job has 2 copies"),
        ("run s.toml --target x", "--target is for jobs of fio"),
        ("run s.toml --trace t", "a trace holds one run, and the scenario has 2 variants"),
        ("run s.toml --variant x", "--variant \"x\" is not in the scenario"),
        ("render job.fio", "job.fio is neither a trace nor a scenario"),
        ("run s.toml --depth 3", "--depth is for jobs of fio"),
        ("run s.toml --memory 1g", "--memory is for jobs of fio"),
        ("render s.toml --step 99999", "--step is 99999: the run has 625 steps"),
        ("render s.toml --width 400", "--width and --theme are for pictures"),
        ("render s.toml --theme dark", "--width and --theme are for pictures"),
        ("render t.trace --variant x", "--variant is \"x\", and t.trace is a trace"),
        ("steps long.trace", "long.trace: the trace is damaged in the block at byte"),
        ("explore big.toml", "big.toml: its files are compared byte for byte and grow to 2 GiB"),
        ("crash big.toml", "big.toml: its files are compared byte for byte and grow to 2 GiB"),
        ("fuzz --replay big.toml", "big.toml: its files are compared byte for byte and grow to 2"),
        ("run held.toml", "held.toml:7:1: with this file the run would hold 2 GiB in memory"),
    ] {
        refused(&world, words, 2, start);
    }
    for words in [
        "run",
        "frobnicate",
        "run job.fio --depth 0",
        "run job.fio --page-size 4q",
        "explore s.toml --max-schedules 0",
        "explore s.toml --seed 1 --bound 1",
        "crash --seed 18446744073709551615",
        "crash --print --runs 3",
    ] {
        let ended = world.run(words);
        assert_eq!(ended.code, 2, "{words}: {}", ended.err);
        assert!(ended.err.starts_with("error: "), "{words}: {}", ended.err);
    }
}

#[test]
fn files_that_could_be_hurt_are_left_alone() {
    let world = World::new();
    world.write("job.fio", "[j]\nrw=write\nsize=64k\n");
    world.write("precious", "precious");
    symlink(world.path("precious"), world.path("link")).expect("links");
    let precious = |words: &str, code, start: &str| {
        refused(&world, &format!("run job.fio {words}"), code, start);
        assert_eq!(world.read("precious"), b"precious");
    };
    precious("--target precious", 2, "precious exists: name a file that does not");
    precious("--target link --overwrite", 2, "link is a symbolic link");
    precious("--target /dev/null --overwrite", 2, "/dev/null is not a regular file");
    precious("--target absent/file", 2, "cannot open absent/file: no such file or directory");
    std::fs::hard_link(world.path("precious"), world.path("second")).expect("links");
    precious("--target precious --overwrite", 2, "precious has 2 names (hard links)");
    std::fs::remove_file(world.path("second")).expect("removes");
    world.write("huge.fio", "[j]\nrw=write\nsize=1024t\n");
    let huge = "run huge.fio --memory 2048t --target precious --overwrite";
    refused(&world, huge, 3, "precious needs");
    assert_eq!(world.read("precious"), b"precious");
}

/// What `--trace` and `--output` would replace is a file of its own, or it stays.
#[test]
fn results_replace_no_device_no_input_and_no_target() {
    let world = World::new();
    world.write("job.fio", "[j]\nrw=write\nsize=64k\n");
    world.write("old", "old");
    let socket = std::os::unix::net::UnixListener::bind(world.path("socket")).expect("binds");
    symlink(world.path("socket"), world.path("link")).expect("links");
    for (words, start) in [
        ("run job.fio --trace socket", "--trace socket is not a regular file: name a file"),
        ("run job.fio --trace link", "--trace link is not a regular file"),
        ("run job.fio --trace ./job.fio", "--trace ./job.fio is also an input or the target"),
        ("run job.fio --trace f --target f", "--trace f is also an input or the target"),
        ("run job.fio --trace j.0.0 --target .", "--trace j.0.0 is also an input or the target"),
        ("run job.fio --trace .", "--trace . is a folder"),
    ] {
        refused(&world, words, 2, start);
    }
    drop(socket);
    let kind = std::fs::symlink_metadata(world.path("link")).expect("is there").file_type();
    assert!(kind.is_symlink());
    // A link to a file stays, and the file gets the result.
    std::fs::remove_file(world.path("link")).expect("removes");
    symlink("old", world.path("link")).expect("links");
    assert_eq!(world.run("run job.fio --trace link").code, 0);
    assert!(world.read("old").starts_with(b"folioscope-trace"));
    refused(&world, "render old --output old", 2, "--output old is also an input");
}

#[test]
fn files_larger_than_memory_are_refused_before_anything_is_made() {
    let world = World::new();
    world.write("huge.fio", "[j]\nrw=write\nsize=1024t\n");
    world.write("old", "old");
    refused(&world, "run huge.fio --target new", 2, "the files of the job need 1048576 GiB");
    refused(&world, "run huge.fio --target old --verify-only", 2, "the files of the job need");
    world.write("tiny.fio", "[j]\nrw=write\nsize=1m\nbs=1\n");
    refused(&world, "run tiny.fio --verify --memory 8m", 2, "the files of the job need 11 MiB");
}

#[test]
fn a_target_without_permission_is_refused() {
    let world = World::new();
    world.write("job.fio", "[j]\nrw=write\nsize=64k\n");
    world.write("locked", "");
    let locked = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(world.path("locked"), locked).expect("locks");
    let start = "cannot open locked: permission denied: change the permissions";
    if std::fs::File::options().write(true).open(world.path("locked")).is_err() {
        refused(&world, "run job.fio --target locked --overwrite", 3, start);
        return;
    }
    // Root may write everything, but not in a namespace in which it is nobody.
    let mut command = Command::new("unshare");
    command.arg("--user").arg(program_path()).current_dir(world.path("."));
    let ended = end(command.args(["run", "job.fio", "--target", "locked", "--overwrite"]));
    if ended.err.contains("unshare") {
        eprintln!("NOT TESTED: this user may write everything, and {}", ended.err);
        return;
    }
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert!(ended.err.starts_with(&format!("folioscope: {start}")), "{}", ended.err);
}

/// A file system without `O_DIRECT` needs a mount, in a namespace of its own.
#[test]
fn without_o_direct_the_fallback_must_be_asked_for() {
    let world = World::new();
    world.write("job.fio", "[j]\nrw=randwrite\nsize=64k\noverwrite=1\n");
    std::fs::create_dir(world.path("ram")).expect("makes a folder");
    let mounted = |options: &str| {
        let program = program_path().display();
        let script = format!(
            "mount -t ramfs none ram || exit 99; '{program}' run job.fio --target ram {options}; \
             code=$?; ls ram; exit $code"
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "--user", "--map-root-user", "sh", "-c", &script]);
        command.current_dir(world.path("."));
        end(&mut command)
    };
    let plain = mounted("");
    if plain.err.contains("unshare") || plain.code == 99 {
        eprintln!("NOT TESTED: no mount in a namespace here: {}", plain.err);
        return;
    }
    assert_eq!((plain.code, plain.out.as_str()), (3, ""), "{}", plain.err);
    let start = "folioscope: ram/j.0.0 is on a file system without O_DIRECT: name a file elsewhere";
    assert!(plain.err.starts_with(start), "{}", plain.err);
    let fallback = mounted("--buffered-fallback --verify");
    assert_eq!(fallback.code, 0, "{}", fallback.err);
    assert!(fallback.err.contains("warning: ram/j.0.0 is on a file system"), "{}", fallback.err);
    assert!(fallback.out.contains("WITHOUT O_DIRECT"), "{}", fallback.out);
}

#[test]
fn broken_traces_are_told_apart() {
    let world = World::new();
    world.write("s.toml", include_str!("../../../assets/scenarios/sub-page-dirty-tracking.toml"));
    let variant = "--variant";
    let mut command = crate::world::program();
    command.current_dir(world.path(".")).args(["run", "s.toml", "--trace", "t", variant]);
    assert_eq!(end(command.arg("per block")).code, 0);
    let bytes = world.read("t");
    world.write("cut", &bytes[..bytes.len() / 2]);
    refused(&world, "render cut", 2, "cut: the trace is cut off at byte");
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 1;
    world.write("damaged", &damaged);
    refused(&world, "render damaged", 2, "damaged: the trace is damaged in the block at byte");
    world.write("newer", [&bytes[..17], &[9, 0], &bytes[19..]].concat());
    refused(&world, "render newer", 2, "newer: the trace has version 9");
    refused(&world, "run t", 2, "t is a trace, which is the result of a run");
}
