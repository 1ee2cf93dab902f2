//! Any bytes as a file.
#![no_main]

use dflat_testkit::fuzz::file::check_bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| check_bytes(bytes));
