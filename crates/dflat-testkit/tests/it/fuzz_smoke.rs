//! A few seeds of each fuzzer.

use dflat_testkit::fuzz::{file, payload, predicate, run, schema, twin};

#[test]
fn every_way_to_answer_a_question_agrees() {
    run("predicate", 40, predicate::run_seed);
}

#[test]
fn damaged_payloads_are_refused_or_read_the_same() {
    run("payload", 200, payload::run_seed);
}

#[test]
fn damaged_files_give_values_or_errors() {
    run("file", 40, file::run_seed);
}

#[test]
fn damaged_schemas_compile_or_are_refused_with_a_reason() {
    run("schema", 20, schema::run_seed);
}

#[test]
fn fields_with_an_index_answer_as_their_twins_without() {
    run("twin", 20, twin::run_seed);
}
