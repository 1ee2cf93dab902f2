//! Compiles the schema of the values.

fn main() {
    dflat_build::Builder::new()
        .include_dir("../../schemas")
        .compile(["../../schemas/post.fbs"]);
}
