//! Compiles the workload's schemas: the one that the whole workspace shares, and those of this
//! crate.

fn main() {
    dflat_build::Builder::new()
        .include_dir("../../schemas")
        .compile([
            "../../schemas/bench_doc.fbs",
            "schemas/bench_doc_v2.fbs",
            "schemas/bench_doc_v3.fbs",
            "schemas/bench_doc_v4.fbs",
            "schemas/ranked.fbs",
            "schemas/listed.fbs",
            "schemas/catalogued.fbs",
            "schemas/wide.fbs",
        ]);
}
