use super::*;

const LIMIT: u64 = 256 << 10;

/// A log of this many pages, none of which is in the file.
fn log(pages: u32) -> LogExtent {
    LogExtent {
        pages,
        copied: 0,
        page_bytes: 4096,
    }
}

/// The outcome of a checkpoint that transactions kept from making a log of this many pages start
/// again.
fn deferred(pages: u32) -> CheckpointOutcome {
    CheckpointOutcome {
        is_deferred: true,
        pages,
        bytes: log(pages).bytes(),
        ..CheckpointOutcome::default()
    }
}

// Promise: durability#D80
#[test]
fn deferred_checkpoint_is_overdue_when_the_log_has_grown_by_a_quarter_of_its_limit() {
    let limit = LogLimit::new(LIMIT);
    assert_eq!(limit.note_commit(log(70)), Some(Urgency::Long));
    let retry = limit.retry_of(&deferred(70));
    assert!(retry.is_some_and(|at| at > Instant::now()), "after a pause");
    limit.note_outcome(Path::new("a.db"), Some(&deferred(70)), || true);
    assert_eq!(limit.note_commit(log(80)), None);
    // A page of the log has some bytes more than one of the file.
    assert_eq!(limit.note_commit(log(87)), Some(Urgency::Overdue));
    limit.ask(Urgency::Overdue, |_| true);
    assert_eq!(limit.pause_end(), None);
    assert_eq!(limit.take_urgency(), Urgency::Overdue);
    assert_eq!(limit.take_urgency(), Urgency::Usual);
}

// Promise: durability#D80
#[test]
fn deferred_checkpoint_is_overdue_at_once_if_transactions_are_held_back() {
    let limit = LogLimit::new(LIMIT);
    assert_eq!(limit.note_commit(log(64)), Some(Urgency::Long));
    // During the checkpoint, the log grows by half of its limit.
    assert_eq!(limit.note_commit(log(97)), Some(Urgency::Long));
    let retry = limit.retry_of(&deferred(97));
    assert!(
        retry.is_some_and(|at| at <= Instant::now()),
        "without a pause"
    );
    limit.note_outcome(Path::new("a.db"), Some(&deferred(97)), || true);
    assert_eq!(limit.pause_end(), None);
    assert_eq!(limit.take_urgency(), Urgency::Overdue);
}

#[test]
fn log_that_has_started_again_is_not_overdue() {
    let limit = LogLimit::new(LIMIT);
    assert_eq!(limit.note_commit(log(70)), Some(Urgency::Long));
    limit.note_outcome(Path::new("a.db"), Some(&deferred(70)), || true);
    let restarted = CheckpointOutcome {
        is_all: true,
        is_restarted: true,
        pages: 70,
        ..CheckpointOutcome::default()
    };
    assert_eq!(limit.retry_of(&restarted), None);
    limit.note_outcome(Path::new("a.db"), Some(&restarted), || false);
    assert_eq!(limit.note_commit(log(90)), Some(Urgency::Long));
}
