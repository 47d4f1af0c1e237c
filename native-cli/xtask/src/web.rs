//! Builds the page into `web/dist`: the shell of `assets/page` and two modules in `pkg`, the page
//! and the engine that runs in its worker. They also lie there packed with brotli (`.br`), as
//! servers send them to browsers that take it.
//!
//! Files that did not change keep their time, so that the program that embeds the page is not built
//! again for nothing.

use crate::folders::target;
use crate::offline;
use crate::program::{program, run};
use crate::tools::{ensure_target, ensure_wasm_bindgen, ensure_wasm_pack};
use anyhow::{Context, Result, ensure};
use brotli::CompressorWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use folioscope_core::service::beforehand;
use folioscope_web_engine::LIBRARY;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Most bytes that the module of the page and its glue may have, packed with brotli.
const PAGE_BUDGET: usize = 300 * 1024;
/// Most bytes that the engine and its glue may have; they load when they are needed.
const ENGINE_BUDGET: usize = 410 * 1024;
/// Folders of the modules, and their names in `pkg`.
const MODULES: [(&str, &str); 2] = [("web/page", "folioscope"), ("web/engine/module", "engine")];
const DIST: &str = "web/dist";

/// Contents of a folder by relative path.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Builds the page and says how large its parts are on their way.
pub(crate) fn build() -> Result<Size> {
    ensure_target()?;
    ensure_wasm_bindgen()?;
    ensure_wasm_pack()?;
    let pkg = target().join("page");
    if pkg.exists() {
        fs::remove_dir_all(&pkg).with_context(|| format!("cannot empty {}", pkg.display()))?;
    }
    for (folder, name) in MODULES {
        run(program("wasm-pack build --target web --profile web --no-opt --no-pack")
            .args(["--no-typescript", "--no-gitignore", "--out-name", name, "--out-dir"])
            .arg(&pkg)
            .arg(folder))?;
    }
    let mut files = Files::new();
    collect(Path::new("assets/page"), Path::new(""), &mut files)?;
    collect(&pkg, Path::new("pkg"), &mut files)?;
    let replies = beforehand(LIBRARY).map_err(anyhow::Error::msg)?;
    files.extend(replies.into_iter().map(|(name, reply)| (Path::new("replies").join(name), reply)));
    offline::write(&mut files)?;
    let size = pack(&mut files)?;
    mirror(&files, Path::new(DIST))?;
    println!(
        "{DIST}: {} files; with brotli, the page's module and glue have {} KiB, of {} KiB at most, and \
         the engine's {} KiB, of {} KiB at most",
        files.len(),
        size.page.div_ceil(1024),
        PAGE_BUDGET / 1024,
        size.engine.div_ceil(1024),
        ENGINE_BUDGET / 1024
    );
    Ok(size)
}

/// Bytes of modules with their glue, packed with brotli.
#[derive(Clone, Copy, Default)]
pub(crate) struct Size {
    page: usize,
    engine: usize,
}

impl Size {
    /// An error if they are larger than the budget.
    pub(crate) fn check(self) -> Result<()> {
        ensure!(self.page <= PAGE_BUDGET, "the page is larger than {PAGE_BUDGET} bytes");
        ensure!(self.engine <= ENGINE_BUDGET, "the engine is larger than {ENGINE_BUDGET} bytes");
        Ok(())
    }
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

/// Adds each file of the modules once more, packed; how large these are together. Says how large
/// each is, also as servers send it that know no brotli.
fn pack(files: &mut Files) -> Result<Size> {
    let mut packed = Files::new();
    let mut size = Size::default();
    let travels = |name: &Path| name.starts_with("pkg") || name.starts_with("replies");
    for (name, content) in files.iter().filter(|(name, _)| travels(name)) {
        let brotli = brotli(content);
        let (shown, long) = (name.display(), brotli.len());
        let (all, gzip) = (content.len(), gzip(content)?);
        println!("{shown}: {all} bytes, {long} with brotli, {gzip} with gzip");
        packed.insert(format!("{shown}.br").into(), brotli);
        match name.to_string_lossy().strip_prefix("pkg/") {
            Some(name) if name.starts_with("engine") => size.engine += long,
            Some(_) => size.page += long,
            None => {}
        }
    }
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
