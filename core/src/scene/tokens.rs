//! The colours of every picture, each with a light and a dark value, checked for contrast.
//!
//! Hue says the cause, pattern the kind; nothing else may name a colour.

macro_rules! tokens {
    ($(
        $(#[$doc:meta])*
        $name:ident = $var:literal, $light:literal, $dark:literal, $forced:literal;
    )*) => {
        /// A colour by its meaning.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Token { $($(#[$doc])* $name,)* }

        impl Token {
            /// Every token.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// Name of the custom property, without its dashes.
            pub const fn var(self) -> &'static str {
                match self { $(Self::$name => $var,)* }
            }
            /// On a light ground, as `#rrggbb`.
            pub const fn light(self) -> &'static str {
                match self { $(Self::$name => $light,)* }
            }
            /// On a dark ground, as `#rrggbb`.
            pub const fn dark(self) -> &'static str {
                match self { $(Self::$name => $dark,)* }
            }
            /// Where the viewer forces colours.
            pub const fn forced(self) -> &'static str {
                match self { $(Self::$name => $forced,)* }
            }
        }
    };
}

tokens! {
    /// The ground.
    Bg = "bg", "#f7f8fa", "#0f141b", "Canvas";
    /// A raised surface.
    Panel = "panel", "#ffffff", "#171d26", "Canvas";
    /// A lowered surface.
    Sunk = "sunk", "#eef1f5", "#1f2732", "Canvas";
    /// Text and strong lines.
    Ink = "ink", "#1b2330", "#e8ecf2", "CanvasText";
    /// Quiet text.
    Muted = "muted", "#525c6b", "#a7b1bf", "CanvasText";
    /// Outlines.
    Line = "line", "#76808e", "#8793a3", "GrayText";
    /// Lines that only part.
    Hair = "hair", "#d6dbe3", "#2b3542", "GrayText";
    /// A clean block.
    Clean = "clean", "#dfe5ec", "#303a47", "Canvas";
    /// What the application asked for.
    Asked = "asked", "#0072b2", "#56b4e9", "Highlight";
    /// Text on it.
    OnAsked = "onasked", "#ffffff", "#0b1016", "HighlightText";
    /// What nobody asked for.
    Waste = "waste", "#d55e00", "#ff8a3d", "CanvasText";
    /// Its ground.
    Tint = "tint", "#fff1e6", "#3a2414", "Canvas";
    /// Text about it.
    WasteText = "wtext", "#b84a00", "#ff9a52", "CanvasText";
    /// Reads.
    Read = "read", "#1b76ab", "#8ccbf2", "CanvasText";
    /// Parity.
    Parity = "parity", "#9c3b74", "#e6a3cb", "CanvasText";
    /// The sector axis, and stripes on it.
    Stripe = "stripe", "#7b3fa0", "#c39be0", "CanvasText";
    /// What holds.
    Ok = "ok", "#007a59", "#3cc79b", "CanvasText";
    /// What failed.
    Error = "err", "#a12600", "#ff8f73", "CanvasText";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(value: u8) -> f64 {
        let c = f64::from(value) / 255.0;
        if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    }
    fn luminance(colour: &str) -> f64 {
        let part = |at| u8::from_str_radix(&colour[at..at + 2], 16).expect("hex");
        0.2126 * channel(part(1)) + 0.7152 * channel(part(3)) + 0.0722 * channel(part(5))
    }
    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_and_marks_stand_out_from_their_grounds() {
        use Token::{
            Asked, Bg, Clean, Error, Ink, Line, Muted, Ok, OnAsked, Panel, Parity, Read, Stripe,
            Sunk, Tint, Waste, WasteText,
        };
        let pairs = [
            (Ink, Bg, 7.0),
            (Ink, Panel, 7.0),
            (Ink, Sunk, 7.0),
            (Ink, Clean, 7.0),
            (Muted, Bg, 4.5),
            (Muted, Panel, 4.5),
            (Muted, Sunk, 4.5),
            (OnAsked, Asked, 4.5),
            (WasteText, Bg, 4.5),
            (Stripe, Bg, 4.5),
            (Parity, Bg, 4.5),
            (Ok, Bg, 4.5),
            (Error, Bg, 4.5),
            (Bg, Error, 4.5),
            (Asked, Bg, 3.0),
            (Asked, Clean, 3.0),
            (Read, Clean, 3.0),
            (Line, Bg, 3.0),
            (Waste, Bg, 3.0),
            (Waste, Tint, 3.0),
        ];
        for (front, ground, least) in pairs {
            for (name, a, b) in
                [("light", front.light(), ground.light()), ("dark", front.dark(), ground.dark())]
            {
                let found = contrast(a, b);
                assert!(found >= least, "{front:?} on {ground:?}, {name}: {found:.2}");
            }
        }
    }

    #[test]
    fn asked_waste_and_clean_differ_in_grey() {
        for value in [Token::light, Token::dark] {
            let grey = |token| luminance(value(token));
            assert!((grey(Token::Asked) - grey(Token::Clean)).abs() > 0.15);
            assert!((grey(Token::Waste) - grey(Token::Tint)).abs() > 0.15);
        }
    }
}
