//! The dictionary inside a transaction.

use dflat_engine::dictionary::{Dictionary, TransactionKeys};
use dflat_workspace::TransactionContext;

use super::value::{self, FromDictionary, IntoDictionary};
use crate::Result;

/// The dictionary inside a transaction, returned by
/// [`TransactionContext::dictionary`](crate::TransactionContext::dictionary). Its changes are
/// committed with those of the objects, or not at all.
///
/// The transaction holds a key from its first use to the end of the transaction: other callers that
/// set the key wait, and other callers that read the key get the value from before the transaction.
pub struct TransactionDictionary<'t> {
    dictionary: Dictionary,
    context: &'t TransactionContext,
}

impl<'t> TransactionDictionary<'t> {
    pub(crate) fn new(dictionary: Dictionary, context: &'t TransactionContext) -> Self {
        Self {
            dictionary,
            context,
        }
    }

    fn keys(&self) -> TransactionKeys<'t> {
        self.context.keys(&self.dictionary)
    }

    /// The keys of a namespace.
    #[must_use]
    pub fn namespace(&self, name: &str) -> Self {
        Self::new(self.dictionary.namespace(name), self.context)
    }

    /// The value of a key, including this transaction's changes.
    ///
    /// # Errors
    /// - [`WrongType`](crate::ErrorKind::WrongType) if the value has another type.
    /// - [`UndeclaredType`](crate::ErrorKind::UndeclaredType) if `perform_changes` was not given
    ///   [`Dictionary::TABLE`](crate::Dictionary::TABLE).
    /// - Otherwise as [`TransactionContext::get`](crate::TransactionContext::get).
    pub fn get<T: FromDictionary>(&self, key: &str) -> Result<Option<T>> {
        let value = self.keys().get(key)?;
        value.map(|value| value::read(key, &value)).transpose()
    }

    /// Sets a value; `None` removes the value of the key.
    ///
    /// # Errors
    /// As [`get`](Self::get), and as
    /// [`TransactionContext::submit`](crate::TransactionContext::submit).
    pub fn set(&self, key: &str, value: impl IntoDictionary) -> Result<()> {
        self.keys().set(key, value.into_value()?.as_ref())
    }

    /// Removes the value of a key, if it has one.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn remove(&self, key: &str) -> Result<()> {
        self.keys().set(key, None)
    }

    /// Replaces a value by the result of `change`, and returns the result. `None` means no value.
    ///
    /// # Errors
    /// As [`get`](Self::get) and [`set`](Self::set).
    pub fn update<T>(
        &self,
        key: &str,
        change: impl FnOnce(Option<T>) -> Option<T>,
    ) -> Result<Option<T>>
    where
        T: FromDictionary + IntoDictionary + Clone,
    {
        let after = change(self.get(key)?);
        self.set(key, after.clone())?;
        Ok(after)
    }
}

impl std::fmt::Debug for TransactionDictionary<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TransactionDictionary")
            .finish_non_exhaustive()
    }
}
