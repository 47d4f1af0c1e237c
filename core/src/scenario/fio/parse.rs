//! Lines and sections of a job file.

use super::draft::{Draft, Setting};
use super::value::{plain_name, quote};
use super::{FioError, FioFile, FioJob, FioNote, MAX_COPIES, MAX_TEXT, Place};
use std::collections::BTreeSet;

const BOM: &str = "\u{feff}";

/// Reads a whole file.
pub(super) fn parse(file: &str, text: &[u8]) -> Result<FioFile, FioError> {
    let mut reader = Reader::default();
    let fail = |(place, what)| FioError { file: file.to_owned(), place, what };
    let text = decode(text).map_err(fail)?;
    let plain = text.strip_prefix(BOM).unwrap_or(text);
    if plain.len() < text.len() {
        reader.note(Place { line: 1, column: 1 }, "fio itself refuses a byte order mark");
    }
    let mut number = 0;
    for line in plain.lines() {
        number += 1;
        reader.line(number, line).map_err(fail)?;
    }
    reader.finish(number.max(1)).map_err(fail)
}

fn decode(text: &[u8]) -> Result<&str, (Place, String)> {
    let start = Place { line: 1, column: 1 };
    if text.len() > MAX_TEXT {
        let what = format!("the file has {} bytes: expected {MAX_TEXT} at most", text.len());
        return Err((start, what));
    }
    core::str::from_utf8(text).map_err(|error| {
        let good = &text[..error.valid_up_to()];
        let line = good.split(|byte| *byte == b'\n').count() as u32;
        let last = good.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let column = String::from_utf8_lossy(last).chars().count() as u32 + 1;
        (Place { line, column }, "this is not text in UTF-8: expected a job file of fio".to_owned())
    })
}

/// A section that is being read.
struct Section {
    name: String,
    at: Place,
    draft: Draft,
}

#[derive(Default)]
struct Reader {
    global: Draft,
    section: Option<Section>,
    jobs: Vec<FioJob>,
    copies: u32,
    /// Folder and name of every file so far.
    files: BTreeSet<(String, String)>,
    notes: Vec<FioNote>,
    blanks_noted: bool,
}

impl Reader {
    fn note(&mut self, place: Place, what: &str) {
        self.notes.push(FioNote { place, what: what.to_owned() });
    }

    fn line(&mut self, number: u32, line: &str) -> Result<(), (Place, String)> {
        let code = line.split([';', '#']).next().unwrap_or_default();
        let text = code.trim();
        if text.is_empty() {
            return Ok(());
        }
        let at = |part: &str| Place { line: number, column: column(line, part) };
        if let Some(rest) = text.strip_prefix('[') {
            let name = rest.strip_suffix(']').ok_or_else(|| {
                (at(text), format!("{} has no closing bracket: expected [name]", quote(text)))
            })?;
            return self.open(name, at(text), at(rest));
        }
        let (key, value) = match text.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (text, None),
        };
        if key.is_empty() {
            return Err((at(text), "a key is missing before the equals sign".to_owned()));
        }
        let blanks = key.ends_with(char::is_whitespace)
            || value.is_some_and(|value| value.starts_with(char::is_whitespace));
        if blanks && !self.blanks_noted {
            self.blanks_noted = true;
            self.note(at(text), "fio itself refuses blanks around the equals sign");
        }
        let value = value.map(str::trim);
        let key = key.trim_end();
        let setting = Setting { key, key_at: at(key), value, value_at: at(value.unwrap_or(key)) };
        let Some(section) = &mut self.section else {
            let what = format!(
                "{} stands before any section: begin with [global] or a job section such as [job]",
                quote(key)
            );
            return Err((at(key), what));
        };
        section.draft.set(&setting, &mut self.notes)
    }

    fn open(&mut self, name: &str, at: Place, name_at: Place) -> Result<(), (Place, String)> {
        self.close()?;
        let name = name.trim();
        if name != "global" {
            plain_name(name).map_err(|what| (name_at, format!("the section name {what}")))?;
        }
        self.section = Some(Section { name: name.to_owned(), at, draft: self.global.clone() });
        Ok(())
    }

    fn close(&mut self) -> Result<(), (Place, String)> {
        let Some(Section { name, at, draft }) = self.section.take() else {
            return Ok(());
        };
        if name == "global" {
            self.global = draft;
            return Ok(());
        }
        let job = draft.finish(&name, at)?;
        self.copies += job.num_jobs;
        if self.copies > MAX_COPIES {
            let what = format!(
                "up to this section the file starts {} copies of jobs: expected {MAX_COPIES} at most",
                self.copies
            );
            return Err((at, what));
        }
        let folder = job.directory.trim_start_matches("./").trim_end_matches('/');
        for copy in 0..job.num_jobs {
            let name = job.file_name(copy);
            if !self.files.insert((folder.to_owned(), name.clone())) {
                let what = format!(
                    "the job would share the file {} with a job before it, and each needs its own: give it another name",
                    quote(&name)
                );
                return Err((at, what));
            }
        }
        self.jobs.push(job);
        Ok(())
    }

    fn finish(mut self, last: u32) -> Result<FioFile, (Place, String)> {
        self.close()?;
        if self.jobs.is_empty() {
            let what = "the file has no job: add a job section such as [job]".to_owned();
            return Err((Place { line: last, column: 1 }, what));
        }
        Ok(FioFile { jobs: self.jobs, notes: self.notes })
    }
}

/// The column at which `part`, a piece of `line`, begins.
fn column(line: &str, part: &str) -> u32 {
    let offset = (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize);
    line.get(..offset).map_or(1, |before| before.chars().count() as u32 + 1)
}
