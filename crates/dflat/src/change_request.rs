//! A change to one object.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::Object;

/// A change to an object of type `T`: its creation, an update, an upsert or its deletion.
pub struct ChangeRequest<T: Object> {
    data: T::Data,
}

impl<T: Object> Deref for ChangeRequest<T> {
    type Target = T::Data;

    fn deref(&self) -> &T::Data {
        &self.data
    }
}

impl<T: Object> DerefMut for ChangeRequest<T> {
    fn deref_mut(&mut self) -> &mut T::Data {
        &mut self.data
    }
}

impl<T: Object> fmt::Debug for ChangeRequest<T>
where
    T::Data: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ChangeRequest").field(&self.data).finish()
    }
}
