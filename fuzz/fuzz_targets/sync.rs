//! Any bytes as the answers and the requests of a peer that exchanges commits.
#![no_main]

use dflat_testkit::fuzz::foreign::sync::check_bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| check_bytes(bytes));
