//! Any text as a condition, an order and a list of fields.
#![no_main]

use dflat_testkit::fuzz::condition::check_text;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| check_text(text));
