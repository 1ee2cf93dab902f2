//! What the compiler must reject, with the message a user reads. `TRYBUILD=overwrite` blesses.

#[test]
fn mistakes_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
