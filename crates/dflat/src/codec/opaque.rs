//! Values whose type is hidden from the compiler.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::{Encoder, Message, TableReader};

/// A table inside another, where a schema has chains of tables longer than rustc follows.
///
/// It behaves as a `Box<T>`, with one difference: rustc does not see the `T` when it checks whether
/// the surrounding table is `Send`, computes the types that dropping the table drops, and decides
/// which code to compile for the table. `into` converts a `T` into an `Opaque<T>`.
pub struct Opaque<T> {
    // Invariant: the value is a `T`.
    value: Box<dyn Held>,
    held: PhantomData<fn() -> T>,
}

/// The operations on a value whose type is hidden.
trait Held: Any + Send + Sync {
    fn duplicate(&self) -> Box<dyn Held>;
    fn same(&self, other: &dyn Any) -> bool;
    fn debug(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
    fn encode(&self, encoder: &mut Encoder<'_>);
}

/// The operations of an owned table.
pub trait Holdable: Message + Clone + PartialEq + fmt::Debug + Send + Sync {}

impl<T: Message + Clone + PartialEq + fmt::Debug + Send + Sync> Holdable for T {}

impl<T: Holdable> Held for T {
    fn duplicate(&self) -> Box<dyn Held> {
        Box::new(self.clone())
    }

    fn same(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }

    fn debug(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt(f)
    }

    fn encode(&self, encoder: &mut Encoder<'_>) {
        Message::encode(self, encoder);
    }
}

const WRONG_TYPE: &str = "an opaque value has its type";

impl<T: Holdable> Opaque<T> {
    /// Holds a value.
    #[must_use]
    pub fn new(value: T) -> Self {
        Self {
            value: Box::new(value),
            held: PhantomData,
        }
    }

    /// Returns the value.
    #[must_use]
    pub fn into_inner(self) -> T {
        let value: Box<dyn Any> = self.value;
        match value.downcast() {
            Ok(value) => *value,
            Err(_) => unreachable!("{WRONG_TYPE}"),
        }
    }
}

impl<T: Holdable> From<T> for Opaque<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: 'static> Deref for Opaque<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let value: &dyn Any = &*self.value;
        match value.downcast_ref() {
            Some(value) => value,
            None => unreachable!("{WRONG_TYPE}"),
        }
    }
}

impl<T: 'static> DerefMut for Opaque<T> {
    fn deref_mut(&mut self) -> &mut T {
        let value: &mut dyn Any = &mut *self.value;
        match value.downcast_mut() {
            Some(value) => value,
            None => unreachable!("{WRONG_TYPE}"),
        }
    }
}

impl<T> Clone for Opaque<T> {
    fn clone(&self) -> Self {
        Self {
            value: self.value.duplicate(),
            held: PhantomData,
        }
    }
}

impl<T> PartialEq for Opaque<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value.same(&*other.value)
    }
}

impl<T: Eq> Eq for Opaque<T> {}

impl<T> fmt::Debug for Opaque<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.debug(f)
    }
}

impl<T: Holdable> Message for Opaque<T> {
    type Ref<'a> = T::Ref<'a>;

    fn view(table: TableReader<'_>) -> Self::Ref<'_> {
        T::view(table)
    }

    fn decode(view: Self::Ref<'_>) -> Self {
        Self::new(T::decode(view))
    }

    fn encode(&self, encoder: &mut Encoder<'_>) {
        self.value.encode(encoder);
    }
}
