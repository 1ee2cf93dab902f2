//! The suggestions that follow from the figures of a report, in words.

use std::fmt;

use super::call::{FileKind, Operation};
use super::report::{IndexReport, IoReport};

/// Advice, with the figures on which it is based.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    text: String,
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A rule suggests nothing below this number of events, because every program starts with a few.
const COUNT_MIN: u64 = 16;

type Rule = fn(&IoReport) -> Option<String>;

/// The rules, most important first.
const RULES: [Rule; 8] = [
    failed_calls,
    synced_commits,
    small_transactions,
    pinned_log,
    unused_space,
    reopened,
    read_again,
    idle_index,
];

impl IoReport {
    /// Advice that follows from the figures, the most important first.
    #[must_use]
    pub fn suggestions(&self) -> Vec<Suggestion> {
        let texts = RULES.iter().filter_map(|rule| rule(self));
        texts.map(|text| Suggestion { text }).collect()
    }
}

fn failed_calls(report: &IoReport) -> Option<String> {
    // These are not errors: a lock may be held by another connection, and a file may be missing.
    const ANSWERS: [Operation; 3] = [Operation::Lock, Operation::Access, Operation::Open];
    report.files.iter().find_map(|file| {
        let failed = file.calls.iter().filter(|calls| calls.failed > 0);
        let failed = failed.filter(|calls| !ANSWERS.contains(&calls.operation));
        let calls = failed.max_by_key(|calls| calls.failed)?;
        Some(format!(
            "{} of {} calls of {} on the {} file failed: check the device and its free space",
            calls.failed, calls.count, calls.operation, file.kind
        ))
    })
}

fn synced_commits(report: &IoReport) -> Option<String> {
    let syncs = report.count_of(FileKind::Log, Operation::Flush);
    let is_each = syncs >= COUNT_MIN && syncs * 2 > report.commits;
    let is_small = report.changes < report.commits * 4;
    (is_each && is_small).then(|| {
        format!(
            "{syncs} syncs for {} commits of {} changes: make more changes in one transaction, or \
             use Durability::Normal",
            report.commits, report.changes
        )
    })
}

fn small_transactions(report: &IoReport) -> Option<String> {
    let written = report.bytes(Operation::Write);
    let is_small = report.commits >= COUNT_MIN && report.changes < report.commits * 4;
    // An index writes a page for each change, however large the transaction.
    let is_costly = written > report.logical_bytes.saturating_mul(8);
    (is_small && is_costly).then(|| {
        format!(
            "{} commits of {} changes wrote {written} bytes for {} bytes of objects: make more \
             changes in one transaction",
            report.commits, report.changes, report.logical_bytes
        )
    })
}

fn pinned_log(report: &IoReport) -> Option<String> {
    // A reader that ends soon does no harm.
    const COMMITS_MIN: u64 = 4;
    (report.late_commits >= COMMITS_MIN).then(|| {
        format!(
            "the write-ahead log is {} MiB long, and a reader kept it from starting again during {} \
             commits: a snapshot is held for long, or another program reads",
            report.log_bytes >> 20,
            report.late_commits
        )
    })
}

fn unused_space(report: &IoReport) -> Option<String> {
    // Less than 1 MiB, for pages of 4 KiB, is not worth a call.
    const PAGES_MIN: u64 = 256;
    let space = report.space?;
    (space.free_pages >= PAGES_MIN && space.free_percent() > 20).then(|| {
        format!(
            "{} of {} pages are unused: reclaim() gives them back, or Reclaim::Idle does, after a \
             compact() if need be",
            space.free_pages, space.pages
        )
    })
}

fn reopened(report: &IoReport) -> Option<String> {
    // A program may open a file to check it, to back it up and to use it.
    const OPENS_MIN: u64 = 4;
    (report.opens_before >= OPENS_MIN).then(|| {
        format!(
            "the file was opened {} times before: keep one workspace open, and share it",
            report.opens_before
        )
    })
}

fn read_again(report: &IoReport) -> Option<String> {
    // The pages of smaller files are soon read.
    const BYTES_MIN: u64 = 2 << 20;
    const TIMES_MIN: u64 = 4;
    let read: u64 = [FileKind::Main, FileKind::Log]
        .into_iter()
        .filter_map(|kind| report.files.iter().find(|file| file.kind == kind))
        .filter_map(|file| file.calls(Operation::Read))
        .map(|calls| calls.bytes)
        .sum();
    // Pages in the log may be in the main file too, so the two lengths are not added.
    let there = report.main_bytes.max(report.log_bytes);
    (there >= BYTES_MIN && read > there.saturating_mul(TIMES_MIN)).then(|| {
        format!(
            "{} MiB were read from files of {} MiB, each page {} times: index the fields that \
             queries ask for, fetch once and subscribe, or raise page_cache_bytes",
            read >> 20,
            there >> 20,
            read / there.max(1)
        )
    })
}

fn idle_index(report: &IoReport) -> Option<String> {
    const WRITES_MIN: u64 = 64;
    let idle =
        |index: &&IndexReport| index.lookups == 0 && !index.unique && index.writes >= WRITES_MIN;
    let index = report
        .indexes
        .iter()
        .filter(idle)
        .max_by_key(|index| index.writes)?;
    Some(format!(
        "the index on {}.{} was written {} times and never looked up: it may be unnecessary",
        index.table, index.index, index.writes
    ))
}
