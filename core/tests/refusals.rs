//! What a scenario file cannot say is refused in one sentence with its place: things that mean
//! nothing, or that cannot be together.

use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::write::write_scenario;

const HEAD: &str = "version = 0\ntitle = \"t\"\n";
const WORLD: &str = "[world]\npage_size = 4096\nblock_size = 4096\nmax_folio_order = 4\n";
const FILE: &str = "[[file]]\nname = \"f\"\nsize = \"64k\"\n";
const DISK: &str =
    "rpm = 7200\nsize = \"1g\"\ntrack = \"1m\"\nsettle_us = 1\nseek_us = 1\nflush_us = 1\n";
const RAM: &str = "depth = 1\nlatency_us = 1\nmib_per_second = 1\nflush_us = 1\n";

/// A world and a file of 64 KiB, and behind them these lines: the first of them is line 10.
fn text(lines: &str) -> String {
    format!("{HEAD}{WORLD}{FILE}{lines}\n")
}

fn refused(text: &str) -> String {
    parse_scenario("s", text)
        .err()
        .map_or_else(|| panic!("read:\n{text}"), |error| error.to_string())
}

/// Every text with the sentence that it is refused with.
fn all_refused(cases: &[(String, &str)]) {
    for (text, want) in cases {
        let told = refused(text);
        assert!(told.starts_with(want), "{text}\n{told}\nexpected\n{want}");
        assert!(!told.contains(['\n', '\u{1b}']) && !told.contains("  "), "{told}");
    }
}

fn good(text: &str) {
    parse_scenario("s", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
}

#[test]
fn keys_that_an_operation_does_not_take() {
    let op = |lines: &str| text(&format!("[[op]]\n{lines}"));
    all_refused(&[
        (
            op("do = \"pread\"\nlen = 1\nmode = \"punch\""),
            "s:13:1: `pread` takes no `mode`: leave it out; it takes `at`, `len`, `nowait`, \
             `direct`, `dontcache`, `do`, `task`, `file`, `repeat`, `then`",
        ),
        (op("do = \"fsync\"\nbyte = 3"), "s:12:1: `fsync` takes no `byte`: leave it out; it takes"),
        (op("do = \"fsync\"\ndirect = true"), "s:12:1: `fsync` takes no `direct`"),
        (op("do = \"randwrite\"\nlen = 1\nat = 0"), "s:13:1: `randwrite` takes no `at`"),
        (op("do = \"pwrite\""), "s:10:1: `len` is missing: `pwrite` needs it"),
    ]);
}

#[test]
fn keys_that_a_level_of_arrays_does_not_take() {
    let array = |lines: &str| text(&format!("[array]\n{lines}"));
    let four = |level: &str, more: &str| {
        array(&format!("level = \"{level}\"\nmembers = 4\nchunk = \"4k\"\n{more}"))
    };
    all_refused(&[
        (
            four("raid0", "layout = \"left-symmetric\""),
            "s:14:1: `raid0` takes no `layout`: leave it out; it takes `chunk`, `level`, \
             `members`, `failed`",
        ),
        (four("raid0", "rmw_level = 1"), "s:14:1: `raid0` takes no `rmw_level`"),
        (four("raid10", "consistency = \"none\""), "s:14:1: `raid10` takes no `consistency`"),
        (
            four("raid6", "consistency = \"ppl\""),
            "s:14:15: consistency is ppl, which raid5 has: expected none, bitmap or journal",
        ),
        (four("raid1", ""), "s:13:1: `raid1` takes no `chunk`"),
        (
            four("raid4", "layout = \"left-symmetric\""),
            "s:14:10: layout is `left-symmetric`: raid4 has parity-last only, leave it out",
        ),
        (four("raid10", "layout = \"f+2\""), "s:14:10: no layout `f+2` of raid10: expected n, f"),
        (four("raid10", "layout = \"f\""), "s:14:10: no layout `f` of raid10"),
        (
            four("raid10", "layout = \"o5\""),
            "s:14:10: 4 members cannot hold the copies of layout o5, each on another one: expected",
        ),
        (
            array("level = \"raid10\"\nmembers = 1\nchunk = \"4k\""),
            "s:12:11: 1 members cannot hold the copies of layout n2",
        ),
        (four("raid5", "failed = [1, 1]"), "s:14:14: failed has 1 twice: leave one out"),
        (
            four("raid5", "failed = [0, 2]"),
            "s:14:10: failed is [0, 2]: a raid5 of 4 members has lost data without these, name",
        ),
        (four("raid6", "failed = [0, 1, 2]"), "s:14:10: failed is [0, 1, 2]: a raid6 of 4"),
        (four("raid0", "failed = [3]"), "s:14:10: failed is [3]: a raid0 of 4 members"),
        (four("raid10", "failed = [2, 3]"), "s:14:10: failed is [2, 3]: a raid10 of 4 members"),
        (
            four("raid10", "layout = \"f2\"\nfailed = [1, 2]"),
            "s:15:10: failed is [1, 2]: a raid10 of 4",
        ),
        (array("level = \"raid1\"\nmembers = 2\nfailed = [0, 1]"), "s:13:10: failed is [0, 1]"),
        (four("raid5", "failed = [4]"), "s:14:11: failed is 4: expected 0 to 3"),
        (four("raid5", "failed = [\"a\"]"), "s:14:10: failed is a list: expected whole numbers in"),
        (
            four("raid0", "[[op]]\ndo = \"check_array\""),
            "s:15:6: check_array: a raid0 has neither copies nor parity to make anything of",
        ),
        (
            four("raid5", "[[op]]\ndo = \"fail_member\"\nmember = -1"),
            "s:16:10: member is -1: expected 0 to 3",
        ),
        (
            four("raid5", "[[op]]\ndo = \"fail_member\"\nmember = 1\ntask = \"a\""),
            "s:17:8: fail_member happens while no task is at anything: leave out `task`, and name",
        ),
    ]);
    good(&four("raid6", "failed = [0, 3]"));
    good(&four("raid10", "failed = [0, 2]"));
    good(&four("raid10", "layout = \"o2\"\nfailed = [1, 3]"));
    good(&four("raid4", "layout = \"parity-last\""));
    good(&array("level = \"raid1\"\nmembers = 3\nfailed = [0, 2]"));
    // A setting with another level has nothing to unsay.
    let more = "layout = \"left-asymmetric\"\nconsistency = \"bitmap\"\n[[variant]]\nname = \"a\"\n\
                [[variant]]\nname = \"b\"\n[variant.array]\nlevel = \"raid0\"\n";
    let scenario = parse_scenario("s", &four("raid5", more)).expect("a good file");
    let again = write_scenario(&scenario).expect("a file can say it");
    assert_eq!(parse_scenario("s", &again).expect("it reads back"), scenario);
    all_refused(&[(
        four("raid5", &format!("{more}rmw_level = 1")),
        "s:22:1: `raid0` takes no `rmw_level`",
    )]);
}

#[test]
fn faults_that_cannot_fire() {
    let fault =
        |lines: &str| text(&format!("[[op]]\ndo = \"pwrite\"\nlen = 1\n[[fault]]\n{lines}"));
    all_refused(&[
        (fault("at = \"fault_in\"\nop = 0"), "s:13:1: `copied` is missing: the first byte"),
        (fault("at = \"flush\"\nsector = 1"), "s:15:1: `flush` takes no `sector`"),
        (fault("at = \"alloc_bio\"\nreturns = \"hole\""), "s:15:1: `alloc_bio` takes no `returns`"),
        (
            text("[[fault]]\nat = \"flush\"\nop = 0"),
            "s:12:6: op is 0: expected no number, as there is no [[op]]",
        ),
    ]);
}

#[test]
fn an_order_needs_somebody_to_choose_from() {
    let fsync = "[[op]]\ndo = \"fsync\"\n";
    let says = "says who goes next, and no [[op]] has a `task` of its own: leave it out, or say";
    all_refused(&[
        (text(&format!("{fsync}[run]\nseed = 1")), &format!("s:13:8: seed {says}")),
        (text(&format!("{fsync}[kswapd]\npages = 1")), &format!("s:13:9: [kswapd] {says}")),
        (
            text(&format!("{fsync}[[schedule]]\ntask = \"main\"\nuntil = \"end\"")),
            &format!("s:12:1: [[schedule]] {says}"),
        ),
        (text(&format!("{fsync}[run]")), "s:12:1: missing field `seed`"),
        (
            text(&format!("{fsync}[[variant]]\nname = \"v\"\n[variant.run]\nseed = 1")),
            &format!("s:15:8: seed {says}"),
        ),
    ]);
    let cut = "[[op]]\ndo = \"fsync\"\ntask = \"a\"\n[[op]]\ndo = \"power_cut\"\n";
    let main = "[[schedule]]\ntask = \"main\"\nuntil = \"end\"\n";
    good(&text(cut));
    all_refused(&[
        (text(&format!("{cut}{main}")), "s:14:6: power_cut happens while no task is at anything"),
        (text(&format!("{cut}task = \"b\"")), "s:15:8: power_cut happens while no task is at"),
    ]);
    good(&text(&format!("{fsync}task = \"a\"\n[run]\nseed = 1")));
}

#[test]
fn files_with_keys_of_other_files() {
    let file = |lines: &str| format!("{HEAD}{WORLD}[[file]]\nname = \"f\"\n{lines}\n");
    let zoned = |lines: &str| {
        let zone = "[[file]]\nname = \"z\"\nfs = \"zonefs\"\nzone = 2\n";
        format!("{HEAD}[device]\nzone_size = \"64k\"\nconventional_zones = 1\n{WORLD}{zone}{lines}")
    };
    let array = "[array]\nlevel = \"raid0\"\nmembers = 2\nchunk = \"4k\"\n";
    all_refused(&[
        (file("zone = 1"), "s:9:8: `zone` is for a file with fs = \"zonefs\": say it, or leave"),
        (file("memory = true\nsector = 8"), "s:10:1: a file in memory takes no `sector`: leave it"),
        (file("memory = true\ndisk = \"d\""), "s:10:1: a file in memory takes no `disk`"),
        (
            file("device = true\nprealloc = 1"),
            "s:10:1: a file that is a device takes no `prealloc`",
        ),
        (file("fs = \"ext2\"\nprealloc = 1"), "s:10:1: a file of ext2 takes no `prealloc`"),
        (
            zoned("[[file]]\nname = \"y\"\nfs = \"zonefs\"\nzone = 2"),
            "s:17:8: zone 2 is file `z`: choose another zone",
        ),
        (zoned("sector = 3"), "s:14:1: a file that is a zone takes no `sector`"),
        (zoned("prealloc = 3"), "s:14:1: a file that is a zone takes no `prealloc`"),
        (
            zoned(&format!("disk = \"d\"\n[[disk]]\nname = \"d\"\n{RAM}")),
            "s:14:1: a file that is a zone takes no `disk`",
        ),
        (zoned("path = \"buffer_head_ext4\""), "s:14:1: a file that is a zone takes no `path`"),
        (zoned("[partition]\nstart = 512"), "s:15:9: start is 512 bytes: expected whole zones, a"),
        (zoned(array), "s:14:1: an array has no zones: leave out [array], or `zone_size`"),
        (
            zoned("").replace("zone = 2", "zone = 0\nsize = 4096"),
            "s:14:8: size is 4096 bytes: expected the whole zone, 65536",
        ),
    ]);
    good(&zoned("[partition]\nstart = \"128k\""));
}

#[test]
fn blocks_that_are_shared() {
    let shares = |first: &str, second: &str, more: &str| {
        format!(
            "{HEAD}{WORLD}[[file]]\nname = \"a\"\nsize = 4096\n{first}[[file]]\nname = \"b\"\n\
             shares = \"a\"\n{second}{more}"
        )
    };
    let disk = format!("[[disk]]\nname = \"d\"\n{RAM}");
    let ext4 = "path = \"buffer_head_ext4\"\n";
    all_refused(&[
        (
            shares(ext4, "", ""),
            "s:13:10: file `a` is one of the ext4 driver, which shares nothing: share those of",
        ),
        (shares("", ext4, ""), "s:12:1: a file of the ext4 driver takes no `shares`"),
        (
            shares("", "disk = \"d\"\n", &disk),
            "s:12:10: file `a` is on another disk, and blocks are shared on one only: share",
        ),
        (shares("", "size = 4096\n", ""), "s:13:1: a file that shares its blocks takes no `size`"),
        (shares("", "sector = 1\n", ""), "s:13:1: a file that shares its blocks takes no `sector`"),
    ]);
    good(&shares("disk = \"d\"\n", "disk = \"d\"\n", &disk));
}

#[test]
fn sizes_that_do_not_fit_together() {
    let world = |page: &str, block: &str, order: &str, more: &str| {
        format!(
            "{HEAD}[world]\npage_size = {page}\nblock_size = {block}\nmax_folio_order = {order}\n\
             {more}"
        )
    };
    let array = "[array]\nlevel = \"raid5\"\nmembers = 3\nchunk = \"4k\"\n";
    let sizes = "a size such as 4096, \"64k\" or \"2 MiB\", at most 17179869184 bytes (16 GiB)";
    let size = |value: &str| text(&format!("[[op]]\ndo = \"truncate\"\nsize = {value}"));
    let expected = |shown: &str| format!("s:12:8: size is {shown}: expected {sizes}");
    let disk =
        |lines: &str| format!("{HEAD}[device]\n{DISK}{WORLD}[[file]]\nname = \"f\"\n{lines}");
    let extent = "[[file.extent]]\nat = 0\nlen = 4096\ntype = \"mapped\"\nsector = ";
    let most: u64 = 1 << 34;
    let over = most + 1;
    all_refused(&[
        (world("1000", "512", "0", ""), "s:4:13: page_size is 1000: expected a power of two"),
        (world("4096", "500", "0", ""), "s:5:14: block_size is 500: expected a power of two"),
        (world("4096", "8192", "0", ""), "s:5:14: block_size is 8192 but the largest folio has"),
        (world("4096", "512", "12", ""), "s:6:19: max_folio_order is 12: expected 0 to 11"),
        (world("4096", "512", "255", ""), "s:6:19: max_folio_order is 255: expected 0 to 11"),
        (world("4096", "512", "-1", ""), "s:6:19: max_folio_order is -1: expected 0 to 11"),
        (world("4096", "256", "0", array), "s:5:14: block_size is 256 bytes, and an [array]"),
        (
            text("[queue]\nlogical_block_size = \"8k\""),
            "s:11:22: logical_block_size is 8192 bytes: expected 4096 at most, the block size",
        ),
        (text("[queue]\nlogical_block_size = 3072"), "s:11:22: logical_block_size is 3072 bytes"),
        (size("\"17g\""), &expected("\"17g\"")),
        (size("\"1.5m\""), &expected("\"1.5m\"")),
        (size("-1"), &expected("-1")),
        (size("nan"), &expected("nan")),
        (size("[1]"), &expected("a list")),
        (size(&over.to_string()), &expected("17179869185")),
        (size("99999999999999999999"), &expected("99999999999999999999")),
        (
            text("[[op]]\ndo = \"reclaim\"\npages = 99999999999999999999"),
            "s:12:9: pages is 99999999999999999999: expected a whole number that fits into 64 bits",
        ),
        (
            text(&format!("[[op]]\ndo = \"pread\"\nat = {most}\nlen = 1")),
            "s:10:1: it ends at byte 17179869185: a file may have 17179869184 at most (16 GiB)",
        ),
        (
            text(&format!("[[op]]\ndo = \"pwrite\"\nlen = {}", (1 << 30) + 1)),
            "s:7:1: with this file the run would hold 1073745920 bytes in memory, and 1073741824",
        ),
        (
            disk(&extent.replace("len = 4096", "len = 0")).replace("sector = ", "sector = 0"),
            "s:18:7: len is 0 bytes: expected one block of 4096 bytes, or several",
        ),
        (
            disk(&extent.replace("at = 0", "at = 100")).replace("sector = ", "sector = 0"),
            "s:17:6: at is 100 bytes: expected a multiple of the block size 4096",
        ),
        (
            text("prealloc = 0"),
            "s:10:12: prealloc is 0: expected a size of 1 to 17179869184 bytes (16 GiB), such",
        ),
        (
            disk("size = 4096\nsector = 2097145"),
            "s:17:10: it ends at sector 2097153 of the device, and the disk has 2097152: choose",
        ),
        (disk(&format!("{extent}2097152")), "s:16:1: it ends at sector 2097160 of the device"),
        (
            disk("device = true\nsize = \"1g\"\n[partition]\nstart = \"1m\""),
            "s:14:1: it ends at sector 2099200 of the device",
        ),
        (
            disk("size = 4096\nsector = 2097144\n[partition]\nstart = \"1m\""),
            "s:17:10: it ends at sector 2099200 of the device",
        ),
        (disk("").replace("\"1m\"", "\"2g\""), "s:6:9: track is 2147483648 bytes: expected 1 to"),
        (disk("").replace("\"1g\"", "0"), "s:5:8: size is 0 bytes: expected 1 to 17179869184"),
        (
            text("[queue]\nmax_segment_size = 512"),
            "s:11:20: max_segment_size is 512 bytes: expected",
        ),
        (text("[queue]\nsegment_boundary = 512"), "s:11:20: segment_boundary is 512 bytes: exp"),
        (
            text("sector = 1\n[queue]\nlogical_block_size = 4096"),
            "s:10:10: sector is 1: expected a multiple of 8, the sectors of a logical block",
        ),
        (
            text("[queue]\nlogical_block_size = 4096\n[partition]\nstart = 512"),
            "s:13:9: start is 512 bytes: expected whole logical blocks of 4096",
        ),
        (
            text("[[op]]\ndo = \"randwrite\"\nlen = \"1m\""),
            "s:12:7: len is 1048576 bytes: expected 1 to 65536, the size of the file at the start",
        ),
        (
            text("[[op]]\ndo = \"fsync\"\nrepeat = 1000000\nthen = \"fsync\""),
            "s:10:1: with this [[op]] there are more than 1000000 operations: make `repeat`",
        ),
    ]);
    good(&disk("size = 4096\nsector = 2097144"));
    good(&size(&most.to_string()));
    good(&text("[[op]]\ndo = \"fsync\"\nrepeat = 1000000"));
}

#[test]
fn words_that_a_terminal_would_obey() {
    let line = "expected 1 to 1000 bytes of text on one line, without control characters";
    let bell = format!("{HEAD}{WORLD}[[variant]]\nname = \"a\\u001b[31mb\"\n");
    all_refused(&[
        (
            format!("version = 0\ntitle = \"a\\nb\"\n{WORLD}"),
            &format!("s:2:9: title is \"a\\u{{a}}b\": {line}"),
        ),
        (format!("version = 0\ntitle = \"\"\n{WORLD}"), &format!("s:2:9: title is \"\": {line}")),
        (bell, &format!("s:8:8: name is \"a\\u{{1b}}[31mb\": {line}")),
        (
            format!("{HEAD}{WORLD}[[file]]\nname = \"a\\u202eb\"\n"),
            &format!("s:8:8: name is \"a\\u{{202e}}b\": {line}"),
        ),
        (text("[[op]]\ndo = \"\\u0007\""), &format!("s:11:6: do is \"\\u{{7}}\": {line}")),
        (
            format!("version = 0\ntitle = \"{}\"\n{WORLD}", "long".repeat(300)),
            &format!("s:2:9: title is \"{}\u{2026}\": {line}", "long".repeat(12)),
        ),
        (text("\"\\u001b\" = 1"), "s:10:1: unknown field `\\u{1b}`, expected one of"),
        (
            format!("{HEAD}switches = {{ dirty = \"per-folio\" }}\n{WORLD}"),
            "s:3:14: no switch `dirty`: expected one of dirty_tracking",
        ),
        (
            format!("{HEAD}switches = {{ dirty_tracking = \"x\" }}\n{WORLD}"),
            "s:3:31: dirty_tracking cannot be `x`: expected one of",
        ),
        (format!("{HEAD}title = \"u\"\n{WORLD}"), "s:3:1: `title` stands here twice: leave one"),
        (text(FILE), "s:11:8: two files are called `f`: give one another name"),
        (
            text("[[op]]\ndo = \"fsync\"\nfile = \"g\""),
            "s:12:8: no file is called `g`: expected one of f",
        ),
        (
            format!("{HEAD}{WORLD}[[op]]\ndo = \"fsync\""),
            "s:7:1: the scenario has no [[file]]: add one",
        ),
        (
            String::new(),
            "s:1:1: the file says nothing: a scenario has `version = 0`, a `title` and a table",
        ),
    ]);
}
