//! The header compiles as C and C++.

use std::process::Command;

use crate::programs::succeed;

const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include/dflat.h");

#[test]
fn header_compiles_alone_as_c99_and_as_cpp() {
    for (language, standard) in [
        ("c", "c99"),
        ("c", "c11"),
        ("c++", "c++11"),
        ("c++", "c++17"),
    ] {
        let mut cc = Command::new("cc");
        cc.args(["-x", language, &format!("-std={standard}"), "-fsyntax-only"]);
        cc.args(["-Wall", "-Wextra", "-pedantic", "-Werror", HEADER]);
        succeed(&mut cc);
    }
}
