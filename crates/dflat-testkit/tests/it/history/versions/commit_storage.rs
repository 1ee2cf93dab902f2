//! The tables in which commits are stored.

use dflat::{ErrorKind, Workspace};
use dflat_history::tree::CheckLimits;
use dflat_testkit::fixture::bounded;
use dflat_testkit::schema::Other;

use super::super::files::{file, note_others, open, open_others, put, sql};
use super::commits::{built, chunks, last};

#[test]
fn commit_of_many_changes_builds_the_tree_in_parts() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open_others(&path);
        // The nodes of the first tree take more than is written at once.
        note_others(&workspace, 0..120_000, "one");
        workspace.history().commit("first").unwrap();
        assert_eq!(last(&workspace).tables[0].root, built::<Other>(&path));
        note_others(&workspace, 0..60_000, "two");
        note_others(&workspace, 120_000..120_010, "two");
        workspace.history().commit("second").unwrap();
        let commit = last(&workspace);
        assert_eq!(commit.tables[0].root, built::<Other>(&path));
        assert_eq!((commit.steps, commit.tables[0].objects), (2, 120_010));
        let checked = chunks(&path).check(&commit.tables[0].root, &CheckLimits::NONE);
        assert_eq!(checked.unwrap().entries, 120_010);
    });
}

#[test]
fn file_without_commits_has_none_of_their_tables() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        assert_eq!(workspace.history().commits().count(), 0);
        let count = "SELECT count(*) FROM sqlite_schema \
                     WHERE name IN ('dflat__chunks', 'dflat__commits', 'dflat__received', \
                     'dflat__refs')";
        let tables = || {
            sql(&path)
                .query_row(count, [], |row| row.get::<_, i64>(0))
                .unwrap()
        };
        assert_eq!(tables(), 0);
        workspace.history().commit("first").unwrap();
        assert_eq!(tables(), 3);
    });
}

#[test]
fn damaged_commits_and_chunks_are_reported() {
    bounded(|| {
        let (_directory, path) = file();
        let workspace = open(&path);
        put(&workspace, "a", 1);
        let id = workspace.history().commit("first").unwrap();
        put(&workspace, "b", 1);
        let damage = |sql_text: &str| {
            let sql = sql(&path);
            sql.execute_batch(&format!("SAVEPOINT s; {sql_text}; RELEASE s"))
                .unwrap();
        };
        let kinds = |workspace: &Workspace| {
            let log = workspace.history().commits().next().unwrap();
            let kind = |error: dflat::Error| error.kind();
            let commit = workspace.history().commit("second");
            (log.map_err(kind).err(), commit.map_err(kind).err())
        };
        damage("CREATE TABLE saved AS SELECT * FROM dflat__chunks");
        damage("UPDATE dflat__chunks SET bytes = zeroblob(40)");
        assert_eq!(kinds(&workspace), (None, Some(ErrorKind::Corrupt)));
        damage("DELETE FROM dflat__chunks");
        assert_eq!(kinds(&workspace), (None, Some(ErrorKind::Corrupt)));
        damage("INSERT INTO dflat__chunks SELECT * FROM saved");
        damage("UPDATE dflat__commits SET bytes = bytes || x'00'");
        let corrupt = Some(ErrorKind::Corrupt);
        assert_eq!(kinds(&workspace), (corrupt, corrupt));
        assert_eq!(workspace.at(id).unwrap_err().kind(), ErrorKind::Corrupt);
        damage("DELETE FROM dflat__commits");
        assert_eq!(kinds(&workspace), (corrupt, Some(ErrorKind::NotFound)));
        assert_eq!(workspace.at(id).unwrap_err().kind(), ErrorKind::NotFound);
        damage("UPDATE dflat__refs SET bytes = x'00'");
        assert_eq!(kinds(&workspace), (corrupt, corrupt));
    });
}
