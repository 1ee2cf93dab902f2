//! Compiles the schemas that the tests use.

fn main() {
    for schema in [
        "../../schemas/conformance/conformance.fbs",
        "../../schemas/bench_doc.fbs",
        "../../schemas/monster.fbs",
        "../../schemas/dict.fbs",
    ] {
        dflat_build::compile([schema]);
    }
}
