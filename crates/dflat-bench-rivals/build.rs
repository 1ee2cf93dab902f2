//! Compiles the schemas of the objects and of the dictionary's values.

fn main() {
    dflat_build::Builder::new()
        .include_dir("../../schemas")
        .compile(["schemas/record.fbs", "../../schemas/post.fbs"]);
    dflat_build::compile(["schemas/packed.fbs"]);
}
