//! Random schemas, as text.

use std::fmt::Write;

use crate::random::Random;

/// The largest number of fields of a table beside its key.
const FIELDS_MAX: usize = 8;

/// The types of fields, each with a possible default.
pub(super) const LEAVES: [(&str, &str); 15] = [
    ("bool", "true"),
    ("byte", "-1"),
    ("ubyte", "255"),
    ("short", "-1"),
    ("ushort", "1"),
    ("int", "3"),
    ("uint", "4294967295"),
    ("long", "-9223372036854775808"),
    ("ulong", "18446744073709551615"),
    ("float", "1.5"),
    ("double", "nan"),
    ("string", "\"a\""),
    ("Kind", "Second"),
    ("Far", "Large"),
    ("Bits", "Low"),
];

/// The types of the parts of a key: those without NaN.
const KEYS: [&str; 8] = [
    "string", "int", "long", "ulong", "ubyte", "short", "double", "Kind",
];

/// Enums and bit flags, which every schema has.
const ENUMS: &str = "
enum Kind: byte { First = -1, Zero, Second = 7 }
enum Far: ulong { None = 0, Large = 18446744073709551615 }
enum Bits: ubyte (bit_flags) { Low, Middle, High }
";

/// A schema with a root table. Its key has one to three parts; its other fields and its indexes are
/// random.
pub(super) fn schema(random: &mut Random) -> String {
    let mut text = ENUMS.to_owned();
    structure(&mut text, "Inner", None, random);
    structure(&mut text, "Outer", Some("Inner"), random);
    table(&mut text, "Leaf", &[], random);
    table(&mut text, "Branch", &["Leaf", "Outer"], random);
    text += "union Choice { Leaf, Branch, Inner }\n";
    text += "table Root {\n";
    let parts = 1 + random.below(3);
    for part in 0..parts {
        let ty = random.pick(&KEYS);
        let default = if *ty == "Kind" { " = Zero" } else { "" };
        writeln!(text, "  k{part}: {ty}{default} (primary);").unwrap();
    }
    fields(
        &mut text,
        &["Inner", "Outer", "Leaf", "Branch", "Choice", "Choice"],
        random,
    );
    text + "}\nroot_type Root;\n"
}

fn table(text: &mut String, name: &str, nested: &[&str], random: &mut Random) {
    writeln!(text, "table {name} {{").unwrap();
    fields(text, nested, random);
    text.push_str("}\n");
}

fn fields(text: &mut String, nested: &[&str], random: &mut Random) {
    for field in 0..1 + random.below(FIELDS_MAX) {
        if !nested.is_empty() && random.one_in(3) {
            let ty = *random.pick(nested);
            let tag = if ty == "Choice" && random.one_in(2) {
                " (indexed)"
            } else {
                ""
            };
            writeln!(text, "  f{field}: {ty}{tag};").unwrap();
            continue;
        }
        if random.one_in(12) {
            let ty = random.pick(&["[int]", "[string]", "[Kind]"]);
            writeln!(text, "  f{field}: {ty};").unwrap();
            continue;
        }
        let (ty, default) = *random.pick(&LEAVES);
        let default = match random.below(4) {
            0 => format!(" = {default}"),
            1 if ty != "string" => " = null".to_owned(),
            _ if matches!(ty, "Kind") => " = Zero".to_owned(),
            _ => String::new(),
        };
        writeln!(text, "  f{field}: {ty}{default}{};", attribute(random)).unwrap();
    }
}

fn structure(text: &mut String, name: &str, nested: Option<&str>, random: &mut Random) {
    writeln!(text, "struct {name} {{").unwrap();
    for field in 0..1 + random.below(4) {
        let leaf = loop {
            let (ty, _) = *random.pick(&LEAVES);
            if ty != "string" {
                break ty;
            }
        };
        writeln!(text, "  f{field}: {leaf}{};", attribute(random)).unwrap();
    }
    if let Some(nested) = nested {
        writeln!(text, "  inner: {nested};").unwrap();
    }
    text.push_str("}\n");
}

/// Half of the fields have an index, and a few of the indexes are unique.
fn attribute(random: &mut Random) -> &'static str {
    match random.below(12) {
        0 => " (unique)",
        1..6 => " (indexed)",
        _ => "",
    }
}
