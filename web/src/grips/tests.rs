//! Handles of real pictures, without a browser.

use super::*;
use crate::session::Session;
use crate::stage::{Look, Picture, draw};
use folioscope_core::service::{Reply, Request};
use folioscope_core::trace::rule::Rule;
use folioscope_core::units::FileId;

const SANDBOX: &str = include_str!("../../../assets/scenarios/sandbox.toml");
const ARRAY: &str = include_str!("../../../assets/scenarios/stripe-alignment-partition.toml");

fn ask(request: &Request) -> Reply {
    Reply::decode(&folioscope_web_engine::answer(&request.encode())).expect("a reply")
}

fn of(text: &str) -> (Picture, Checked) {
    let Reply::Opened(opened) = ask(&Request::Scenario(text.to_owned())) else { panic!() };
    let Reply::Checked(form) = ask(&Request::Check(text.to_owned())) else { panic!() };
    let (mut session, _): (Session, _) = crate::open::opened(*opened).expect("it opens");
    // The members of an array have work only at its end.
    session.go(if text.contains("[array]") { usize::MAX } else { session.first_write() });
    if text.contains("[queue]") {
        let issued = |at: &usize| {
            let step = session.steps_at(*at)[0];
            step.is_some_and(|step| step.rule == Rule::RequestIssued)
        };
        session.go((1..session.way().last()).find(issued).expect("one is issued"));
    }
    let look = Look {
        width: 1040,
        lanes: Lane::usual().collect(),
        range: None,
        file: FileId::new(0),
        only: None,
        covered: false,
        within: false,
        cursor: None,
        inspects: false,
    };
    (draw(&mut session, &look, false), *form)
}

/// As a scenario without settings sees it.
fn seen(form: &Checked) -> Seen<'_> {
    Seen { form, setting: "run" }
}

fn all(text: &str, what: What) -> (Picture, Checked, Vec<Grip>) {
    let (picture, form) = of(text);
    let mut all = grips(&picture.scene, &picture.spots, seen(&form));
    all.retain(|grip| grip.what == what);
    (picture, form, all)
}

/// A grip that is taken in its middle and dragged so far.
fn dragged(grip: Grip, (dx, dy): (f64, f64), fine: bool) -> Drag {
    let [x, y, w, h] = grip.area;
    let middle = (x + w / 2.0, y + h / 2.0);
    let mut drag = Drag::new(grip, middle);
    drag.to((middle.0 + dx, middle.1 + dy), fine);
    drag
}

fn set(drag: Drag, picture: &Picture, form: &Checked) -> String {
    match drag.change(&picture.scene, seen(form), (None, None)) {
        Some(Change::Set(_, key, value)) => format!("{key} = {value}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_drag_on_the_ruler_is_a_write_of_whole_blocks_or_with_alt_of_bytes() {
    let (picture, form, all) = all(SANDBOX, What::Write);
    let [ruler] = all[..] else { panic!("{all:?}") };
    let x = |byte: u64| pixels(picture.scene.x_of(byte));
    let taken = |from: u64, to: u64, fine| {
        let mut drag = Drag::new(ruler, (x(from), ruler.area[1] + 5.0));
        drag.to((x(to), ruler.area[1] + 9.0), fine);
        drag
    };
    let drag = taken(20_000, 30_000, false);
    assert_eq!(drag.meant(&picture.scene).words, "write 16k at 16k");
    assert_eq!(taken(30_000, 20_000, false).meant(&picture.scene), drag.meant(&picture.scene));
    let change = drag.change(&picture.scene, seen(&form), (Some(2), Some("other")));
    let keys = ["\"pwrite\"", "\"other\"", "\"16k\"", "\"16k\""].map(str::to_owned);
    let named = ["do", "file", "at", "len"].into_iter().zip(keys).collect();
    assert_eq!(change, Some(Change::Op(Some(2), named)));
    let fine = taken(20_000, 30_000, true).meant(&picture.scene);
    let (at, len) = fine.range;
    assert!(at.abs_diff(20_000) < 200 && len.abs_diff(10_000) < 200, "{fine:?}");
    // The pixel behind the last byte is no block more.
    let edge = taken(40_000, 1 << 20, false).meant(&picture.scene);
    assert_eq!(edge.words, "write 28k at 36k");
    let [left, _, wide, _] = edge.area;
    assert!((left - x(36 << 10)).abs() < 1.0 && (left + wide - x(64 << 10)).abs() < 1.0);
}

#[test]
fn the_edge_of_a_folio_is_the_largest_order_in_powers_of_two() {
    let written = SANDBOX.replace("do = \"pread\"", "do = \"pwrite\"").replace("fill = 1", "");
    let (picture, form, all) = all(&written, What::Order);
    let [folio] = all[..] else { panic!("{all:?}") };
    assert!(dragged(folio, (0.0, 0.0), false).is_still());
    let wide = folio.area[0] + 4.0 - folio.zero.expect("its left edge");
    let to = |share: f64| set(dragged(folio, (wide * (share - 1.0), 0.0), false), &picture, &form);
    for (share, order) in [(1.0, 4), (0.9, 4), (0.5, 3), (0.26, 2), (0.0, 0), (-3.0, 0)] {
        assert_eq!(to(share), format!("max_folio_order = {order}"), "{share}");
    }
    assert_eq!(to(1e9), "max_folio_order = 11");
    let ghosts = dragged(folio, (1.0, 0.0), false).meant(&picture.scene).ghosts;
    assert!(ghosts.len() >= 5, "every order that fits has a line: {ghosts:?}");
}

#[test]
fn an_array_and_its_partition_are_dragged() {
    let (picture, form, chunks) = all(ARRAY, What::Chunk);
    let size = seen(&form).size("array", "chunk").expect("it has one");
    assert!(!chunks.is_empty());
    for chunk in chunks {
        let wide = size as f64 / chunk.per;
        let to = |dx: f64| set(dragged(chunk, (dx, 0.0), false), &picture, &form);
        assert_eq!(to(0.0), format!("chunk = {}", written(size)));
        assert_eq!(to(wide), format!("chunk = {}", written(size * 2)));
        assert_eq!(to(-wide * 0.6), format!("chunk = {}", written(size / 2)));
        assert_eq!(to(-wide), "chunk = 4k");
    }
    let (picture, form, edges) = all(ARRAY, What::Members);
    let [edge] = edges[..] else { panic!("{edges:?}") };
    let pitch = 1.0 / edge.per;
    let to = |rows: f64| set(dragged(edge, (0.0, rows * pitch), false), &picture, &form);
    let now = set(dragged(edge, (0.0, 0.0), false), &picture, &form);
    let members: u64 = now.trim_start_matches("members = ").parse().expect("a number");
    assert_eq!(to(1.0), format!("members = {}", members + 1));
    assert_eq!(to(-1.0), format!("members = {}", members - 1));
    assert_eq!(to(-99.0), "members = 4", "raid6 has no fewer");
    let (picture, form, starts) = all(ARRAY, What::Start);
    let start = starts[0];
    let moved = |dx: f64, fine| set(dragged(start, (dx, 0.0), fine), &picture, &form);
    let base = start.base;
    assert!(moved(0.0, true).ends_with(&format!(" {}", written(base))), "{}", moved(0.0, true));
    assert_eq!(moved(-1e9, false), "start = 0");
    let one = (base as f64 + 40.0 * start.per) / 512.0;
    assert_eq!(moved(40.0, true), format!("start = {}", written(whole(one.round()) * 512)));
}

#[test]
fn the_edge_of_a_request_is_the_longest_one_even_where_none_was_named() {
    let queue = SANDBOX.replace("do = \"pread\"", "do = \"pwrite\"").replace("fill = 1", "");
    let queue = queue.replace("[[file]]", "[queue]\n\n[[file]]");
    let (picture, form, requests) = all(&queue, What::Longest);
    let [request] = requests[..] else { panic!("{requests:?}") };
    let to = |dx: f64| set(dragged(request, (dx, 0.0), false), &picture, &form);
    assert_eq!(to(0.0), "max_size = 64k");
    assert_eq!(to(-0.5 * 65_536.0 / request.per), "max_size = 32k");
    assert_eq!(to(-1e9), "max_size = 4k");
}

#[test]
fn the_stripe_of_a_queue_is_dragged_along_the_device() {
    let queue = SANDBOX.replace("do = \"pread\"", "do = \"pwrite\"").replace("fill = 1", "");
    let queue = queue.replace("[[file]]", "[queue]\nio_opt = \"16k\"\n\n[[file]]");
    let (picture, form, stripes) = all(&queue, What::Stripe);
    assert!(!stripes.is_empty());
    for stripe in stripes {
        let to = |bytes: f64| {
            set(dragged(stripe, ((bytes - 16_384.0) / stripe.per, 0.0), false), &picture, &form)
        };
        for (bytes, size) in [(16_384.0, "16k"), (32_768.0, "32k"), (8_192.0, "8k"), (0.0, "4k")] {
            assert_eq!(to(bytes), format!("io_opt = {size}"));
        }
    }
    let (_, _, none) = all(&queue.replace("io_opt", "io_min"), What::Stripe);
    assert_eq!(none, []);
}

#[test]
fn a_drag_edits_the_table_that_the_setting_uses() {
    let own = "[[variant]]\nname = \"a\"\n\n[[variant]]\nname = \"b\"\n[variant.array]\nchunk = \
               \"8k\"\n\n[[file]]";
    let text = include_str!("../../../assets/scenarios/stripe-absorbed.toml");
    let settings = text.find("[[variant]]").expect("it has settings");
    let files = text.find("[[file]]").expect("it has a file");
    let text = format!("{}{own}{}", &text[..settings], &text[files + 8..]);
    let (_, form) = of(&text);
    assert_eq!(form.wrong, None);
    let at = |setting, key| {
        let section = Seen { form: &form, setting }.section(key).expect("a table");
        form.sections[section].table.as_str()
    };
    assert_eq!(at("a", ("array", "chunk")), "array");
    assert_eq!(at("b", ("array", "chunk")), "variant.array");
    assert_eq!(at("b", ("array", "members")), "array", "the setting says nothing of it");
    assert_eq!(Seen { form: &form, setting: "b" }.size("array", "chunk"), Some(8192));
    // The setting's table has the lines below its header, and no more.
    let section = form.sections.iter().find(|one| one.table == "variant.array").expect("it");
    let block = &text[section.block.clone().expect("lines")];
    assert_eq!(block.trim_end(), "[variant.array]\nchunk = \"8k\"");
}

#[test]
fn keys_change_what_the_handles_do() {
    let key = |lane, thing| Key { lane, run: 0, thing };
    let folio = key(Lane::Cache, Thing::Folio(0));
    assert_eq!(What::of_key(folio, Move::Right), Some((What::Order, true)));
    assert_eq!(What::of_key(folio, Move::Up), None);
    let chunk = key(Lane::Members, Thing::Chunk { stripe: 1, member: 0 });
    assert_eq!(What::of_key(chunk, Move::Left), Some((What::Chunk, false)));
    assert_eq!(What::of_key(chunk, Move::Down), Some((What::Members, true)));
    let sent = key(Lane::Device, Thing::Bio(0));
    assert_eq!(What::of_key(sent, Move::Right), Some((What::Start, true)));
    assert_eq!(What::of_key(sent, Move::Down), Some((What::Stripe, true)));
}
