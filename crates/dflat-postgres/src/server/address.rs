//! The address of a server, which may name the schema.

use std::time::{Duration, Instant};

use dflat_engine::{Error, ErrorKind, Result};
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use super::refused::invalid;
use super::tls::is_local;
use crate::options::PostgresOptions;

/// The parameter of an address that names the schema.
const PARAMETER: &str = "dflat_schema=";

/// After this time without a byte, the system asks whether the server is still there.
const KEEPALIVES_IDLE: Duration = Duration::from_secs(30);

/// The settings of an address, and those of the options that the address does not have.
pub(super) fn configure(address: &str, options: &PostgresOptions) -> Result<Config> {
    let mut config: Config = address.parse().map_err(|error| invalid(address, error))?;
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(options.connect_timeout);
    }
    if let (None, Some(password)) = (config.get_password(), &options.password) {
        config.password(&password.0);
    }
    if config.get_application_name().is_none() {
        config.application_name("dflat");
    }
    if !address.contains("keepalives_idle") {
        config.keepalives_idle(KEEPALIVES_IDLE);
    }
    if config.get_hosts().is_empty() {
        // The certificate of a server without a name is for its address, as with libpq.
        for address in config.get_hostaddrs().to_vec() {
            config.host(address.to_string());
        }
    }
    if is_local(&config) {
        // As with libpq, whatever the address says.
        config.ssl_mode(SslMode::Disable);
    }
    Ok(config)
}

pub(super) fn is_url(address: &str) -> bool {
    address.starts_with("postgres://") || address.starts_with("postgresql://")
}

/// The address without the schema, and the schema that it names.
///
/// The other parameters are those of the client library, which refuses unknown ones.
pub(crate) fn split(address: &str) -> Result<(String, Option<String>)> {
    let is_url = is_url(address);
    let (before, parameters) = match address.split_once('?') {
        Some((before, parameters)) if is_url => (Some(before), parameters),
        _ if is_url => return Ok((address.to_owned(), None)),
        _ => (None, address),
    };
    let (listed, separator) = match is_url {
        true => (parameters.split('&').collect(), "&"),
        false => (pieces(parameters), " "),
    };
    let mut schema = None;
    let mut others = Vec::new();
    for parameter in listed {
        match parameter.strip_prefix(PARAMETER) {
            Some(name) => schema = Some(checked(name)?),
            None => others.push(parameter),
        }
    }
    if schema.is_none() {
        return Ok((address.to_owned(), None));
    }
    let others = others.join(separator);
    let without = match before {
        Some(before) if others.is_empty() => before.to_owned(),
        Some(before) => format!("{before}?{others}"),
        None => others,
    };
    Ok((without, schema))
}

/// The pieces of a list of parameters, between the spaces that stand outside of quotes.
pub(super) fn pieces(list: &str) -> Vec<&str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let is_separator = |c: char| {
        if is_escaped {
            is_escaped = false;
            return false;
        }
        match c {
            '\\' => is_escaped = true,
            '\'' => is_quoted = !is_quoted,
            _ => return c.is_ascii_whitespace() && !is_quoted,
        }
        false
    };
    list.split(is_separator).collect()
}

/// A name in an address has neither quotes nor encoded characters, so that each form of an address
/// has it as it is.
fn checked(name: &str) -> Result<String> {
    let is_plain = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_plain) {
        return Ok(name.to_owned());
    }
    let message = "cannot connect to the server: in an address, the name of a schema has letters, \
                   digits, `_` and `-` alone; the option `schema` takes any name";
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// The time by which the server must have answered, if connecting begins now.
pub(super) fn deadline(config: &Config) -> Option<Instant> {
    timeout(config).and_then(|timeout| Instant::now().checked_add(timeout))
}

/// The longest time to wait for a connection; `None` without a limit.
pub(super) fn timeout(config: &Config) -> Option<Duration> {
    let timeout = config.get_connect_timeout().copied();
    timeout.filter(|timeout| !timeout.is_zero())
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::Host;

    use super::*;

    #[test]
    fn the_schema_is_taken_out_of_both_forms_of_an_address() {
        let taken = |address: &str| split(address).unwrap();
        let some = |schema: &str| Some(schema.to_owned());
        let url = "postgres://user:pw@host/db";
        assert_eq!(taken(url), (url.to_owned(), None));
        let with = format!("{url}?dflat_schema=posts");
        assert_eq!(taken(&with), (url.to_owned(), some("posts")));
        let both = format!("{url}?sslmode=require&dflat_schema=a-b_1&port=1");
        let rest = format!("{url}?sslmode=require&port=1");
        assert_eq!(taken(&both), (rest.clone(), some("a-b_1")));
        assert_eq!(taken(&rest), (rest.clone(), None));
        let list = "host=/run user=a";
        assert_eq!(taken(list), (list.to_owned(), None));
        let with = "host=/run dflat_schema=posts user=a";
        assert_eq!(taken(with), (list.to_owned(), some("posts")));
        // The user's name of a URL may have the word.
        let name = "postgres://dflat_schema=a@host/db";
        assert_eq!(taken(name), (name.to_owned(), None));
    }

    #[test]
    fn quoted_values_are_left_as_they_are() {
        let quoted = r"host=/run password='a  dflat_schema=b \' c' user=d";
        assert_eq!(split(quoted).unwrap(), (quoted.to_owned(), None));
        let with = format!("{quoted} dflat_schema=posts");
        let taken = split(&with).unwrap();
        assert_eq!(taken, (quoted.to_owned(), Some("posts".to_owned())));
    }

    #[test]
    fn a_name_with_other_characters_is_refused() {
        for name in ["", "a%20b", "'a b'", "a;b"] {
            let address = format!("postgres://host/db?dflat_schema={name}");
            assert!(split(&address).is_err(), "{name}");
        }
    }

    fn configured(address: &str) -> Result<Config> {
        configure(address, &PostgresOptions::default())
    }

    #[test]
    fn settings_of_the_address_are_kept() {
        let config = configured("host=a keepalives=0 connect_timeout=3").unwrap();
        assert!(!config.get_keepalives());
        assert_eq!(config.get_keepalives_idle(), KEEPALIVES_IDLE);
        assert_eq!(config.get_connect_timeout(), Some(&Duration::from_secs(3)));
        let config = configured("host=a keepalives_idle=7").unwrap();
        assert!(config.get_keepalives());
        assert_eq!(config.get_keepalives_idle(), Duration::from_secs(7));
    }

    #[test]
    fn nothing_is_encrypted_on_this_machine() {
        let mode = |address| configured(address).unwrap().get_ssl_mode();
        assert_eq!(mode("host=/run sslmode=require"), SslMode::Disable);
        assert_eq!(mode("host=/run,b sslmode=require"), SslMode::Require);
        let network = "host=/run hostaddr=127.0.0.1 sslmode=require";
        assert_eq!(mode(network), SslMode::Require);
        assert_eq!(mode("host=b sslmode=require"), SslMode::Require);
        assert_eq!(mode("host=b"), SslMode::Prefer);
    }

    #[test]
    fn address_of_a_server_without_a_name_is_its_name() {
        let config = configured("hostaddr=127.0.0.1 user=a").unwrap();
        assert_eq!(config.get_hosts(), [Host::Tcp("127.0.0.1".to_owned())]);
        let config = configured("host=b hostaddr=127.0.0.1 user=a").unwrap();
        assert_eq!(config.get_hosts(), [Host::Tcp("b".to_owned())]);
    }
}
