//! What a golden's setup leaves in its files: a plain array of bytes a file.

use super::golden::{Golden, Op};
use super::script::byte_of;
use std::collections::BTreeMap;

/// Largest file that a setup may make.
const MAX_FILE: u64 = 1 << 30;

/// The bytes of every file after the setup.
pub(super) fn contents(golden: &Golden) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let first = golden.files.first().cloned().unwrap_or_default();
    for op in &golden.setup {
        let name = op.file.clone().unwrap_or_else(|| first.clone());
        if op.name == "reflink" {
            reflink(&mut files, &name, op)?;
            continue;
        }
        for rep in 0..op.repeat {
            apply(files.entry(name.clone()).or_default(), op, rep)?;
        }
    }
    for (name, state) in &golden.before {
        within(state.size)?;
        files.entry(name.clone()).or_default().resize(state.size as usize, 0);
    }
    Ok(files)
}

/// Gives a range of a file the bytes of another one.
fn reflink(files: &mut BTreeMap<String, Vec<u8>>, name: &str, op: &Op) -> Result<(), String> {
    let word = |key: &str| op.rest.get(key).and_then(serde_json::Value::as_u64).unwrap_or(0);
    let source = op.rest.get("src").and_then(serde_json::Value::as_str).unwrap_or("");
    let source = files.get(source).cloned().unwrap_or_default();
    let end = op.off.saturating_add(op.len);
    within(end.max(word("src_off").saturating_add(op.len)))?;
    let start = (word("src_off") as usize).min(source.len());
    let part = &source[start..(start + op.len as usize).min(source.len())];
    let file = files.entry(name.to_owned()).or_default();
    if file.len() < op.off as usize + part.len() {
        file.resize(op.off as usize + part.len(), 0);
    }
    file[op.off as usize..][..part.len()].copy_from_slice(part);
    Ok(())
}

/// Refuses files larger than what is executed.
pub(super) fn within(end: u64) -> Result<(), String> {
    if end <= MAX_FILE {
        return Ok(());
    }
    Err(format!("a file of {end} bytes is larger than {MAX_FILE}, the most that is executed"))
}

fn apply(file: &mut Vec<u8>, op: &Op, rep: u64) -> Result<(), String> {
    let off = rep.saturating_mul(op.stride.unwrap_or(op.len)).saturating_add(op.off);
    within(off.saturating_add(op.len).max(op.size))?;
    let (start, end) = (off as usize, (off + op.len) as usize);
    let inside = |file: &Vec<u8>| start.min(file.len())..end.min(file.len());
    match op.name.as_str() {
        "pwrite" | "mmap_write" => {
            if file.len() < end && op.name == "pwrite" {
                file.resize(end, 0);
            }
            let range = inside(file);
            file[range].fill(byte_of(op.fill, rep));
        }
        "truncate" => file.resize(op.size as usize, 0),
        "fallocate" => {
            let mode = op.mode.as_deref().unwrap_or("alloc");
            match mode {
                "punch" | "zero" | "zero_keep" => {
                    let range = inside(file);
                    file[range].fill(0);
                }
                "collapse" => drop(file.drain(inside(file))),
                "insert" => {
                    let at = start.min(file.len());
                    file.splice(at..at, std::iter::repeat_n(0, op.len as usize));
                }
                _ => {}
            }
            if matches!(mode, "alloc" | "zero") && file.len() < end {
                file.resize(end, 0);
            }
        }
        _ => {}
    }
    Ok(())
}
