//! Hundreds of tables that lead from one to the next: their code compiles within rustc's default
//! limits, and values are written and read correctly.

use std::fmt::Write as _;
use std::path::Path;

use dflat_codegen::{Options, generate};
use dflat_schema::{MemoryLoader, compile};

/// More tables than the limit of rustc on nested types for `Send` and drop checks, and on nested
/// instances of functions, which is 128 for each.
const LENGTH: usize = 150;

/// The number of nested tables of a value: more than between two cuts, and less than the limit of a
/// payload.
const DEPTH: usize = 40;

/// The ways in which a table holds the next one.
#[derive(Clone, Copy)]
struct Shape {
    name: &'static str,
    /// Whether the last table leads to the first.
    circle: bool,
    /// The type of the field that holds the next table, which has this number.
    field: fn(usize) -> String,
    /// The value of the field, made of the value of the next table.
    value: fn(usize, &str) -> String,
}

const SHAPES: [Shape; 4] = [
    Shape {
        name: "circle",
        circle: true,
        field: table,
        value: some,
    },
    Shape {
        name: "chain",
        circle: false,
        field: table,
        value: some,
    },
    Shape {
        name: "circle_of_vectors",
        circle: true,
        field: vector,
        value: elements,
    },
    Shape {
        name: "chain_of_vectors_of_unions",
        circle: false,
        field: unions,
        value: members,
    },
];

fn table(next: usize) -> String {
    format!("T{next}")
}

fn some(_: usize, value: &str) -> String {
    format!("Some({value}.into())")
}

fn vector(next: usize) -> String {
    format!("[T{next}]")
}

fn elements(_: usize, value: &str) -> String {
    format!("vec![{value}.into()]")
}

fn unions(next: usize) -> String {
    format!("[U{next}]")
}

fn members(next: usize, value: &str) -> String {
    format!("vec![Some(U{next}::T{next}({value}.into()))]")
}

impl Shape {
    fn schema(self) -> String {
        let mut text = String::new();
        for number in 0..LENGTH {
            let next = (number + 1) % LENGTH;
            let field = match next {
                0 if !self.circle => "int".to_owned(),
                next => (self.field)(next),
            };
            writeln!(text, "union U{number} {{ T{number} }}").unwrap();
            writeln!(text, "table T{number} {{ id: int; next: {field}; }}").unwrap();
        }
        text + "table Root { id: int (primary); first: T0; } root_type Root;"
    }

    fn code(self) -> String {
        let loader = MemoryLoader::new().with_file("a.fbs", &self.schema());
        let compilation = compile(&["a.fbs".to_owned()], &loader, &Default::default());
        let code = generate(&compilation.schema.unwrap(), &Options::default()).unwrap();
        code.text
    }

    /// A test of the generated code, which writes a value to a workspace and reads it on another
    /// thread.
    fn program(self) -> String {
        let mut value = format!("T{DEPTH}::default()");
        for number in (0..DEPTH).rev() {
            let next = (self.value)(number + 1, &value);
            value = format!("T{number} {{ id: {number}, next: {next} }}");
        }
        let name = self.name;
        format!(
            "mod {name} {{\ninclude!({name:?});\npub fn check() {{\n\
             let data = RootData {{ id: 1, first: Some({value}.into()) }};\n\
             let copy = data.clone();\n\
             let workspace = dflat::Workspace::in_memory();\n\
             let done = workspace.perform_changes([<Root as dflat::Object>::TABLE], |tx| {{\n\
             tx.submit(RootChangeRequest::creation(data)).map(drop)\n}});\n\
             done.wait().unwrap();\n\
             let found = workspace.get::<Root>(1).unwrap().unwrap();\n\
             let read = std::thread::spawn(move || dflat::Object::to_data(&found));\n\
             let read = read.join().unwrap();\n\
             assert_eq!(read, copy);\n\
             assert_eq!(format!(\"{{read:?}}\").matches(\"id: \").count(), {});\n}}\n}}\n",
            DEPTH + 2
        )
    }
}

/// The files of a package whose program checks values of all shapes.
pub(crate) fn package() -> Vec<(String, String)> {
    let dflat = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dflat");
    let manifest = format!(
        "[package]\nname = \"chains\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\ndflat = {{ path = {dflat:?}, default-features = false }}\n"
    );
    let mut main = SHAPES.map(Shape::program).concat();
    let checks = SHAPES.map(|shape| format!("{}::check();", shape.name));
    write!(main, "fn main() {{ {} }}", checks.concat()).unwrap();
    let code = SHAPES.map(|shape| (format!("src/{}", shape.name), shape.code()));
    let rest = [
        ("Cargo.toml".to_owned(), manifest),
        ("src/main.rs".to_owned(), main),
    ];
    code.into_iter().chain(rest).collect()
}

#[test]
fn long_chains_of_tables_compile_within_the_default_limits() {
    super::compiled::cargo(&["run", "--package", "chains"]);
}
