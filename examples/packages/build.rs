//! Compiles the schema.

fn main() {
    dflat_build::compile(["../../schemas/packages.fbs"]);
}
