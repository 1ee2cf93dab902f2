//! Front end of the Dflat schema compiler: FlatBuffers schema text to a checked schema.
//!
//! ```text
//! requested paths -> Loader -> lexer -> parser -> resolve -> layout -> check -> Schema
//!                                 `--------- diagnostics of all stages ---------'
//! ```
//!
//! [`compile`] reads the requested files and the files they include. It returns a [`Schema`], or,
//! if there is an error, every [`Diagnostic`] it finds in one run. It never panics and never hangs,
//! whatever the text is. It does no I/O: a [`Loader`] provides the files.
//!
//! The language is that of FlatBuffers, with Dflat's attributes `primary`, `indexed`, `unique`,
//! `no_indexes` on fields and `v: ".."`, `indexed: ".."`, `unique: ".."` on tables, which need no
//! declaration. It accepts more than `flatc` in a few places: types may be used before they are
//! declared, and a default may be `Color.Red` as well as `Red`.
//!
//! # Examples
//!
//! ```
//! use dflat_schema::{MemoryLoader, Options, compile};
//!
//! let text = "table Post { title: string (primary); } root_type Post;";
//! let loader = MemoryLoader::new().with_file("post.fbs", text);
//! let compilation = compile(&["post.fbs".to_owned()], &loader, &Options::default());
//! let schema = compilation.schema.expect("the schema has no errors");
//! assert_eq!(schema.definitions[0].storage_name().as_deref(), Some("post"));
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod ast;
mod check;
mod describe;
mod diagnostic;
mod evolution;
mod index;
mod layout;
mod lexer;
mod parser;
mod resolve;
mod schema;
mod source;
mod suggest;
mod text;

pub use describe::{describe, describe_types};
pub use diagnostic::{CODES, Code, Diagnostic, Label, Severity, Style};
pub use evolution::{EVOLUTION_CODES, Evolution, Version, compare};
pub use schema::*;
pub use source::{Loaded, Loader, Location, MemoryLoader, Sources};
pub use text::schema_text;

use diagnostic::Sink;

/// How to compile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Skips the rules for storage: a root table needs no primary key, and indexes are not checked.
    /// Use it for schemas whose FlatBuffers are not stored as objects.
    pub payload_only: bool,
}

/// The result of a compilation.
#[derive(Clone, Debug)]
pub struct Compilation {
    /// The schema, if there was no error.
    pub schema: Option<Schema>,
    /// All diagnostics: errors, warnings and notes.
    pub diagnostics: Vec<Diagnostic>,
    /// All files that were read, by [`FileId`]; diagnostics quote their lines.
    pub sources: Sources,
}

/// Compiles the requested files, and the files they include, to one schema.
pub fn compile(requested: &[String], loader: &dyn Loader, options: &Options) -> Compilation {
    let mut sources = Sources::default();
    let mut sink = Sink::default();
    let units = resolve::read(requested, loader, &mut sources, &mut sink);
    let mut draft = resolve::resolve(&units, &mut sink);
    let files = resolve::files(&units, &mut draft, &sources, &mut sink);
    layout::lay_out(&mut draft, &mut sink);
    if !options.payload_only {
        index::declare(&mut draft, &mut sink);
    }
    check::check(&draft, options, &mut sink);
    let definitions = draft.definitions;
    let schema = (!sink.has_failed()).then_some(Schema { files, definitions });
    let diagnostics = sink.finish();
    Compilation {
        schema,
        diagnostics,
        sources,
    }
}

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
