//! Names of the schema in Rust's cases.

/// Keywords of any edition.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// The words of a name in lower case, split at underscores and before capitals.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in name.split('_').filter(|part| !part.is_empty()) {
        let characters: Vec<char> = part.chars().collect();
        let mut word = String::new();
        for (position, character) in characters.iter().enumerate() {
            let before = position
                .checked_sub(1)
                .and_then(|before| characters.get(before));
            let after = characters.get(position + 1);
            let begins = character.is_ascii_uppercase()
                && before.is_some_and(|before| {
                    !before.is_ascii_uppercase() || after.is_some_and(char::is_ascii_lowercase)
                });
            if begins && !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            word.push(character.to_ascii_lowercase());
        }
        words.push(word);
    }
    words
}

/// `hp_old`: fields and modules. The result may be a keyword.
pub(crate) fn snake(name: &str) -> String {
    let joined = words(name).join("_");
    if joined.starts_with(|first: char| first.is_ascii_digit()) {
        format!("_{joined}")
    } else {
        joined
    }
}

/// `HP_OLD`: constants.
pub(crate) fn screaming(name: &str) -> String {
    let snake = snake(name);
    let upper = snake.to_ascii_uppercase();
    // Without letters, the name of the constant would equal the name of the accessor.
    if upper == snake {
        format!("FIELD{upper}")
    } else {
        upper
    }
}

/// `TextContent`: types and variants. Capitals within a word stay, except in a word of capitals
/// only: `RED` becomes `Red`.
pub(crate) fn camel(name: &str) -> String {
    let mut out = String::new();
    for part in name.split('_').filter(|part| !part.is_empty()) {
        let shouted = !part.contains(|c: char| c.is_ascii_lowercase());
        let mut characters = part.chars();
        let Some(first) = characters.next() else {
            continue;
        };
        let digits_meet = out.chars().last().is_none_or(|last| last.is_ascii_digit());
        if first.is_ascii_digit() && digits_meet {
            out.push('_');
        }
        out.push(first.to_ascii_uppercase());
        out.extend(characters.map(|c| if shouted { c.to_ascii_lowercase() } else { c }));
    }
    if out == "Self" {
        "Self_".to_owned()
    } else {
        out
    }
}

/// The name as an identifier, which is raw for a keyword.
pub(crate) fn identifier(name: String) -> String {
    if matches!(name.as_str(), "self" | "super" | "crate") {
        format!("{name}_")
    } else if KEYWORDS.contains(&name.as_str()) {
        format!("r#{name}")
    } else {
        name
    }
}

/// Names of built-in types and of lint tools. A module with such a name would hide them.
const BUILT_IN: &[&str] = &[
    "bool", "char", "clippy", "f16", "f32", "f64", "f128", "i8", "i16", "i32", "i64", "i128",
    "isize", "rustdoc", "rustfmt", "str", "u8", "u16", "u32", "u64", "u128", "usize",
];

/// The module of one part of a namespace.
pub(crate) fn module(name: &str) -> String {
    let snake = snake(name);
    if BUILT_IN.contains(&snake.as_str()) {
        format!("{snake}_")
    } else {
        identifier(snake)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_converted_to_each_case() {
        for (name, expected_snake, expected_camel) in [
            ("hp_old", "hp_old", "HpOld"),
            ("hpOld", "hp_old", "HpOld"),
            ("HTTPServer", "http_server", "HTTPServer"),
            ("RED", "red", "Red"),
            ("GOOD_DAY", "good_day", "GoodDay"),
            ("_v1_2", "v1_2", "V1_2"),
            ("__a__b_", "a_b", "AB"),
            ("self", "self", "Self_"),
            ("_1", "_1", "_1"),
            ("Vec3", "vec3", "Vec3"),
            ("pos2D", "pos2_d", "Pos2D"),
            ("_", "", ""),
        ] {
            assert_eq!(snake(name), expected_snake, "{name}");
            assert_eq!(camel(name), expected_camel, "{name}");
        }
        assert_eq!(screaming("_1"), "FIELD_1");
        assert_eq!(identifier(snake("Type")), "r#type");
        assert_eq!(identifier(snake("Super")), "super_");
        assert_eq!(module("U8"), "u8_");
    }
}
