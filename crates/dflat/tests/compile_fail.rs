//! Programs that must not compile, with the message that the user reads.
//! `TRYBUILD=overwrite` writes the messages anew.

#[test]
fn mistakes_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
