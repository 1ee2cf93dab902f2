//! Back end of the Dflat schema compiler: a checked schema to source text.
//!
//! ```text
//! Schema -> plan (what to generate, in terms of the schema) -> rust (how it is written) -> text
//! ```
//!
//! [`generate`] is a pure function: no file is read, no clock, no path of this machine, no order of
//! a hash map. The same schema gives the same bytes. One run makes one text with every type of the
//! run, those of included files too, unless they are [external](Options::external).
//!
//! Generated code is meant for `include!`. It compiles without warnings in editions 2018 to 2024,
//! documents every item, contains no `unsafe`, is clean under rustfmt and clippy, and names nothing
//! but `::dflat` and `::core`.
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
//! let schema = schema.expect("the schema is right");
//! let output = dflat_codegen::generate(&schema, &Default::default());
//! let output = output.expect("its names can be written in Rust");
//! assert_eq!(output.name, "post.rs");
//! assert!(output.text.contains("pub const TITLE: ::dflat::Field<Self, str>"));
//! ```

mod diagnostic;
mod plan;
mod rust;

use dflat_schema::{Diagnostic, Schema};
pub use diagnostic::CODES;

/// How to generate code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The path of the crate `dflat`, if it goes by another name there; `::dflat` by default.
    pub crate_path: Option<String>,
    /// Included files whose types another run generated.
    pub external: Vec<External>,
    /// The name of the text, without `.rs`; by default that of the first requested file.
    pub name: Option<String>,
    /// Generates FlatBuffers types only, nothing that is stored or queried: a root table becomes a
    /// plain struct and its view.
    pub payload_only: bool,
}

/// An included file whose types are compiled elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// The file's name, or the end of its path.
    pub file: String,
    /// The module that its generated text is included in, such as `::equipment::schema`. What the
    /// file itself includes is found there, too.
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
/// If two names of the schema become one in Rust, if one has no form in Rust, or if an option does
/// not fit the schema.
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
