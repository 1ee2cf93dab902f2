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

/// A path for people. An address is shown without its password.
pub(crate) fn shown(path: &Path) -> String {
    match address_of(path) {
        None => path.display().to_string(),
        Some(address) => without_password(address),
    }
}

fn without_password(address: &str) -> String {
    let (start, parameters) = match address.split_once('?') {
        Some((start, parameters)) => (start, Some(parameters)),
        None => (address, None),
    };
    let (scheme, rest) = start.split_once("://").unwrap_or(("", start));
    // A password may have the character `@`, so the last one is the end of it.
    let rest = match rest.rsplit_once('@') {
        None => rest.to_owned(),
        Some((user, host)) => match user.split_once(':') {
            None => rest.to_owned(),
            Some((name, _)) => format!("{name}:{HIDDEN}@{host}"),
        },
    };
    let parameters = parameters.map(|parameters| {
        let parameters =
            parameters
                .split('&')
                .map(|parameter| match parameter.strip_prefix("password=") {
                    Some(_) => format!("password={HIDDEN}"),
                    None => parameter.to_owned(),
                });
        parameters.collect::<Vec<_>>().join("&")
    });
    match parameters {
        None => format!("{scheme}://{rest}"),
        Some(parameters) => format!("{scheme}://{rest}?{parameters}"),
    }
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
        ];
        for (address, wanted) in cases {
            assert_eq!(shown(Path::new(address)), wanted);
        }
        assert!(exists(Path::new("postgres://host/db")));
        assert!(!exists(Path::new("no such file")));
    }
}
