//! What can be wrong only when code is generated.

use dflat_codegen::{External, Options, generate};
use dflat_schema::{MemoryLoader, compile};
use expect_test::{Expect, expect};

use super::golden::rendered;

fn check(schema: &str, options: &Options, expected: &Expect) {
    let loader = MemoryLoader::new().with_file("a.fbs", schema);
    let compilation = compile(&["a.fbs".to_owned()], &loader, &Default::default());
    let found = rendered(&compilation.diagnostics, &compilation.sources);
    let schema = compilation.schema.unwrap_or_else(|| panic!("{found}"));
    let errors = generate(&schema, options).unwrap_err();
    expected.assert_eq(&rendered(&errors, &compilation.sources));
}

#[test]
fn fields_that_become_one() {
    check(
        "table A { hpOld: int; hp_old: int; }",
        &Options::default(),
        &expect![[r#"
            error[E0200]: `hpOld` and `hp_old` both become `hp_old` in generated code
             --> a.fbs:1:23
              |
            1 | table A { hpOld: int; hp_old: int; }
              |           -----       ^^^^^^ the second
              |           |
              |           the first
              |
              = help: rename one of the two"#]],
    );
}

#[test]
fn types_that_become_one_with_their_companions() {
    let schema = "table PostRef { x: int; } table Post { id: int (primary); } root_type Post;";
    check(
        schema,
        &Options::default(),
        &expect![[r#"
        error[E0200]: `PostRef` and `Post` both become `PostRef` in generated code
         --> a.fbs:1:33
          |
        1 | table PostRef { x: int; } table Post { id: int (primary); } root_type Post;
          |       ------- the first         ^^^^ the second
          |
          = help: rename one of the two"#]],
    );
}

#[test]
fn names_without_letters() {
    check(
        "table A { __: int; }",
        &Options::default(),
        &expect![[r#"
        error[E0201]: `__` has no form in generated code
         --> a.fbs:1:11
          |
        1 | table A { __: int; }
          |           ^^ no letter, no digit"#]],
    );
}

#[test]
fn options_that_do_not_fit() {
    let external = |path: &str| Options {
        external: vec![External {
            file: "b.fbs".to_owned(),
            path: path.to_owned(),
        }],
        ..Options::default()
    };
    check(
        "table A { x: int; }",
        &external("::b"),
        &expect!["error[E0202]: no included file is `b.fbs`, which is said to be external"],
    );
    let options = Options {
        crate_path: Some("my-crate".to_owned()),
        ..Options::default()
    };
    check(
        "table A { x: int; }",
        &options,
        &expect!["error[E0203]: `my-crate` is no Rust path"],
    );
}
