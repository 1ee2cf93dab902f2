//! Commits, tables and triggers of other programs in the same file.

mod assigned_keys;
mod auto_keys;
mod counted_reads;
mod elsewhere;
mod first_openings;
mod following;
mod foreign;
mod foreign_definitions;
mod foreign_indexes;
mod histories;
mod hot_journal;
mod idle_follower;
#[cfg(target_os = "linux")]
mod idle_wake_ups;
mod lone_process;
mod looked_up;
mod made_anew;
mod missing_keys;
mod no_thread;
mod noted_rows;
mod one_follows;
mod random_programs;
mod retrying;
mod shared_dictionary;
mod subscribing;
mod suspension;
pub(crate) mod two_engines;
mod upkeep_elsewhere;
mod upserts;
