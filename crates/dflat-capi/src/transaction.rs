//! Transactions, inside their handlers.

use std::ffi::c_void;

use dflat_engine::object::RawObject;
use dflat_engine::storage::Durability;
use dflat_engine::transaction::Outcome;
use dflat_workspace::Operation;

use crate::boundary::{
    Bytes, Callback, In, Lent, Out, OutError, RawView, export, invalid, lent_view_of, with_error,
};
use crate::callbacks::{HandlerCall, TransactionHandle, call_handler, outcome};
use crate::number::{
    CREATE, DELETE, DELETED, IDENTITY, INSERTED, RESTORE, SUBMIT_IF_UNCHANGED, UPDATE, UPDATED,
    UPSERT,
};
use crate::object::{borrow, give};
use crate::read::QueryHandle;
use crate::table::TableHandle;

/// The function of `dflat_object_handler`.
type ObjectCall = extern "C" fn(*mut c_void, RawView, OutError<'_>) -> i32;

/// The operation by its number.
fn operation_of<'a>(
    operation: i32,
    base: Option<&'a dflat_engine::object::Object>,
    payload: &'a [u8],
) -> dflat_engine::Result<Operation<'a>> {
    let need = || base.ok_or_else(|| invalid("base: the operation needs an object"));
    Ok(match operation {
        CREATE => Operation::Create { payload },
        UPDATE => Operation::Update {
            base: need()?,
            payload,
        },
        UPSERT => Operation::Upsert { payload },
        DELETE => Operation::Delete { base: need()? },
        RESTORE => Operation::Restore { payload },
        _ => return Err(invalid(format!("operation: {operation} is no operation"))),
    })
}

export! {
    fn dflat_transaction_submit(
        transaction: Lent<'_, TransactionHandle>,
        table: In<'_, TableHandle>,
        operation: i32,
        flags: u32,
        base: RawObject,
        payload: Bytes<'_>,
        result: Out<'_, i32>,
        view: Out<'_, RawView>,
    ) {
        view.set(RawView::NONE);
        result.set(0);
        if flags & !SUBMIT_IF_UNCHANGED != 0 {
            return Err(invalid(format!("flags: {flags:#x} has an unknown flag")));
        }
        let base = borrow(base);
        let base = base.as_deref();
        let (context, table) = (&transaction.get()?.0, &table.get()?.0);
        let operation = operation_of(operation, base, payload.get("payload")?)?;
        let seen = base.filter(|_| flags & SUBMIT_IF_UNCHANGED != 0);
        if flags & SUBMIT_IF_UNCHANGED != 0 && seen.is_none() {
            return Err(invalid("base: an optimistic operation needs an object"));
        }
        let (code, object) = match context.submit(table, operation, seen)? {
            Outcome::Inserted(object) => (INSERTED, Some(object)),
            Outcome::Updated(object) => (UPDATED, Some(object)),
            Outcome::Identity(object) => (IDENTITY, Some(object)),
            Outcome::Deleted(_) => (DELETED, None),
        };
        result.set(code);
        give(object, view);
    }

    fn dflat_transaction_latest(
        transaction: Lent<'_, TransactionHandle>,
        table: In<'_, TableHandle>,
        object: RawObject,
        view: Out<'_, RawView>,
    ) {
        view.begin("view", RawView::NONE)?;
        let object = borrow(object).ok_or_else(|| invalid("object: there is none"))?;
        let transaction = transaction.get()?.0.transaction();
        let latest = transaction.latest(&table.get()?.0, &object)?;
        give(latest.map(|latest| latest.object().clone()), view);
    }

    fn dflat_transaction_abort(transaction: Lent<'_, TransactionHandle>) {
        transaction.get()?.0.transaction().abort();
    }

    fn dflat_transaction_set_durability(transaction: Lent<'_, TransactionHandle>, full: i32) {
        let durability = match full {
            0 => Durability::Normal,
            1 => Durability::Full,
            _ => return Err(invalid(format!("full: {full} is neither 0 nor 1"))),
        };
        transaction.get()?.0.transaction().set_durability(durability);
    }

    fn dflat_transaction_nested(
        transaction: Lent<'_, TransactionHandle>,
        changes: Callback<HandlerCall>,
    ) {
        let changes = changes.kept("changes")?;
        let transaction = transaction.get()?;
        transaction.0.nested(|| call_handler(&changes, transaction))?;
    }

    fn dflat_transaction_delete_where(
        transaction: Lent<'_, TransactionHandle>,
        query: In<'_, QueryHandle>,
        count: Out<'_, u64>,
    ) {
        count.set(0);
        let query = &query.get()?.0;
        let deleted = transaction.get()?.0.delete_where(&query.table, query.query.clone())?;
        count.set(deleted as u64);
    }

    fn dflat_transaction_write_each(
        transaction: Lent<'_, TransactionHandle>,
        query: In<'_, QueryHandle>,
        write: Callback<ObjectCall>,
        count: Out<'_, u64>,
    ) {
        count.set(0);
        let write = write.kept("write")?;
        let query = &query.get()?.0;
        let written = transaction.get()?.0.write_each(
            &query.table,
            query.query.clone(),
            |found| {
                let view = lent_view_of(found.object());
                let called = write.run(|call, context| {
                    with_error(|error| call(context, view, error))
                });
                called.map_or(Ok(()), |(code, given)| outcome(code, given))
            },
        )?;
        count.set(written as u64);
    }
}
