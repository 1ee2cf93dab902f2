//! Compiles the schema.

fn main() {
    dflat_build::compile(["plan.fbs"]);
}
