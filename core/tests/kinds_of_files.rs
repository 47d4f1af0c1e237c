//! What each kind of file answers where its size, or its space, is to change: the errors are the
//! kernel's (`do_sys_ftruncate`, `vfs_fallocate` and what the file systems have behind them).

use folioscope_core::errno::Errno;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run_and_read;
use folioscope_core::trace::sink::NoTrace;

/// The kinds of files, each with 16 KiB of sevens, or a zone that was not written.
const KINDS: [(&str, &str); 7] = [
    ("xfs", "size = 16384\n"),
    ("ext2", "size = 16384\nfs = \"ext2\"\n"),
    ("ext2 in buffers", "size = 16384\nfs = \"ext2\"\npath = \"buffer_head\"\n"),
    ("ext4", "size = 16384\npath = \"buffer_head_ext4\"\n"),
    ("tmpfs", "size = 16384\nmemory = true\n"),
    ("device", "size = 16384\ndevice = true\n"),
    ("zone", "fs = \"zonefs\"\nzone = 0\n"),
];

/// What came of it, and how long the file is then.
fn done(kind: &str, op: &str) -> (Result<u64, Errno>, usize) {
    let fill = if kind.contains("zonefs") || kind.contains("memory") { "" } else { "fill = 7\n" };
    let zones = if kind.contains("zonefs") { "[device]\nzone_size = 65536\n" } else { "" };
    let text = format!(
        "version = 0\ntitle = \"t\"\n[world]\npage_size = 4096\nblock_size = 4096\n\
         max_folio_order = 2\n{zones}[[file]]\nname = \"a\"\n{kind}{fill}[[op]]\n{op}"
    );
    let scenario = parse_scenario("t", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let ran = run_and_read(&scenario, &scenario.variants[0], NoTrace).expect("it ends");
    (ran.0.results[0].0.map(folioscope_core::units::Bytes::get), ran.1.seen[0].len())
}

#[test]
fn truncate() {
    const GOOD: Result<u64, Errno> = Ok(0);
    let to = |kind, size: u64| done(kind, &format!("do = \"truncate\"\nsize = {size}\n"));
    for (name, kind) in &KINDS[..5] {
        for size in [0, 5000, 8192, 16384, 20000] {
            assert_eq!(to(kind, size), (GOOD, size as usize), "{name} {size}");
        }
    }
    assert_eq!(to(KINDS[5].1, 0), (Err(Errno::Inval), 16384), "a device has its size");
    assert_eq!(to(KINDS[6].1, 0), (GOOD, 0), "the zone is empty already");
    assert_eq!(to(KINDS[6].1, 65536), (GOOD, 65536), "the zone is finished");
    assert_eq!(to(KINDS[6].1, 4096), (Err(Errno::Perm), 0), "and nothing between");
}

#[test]
fn fallocate() {
    const ALL: [(&str, usize); 8] = [
        ("alloc", 20480),
        ("keep", 16384),
        ("punch", 16384),
        ("zero", 20480),
        ("zero_keep", 16384),
        ("collapse", 12288),
        ("insert", 20480),
        ("unshare", 20480),
    ];
    let at = |mode: &str| if ["collapse", "insert"].contains(&mode) { 4096 } else { 16384 };
    let call = |kind, mode: &str, at: u64, len: u64| {
        done(kind, &format!("do = \"fallocate\"\nmode = {mode:?}\nat = {at}\nlen = {len}\n"))
    };
    // The reader takes no such call of a zone.
    for (name, kind) in &KINDS[..6] {
        let size = done(kind, "do = \"fsync\"\n").1;
        for (mode, grown) in ALL {
            let knows = *name == "xfs" || *name == "ext4" && mode != "unshare";
            let want = if knows { (Ok(0), grown) } else { (Err(Errno::OpNotSupp), size) };
            assert_eq!(call(kind, mode, at(mode), 4096), want, "{name} {mode}");
            // Asked of every file system alike, before it is asked for anything.
            assert_eq!(call(kind, mode, 4096, 0).0, Err(Errno::Inval), "{name} {mode}");
        }
    }
    for kind in [KINDS[0].1, KINDS[3].1] {
        for (mode, start, len) in [
            ("collapse", 4000, 4096),
            ("collapse", 4096, 5000),
            ("collapse", 12288, 4096),
            ("insert", 4000, 4096),
            ("insert", 4096, 5000),
            ("insert", 16384, 4096),
        ] {
            let want = (Err(Errno::Inval), 16384);
            assert_eq!(call(kind, mode, start, len), want, "{mode} {start} {len}");
        }
    }
}

/// Where there is data, and where not: a device has no holes, memory has what was put there.
#[test]
fn seek() {
    for (name, kind) in KINDS {
        let to = |what: &str, at: u64| done(kind, &format!("do = {what:?}\nat = {at}\n")).0;
        let none = Err(Errno::NxIo);
        let want = match name {
            "tmpfs" => [none, Ok(0), none],
            "zone" => [none, none, none],
            _ => [Ok(0), Ok(16384), none],
        };
        let got = [to("seek_data", 0), to("seek_hole", 0), to("seek_data", 16384)];
        assert_eq!(got, want, "{name}");
    }
}
