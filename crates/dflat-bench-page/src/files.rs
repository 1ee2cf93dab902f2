//! The page and its charts in the repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::figures::Figures;
use crate::losses::{self, missing};
use crate::{FOLDER, Result, chart, floors, page};

/// The lines around the paragraph in README.
const MARKS: [&str; 2] = [
    "<!-- by cargo xtask bench --write -->\n",
    "<!-- end of benchmarks -->\n",
];

/// All files that are made from the figures, with their text, by their paths below the root.
///
/// # Errors
/// If the figures are malformed, README lacks the marks, or a chart cannot be drawn.
pub fn make(root: &Path) -> Result<BTreeMap<String, String>> {
    let figures = Figures::read(root)?;
    let mut files = pages(&figures)?;
    let readme = fs::read_to_string(root.join("README.md"))?;
    let (before, after) = split(&readme).ok_or("README.md lacks the marks of benchmarks")?;
    let readme = format!("{before}{}{after}", page::paragraph(&figures)?);
    files.insert("README.md".to_owned(), readme);
    Ok(files)
}

/// The page and its charts.
fn pages(figures: &Figures) -> Result<BTreeMap<String, String>> {
    let losses = losses::all()?;
    let mut files = BTreeMap::new();
    let page = page::page(figures, &losses)?;
    files.insert("docs/benchmarks.md".to_owned(), page);
    for group in figures.groups() {
        let scenarios: Vec<_> = figures.of_group(group).collect();
        files.insert(format!("{FOLDER}/{group}.svg"), chart::ratios(&scenarios)?);
    }
    files.insert(format!("{FOLDER}/scaling.svg"), chart::counts(figures)?);
    let floors = floors::chart(&figures.floors)?;
    files.insert(format!("{FOLDER}/floors.svg"), floors);
    let pictured = page::pictured(figures);
    files.insert(format!("{FOLDER}/readme.svg"), chart::ratios(&pictured)?);
    Ok(files)
}

/// Writes the page and its charts into a folder, with the stored figures of the stores and the
/// floors of a file of `dflat-bench --json`. Returns the path of the page.
///
/// # Errors
/// If a file is absent or malformed, the file has no floor, or a chart cannot be drawn.
pub fn draw(root: &Path, floors: &Path, folder: &Path) -> Result<PathBuf> {
    let figures = Figures::read(root)?.with_floors(floors)?;
    if figures.floors.is_empty() {
        return Err(format!("{} has no figures", floors.display()).into());
    }
    for (path, text) in pages(&figures)? {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, text)?;
    }
    Ok(folder.join("docs/benchmarks.md"))
}

/// README up to the paragraph, and from its end.
fn split(readme: &str) -> Option<(&str, &str)> {
    let start = readme.find(MARKS[0])? + MARKS[0].len();
    let end = start + readme[start..].find(MARKS[1])?;
    Some((&readme[..start], &readme[end..]))
}

/// Writes the files, and returns their paths.
///
/// # Errors
/// The errors of [`make`], and those of writing.
pub fn write(root: &Path) -> Result<Vec<String>> {
    let files = make(root)?;
    for (path, text) in &files {
        fs::write(root.join(path), text)?;
    }
    Ok(files.into_keys().collect())
}

/// Problems: files that differ from the figures, scenarios that no program has, and scenarios in
/// which a rival is ahead without a text.
///
/// # Errors
/// The errors of [`make`], and those of reading.
pub fn problems(root: &Path) -> Result<Vec<String>> {
    let figures = Figures::read(root)?;
    let mut problems = missing(&figures, &losses::all()?);
    for (path, text) in make(root)? {
        if fs::read_to_string(root.join(&path)).ok().as_deref() != Some(&text) {
            problems.push(format!("{path} differs from the stored figures"));
        }
    }
    let list = fs::read_to_string(root.join("crates/dflat-bench-rivals/src/scenario/list.rs"))?;
    for scenario in &figures.scenarios {
        if !list.contains(&format!("\"{}\"", scenario.scenario)) {
            problems.push(format!(
                "dflat-bench-rivals has no scenario {}",
                scenario.scenario
            ));
        }
    }
    let floors = sources(&root.join("crates/dflat-bench/src/scenario"))?;
    for floor in &figures.floors {
        if !floors.contains(&format!("\"{}\"", floor.scenario)) {
            problems.push(format!("dflat-bench has no scenario {}", floor.scenario));
        }
    }
    Ok(problems)
}

/// The text of all files in a folder and its folders.
fn sources(folder: &Path) -> Result<String> {
    let mut text = String::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        text += &if path.is_dir() {
            sources(&path)?
        } else {
            fs::read_to_string(&path)?
        };
    }
    Ok(text)
}
