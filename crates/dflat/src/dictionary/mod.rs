//! Settings and small state by key.

mod transactional;
mod value;
mod watch;

use std::fmt;
use std::sync::Arc;

use dflat_engine::dictionary::{self as engine, Value};

pub use dflat_engine::dictionary::Overwrite;

use crate::{Error, Result, Table};
pub use transactional::TransactionDictionary;
#[cfg(feature = "serde")]
pub use value::Serde;
pub use value::{FlatBuffersValue, FromDictionary, IntoDictionary};
pub use watch::{DictionaryDeliveries, DictionarySubscription, SubscribedValue};

/// Values by key, next to the objects: settings and small state, without a second store.
///
/// A value is `bool`, `i64`, `u64`, `f32`, `f64`, a string, bytes, a [`FlatBuffersValue`], or any
/// type that serde supports (with the feature `serde`, as `Serde`). Keys are strings, in
/// [namespaces](Self::namespace).
///
/// # Guarantees
/// - A set value is visible at once, for all threads and clones. It is written in the background
///   soon after, together with other values in one commit; [`synchronize`](Self::synchronize) waits
///   for that, and so does the end of the workspace. For each key, a later value in the file is
///   never replaced by an earlier one.
/// - A write that fails is tried again by the next change, by `synchronize` and by the end of the
///   workspace; without these, the dictionary tries again after a quarter of a second, then at
///   growing intervals of up to half a minute. [`failures`](Self::failures) counts failures, and
///   [`on_failure`](Self::on_failure) reports them. If a write fails because of one key, such as a
///   key whose row in the file is damaged, the other keys are written all the same; that key is
///   tried again when it is changed, by `synchronize` and by the end of the workspace.
/// - If another process commits meanwhile, so that a write can't be committed, the write is tried
///   again at once, up to the busy timeout; this is no failure.
/// - Inside a transaction that declares [`Dictionary::TABLE`],
///   [`TransactionContext::dictionary`](crate::TransactionContext::dictionary) changes values
///   together with objects.
/// - Values are stored in the format and the table of Dflat for Swift. Its property lists can be
///   read as bytes only.
///
/// A handle does not keep the workspace open. After its shutdown, every method that reads or writes
/// fails with [`ShutDown`](crate::ErrorKind::ShutDown).
///
/// # Several processes
/// From the first use of the dictionary on, the workspace
/// [follows other processes](crate::WorkspaceBuilder::follow_processes). A value that another
/// process has set is read again soon after, and its subscribers are notified. If several processes
/// set one key, the value that is written last stays; a transaction that declares
/// [`Dictionary::TABLE`] reads the values in the file, and no other process changes them under it.
///
/// A value that is set here and waits to be written is later than a value that another process has
/// written meanwhile. It stays visible, and overwrites the other value.
/// [`on_overwrite`](Self::on_overwrite) reports this if the value in the file was known when the
/// value was set.
///
/// # Examples
/// ```
/// use dflat::Workspace;
/// # fn main() -> dflat::Result<()> {
/// let workspace = Workspace::in_memory(); // or Workspace::open("app.db")?
/// let settings = workspace.dictionary();
/// settings.set("launches", 41_i64)?;
/// settings.set("name", "Dflat")?;
///
/// let launches = settings.update("launches", |old: Option<i64>| Some(old.unwrap_or(0) + 1))?;
/// assert_eq!(launches, Some(42));
/// assert_eq!(settings.get::<String>("name")?.as_deref(), Some("Dflat"));
/// assert_eq!(settings.get_or("volume", 0.5_f64)?, 0.5);
/// let error = settings.get::<bool>("name").unwrap_err();
/// assert!(error.to_string().contains("as bool: it is String"));
///
/// settings.remove("name")?;
/// assert_eq!(settings.keys()?, ["launches"]);
/// settings.synchronize()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Dictionary {
    inner: engine::Dictionary,
}

impl Dictionary {
    /// The table that a transaction declares if it uses the dictionary.
    pub const TABLE: Table = engine::TABLE;

    pub(crate) fn new(inner: engine::Dictionary) -> Self {
        Self { inner }
    }

    /// The keys of a namespace. The namespace of [`Workspace::dictionary`] has the empty name.
    ///
    /// [`Workspace::dictionary`]: crate::Workspace::dictionary
    #[must_use]
    pub fn namespace(&self, name: &str) -> Self {
        Self::new(self.inner.namespace(name))
    }

    /// The value of a key; `None` if it has none.
    ///
    /// # Errors
    /// - [`WrongType`](crate::ErrorKind::WrongType) if the value has another type.
    /// - [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    /// - The errors of reading the file, if the value is not in memory.
    ///
    /// # Cost
    /// One look-up in the file the first time; later a look-up in memory, which allocates nothing
    /// for scalars and `Arc<str>`.
    pub fn get<T: FromDictionary>(&self, key: &str) -> Result<Option<T>> {
        let value = self.inner.get(key)?;
        value.map(|value| value::read(key, &value)).transpose()
    }

    /// The value of a key; `default` if it has none. `default` is not stored.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_or<T: FromDictionary>(&self, key: &str, default: T) -> Result<T> {
        Ok(self.get(key)?.unwrap_or(default))
    }

    /// Sets a value, and encodes it before returning; `None` removes the value of the key. If a
    /// transaction uses the key, the call waits for its end. A value that the key has already is
    /// set again, because another process may have changed the key.
    ///
    /// # Cost
    /// A change in memory; the write is made on another thread. For a value that the key has
    /// already, that thread takes write access, compares the file, and writes nothing if the file
    /// has the value.
    ///
    /// # Errors
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or callback, if a
    ///   transaction uses the key.
    /// - [`ReadOnly`](crate::ErrorKind::ReadOnly) if the file was opened for [reading
    ///   only](crate::WorkspaceBuilder::read_only).
    /// - [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown.
    /// - [`InvalidArgument`](crate::ErrorKind::InvalidArgument) if the value can't be encoded, or
    ///   is larger than 1,000,000,000 bytes.
    pub fn set(&self, key: &str, value: impl IntoDictionary) -> Result<()> {
        let value = value
            .into_value()
            .map_err(|error| error.context(format_args!("cannot set {key:?}")))?;
        self.inner.set(key, value)
    }

    /// Removes the value of a key, if it has one.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn remove(&self, key: &str) -> Result<()> {
        self.inner.set(key, None)
    }

    /// Replaces a value by the result of `change`, and returns the result. `None` means no value.
    /// The replacement is atomic: if another thread or transaction has changed the value meanwhile,
    /// `change` is called again. If the result equals the old value, nothing is written.
    ///
    /// # Errors
    /// As [`get`](Self::get) and [`set`](Self::set).
    pub fn update<T>(
        &self,
        key: &str,
        mut change: impl FnMut(Option<T>) -> Option<T>,
    ) -> Result<Option<T>>
    where
        T: FromDictionary + IntoDictionary + Clone,
    {
        let mut after = None;
        self.inner.update(key, |before| {
            let before = before.map(|value| value::read(key, value));
            after = change(before.transpose()?);
            let stored = after.clone().into_value();
            stored.map_err(|error| error.context(format_args!("cannot set {key:?}")))
        })?;
        Ok(after)
    }

    /// Whether a key has a value of any type.
    ///
    /// # Errors
    /// As [`get`](Self::get), but a value may have any type.
    pub fn contains(&self, key: &str) -> Result<bool> {
        Ok(self.inner.get(key)?.is_some())
    }

    /// The keys that have a value, in their order.
    ///
    /// # Errors
    /// [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown; otherwise the errors of reading the
    /// file.
    ///
    /// # Cost
    /// All rows of the namespace are read from the file.
    pub fn keys(&self) -> Result<Vec<String>> {
        self.keys_with_prefix("")
    }

    /// The keys that have a value and begin with a text, in their order.
    ///
    /// # Errors
    /// As [`keys`](Self::keys).
    pub fn keys_with_prefix(&self, prefix: &str) -> Result<Vec<String>> {
        let entries = self.inner.entries(prefix)?;
        Ok(entries.into_keys().map(|key| key.to_string()).collect())
    }

    /// The keys that have a value, with their values, in the order of the keys.
    ///
    /// # Errors
    /// As [`keys`](Self::keys).
    pub fn iter(&self) -> Result<impl Iterator<Item = DictionaryEntry> + use<>> {
        let entries = self.inner.entries("")?.into_iter();
        Ok(entries.map(|(key, value)| DictionaryEntry { key, value }))
    }

    /// How many keys have a value.
    ///
    /// # Errors
    /// As [`keys`](Self::keys).
    pub fn len(&self) -> Result<usize> {
        Ok(self.inner.entries("")?.len())
    }

    /// Whether no key has a value.
    ///
    /// # Errors
    /// As [`keys`](Self::keys).
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Removes all values of the namespace, one after the other. Each subscriber to a key is
    /// notified that the key has no value, even if it had none before, unless another process has
    /// set it meanwhile.
    ///
    /// # Errors
    /// As [`keys`](Self::keys) and [`set`](Self::set).
    pub fn remove_all(&self) -> Result<()> {
        self.inner.remove_all()
    }

    /// Waits until all values that any thread has set before are as durable as a commit. Also waits
    /// for the end of transactions that use these keys.
    ///
    /// # Errors
    /// - The error of a write that began after this call and failed; the write is tried again, so
    ///   that a second call may succeed. If it failed because of one key, the others are durable.
    /// - [`WouldDeadlock`](crate::ErrorKind::WouldDeadlock) inside a handler or a callback.
    /// - [`ShutDown`](crate::ErrorKind::ShutDown) after shutdown, which writes the values itself.
    pub fn synchronize(&self) -> Result<()> {
        self.inner.synchronize()
    }

    /// Sets the function that is called with the error of each failed write, on the thread that
    /// wrote. It replaces the function set before.
    pub fn on_failure(&self, callback: impl FnMut(Error) + Send + 'static) {
        self.inner.on_failure(Box::new(callback));
    }

    /// Sets the function that is called with each value of another process that a value set here
    /// has overwritten, if the value in the file was known when the value was set. It is called
    /// after the write, on the thread that wrote, and replaces the function set before.
    pub fn on_overwrite(&self, callback: impl FnMut(Overwrite) + Send + 'static) {
        self.inner.on_overwrite(Box::new(callback));
    }

    /// How many values of other processes were overwritten in this way, in all namespaces.
    #[must_use]
    pub fn overwrites(&self) -> u64 {
        self.inner.overwrites()
    }

    /// How many writes have failed, in all namespaces.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.inner.failures()
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// A key with its value, whose type is not known yet.
#[derive(Clone, PartialEq)]
pub struct DictionaryEntry {
    key: Arc<str>,
    value: Value,
}

impl DictionaryEntry {
    /// The key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The value.
    ///
    /// # Errors
    /// [`WrongType`](crate::ErrorKind::WrongType) if the value has another type.
    pub fn get<T: FromDictionary>(&self) -> Result<T> {
        value::read(&self.key, &self.value)
    }

    /// The type of the value, in words.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        value::name_of(&self.value)
    }
}

impl fmt::Debug for DictionaryEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DictionaryEntry")
            .field("key", &self.key)
            .field("type", &self.type_name())
            .finish_non_exhaustive()
    }
}
