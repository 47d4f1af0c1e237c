//! A draw list as SVG: self-contained, with its colours as custom properties and its patterns under
//! ids of their own.
//!
//! [`element`] gives one mark as tag and attributes, for a page that patches what changed.

use super::Scene;
use super::draw::{Anchor, Mark, Pattern, Shape, Style};
use super::fixed::Fx;
use super::tokens::Token;
use super::view::Theme;
use core::fmt::Write as _;

/// A mark as an SVG element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Element {
    /// Its tag.
    pub tag: &'static str,
    /// Its attributes, always in the same order.
    pub attributes: Vec<(&'static str, String)>,
    /// Its text.
    pub text: Option<String>,
}

/// A mark as an SVG element; `prefix` is the one of its scene.
pub fn element(mark: &Mark, prefix: &str) -> Element {
    let mut attributes = Vec::with_capacity(8);
    let mut add = |name, value: String| attributes.push((name, value));
    let mut words = None;
    let tag = match &mark.shape {
        Shape::Rect { x, y, w, h, r } => {
            for (name, value) in [("x", x), ("y", y), ("width", w), ("height", h)] {
                add(name, value.to_string());
            }
            if *r > Fx::ZERO {
                add("rx", r.to_string());
            }
            "rect"
        }
        Shape::Line { from, to } => {
            for (name, value) in [("x1", from.0), ("y1", from.1), ("x2", to.0), ("y2", to.1)] {
                add(name, value.to_string());
            }
            "line"
        }
        Shape::Path(points) => {
            let mut path = String::new();
            for (at, (x, y)) in points.iter().enumerate() {
                let letter = if at == 0 { 'M' } else { 'L' };
                write!(path, "{letter}{x} {y}").expect("a String takes everything");
            }
            path.push('Z');
            add("d", path);
            "path"
        }
        Shape::Text { x, y, anchor, text } => {
            add("x", x.to_string());
            add("y", y.to_string());
            match anchor {
                Anchor::Start => {}
                Anchor::Middle => add("text-anchor", "middle".to_owned()),
                Anchor::End => add("text-anchor", "end".to_owned()),
            }
            words = Some(text.clone());
            "text"
        }
    };
    add("class", mark.style.class().to_owned());
    if let Some(pattern) = mark.pattern {
        add("fill", format!("url(#{prefix}-{})", pattern.name()));
    }
    Element { tag, attributes, text: words }
}

/// The picture as one SVG document.
pub fn render_svg(scene: &Scene) -> String {
    let mut out = String::with_capacity(scene.marks.len() * 96 + 6000);
    write_svg(&mut out, scene).expect("a String takes everything");
    out
}

/// The beginning of a document.
pub(super) struct Head<'a> {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) prefix: &'a str,
    pub(super) title: &'a str,
    pub(super) alt: &'a str,
}

impl Head<'_> {
    pub(super) fn write(&self, out: &mut String) -> core::fmt::Result {
        let Self { width, height, prefix, title, alt } = self;
        write!(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fs {prefix}\" ")?;
        write!(out, "width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" ")?;
        writeln!(out, "role=\"img\" aria-labelledby=\"{prefix}-title {prefix}-desc\">")?;
        writeln!(out, "<title id=\"{prefix}-title\">{}</title>", escape(title))?;
        writeln!(out, "<desc id=\"{prefix}-desc\">{}</desc>", escape(alt))
    }
}

fn write_svg(out: &mut String, scene: &Scene) -> core::fmt::Result {
    let Scene { width, height, prefix, title, alt, .. } = scene;
    Head { width: *width, height: *height, prefix, title, alt }.write(out)?;
    writeln!(out, "<style>\n{}</style>", style(scene.theme, prefix))?;
    writeln!(out, "{}", definitions(prefix))?;
    write_marks(out, &scene.marks, prefix)?;
    writeln!(out, "</svg>")
}

/// The picture for a page that has the style sheet of [`page_style`] and its own words: an element
/// without styles, hidden from those who have the tables.
pub fn render_inner(width: u32, height: u32, prefix: &str, marks: &[Mark]) -> String {
    inner(width, height, (prefix, &definitions(prefix)), marks)
}

/// The same where the patterns stand elsewhere on the page.
pub fn render_bare(width: u32, height: u32, prefix: &str, marks: &[Mark]) -> String {
    inner(width, height, (prefix, ""), marks)
}

fn inner(width: u32, height: u32, (prefix, patterns): (&str, &str), marks: &[Mark]) -> String {
    let mut out = String::with_capacity(marks.len() * 96 + 100 + patterns.len());
    let size = format!("width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\"");
    write!(out, "<svg class=\"fs\" {size} aria-hidden=\"true\" focusable=\"false\">")
        .and_then(|()| out.write_str(patterns))
        .and_then(|()| write_marks(&mut out, marks, prefix))
        .and_then(|()| out.write_str("</svg>"))
        .expect("a String takes everything");
    out
}

/// Marks, each on its line.
pub(super) fn write_marks<'a>(
    out: &mut String,
    marks: impl IntoIterator<Item = &'a Mark>,
    prefix: &str,
) -> core::fmt::Result {
    for mark in marks {
        let Element { tag, attributes, text } = element(mark, prefix);
        write!(out, "<{tag}")?;
        for (name, value) in &attributes {
            write!(out, " {name}=\"{}\"", escape(value))?;
        }
        match text {
            Some(text) => writeln!(out, ">{}</{tag}>", escape(&text))?,
            None => writeln!(out, "/>")?,
        }
    }
    Ok(())
}

/// Text as it may stand in markup.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Control characters and these two are not allowed in XML at all.
            '\u{fffe}' | '\u{ffff}' => out.push(' '),
            other if other.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

/// The patterns, under ids that begin with the prefix.
pub fn definitions(prefix: &str) -> String {
    let mut out = String::from("<defs>");
    for pattern in Pattern::ALL {
        let name = pattern.name();
        let (sizes, content) = match pattern {
            Pattern::Hatch => (
                "width=\"5\" height=\"5\" patternTransform=\"rotate(45)\"",
                "<rect width=\"5\" height=\"5\" class=\"ptint\"/>\
                <rect width=\"2.4\" height=\"5\" class=\"pwaste\"/>",
            ),
            Pattern::Dots => (
                "width=\"4\" height=\"4\"",
                "<rect width=\"4\" height=\"4\" class=\"pground\"/>\
                <circle cx=\"2\" cy=\"2\" r=\"1.2\" class=\"pread\"/>",
            ),
            Pattern::Rules => (
                "width=\"4\" height=\"4\"",
                "<rect width=\"4\" height=\"4\" class=\"pground\"/>\
                <rect y=\"1\" width=\"4\" height=\"1.2\" class=\"pink\"/>",
            ),
        };
        write!(
            out,
            "<pattern id=\"{prefix}-{name}\" patternUnits=\"userSpaceOnUse\" {sizes}>{content}</pattern>"
        )
        .expect("a String takes everything");
    }
    out + "</defs>"
}

fn colours(of: fn(Token) -> &'static str) -> String {
    let each = Token::ALL.iter().map(|token| format!("--{}:{}", token.var(), of(*token)));
    each.collect::<Vec<String>>().join(";")
}

/// The style sheet of a page: its root has the colours, also for the page's own parts, and follows
/// the viewer unless `data-theme` is set to `light` or `dark`; on paper it is light.
pub fn page_style() -> String {
    let (light, dark) = (colours(Token::light), colours(Token::dark));
    let forced = colours(Token::forced);
    let mut out = format!(":root{{{light};color-scheme:light}}\n");
    writeln!(
        out,
        "@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark};color-scheme:dark}}}}"
    )
    .and_then(|()| writeln!(out, ":root[data-theme=dark]{{{dark};color-scheme:dark}}"))
    .and_then(|()| writeln!(out, "@media (forced-colors:active){{:root:root{{{forced}}}}}"))
    .and_then(|()| writeln!(out, "@media print{{:root:root{{{light};color-scheme:light}}}}"))
    .expect("a String takes everything");
    out + &classes()
}

/// The style sheet of a picture: colours for its prefix, then the classes that use them.
pub fn style(theme: Theme, prefix: &str) -> String {
    colours_of(theme, prefix) + &classes()
}

/// The colours of a picture with this class.
pub(super) fn colours_of(theme: Theme, class: &str) -> String {
    let (light, dark) = (colours(Token::light), colours(Token::dark));
    let mut out = match theme {
        Theme::Light => format!(".{class}{{{light};color-scheme:light}}\n"),
        Theme::Dark => format!(".{class}{{{dark};color-scheme:dark}}\n"),
        Theme::Auto => format!(
            ".{class}{{{light}}}\n@media (prefers-color-scheme:dark){{.{class}{{{dark}}}}}\n"
        ),
    };
    let forced = colours(Token::forced);
    writeln!(out, "@media (forced-colors:active){{.{class}{{{forced}}}}}")
        .expect("a String takes everything");
    out
}

fn classes() -> String {
    let mut out = String::new();
    for style in Style::ALL {
        let rule = rule(*style);
        let size = style.size();
        let mono = "'DejaVu Sans Mono',ui-monospace,Menlo,Consolas,monospace";
        let sans = "Inter,'DejaVu Sans',system-ui,sans-serif";
        let font = match size {
            0 => String::new(),
            11 => format!("font:11px {mono};"),
            _ => format!("font:{size}px {sans};"),
        };
        writeln!(out, ".fs .{}{{{font}{rule}}}", style.class()).expect("a String takes everything");
    }
    let inks = [
        ("pwaste", "waste"),
        ("ptint", "tint"),
        ("pread", "read"),
        ("pink", "muted"),
        ("pground", "clean"),
    ];
    for (class, token) in inks {
        writeln!(out, ".fs .{class}{{fill:var(--{token})}}").expect("a String takes everything");
    }
    out
}

const fn rule(style: Style) -> &'static str {
    match style {
        Style::Ground => "fill:var(--bg)",
        Style::Hair => "stroke:var(--hair)",
        Style::Folio => "fill:none;stroke:var(--line);stroke-width:1.5",
        Style::Clean => "fill:var(--clean);stroke:var(--line)",
        Style::Empty => "fill:none;stroke:var(--line);stroke-dasharray:2 2",
        Style::Asked => "fill:var(--asked)",
        Style::Parity => "fill:var(--parity);fill-opacity:.18;stroke:var(--parity);stroke-width:1",
        Style::WasteFill => "stroke:var(--waste)",
        Style::ReadFill => "stroke:var(--read)",
        Style::ZeroFill | Style::Axis => "stroke:var(--line);stroke-width:1",
        Style::Failed | Style::ErrorTick => "fill:var(--err)",
        Style::Slash => "stroke:var(--bg);stroke-width:1.5",
        Style::Changed => "fill:none;stroke:var(--ink);stroke-width:2",
        Style::WasteTick => "fill:var(--waste)",
        Style::ChangedTick | Style::Op | Style::Words | Style::Stage => "fill:var(--ink)",
        Style::Mapped | Style::PlateA => "fill:var(--sunk);stroke:var(--line)",
        Style::Unwritten => {
            "fill:var(--bg);stroke:var(--line);stroke-width:1.5;stroke-dasharray:6 3"
        }
        Style::Delalloc => "fill:var(--bg);stroke:var(--line);stroke-dasharray:1 3",
        Style::Hole => "fill:none;stroke:var(--hair)",
        Style::Ribbon => "fill:var(--line);fill-opacity:.12;stroke:var(--line);stroke-width:1",
        Style::BioOpen => "fill:none;stroke:var(--ink);stroke-dasharray:4 2",
        Style::BioSent => "fill:none;stroke:var(--ink)",
        Style::BioDone => "fill:none;stroke:var(--line);stroke-width:1",
        Style::Cap => "stroke:var(--ink);stroke-width:2.5",
        Style::SectorAxis => "stroke:var(--stripe);stroke-width:1",
        Style::Stripe => "stroke:var(--stripe);stroke-width:1.5;stroke-dasharray:4 2",
        Style::Eof => "stroke:var(--ink);stroke-width:1;stroke-dasharray:3 2",
        Style::PlateB => "fill:var(--sunk);stroke:var(--ink);stroke-width:2.5",
        Style::LaneName | Style::Claim => "font-weight:650;fill:var(--ink)",
        Style::Quiet | Style::Tick => "fill:var(--muted)",
        Style::WasteWords => "font-weight:650;fill:var(--wtext)",
        Style::RunName => "font-weight:700;fill:var(--muted)",
        Style::SectorTick => "fill:var(--stripe)",
        Style::ParityWords => "fill:var(--parity)",
        Style::Letter => "font-weight:700;fill:var(--ink)",
        Style::LetterOn => "font-weight:700;fill:var(--onasked)",
        Style::LetterFailed => "font-weight:700;fill:var(--bg)",
    }
}
