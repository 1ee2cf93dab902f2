//! Compiles texts, and keeps the descriptors and the problems.

use dflat_model::AutoKey;
use dflat_schema::{
    Compilation, Definition, DefinitionId, DefinitionKind, Diagnostic, Loader as _, MemoryLoader,
    Options, Schema, Severity, Sources, Style, compile, describe,
};

use crate::failure::{Result, invalid};

/// A compiled schema, or the problems of one that does not compile.
#[derive(Debug)]
pub(crate) struct Compiled {
    types: Vec<StoredType>,
    problems: Vec<Problem>,
    report: String,
}

/// A stored type of a schema.
#[derive(Debug)]
pub(crate) struct StoredType {
    pub(crate) name: String,
    pub(crate) descriptor: Vec<u8>,
    /// How keys are assigned: a value of `DFLAT_AUTO_KEY_`.
    pub(crate) auto_key: i32,
}

/// A mistake in a text, as `dflat_schema_problem` describes it.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) severity: i32,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) file: String,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: String,
}

/// `DFLAT_SCHEMA_ERROR` and the other severities.
const ERROR: i32 = 1;
const WARNING: i32 = 2;
const NOTE: i32 = 3;

impl Compiled {
    /// Compiles the first of some files, which may include the others.
    ///
    /// # Errors
    /// An error if there is no file, or two have one name.
    pub(crate) fn new(files: &[(&str, &str)]) -> Result<Self> {
        let Some(&(first, _)) = files.first() else {
            return Err(invalid("files: the list is empty"));
        };
        let mut loader = MemoryLoader::new();
        for &(name, content) in files {
            // Names are compared as the loader does, for which `./a.fbs` is `a.fbs`.
            if matches!(loader.load(name, None), Ok(Some(_))) {
                return Err(invalid(format!("files: two files have the name {name:?}")));
            }
            loader = loader.with_file(name, content);
        }
        let compilation = compile(&[first.to_owned()], &loader, &Options::default());
        Ok(Self::of(&compilation))
    }

    fn of(compilation: &Compilation) -> Self {
        let (sources, diagnostics) = (&compilation.sources, &compilation.diagnostics);
        let mut report = String::new();
        for diagnostic in diagnostics {
            report += &diagnostic.render(sources, Style::Plain);
            report += "\n\n";
        }
        Self {
            types: compilation.schema.as_ref().map(stored).unwrap_or_default(),
            problems: diagnostics
                .iter()
                .map(|found| problem(found, sources))
                .collect(),
            report,
        }
    }

    /// The outcome for arguments that cannot be used.
    pub(crate) fn refused(message: String) -> Self {
        Self {
            types: Vec::new(),
            report: format!("error: {message}\n"),
            problems: vec![Problem {
                severity: ERROR,
                line: 0,
                column: 0,
                file: String::new(),
                code: "",
                message,
                help: String::new(),
            }],
        }
    }

    /// The stored types, in the order of their definitions.
    pub(crate) fn types(&self) -> &[StoredType] {
        &self.types
    }

    /// The problems, in the order of their places.
    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// All problems as text.
    pub(crate) fn report(&self) -> &str {
        &self.report
    }

    /// The message of the first error, if there is one.
    pub(crate) fn error(&self) -> Option<&str> {
        let mut errors = self.problems.iter();
        let first = errors.find(|problem| problem.severity == ERROR)?;
        Some(&first.message)
    }
}

/// The tables that a file names by `root_type`, as `dflatc compile --descriptor` takes them.
fn stored(schema: &Schema) -> Vec<StoredType> {
    let is_stored = |definition: &Definition| match &definition.kind {
        DefinitionKind::Table(table) => table.root,
        _ => false,
    };
    let definitions = (0..).map(DefinitionId).zip(&schema.definitions);
    let stored = definitions.filter(|(_, definition)| is_stored(definition));
    let stored = stored.map(|(id, definition)| {
        let descriptor = describe(schema, id);
        StoredType {
            name: definition.full_name(),
            auto_key: match descriptor.auto_key {
                None => 0,
                Some(AutoKey::Increasing) => 1,
                Some(AutoKey::UuidV7) => 2,
            },
            descriptor: descriptor.to_bytes(),
        }
    });
    stored.collect()
}

fn problem(diagnostic: &Diagnostic, sources: &Sources) -> Problem {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let (mut file, mut line, mut column) = (String::new(), 0, 0);
    if let Some(label) = &diagnostic.primary {
        let start = sources.start(&label.span);
        (line, column) = (number(start.line), number(start.column));
        sources.path(label.span.file).clone_into(&mut file);
    }
    Problem {
        severity: match diagnostic.severity {
            Severity::Error => ERROR,
            Severity::Warning => WARNING,
            Severity::Note => NOTE,
        },
        line,
        column,
        file,
        code: diagnostic.code.name,
        message: diagnostic.message.clone(),
        help: diagnostic.help.clone().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POST: &str = "include \"color.fbs\";
table Post { id: ulong (primary, auto); color: Color; }
root_type Post;";
    const COLOR: &str = "enum Color: byte { Red, Green }";

    fn compiled(files: &[(&str, &str)]) -> Compiled {
        Compiled::new(files).unwrap()
    }

    #[test]
    fn descriptors_are_those_of_the_root_types() {
        let files = [("a/post.fbs", POST), ("a/color.fbs", COLOR)];
        let compiled = compiled(&files);
        assert!(compiled.error().is_none(), "{}", compiled.report());
        let [post] = compiled.types() else {
            panic!("{:?}", compiled.types());
        };
        assert_eq!((post.name.as_str(), post.auto_key), ("Post", 1));
        let table = dflat_model::TableDescriptor::from_bytes(&post.descriptor).unwrap();
        assert_eq!(table.name, "post");
    }

    #[test]
    fn mistakes_have_their_places_in_included_files_too() {
        let wrong = "enum Color: byte { Red,\n  Red }";
        let compiled = compiled(&[("a/post.fbs", POST), ("a/color.fbs", wrong)]);
        let problem = &compiled.problems()[0];
        assert_eq!(problem.severity, ERROR);
        assert_eq!(
            (problem.file.as_str(), problem.line, problem.column),
            ("a/color.fbs", 2, 3)
        );
        assert!(compiled.types().is_empty());
        assert!(
            compiled
                .error()
                .is_some_and(|message| message == problem.message)
        );
        assert!(
            compiled.report().contains("a/color.fbs:2:3"),
            "{}",
            compiled.report()
        );
    }

    #[test]
    fn files_that_are_missing_or_named_twice_are_errors() {
        let missing = compiled(&[("post.fbs", POST)]);
        let problem = &missing.problems()[0];
        assert_eq!(
            (problem.file.as_str(), problem.line, problem.column),
            ("post.fbs", 1, 9)
        );
        assert!(problem.message.contains("color.fbs"), "{}", problem.message);

        let check = |files: &[(&str, &str)], expected: &str| {
            let failure = Compiled::new(files).map(|compiled| compiled.report);
            assert_eq!(failure, Err(invalid(expected)));
        };
        check(&[], "files: the list is empty");
        check(
            &[("post.fbs", POST), ("./post.fbs", COLOR)],
            "files: two files have the name \"./post.fbs\"",
        );
    }

    #[test]
    fn texts_without_bound_are_errors() {
        let long = format!("{}table A {{ a: int; }}", " ".repeat(1 << 20));
        let deep = format!("table A {{ a: {}int; }}", "[".repeat(100_000));
        let includes = "include \"a.fbs\";".repeat(20_000);
        for text in [long, deep, includes] {
            let compiled = compiled(&[("a.fbs", &text)]);
            assert!(compiled.error().is_some());
            assert!(compiled.problems().len() <= 200);
            assert!(compiled.report().len() < 1 << 20);
        }
    }
}
