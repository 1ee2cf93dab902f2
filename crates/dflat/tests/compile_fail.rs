//! Programs that must not compile, with the message that the user reads. `TRYBUILD=overwrite`
//! writes the messages anew. Programs that must compile are tests in `it`: with them, each
//! dependency would be built here once more, and not only checked.

#[test]
fn mistakes_do_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}

/// A build of the whole workspace has the feature, because another package needs it.
#[cfg(not(feature = "uuid"))]
#[test]
fn keys_that_are_uuids_name_the_feature_that_they_need() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/without_uuid/*.rs");
}
