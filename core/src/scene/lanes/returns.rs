//! What `read()` returns: the file as it would be read now, by who wrote its bytes, up to EOF;
//! behind EOF what is in memory all the same, for nobody to see.

use super::cache::paint;
use crate::scene::canvas::{Canvas, id};
use crate::scene::cells::Cell;
use crate::scene::course::{Writer, so_far, writers};
use crate::scene::draw::{Anchor, Pattern, Style};
use crate::scene::fixed::{Fx, grouped, plural, px};
use crate::scene::layout::{Frame, Row, Run, band};
use crate::scene::view::Lane;

const WORDS: i32 = 15;
const BAR: i32 = 30;

/// From, to, who, and whether it lies inside the file.
type Stretch = (u64, u64, Writer, bool);

impl Writer {
    const fn cell(self) -> Cell {
        match self {
            Self::Device => Cell::Clean,
            Self::App => Cell::Dirty,
            Self::Zeroed => Cell::Zeroed,
            Self::Nothing => Cell::NotUptodate,
        }
    }
    const fn words(self) -> &'static str {
        match self {
            Self::Device => "as on the device",
            Self::App => "written by the application",
            Self::Zeroed => "zeros of the kernel",
            Self::Nothing => "nothing, read as zeros",
        }
    }
    const fn short(self) -> &'static str {
        match self {
            Self::Device => "the device's",
            Self::App => "the app's",
            Self::Zeroed => "zeros",
            Self::Nothing => "nothing",
        }
    }
}

pub(in crate::scene) fn draw(frame: &Frame<'_>, canvas: &mut Canvas, top: Fx) -> Fx {
    let full = frame.full(Lane::Returns);
    let (words_height, bar) = if full { (WORDS, BAR) } else { (0, 16) };
    let row = Row { height: words_height + bar, gap: 10, center: words_height + bar / 2 };
    let of = |run: &Run| -> Vec<Stretch> {
        let segments = frame.file.segments().iter();
        segments.flat_map(|segment| stretches(run, (segment.start, segment.end))).collect()
    };
    let agree = frame.runs.windows(2).all(|two| of(&two[0]) == of(&two[1]));
    frame.stack(canvas, Lane::Returns, top, &row, agree, |canvas, run, y| {
        let (top, bottom) = (y + px(words_height), y + px(words_height + bar));
        let size = frame.runs[run].now.size;
        for (start, end, writer, inside) in of(&frame.runs[run]) {
            // Behind EOF it is half as high, and nothing is drawn where nothing is.
            if !inside && writer == Writer::Nothing {
                continue;
            }
            let top = if inside { top } else { top + px(bar / 2) };
            for (nth, piece) in frame.file.pieces(start, end).into_iter().enumerate() {
                let area = band(piece.x0, piece.x1.max(piece.x0 + px(2)), top, bottom);
                let key = start.saturating_mul(8).saturating_add(nth as u64);
                // Zeros are the point here: they fill their stretch.
                match writer {
                    Writer::Zeroed => canvas.pattern(id(run, "ret", key, 0), Pattern::Rules, area),
                    Writer::Device | Writer::App | Writer::Nothing => {
                        paint(canvas, |k| id(run, "ret", key, k), writer.cell(), area);
                    }
                }
                if full {
                    let at = if inside { y + px(11) } else { y + px(words_height + bar / 2 - 2) };
                    let place = [(piece.x0 + px(3), at, Anchor::Start)];
                    let edges = (piece.x0, frame.edges().1);
                    let place_id = id(run, "retname", key, 0);
                    let outside = format!("{}, not in the file", writer.short());
                    let long = if inside { writer.words() } else { &outside };
                    let texts = [long, writer.short()];
                    canvas.label(place_id, Style::Stage, edges, &place, &texts);
                }
            }
        }
        if let Some(x) = frame.file.x(size) {
            canvas.line(id(run, "reteof", 0, 0), Style::Changed, (x, top - px(2)), (x, bottom));
        }
    })
}

/// Who wrote the bytes of a range, cut at EOF.
pub(in crate::scene) fn stretches(run: &Run, range: (u64, u64)) -> Vec<Stretch> {
    let changes = so_far(&run.course.bytes, run.position, |change| change.at);
    let size = run.now.size;
    let mut all = Vec::new();
    for (start, end, writer) in writers(changes, range) {
        let inside = (start, end.min(size), writer, true);
        all.extend([inside, (start.max(size), end, writer, false)]);
    }
    all.retain(|(start, end, ..)| start < end);
    all
}

/// Whether zeros of the kernel are shown.
pub(in crate::scene) fn has_zeros(run: &Run, spans: &[(u64, u64)]) -> bool {
    let mut all = spans.iter().flat_map(|span| stretches(run, *span));
    all.any(|(_, _, writer, _)| writer == Writer::Zeroed)
}

/// What is said of a stretch.
pub(in crate::scene) fn says((start, end, writer, inside): &Stretch) -> (String, String) {
    let behind = if *inside { "" } else { ", behind EOF: in memory only" };
    let bytes = plural(end - start, "byte");
    (format!("{bytes} from {}", grouped(*start)), format!("{}{behind}", writer.words()))
}
