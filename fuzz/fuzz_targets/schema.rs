//! Any text as a schema.
#![no_main]

use dflat_testkit::fuzz::schema::check_text;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| check_text(text));
