//! Back end of the Dflat schema compiler: it generates source text from a checked schema.
//!
//! ```text
//! Schema -> plan (what to generate, in terms of the schema) -> rust (how it is written) -> text
//!                                                           -> swift -> texts
//! ```
//!
//! [`generate`] is a pure function of the schema and the options: the same schema gives the same
//! bytes. One run generates one text with every type of the run, also of included files, except
//! [external](Options::external) ones.
//!
//! Generated code can be included by `include!`. It compiles without warnings in editions 2018 to
//! 2024, documents every item, contains no `unsafe`, passes rustfmt and clippy, and refers only to
//! `::dflat` and `::core`.
//!
//! # Examples
//!
//! ```
//! use dflat_schema::{MemoryLoader, compile};
//!
//! let text = "table Post { title: string (primary); } root_type Post;";
//! let loader = MemoryLoader::new().with_file("post.fbs", text);
//! let schema = compile(&["post.fbs".to_owned()], &loader, &Default::default()).schema;
//!
//! let schema = schema.expect("the schema has no errors");
//! let output = dflat_codegen::generate(&schema, &Default::default());
//! let output = output.expect("its names can be written in Rust");
//! assert_eq!(output.name, "post.rs");
//! assert!(output.text.contains("pub const TITLE: ::dflat::Field<Self, str, ::dflat::Sure>"));
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod diagnostic;
mod plan;
mod rust;
mod swift;

use dflat_schema::{Diagnostic, Schema};
pub use diagnostic::CODES;

/// How to generate code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The path of the crate `dflat` in the generated code. The default is `::dflat`.
    pub crate_path: Option<String>,
    /// The included files whose types another run generates.
    pub external: Vec<External>,
    /// The name of the output, without `.rs`. The default is the name of the first requested file.
    pub name: Option<String>,
    /// Generates FlatBuffers types without storage and queries: a root table becomes a plain struct
    /// and its view.
    pub payload_only: bool,
}

/// How to generate Swift code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwiftOptions {
    /// Protocols that generated types conform to, besides those that they always do. `Hashable`,
    /// `CustomStringConvertible` and `Sendable` get the code that they need, and other protocols
    /// get none. A type with a field `description` does not get `CustomStringConvertible`.
    pub conform: Vec<String>,
}

/// An included file whose types another run generates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// The file's name, or the end of its path.
    pub file: String,
    /// The module that includes the file's generated text, such as `::equipment::schema`. The types
    /// of files that this file includes are expected there too.
    pub path: String,
}

/// Generated code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The file's name, such as `post.rs`.
    pub name: String,
    /// The file's text.
    pub text: String,
}

/// Generates Rust code.
///
/// # Errors
///
/// Returns diagnostics if two names of the schema become the same name in Rust, if a name cannot be
/// used in Rust, or if an option does not fit the schema.
pub fn generate(schema: &Schema, options: &Options) -> Result<Output, Vec<Diagnostic>> {
    let plan = plan::Plan::new(schema, options)?;
    let text = rust::print(&plan, options)?;
    let stem = options.name.clone().unwrap_or_else(|| {
        let first = plan.requested.first().map_or("schema", String::as_str);
        first.strip_suffix(".fbs").unwrap_or(first).to_owned()
    });
    Ok(Output {
        name: format!("{stem}.rs"),
        text,
    })
}

/// Generates Swift code: for each requested file, the files with payloads, the data model, change
/// requests and typed fields. Types of included files are used, and not generated.
///
/// # Errors
///
/// Returns diagnostics if two names of the schema become the same name in Swift.
pub fn generate_swift(
    schema: &Schema,
    options: &SwiftOptions,
) -> Result<Vec<Output>, Vec<Diagnostic>> {
    swift::print(schema, options)
}

/// The Swift declarations of a schema's namespaces, which generated code extends: an enum for each.
#[must_use]
pub fn swift_namespaces(schema: &Schema) -> String {
    swift::namespaces(schema)
}

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
