//! The headers compile as C and C++.

use std::process::Command;

use crate::programs::{INCLUDE, SCHEMA_INCLUDE, succeed};

#[test]
fn headers_compile_alone_as_c99_and_as_cpp() {
    let headers = [
        format!("{INCLUDE}/dflat.h"),
        format!("{SCHEMA_INCLUDE}/dflat_schema.h"),
    ];
    let languages = [
        ("c", "c99"),
        ("c", "c11"),
        ("c++", "c++11"),
        ("c++", "c++17"),
    ];
    for header in &headers {
        for (language, standard) in languages {
            let mut cc = Command::new("cc");
            cc.args(["-x", language, &format!("-std={standard}"), "-fsyntax-only"]);
            cc.args(["-Wall", "-Wextra", "-pedantic", "-Werror"]);
            succeed(cc.arg(format!("-I{INCLUDE}")).arg(header));
        }
    }
}
