//! Builds the page into `web/dist`: the shell of `assets/page` and the module in `pkg`, which also
//! lies there packed with brotli (`.br`), as servers send it to browsers that take it.
//!
//! Files that did not change keep their time, so that the program that embeds the page is not built
//! again for nothing.

use crate::folders::target;
use crate::program::{program, run};
use crate::tools::{ensure_target, ensure_wasm_bindgen, ensure_wasm_pack};
use anyhow::{Context, Result};
use brotli::CompressorWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Most bytes that module and glue may have, packed with brotli. The aim is 300 KiB: the engine
/// outgrew it, and a leaner page is the way back.
pub(crate) const BUDGET: usize = 350 * 1024;
const DIST: &str = "web/dist";

/// Contents of a folder by relative path.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Builds the page and says how large module and glue are on their way.
pub(crate) fn build() -> Result<usize> {
    ensure_target()?;
    ensure_wasm_bindgen()?;
    ensure_wasm_pack()?;
    let pkg = target().join("page");
    if pkg.exists() {
        fs::remove_dir_all(&pkg).with_context(|| format!("cannot empty {}", pkg.display()))?;
    }
    run(program("wasm-pack build web --target web --profile web --no-opt --no-pack")
        .args(["--no-typescript", "--no-gitignore", "--out-name", "folioscope", "--out-dir"])
        .arg(&pkg))?;
    let mut files = Files::new();
    collect(Path::new("assets/page"), Path::new(""), &mut files)?;
    collect(&pkg, Path::new("pkg"), &mut files)?;
    let size = pack(&mut files)?;
    mirror(&files, Path::new(DIST))?;
    println!(
        "{DIST}: {} files; module and glue have {} KiB with brotli, of {} KiB at most",
        files.len(),
        size.div_ceil(1024),
        BUDGET / 1024
    );
    Ok(size)
}

fn collect(folder: &Path, under: &Path, files: &mut Files) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()));
    for entry in entries? {
        let entry = entry?;
        let (path, name) = (entry.path(), under.join(entry.file_name()));
        if path.is_dir() {
            collect(&path, &name, files)?;
        } else {
            let content =
                fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            files.insert(name, content);
        }
    }
    Ok(())
}

/// Makes `folder` hold these files and no others.
fn mirror(files: &Files, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut old = Files::new();
    collect(folder, Path::new(""), &mut old)?;
    for stale in old.keys().filter(|name| !files.contains_key(*name)) {
        fs::remove_file(folder.join(stale))?;
    }
    for (name, content) in files.iter().filter(|(name, content)| old.get(*name) != Some(*content)) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("it lies in the folder"))?;
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Adds each file of the module once more, packed; how large these are together. Says how large
/// each is, also as servers send it that know no brotli.
fn pack(files: &mut Files) -> Result<usize> {
    let mut packed = Files::new();
    for (name, content) in files.iter().filter(|(name, _)| name.starts_with("pkg")) {
        let name = name.display();
        let brotli = brotli(content);
        println!(
            "{name}: {} bytes, {} with brotli, {} with gzip",
            content.len(),
            brotli.len(),
            gzip(content)?
        );
        packed.insert(format!("{name}.br").into(), brotli);
    }
    let size = packed.values().map(Vec::len).sum();
    files.extend(packed);
    Ok(size)
}

/// Bytes that `gzip -9` makes of these.
fn gzip(content: &[u8]) -> Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).context("cannot pack with gzip")?;
    Ok(encoder.finish().context("cannot pack with gzip")?.len())
}

/// With the largest window and most effort, as a file that is packed once and sent often.
fn brotli(content: &[u8]) -> Vec<u8> {
    let mut encoder = CompressorWriter::new(Vec::new(), 1 << 16, 11, 24);
    encoder.write_all(content).expect("a Vec takes everything");
    encoder.into_inner()
}
