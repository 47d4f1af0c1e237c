//! Jobs and scenarios that work.

use crate::world::{SEED, World, program_path};
use folioscope_core::counters::Counter;
use folioscope_core::trace::timeline::Timeline;
use folioscope_core::trace::wire;
use std::process::Stdio;
use std::time::Duration;

const KIB: u64 = 1024;

#[test]
fn the_seed_in_small_is_sixteen_to_one_on_a_real_file() {
    let world = World::new();
    if !world.has_direct() {
        return;
    }
    world.write("seed.fio", SEED);
    let mut devices = Vec::new();
    for tracking in ["per-folio", "per-block"] {
        let run = world.json(&format!(
            "run seed.fio --target . --overwrite --page-size 64k --max-folio-order 0 --verify \
             --set dirty_tracking={tracking} --json"
        ));
        let total = &run["total"];
        assert_eq!(run["target"]["kind"], "direct");
        assert_eq!(total["verified"], true);
        assert_eq!(total["app_bytes_written"], 2048 * KIB);
        assert_eq!(total["write_latency"]["count"], 512);
        assert_eq!(total["sync_latency"]["count"], 512);
        devices.push(total["device_bytes_written"].as_u64().expect("a number"));
    }
    assert_eq!(devices, [16 * 2048 * KIB, 2048 * KIB]);
    // Both wrote the same, so the files are the same byte for byte.
    assert_eq!(world.run("run seed.fio --target . --verify-only").code, 0);
}

#[test]
fn with_small_pages_it_is_one_to_one() {
    let world = World::new();
    if !world.has_direct() {
        return;
    }
    world.write("seed.fio", SEED);
    for tracking in ["per-folio", "per-block"] {
        let run = world.json(&format!(
            "run seed.fio --target . --overwrite --page-size 4k --max-folio-order 0 --verify \
             --set dirty_tracking={tracking} --json"
        ));
        assert_eq!(run["total"]["amplification"], 1.0, "{tracking}");
        assert_eq!(run["total"]["clean_bytes_written"], 0, "{tracking}");
    }
}

#[test]
fn files_are_right_whatever_their_size_and_the_blocks() {
    let world = World::new();
    if !world.has_direct() {
        return;
    }
    for (job, options) in [
        ("rw=write\nsize=10000\nbs=3000", ""),
        ("rw=randwrite\nsize=100000\nbs=1000\noverwrite=1\nfsync=7", "--block-size 512"),
        ("rw=randwrite\nsize=100000\nbs=1000\noverwrite=1\npre_read=1", "--page-size 64k"),
        ("rw=write\nsize=3m\nbs=1m", "--depth 1"),
        ("rw=write\nsize=3m\nbs=256k\nfdatasync=3", "--page-size 64k --max-folio-order 5"),
        ("rw=randread\nsize=100000\nbs=1000", "--block-size 2k --profile linux-6.1"),
    ] {
        world.write("job.fio", format!("[job]\n{job}\n"));
        let ended = world.run(&format!("run job.fio --target . --overwrite --verify {options}"));
        assert_eq!(ended.code, 0, "{job}: {}", ended.err);
        let right =
            "verify: every byte is right: read with O_DIRECT, through the kernel's page cache";
        assert!(ended.out.contains(right), "{job}: {}", ended.out);
        assert_eq!(world.run("run job.fio --target . --verify-only").code, 0, "{job}");
    }
}

#[test]
fn one_wrong_byte_is_found() {
    let world = World::new();
    if !world.has_direct() {
        return;
    }
    world.write("job.fio", "[job]\nrw=randwrite\nsize=64k\noverwrite=1\n");
    assert_eq!(world.run("run job.fio --target data").code, 0);
    let mut bytes = world.read("data");
    bytes[12_345] ^= 0x10;
    world.write("data", &bytes);
    let ended = world.run("run job.fio --target data --verify-only");
    assert_eq!(ended.code, 1);
    let expected = "folioscope: verify: data differs at byte 12345: expected 0x";
    assert!(ended.err.starts_with(expected), "{}", ended.err);
    assert!(ended.err.contains("1 bytes differ in all"), "{}", ended.err);
    world.write("data", &bytes[..60_000]);
    let ended = world.run("run job.fio --target data --verify-only");
    assert_eq!(ended.code, 1);
    assert!(ended.err.contains("verify: data has 60000 bytes, expected 65536"), "{}", ended.err);
}

#[test]
fn tracing_changes_nothing_and_the_trace_tells_the_same() {
    let world = World::new();
    if !world.has_direct() {
        return;
    }
    world
        .write("job.fio", "[job]\nrw=randwrite\nsize=256k\noverwrite=1\npre_read=1\nfdatasync=4\n");
    let options = "--page-size 64k --set dirty_tracking=per-folio --json";
    let plain = world.json(&format!("run job.fio --target plain {options}"));
    let traced = world.json(&format!("run job.fio --target traced --trace out.trace {options}"));
    assert_eq!(world.read("plain"), world.read("traced"));
    let (header, recording) = wire::decode(&world.read("out.trace")).expect("a trace");
    let mut timeline = Timeline::new(header, recording).expect("it replays");
    timeline.seek(timeline.len());
    let counters = timeline.model().counters();
    for (name, counter) in [
        ("device_bytes_written", Counter::DeviceWritten),
        ("app_bytes_written", Counter::AppWritten),
    ] {
        assert_eq!(plain["total"][name], traced["total"][name]);
        assert_eq!(traced["total"][name], counters.get(counter), "{name}");
    }
    let picture = world.run("render out.trace").out;
    assert!(picture.contains("real I/O on a regular file"), "{picture}");
    assert!(picture.lines().all(|line| line.chars().count() <= 72), "{picture}");
    let svg = world.run("render out.trace --format svg --step 40 --width 600");
    assert!(svg.out.starts_with("<svg"), "{}", svg.out);
}

#[test]
fn a_simulated_run_counts_as_a_real_one() {
    let world = World::new();
    if !world.has_direct() {
        return;
    }
    world.write("seed.fio", SEED);
    let options = "--page-size 64k --set dirty_tracking=per-folio --json --verify";
    let real = world.json(&format!("run seed.fio --target . {options}"));
    let simulated = world.json(&format!("run seed.fio {options}"));
    assert_eq!(simulated["target"]["kind"], "simulated");
    for name in ["app_bytes_written", "device_bytes_written", "clean_bytes_written", "write_bios"] {
        assert_eq!(real["total"][name], simulated["total"][name], "{name}");
    }
}

#[test]
fn the_lesson_runs_from_its_file() {
    let world = World::new();
    let lesson = include_str!("../../../assets/scenarios/sub-page-dirty-tracking.toml");
    world.write("lesson.toml", lesson);
    let run = world.json("run lesson.toml --json");
    let variants = run["variants"].as_array().expect("variants");
    let ratios: Vec<f64> =
        variants.iter().map(|one| one["amplification"].as_f64().expect("a ratio")).collect();
    assert_eq!(ratios, [16.0, 1.0]);
    let picture = world.run("render lesson.toml").out;
    assert!(picture.contains("A: wrote 96 KiB, device got 1.5 MiB (16 x)"), "{picture}");
}

#[test]
fn a_scenario_that_keeps_going_shows_what_breaks() {
    let world = World::new();
    let lesson = include_str!("../../../assets/scenarios/data-before-map-large.toml");
    world.write("lesson.toml", lesson);
    let run = world.json("run lesson.toml --json");
    let variants = run["variants"].as_array().expect("variants");
    let broken: Vec<_> = variants.iter().map(|one| &one["counters"]["broken_invariants"]).collect();
    assert_eq!(broken, [0, 0, 1]);
}

#[test]
fn the_demo_leaves_nothing_behind() {
    let world = World::new();
    let ended = world.run("");
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.out.contains("16.00                1.00"), "{}", ended.out);
    assert!(ended.out.lines().all(|line| line.chars().count() <= 72), "{}", ended.out);
    assert_eq!(world.names(), Vec::<String>::new());
}

#[test]
fn an_interrupt_leaves_what_was_written_durable_and_says_so() {
    let world = World::new();
    if !world.has_direct() {
        return;
    }
    world.write("job.fio", "[job]\nrw=randwrite\nsize=512m\noverwrite=1\nfdatasync=1\n");
    let child = std::process::Command::new(program_path())
        .args(["run", "job.fio", "--target", "data", "--trace", "t"])
        .current_dir(world.path("."))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    // The file is laid out first; the job itself takes minutes.
    let laid_out = || std::fs::metadata(world.path("data")).is_ok_and(|m| m.len() >= 512 << 20);
    while !laid_out() {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill runs").success());
    let output = child.wait_with_output().expect("ends");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(out.contains("ended early (interrupted): "), "{out}");
    assert!(err.contains("folioscope: interrupted: what was written is durable"), "{err}");
    wire::decode(&world.read("t")).expect("the trace is complete");
}
