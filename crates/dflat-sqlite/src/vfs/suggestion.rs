//! What the figures of a report suggest, in words.

use std::fmt;

use super::call::{FileKind, Operation};
use super::report::IoReport;

/// Advice, with the figures it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    text: String,
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Below this number of events nothing is suggested: any program starts with some.
const COUNT_MIN: u64 = 16;

type Rule = fn(&IoReport) -> Option<String>;

/// The rules, most important first.
const RULES: [Rule; 3] = [failed_calls, synced_commits, small_transactions];

pub(super) fn suggest(report: &IoReport) -> Vec<Suggestion> {
    let texts = RULES.iter().filter_map(|rule| rule(report));
    texts.map(|text| Suggestion { text }).collect()
}

fn failed_calls(report: &IoReport) -> Option<String> {
    // A lock that is taken elsewhere and a missing file are answers.
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
    // An index takes a page for each change, whatever the transaction.
    let is_costly = written > report.logical_bytes.saturating_mul(8);
    (is_small && is_costly).then(|| {
        format!(
            "{} commits of {} changes wrote {written} bytes for {} bytes of objects: make more \
             changes in one transaction",
            report.commits, report.changes, report.logical_bytes
        )
    })
}
