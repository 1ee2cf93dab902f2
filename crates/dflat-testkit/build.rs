//! Compiles the schemas that the tests use.

use std::path::Path;
use std::{env, fs};

use dflat_schema::{MemoryLoader, Style, compile};

fn main() {
    let mut loader = MemoryLoader::new();
    for folder in ["../../schemas", "../../schemas/conformance"] {
        for entry in fs::read_dir(Path::new(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "fbs") {
                let name = path.file_name().unwrap().to_str().unwrap();
                loader = loader.with_file(name, &fs::read_to_string(&path).unwrap());
            }
        }
    }
    for name in ["conformance", "bench_doc", "monster", "dict"] {
        let compilation = compile(&[format!("{name}.fbs")], &loader, &Default::default());
        for diagnostic in &compilation.diagnostics {
            eprintln!("{}", diagnostic.render(&compilation.sources, Style::Plain));
        }
        let schema = compilation.schema.unwrap();
        let output = dflat_codegen::generate(&schema, &Default::default()).unwrap();
        let out = Path::new(&env::var_os("OUT_DIR").unwrap()).join(output.name);
        fs::write(out, output.text).unwrap();
    }
    println!("cargo::rerun-if-changed=../../schemas");
}
