//! A section while it is read: each key is checked and stored, and at the end they are checked
//! against each other.

use super::value::{number, plain_name, quote, size, switch, time};
use super::{FioJob, FioNote, FioRw, MAX_COPIES, Place};
use crate::units::Bytes;

/// Keys that are understood, for the message about one that is not.
const KEYS: &str = "ioengine, rw (readwrite), bs (blocksize), size, directory (dir), filename, name, \
    numjobs, overwrite, pre_read, direct, fsync, fdatasync, runtime, iodepth, randseed, \
    group_reporting";

/// What is wrong, and where.
pub(super) type Problem = (Place, String);

/// Values of a section, or of `[global]`.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    job: FioJob,
    /// Where `bs` and `size` were set last.
    bs_at: Option<Place>,
    size_at: Option<Place>,
    filename_at: Option<Place>,
}

impl Default for Draft {
    /// What fio assumes where a key is not given.
    fn default() -> Self {
        let job = FioJob {
            name: String::new(),
            rw: FioRw::Read,
            block_size: Bytes::kib(4),
            size: Bytes::ZERO,
            directory: String::new(),
            filename: None,
            num_jobs: 1,
            overwrite: false,
            pre_read: false,
            fsync: 0,
            fdatasync: 0,
            runtime: None,
            seed: 0,
            group_reporting: false,
        };
        Self { job, bs_at: None, size_at: None, filename_at: None }
    }
}

/// A key and its value, and where each begins.
pub(super) struct Setting<'a> {
    pub(super) key: &'a str,
    pub(super) key_at: Place,
    pub(super) value: Option<&'a str>,
    pub(super) value_at: Place,
}

impl Setting<'_> {
    /// The value of a key that needs one.
    fn text(&self) -> Result<&str, String> {
        self.value
            .filter(|text| !text.is_empty())
            .ok_or_else(|| format!("a value is missing: write {}=VALUE", self.key))
    }
}

impl Draft {
    /// Takes one line.
    pub(super) fn set(
        &mut self,
        setting: &Setting<'_>,
        notes: &mut Vec<FioNote>,
    ) -> Result<(), Problem> {
        let Setting { key, key_at, value, value_at } = *setting;
        if let Some(text) = value.filter(|text| text.contains('$')) {
            let what = format!(
                "{key}: {} has a variable, and variables are not expanded here: write the value itself",
                quote(text)
            );
            return Err((value_at, what));
        }
        let known = self.store(setting, notes).map_err(|what| {
            let at = if value.is_some() { value_at } else { key_at };
            (at, format!("{key}: {what}"))
        })?;
        if known {
            return Ok(());
        }
        let what = format!("unknown or unsupported key {}: expected one of {KEYS}", quote(key));
        Err((key_at, what))
    }

    /// Stores the value; false if the key is unknown.
    fn store(&mut self, setting: &Setting<'_>, notes: &mut Vec<FioNote>) -> Result<bool, String> {
        let job = &mut self.job;
        let count = |max: u64, min| number(setting.text()?, min, max);
        match setting.key {
            "ioengine" => engine(setting.text()?)?,
            "rw" | "readwrite" => job.rw = rw(setting.text()?)?,
            "bs" | "blocksize" => {
                job.block_size = size(setting.text()?)?;
                self.bs_at = Some(setting.value_at);
            }
            "size" => {
                job.size = size(setting.text()?)?;
                self.size_at = Some(setting.value_at);
            }
            "directory" | "dir" => job.directory = folder(setting.text()?)?,
            "filename" => {
                job.filename = Some(plain_name(setting.text()?)?);
                self.filename_at = Some(setting.value_at);
            }
            "name" => job.name = plain_name(setting.text()?)?,
            "numjobs" => job.num_jobs = count(u64::from(MAX_COPIES), 1)? as u32,
            "overwrite" => job.overwrite = switch(setting.value)?,
            "pre_read" => job.pre_read = switch(setting.value)?,
            "group_reporting" => job.group_reporting = switch(setting.value)?,
            "direct" => {
                if switch(setting.value)? {
                    return Err("1 would go past the page cache, which is what is shown here: \
                        expected direct=0"
                        .to_owned());
                }
            }
            "fsync" => job.fsync = count(u64::from(u32::MAX), 0)? as u32,
            "fdatasync" => job.fdatasync = count(u64::from(u32::MAX), 0)? as u32,
            "runtime" => job.runtime = time(setting.text()?)?,
            "iodepth" => {
                if count(65_536, 1)? > 1 {
                    notes.push(FioNote {
                        place: setting.value_at,
                        what: "iodepth has no effect with a synchronous ioengine, as in fio"
                            .to_owned(),
                    });
                }
            }
            "randseed" | "rand_seed" => job.seed = count(u64::MAX, 0)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The section's job, named after its section unless `name` says another; `at` is its header.
    pub(super) fn finish(mut self, section: &str, at: Place) -> Result<FioJob, Problem> {
        if self.job.name.is_empty() {
            section.clone_into(&mut self.job.name);
        }
        let job = self.job;
        let Some(size_at) = self.size_at else {
            let what = format!("job {} has no size: add a line such as size=16m", quote(section));
            return Err((at, what));
        };
        if job.block_size > job.size {
            let what = format!(
                "bs: a block of {} does not fit into size, which is {} (line {}): make bs smaller or size larger",
                job.block_size, job.size, size_at.line
            );
            return Err((self.bs_at.unwrap_or(size_at), what));
        }
        if let (Some(name_at), true) = (self.filename_at, job.num_jobs > 1) {
            let what = format!(
                "filename: {} copies would share one file, and each needs its own: leave filename out or set numjobs=1",
                job.num_jobs
            );
            return Err((name_at, what));
        }
        Ok(job)
    }
}

fn engine(text: &str) -> Result<(), String> {
    if matches!(text, "psync" | "sync" | "pvsync") {
        return Ok(());
    }
    Err(format!(
        "{} is not supported: expected psync, sync or pvsync, because the job goes through this engine's own page cache one call at a time",
        quote(text)
    ))
}

fn rw(text: &str) -> Result<FioRw, String> {
    FioRw::ALL.into_iter().find(|rw| rw.name() == text).ok_or_else(|| {
        format!("{} is not supported: expected read, write, randread or randwrite", quote(text))
    })
}

fn folder(text: &str) -> Result<String, String> {
    if text.contains(':') {
        return Err(format!("{} names several folders: expected one", quote(text)));
    }
    if text.chars().any(char::is_control) {
        return Err(format!("{} has a control character", quote(text)));
    }
    Ok(text.to_owned())
}
