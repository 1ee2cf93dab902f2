//! The address of a server, which may name the schema.

use dflat_engine::{Error, ErrorKind, Result};

/// The parameter of an address that names the schema.
const PARAMETER: &str = "dflat_schema=";

/// The address without the schema, and the schema that it names.
///
/// The other parameters are those of the client library, which refuses unknown ones.
pub(crate) fn split(address: &str) -> Result<(String, Option<String>)> {
    let is_url = address.starts_with("postgres://") || address.starts_with("postgresql://");
    let (before, parameters, separator) = match address.split_once('?') {
        Some((before, parameters)) if is_url => (Some(before), parameters, "&"),
        _ if is_url => return Ok((address.to_owned(), None)),
        _ => (None, address, " "),
    };
    let is_separator = |c: char| match is_url {
        true => c == '&',
        false => c.is_ascii_whitespace(),
    };
    let mut schema = None;
    let mut others = Vec::new();
    for parameter in parameters.split(is_separator) {
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

#[cfg(test)]
mod tests {
    use super::split;

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
    fn a_name_with_other_characters_is_refused() {
        for name in ["", "a%20b", "'a b'", "a;b"] {
            let address = format!("postgres://host/db?dflat_schema={name}");
            assert!(split(&address).is_err(), "{name}");
        }
    }
}
