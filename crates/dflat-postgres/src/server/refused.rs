//! The error of an address that is not understood.

use dflat_engine::{Error, ErrorKind};

use super::address::{is_url, pieces};

/// Parameters that libpq has, which this library does not know.
const UNKNOWN: [&str; 10] = [
    "gssencmode",
    "krbsrvname",
    "passfile",
    "requirepeer",
    "service",
    "sslcert",
    "sslcrl",
    "sslkey",
    "sslpassword",
    "sslrootcert",
];

/// The error of an address that is not understood. Its source names the part that is wrong, which
/// may be a piece of a password: the password may have a space and no quotes, or a character that
/// is reserved in URLs.
pub(super) fn invalid(address: &str, error: tokio_postgres::Error) -> Error {
    let mut message = "cannot connect to the server: its address is invalid".to_owned();
    let advice = advice(address);
    if may_have_password(address) {
        let general = match is_url(address) {
            true => "a character that is reserved in URLs is encoded, as %40 is for `@`",
            false => "a value with spaces is quoted, as in key='a b'",
        };
        message.push_str("; ");
        message.push_str(&advice.unwrap_or_else(|| general.to_owned()));
        return Error::new(ErrorKind::InvalidArgument, message);
    }
    if let Some(advice) = advice {
        message.push_str("; ");
        message.push_str(&advice);
    }
    Error::with_source(ErrorKind::InvalidArgument, message, error)
}

/// Whether an address may have a password. A URL has it after a colon, before the last `@`.
fn may_have_password(address: &str) -> bool {
    let user = address.rsplit_once('@').map_or("", |(user, _)| user);
    let user = user.split_once("://").map_or("", |(_, user)| user);
    address.to_ascii_lowercase().contains("password") || is_url(address) && user.contains(':')
}

/// Advice that has no piece of the address, but for the names of known parameters.
fn advice(address: &str) -> Option<String> {
    let parameters = match is_url(address) {
        true => {
            // A password may have a question mark.
            let after_user = address.rsplit_once('@').map_or(address, |(_, after)| after);
            after_user.split_once('?')?.1.split('&').collect()
        }
        false => pieces(address),
    };
    let mut pairs = parameters.iter().filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(key, value)| match key {
        "sslmode" if !["disable", "prefer", "require"].contains(&value.trim_matches('\'')) => {
            let advice = "`sslmode` is disable, prefer or require; with require, the certificate \
                          of the server and its name are verified, as by verify-full of libpq";
            Some(advice.to_owned())
        }
        "sslrootcert" => {
            let advice = "the option `root_certificates` takes the certificates of authorities, \
                          which `sslrootcert` cannot name";
            Some(advice.to_owned())
        }
        _ => {
            let mut unknown = UNKNOWN.iter();
            let unknown = unknown.find(|unknown| **unknown == key)?;
            Some(format!("the parameter `{unknown}` is not known"))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::PostgresOptions;
    use crate::server::address::configure;

    fn refused(address: &str) -> Error {
        let error = configure(address, &PostgresOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        error
    }

    #[test]
    fn error_of_an_address_shows_no_piece_of_a_password() {
        for address in [
            "host=a password=secret word user=b",
            "host=a password=secret word=1 user=b",
            "host=a sslpassword='secret word' user=b",
            "postgres://a:secret word@host:x/db",
            "postgresql://a:b@word/db?word=1",
            "postgres://a:b@word?sslmode=word&word=1",
            "postgres://a:b?word=1&sslcert=word@host:x/db",
        ] {
            let error = refused(address);
            let shown = format!("{error} {error:?}").replace("sslpassword", "");
            assert!(!shown.contains("word"), "{shown}");
        }
    }

    #[test]
    fn error_of_an_address_names_the_part_that_is_wrong() {
        let check = |address: &str, expected: &[&str]| {
            let shown = refused(address).to_string();
            for expected in expected {
                assert!(shown.contains(expected), "{address}: {shown}");
            }
        };
        check("host=a usr=b", &["unknown option `usr`"]);
        let modes = ["disable, prefer or require", "verify-full"];
        check("host=a sslmode=verify-ca", &modes);
        check(
            "postgres://a@h/db?sslmode=verify-full",
            &["`sslmode`", modes[0]],
        );
        check("postgres://a:pw@h/db?sslmode=verify-full", &modes);
        check("postgres://a@h/db?sslrootcert=/x", &["root_certificates"]);
        check(
            "postgres://a:pw@h/db?sslrootcert=/x",
            &["root_certificates"],
        );
        check("postgres://a:pw@h/db?sslkey=/x", &["`sslkey` is not known"]);
        check("postgres://a@h/db?port=5432#part", &["option `port`"]);
        check(
            "postgres://a@h/db?fallback=1",
            &["unknown option `fallback`"],
        );
        check("postgres://a:p@w@h:x/db", &["%40"]);
        check("host=a password=a b", &["key='a b'"]);
    }
}
