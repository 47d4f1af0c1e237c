//! Requests: what the block layer made of the bios, on the sector axis. A line parts the bios of
//! one request, so that a merge is seen as two bars becoming one.

use super::bios::cargo;
use super::{MANY, joined};
use crate::block::bio::BioOp;
use crate::block::request::RequestState;
use crate::scene::canvas::{Canvas, id};
use crate::scene::cells::Cargo;
use crate::scene::draw::{Anchor, Style};
use crate::scene::fixed::{Fx, plural, px, whole};
use crate::scene::layout::{Frame, Row, band};
use crate::scene::pack::pack_spans;
use crate::scene::snapshot::RequestView;
use crate::scene::view::Lane;

const BAR: i32 = 18;

pub(in crate::scene) fn draw(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) -> Fx {
    let full = frame.full(Lane::Requests);
    let rows = if full { frame.limits.request_rows } else { 1 };
    let step = if full { BAR + 4 } else { 16 };
    let height = step * whole(rows) - if full { 4 } else { 6 };
    let row = Row { height, gap: 6, center: BAR / 2 };
    let agree = frame.agree(|a, b| a.requests == b.requests);
    frame.stack(canvas, Lane::Requests, top, &row, agree, |canvas, run, y| {
        let all = &frame.runs[run].now.requests;
        let spans: Vec<_> = all.iter().map(|request| vec![request.span()]).collect();
        if all.len() > MANY {
            crowd(frame, canvas, run, (y, y + px(if full { BAR } else { 10 })));
            return;
        }
        for (request, at) in all.iter().zip(pack_spans(&spans)).filter(|(_, at)| *at < rows) {
            let top = y + px(step * whole(at));
            bar(frame, canvas, run, request, (top, top + px(if full { BAR } else { 10 })));
        }
    })
}

/// More requests than eyes can tell apart: stretches of one kind, and how many there are.
fn crowd(frame: &Frame<'_>, canvas: &mut Canvas, run: usize, (top, bottom): (Fx, Fx)) {
    let all = &frame.runs[run].now.requests;
    let mut parts = Vec::new();
    for request in all {
        let shown = frame.sectors.pieces(request.addr, request.span().1).into_iter();
        parts.extend(shown.map(|piece| (piece.x0, piece.x1, carries(request))));
    }
    for (k, (x0, x1, what)) in joined(parts).into_iter().enumerate() {
        cargo(canvas, id(run, "reqrun", 0, k as u16), what, band(x0, x1, top, bottom));
    }
    let count = plural(all.len() as u64, "request");
    let place = [(px(frame.x1), top - px(2), Anchor::End)];
    canvas.label(id(run, "reqmore", 0, 0), Style::Tick, frame.edges(), &place, &[&count]);
}

const fn carries(request: &RequestView) -> Cargo {
    match (request.state, request.head.op) {
        (RequestState::Done, _) => Cargo::Done,
        (_, BioOp::Read) => Cargo::Read,
        (_, BioOp::Write) => Cargo::Asked,
    }
}

fn bar(frame: &Frame<'_>, canvas: &mut Canvas, run: usize, request: &RequestView, rows: (Fx, Fx)) {
    let (top, bottom) = rows;
    let n = u64::from(request.id);
    let pieces = frame.sectors.pieces(request.addr, request.span().1);
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return };
    let (left, right) = (first.x0, last.x1.max(first.x0 + px(4)));
    let what = carries(request);
    for (k, piece) in pieces.iter().enumerate() {
        let area = band(piece.x0, piece.x1.max(piece.x0 + px(4)), top, bottom);
        cargo(canvas, id(run, "req", n, k as u16), what, area);
    }
    canvas.reserve(band(left, right, top, bottom));
    let outline = match request.state {
        RequestState::New | RequestState::Plugged | RequestState::Inserted => Style::BioOpen,
        RequestState::Issued => Style::BioSent,
        RequestState::Done => Style::BioDone,
    };
    canvas.framed(id(run, "reqline", n, 0), outline, band(left, right, top, bottom), 0);
    for (k, (start, _)) in request.bios.iter().enumerate().skip(1) {
        if let Some(x) = frame.sectors.x(*start) {
            canvas.line(id(run, "reqcut", n, k as u16), Style::Cap, (x, top), (x, bottom));
        }
    }
    let before = frame.runs[run].before.as_ref();
    if before.is_some_and(|old| {
        let same = old.requests.binary_search_by_key(&request.id, |other| other.id);
        same.map_or(true, |at| old.requests[at] != *request)
    }) {
        let out = px(if frame.full(Lane::Requests) { 3 } else { 1 });
        let area = band(left - out, right + out, top - out, bottom + out);
        canvas.fill(id(run, "reqchg", n, 0), Style::Changed, area);
    }
    if frame.full(Lane::Requests) {
        let (bios, state) = (bios_of(request), request.state.words());
        let texts = [format!("{bios} \u{b7} {state}"), state.to_owned()];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let y = top + px(13);
        let places = [(right + px(9), y, Anchor::Start), (left - px(9), y, Anchor::End)];
        canvas.label(id(run, "reqname", n, 0), Style::Stage, frame.edges(), &places, &texts);
    }
}

fn bios_of(request: &RequestView) -> String {
    plural(request.bios.len() as u64, "bio")
}

/// How many bios a request has, and how far it has come.
pub(in crate::scene) fn words(request: &RequestView) -> String {
    format!("{}, {}", bios_of(request), request.state.words())
}
