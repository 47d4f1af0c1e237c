//! Tests of job files: the seed's own, ugly ones, and each refusal.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

const SEED: &str = "[global]
\tioengine=psync
\trw=randwrite
\toverwrite=1
\tpre_read=1
\tdirect=0
\tbs=4k
\tsize=1G
\tdir=./
\tnumjobs=8
\tfdatasync=1
\truntime=60
\tiodepth=64
\tgroup_reporting=1

[fio-run]
";

fn parse(text: &str) -> Result<FioFile, FioError> {
    FioFile::parse("job.fio", text.as_bytes())
}

fn refused(text: &str) -> String {
    parse(text).expect_err("should be refused").to_string()
}

#[test]
fn the_job_of_the_seed() {
    let file = parse(SEED).expect("good");
    let expected = FioJob {
        name: "fio-run".to_owned(),
        rw: FioRw::RandWrite,
        block_size: Bytes::kib(4),
        size: Bytes::new(1 << 30),
        directory: "./".to_owned(),
        filename: None,
        num_jobs: 8,
        overwrite: true,
        pre_read: true,
        fsync: 0,
        fdatasync: 1,
        runtime: Some(Nanos::new(60_000_000_000)),
        seed: 0,
        group_reporting: true,
    };
    assert_eq!(file.jobs, [expected]);
    assert_eq!(file.copies(), 8);
    assert_eq!(file.jobs[0].file_name(3), "fio-run.3.0");
    assert_eq!(file.notes.len(), 1, "iodepth: {:?}", file.notes);
    assert_eq!(file.notes[0].place, Place { line: 13, column: 10 });
}

#[test]
fn operations_follow_the_job() {
    let text = "[j]\nrw=randwrite\nsize=10000\nbs=1k\noverwrite\npre_read\nfdatasync=3\nfsync=9";
    let job = &parse(text).expect("good").jobs[0];
    let ops: Vec<JobOp> = job.ops(0).collect();
    assert_eq!(ops[0], JobOp::PreRead { len: Bytes::new(10_000) });
    assert_eq!(ops[4], JobOp::Fdatasync);
    assert_eq!(ops[8], JobOp::Fdatasync);
    assert_eq!(ops[12], JobOp::Fsync);
    assert_eq!(ops.len(), 1 + 9 + 3);
    let writes = |copy| -> Vec<u64> {
        job.ops(copy)
            .filter_map(|op| match op {
                JobOp::Pwrite { pos, .. } => Some(pos.get() / 1024),
                JobOp::PreRead { .. } | JobOp::Pread { .. } | JobOp::Fsync | JobOp::Fdatasync => {
                    None
                }
            })
            .collect()
    };
    assert_eq!(writes(0).iter().copied().collect::<BTreeSet<_>>(), (0..9).collect());
    assert_eq!(writes(0), writes(0));
    assert_ne!(writes(0), writes(1));
}

#[test]
fn sections_inherit_and_override() {
    let file = parse("[global]\nsize=1m\nbs=8k\n[a]\n[b]\nbs=512\n[global]\nbs=1k\n[c]\n");
    let sizes: Vec<u64> = file.expect("good").jobs.iter().map(|job| job.block_size.get()).collect();
    assert_eq!(sizes, [8192, 512, 1024]);
}

#[test]
fn ugly_but_clear_files_are_read() {
    let text = "\u{feff}[global]\r\nrw = randread\r\n; a comment\r\nbs =  4k \r\n\
        size=1m\t; or more\r\n\r\n[j1]#x\r\n  iodepth= 1\r\n";
    let file = parse(text).expect("good");
    assert_eq!(file.jobs[0].size, Bytes::kib(1024));
    assert_eq!(file.jobs[0].name, "j1");
    let places: Vec<u32> = file.notes.iter().map(|note| note.place.line).collect();
    assert_eq!(places, [1, 2], "byte order mark, blanks");
}

#[test]
fn each_refusal_names_place_key_and_remedy() {
    for (text, start) in [
        ("bs=4k\n[j]\n", "job.fio:1:1: \"bs\" stands before any section"),
        ("[j]\nsize=1m\n  verfy=md5\n", "job.fio:3:3: unknown or unsupported key \"verfy\""),
        ("[j]\nsize=-1\n", "job.fio:2:6: size: \"-1\" is negative: expected a positive size"),
        ("[j]\nsize=0\n", "job.fio:2:6: size: \"0\" is zero"),
        ("[j]\nsize=50%\n", "job.fio:2:6: size: \"50%\" is a percentage"),
        ("[j]\nsize=4KiB\n", "job.fio:2:6: size: \"4KiB\" is ambiguous"),
        ("[j]\nsize=99999999t\n", "job.fio:2:6: size: \"99999999t\" is larger than any file"),
        ("[j]\nsize=\n", "job.fio:2:6: size: a value is missing"),
        ("[j]\nsize\n", "job.fio:2:1: size: a value is missing"),
        ("[j]\nbs=4k,32k\nsize=1m\n", "job.fio:2:4: bs: \"4k,32k\" is a list"),
        ("[j]\nsize=1k\nbs=4k\n", "job.fio:3:4: bs: a block of 4 KiB does not fit into size"),
        ("[j]\nsize=1k\n", "job.fio:2:6: bs: a block of 4 KiB does not fit into size"),
        ("[j]\nrw=randrw\n", "job.fio:2:4: rw: \"randrw\" is not supported"),
        ("[j]\nioengine=libaio\n", "job.fio:2:10: ioengine: \"libaio\" is not supported"),
        ("[j]\ndirect=1\n", "job.fio:2:8: direct: 1 would go past the page cache"),
        ("[j]\nnumjobs=65\n", "job.fio:2:9: numjobs: \"65\" is not a whole number from 1 to 64"),
        ("[j]\nsize=$mb_memory\n", "job.fio:2:6: size: \"$mb_memory\" has a variable"),
        ("[j]\nfilename=a:b\n", "job.fio:2:10: filename: \"a:b\" has a colon"),
        ("[../j]\nsize=1m\n", "job.fio:1:2: the section name \"../j\" has a slash"),
        ("[]\n", "job.fio:1:2: the section name \"\" is empty"),
        ("[j\n", "job.fio:1:1: \"[j\" has no closing bracket"),
        ("[j]\nbs=4k\n", "job.fio:1:1: job \"j\" has no size"),
        ("[j]\nsize=1m\n[j]\nsize=1m\n", "job.fio:3:1: the job would share the file \"j.0.0\""),
        (
            "[j]\nsize=1m\nnumjobs=2\n[k]\nsize=1m\nfilename=j.1.0\ndir=./\n",
            "job.fio:4:1: the job would share the file \"j.1.0\"",
        ),
        ("[j]\nsize=1m\nfilename=x\nnumjobs=2\n", "job.fio:3:10: filename: 2 copies would share"),
        ("[a]\nsize=1m\nnumjobs=60\n[b]\nsize=1m\nnumjobs=5\n", "job.fio:4:1: up to this section"),
        ("", "job.fio:1:1: the file has no job"),
        ("[global]\nsize=1m\n", "job.fio:2:1: the file has no job"),
        ("=4k", "job.fio:1:1: a key is missing"),
    ] {
        let message = refused(text);
        assert!(message.starts_with(start), "{text:?}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
    let binary = FioFile::parse("x", b"[j]\nsi\xff=1").expect_err("not text").to_string();
    assert!(binary.starts_with("x:2:3: this is not text"), "{binary}");
    let long = FioFile::parse("x", &vec![b'\n'; MAX_TEXT + 1]).expect_err("too long");
    assert!(long.what.contains("1048576 at most"), "{long}");
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = FioFile::parse("x", &bytes);
    }

    #[test]
    fn no_lines_make_it_panic(text in r"(\[?(global|j|=|;|size|bs|rw|-|%|4k|99999999999|é| )\]?\n?){0,30}") {
        let _ = parse(&text);
    }

    #[test]
    fn each_block_comes_once(blocks in 1u64..5000, seed: u64) {
        let order = BlockOrder::random(Blocks::new(blocks), seed);
        let seen: BTreeSet<u64> = (0..blocks).map(|at| order.block(at).get()).collect();
        prop_assert_eq!(seen, (0..blocks).collect());
    }
}
