//! Compiles the schema.

fn main() {
    dflat_build::compile(["note.fbs"]);
}
