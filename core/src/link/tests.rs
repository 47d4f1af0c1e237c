//! Links come back as they were, and bad ones get one sentence.

use super::*;
use crate::trace::rule::Rule;
use crate::units::Pos;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use miniz_oxide::deflate::compress_to_vec_zlib;
use proptest::prelude::*;

fn shared() -> Shared {
    Shared {
        engine: "0.1.0".to_owned(),
        place: Address { op: 3, rule: Rule::from_code(21), nth: 2 },
        view: View {
            file: FileId::new(1),
            range: Some(FileRange::between(Pos::new(4096), Pos::new(65_536))),
            lanes: vec![Lane::File, Lane::Cache, Lane::Device],
        },
        seen: vec![Seen { steps: 1212, crc: 0x89ab_cdef }, Seen { steps: 640, crc: 7 }],
        scenario: "version = 0\n\n[world]\npage_size = \"4k\"\n".repeat(20),
    }
}

fn packed(text: &str) -> String {
    format!("1/S/{}", pack::pack(text).expect("it is short"))
}

#[test]
fn a_moment_comes_back_as_it_was() {
    for link in [
        Link::Lesson { number: 7, stop: 3 },
        Link::Scenario(Box::new(shared())),
        Link::Scenario(Box::new(Shared {
            view: View { range: None, ..shared().view },
            seen: Vec::new(),
            ..shared()
        })),
    ] {
        let fragment = link.to_fragment().expect("it is short");
        assert!(
            fragment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_".contains(&byte))
        );
        assert_eq!(Link::from_fragment(&fragment), Ok(link.clone()));
        assert_eq!(Link::from_fragment(&format!("#{fragment}")), Ok(link));
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
    for fragment in ["", "#", "1", "x/L1/1", "0/L1/1", "1/L/1", "1/L1/x", "1/Q/1", "-1/L1/1"] {
        assert_eq!(error(fragment), LinkError::Unknown, "{fragment}");
    }
    assert_eq!(error("2/S/abc"), LinkError::Newer(2));
    assert_eq!(error(&"a".repeat(100 * 1024)), LinkError::TooLong(100 * 1024));
    for line in
        ["range 5 5", "range 0 99999999999999999999", "lanes file bus", "place 1 2", "seen x", "hm"]
    {
        let text = format!("{line}\n\nversion = 0");
        assert_eq!(error(&packed(&text)), LinkError::Line(line.to_owned()));
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
