//! The memory that queries and transactions free stays with the process.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use std::hint::black_box;
use std::process::Command;

use dflat_sqlite::{SqliteBackend, SqliteOptions};

/// The environment variable that makes `repeating_program` run, with or without a backend.
const BACKEND: &str = "DFLAT_FREED_MEMORY_BACKEND";

/// The environment variable with the path of the file for its result.
const RESULT: &str = "DFLAT_FREED_MEMORY_RESULT";

/// The blocks that a round allocates and frees: about as large as pages in SQLite's cache, and
/// 8.8 MB together.
const BLOCKS: usize = 2_000;
const BLOCK_BYTES: usize = 4_400;

/// The page faults of this thread so far that needed no read from a disk.
fn page_faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let after_name = stat.rsplit(')').next().unwrap();
    after_name.split(' ').nth(8).unwrap().parse().unwrap()
}

fn allocate_and_free() {
    let blocks: Vec<Vec<u8>> = (0..BLOCKS).map(|_| vec![1; BLOCK_BYTES]).collect();
    black_box(&blocks);
}

/// Not a test by itself: writes the page faults of some rounds after the first one to a file.
#[test]
fn repeating_program() {
    let Ok(with_backend) = std::env::var(BACKEND) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let backend = (with_backend == "yes")
        .then(|| SqliteBackend::open(directory.path().join("a.db"), SqliteOptions::default()));
    allocate_and_free();
    let before = page_faults();
    (0..10).for_each(|_| allocate_and_free());
    let faults = (page_faults() - before).to_string();
    std::fs::write(std::env::var_os(RESULT).unwrap(), faults).unwrap();
    drop(backend.transpose().unwrap());
}

fn page_faults_of_program(with_backend: &str) -> u64 {
    let directory = tempfile::tempdir().unwrap();
    let result = directory.path().join("faults");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "freed_memory::repeating_program"])
        .env(BACKEND, with_backend)
        .env(RESULT, &result)
        .env_remove("MALLOC_TRIM_THRESHOLD_")
        .env_remove("MALLOC_MMAP_THRESHOLD_")
        .env_remove("MALLOC_TOP_PAD_")
        .env_remove("GLIBC_TUNABLES")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    std::fs::read_to_string(result).unwrap().parse().unwrap()
}

#[test]
fn memory_that_was_freed_is_used_again_without_page_faults() {
    let without = page_faults_of_program("no");
    let with = page_faults_of_program("yes");
    // Another allocator, such as that of a sanitizer, keeps freed memory in any case.
    let allocator_is_of_c_library = without > BLOCKS as u64;
    assert!(
        with < 100 || !allocator_is_of_c_library,
        "{with} page faults with a backend, {without} without one"
    );
}
