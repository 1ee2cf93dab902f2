//! Programs that must not compile, with the message that the user reads. `TRYBUILD=overwrite`
//! writes the messages anew. Programs that must compile are tests in `it`: with them, each
//! dependency would be built here once more, and not only checked.

#[test]
fn mistakes_do_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
