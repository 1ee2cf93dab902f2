//! Objects: two words that hold one count each.

use dflat_engine::Result;
use dflat_engine::object::{LentObject, Object, Origin, RawObject, equal, exceeded_limit};
use dflat_model::{ROOT_TYPE, RowId, Table};

use crate::boundary::{
    Bytes, In, Out, RawView, export, export_release, invalid, lend_object, take_object, view_of,
};
use crate::table::TableHandle;

/// Borrows the caller's object; `None` for no object.
pub(crate) fn borrow(object: RawObject) -> Option<LentObject> {
    lend_object(object)
}

/// Borrows the caller's object, which must be one of this table.
fn borrow_of(table: &Table, object: RawObject) -> Result<Option<LentObject>> {
    let object = borrow(object);
    if object.as_ref().is_some_and(|object| !object.is_of(table)) {
        let name = &table.type_name;
        return Err(invalid(format!(
            "cannot compare objects of {name}: the object is of another type"
        )));
    }
    Ok(object)
}

/// Gives an object to the caller, with a count; without a place for it, it is released.
pub(crate) fn give(object: Option<Object>, view: Out<'_, RawView>) {
    if let Some(object) = object
        && view.is_wanted()
    {
        view.set(view_of(object));
    }
}

/// An object of bytes of the caller, which no engine has read.
fn object_of(table: &Table, payload: &[u8]) -> Result<Object> {
    Object::new(table, RowId(0), Origin::default(), payload).map_err(|_| {
        let limit = exceeded_limit(&table.types, ROOT_TYPE, payload);
        let why = limit.unwrap_or("the payload is malformed, or lacks a required value");
        invalid(format!(
            "cannot make an object of {}: {why}",
            table.type_name
        ))
    })
}

export! {
    fn dflat_object_new(
        table: In<'_, TableHandle>,
        payload: Bytes<'_>,
        view: Out<'_, RawView>,
    ) {
        view.begin("view", RawView::NONE)?;
        let object = object_of(&table.get()?.0, payload.get("payload")?)?;
        give(Some(object), view);
    }

    fn dflat_object_view(object: RawObject, view: Out<'_, RawView>) {
        view.begin("view", RawView::NONE)?;
        let object = borrow(object).ok_or_else(|| invalid("object: there is none"))?;
        give(Some(object.clone()), view);
    }

    fn dflat_object_equal(
        table: In<'_, TableHandle>,
        one: RawObject,
        other: RawObject,
        is_equal: Out<'_, i32>,
    ) {
        is_equal.begin("is_equal", 0)?;
        let table = &table.get()?.0;
        let (one, other) = (borrow_of(table, one)?, borrow_of(table, other)?);
        let same = match (one, other) {
            (Some(one), Some(other)) => {
                one.is(&other) || equal(&table.types, one.payload(), other.payload())
            }
            (None, None) => true,
            _ => false,
        };
        is_equal.set(same.into());
    }
}

export_release! {
    fn dflat_object_retain(object: RawObject) {
        if let Some(object) = borrow(object) {
            let _ = object.clone().into_raw();
        }
    }

    fn dflat_object_release(object: RawObject) {
        drop(take_object(object));
    }
}
