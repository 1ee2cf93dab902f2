//! Names of modules in front of types that a type of the schema hides.
//!
//! A schema may have a table `String` or `Data`. In the code of such a schema, and in no other,
//! the types of Swift with these names are written with their modules. To tell them apart, each
//! name of the schema has a mark until the text is complete.

use std::collections::HashSet;

/// The mark in front of a name of the schema.
const MARK: char = '\u{E000}';

/// The types that generated code uses, by module.
const TYPES: [(&str, &[&str]); 4] = [
    (
        "Swift",
        &[
            "Any",
            "Array",
            "Bool",
            "CaseIterable",
            "CustomStringConvertible",
            "Double",
            "Equatable",
            "Float32",
            "Hashable",
            "Hasher",
            "Int",
            "Int16",
            "Int32",
            "Int64",
            "Int8",
            "OpaquePointer",
            "OptionSet",
            "Optional",
            "Sendable",
            "String",
            "UInt16",
            "UInt32",
            "UInt64",
            "UInt8",
        ],
    ),
    ("Foundation", &["Data"]),
    (
        "FlatBuffers",
        &["ByteBuffer", "FlatBufferBuilder", "Offset"],
    ),
    (
        "Dflat",
        &[
            "ChangeRequestType",
            "DflatFriendlyValue",
            "EqualToExpr",
            "FieldExpr",
            "FlatBuffersDecodable",
            "FlatBuffersEncodable",
            "PersistenceToolbox",
            "SQLiteBinding",
            "SQLiteValue",
            "UpdatedObject",
            "ValueExpr",
        ],
    ),
];

/// The types of the module `SQLiteDflat` that generated code uses.
const STORAGE: [&str; 2] = ["SQLitePersistenceToolbox", "SQLiteTransactionContext"];

/// A name of the schema.
pub(in super::super) fn marked(name: &str) -> String {
    format!("{MARK}{name}")
}

/// The text without marks, and with modules in front of the types that `declared` hides.
pub(in super::super) fn qualified(text: &str, declared: &HashSet<String>) -> String {
    let mut result = String::with_capacity(text.len());
    let hides = |name: &str| declared.contains(name);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("//") {
            result.extend(line.chars().filter(|character| *character != MARK));
        } else {
            qualify_line(line, hides, &mut result);
        }
    }
    result
}

fn qualify_line(line: &str, hides: impl Fn(&str) -> bool, result: &mut String) {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let mut rest = line;
    let mut in_string = false;
    while let Some(first) = rest.chars().next() {
        if first == MARK {
            // A path of the schema: none of its parts is a type of Swift.
            rest = &rest[MARK.len_utf8()..];
            let end = rest.find(|c: char| !is_part(c) && c != '.' && c != '`');
            let (path, others) = rest.split_at(end.unwrap_or(rest.len()));
            result.push_str(path);
            rest = others;
        } else if is_part(first) {
            let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
            let (name, others) = rest.split_at(end);
            let is_member = result.ends_with('.') || others.starts_with(':');
            if !in_string && !is_member && hides(name) {
                result.extend(module(name).map(|module| format!("{module}.")));
            }
            result.push_str(name);
            rest = others;
        } else {
            in_string ^= first == '"' && !result.ends_with('\\');
            result.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
}

fn module(name: &str) -> Option<&'static str> {
    if STORAGE.contains(&name) {
        return Some("SQLiteDflat");
    }
    let found = TYPES.iter().find(|(_, types)| types.contains(&name));
    found.map(|(module, _)| *module)
}

#[cfg(test)]
mod tests {
    use super::{marked, qualified};
    use std::collections::HashSet;

    #[test]
    fn hidden_types_get_their_module() {
        let declared = HashSet::from(["String".to_owned()]);
        let text = format!(
            "/// String\nlet a: String? = {}(\"String\")\n",
            marked("String")
        );
        assert_eq!(
            qualified(&text, &declared),
            "/// String\nlet a: Swift.String? = String(\"String\")\n"
        );
        let plain = qualified("let a: String = .String\n", &HashSet::new());
        assert_eq!(plain, "let a: String = .String\n");
    }
}
