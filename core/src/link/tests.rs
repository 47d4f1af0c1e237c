//! Links come back as they were, and bad ones get one sentence.

use super::*;
use crate::trace::rule::Rule;
use crate::units::Pos;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use miniz_oxide::deflate::compress_to_vec_zlib;
use proptest::prelude::*;

fn moment() -> Moment {
    let address = Address { op: 3, rule: Rule::from_code(21), nth: 2 };
    let seen = |steps, hash| Seen { steps, hash, marks: Vec::new() };
    Moment {
        engine: "0.1.0".to_owned(),
        place: Place { side: 0, address },
        view: View {
            file: FileId::new(1),
            range: Some(FileRange::between(Pos::new(4096), Pos::new(65_536))),
            lanes: vec![Lane::File, Lane::Cache, Lane::Device],
            form: Form::Picture,
            why: false,
            whole: false,
            told: false,
            only: None,
        },
        runs: Vec::new(),
        seen: vec![seen(1212, 0x89ab_cdef), seen(640, 7)],
        stops: Vec::new(),
        marks: Vec::new(),
    }
}

/// The same with all that a link can say.
fn full() -> Moment {
    let marks = vec![0xffff, 1, 2, 3, 4, 5, 6];
    Moment {
        engine: "0.2.0-rc.1".to_owned(),
        place: Place { side: 1, ..moment().place },
        view: View {
            form: Form::Both,
            why: true,
            whole: true,
            told: true,
            only: Some(1),
            ..moment().view
        },
        runs: Vec::new(),
        seen: vec![Seen { steps: 9, hash: 8, marks }],
        ..moment()
    }
}

/// With stops and marks, which came with version 2.
fn marked() -> Moment {
    let stops = ["dirty > 64k", "any bio crosses a stripe", "a_b/c-d \u{e4}"];
    let marks = vec![moment().place, full().place];
    Moment { stops: stops.map(str::to_owned).to_vec(), marks, ..full() }
}

fn shared() -> Shared {
    let scenario = "version = 0\n\n[world]\npage_size = \"4k\"\n".repeat(20);
    Shared { moment: moment(), scenario }
}

fn packed(text: &str) -> String {
    format!("1/S/{}", pack::pack(text).expect("it is short"))
}

#[test]
fn a_moment_comes_back_as_it_was() {
    let lesson = BuiltIn::Lesson { number: 7, stop: 3 };
    let example = BuiltIn::Example("append-race_2".to_owned());
    let bare =
        Moment { view: View { range: None, lanes: Vec::new(), ..moment().view }, ..moment() };
    let bare = Moment { seen: Vec::new(), ..bare };
    let names = vec!["per block, at last".to_owned(), "linux-6.1".to_owned()];
    let named = Shared { moment: Moment { runs: names, ..moment() }, ..shared() };
    for link in [
        Link::BuiltIn(lesson.clone(), None),
        Link::BuiltIn(lesson, Some(Box::new(full()))),
        Link::BuiltIn(example.clone(), None),
        Link::BuiltIn(example.clone(), Some(Box::new(moment()))),
        Link::BuiltIn(example, Some(Box::new(marked()))),
        Link::Scenario(Box::new(Shared { moment: marked(), ..shared() })),
        Link::Scenario(Box::new(shared())),
        Link::Scenario(Box::new(Shared { moment: full(), ..shared() })),
        Link::Scenario(Box::new(Shared { moment: bare, ..shared() })),
        Link::Scenario(Box::new(named)),
    ] {
        let fragment = link.to_fragment().expect("it is short");
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
        assert!(fragment.bytes().all(plain) && !fragment.ends_with('.'), "{fragment}");
        assert_eq!(Link::from_fragment(&fragment), Ok(link.clone()));
        assert_eq!(Link::from_fragment(&format!("#{fragment}")), Ok(link));
    }
}

#[test]
fn a_lesson_at_a_stop_is_short() {
    let lesson = BuiltIn::Lesson { number: 7, stop: 2 };
    assert_eq!(lesson.to_fragment(None), "1/L7/2");
    assert_eq!(
        lesson.to_fragment(Some(&full())),
        "1/L7/2/engine-0.2.0-rc.1/place-3-21-2-1/file-1/range-4096-65536/lanes-file-cache-device/only-1\
        /form-both/why/whole/told/seen-9-00000008-ffff000100020003000400050006"
    );
}

#[test]
fn stops_and_marks_make_a_link_of_version_2() {
    let lesson = BuiltIn::Lesson { number: 7, stop: 2 };
    let fragment = lesson.to_fragment(Some(&marked()));
    let end = "/stop-dirty_20_3e_2064k/stop-any_20bio_20crosses_20a_20stripe\
        /stop-a_5fb_2fc_2dd_20_c3_a4/mark-3-21-2/mark-3-21-2-1";
    assert!(fragment.starts_with("2/L7/2/") && fragment.ends_with(end), "{fragment}");
    let shared = Shared { moment: marked(), ..shared() };
    assert!(Shared::pack(&shared.to_text()).is_ok_and(|fragment| fragment.starts_with("2/S/")));
    // However many there are, so many are written, and no more are read.
    let many = Moment { marks: vec![moment().place; MOST_MARKS + 1], ..moment() };
    let fragment = lesson.to_fragment(Some(&many));
    let read = Link::from_fragment(&fragment).expect("it fits");
    let Link::BuiltIn(_, Some(read)) = read else { panic!("{read:?}") };
    assert_eq!(read.marks.len(), MOST_MARKS);
    for more in ["/mark-3-21-2", "/stop-a_2", "/stop-_ff"] {
        assert!(Link::from_fragment(&format!("{fragment}{more}")).is_err(), "{more}");
    }
}

#[test]
fn a_link_of_version_1_stays_readable() {
    // Made by the first version that had links; never to be changed.
    let old = include_str!("../../tests/data/link-1.txt");
    assert_eq!(Link::from_fragment(old.trim()), Ok(Link::Scenario(Box::new(shared()))));
}

#[test]
fn what_is_no_link_gets_one_sentence() {
    let error = |fragment: &str| Link::from_fragment(fragment).expect_err(fragment);
    for fragment in [
        "",
        "#",
        "1",
        "x/L1/1",
        "0/L1/1",
        "1/L/1",
        "1/L1",
        "1/L1/x",
        "1/L1/0",
        "1/Q/1",
        "-1/L1/1",
        "1/E/",
        "1/E/a b",
        "1/E/<b>",
        "1/E/..%2f",
        "lessons",
    ] {
        assert_eq!(error(fragment), LinkError::Unknown, "{fragment}");
    }
    assert_eq!(error("3/S/abc"), LinkError::Newer(3));
    assert_eq!(error(&"a".repeat(100 * 1024)), LinkError::TooLong(100 * 1024));
    for line in [
        "range 5 5",
        "range 0 99999999999999999999",
        "lanes file bus",
        "place 1 2",
        "place 1 21 1 2",
        "seen x",
        "seen 1 2 x333",
        "seen 1 2 3333444455556666777788889999aaa",
        "form round",
        "hm",
    ] {
        let text = format!("{line}\n\nversion = 0");
        assert_eq!(error(&packed(&text)), LinkError::Line(line.to_owned()));
        let short = line.replace(' ', "-");
        assert_eq!(error(&format!("1/L7/2/{short}")), LinkError::Line(short));
    }
    assert!(matches!(error(&packed("engine 1")), LinkError::Damaged(_)));
}

#[test]
fn a_bomb_is_refused_before_it_unpacks() {
    let bomb = compress_to_vec_zlib(&vec![b'a'; 64 << 20], 9);
    let fragment = URL_SAFE_NO_PAD.encode(&bomb);
    assert!(fragment.len() > MAX_FRAGMENT);
    let bomb = compress_to_vec_zlib(&vec![b'a'; 8 << 20], 9);
    let fragment = URL_SAFE_NO_PAD.encode(&bomb);
    assert_eq!(Link::from_fragment(&format!("1/S/{fragment}")), Err(LinkError::TooLarge));
    let long = Shared { scenario: "x".repeat(2 << 20), ..shared() };
    assert_eq!(Link::Scenario(Box::new(long)).to_fragment(), Err(LinkError::TooLarge));
}

proptest! {
    #[test]
    fn a_cut_or_changed_link_never_panics(
        cut in 0_usize..2000,
        at in 0_usize..2000,
        byte in any::<u8>(),
    ) {
        let whole = Link::Scenario(Box::new(shared())).to_fragment().expect("it is short");
        let mut bytes = whole.clone().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(text) = core::str::from_utf8(&bytes) {
            let _ = Link::from_fragment(text);
        }
        let cut = cut % whole.len();
        prop_assert!(Link::from_fragment(&whole[..cut]).is_err());
    }
}
