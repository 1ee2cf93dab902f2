//! Damage of pages, as SQLite's own checks find it.

use super::{Connection, SqliteError};

/// A check of SQLite.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PageCheck {
    /// The pages of all trees, and each entry of SQLite's own indexes.
    Whole,
    /// The pages of all trees. On a file of 230 MB it took a third of the time of the whole check.
    Pages,
}

/// Calls `damage` for each damage that a check finds, at most 100 times.
///
/// A read that fails once can look like damage to SQLite, so damage is looked for twice. If a page
/// still cannot be read for another reason, that is an error.
///
/// # Errors
/// The errors of reading, except those that damage causes.
pub(crate) fn each_page_damage(
    connection: &mut Connection,
    check: PageCheck,
    damage: &mut dyn FnMut(String),
) -> Result<(), SqliteError> {
    if page_damage(connection, check)?.is_empty() {
        return Ok(());
    }
    let found = page_damage(connection, check)?;
    if let Some(error) = found.iter().find_map(|message| failed_read(message)) {
        return Err(error);
    }
    found.into_iter().for_each(damage);
    Ok(())
}

fn page_damage(connection: &mut Connection, check: PageCheck) -> Result<Vec<String>, SqliteError> {
    let name = match check {
        PageCheck::Whole => "integrity_check",
        PageCheck::Pages => "quick_check",
    };
    // By default the pragma returns at most 100 messages.
    let sql = format!("SELECT CAST({name} AS BLOB) FROM pragma_{name}");
    let mut found = Vec::new();
    let checked = connection.execute_with(&sql, |columns| {
        let text = columns.blob(0)?.unwrap_or_default();
        if text != b"ok" {
            found.push(String::from_utf8_lossy(text).into_owned());
        }
        Ok(())
    });
    match checked {
        Err(error) if error.is_corrupt() => found.push(error.to_string()),
        checked => checked?,
    }
    Ok(found)
}

/// The error with which a page could not be read, if a message of the check names one other than
/// damage.
fn failed_read(message: &str) -> Option<SqliteError> {
    let (_, code) = message.rsplit_once("error code=")?;
    let error = SqliteError::from_code(code.parse().ok()?);
    (!error.is_corrupt()).then_some(error)
}

/// Fails if a check finds damage.
pub(crate) fn refuse_damage(
    connection: &mut Connection,
    check: PageCheck,
) -> Result<(), SqliteError> {
    let mut first = None;
    each_page_damage(connection, check, &mut |message| {
        first.get_or_insert(message);
    })?;
    first.map_or(Ok(()), |message| Err(SqliteError::damage(&message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_that_the_device_cannot_read_is_no_damage() {
        let message = |code| format!("Tree 5 page 107: unable to get the page. error code={code}");
        for (code, is_failed) in [
            (266, true),
            (8458, true),
            (7, true),
            (11, false),
            (26, false),
        ] {
            assert_eq!(failed_read(&message(code)).is_some(), is_failed, "{code}");
        }
        assert!(failed_read("Tree 5 page 107 cell 3: invalid page number 0").is_none());
    }
}
