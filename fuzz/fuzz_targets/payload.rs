//! Any bytes as the payload of an object.
#![no_main]

use dflat_testkit::fuzz::payload::check_bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| check_bytes(bytes));
