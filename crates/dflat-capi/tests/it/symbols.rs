//! The functions of a header and those of its library are the same, name by name and argument by
//! argument, with the types of their results; and the library exports nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::programs::{libraries, succeed};

/// A library, its header and its sources.
pub(crate) struct Library {
    pub(crate) header: &'static str,
    sources: &'static str,
    file: &'static str,
}

/// The C library, and the C library of the schema compiler.
pub(crate) const LIBRARIES: [Library; 2] = [
    Library {
        header: include_str!("../../include/dflat.h"),
        sources: concat!(env!("CARGO_MANIFEST_DIR"), "/src"),
        file: "libdflat_capi.so",
    },
    Library {
        header: include_str!("../../../dflat-capi-schema/include/dflat_schema.h"),
        sources: concat!(env!("CARGO_MANIFEST_DIR"), "/../dflat-capi-schema/src"),
        file: "libdflat_capi_schema.so",
    },
];

/// Functions by name: the type of the result, and each argument's name and type, as C has them.
type Functions = BTreeMap<String, Vec<String>>;

/// The text with one space between words, and none beside punctuation.
pub(crate) fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut text = words.join(" ");
    for mark in ["*", ",", "(", ")", "<", ">"] {
        text = text
            .replace(&format!(" {mark}"), mark)
            .replace(&format!("{mark} "), mark);
    }
    text
}

/// The text without C's comments.
pub(crate) fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::new();
    while let Some((before, after)) = rest.split_once("/*") {
        kept.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, rest)| rest);
    }
    kept + rest
}

/// The text without lines of C's preprocessor.
pub(crate) fn without_directives(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

/// The functions that a header declares.
pub(crate) fn declared(header: &str) -> Functions {
    let text = without_directives(&without_comments(header)).replace("extern \"C\" {", "");
    let mut functions = Functions::new();
    for statement in text.split(';') {
        let statement = plain(statement);
        let Some((head, arguments)) = statement.split_once('(') else {
            continue;
        };
        let name = head.rsplit([' ', '*']).next().unwrap();
        if !name.starts_with("dflat_") || statement.contains("typedef") {
            continue;
        }
        let arguments = arguments.trim_end_matches(')').split(',');
        let arguments = arguments.filter(|argument| *argument != "void");
        // `dflat_text` is another name of `dflat_bytes`.
        let arguments = arguments.map(|argument| argument.replace("dflat_text", "dflat_bytes"));
        let (result, _) = head.split_once(' ').unwrap();
        let result = result.replace("dflat_code", "int32_t");
        functions.insert(
            name.to_owned(),
            [result].into_iter().chain(arguments).collect(),
        );
    }
    functions
}

/// The type of C for one of this crate, before a name.
fn in_c(rust: &str) -> String {
    let inside = |outer: &str| {
        rust.strip_prefix(outer)
            .and_then(|rest| rest.strip_suffix('>'))
    };
    let handle = |name: &str| {
        let name = name.trim_end_matches("Handle");
        let mut words = String::from("dflat");
        for letter in name.chars() {
            if letter.is_uppercase() {
                words.push('_');
            }
            words.push(letter.to_ascii_lowercase());
        }
        words
    };
    if let Some(kind) = inside("In<'_, ").or_else(|| inside("In<'_,")) {
        return format!("const {}*", handle(kind));
    }
    if let Some(kind) = inside("OutHandle<'_,") {
        return format!("{}**", handle(kind));
    }
    if let Some(kind) = inside("Owned<").or_else(|| inside("Lent<'_,")) {
        return format!("{}*", handle(kind));
    }
    if let Some(item) = inside("List<'_,") {
        return match in_c(item) {
            pointer if pointer.ends_with('*') => format!("{pointer}const*"),
            plain => format!("const {plain}*"),
        };
    }
    if let Some(result) = inside("Out<'_,") {
        return match result {
            "*const RawView" => "const dflat_view**".to_owned(),
            _ => format!("{}*", in_c(result).trim_end()),
        };
    }
    if let Some(call) = inside("Callback<") {
        return match call {
            "HandlerCall" => "dflat_handler ".to_owned(),
            call if call.ends_with("Callback") => format!("{} ", handle(call)),
            "CompletionCall" => "dflat_completion ".to_owned(),
            "ExecutorCall" => "dflat_executor ".to_owned(),
            _ => format!("{} ", handle(&call.replace("Call", "Handler"))),
        };
    }
    let plain = match rust {
        "Bytes<'_>" | "Text<'_>" | "Given" => "dflat_bytes",
        "RawObject" => "dflat_object",
        "RawView" => "dflat_view",
        "RawValue<'_>" | "GivenValue" => "dflat_value",
        "RawParameter<'_>" => "dflat_parameter",
        "RawSalvage" => "dflat_salvaged",
        "RawDifference" => "dflat_difference",
        "RawEntryValue<'_>" | "GivenEntryValue" => "dflat_entry_value",
        "RawSource<'_>" => "dflat_source",
        "RawFile<'_>" => "dflat_schema_file",
        "RawTable" => "dflat_schema_table",
        "RawProblem" => "dflat_schema_problem",
        "i32" => "int32_t",
        "u32" => "uint32_t",
        "i64" => "int64_t",
        "u64" => "uint64_t",
        "usize" => "size_t",
        other => panic!("`{other}` has no type of C in this test"),
    };
    format!("{plain} ")
}

/// The arguments of a function of this crate, between its parentheses.
fn arguments_in_c(list: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut depth = 0;
    let mut current = String::new();
    for letter in list.chars().chain([',']) {
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            ',' if depth == 0 => {
                let argument = plain(&std::mem::take(&mut current));
                if let Some((name, rust)) = argument.split_once(": ") {
                    let typed = in_c(rust).replace("const const", "const");
                    arguments.push(plain(&format!("{typed}{name}")));
                }
                continue;
            }
            _ => {}
        }
        current.push(letter);
    }
    arguments
}

/// The functions that the sources export.
fn exported(folder: &Path, functions: &mut Functions) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            exported(&path, functions);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let mut rest = text.as_str();
        let mut gives_error = false;
        while let Some(at) = rest.find("fn dflat_") {
            let (before, after) = rest.split_at(at);
            if let Some(opened) = before.rfind("export") {
                gives_error = before[opened..].starts_with("export! {");
            }
            let (name, list) = after["fn ".len()..].split_once('(').unwrap();
            let ends = [") {", ") ->"].into_iter();
            let end = ends.filter_map(|end| list.find(end)).min().unwrap();
            // A function of the other forms returns its code.
            let returned = list[end..].strip_prefix(") -> ");
            let returned = returned.map_or("i32", |rest| rest.split_once(' ').unwrap().0);
            let mut arguments = vec![in_c(returned).trim().to_owned()];
            arguments.extend(arguments_in_c(&list[..end]));
            if gives_error {
                arguments.push("dflat_error**error".to_owned());
            }
            functions.insert(name.to_owned(), arguments);
            rest = &list[end..];
        }
    }
}

#[test]
fn header_declares_each_function_as_the_library_has_it() {
    for (library, count) in LIBRARIES.iter().zip([90, 6]) {
        let mut functions = Functions::new();
        exported(Path::new(library.sources), &mut functions);
        let declared = declared(library.header);
        assert!(declared.len() >= count, "{} declarations", declared.len());
        for (name, arguments) in &declared {
            assert_eq!(Some(arguments), functions.get(name), "{name}");
        }
        assert!(declared.keys().eq(functions.keys()));
    }
}

/// Each function of a header with its comment.
fn documented(header: &'static str) -> Vec<(String, &'static str)> {
    let mut functions = Vec::new();
    let mut rest = header;
    while let Some((before, after)) = rest.split_once(" */\n") {
        let (_, comment) = before.rsplit_once("/* ").unwrap();
        let statement = plain(after.split(';').next().unwrap());
        if let Some((head, _)) = statement.split_once('(')
            && let [_, name] = head.split(' ').collect::<Vec<_>>()[..]
            && name.starts_with("dflat_")
        {
            functions.push((name.to_owned(), comment));
        }
        rest = after;
    }
    functions
}

#[test]
fn each_declaration_says_whether_it_blocks_and_who_releases() {
    for library in LIBRARIES {
        check_comments(library.header);
    }
}

fn check_comments(header: &'static str) {
    let documented = documented(header);
    let declared = declared(header);
    assert!(declared.keys().all(|name| {
        let named = documented.iter().filter(|(other, _)| other == name);
        named.count() == 1
    }));
    for (name, comment) in documented {
        let Some((_, blocking)) = comment.split_once("\n * Blocks: ") else {
            panic!("{name} does not say whether it blocks");
        };
        let words = ["no", "for ", "until ", "without a transaction, for "];
        assert!(
            words.iter().any(|word| blocking.starts_with(word)),
            "{name}"
        );
        let is_lent = declared[&name]
            .get(1)
            .is_some_and(|first| first == "dflat_transaction*transaction");
        assert_eq!(
            is_lent,
            comment.ends_with("Thread: that of the handler."),
            "{name}"
        );
        let gives = |argument: &String| {
            let is_handle = argument.contains("**") && argument != "dflat_error**error";
            is_handle || argument == "dflat_view*view"
        };
        if declared[&name].iter().any(gives) {
            let owner = ["release", "belong to the result"];
            assert!(owner.iter().any(|word| comment.contains(word)), "{name}");
        }
    }
}

/// The names that `nm` lists as defined and visible to other libraries.
#[test]
fn shared_libraries_export_their_functions_and_nothing_else() {
    for library in LIBRARIES {
        let mut nm = Command::new("nm");
        nm.args(["--dynamic", "--defined-only", "--format=posix"]);
        let output = succeed(nm.arg(libraries().join(library.file)));
        let text = String::from_utf8(output.stdout).unwrap();
        let names = text
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        let names: BTreeSet<String> = names.map(str::to_owned).collect();
        let declared: BTreeSet<String> = declared(library.header).into_keys().collect();
        assert_eq!(names, declared);
    }
}
