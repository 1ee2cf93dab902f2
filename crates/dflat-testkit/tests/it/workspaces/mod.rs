//! Workspaces that share a file, their readers, and their telemetry.

mod ending_threads;
mod forking;
mod readers;
mod sharing;
mod telemetry;
