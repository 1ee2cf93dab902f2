//! Look-ups by primary key.

use dflat_workspace::Source;

use crate::codec::KeyParts;
use crate::object::Stored;
use crate::{Object, Result};

/// The object with a primary key.
pub(crate) fn get<T: Object>(source: Source<'_>, key: T::Key<'_>) -> Result<Option<T>> {
    let found = source.get(Stored::<T>::TABLE, &T::key_values(key))?;
    Ok(found.map(T::from_handle))
}

/// The objects with these primary keys, in the order of the keys.
pub(crate) fn get_many<'k, T: Object>(
    source: Source<'_>,
    keys: impl IntoIterator<Item = T::Key<'k>>,
) -> Result<Vec<Option<T>>> {
    let keys: Vec<KeyParts<'k>> = keys.into_iter().map(T::key_values).collect();
    let found = source.get_many(Stored::<T>::TABLE, &keys)?.into_iter();
    Ok(found.map(|found| found.map(T::from_handle)).collect())
}
