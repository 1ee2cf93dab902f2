//! Compiles the workload's schemas.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use dflat_schema::MemoryLoader;

/// The schema that the whole workspace shares, then those of this crate, which include it.
const SCHEMAS: [&str; 4] = [
    "../../schemas/bench_doc.fbs",
    "schemas/bench_doc_v2.fbs",
    "schemas/bench_doc_v3.fbs",
    "schemas/bench_doc_v4.fbs",
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut loader = MemoryLoader::new();
    let mut names = Vec::new();
    for path in SCHEMAS {
        println!("cargo::rerun-if-changed={path}");
        let name = Path::new(path).file_name().ok_or("no file name")?;
        let name = name.to_str().ok_or("not Unicode")?.to_owned();
        loader = loader.with_file(&name, &fs::read_to_string(path)?);
        names.push(name);
    }
    let compilation = dflat_schema::compile(&names, &loader, &dflat_schema::Options::default());
    let Some(schema) = compilation.schema else {
        return Err(format!("{:?}", compilation.diagnostics).into());
    };
    let output = dflat_codegen::generate(&schema, &dflat_codegen::Options::default())
        .map_err(|diagnostics| format!("{diagnostics:?}"))?;
    let directory = env::var_os("OUT_DIR").ok_or("no OUT_DIR")?;
    fs::write(Path::new(&directory).join(output.name), output.text)?;
    Ok(())
}
