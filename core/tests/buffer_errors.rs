//! Errors of files whose blocks are kept in buffers: each block of a folio fails by itself.

use folioscope_core::scenario::file::parse_scenario;
use folioscope_core::scenario::run::run_and_read;
use folioscope_core::trace::timeline::Recording;

const FILES: [&str; 2] = ["device = true", "fs = \"ext2\""];

/// The results of these operations on a file of 16 KiB whose bytes are 7, and its bytes on the
/// device; folios of four blocks.
fn ran(kind: &str, ops: &[&str], fault: &str) -> (Vec<Result<u64, &'static str>>, Vec<u8>) {
    let mut text = format!(
        "version = 0\ntitle = \"t\"\n[world]\npage_size = 4096\nblock_size = 1024\n\
         max_folio_order = 0\nreadahead = 0\n[[file]]\nname = \"f\"\n{kind}\npath = \"buffer_head\"\n\
         size = \"16k\"\nfill = 7\n[[fault]]\n{fault}\n"
    );
    for op in ops {
        text += "[[op]]\n";
        text += op;
        text += "\n";
    }
    let scenario = parse_scenario("s", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let variant = &scenario.variants[0];
    let (run, mut read) =
        run_and_read(&scenario, variant, Recording::default()).expect("nothing hangs");
    let results = run.results.iter().map(|result| match result.0 {
        Ok(bytes) => Ok(bytes.get()),
        Err(errno) => Err(errno.name()),
    });
    (results.collect(), read.durable.remove(0))
}

const FSYNC: &str = "do = \"fsync\"";

#[test]
fn a_block_that_cannot_be_written_is_told_once_and_the_others_are_on_the_device() {
    for kind in FILES {
        let write = "do = \"pwrite\"\nlen = 4096\nbyte = 9";
        let fault = "at = \"write_bio\"\nop = 1";
        let (results, durable) = ran(kind, &[write, FSYNC, FSYNC], fault);
        assert_eq!(results, [Ok(4096), Err("EIO"), Ok(0)], "{kind}");
        let lost = durable[..4096].chunks(1024).filter(|block| **block == [7; 1024]).count();
        let kept = durable[..4096].chunks(1024).filter(|block| **block == [9; 1024]).count();
        assert!(lost >= 1 && lost + kept == 4, "{kind}: {lost} lost, {kept} kept");
        // Written again, all of it is there.
        let (results, durable) = ran(kind, &[write, FSYNC, write, FSYNC], fault);
        assert_eq!(results[3], Ok(0), "{kind}");
        assert!(durable[..4096] == [9; 4096] && durable[4096..] == [7; 12288], "{kind}");
    }
}

#[test]
fn bytes_that_were_lost_are_written_with_what_comes_next_to_their_block() {
    for kind in FILES {
        let write = "do = \"pwrite\"\nlen = 4096\nbyte = 9";
        let some = "do = \"pwrite\"\nat = 500\nlen = 10\nbyte = 8";
        let fault = "at = \"write_bio\"\nop = 1\ntimes = \"all\"";
        let (results, durable) = ran(kind, &[write, FSYNC, some, FSYNC], fault);
        assert_eq!(results, [Ok(4096), Err("EIO"), Ok(10), Ok(0)], "{kind}");
        // The folio is whole in memory, so that nothing is read again before the change.
        assert!(durable[..500] == [9; 500] && durable[500..510] == [8; 10], "{kind}");
        assert!(durable[510..1024] == [9; 514] && durable[1024..] == [7; 15360], "{kind}");
    }
}

#[test]
fn a_block_that_cannot_be_read_fails_the_read_and_the_next_one_tries_again() {
    for kind in FILES {
        let read = "do = \"pread\"\nlen = 4096";
        let fault = "at = \"read_bio\"\nop = 0\ntimes = \"all\"";
        let (results, _) = ran(kind, &[read, read], fault);
        assert_eq!(results, [Err("EIO"), Ok(4096)], "{kind}");
    }
}

#[test]
fn a_block_that_cannot_be_read_before_it_is_changed_fails_the_write_and_stays() {
    for kind in FILES {
        let write = "do = \"pwrite\"\nat = 100\nlen = 10\nbyte = 9";
        let fault = "at = \"read_bio\"\nop = 0\ntimes = \"all\"";
        let (results, durable) = ran(kind, &[write, FSYNC, write, FSYNC], fault);
        assert_eq!(results, [Err("EIO"), Ok(0), Ok(10), Ok(0)], "{kind}");
        assert!(durable[..100] == [7; 100] && durable[100..110] == [9; 10], "{kind}");
        assert!(durable[110..] == [7; 16274], "{kind}");
    }
}
