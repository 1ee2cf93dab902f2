//! The length of a file whose first page is there to stay.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::connection::connections::file_length::PAGE_BYTES_MIN;
use crate::connection::identity::Identity;
use crate::io::names::beside;

/// The length of the file at `path`, whose first page a look has found, if that page is one of a
/// transaction that can't be undone any more.
///
/// The transaction that creates a database has a rollback journal. SQLite writes the journal before
/// the first page. If it undoes the transaction, it cuts the file before it deletes the journal. So
/// if there is no journal, and the page is still there afterwards, the transaction is committed.
pub(super) fn permanent_length(path: &Path) -> Option<u64> {
    if has_journal(path) {
        return None;
    }
    let (_, length) = Identity::and_length(path).ok()?;
    (length >= PAGE_BYTES_MIN).then_some(length)
}

/// Whether a transaction has a journal. One that begins with a zero belongs to none.
fn has_journal(path: &Path) -> bool {
    let mut first = [0];
    let read =
        File::open(beside(path, "-journal")).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first != [0]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]
mod tests {
    use std::fs;

    use dflat_engine::ErrorKind;

    use crate::connection::connections::Connections;
    use crate::io::names::beside;
    use crate::options::SqliteOptions;

    /// The failure of this test was seen when a call failed in the first transaction of a file: a
    /// thread that looked at the file meanwhile let all later transactions fail.
    #[test]
    fn first_page_of_an_undone_transaction_is_not_missed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        fs::write(&path, "").unwrap();
        let connections = Connections::new(&path, SqliteOptions::default()).unwrap();
        connections.note_opened();
        let journal = beside(&path, "-journal");
        // The first transaction, as another thread sees it, and then its undoing.
        fs::write(&journal, [1; 512]).unwrap();
        fs::write(&path, [1; 4096]).unwrap();
        connections.check_in_place().unwrap();
        fs::write(&path, "").unwrap();
        connections.check_in_place().unwrap();
        fs::remove_file(&journal).unwrap();
        connections.check_in_place().unwrap();
        // The second transaction is committed, and then the file is cut.
        fs::write(&path, [1; 4096]).unwrap();
        connections.check_in_place().unwrap();
        fs::write(&path, "").unwrap();
        let error = connections.check_in_place().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
}
