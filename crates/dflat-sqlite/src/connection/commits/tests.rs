use super::*;

fn of(commits: u32, salt: u32) -> CommitCount {
    CommitCount::Log(LogCount {
        commits,
        salt,
        digest: 0,
    })
}

fn log(commits: u32) -> CommitCount {
    of(commits, 7)
}

#[test]
fn log_with_an_equal_count_and_another_salt_is_another_log() {
    let commits = Commits::default();
    let first = commits.note_begin(of(0, 0));
    commits.note_commit(first, Some(log(1)));
    commits.note_end();
    let read = commits.state(Some(log(1)));
    // The log began anew, which a checkpoint does.
    assert!(!commits.is_overtaken(of(1, 9), read));
    let same = commits.note_begin(of(1, 9));
    assert!(same.follows_own() && !same.is_overtaken(read));
    commits.note_end();
    // Another log took its place.
    assert!(commits.is_overtaken(of(1, 1 << 20), read));
    let other = commits.note_begin(of(1, 1 << 20));
    assert!(!other.follows_own() && other.is_overtaken(read));
}

/// Issue 27: a transaction that had read the log of another process, and then wrote, was `Busy`
/// although nobody had committed in between.
#[test]
fn log_of_another_process_that_was_read_overtakes_nothing() {
    let commits = Commits::default();
    let first = commits.note_begin(of(0, 0));
    commits.note_commit(first, Some(log(1)));
    commits.note_end();
    let other = of(4, 1 << 20);
    let read = commits.state(Some(other));
    assert!(!commits.is_overtaken(other, read));
    let second = commits.note_begin(other);
    assert!(!second.follows_own() && !second.is_overtaken(read));
    assert!(commits.take_foreign_write());
}

/// If a checkpoint has left an empty log, the next connection that writes begins the log with a
/// salt of its own choice.
#[test]
fn log_begun_by_an_own_commit_is_not_foreign() {
    let commits = Commits::default();
    let first = commits.note_begin(log(5));
    commits.note_commit(first, Some(log(6)));
    commits.note_end();
    let read = commits.state(Some(log(6)));
    let second = commits.note_begin(log(6));
    // A reader sees it before it is noted.
    commits.state(Some(of(7, 1 << 20)));
    commits.note_commit(second, Some(of(7, 1 << 20)));
    commits.note_end();
    let third = commits.note_begin(of(7, 1 << 20));
    assert!(third.follows_own() && !third.is_overtaken(read));
}

#[test]
fn changed_file_under_an_empty_log_is_noticed() {
    let empty = of(0, 0);
    let commits = Commits::default();
    commits.note_empty_log(1);
    commits.note_begin(empty);
    let read = commits.state(Some(empty));
    commits.note_empty_log(1);
    let same = commits.note_begin(empty);
    assert!(same.follows_own() && !same.is_overtaken(read));
    commits.note_empty_log(2);
    let other = commits.note_begin(empty);
    assert!(!other.follows_own() && other.is_overtaken(read));
}

#[test]
fn only_foreign_commits_overtake_a_state() {
    let commits = Commits::default();
    let first = commits.note_begin(log(5));
    let read = commits.state(Some(log(5)));
    commits.note_commit(first, None);
    let second = commits.note_begin(log(6));
    assert!(!second.is_overtaken(read), "the commit was ours");
    // This one wrote nothing; then another commits.
    let third = commits.note_begin(log(7));
    assert!(third.is_overtaken(read));
    assert!(third.is_overtaken(second.state()));
    assert!(!third.is_overtaken(commits.state(Some(log(7)))));
    commits.note_commit(third, None);
    let fourth = commits.note_begin(log(8));
    assert!(fourth.is_overtaken(read), "it stays overtaken");
    assert!(!fourth.is_overtaken(third.state()));
}

#[test]
fn only_foreign_commits_overtake_a_reader() {
    let commits = Commits::default();
    let ours = commits.note_begin(log(5));
    let read = ours.state();
    // It may be committed and not noted yet.
    assert!(!commits.is_overtaken(log(6), read));
    commits.note_commit(ours, None);
    commits.note_end();
    assert!(!commits.is_overtaken(log(5), read));
    assert!(!commits.is_overtaken(log(6), read));
    assert!(
        commits.is_overtaken(log(7), read),
        "the seventh commit is foreign"
    );
    commits.note_begin(log(7));
    commits.note_end();
    assert!(commits.is_overtaken(log(7), read));
    let later = commits.state(Some(log(7)));
    assert!(!commits.is_overtaken(log(7), later));
}

#[test]
fn each_foreign_commit_overtakes_a_reader_once() {
    let commits = Commits::default();
    let read = commits.state(Some(log(5)));
    assert!(!commits.is_overtaken(log(5), read), "there was no commit");
    assert!(commits.is_overtaken(log(6), read));
    let later = commits.state(Some(log(6)));
    assert!(!commits.is_overtaken(log(6), later));
    // This also holds after the backend has written.
    let ours = commits.note_begin(log(6));
    commits.note_commit(ours, None);
    commits.note_end();
    assert!(!commits.is_overtaken(log(7), later));
    assert!(commits.is_overtaken(log(8), later));
    let last = commits.state(Some(log(8)));
    assert!(!commits.is_overtaken(log(8), last));
    let another = of(8, 1 << 20);
    assert!(commits.is_overtaken(another, last), "it counts the same");
    let last = commits.state(Some(another));
    assert!(!commits.is_overtaken(another, last));
    commits.begin_anew();
    assert!(commits.is_overtaken(another, last), "it is not known");
    let last = commits.state(Some(another));
    assert!(!commits.is_overtaken(another, last));
}

#[test]
fn commit_counts_may_wrap_and_restart() {
    let commits = Commits::default();
    let last = commits.note_begin(log(u32::MAX));
    commits.note_commit(last, None);
    let wrapped = commits.note_begin(log(0));
    assert!(!wrapped.is_overtaken(last.state()));
    assert!(commits.note_begin(log(1)).is_overtaken(last.state()));
    let high = commits.note_begin(log(1000));
    let anew = commits.note_begin(log(3));
    assert!(anew.is_overtaken(high.state()));
    assert!(!anew.is_overtaken(commits.state(Some(log(3)))));
}

#[test]
fn states_before_the_log_are_compared_by_the_header() {
    let commits = Commits::default();
    let (nothing, read) = (
        StateId::default(),
        commits.state(Some(CommitCount::File(9))),
    );
    commits.note_open(OpeningCounts::new(9, 10));
    let ours = commits.note_begin(log(0));
    assert!(!ours.is_overtaken(read), "the log was ours");
    assert!(ours.is_overtaken(nothing));
    let counted = |count| ours.is_overtaken(commits.state(Some(CommitCount::File(count))));
    assert_eq!([8, 9, 10, 11].map(counted), [true, false, false, true]);
    assert!(
        !ours.is_overtaken(commits.state(None)),
        "an unknown state does not count as overtaken"
    );
}

/// Issue 33.
#[test]
fn state_that_is_known_by_stamps_is_overtaken_by_each_other_state() {
    let commits = Commits::default();
    let stamped = CommitCount::Stamps;
    let states = [
        stamped(1 << 40),
        stamped(7 << 40),
        CommitCount::File(3),
        log(3),
    ];
    for since in states {
        let since_id = commits.state(Some(since));
        assert_ne!(since_id, StateId::default());
        for now in states
            .into_iter()
            .filter(|now| matches!(now, CommitCount::Stamps(_)))
        {
            assert_eq!(commits.is_overtaken(now, since_id), now != since);
        }
        assert!(commits.is_overtaken(since, StateId::default()));
    }
}

#[test]
fn own_state_is_known_until_another_connection_commits() {
    let commits = Commits::default();
    assert_eq!(commits.own_state(log(5)), None);
    let first = commits.note_begin(log(5));
    assert_eq!(
        commits.own_state(log(5)),
        None,
        "the transaction has not ended"
    );
    commits.note_commit(first, Some(log(6)));
    assert_eq!(
        commits.own_state(log(6)),
        None,
        "the transaction has not ended"
    );
    commits.note_end();
    // No transaction was notified of the commits before the first one yet.
    assert_eq!(commits.own_state(log(6)), None);
    assert!(commits.take_foreign_write());
    let own = commits.state(Some(log(6)));
    assert_eq!(commits.own_state(log(6)), Some(own));
    // A checkpoint begins the log anew.
    assert_eq!(commits.own_state(of(6, 8)), Some(own));
    assert_eq!(commits.own_state(of(6, 1 << 20)), None, "another log");
    assert_eq!(commits.own_state(log(7)), None, "a foreign commit");
    let second = commits.note_begin(log(7));
    commits.note_commit(second, Some(log(8)));
    commits.note_end();
    assert_eq!(
        commits.own_state(log(8)),
        None,
        "no transaction was notified"
    );
    assert!(commits.take_foreign_write());
    let own = commits.state(Some(log(8)));
    assert_eq!(commits.own_state(log(8)), Some(own));
    commits.begin_anew();
    assert_eq!(
        commits.own_state(log(8)),
        None,
        "all connections were closed"
    );
}
