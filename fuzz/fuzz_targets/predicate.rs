//! Random questions, from the seed that the bytes are.
#![no_main]

use dflat_testkit::fuzz::predicate::run_seed;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|seed: u64| run_seed(seed));
