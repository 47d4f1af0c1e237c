//! Faults of a scenario file: each fires where it says, tells why, and bad ones are refused with
//! their place.

use folioscope_core::counters::Counter;
use folioscope_core::errno::Errno;
use folioscope_core::scenario::Scenario;
use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::{Contents, Run, run_and_read};
use folioscope_core::trace::rule::Rule;
use folioscope_core::trace::timeline::{Recording, Timeline};

/// A world of 4 KiB pages with 1 KiB blocks, and these lines.
fn scenario(lines: &str) -> Scenario {
    let text = format!(
        "version = 0\ntitle = \"t\"\n[world]\npage_size = 4096\nblock_size = 1024\n\
         max_folio_order = 2\n{lines}"
    );
    parse_scenario("faults", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn ran(lines: &str) -> (Run<Recording>, Contents) {
    let scenario = scenario(lines);
    run_and_read(&scenario, &scenario.variants[0], Recording::default()).expect("nothing hangs")
}

/// The results, as bytes or the names of errors.
fn results(run: &Run<Recording>) -> Vec<Result<u64, &'static str>> {
    let one = |result: &folioscope_core::ops::OpResult| match result.0 {
        Ok(bytes) => Ok(bytes.get()),
        Err(errno) => Err(errno.name()),
    };
    run.results.iter().map(one).collect()
}

/// What the steps of a rule say.
fn said(run: &Run<Recording>, rule: Rule) -> Vec<String> {
    let steps = run.sink.steps().iter().filter(|step| step.rule == rule);
    steps.map(|step| step.rule.sentence(step.args)).collect()
}

fn op(what: &str, more: &str) -> String {
    format!("[[op]]\ndo = \"{what}\"\n{more}\n")
}

fn fault(lines: &str) -> String {
    format!("[[fault]]\n{lines}\n")
}

const FILE: &str = "[[file]]\nname = \"a\"\n";
/// A file of 16 KiB, whose bytes are 7, at sector 100.
const FULL: &str = "[[file]]\nname = \"a\"\nsize = \"16k\"\nfill = 7\nsector = 100\n";

#[test]
fn user_memory_is_bad_from_a_byte_on() {
    for (copied, want) in [(0, Err("EFAULT")), (1, Ok(1)), (1023, Ok(1023)), (5000, Ok(5000))] {
        for at in ["fault_in", "copy_from_user"] {
            let (run, files) = ran(&(FILE.to_owned()
                + &op("pwrite", "len = 8192\nbyte = 9")
                + &op("fsync", "")
                + &fault(&format!("at = \"{at}\"\nop = 0\ncopied = {copied}"))));
            assert_eq!(results(&run)[0], want, "{at} {copied}");
            let bytes = want.unwrap_or(0) as usize;
            assert_eq!(files.durable[0], vec![9; bytes], "{at} {copied}");
        }
    }
}

#[test]
fn reservation_stops_before_a_block_and_writeback_fails_where_it_is_asked_to() {
    let write = FILE.to_owned() + &op("pwrite", "len = 8192\nbyte = 9");
    let (run, _) =
        ran(&(write.clone() + &fault("at = \"reserve_block\"\nfile_off = 3000\ntimes = 2")));
    assert_eq!(results(&run), [Ok(2048)]);
    // Once the reservation ends before the block, once it would begin with it.
    let why = "a fault is armed for reserve_block at 0xbb8: it fails, ENOSPC";
    assert_eq!(said(&run, Rule::FaultFired), [why, why]);
    let both = write + &op("fsync", "") + &op("fsync", "");
    for at in ["map_blocks", "alloc_ioend", "convert_unwritten"] {
        let (run, files) = ran(&(both.clone() + &fault(&format!("at = \"{at}\""))));
        let first = if at == "alloc_ioend" { "ENOMEM" } else { "EIO" };
        assert_eq!(results(&run), [Ok(8192), Err(first), Ok(0)], "{at}");
        assert_eq!(said(&run, Rule::FaultFired).len(), 1, "{at}");
        assert_eq!(files.durable[0], Vec::<u8>::new(), "{at}");
        // The second of two files is not meant.
        let (run, _) = ran(&(both.clone()
            + &fault(&format!("at = \"{at}\"\nfile = \"b\""))
            + "[[file]]\nname = \"b\"\n"));
        assert_eq!(results(&run), [Ok(8192), Ok(0), Ok(0)], "{at}");
    }
}

#[test]
fn memory_that_is_short_makes_folios_and_bios_smaller_before_anything_fails() {
    let write = FILE.to_owned() + &op("pwrite", "len = 16384");
    let (run, _) = ran(&(write.clone() + &fault("at = \"alloc_folio\"\ntimes = 2")));
    assert_eq!(results(&run), [Ok(16384)]);
    // Not one of four pages: the first page, the second, then two at once.
    assert_eq!(run.counters.get(Counter::FoliosCreated), 3);
    let (run, _) = ran(&(write.clone() + &fault("at = \"alloc_folio\"\ntimes = \"all\"")));
    assert_eq!(results(&run), [Err("ENOMEM")]);
    // The third allocation is the first that fails.
    let (run, _) = ran(&(FILE.to_owned()
        + &op("pwrite", "len = 4096\nrepeat = 4")
        + &fault("at = \"alloc_folio\"\nnth = 3\ntimes = \"all\"")));
    assert_eq!(results(&run), [Ok(4096), Ok(4096), Err("ENOMEM"), Err("ENOMEM")]);
    // A read whose bio may have one vec only sends more of them.
    let read = "readahead = \"16k\"\n".to_owned() + FULL + &op("pread", "len = 16384");
    let bios = |more: &str| {
        let (run, _) = ran(&(read.clone() + more));
        assert_eq!(results(&run), [Ok(16384)]);
        run.counters.get(Counter::ReadBios)
    };
    assert_eq!(bios(""), 1);
    // Frames lie side by side here, so that one vec takes them all.
    assert_eq!(bios(&fault("at = \"alloc_bio\"\ntimes = \"all\"")), 1);
}

#[test]
fn a_bio_fails_by_number_by_sector_for_once_or_for_good() {
    // Three reads of 4 KiB without readahead; a folio whose read failed is read once more.
    let reads = "readahead = 0\n".to_owned()
        + FULL
        + &op("pread", "len = 4096\nrepeat = 3")
        + &op("pread", "at = 4096\nlen = 4096");
    let (run, _) = ran(&(reads.clone() + &fault("at = \"read_bio\"\nnth = 2\ntimes = 2")));
    assert_eq!(results(&run), [Ok(4096), Err("EIO"), Ok(4096), Ok(4096)]);
    let place = "at = \"read_bio\"\nsector = 109\nsectors = 2\n";
    let (run, _) = ran(&(reads.clone() + &fault(&(place.to_owned() + "times = 2"))));
    assert_eq!(results(&run), [Ok(4096), Err("EIO"), Ok(4096), Ok(4096)]);
    let (run, _) = ran(&(reads + &fault(&(place.to_owned() + "times = \"all\""))));
    assert_eq!(results(&run), [Ok(4096), Err("EIO"), Ok(4096), Err("EIO")]);
    assert_eq!(said(&run, Rule::DeviceFails).len(), 3);
}

#[test]
fn of_a_torn_write_the_start_reaches_the_medium() {
    let lines = FULL.to_owned() + &op("pwrite", "len = 4096\nbyte = 9") + &op("fsync", "");
    for at in ["write_bio", "submit"] {
        let reaches = if at == "submit" { "" } else { "reaches = 1536\n" };
        let (run, files) = ran(&(lines.clone() + &fault(&format!("at = \"{at}\"\n{reaches}"))));
        assert_eq!(results(&run), [Ok(4096), Err("EIO")]);
        let torn = if at == "submit" { 0 } else { 1536 };
        assert_eq!(files.durable[0][..torn], vec![9; torn]);
        assert_eq!(files.durable[0][torn..], vec![7; 16384 - torn]);
    }
}

#[test]
fn a_bio_that_waits_ends_after_others_and_a_device_that_is_gone_fails_everything() {
    let two = FULL.to_owned()
        + &op("pwrite", "len = 1024\nbyte = 8")
        + &op("pwrite", "at = 8192\nlen = 1024\nbyte = 9")
        + &op("fsync", "");
    let order = |more: &str| -> Vec<u64> {
        let (run, _) = ran(&(two.clone() + more));
        let ends = run.sink.steps().iter().filter(|step| step.rule == Rule::BioCompleted);
        ends.map(|step| step.args[0]).collect()
    };
    let sent = order("");
    let turned = order(&fault("at = \"write_bio\"\nwaits = 1"));
    assert_eq!(turned.len(), sent.len());
    assert_eq!(turned[turned.len() - 2..], [sent[sent.len() - 1], sent[sent.len() - 2]]);
    let (run, files) = ran(&(two.clone()
        + &op("pread", "at = 12288\nlen = 10")
        + &op("fsync", "")
        + &fault("at = \"device_gone\"\nop = 2\nnth = 2")));
    assert_eq!(results(&run)[2..], [Err("EIO"), Err("EIO"), Err("EIO")]);
    assert_eq!((files.durable[0][0], files.durable[0][8192]), (8, 7));
    assert_eq!(said(&run, Rule::DeviceGone).len(), 1);
}

#[test]
fn a_flush_that_fails_is_told_and_one_that_lies_is_not() {
    let lines = FULL.to_owned() + &op("pwrite", "len = 10") + &op("fsync", "");
    let (run, _) = ran(&(lines.clone() + &fault("at = \"flush\"\nerr = \"EIO\"")));
    assert_eq!((results(&run)[1], said(&run, Rule::FlushFails).len()), (Err("EIO"), 1));
    let (run, _) = ran(&(lines + &fault("at = \"flush\"")));
    assert_eq!((results(&run)[1], said(&run, Rule::FlushLies).len()), (Ok(0), 1));
}

#[test]
fn space_that_is_gone_is_told_when_it_is_reserved() {
    let world = |free: u64, more: &str| format!("free_blocks = {free}\n{FILE}{more}");
    let write = |at: u64, len: u64| op("pwrite", &format!("at = {at}\nlen = {len}"));
    // One block a write: five fit.
    let (run, files) = ran(&world(5, &(op("pwrite", "len = 1024\nrepeat = 7\nthen = \"fsync\""))));
    let writes: Vec<_> = results(&run).into_iter().step_by(2).collect();
    let full = Err(Errno::NoSpc.name());
    assert_eq!(writes, [Ok(1024), Ok(1024), Ok(1024), Ok(1024), Ok(1024), full, full]);
    assert_eq!(files.durable[0].len(), 5 * 1024);
    // What is promised is not free, and what is cut off is.
    let lines = write(0, 4096)
        + &write(4096, 2048)
        + &op("truncate", "size = 2048")
        + &write(2048, 3072)
        + &op("fsync", "");
    let (run, _) = ran(&world(5, &lines));
    assert_eq!(results(&run), [Ok(4096), full, Ok(0), Ok(3072), Ok(0)]);
    // Speculation behind EOF is given up before the write fails.
    let lines = "prealloc = \"64k\"\n".to_owned() + &write(0, 4096) + &op("fsync", "");
    let (run, files) = ran(&world(5, &lines));
    assert_eq!((results(&run), files.durable[0].len()), (vec![Ok(4096), Ok(0)], 4096));
    let (run, _) = ran(&world(5, &op("fallocate", "len = \"6k\"")));
    assert_eq!(results(&run), [full]);
}

#[test]
fn a_trace_with_faults_folds_to_the_state_of_the_engine() {
    let lines = FULL.to_owned()
        + &op("pwrite", "at = 100\nlen = 3000\nthen = \"fsync\"\nrepeat = 4")
        + &fault("at = \"write_bio\"\nnth = 2\nreaches = 512")
        + &fault("at = \"alloc_folio\"")
        + &fault("at = \"map_blocks\"\nreturns = \"hole\"\nnth = 3");
    let (run, _) = ran(&lines);
    assert_eq!(said(&run, Rule::FaultGives).len(), 1);
    let counters = run.counters.clone();
    let mut timeline = Timeline::new(run.header, run.sink).expect("a trace fits itself");
    timeline.seek(usize::MAX);
    assert_eq!(timeline.model().counters(), &counters);
    timeline.seek(0);
}

#[test]
fn bad_faults_are_told_where_and_what() {
    let cases = [
        ("at = \"write\"", "12:6: no fault at `write`: expected one of copy_from_user"),
        ("op = 0", "11:1: missing field `at`"),
        ("at = \"flush\"\nop = 3", "13:6: op is 3: expected the number of an [[op]], 0 to 0"),
        ("at = \"flush\"\nreaches = 3", "13:1: `flush` takes no `reaches`: leave it out; it takes"),
        ("at = \"flush\"\nop = -1", "op is -1: expected the number of an [[op]], 0 to 0"),
        ("at = \"flush\"\nuntil_op = 1", "until_op is 1: expected the number of an [[op]], 0 to 0"),
        ("at = \"flush\"\nop = 0\nuntil_op = 0", "14:12: `op` says already during which [[op]]"),
        ("at = \"fault_in\"\nop = 0\ncopied = 0\ntimes = 2", "15:1: `fault_in` takes no `times`"),
        ("at = \"fault_in\"\nop = 0\ncopied = 0", "13:6: op is 0: this [[op]] is fsync, and only"),
        ("at = \"device_gone\"\ntimes = 2", "13:9: a device that is gone stays so: leave out"),
        ("at = \"fault_in\"\ncopied = 1", "`op` is missing"),
        ("at = \"fault_in\"\nop = 0\ncopied = 0\nnth = 2", "`fault_in` takes no `nth`"),
        ("at = \"write_bio\"\nerr = \"EBADF\"", "13:7: no error `EBADF`: expected one of EAGAIN"),
        ("at = \"write_bio\"\ntimes = 0", "times is 0: expected 1 to"),
        (
            "at = \"write_bio\"\ntimes = \"often\"",
            "times is \"often\": expected 1 to 4294967295, or",
        ),
        ("at = \"write_bio\"\nsectors = 2", "`sector`, the first of these sectors, is missing"),
        ("at = \"write_bio\"\nwaits = 2\nerr = \"EIO\"", "a bio that waits does not fail"),
        ("at = \"map_blocks\"\nreturns = \"extent\"", "no mapping of type `extent`"),
        ("at = \"map_blocks\"\nreturns = \"hole\"\nerr = \"EIO\"", "either fails or returns"),
        ("at = \"map_blocks\"\nfile = \"z\"", "13:8: no file is called `z`"),
        ("at = \"map_blocks\"\nnth = 0", "nth is 0: expected 1 to"),
    ];
    for (lines, want) in cases {
        let text = format!(
            "version = 0\ntitle = \"t\"\n[world]\npage_size = 4096\nblock_size = 1024\n\
             max_folio_order = 2\n[[file]]\nname = \"a\"\n[[op]]\ndo = \"fsync\"\n\
             [[fault]]\n{lines}\n"
        );
        let error = parse_scenario("s", &text).expect_err(lines).to_string();
        assert!(error.contains(want), "{lines}: {error}");
    }
}
