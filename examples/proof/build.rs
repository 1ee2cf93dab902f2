//! Compiles the schema.

fn main() {
    dflat_build::compile(["task.fbs"]);
}
