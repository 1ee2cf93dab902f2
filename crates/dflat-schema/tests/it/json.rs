//! Diagnostics as JSON.

use serde_json::{Value, json};

use crate::fixture::{compile_file, compile_text, names};

#[test]
fn json_has_the_code_and_the_message() {
    let compilation = compile_text("// ä\ntable T { a: int; a: \"x\\\"\ty\"; }\ntable T {}");
    let line = compilation
        .diagnostics
        .last()
        .unwrap()
        .to_json(&compilation.sources);
    let value: Value = serde_json::from_str(&line).unwrap();
    let expected = json!({
        "code": "E0030",
        "severity": "error",
        "message": "type `T` is defined twice",
        "file": "test.fbs",
        "line": 3,
        "column": 7,
        "labels": [
            {
                "file": "test.fbs", "line": 3, "column": 7, "end_line": 3, "end_column": 8,
                "primary": true, "text": "defined again here",
            },
            {
                "file": "test.fbs", "line": 2, "column": 7, "end_line": 2, "end_column": 8,
                "primary": false, "text": "first defined here",
            },
        ],
        "help": "rename one of them, or put it into another namespace",
        "notes": [],
    });
    assert_eq!(value, expected);
}

#[test]
fn every_diagnostic_is_one_line_of_json() {
    for name in names("err", ".fbs") {
        let compilation = compile_file(&format!("err/{name}.fbs"));
        for diagnostic in &compilation.diagnostics {
            let line = diagnostic.to_json(&compilation.sources);
            assert!(!line.contains('\n'), "{line}");
            let value: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(value["message"], diagnostic.message, "{line}");
            assert_eq!(value["code"], diagnostic.code.name, "{line}");
        }
    }
}
