//! The stage of lessons, without a browser.

use super::*;
use crate::lesson;
use folioscope_core::scene::cells::Cell;
use folioscope_core::scene::spots::Thing;

#[test]
fn the_question_covers_the_device_and_the_answer_shows_the_waste() {
    let (mut session, lesson) = lesson::open(lesson::FIRST);
    session.go(lesson.told.stops[0].at);
    let mut look = Look {
        width: 1040,
        lanes: lesson.told.stops[0].lanes.clone(),
        range: lesson.told.focus,
        file: FileId::new(0),
        only: None,
        covered: true,
        within: false,
        cursor: None,
        inspects: false,
    };
    let ask = draw(&mut session, &look, true);
    let markup = |picture: &Picture| {
        svg::render_inner(picture.scene.width, picture.scene.height, PREFIX, &picture.scene.marks)
    };
    let svg = markup(&ask);
    assert!(svg.contains(">?</text>") && !svg.contains("s-hatch)"), "{svg}");
    assert_eq!(ask.scene.legend, [Cell::Dirty, Cell::Clean]);
    session.go(lesson.told.stops[1].at);
    look.covered = false;
    let answer = draw(&mut session, &look, true);
    let svg = markup(&answer);
    assert!(svg.contains("s-hatch)") && !svg.contains("style"));
    assert!(answer.scene.legend.contains(&Cell::Wasted));
    let said: Vec<&str> =
        answer.tables.iter().flat_map(|table| &table.rows).map(|row| row.state.as_str()).collect();
    assert!(said.contains(&"being written though clean"), "{said:?}");
    let shape = folioscope_core::scene::swatch(Cell::Wasted);
    assert!(!swatch(&shape).contains("defs"));
}

#[test]
fn whatever_a_lane_of_the_run_shows_can_be_pointed_at_and_is_explained() {
    let lanes = [
        (4, Lane::History, "submit_bio"),
        (10, Lane::Marks, ""),
        (14, Lane::Checks, "fault_in_iov_iter_readable"),
        (15, Lane::Order, "blk_mq_start_request"),
        (16, Lane::Returns, ""),
    ];
    for (number, lane, function) in lanes {
        let (mut session, _) = lesson::open(number);
        session.go(usize::MAX);
        let look = Look {
            width: 1040,
            lanes: vec![Lane::File, lane],
            range: None,
            file: FileId::new(0),
            only: None,
            covered: false,
            within: false,
            cursor: None,
            inspects: true,
        };
        let picture = draw(&mut session, &look, false);
        assert_eq!(picture.scene.signs.is_empty(), lane == Lane::Returns, "{lane:?}");
        let mine = picture.spots.iter().filter(|spot| spot.key.lane == lane);
        assert!(mine.clone().count() > 1, "{lane:?}");
        for spot in mine.take(6) {
            assert!(matches!(spot.key.thing, Thing::Part(_)), "{spot:?}");
            let look = Look { cursor: Some(spot.key), ..look.clone() };
            let found = draw(&mut session, &look, false).found;
            let found = found.unwrap_or_else(|| panic!("{lane:?} {spot:?}"));
            assert!(found.words.starts_with(lane.name()) && !found.details.state.is_empty());
            let causes: Vec<&str> = found.details.causes.iter().map(|one| one.function).collect();
            assert_eq!(causes.is_empty(), lane == Lane::Returns, "{lane:?}");
            assert!(function.is_empty() || causes == [function], "{lane:?} {causes:?}");
        }
    }
}
