//! Schemas of a PostgreSQL server, named by addresses in place of paths.

use std::env;
use std::path::Path;
use std::time::Duration;

use dflat_engine::storage::Durability;
use dflat_postgres::PostgresOptions;

/// The beginnings of addresses.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Stands for a password.
const HIDDEN: &str = "***";

/// The address, if a path is one.
pub(crate) fn address_of(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    SCHEMES
        .iter()
        .any(|scheme| text.starts_with(scheme))
        .then_some(text)
}

/// Whether a path may lead to objects: whether it is an address, or the file is there.
pub(crate) fn exists(path: &Path) -> bool {
    address_of(path).is_some() || path.exists()
}

/// Whether two paths lead to one file. If a file cannot be looked at, the paths count as different.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    if address_of(one).is_some() || address_of(other).is_some() {
        return false;
    }
    #[cfg(unix)]
    let identity = |path: &Path| {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    };
    #[cfg(not(unix))]
    let identity = |path: &Path| path.canonicalize().ok();
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// A path for people. An address is shown without its password, also if its scheme is misspelt and
/// the commands take it for a file.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    match text.split_once("://") {
        None => text,
        Some((scheme, rest)) => format!("{scheme}://{}", without_password(rest)),
    }
}

/// The part of an address behind its scheme, without passwords. An address with signs that should
/// be encoded may lose more than its password.
fn without_password(rest: &str) -> String {
    // A password may have the character `@`, so the last one is the end of it.
    let Some((user, host)) = rest.rsplit_once('@') else {
        return without_parameters(rest);
    };
    match user.split_once(':') {
        // The `@` may be a part of a password in a parameter. Nothing shows where that password
        // ends.
        Some((name, password)) if without_parameters(password) != password => {
            format!("{name}:{HIDDEN}")
        }
        Some((name, _)) => format!("{name}:{HIDDEN}@{}", without_parameters(host)),
        None => without_parameters(rest),
    }
}

/// A part of an address without the values of parameters that may be passwords.
fn without_parameters(part: &str) -> String {
    let mut shown = String::new();
    for piece in part.split_inclusive(['?', '&']) {
        let end = piece.strip_suffix(['?', '&']).map_or(piece.len(), str::len);
        let (parameter, end) = piece.split_at(end);
        match parameter.split_once('=') {
            Some((name, _)) if may_be_password(name) => shown.extend([name, "=", HIDDEN, end]),
            _ => shown.push_str(piece),
        }
    }
    shown
}

/// Whether the value of a parameter may be a password. An encoded name may be any.
fn may_be_password(name: &str) -> bool {
    name.contains('%') || name.to_ascii_lowercase().contains("password")
}

/// The variable of the environment with the password, if the address has none.
const PASSWORD: &str = "PGPASSWORD";

/// The options of a connection. A command that must not keep the user waiting, such as a
/// completion, waits for `wait` only.
pub(super) fn options(wait: Option<Duration>) -> PostgresOptions {
    let defaults = PostgresOptions::default();
    PostgresOptions {
        connect_timeout: wait.unwrap_or(defaults.connect_timeout),
        busy_timeout: wait.unwrap_or(defaults.busy_timeout),
        password: env::var(PASSWORD).ok().map(Into::into),
        // One for the snapshot of a command, one for its other reads.
        readers_max: 2,
        durability: Some(Durability::Full),
        ..defaults
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{exists, shown};

    #[test]
    fn no_password_is_shown() {
        let cases = [
            ("tasks.db", "tasks.db"),
            ("postgres://host/db", "postgres://host/db"),
            ("postgres://user@host/db", "postgres://user@host/db"),
            ("postgres://user:p@w@host/db", "postgres://user:***@host/db"),
            (
                "postgresql://host/db?password=pw&sslmode=require",
                "postgresql://host/db?password=***&sslmode=require",
            ),
            ("postgres://user:p?w@host/db", "postgres://user:***@host/db"),
            (
                "postgres://host/db?pass%77ord=pw&a=b",
                "postgres://host/db?pass%77ord=***&a=b",
            ),
            (
                "postgres://host/db?a=b&sslpassword=p@w",
                "postgres://host/db?a=b&sslpassword=***",
            ),
            (
                "POSTGRES://user:pw@host/db?PASSWORD=pw",
                "POSTGRES://user:***@host/db?PASSWORD=***",
            ),
            ("postgres://user:p?password=x@host", "postgres://user:***"),
            ("postgres://host:1/db?password=p@w", "postgres://host:***"),
        ];
        for (address, wanted) in cases {
            assert_eq!(shown(Path::new(address)), wanted);
        }
        assert!(exists(Path::new("postgres://host/db")));
        assert!(!exists(Path::new("no such file")));
    }
}
