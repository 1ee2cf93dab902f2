//! Programs that must not compile, with the message that the user reads; and programs that must.
//! `TRYBUILD=overwrite` writes the messages anew.

#[test]
fn mistakes_do_not_compile_and_these_programs_do() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    cases.pass("tests/ui/pass/*.rs");
}

/// A build of the whole workspace has the feature, because another package needs it.
#[cfg(not(feature = "uuid"))]
#[test]
fn keys_that_are_uuids_name_the_feature_that_they_need() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/without_uuid/*.rs");
}
