//! Changes of books, whose pages some tests count.

use dflat::{Result, TransactionContext};
use dflat_testkit::shelf::v1::library::{Book, BookChangeRequest, BookData};
/// Creates a book.
pub(crate) fn insert(tx: &TransactionContext, id: i32) -> Result<()> {
    let data = BookData {
        id,
        isbn: Some(format!("isbn {id}")),
        ..BookData::default()
    };
    tx.submit(BookChangeRequest::creation(data)).map(drop)
}

/// Changes a number of some books.
pub(crate) fn update(tx: &TransactionContext, ids: std::ops::Range<i32>) -> Result<()> {
    for id in ids {
        let book = tx.get::<Book>(id)?.unwrap();
        let mut request = BookChangeRequest::change(tx, &book)?.unwrap();
        request.pages += 1;
        tx.submit(request)?;
    }
    Ok(())
}
