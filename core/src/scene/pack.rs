//! Rows of a lane: each thing stands in the first row in which it meets no other.

use super::axis::Span;
use super::snapshot::BioView;

/// The row of each bio: the first in which it meets no other.
pub(super) fn pack(bios: &[BioView]) -> Vec<usize> {
    let spans = |bio: &BioView| bio.pieces.iter().map(|piece| (piece.start, piece.end)).collect();
    pack_spans(&bios.iter().map(spans).collect::<Vec<_>>())
}

/// The row of each thing: the first in which none of its spans meets another thing's.
pub(super) fn pack_spans(all: &[Vec<Span>]) -> Vec<usize> {
    // By row its spans: ascending, those that touch as one.
    let mut rows: Vec<Vec<Span>> = Vec::new();
    let mut places = Vec::with_capacity(all.len());
    let meets = |row: &[Span], span: &Span| {
        let behind = row.partition_point(|other| other.1 <= span.0);
        row.get(behind).is_some_and(|other| other.0 < span.1)
    };
    for spans in all {
        let free = |row: &Vec<Span>| !spans.iter().any(|span| meets(row, span));
        let at = rows.iter().position(free).unwrap_or(rows.len());
        if at == rows.len() {
            rows.push(Vec::new());
        }
        for span in spans {
            insert(&mut rows[at], *span);
        }
        places.push(at);
    }
    places
}

/// Adds a span to ascending ones; those that it meets or touches become one with it.
fn insert(row: &mut Vec<Span>, span: Span) {
    let from = row.partition_point(|other| other.1 < span.0);
    let to = row.partition_point(|other| other.0 <= span.1);
    let joined =
        row[from..to].iter().fold(span, |all, other| (all.0.min(other.0), all.1.max(other.1)));
    row.splice(from..to, [joined]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_that_meet_stand_in_rows_of_their_own() {
        let all: [&[Span]; 6] =
            [&[(0, 10)], &[(10, 20)], &[(5, 15)], &[(30, 40), (0, 1)], &[(20, 30)], &[(39, 41)]];
        let all: Vec<Vec<Span>> = all.iter().map(|spans| spans.to_vec()).collect();
        assert_eq!(pack_spans(&all), [0, 0, 1, 1, 0, 0]);
    }

    #[test]
    fn spans_that_touch_are_one() {
        let mut row = Vec::new();
        for span in [(4, 6), (0, 2), (8, 9), (2, 4), (6, 7), (20, 30), (1, 25)] {
            insert(&mut row, span);
        }
        assert_eq!(row, [(0, 30)]);
    }
}
