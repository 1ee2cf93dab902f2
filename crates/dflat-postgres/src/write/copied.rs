//! The rows of a `COPY`, in its binary form, as PostgreSQL documents it for the command `COPY`.

/// The beginning: the signature, no flags, and no extension.
const HEADER: &[u8; 19] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// The number of columns that ends the rows.
const END: i16 = -1;

/// Rows to write to a table. The first column is a number, and the others are bytes.
pub(super) struct CopiedRows {
    /// The statement.
    text: String,
    columns: i16,
    bytes: Vec<u8>,
}

impl CopiedRows {
    /// No rows for columns of a table. `payload_bytes` is about the size of the rows.
    pub(super) fn new(relation: &str, columns: &[&str], payload_bytes: usize) -> Self {
        let text = format!(
            "COPY {relation} ({}) FROM STDIN (FORMAT binary)",
            columns.join(", ")
        );
        let mut bytes = Vec::with_capacity(payload_bytes + payload_bytes / 8 + HEADER.len());
        bytes.extend_from_slice(HEADER);
        Self {
            text,
            columns: i16::try_from(columns.len()).unwrap_or(i16::MAX),
            bytes,
        }
    }

    /// Adds a row: its number, and its other columns, which are NULL if `None`.
    pub(super) fn add(&mut self, number: i64, others: &[Option<&[u8]>]) {
        debug_assert_eq!(usize::try_from(self.columns), Ok(others.len() + 1));
        self.bytes.extend_from_slice(&self.columns.to_be_bytes());
        let number = number.to_be_bytes();
        for column in std::iter::once(Some(number.as_slice())).chain(others.iter().copied()) {
            // A column beyond the largest length would be NULL, which these tables refuse.
            let column =
                column.and_then(|column| Some((i32::try_from(column.len()).ok()?, column)));
            let Some((length, column)) = column else {
                self.bytes.extend_from_slice(&(-1_i32).to_be_bytes());
                continue;
            };
            self.bytes.extend_from_slice(&length.to_be_bytes());
            self.bytes.extend_from_slice(column);
        }
    }

    /// Whether it has no rows.
    pub(super) const fn is_empty(&self) -> bool {
        self.bytes.len() == HEADER.len()
    }

    /// The statement, and the bytes to send.
    pub(super) fn into_parts(mut self) -> (String, Vec<u8>) {
        self.bytes.extend_from_slice(&END.to_be_bytes());
        (self.text, self.bytes)
    }
}
