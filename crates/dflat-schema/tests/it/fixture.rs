//! The schema files under `tests/data`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::PathBuf;

use dflat_schema::{Compilation, Loaded, Loader, MemoryLoader, Options, compile};

pub(crate) fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// The names of the files in a directory of the data that end in `extension`, without it.
pub(crate) fn names(directory: &str, extension: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(data().join(directory)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let stems = names.filter_map(|name| Some(name.strip_suffix(extension)?.to_owned()));
    stems.collect()
}

pub(crate) fn text(path: &str) -> String {
    fs::read_to_string(data().join(path)).unwrap()
}

/// All data files, and one that cannot be read.
pub(crate) struct FixtureLoader(MemoryLoader);

impl FixtureLoader {
    pub(crate) fn new() -> Self {
        let mut loader = MemoryLoader::new().with_include_directory("include");
        for directory in ["ok", "err", "note", "include"] {
            for name in names(directory, ".fbs") {
                let path = format!("{directory}/{name}.fbs");
                loader = loader.with_file(&path, &text(&path));
            }
        }
        Self(loader)
    }
}

impl Loader for FixtureLoader {
    fn load(&self, path: &str, includer: Option<&str>) -> io::Result<Option<Loaded>> {
        if path == "unreadable.fbs" {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not UTF-8"));
        }
        self.0.load(path, includer)
    }
}

/// The options in the first line of a file.
pub(crate) fn options(text: &str) -> Options {
    let first = text.lines().next().unwrap_or("");
    Options {
        payload_only: first == "// options: payload_only",
    }
}

pub(crate) fn compile_file(path: &str) -> Compilation {
    compile(
        &[path.to_owned()],
        &FixtureLoader::new(),
        &options(&text(path)),
    )
}

pub(crate) fn compile_text(text: &str) -> Compilation {
    let loader = MemoryLoader::new().with_file("test.fbs", text);
    compile(&["test.fbs".to_owned()], &loader, &Options::default())
}
