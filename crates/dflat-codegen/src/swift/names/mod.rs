//! Names of the schema as Swift writes them.

pub(super) mod hiding;
pub(super) mod qualified;

use std::collections::{HashMap, HashSet};

use dflat_schema::{Definition, Diagnostic};

use crate::diagnostic::{NAME_CLASH, error_at};
use crate::plan::{Kind, Plan};

/// Words that need backticks as names.
const KEYWORDS: &[&str] = &[
    "Any",
    "as",
    "associatedtype",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "continue",
    "default",
    "defer",
    "deinit",
    "do",
    "else",
    "enum",
    "extension",
    "fallthrough",
    "false",
    "fileprivate",
    "for",
    "func",
    "guard",
    "if",
    "import",
    "in",
    "init",
    "inout",
    "internal",
    "is",
    "let",
    "nil",
    "operator",
    "precedencegroup",
    "private",
    "protocol",
    "public",
    "repeat",
    "rethrows",
    "return",
    "static",
    "struct",
    "subscript",
    "super",
    "switch",
    "throw",
    "throws",
    "true",
    "try",
    "typealias",
    "var",
    "where",
    "while",
];

/// A name, in backticks if it is a keyword. A few words cannot be names at all.
pub(super) fn escaped(name: &str) -> String {
    if matches!(name, "self" | "Self" | "Type" | "Protocol") {
        return format!("{name}_");
    }
    if KEYWORDS.contains(&name) {
        format!("`{name}`")
    } else {
        name.to_owned()
    }
}

/// An escaped name as the label of an argument, where most keywords need no backticks.
pub(super) fn label(name: &str) -> &str {
    match name.trim_matches('`') {
        "inout" | "let" | "var" => name,
        plain => plain,
    }
}

/// The name of a typed field. The types of the original have some of these names already.
pub(super) fn query(name: &str) -> String {
    match name {
        "flatBuffersSchemaVersion" | "indexFields" | "table" => format!("{name}_"),
        _ => name.to_owned(),
    }
}

/// Joins the parts of a name between underscores, each but the first with a capital.
fn camel(name: &str) -> String {
    let mut joined = String::new();
    for part in name.split('_').filter(|part| !part.is_empty()) {
        if joined.is_empty() {
            joined.push_str(part);
        } else {
            let mut characters = part.chars();
            joined.extend(characters.next().map(|first| first.to_ascii_uppercase()));
            joined.extend(characters);
        }
    }
    match joined.chars().next() {
        Some(first) if first.is_ascii_digit() => format!("_{joined}"),
        Some(_) => joined,
        None => name.to_owned(),
    }
}

fn with_first(name: &str, change: impl Fn(char) -> char) -> String {
    let mut characters = name.chars();
    let first = characters.next().map(change);
    first.into_iter().chain(characters).collect()
}

/// `hpOld`: fields. The result may be a keyword. Generated code has functions with two names.
pub(super) fn field(name: &str) -> String {
    match lower(name) {
        taken if matches!(&*taken, "build" | "toData") => format!("{taken}_"),
        free => free,
    }
}

fn lower(name: &str) -> String {
    with_first(&camel(name), |first| first.to_ascii_lowercase())
}

/// The names of a type's fields, values or members.
pub(super) fn members(kind: &Kind<'_>) -> Vec<String> {
    match kind {
        Kind::Enum(found) => found.values.iter().map(|v| case(&v.name)).collect(),
        Kind::Union(members) => members.iter().map(|m| case(&m.source.name)).collect(),
        Kind::Struct(plan) => plan.fields.iter().map(|f| field(&f.source.name)).collect(),
        Kind::Table(plan) => plan.fields.iter().map(|f| field(&f.source.name)).collect(),
    }
}

/// `TextContent`: types.
pub(super) fn type_name(name: &str) -> String {
    with_first(&camel(name), |first| first.to_ascii_uppercase())
}

/// `textContent`, but `RED`: cases of enums and unions. The result may be a keyword.
pub(super) fn case(name: &str) -> String {
    let capitals = !name.chars().any(|c| c.is_ascii_lowercase());
    if capitals {
        name.to_owned()
    } else {
        lower(name)
    }
}

/// `zzz_DflatGen_MyGame_Sample_Monster`: the name for generated code only.
pub(super) fn internal(definition: &Definition) -> String {
    let mut parts = vec!["zzz_DflatGen".to_owned()];
    parts.extend(definition.namespace.iter().cloned());
    parts.push(type_name(&definition.name));
    parts.join("_")
}

/// The namespace as Swift writes it; empty for none.
pub(super) fn namespace(definition: &Definition) -> String {
    let parts = definition.namespace.iter().map(|part| escaped(part));
    parts.collect::<Vec<_>>().join(".")
}

/// The type's name with its namespace.
pub(super) fn path(definition: &Definition) -> String {
    let name = escaped(&type_name(&definition.name));
    match namespace(definition) {
        namespace if namespace.is_empty() => name,
        namespace => format!("{namespace}.{name}"),
    }
}

/// The names of the types that the code of a schema declares.
pub(super) fn declared(plan: &Plan<'_>) -> HashSet<String> {
    let mut declared = HashSet::new();
    for (_, ty) in plan.iter() {
        let name = type_name(&ty.definition.name);
        if ty.stored.is_some() {
            declared.insert(format!("{name}Builder"));
            declared.insert(format!("{name}ChangeRequest"));
        }
        declared.insert(name);
        declared.extend(ty.definition.namespace.iter().cloned());
    }
    declared
}

/// The modules that generated code names.
const MODULES: [&str; 2] = ["Dflat", "SQLiteDflat"];

/// Checks that different names of the schema stay different.
pub(super) fn check(plan: &Plan<'_>) -> Vec<Diagnostic> {
    let mut errors = types(plan);
    for (_, ty) in plan.iter() {
        let definition = ty.definition;
        let members: Vec<(&str, String)> = match &ty.kind {
            Kind::Enum(found) => found
                .values
                .iter()
                .map(|v| (&*v.name, case(&v.name)))
                .collect(),
            Kind::Union(members) => {
                let names = members.iter().map(|member| &*member.source.name);
                names.map(|name| (name, case(name))).collect()
            }
            Kind::Struct(plan) => {
                let names = plan.fields.iter().map(|found| &*found.source.name);
                names.map(|name| (name, field(name))).collect()
            }
            Kind::Table(plan) => {
                let names = plan.fields.iter().map(|found| &*found.source.name);
                names.map(|name| (name, field(name))).collect()
            }
        };
        let mut known: HashMap<String, &str> = HashMap::new();
        for (name, swift) in members {
            if let Some(first) = known.insert(swift.clone(), name) {
                errors.push(clash(first, name, &swift, definition));
            }
        }
    }
    errors
}

/// Checks the names of types, of the types beside them, and of namespaces.
fn types(plan: &Plan<'_>) -> Vec<Diagnostic> {
    let mut errors = Vec::new();
    let mut known: HashMap<String, String> = HashMap::new();
    for (_, ty) in plan.iter() {
        let parts = &ty.definition.namespace;
        for end in 1..=parts.len() {
            let outer = &parts[..end];
            let path: Vec<String> = outer.iter().map(|part| escaped(part)).collect();
            known.insert(path.join("."), format!("namespace {}", outer.join(".")));
        }
    }
    for (_, ty) in plan.iter() {
        let (definition, full) = (ty.definition, ty.definition.full_name());
        let name = type_name(&definition.name);
        let mut outermost = definition.namespace.iter().take(1).chain([&name]);
        if let Some(module) = outermost.find(|name| MODULES.contains(&name.as_str())) {
            let message = format!("`{full}` hides the module `{module}` in Swift");
            errors.push(in_type(message, definition));
        }
        let path = path(definition);
        let beside = ["Builder", "ChangeRequest"].map(|suffix| format!("{path}{suffix}"));
        let beside = beside.into_iter().filter(|_| ty.stored.is_some());
        for path in std::iter::once(path.clone()).chain(beside) {
            if let Some(first) = known.insert(path.clone(), full.clone()) {
                errors.push(clash(&first, &full, &path, definition));
            }
        }
    }
    errors
}

fn clash(first: &str, second: &str, swift: &str, definition: &Definition) -> Diagnostic {
    let message = format!("`{first}` and `{second}` both become `{swift}` in Swift");
    in_type(message, definition)
}

fn in_type(message: String, definition: &Definition) -> Diagnostic {
    let label = "in this type".to_owned();
    error_at(&NAME_CLASH, message, &definition.span, label)
}

#[cfg(test)]
mod tests {
    use super::{case, escaped, field, type_name};

    #[test]
    fn names_follow_the_original() {
        assert_eq!(field("hp_old"), "hpOld");
        assert_eq!(field("Name"), "name");
        assert_eq!(field("to_data"), "toData_");
        assert_eq!(type_name("text_content"), "TextContent");
        assert_eq!(case("TextContent"), "textContent");
        assert_eq!(case("RED"), "RED");
        assert_eq!(escaped("default"), "`default`");
    }
}
