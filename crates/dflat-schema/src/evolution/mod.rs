//! Compares two versions of a schema, and judges what their differences mean for stored objects.
//!
//! [`compare`] pairs the types of both versions. It begins with stored tables of the same name in
//! the file, and follows their fields by number. It reports every difference as a diagnostic, whose
//! severity is the verdict: an error breaks stored objects, a warning is safe but has consequences,
//! and a note is safe.

mod code;
mod fields;
mod indexes;
mod meaning;
mod pairs;
mod shift;
mod stored;
mod types;

pub use code::CODES as EVOLUTION_CODES;

use crate::diagnostic::{Diagnostic, Sink};
use crate::schema::{DefinitionKind, Schema, Span};
use crate::source::Sources;
use pairs::Pairs;

/// One version of a schema, with its source files.
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    /// The schema.
    pub schema: &'a Schema,
    /// Its files.
    pub sources: &'a Sources,
}

/// The changes from one version to the next.
#[derive(Clone, Debug)]
pub struct Evolution {
    /// The changes in the order of their positions in the new version, at most 200.
    pub changes: Vec<Diagnostic>,
    /// Whether any change breaks stored objects, including changes above the limit.
    pub breaking: bool,
    /// The files of both versions, which the changes quote.
    pub sources: Sources,
}

/// Compares two versions of a schema.
///
/// # Examples
///
/// ```
/// use dflat_schema::{MemoryLoader, Version, compare, compile};
///
/// let version = |text| {
///     let loader = MemoryLoader::new().with_file("post.fbs", text);
///     compile(&["post.fbs".to_owned()], &loader, &Default::default())
/// };
/// let old = version("table Post { id: int (primary); text: string; } root_type Post;");
/// let new = version("table Post { id: int (primary); text: [string]; } root_type Post;");
/// let schemas = [&old, &new].map(|version| version.schema.as_ref().expect("no errors"));
/// let evolution = compare(
///     Version { schema: schemas[0], sources: &old.sources },
///     Version { schema: schemas[1], sources: &new.sources },
/// );
/// assert!(evolution.breaking);
/// assert_eq!(evolution.changes[0].code.name, "E0300");
/// ```
#[must_use]
pub fn compare(old: Version<'_>, new: Version<'_>) -> Evolution {
    let mut comparison = Comparison {
        old: old.schema,
        new: new.schema,
        pairs: Pairs::default(),
        old_files: u32::try_from(old.sources.len()).unwrap_or(u32::MAX),
        sink: Sink::default(),
    };
    comparison.roots();
    comparison.rest();
    let breaking = comparison.sink.has_failed();
    Evolution {
        changes: comparison.sink.finish(),
        breaking,
        sources: old.sources.joined(new.sources),
    }
}

struct Comparison<'a> {
    old: &'a Schema,
    new: &'a Schema,
    pairs: Pairs,
    /// The number of files of the old version, which come before those of the new version.
    old_files: u32,
    sink: Sink,
}

impl Comparison<'_> {
    /// Reports a change at its position in the new version.
    fn report(&mut self, diagnostic: Diagnostic, new: &Span, text: &str) -> &mut Self {
        let diagnostic = diagnostic.at(&self.joined_span(new), text);
        self.sink.push(diagnostic);
        self
    }

    /// Reports a change with its positions in both versions.
    fn report_both(&mut self, change: Diagnostic, old: &Span, new: &Span) {
        let change = change.and(old, "this is the old version");
        self.report(change, new, "this is the new version");
    }

    /// Converts a position in the new version to a position among the files of both versions.
    fn joined_span(&self, new: &Span) -> Span {
        let mut span = new.clone();
        span.file.0 += self.old_files;
        span
    }
}

/// The kind of a definition, as one word.
fn kind_name(kind: &DefinitionKind) -> &'static str {
    match kind {
        DefinitionKind::Enum(_) => "enum",
        DefinitionKind::Union(_) => "union",
        DefinitionKind::Struct(_) => "struct",
        DefinitionKind::Table(_) => "table",
    }
}
