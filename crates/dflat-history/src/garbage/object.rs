//! Forgets one object.

use std::collections::BTreeSet;
use std::rc::Rc;

use dflat_engine::engine::{Engine, PerformOptions};
use dflat_engine::storage::WriteTransaction;
use dflat_engine::transaction::Transaction;
use dflat_engine::{Error, ErrorKind, Result};
use dflat_model::{Table, ValueRef, key};

use super::erase::{ForgottenObject, collect_erased, erase};
use crate::commits::{FileStore, Marks};
use crate::past::rows_with_keys;
use crate::received::ObjectKeys;
use crate::steps::prepare;

/// Deletes the object with a primary key from all steps, received changes and trees, and leaves a
/// mark. `tables` are all versioned tables.
///
/// # Errors
/// - [`ErrorKind::NotFound`] if the table is not versioned.
/// - [`ErrorKind::InvalidArgument`] if the object exists, or the key has another number of values.
/// - [`ErrorKind::Corrupt`] if the history is damaged.
/// - Otherwise those of [`collect`](super::collect).
pub fn forget_object(
    engine: &Engine,
    tables: &[Table],
    table: &Table,
    values: &[ValueRef<'_>],
) -> Result<ForgottenObject> {
    let Some(stored) = tables.iter().find(|stored| stored.is_stored_as(table)) else {
        let message = format!(
            "cannot forget an object of {}: the type is not versioned",
            table.type_name
        );
        return Err(Error::new(ErrorKind::NotFound, message));
    };
    let (given, needed) = (values.len(), stored.primary_key.len());
    if given != needed {
        let message = format!(
            "cannot forget an object of {}: its key has {needed} values, and {given} are given",
            table.type_name
        );
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    let encoded = key::encode(values.iter().copied());
    let keys = BTreeSet::from([encoded.clone()]);
    let objects = ObjectKeys::from([(stored.name.to_string(), keys)]);
    let store = FileStore::new(engine);
    let options = PerformOptions { write_first: true };
    let handler = |transaction: &Rc<Transaction>| {
        prepare(transaction, tables)?;
        transaction.write_history(stored, |writer| {
            check_deleted(writer, stored, (values, &encoded))?;
            let forgotten = erase(writer, &store, tables, &objects)?;
            Marks::put(writer, &stored.name, &encoded)?;
            Ok(forgotten)
        })
    };
    let forgotten = engine.perform_here(tables.iter().cloned(), options, handler, |_| ())?;
    collect_erased(engine, stored, tables)?;
    Ok(forgotten)
}

/// Checks that the tables do not have the object.
fn check_deleted(
    writer: &mut dyn WriteTransaction,
    table: &Table,
    (values, encoded): (&[ValueRef<'_>], &[u8]),
) -> Result<()> {
    if rows_with_keys(writer, table, &BTreeSet::from([encoded.to_vec()]))?.is_empty() {
        return Ok(());
    }
    let message = format!(
        "cannot forget {} {values:?}: the object exists; delete it first",
        table.type_name
    );
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

#[cfg(test)]
mod tests {
    use dflat_engine::engine::EngineOptions;
    use dflat_engine::storage::MemoryBackend;
    use dflat_schema::{MemoryLoader, compile, describe};

    use super::*;

    #[test]
    fn key_with_another_number_of_values_is_refused() {
        let text = "table Item { id: string (primary); } root_type Item;";
        let loader = MemoryLoader::new().with_file("item.fbs", text);
        let compiled = compile(&["item.fbs".to_owned()], &loader, &Default::default());
        let schema = compiled.schema.unwrap();
        let root = schema.files.iter().find_map(|file| file.root).unwrap();
        let table = Table::new(describe(&schema, root));
        let engine = Engine::new(MemoryBackend::new(), EngineOptions::default());
        let part = ValueRef::Text("a");
        for values in [&[][..], &[part, part]] {
            let tables = [table.clone()];
            let error = forget_object(&engine, &tables, &table, values).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error:?}");
            assert!(error.to_string().contains("has 1 values"), "{error}");
        }
    }
}
