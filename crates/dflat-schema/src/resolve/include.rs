//! Reads and parses the requested files and all files they include.

use crate::Loader;
use crate::ast::{Ast, Name};
use crate::diagnostic::{Diagnostic, Sink, code};
use crate::parser::parse;
use crate::schema::FileId;
use crate::source::{Loaded, Sources};

const FILE_BYTES_MAX: usize = 1 << 20;
const TOTAL_BYTES_MAX: usize = 16 << 20;
const FILES_MAX: usize = 1_000;
/// The limit on `include` lines. The loader is called for every `include`, also if it names a file
/// that was read before.
const INCLUDES_MAX: usize = 10_000;

/// A parsed file.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) ast: Ast,
    pub(crate) requested: bool,
    pub(crate) includes: Vec<FileId>,
}

/// All files of a compilation.
#[derive(Debug, Default)]
pub(crate) struct Units {
    /// The files, by [`FileId`].
    pub(crate) units: Vec<Unit>,
    /// The files, each included file before its includer.
    pub(crate) order: Vec<FileId>,
}

/// Reads the requested files and all files they include.
pub(crate) fn read(
    requested: &[String],
    loader: &dyn Loader,
    sources: &mut Sources,
    sink: &mut Sink,
) -> Units {
    let mut reader = Reader {
        loader,
        sources,
        sink,
        units: Units::default(),
        bytes: 0,
        includes: 0,
    };
    for path in requested {
        if let Some((file, fresh)) = reader.open(path, None) {
            reader.units.units[file.0 as usize].requested = true;
            if fresh {
                reader.follow(file);
            }
        }
    }
    reader.units
}

struct Reader<'a> {
    loader: &'a dyn Loader,
    sources: &'a mut Sources,
    sink: &'a mut Sink,
    units: Units,
    bytes: usize,
    /// The number of `include` lines so far.
    includes: usize,
}

impl Reader<'_> {
    /// Reads the files that `root` includes. The search is depth first and uses an explicit stack,
    /// because chains of includes may be long.
    fn follow(&mut self, root: FileId) {
        let mut stack = vec![(root, 0)];
        while let Some((file, next)) = stack.last_mut() {
            let file = *file;
            let Some(include) = self.units.units[file.0 as usize]
                .ast
                .includes
                .get(*next)
                .cloned()
            else {
                self.units.order.push(file);
                stack.pop();
                continue;
            };
            *next += 1;
            self.includes += 1;
            if self.includes > INCLUDES_MAX {
                let message = format!("the schema has more than {INCLUDES_MAX} `include` lines");
                let diagnostic = Diagnostic::error(code::LIMIT, message).at(&include.span, "");
                return self.sink.push(diagnostic);
            }
            if let Some((included, fresh)) = self.open(&include.text, Some((file, &include))) {
                let includes = &mut self.units.units[file.0 as usize].includes;
                if !includes.contains(&included) {
                    includes.push(included);
                }
                // The file was read before, or the includes form a cycle, which is allowed.
                if fresh {
                    stack.push((included, 0));
                }
            }
        }
    }

    /// Finds a file, and parses it unless it was parsed already. The second result says whether it
    /// was parsed now.
    fn open(&mut self, path: &str, include: Option<(FileId, &Name)>) -> Option<(FileId, bool)> {
        let includer = include.map(|(file, _)| self.sources.path(file).to_owned());
        let report = |diagnostic: Diagnostic| match include {
            Some((_, name)) => diagnostic.at(&name.span, ""),
            None => diagnostic,
        };
        let loaded = match self.loader.load(path, includer.as_deref()) {
            Ok(Some(loaded)) => loaded,
            Ok(None) => {
                let mut diagnostic = Diagnostic::error(
                    code::FILE_NOT_FOUND,
                    format!("schema file {path:?} not found"),
                );
                diagnostic = diagnostic.help(match includer {
                    Some(_) => {
                        "the path is relative to this file, or to one of the include directories"
                    }
                    None => {
                        "the path is relative to the working directory, or to the folder of \
                         `Cargo.toml` in a build script"
                    }
                });
                self.sink.push(report(diagnostic));
                return None;
            }
            Err(error) => {
                let message = format!("cannot read schema file {path:?}: {error}");
                self.sink
                    .push(report(Diagnostic::error(code::FILE_UNREADABLE, message)));
                return None;
            }
        };
        if let Some(file) = self.sources.find(&loaded.path) {
            return Some((file, false));
        }
        if let Some(message) = self.beyond_limits(&loaded) {
            self.sink
                .push(report(Diagnostic::error(code::LIMIT, message)));
            return None;
        }
        self.bytes += loaded.text.len();
        let file = self.sources.add(loaded);
        let (ast, diagnostics) = parse(file, self.sources.text(file));
        self.sink.extend(diagnostics.finish());
        self.units.units.push(Unit {
            ast,
            requested: false,
            includes: Vec::new(),
        });
        Some((file, true))
    }

    fn beyond_limits(&self, loaded: &Loaded) -> Option<String> {
        let path = &loaded.path;
        if loaded.text.len() > FILE_BYTES_MAX {
            return Some(format!(
                "schema file {path:?} is larger than {FILE_BYTES_MAX} bytes"
            ));
        }
        if self.bytes + loaded.text.len() > TOTAL_BYTES_MAX {
            return Some(format!(
                "the schema files together are larger than {TOTAL_BYTES_MAX} bytes"
            ));
        }
        (self.sources.len() >= FILES_MAX)
            .then(|| format!("the schema has more than {FILES_MAX} files"))
    }
}
