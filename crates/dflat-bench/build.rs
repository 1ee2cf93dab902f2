//! Compiles the workload's schemas: that which the whole workspace shares, and those of this crate,
//! which include it.

fn main() {
    dflat_build::Builder::new()
        .include_dir("../../schemas")
        .compile([
            "../../schemas/bench_doc.fbs",
            "schemas/bench_doc_v2.fbs",
            "schemas/bench_doc_v3.fbs",
            "schemas/bench_doc_v4.fbs",
            "schemas/ranked.fbs",
        ]);
}
