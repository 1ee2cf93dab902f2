//! Whether every object has the value of a field.

/// Every object has the value: the third type parameter of a [`Field`](super::Field).
///
/// Generated code marks numbers, enums and strings with a default, keys and required strings so,
/// unless they are inside a struct or table that may be missing, or inside a union. Floats are
/// marked only if they are part of the key, because NaN counts as missing. Computed values are not
/// marked, because overflow and division by zero leave them without a value.
#[derive(Clone, Copy, Debug)]
pub enum Sure {}

/// An object may lack the value: the third type parameter of a [`Field`](super::Field).
#[derive(Clone, Copy, Debug)]
pub enum Maybe {}

/// [`Sure`] or [`Maybe`].
pub trait Presence: 'static {
    /// The form in which a value is read: plain, or an `Option`.
    type Read<V: PartialEq + Send + Sync + 'static>: PartialEq + Send + Sync + 'static;

    /// The form of a value; `None` if it is missing although every object has it.
    #[doc(hidden)]
    fn read<V: PartialEq + Send + Sync + 'static>(value: Option<V>) -> Option<Self::Read<V>>;
}

impl Presence for Sure {
    type Read<V: PartialEq + Send + Sync + 'static> = V;

    fn read<V: PartialEq + Send + Sync + 'static>(value: Option<V>) -> Option<V> {
        value
    }
}

impl Presence for Maybe {
    type Read<V: PartialEq + Send + Sync + 'static> = Option<V>;

    fn read<V: PartialEq + Send + Sync + 'static>(value: Option<V>) -> Option<Option<V>> {
        Some(value)
    }
}
