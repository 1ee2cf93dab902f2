//! Descriptors as bytes.

use std::fs;
use std::path::Path;

use dflat_model::TableDescriptor;
use dflat_schema::{MemoryLoader, compile, describe};

use super::{SCHEMA, WRONG, dflatc, folder, text};

const TWO: &str = "namespace Blog; table Tag (stored) { name: string (primary); }
    table Post { title: string (primary); tag: Tag; } root_type Post;";

#[test]
fn each_stored_type_has_a_file_with_its_descriptor() {
    let folder = folder(&[("blog.fbs", TWO)]);
    let arguments = [
        "compile",
        "--descriptor",
        "-o",
        "out",
        "--depfile",
        "d",
        "blog.fbs",
    ];
    let output = dflatc(folder.path(), &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let loader = MemoryLoader::new().with_file("blog.fbs", TWO);
    let schema = compile(&["blog.fbs".to_owned()], &loader, &Default::default()).schema;
    let schema = schema.unwrap();
    let root = schema.files.iter().find_map(|file| file.root).unwrap();
    let bytes = fs::read(folder.path().join("out/Blog.Post.descriptor")).unwrap();
    assert_eq!(
        TableDescriptor::from_bytes(&bytes),
        Ok(describe(&schema, root))
    );
    let bytes = fs::read(folder.path().join("out/Blog.Tag.descriptor")).unwrap();
    assert_eq!(
        TableDescriptor::from_bytes(&bytes).unwrap().type_name,
        "Blog.Tag"
    );
    assert!(!folder.path().join("out/blog.rs").exists());
    let outputs = ["Blog.Tag.descriptor", "Blog.Post.descriptor"]
        .map(|name| Path::new("out").join(name).display().to_string());
    let depfile = fs::read_to_string(folder.path().join("d")).unwrap();
    assert_eq!(depfile, format!("{}: blog.fbs\n", outputs.join(" ")));
}

#[test]
fn committed_descriptors_are_checked() {
    let folder = folder(&[("post.fbs", SCHEMA)]);
    let check = ["compile", "--descriptor", "--check", "post.fbs"];
    let missing = dflatc(folder.path(), &check);
    assert!(!missing.status.success());
    assert!(
        text(&missing.stderr).contains("Post.descriptor"),
        "{missing:?}"
    );
    assert!(
        dflatc(folder.path(), &["compile", "--descriptor", "post.fbs"])
            .status
            .success()
    );
    assert!(dflatc(folder.path(), &check).status.success());
    fs::write(folder.path().join("Post.descriptor"), "other").unwrap();
    let stale = dflatc(folder.path(), &check);
    assert!(text(&stale.stderr).contains("is not current"), "{stale:?}");
}

#[test]
fn schema_without_a_stored_type_has_no_descriptor() {
    let folder = folder(&[("part.fbs", "table Part { x: int; }"), ("wrong.fbs", WRONG)]);
    let output = dflatc(folder.path(), &["compile", "--descriptor", "part.fbs"]);
    assert!(
        text(&output.stderr).contains("no type is stored"),
        "{output:?}"
    );
    let output = dflatc(folder.path(), &["compile", "--descriptor", "wrong.fbs"]);
    assert!(!output.status.success());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}
