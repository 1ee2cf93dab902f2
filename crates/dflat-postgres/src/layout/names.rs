//! Names of tables on the server.

/// The longest name, in bytes, that the server keeps. It cuts a longer one.
const NAME_MAX: usize = 63;

/// An identifier, quoted.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text, quoted.
pub(super) fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name that the server keeps as it is: a long one is cut, and ends in a hash of the whole.
fn short(name: &str) -> String {
    if name.len() <= NAME_MAX {
        return name.to_owned();
    }
    let hash = blake3::hash(name.as_bytes()).to_hex();
    let hash = hash.get(..16).unwrap_or_default();
    let mut cut = NAME_MAX - hash.len() - 2;
    while !name.is_char_boundary(cut) {
        cut -= 1;
    }
    let start = name.get(..cut).unwrap_or_default();
    format!("{start}__{hash}")
}

/// The schema of the server's database that has the tables.
#[derive(Clone, Debug)]
pub(crate) struct Schema(String);

impl Schema {
    pub(crate) fn new(name: &str) -> Self {
        Self(short(name))
    }

    /// Its name, quoted.
    pub(crate) fn quoted(&self) -> String {
        quoted(&self.0)
    }

    /// Its name as it is.
    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    /// The name of a table in it, quoted.
    pub(crate) fn relation(&self, name: &str) -> String {
        format!("{}.{}", quoted(&self.0), quoted(name))
    }

    /// The name of the table that has the objects of a type, without the schema.
    pub(crate) fn main(table: &str) -> String {
        short(table)
    }

    /// The name of the view that shows the keys of a type's table as text, without the schema.
    pub(super) fn readable(table: &str) -> String {
        short(&format!("dflat__readable__{table}"))
    }

    /// The name of the table that has the entries of an index, without the schema. An index that is
    /// created again has another number and so another name: a reader that knows an older one
    /// finds no table, and never a table with other entries.
    pub(crate) fn index(table: &str, key: &str, number: i64) -> String {
        short(&format!("{table}__{key}__{number}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_differ_and_fit() {
        let long = "é".repeat(40);
        let (a, b) = (short(&format!("{long}a")), short(&format!("{long}b")));
        assert_ne!(a, b);
        assert!(a.len() <= NAME_MAX && b.len() <= NAME_MAX, "{a} {b}");
        assert_eq!(short("post"), "post");
        assert_eq!(short(&"x".repeat(63)), "x".repeat(63));
    }

    #[test]
    fn quotes_are_doubled() {
        let schema = Schema::new("a\"b");
        assert_eq!(schema.relation("c\"d"), "\"a\"\"b\".\"c\"\"d\"");
    }
}
