//! Compiles the schemas, and two versions of one.

fn main() {
    let schemas = [
        "note",
        "person",
        "membership",
        "job",
        "entry",
        "drawing",
        "visit",
    ];
    dflat_build::Builder::new()
        .name("cookbook")
        .compile(schemas.map(|name| format!("schemas/{name}.fbs")));
    dflat_build::compile(["schemas/contact.fbs"]);
    dflat_build::compile(["schemas/contact_v2.fbs"]);
}
