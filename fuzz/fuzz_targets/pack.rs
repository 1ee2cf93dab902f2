//! Any bytes as damage of a pack or of a layer, and as a file of either kind.
#![no_main]

use dflat_testkit::fuzz::pack::check_bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| check_bytes(bytes));
