//! The memory of a fetched result, counted by the allocator.

use std::process::Command;

use dflat::{ChangeRequest, Object, Workspace};
use dflat_bench::allocator;
use dflat_bench::scenario::insert_all;
use dflat_bench::workload::{BenchDoc, Doc};

const COUNT: usize = 10_000;

/// The maximum number of bytes that an object costs beside its payload.
const OVERHEAD_BYTES_MAX: usize = 24;

fn filled() -> (tempfile::TempDir, Workspace) {
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path().join("memory.db")).unwrap();
    insert_all::<BenchDoc>(&workspace, COUNT).wait().unwrap();
    (directory, workspace)
}

fn payload_bytes(objects: &[BenchDoc]) -> usize {
    objects
        .iter()
        .map(|object| object.handle().payload().len())
        .sum()
}

fn assert_within(held_bytes: isize, objects: &[BenchDoc]) {
    let payload_bytes = payload_bytes(objects);
    let allowed = payload_bytes + OVERHEAD_BYTES_MAX * objects.len();
    let held = usize::try_from(held_bytes).unwrap();
    assert!(
        held >= payload_bytes,
        "{held} bytes are fewer than the payloads: not counted"
    );
    assert!(held <= allowed, "{held} bytes held, {allowed} allowed");
}

#[test]
fn a_result_costs_its_payloads_and_24_bytes_an_object() {
    let (_directory, workspace) = filled();
    // The first fetch opens a connection and prepares a statement, which stay.
    drop(workspace.fetch::<BenchDoc>().all().unwrap());
    let (objects, usage) = allocator::counted_here(|| workspace.fetch::<BenchDoc>().all().unwrap());
    assert_eq!(objects.len(), COUNT);
    assert_within(usage.held_bytes, &objects);
}

#[test]
fn a_sorted_result_costs_no_more() {
    let (_directory, workspace) = filled();
    let fetch = || {
        let order = BenchDoc::PRIORITY.descending();
        workspace.fetch::<BenchDoc>().order_by(order).all().unwrap()
    };
    drop(fetch());
    let (objects, usage) = allocator::counted_here(fetch);
    assert!(objects.is_sorted_by(|a, b| a.priority() >= b.priority()));
    assert_within(usage.held_bytes, &objects);
}

#[test]
fn a_dropped_result_holds_nothing() {
    let (_directory, workspace) = filled();
    drop(workspace.fetch::<BenchDoc>().all().unwrap());
    let ((), usage) = allocator::counted_here(|| {
        let objects = workspace.fetch::<BenchDoc>().all().unwrap();
        assert_eq!(objects.len(), COUNT);
    });
    assert_eq!(usage.held_bytes, 0);
}

#[test]
fn a_large_insertion_holds_one_chunk_of_objects_at_a_time() {
    const CHUNK_BYTES: isize = 64 * 1024;
    let directory = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(directory.path().join("memory.db")).unwrap();
    let insert = |some: std::ops::Range<usize>| {
        let inserted = workspace.perform_changes_blocking([BenchDoc::TABLE], |tx| {
            for i in some {
                tx.submit(ChangeRequest::<BenchDoc>::creation(BenchDoc::data(
                    i, COUNT,
                )))?;
            }
            Ok(())
        });
        inserted.unwrap();
    };
    // The first insertion opens connections and prepares statements, which stay.
    insert(0..1);
    let ((), usage) = allocator::counted_here(|| insert(1..COUNT));
    // One chunk, with room for the list of the first rows, and less than two chunks.
    assert!(
        (CHUNK_BYTES..2 * CHUNK_BYTES).contains(&usage.peak_bytes),
        "{usage:?}"
    );
}

// Promise: storage-format#S32
#[test]
fn change_records_of_a_large_insertion_need_memory_for_one_part() {
    let peak = |count: usize| {
        let directory = tempfile::tempdir().unwrap();
        let builder = Workspace::builder(directory.path().join("memory.db"));
        let workspace = builder.change_log(true).open().unwrap();
        let insert = |some: std::ops::Range<usize>| {
            let inserted = workspace.perform_changes_blocking([BenchDoc::TABLE], |tx| {
                for i in some {
                    let data = BenchDoc::data(i, count);
                    tx.submit(ChangeRequest::<BenchDoc>::creation(data))?;
                }
                Ok(())
            });
            inserted.unwrap();
        };
        // The first insertion opens connections and prepares statements, which stay.
        insert(0..1);
        let ((), usage) = allocator::counted_here(|| insert(1..count));
        usage.peak_bytes
    };
    let (few, many) = (peak(4 * COUNT), peak(8 * COUNT));
    // A part has 256 KiB and one more row, in a buffer that doubles.
    assert!((256 << 10..1 << 20).contains(&few), "{few} bytes");
    assert!(many < few + (128 << 10), "{many} bytes, {few} for fewer");
}

// Promise: live-queries#L41
#[test]
fn an_idle_subscription_costs_less_than_500_bytes() {
    // A separate process, because the bytes of all of its threads are counted.
    let mut program = Command::new(env!("CARGO_BIN_EXE_dflat-bench"));
    let output = program.arg("--idle").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let bytes_of = |line: &str| -> Option<usize> { line.split_whitespace().nth(1)?.parse().ok() };
    for line in text.lines() {
        let bytes = bytes_of(line).unwrap();
        assert!((100..500).contains(&bytes), "{line}");
    }
    assert_eq!(text.lines().count(), 7);
}

/// The figures of the guide on performance.
#[test]
fn detached_object_does_not_hold_the_result_that_it_came_from() {
    let (_directory, workspace) = filled();
    drop(workspace.fetch::<BenchDoc>().all().unwrap());
    let held = |detach: bool| {
        let (kept, usage) = allocator::counted_here(|| {
            let all = workspace.fetch::<BenchDoc>().all().unwrap();
            let kept = all[COUNT / 2].clone();
            if detach { kept.detach() } else { kept }
        });
        assert_eq!(kept.title(), format!("title{}", COUNT / 2));
        usage.held_bytes
    };
    let (shared, detached) = (held(false), held(true));
    assert!(detached < 300, "{detached}");
    assert!(shared > 50 * detached, "{shared}");
}
