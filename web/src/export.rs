//! What is on the stage as a picture that stands alone: SVG as `folioscope render` draws it, text
//! of 72 columns, Markdown, and an SVG that moves.

use crate::session::Part;
use crate::state::State;
use folioscope_core::scene::flip::{Flip, FlipError, MAX_FRAMES};
use folioscope_core::scene::svg::render_svg;
use folioscope_core::scene::text::render_text;
use folioscope_core::scene::view::{Lanes, Theme, View};
use folioscope_core::scene::{Scene, render};
use folioscope_core::units::FileId;

/// How a picture is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Paper {
    /// In pixels.
    pub(crate) width: u32,
    /// Its colours.
    pub(crate) theme: Theme,
}

/// The moment as SVG.
pub(crate) fn svg(state: &mut State, paper: Paper) -> String {
    render_svg(&scene(state, paper))
}

/// The moment in 72 columns.
pub(crate) fn text(state: &mut State) -> String {
    let view = view(state, Paper { width: 0, theme: Theme::Auto });
    render_text(&state.session.full_sides(state.compare.only), &view)
}

/// The moment as Markdown: the text, and the link on a line of its own where there is one.
pub(crate) fn markdown(state: &mut State, link: Option<&str>) -> String {
    with_link(&format!("```text\n{}```\n", text(state)), link)
}

/// A text, and a link on a line of its own.
pub(crate) fn with_link(text: &str, link: Option<&str>) -> String {
    link.map_or_else(|| text.to_owned(), |link| format!("{text}\n{link}\n"))
}

/// The moments of a range as an SVG that moves.
pub(crate) fn animated(
    state: &mut State,
    (from, to): (usize, usize),
    paper: Paper,
) -> Result<String, FlipError> {
    let to = to.min(state.session.way().last());
    let count = (to + 1).saturating_sub(from);
    if !(1..=MAX_FRAMES).contains(&count) {
        return Err(FlipError::Frames(count));
    }
    let here = state.session.at();
    let mut flip = Flip::default();
    let made = (from..=to).try_for_each(|at| {
        state.session.go(at);
        flip.push(scene(state, paper))
    });
    state.session.go(here);
    made?;
    flip.render()
}

/// A name for a file of this moment.
pub(crate) fn file_name(state: &State, what: &str, ending: &str) -> String {
    let mut name = String::new();
    for letter in state.session.title().chars().take(60) {
        if letter.is_ascii_alphanumeric() {
            name.push(letter.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    let name = name.trim_end_matches('-');
    format!("{}{what}.{ending}", if name.is_empty() { "run" } else { name })
}

fn scene(state: &mut State, paper: Paper) -> Scene {
    let view = view(state, paper);
    render(&state.session.full_sides(state.compare.only), &view)
}

fn view(state: &mut State, Paper { width, theme }: Paper) -> View {
    let file = FileId::new(state.file);
    let (range, only) = (state.range(), state.compare.only);
    let limits = Some(state.session.limits(Part { file, range, only, within: false }));
    View { width, theme, lanes: Lanes::only(&state.lanes), range, file, limits, ..View::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson;

    fn state() -> State {
        let (session, lesson) = lesson::open(lesson::FIRST);
        let mut state = State::lesson(session, lesson);
        state.go_to_stop(1);
        state
    }
    const PAPER: Paper = Paper { width: 720, theme: Theme::Light };

    #[test]
    fn a_picture_has_its_evidence_and_the_whole_names_of_its_runs() {
        let mut state = state();
        let svg = svg(&mut state, PAPER);
        for words in ["rules of linux-6.1", "B (per block)", "60 KiB sent though clean"] {
            assert!(svg.contains(words), "{words} in {svg}");
        }
        let text = text(&mut state);
        assert!(text.lines().all(|line| line.chars().count() <= 72), "{text}");
        assert!(text.contains("rules of linux-6.1"), "{text}");
        let markdown = markdown(&mut state, Some("https://x.example/#1/L7/2"));
        assert!(markdown.starts_with("```text\n") && markdown.contains(&text));
        assert!(markdown.ends_with("\n```\n\nhttps://x.example/#1/L7/2\n"), "{markdown}");
    }

    #[test]
    fn a_range_moves_and_the_stage_stays() {
        let mut state = state();
        let here = state.session.at();
        let svg = animated(&mut state, (here - 10, here), PAPER).expect("it is short");
        assert!(svg.contains("(11 moments)") && svg.contains("@keyframes"));
        assert_eq!(state.session.at(), here);
        assert_eq!(animated(&mut state, (5, 4), PAPER), Err(FlipError::Frames(0)));
        let long = animated(&mut state, (0, usize::MAX), PAPER).expect_err("it is long");
        assert!(long.to_string().contains("choose a shorter range"));
        assert_eq!(state.session.at(), here);
    }

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(file_name(&state(), "-a44", "svg"), "sub-page-dirty-tracking-a44.svg");
    }
}
