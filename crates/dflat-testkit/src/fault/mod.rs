//! Faults of the device, injected; losses of power, simulated.
//!
//! # What must be survived
//!
//! *Any call fails* (EIO, ENOSPC, a lock that can't be taken), once or from that call on. The
//! transaction that makes the call returns an error, keeps nothing, and completes. No thread panics
//! or waits for ever. A read returns an error or the right result. When the device works again, the
//! same workspace goes on. The file, opened again, has every acknowledged commit and no other
//! change, with one exception: if a COMMIT itself failed, nothing was committed after it, and the
//! log could not be changed either, then that transaction may be in the file, as a whole.
//!
//! *The process ends*: every acknowledged commit is in the file, with any durability.
//!
//! *The power is lost*, and with it any part of the data that was not synced, torn between sectors.
//! With `Durability::Full` the file has every acknowledged commit; with `Durability::Normal` it has
//! a prefix of the commits, each of them whole. Indexes agree with their objects. The file can be
//! opened and written.
//!
//! *Both*: a call fails, and the power is lost later. The model assumes that a failed sync has
//! synced nothing, and that a later sync can succeed.
//!
//! *Not survived*: a device that reports a sync or a write that it did not make, and bytes that
//! change by themselves. With these faults the harness tests itself: it must notice them. Also not
//! survived: an operating system that drops the data of a failed sync and reports the next sync as
//! successful, as some do.
//!
//! # How a test uses it
//!
//! ```no_run
//! use dflat_testkit::fault::{self, Action, Failure, Operation};
//!
//! // Counts the calls of the workload, then runs it once for each, which fails.
//! fault::each(&[Operation::Write], &[Action::Fail(Failure::Io)], |device| {
//!     if let Ok(workspace) = device.open() {
//!         // Do something that may fail; then:
//!         let _ = workspace.shutdown();
//!     }
//!     device.heal();
//!     // Open the file again, and look.
//!     Ok(())
//! });
//! ```
//!
//! Cases are deterministic. A loss of power that loses an acknowledged commit is added as a line to
//! `tests/fault_seeds.txt`, and is run first in later runs. Failing calls need no such list,
//! because all of them are run each time.
//!
//! # Which pass meets which calls
//!
//! Each call of the kind fails once. With `some`, a few calls, evenly spread, fail in the usual
//! tests, and every call fails if the environment has `DFLAT_FAULTS_ALL`, as `cargo xtask long
//! --only calls` sets it. *Look* means reads, and calls for a file's length or existence.
//!
//! | Work | write, sync, truncate | look | open, map | lock | delete |
//! |---|---|---|---|---|---|
//! | insert, update, delete, index, dictionary, live query | W, S | R | O | O | S |
//! | the same, from the k-th call on | L, H | L, H | L, H | L, H | L |
//! | transaction larger than the cache | some: T | some: T | - | - | - |
//! | updates in place | some: P | some: P | - | some: P | - |
//! | dictionary, written behind | some: D | some: D | some: D | some: D | - |
//! | backfill | B | B | B | B | - |
//! | checkpoint | some: C | some: C | some: C | some: C | - |
//! | vacuum, check, repair, suspend, backup | some: M | some: M | some: M | some: M | some: M |
//! | commits with change records, followed | some: N | some: N | - | some: N | - |
//! | the copy of a backup | K | K | K | K | K |
//!
//! The letters are these tests:
//!
//! | Letter | Test |
//! |---|---|
//! | W | `failed_write_loses_no_commit` and `short_write_loses_no_commit` in `fault_calls.rs` |
//! | S | `failed_sync_truncation_or_deletion_loses_no_commit` in `fault_calls.rs` |
//! | R | `failed_read_loses_no_commit` in `fault_calls.rs` |
//! | O | `failed_open_or_lock_loses_no_commit` in `fault_calls.rs` |
//! | L | `lasting_failure_loses_no_commit` in `fault_calls.rs` |
//! | H | `workspace_goes_on_when_the_device_works_again` in `fault_calls.rs` |
//! | T | `failed_write_inside_a_transaction_loses_no_commit` in `fault_calls.rs` |
//! | P | `failed_write_in_place_loses_no_commit` in `fault_calls.rs` |
//! | C | `failed_checkpoint_loses_no_commit` in `fault_calls.rs` |
//! | M | `failed_maintenance_loses_no_commit` in `fault_calls.rs`, which also closes to one file |
//! | D | `values_survive_each_call_that_fails` in `dictionary.rs` |
//! | B | `failed_call_of_index_building_loses_no_commit` in `fault_building.rs` |
//! | N | `failed_call_of_a_commit_with_records_loses_no_commit_and_no_delivery` in `records.rs` |
//! | K | `backup_is_complete_or_absent` in `backup.rs` |
//!
//! `-`: this work makes no call that the work of the first row does not make.
//!
//! Background threads do not make the same calls in each run. So a fault that no call met is tried
//! again, and the test fails if too many faults met no call. EIO is injected into all calls, ENOSPC
//! into those that may need space: writes, syncs, truncations, opens and maps. Locks also fail with
//! BUSY. `full_disk_loses_no_commit` in `disk.rs` fills a real disk.

mod building;
mod device;
mod ledger;
mod passes;
mod power;

pub use building::{check_building, prepare_building, run_building};
pub use device::Device;
pub use dflat_sqlite::faults::{Action, Failure, Fault, PowerCut};
pub use dflat_sqlite::{Durability, FileKind, Operation};
pub use ledger::{Ledger, check, is_maintained, run_maintenance, run_workload};
pub use passes::{Outcome, Site, count, each, each_checkpointing, each_lasting, each_sampled};
pub use power::{Image, cut_power, cut_power_briefly};
