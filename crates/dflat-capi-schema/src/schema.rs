//! The functions of the library.

use dflat_capi_boundary::{Given, List, Out, export_code, export_value};

use crate::boundary::{In, OutHandle, Owned, RawFile, SchemaHandle, guard};
use crate::compiled::Compiled;
use crate::failure::{Failure, Result};

/// `DFLAT_SCHEMA_ABI_VERSION`.
const ABI_VERSION: u32 = 1;

/// A stored type: `dflat_schema_table`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawTable {
    name: Given,
    descriptor: Given,
    auto_key: i32,
}

/// A problem: `dflat_schema_problem`.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawProblem {
    severity: i32,
    line: u32,
    column: u32,
    file: Given,
    code: Given,
    message: Given,
    help: Given,
}

/// The names and texts of files. An error has the position of the file.
fn texts<'a>(files: &'a [RawFile<'a>]) -> Result<Vec<(&'a str, &'a str)>> {
    let files = files.iter().enumerate();
    let texts = files.map(|(position, file)| {
        let name = file.name.get(&format!("files[{position}].name"))?;
        let content = file.content.get(&format!("files[{position}].content"))?;
        Ok((name, content))
    });
    texts.collect()
}

export_value! {
    fn dflat_schema_abi_version() -> u32 {
        ABI_VERSION
    }
}

export_code! {
    guard;

    fn dflat_schema_compile(
        files: List<'_, RawFile<'_>>,
        files_count: usize,
        schema: OutHandle<'_, SchemaHandle>,
    ) {
        schema.begin()?;
        let files = files.get(files_count, "files").map_err(Failure::from).and_then(texts);
        let compiled = match files.and_then(|files| Compiled::new(&files)) {
            Ok(compiled) => compiled,
            Err(Failure::Invalid(message)) => Compiled::refused(message),
            Err(failure) => return Err(failure),
        };
        let message = compiled.error().map(str::to_owned);
        schema.set(compiled);
        if let Some(message) = message {
            return Err(Failure::Invalid(message));
        }
    }

    fn dflat_schema_type(
        schema: In<'_, SchemaHandle>,
        number: usize,
        table: Out<'_, RawTable>,
    ) {
        let none = Given::text("");
        table.begin("table", RawTable { name: none, descriptor: none, auto_key: 0 })?;
        let schema = schema.get()?;
        let found = schema.types().get(number).ok_or(Failure::NotFound)?;
        table.set(RawTable {
            name: Given::text(&found.name),
            descriptor: Given::bytes(&found.descriptor),
            auto_key: found.auto_key,
        });
    }

    fn dflat_schema_problem_at(
        schema: In<'_, SchemaHandle>,
        number: usize,
        problem: Out<'_, RawProblem>,
    ) {
        let none = Given::text("");
        let empty = RawProblem {
            severity: 0,
            line: 0,
            column: 0,
            file: none,
            code: none,
            message: none,
            help: none,
        };
        problem.begin("problem", empty)?;
        let schema = schema.get()?;
        let found = schema.problems().get(number).ok_or(Failure::NotFound)?;
        problem.set(RawProblem {
            severity: found.severity,
            line: found.line,
            column: found.column,
            file: Given::text(&found.file),
            code: Given::text(found.code),
            message: Given::text(&found.message),
            help: Given::text(&found.help),
        });
    }

    fn dflat_schema_report(schema: In<'_, SchemaHandle>, report: Out<'_, Given>) {
        report.begin("report", Given::text(""))?;
        report.set(Given::text(schema.get()?.report()));
    }

    fn dflat_schema_release(schema: Owned<SchemaHandle>) {
        schema.release()?;
    }
}
