//! Tests of the target: bytes go to a real file and come back, and every refusal.

use super::memory::Arena;
use super::open::{Request, open};
use super::{Done, Tag, Target};
use folioscope_core::block::bio::{Bio, BioHead, BioOp, BioVec};
use folioscope_core::frames::FrameStore;
use folioscope_core::units::{BioId, Bytes, DevAddr, FileId, Offset, Pages, Pfn, Pos, TaskId};
use std::path::Path;

const PAGE: Bytes = Bytes::kib(64);
const BLOCK: Bytes = Bytes::kib(4);

fn request(path: &Path) -> Request {
    Request {
        path: path.to_owned(),
        size: Bytes::kib(1024),
        block: BLOCK,
        depth: 4,
        overwrite: false,
        buffered_fallback: true,
    }
}

fn refusal(request: &Request) -> String {
    open(request).map(|_| ()).expect_err("should be refused").to_string()
}

/// A bio over whole blocks: (frame, block in it, blocks).
fn bio(id: u32, op: BioOp, addr: u64, parts: &[(u64, u64, u64)]) -> Bio {
    let vecs: Vec<BioVec> = parts
        .iter()
        .map(|(pfn, block, blocks)| BioVec {
            pfn: Pfn::new(*pfn),
            offset: Offset::new(block * BLOCK.get()),
            len: Bytes::new(blocks * BLOCK.get()),
        })
        .collect();
    let len = vecs.iter().map(|vec| vec.len).sum();
    let head = BioHead {
        op,
        sync: true,
        readahead: false,
        fua: false,
        unwritten: false,
        shared: false,
        dontcache: false,
        meta: false,
        boundary: false,
        direct: false,
        file: FileId::new(0),
    };
    Bio {
        id: BioId::new(id),
        head,
        addr: DevAddr::new(addr),
        len,
        io_size: len,
        segs: Vec::new(),
        vecs,
        task: TaskId::new(0),
        pos: Pos::new(addr),
    }
}

fn finish(target: &mut Target, arena: &mut Arena) -> Vec<Done> {
    let mut done = Vec::new();
    while target.pending() > 0 {
        target.reap(arena, true, &mut done).expect("the ring works");
    }
    done
}

fn round_trip(target: &mut Target) {
    let mut arena = Arena::new(PAGE, Bytes::kib(1024)).expect("memory");
    arena.allocate(Pfn::new(0), Pages::new(8)).expect("room");
    for frame in 0..2 {
        for block in 0..16u64 {
            let at = Offset::new(block * BLOCK.get());
            arena.bytes_mut(Pfn::new(frame), at, BLOCK).fill((frame * 16 + block) as u8);
        }
    }
    // More bios than the ring takes at once, some with several vecs.
    for id in 0..14u32 {
        let from = u64::from(id);
        let parts = [(0, from, 1), (1, from, 2)];
        target.submit(&mut arena, &bio(id, BioOp::Write, from * 3 * BLOCK.get(), &parts));
    }
    target.flush(&mut arena, 7);
    let done = finish(target, &mut arena);
    assert_eq!(done.len(), 15);
    assert!(done.iter().all(|done| done.result.is_ok()), "{done:?}");
    assert!(done.iter().any(|done| done.tag == Tag::Flush(7)));

    // The last block is behind the end of the file, in part.
    let size = Bytes::new(41 * BLOCK.get() + 100);
    target.set_size(size).expect("truncates");
    arena.bytes_mut(Pfn::new(2), Offset::ZERO, PAGE).fill(0xee);
    target.submit(&mut arena, &bio(20, BioOp::Read, 36 * BLOCK.get(), &[(2, 0, 4), (2, 8, 4)]));
    assert!(finish(target, &mut arena).iter().all(|done| done.result.is_ok()));
    let read = arena.bytes(Pfn::new(2), Offset::ZERO, PAGE);
    let block = BLOCK.get() as usize;
    let firsts: Vec<u8> = (0..16).map(|n| read[n * block]).collect();
    let expected = [12, 28, 29, 13, 0xee, 0xee, 0xee, 0xee, 29, 30, 0, 0];
    assert_eq!(firsts[..12], expected);
    assert_eq!(read[9 * block + 99], 30);
    assert!(read[9 * block + 100..12 * block].iter().all(|byte| *byte == 0));
    assert_eq!(target.file().metadata().expect("stat").len(), size.get());
}

#[test]
fn bytes_go_to_the_file_and_come_back() {
    let dir = tempfile::tempdir_in(".").expect("a folder");
    let opened = open(&request(&dir.path().join("direct"))).expect("opens");
    if let Some(why) = &opened.fallback {
        eprintln!("NOT TESTED with O_DIRECT: {why}");
    }
    round_trip(&mut opened.target().expect("a ring"));
}

#[test]
fn the_ordinary_file_does_the_same() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("plain");
    let file = std::fs::File::options().read(true).write(true).create_new(true).open(&path);
    round_trip(&mut Target::Plain(super::plain::Plain::new(file.expect("opens"))));
}

#[test]
#[should_panic(expected = "is in flight")]
fn memory_in_flight_cannot_be_changed() {
    let dir = tempfile::tempdir_in(".").expect("a folder");
    let opened = open(&request(&dir.path().join("file"))).expect("opens");
    assert!(opened.fallback.is_none(), "is in flight: NOT TESTED, no O_DIRECT here");
    let mut target = opened.target().expect("a ring");
    let mut arena = Arena::new(PAGE, PAGE).expect("memory");
    arena.allocate(Pfn::new(0), Pages::new(1)).expect("room");
    target.submit(&mut arena, &bio(0, BioOp::Write, 0, &[(0, 1, 2)]));
    // Beside it, and to read it, is fine.
    arena.bytes_mut(Pfn::new(0), Offset::ZERO, BLOCK).fill(1);
    assert_eq!(arena.bytes(Pfn::new(0), Offset::ZERO, PAGE)[0], 1);
    arena.bytes_mut(Pfn::new(0), Offset::new(2 * BLOCK.get()), Bytes::new(1)).fill(1);
}

#[test]
fn dropping_everything_with_io_in_flight_is_safe() {
    let dir = tempfile::tempdir_in(".").expect("a folder");
    let opened = open(&request(&dir.path().join("file"))).expect("opens");
    let mut target = opened.target().expect("a ring");
    let mut arena = Arena::new(PAGE, Bytes::kib(1024)).expect("memory");
    arena.allocate(Pfn::new(0), Pages::new(8)).expect("room");
    for id in 0..8 {
        let whole = [(u64::from(id), 0, 16)];
        target.submit(&mut arena, &bio(id, BioOp::Write, 0, &whole));
    }
    drop(arena);
}

#[test]
fn the_arena_has_an_end_and_clears_old_frames() {
    let mut arena = Arena::new(BLOCK, Bytes::kib(2048)).expect("memory");
    assert!(arena.allocate(Pfn::new(511), Pages::new(1)).is_ok());
    assert!(arena.allocate(Pfn::new(511), Pages::new(2)).is_err());
    assert!(arena.allocate(Pfn::new(u64::MAX / 2), Pages::new(2)).is_err());
    arena.bytes_mut(Pfn::new(511), Offset::ZERO, BLOCK).fill(7);
    arena.release(Pfn::new(511), Pages::new(1));
    arena.allocate(Pfn::new(511), Pages::new(1)).expect("room");
    assert!(arena.bytes(Pfn::new(511), Offset::ZERO, BLOCK).iter().all(|byte| *byte == 0));
}

#[test]
fn what_could_hurt_is_refused() {
    let dir = tempfile::tempdir_in(".").expect("a folder");
    let path = dir.path().join("precious");
    std::fs::write(&path, "precious").expect("writes");
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&path, &link).expect("links");
    let mut asked = request(&path);
    assert!(refusal(&asked).contains("exists: name a file that does not, or add --overwrite"));
    asked.overwrite = true;
    for (path, words) in [
        (link.as_path(), "is a symbolic link"),
        (dir.path(), "is a folder"),
        (Path::new("/dev/null"), "is not a regular file"),
    ] {
        asked.path = path.to_owned();
        assert!(refusal(&asked).contains(words), "{}", refusal(&asked));
    }
    std::fs::hard_link(&path, dir.path().join("second")).expect("links");
    asked.path.clone_from(&path);
    assert!(refusal(&asked).contains("has 2 names"));
    std::fs::remove_file(dir.path().join("second")).expect("removes");
    asked.size = Bytes::new(1 << 60);
    assert!(refusal(&asked).contains("are free there"), "{}", refusal(&asked));
    asked.size = BLOCK;
    asked.block = Bytes::new(16);
    assert!(refusal(&asked).contains("--block-size is 16"), "{}", refusal(&asked));
    let other = request(&dir.path().join("new"));
    let held = open(&other).expect("opens");
    let again = Request { overwrite: true, ..other };
    assert!(refusal(&again).contains("in use by another program"));
    held.remove_if_created();
    assert!(!again.path.exists());
    assert_eq!(std::fs::read(&path).expect("reads"), b"precious", "refused before it was emptied");
}
