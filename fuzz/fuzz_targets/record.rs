//! Any bytes as a record of changes, and as two payloads with a difference.
#![no_main]

use dflat_testkit::fuzz::foreign::record::check_bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| check_bytes(bytes));
