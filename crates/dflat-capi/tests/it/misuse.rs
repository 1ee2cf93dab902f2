//! Each function is called with NULL for all that it takes, and with handles of another kind.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::programs::{INCLUDE, command_of, has_sanitizer, is_missing, libraries, succeed};
use crate::symbols::{LIBRARIES, declared, without_comments};

/// Functions other than releases that accept NULL for all that they take.
const ACCEPTING: [&str; 4] = [
    "dflat_error_code",
    "dflat_job_run",
    "dflat_object_retain",
    "dflat_abi_version",
];

/// The types whose content the header does not show.
fn opaque(header: &str) -> BTreeSet<&str> {
    let lines = header.lines();
    let names = lines.filter_map(|line| {
        let rest = line.strip_prefix("typedef struct ")?.strip_suffix(';')?;
        let (name, other) = rest.split_once(' ')?;
        (name == other).then_some(name)
    });
    names.collect()
}

/// NULL or 0 of the type of an argument.
fn nothing(argument: &str) -> String {
    let (kind, _) = argument.rsplit_once([' ', '*']).unwrap();
    match argument {
        "dflat_error**error" => "&error".to_owned(),
        _ if argument.contains('*') => "NULL".to_owned(),
        _ if kind.starts_with("dflat_") => format!("({kind}){{0}}"),
        _ => "0".to_owned(),
    }
}

/// The handle `other` for an argument that is a handle, and `place` for a result.
fn of_another_kind(argument: &str, opaque: &BTreeSet<&str>) -> String {
    let (kind, _) = argument.rsplit_once([' ', '*']).unwrap();
    let plain = kind.trim_start_matches("const ");
    match argument {
        "dflat_error**error" => "&error".to_owned(),
        _ if !argument.contains('*') => nothing(argument),
        _ if opaque.contains(plain) => "other".to_owned(),
        _ if argument.starts_with("const ") && !argument.contains("**") => "NULL".to_owned(),
        _ => "place".to_owned(),
    }
}

/// The place `left` for an argument that is one for a handle.
fn place_of_a_handle(argument: &str) -> String {
    match argument.split_once("**") {
        Some((kind, name)) if kind.starts_with("dflat_") && name != "error" => {
            "(void *)&left".to_owned()
        }
        _ => nothing(argument),
    }
}

/// A call that fails, with a place for a handle, if the function makes one.
fn call_with_a_place(name: &str, arguments: &[String]) -> String {
    let list = arguments.iter().map(|other| place_of_a_handle(other));
    let list = list.collect::<Vec<_>>().join(", ");
    match list.contains("left") {
        true => format!("    left = place;\n    failed(\"{name}\", {name}({list}));\n"),
        false => String::new(),
    }
}

/// The functions of the program.
const FUNCTIONS: &str = "\
static void expect(const char *name, dflat_code returned, dflat_code expected, int has_error) {
    dflat_code given = dflat_error_code(error);
    if (returned != expected || (has_error && given != expected)) {
        fprintf(stderr, \"%s: %d and not %d, with an error of %d\\n\", name, (int)returned,
                (int)expected, (int)given);
        exit(1);
    }
    dflat_error_release(error);
    error = NULL;
}

/* A function that fails writes NULL to the place of its result. */
static void failed(const char *name, dflat_code returned) {
    if (returned != DFLAT_OK && left != NULL) {
        fprintf(stderr, \"%s: it left the place of its result as it was\\n\", name);
        exit(1);
    }
    dflat_error_release(error);
    error = NULL;
}
";

/// A program that makes all calls.
fn program(header: &str) -> String {
    let opaque = opaque(header);
    let mut calls = String::new();
    for (name, arguments) in declared(&without_comments(header)) {
        let arguments = &arguments[1..];
        let list = arguments.iter().map(|argument| nothing(argument));
        let list = list.collect::<Vec<_>>().join(", ");
        if name == "dflat_abi_version" {
            continue;
        }
        let accepts = ACCEPTING.contains(&name.as_str()) || name.ends_with("_release");
        let expected = if accepts { 0 } else { 21 };
        let has_error = i32::from(list.ends_with("&error"));
        calls += &format!("    expect(\"{name}\", {name}({list}), {expected}, {has_error});\n");
        calls += &call_with_a_place(&name, arguments);
        let list = arguments
            .iter()
            .map(|other| of_another_kind(other, &opaque));
        let list: Vec<String> = list.collect();
        if list.iter().any(|argument| argument == "other") {
            let list = list.join(", ");
            // The handle is that of options, and for functions on options that of an error.
            let on_options = arguments
                .iter()
                .any(|other| other.contains("dflat_options*"));
            let other = if on_options { "made" } else { "options" };
            calls += &format!("    other = {other};\n");
            calls += &format!("    expect(\"{name}\", {name}({list}), 21, {has_error});\n");
        }
    }
    format!(
        "#include <dflat.h>
#include <stdio.h>
#include <stdlib.h>

static dflat_error *error;
static uint64_t room[32];
static void *place = room, *left;

{FUNCTIONS}
int main(void) {{
    dflat_options *options;
    dflat_error *made;
    void *other;
    if (dflat_options_new(&options, NULL) != DFLAT_OK ||
        dflat_error_new(1, (dflat_text){{0}}, &made, NULL) != DFLAT_OK) {{
        return 1;
    }}
{calls}    dflat_options_release(options);
    dflat_error_release(made);
    return 0;
}}
"
    )
}

// Promise: c-interface#I2
#[test]
fn each_function_refuses_null_and_handles_of_another_kind() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = program(LIBRARIES[0].header);
    let calls = text.matches("    expect(\"").count();
    assert!(calls > 150, "{calls} calls");
    fs::write(folder.join("misuse.c"), text).unwrap();
    let compile = |name: &str, flags: &[&str]| {
        let libraries = libraries();
        let libraries = libraries.display();
        let mut cc = Command::new("cc");
        cc.args([
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-pedantic",
            "-Werror",
            "misuse.c",
            "-o",
            name,
        ]);
        cc.args(flags).arg(format!("-I{INCLUDE}"));
        cc.args([format!("-L{libraries}"), format!("-Wl,-rpath,{libraries}")]);
        succeed(cc.arg("-ldflat_capi").current_dir(folder));
        succeed(command_of(folder.join(name)).current_dir(folder));
    };
    compile("misuse", &[]);
    let is_there = has_sanitizer(folder, "address,undefined");
    if !is_missing("the sanitizer", "DFLAT_REQUIRE_SANITIZER", is_there) {
        let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
        compile("sanitized", &flags);
    }
}
