//! Requests and replies as bytes, packed like the values of a trace. Both ends come from one
//! build, so there is no version.

use super::{Contents, Entry, Opened, Reply, Request, form};
use crate::lesson::{Told, ToldAnswer, ToldStop};
use crate::link::Moment;
use crate::scene::view::Lane;
use crate::trace::packed::{Packed, put, put_option, put_text};
use crate::units::{Bytes, FileRange, Pos};

pub(super) type Read<T> = Result<T, String>;

impl Request {
    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Contents => out.push(0),
            Self::Lesson(number) => {
                out.push(1);
                put(&mut out, *number);
            }
            Self::Example(name) => {
                out.push(2);
                put_text(&mut out, name);
            }
            Self::Scenario(text) => {
                out.push(3);
                put_text(&mut out, text);
            }
            Self::Check(text) => {
                out.push(16);
                put_text(&mut out, text);
            }
            Self::Settings(text, names) => {
                out.push(9);
                put_text(&mut out, text);
                put_list(&mut out, names, |out, name| put_text(out, name));
            }
            Self::Link(packed) => {
                out.push(4);
                put_text(&mut out, packed);
            }
            Self::Pack(text) => {
                out.push(5);
                put_text(&mut out, text);
            }
        }
        out
    }
    /// The request of some bytes; the error says what is wrong with them.
    pub fn decode(bytes: &[u8]) -> Read<Self> {
        let mut from = Packed(bytes);
        let request = match from.byte()? {
            0 => Self::Contents,
            1 => Self::Lesson(from.number()?),
            2 => Self::Example(from.text()?),
            3 => Self::Scenario(from.text()?),
            16 => Self::Check(from.text()?),
            9 => Self::Settings(from.text()?, list(&mut from, text)?),
            4 => Self::Link(from.text()?),
            5 => Self::Pack(from.text()?),
            other => return Err(format!("no kind {other} is known")),
        };
        from.end()?;
        Ok(request)
    }
}

impl Reply {
    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Self::Contents(Contents { lessons, examples }) => {
                out.push(0);
                put_list(&mut out, lessons, |out, Entry { number, title, point, picture }| {
                    put(out, *number);
                    put_text(out, title);
                    put_text(out, point);
                    put_text(out, picture);
                });
                put_list(&mut out, examples, |out, (name, title)| {
                    put_text(out, name);
                    put_text(out, title);
                });
            }
            Self::Opened(opened) => {
                let Opened { title, scenario, runs, variants, lesson, moment } = &**opened;
                out.push(1);
                put_text(&mut out, title);
                put_text(&mut out, scenario);
                put_list(&mut out, runs, |out, (name, trace)| {
                    put_text(out, name);
                    put(out, trace.len() as u64);
                    out.extend_from_slice(trace);
                });
                put_list(&mut out, variants, |out, name| put_text(out, name));
                put_option(&mut out, lesson.as_ref(), put_told);
                let moment = moment.as_ref().map(Moment::to_text);
                put_option(&mut out, moment.as_deref(), put_text);
            }
            Self::Packed(fragment) => {
                out.push(3);
                put_text(&mut out, fragment);
            }
            Self::Refused(why) => {
                out.push(2);
                put_text(&mut out, why);
            }
            Self::Checked(checked) => {
                out.push(8);
                form::put_checked(&mut out, checked);
            }
        }
        out
    }
    /// The reply of some bytes; the error says what is wrong with them.
    pub fn decode(bytes: &[u8]) -> Read<Self> {
        let mut from = Packed(bytes);
        let reply = match from.byte()? {
            0 => Self::Contents(Contents {
                lessons: list(&mut from, |from| {
                    let (number, title) = (from.number()?, from.text()?);
                    Ok(Entry { number, title, point: from.text()?, picture: from.text()? })
                })?,
                examples: list(&mut from, |from| Ok((from.text()?, from.text()?)))?,
            }),
            1 => Self::Opened(Box::new(Opened {
                title: from.text()?,
                scenario: from.text()?,
                runs: list(&mut from, |from| {
                    let (name, len) = (from.text()?, from.number()?);
                    Ok((name, from.bytes(len)?.to_vec()))
                })?,
                variants: list(&mut from, text)?,
                lesson: from.option(told)?,
                moment: from.option(|from| {
                    Moment::from_text(&from.text()?).map_err(|error| error.to_string())
                })?,
            })),
            2 => Self::Refused(from.text()?),
            8 => Self::Checked(Box::new(form::checked(&mut from)?)),
            3 => Self::Packed(from.text()?),
            other => return Err(format!("no kind {other} is known")),
        };
        from.end()?;
        Ok(reply)
    }
}

pub(super) fn put_list<T>(out: &mut Vec<u8>, list: &[T], one: impl Fn(&mut Vec<u8>, &T)) {
    put(out, list.len() as u64);
    for item in list {
        one(out, item);
    }
}

pub(super) fn list<T>(
    from: &mut Packed<'_>,
    one: impl Fn(&mut Packed<'_>) -> Read<T>,
) -> Read<Vec<T>> {
    let len: usize = from.number()?;
    (0..len).map(|_| one(from)).collect()
}

fn text(from: &mut Packed<'_>) -> Read<String> {
    from.text()
}

fn put_told(out: &mut Vec<u8>, told: &Told) {
    let Told { number, title, point, ask, figure, shown, answers, stops, focus } = told;
    put(out, *number);
    for text in [title, point, ask, shown] {
        put_text(out, text);
    }
    put_option(out, figure.as_deref(), put_text);
    put_list(out, answers, |out, ToldAnswer { text, says }| {
        put_text(out, text);
        put_text(out, says);
    });
    put_list(out, stops, |out, ToldStop { title, says, at, lanes, why, whole }| {
        put_text(out, title);
        put_text(out, says);
        put(out, *at as u64);
        put_list(out, lanes, |out, lane| put_text(out, lane.word()));
        out.extend([u8::from(*why), u8::from(*whole)]);
    });
    put_option(out, *focus, |out, focus| {
        put(out, focus.start().get());
        put(out, focus.len().get());
    });
}

fn told(from: &mut Packed<'_>) -> Read<Told> {
    let number = from.number()?;
    let (title, point, ask, shown) = (from.text()?, from.text()?, from.text()?, from.text()?);
    Ok(Told {
        number,
        title,
        point,
        ask,
        shown,
        figure: from.option(Packed::text)?,
        answers: list(from, |from| Ok(ToldAnswer { text: from.text()?, says: from.text()? }))?,
        stops: list(from, |from| {
            let (title, says, at) = (from.text()?, from.text()?, from.number()?);
            let lanes = list(from, lane)?;
            let (why, whole) = (from.byte()? == 1, from.byte()? == 1);
            Ok(ToldStop { title, says, at, lanes, why, whole })
        })?,
        focus: from.option(|from| {
            let (start, len) = (Pos::new(from.number()?), Bytes::new(from.number()?));
            FileRange::new(start, len).ok_or_else(|| "a range ends beyond all files".to_owned())
        })?,
    })
}

fn lane(from: &mut Packed<'_>) -> Read<Lane> {
    let word = from.text()?;
    let known = Lane::ALL.into_iter().find(|lane| lane.word() == word);
    known.ok_or_else(|| format!("no lane is called {word}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replies() -> [Reply; 5] {
        let text = |text: &str| text.to_owned();
        let stop = ToldStop {
            title: text("a"),
            says: text("b"),
            at: 300,
            lanes: vec![Lane::Tally, Lane::File],
            why: true,
            whole: false,
        };
        let told = Told {
            number: 7,
            title: text("t"),
            point: text("p"),
            ask: text("?"),
            figure: Some(text("16")),
            shown: text("s"),
            answers: vec![ToldAnswer { text: text("x"), says: text("y") }],
            stops: vec![stop],
            focus: FileRange::new(Pos::new(4096), Bytes::new(512)),
        };
        let opened = Opened {
            title: text("o"),
            scenario: text("f"),
            runs: vec![(text("r"), vec![0, 255])],
            variants: vec![text("r"), text("s")],
            lesson: Some(told),
            moment: Moment::from_text("engine e\nplace 1 21 3\nlanes file").ok(),
        };
        assert!(opened.moment.is_some());
        let entry =
            Entry { number: 1, title: text("e"), point: text("q"), picture: text("<svg/>") };
        let contents = Contents { lessons: vec![entry], examples: vec![(text("n"), text("m"))] };
        let scenario = include_str!("../../../assets/scenarios/dirty-bit.toml");
        let mut checked = crate::scenario::form::check(scenario).0;
        checked.wrong = crate::scenario::form::check("x").0.wrong;
        [
            Reply::Contents(contents),
            Reply::Opened(Box::new(opened)),
            Reply::Refused(text("no")),
            Reply::Checked(Box::new(checked)),
            Reply::Packed(text("1/S/a")),
        ]
    }

    #[test]
    fn what_is_packed_comes_back_and_no_part_of_it_does() {
        for reply in replies() {
            let bytes = reply.encode();
            assert_eq!(Reply::decode(&bytes), Ok(reply));
            for cut in (0..bytes.len()).step_by(1 + bytes.len() / 500) {
                assert!(Reply::decode(&bytes[..cut]).is_err());
            }
            assert!(Reply::decode(&[&bytes[..], &[0]].concat()).is_err());
        }
        let text = || "\u{e4}".to_owned();
        let all = [
            Request::Contents,
            Request::Lesson(300),
            Request::Example(text()),
            Request::Scenario(text()),
            Request::Check(text()),
            Request::Settings(text(), vec![text(), String::new()]),
            Request::Link(text()),
            Request::Pack(text()),
        ];
        for request in all {
            assert_eq!(Request::decode(&request.encode()), Ok(request));
        }
    }
}
