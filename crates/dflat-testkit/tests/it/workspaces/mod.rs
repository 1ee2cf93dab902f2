//! Workspaces that share a file, their readers, and their telemetry.

mod readers;
mod sharing;
mod telemetry;
