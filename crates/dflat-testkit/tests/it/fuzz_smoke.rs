//! Some seeds of each fuzzer, thousands of damaged files among them, and the inputs that
//! coverage-guided fuzzers found.

use dflat_testkit::archive;
use dflat_testkit::fuzz::foreign::{log, record, sync};
use dflat_testkit::fuzz::{
    condition, file, pack, payload, predicate, repair, run, schema, shape, tables, twin,
};

#[test]
fn every_way_to_answer_a_question_agrees() {
    run("predicate", 40, predicate::run_seed);
}

#[test]
fn conditions_as_text_answer_like_typed_ones() {
    run("condition", 60, condition::run_seed);
}

#[test]
fn damaged_text_is_a_condition_or_is_refused_at_a_place() {
    run("condition-text", 300, condition::run_damaged_seed);
}

// Promise: durability#D58
#[test]
fn damaged_payloads_are_refused_or_read_the_same() {
    run("payload", 200, payload::run_seed);
}

#[test]
fn damaged_packs_give_values_or_errors_and_no_wrong_object() {
    run("pack", 100, pack::run_seed);
}

#[test]
fn damaged_records_of_changes_are_refused_or_read() {
    run("record", 200, record::run_seed);
}

#[test]
fn damaged_exchanges_are_refused_or_give_whole_commits() {
    run("sync", 40, sync::run_seed);
}

// Promise: durability#D58
#[test]
fn damaged_files_give_values_or_errors() {
    run("file", 200, file::run_seed);
}

// Promise: durability#D68
#[test]
fn tables_changed_by_sql_give_values_or_errors() {
    run("tables", 40, tables::run_seed);
}

// Promise: durability#D59
#[test]
fn log_of_another_file_gives_the_rows_that_sqlite_reads_or_errors() {
    run("foreign-log", 40, log::run_seed);
}

// Promise: durability#D60, durability#D70, storage-format#S13
#[test]
fn damaged_files_are_repaired_or_saved() {
    run("repair", 1200, repair::run_seed);
}

#[test]
fn damaged_schemas_compile_or_are_refused_with_a_reason() {
    run("schema", 20, schema::run_seed);
}

#[test]
fn indexed_fields_answer_like_unindexed_ones() {
    run("twin", 20, twin::run_seed);
}

#[test]
fn objects_of_any_schema_are_found_whatever_the_plan() {
    run("shape", 30, shape::run_seed);
}

#[test]
fn objects_of_any_schema_are_found_in_packs() {
    run("packed", 40, shape::run_packed_seed);
}

#[test]
fn objects_are_found_however_the_schema_has_changed() {
    run("reopening", 8, shape::run_reopening_seed);
}

/// Gives each input in the archive of a target of `cargo fuzz` to its fuzzer.
fn replay(target: &str, check: fn(&[u8])) {
    let inputs = archive::read(target).unwrap();
    assert!(!inputs.is_empty());
    for input in inputs {
        // The output is shown if the test fails.
        eprintln!("{target}: {}", input.name);
        check(&input.bytes);
    }
}

/// As in `cargo fuzz`: the text ends before the first byte that is not UTF-8.
fn text_of(bytes: &[u8]) -> &str {
    let end = str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    str::from_utf8(&bytes[..end]).unwrap()
}

#[test]
fn kept_fuzz_inputs_never_panic() {
    replay("payload", payload::check_bytes);
    replay("file", file::check_bytes);
    replay("pack", pack::check_bytes);
    replay("record", record::check_bytes);
    replay("schema", |bytes| schema::check_text(text_of(bytes)));
    replay("condition", |bytes| condition::check_text(text_of(bytes)));
}
