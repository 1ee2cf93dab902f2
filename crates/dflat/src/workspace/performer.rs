//! A view of a workspace that performs changes with options.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use dflat_engine::engine::PerformOptions;
use dflat_model::Table;

use crate::transaction::{Shared, channel, own_error};
use crate::{Error, Result, TransactionContext, TransactionHandle, Workspace};

/// A view of a workspace that performs changes with options, such as those of
/// [`Workspace::write_first`], or with errors of the caller's own type `E`, as
/// [`Workspace::with_error`] describes. It has all forms that the workspace has.
#[must_use = "nothing is changed until changes are performed"]
pub struct Performer<'w, E = Error> {
    workspace: &'w Workspace,
    options: PerformOptions,
    error: PhantomData<fn() -> E>,
}

impl<'w> Performer<'w> {
    pub(super) fn new(workspace: &'w Workspace) -> Self {
        Self {
            workspace,
            options: PerformOptions::default(),
            error: PhantomData,
        }
    }
}

impl<'w, E: From<Error> + Send + 'static> Performer<'w, E> {
    /// The same view, whose transactions take write access before their handlers run; see
    /// [`Workspace::write_first`].
    pub fn write_first(mut self) -> Self {
        self.options.write_first = true;
        self
    }

    /// The same view, whose handlers and handles have errors of type `F`; see
    /// [`Workspace::with_error`].
    pub fn with_error<F: From<Error> + Send + 'static>(self) -> Performer<'w, F> {
        Performer {
            workspace: self.workspace,
            options: self.options,
            error: PhantomData,
        }
    }

    /// As [`Workspace::perform_changes`], with the options of this view.
    ///
    /// # Errors
    /// The call itself does not fail; see [`TransactionHandle::wait`].
    pub fn perform_changes<R: Send + 'static>(
        &self,
        types: impl IntoIterator<Item = Table>,
        handler: impl FnOnce(&TransactionContext) -> Result<R, E> + Send + 'static,
    ) -> TransactionHandle<R, E> {
        let (shared, handle) = channel(None);
        let handler = move |context, shared: &Shared<R, E>| {
            shared.give(handler(&TransactionContext::new(context)))
        };
        let completion = |shared: Arc<Shared<R, E>>, outcome| shared.complete(outcome);
        let untyped = self.workspace.untyped();
        untyped.perform(types, self.options, shared, handler, completion);
        handle
    }

    /// As [`Workspace::perform_changes_retrying`], with the options of this view.
    ///
    /// # Errors
    /// The call itself does not fail; see [`TransactionHandle::wait`].
    pub fn perform_changes_retrying<R: Send + 'static>(
        &self,
        types: impl IntoIterator<Item = Table>,
        mut handler: impl FnMut(&TransactionContext) -> Result<R, E> + Send + 'static,
    ) -> TransactionHandle<R, E> {
        let (shared, handle) = channel(None);
        let handler = move |context, shared: &Shared<R, E>| {
            shared.give(handler(&TransactionContext::new(context)))
        };
        let completion = |shared: Arc<Shared<R, E>>, outcome| shared.complete(outcome);
        let untyped = self.workspace.untyped();
        untyped.perform_retrying(types, self.options, shared, handler, completion);
        handle
    }

    /// As [`Workspace::perform_changes_blocking`], with the options of this view.
    ///
    /// # Errors
    /// As [`Workspace::perform_changes_blocking`].
    pub fn perform_changes_blocking<R>(
        &self,
        types: impl IntoIterator<Item = Table>,
        handler: impl FnOnce(&TransactionContext) -> Result<R, E>,
    ) -> Result<R, E> {
        let mut own = None;
        let untyped = self.workspace.untyped();
        let outcome = untyped.perform_blocking(types, self.options, |context| {
            let returned = handler(&TransactionContext::new(context));
            returned.map_err(|error| own_error::keep(error, &mut own))
        });
        outcome.map_err(|error| own_error::join(error, own))
    }

    /// As [`Workspace::perform_changes_blocking_retrying`], with the options of this view.
    ///
    /// # Errors
    /// As [`Workspace::perform_changes_blocking_retrying`].
    pub fn perform_changes_blocking_retrying<R>(
        &self,
        types: impl IntoIterator<Item = Table>,
        mut handler: impl FnMut(&TransactionContext) -> Result<R, E>,
    ) -> Result<R, E> {
        let mut own = None;
        let untyped = self.workspace.untyped();
        let outcome = untyped.perform_blocking_retrying(types, self.options, |context| {
            let returned = handler(&TransactionContext::new(context));
            returned.map_err(|error| own_error::keep(error, &mut own))
        });
        outcome.map_err(|error| own_error::join(error, own))
    }
}

impl<E> Clone for Performer<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E> Copy for Performer<'_, E> {}

impl<E> fmt::Debug for Performer<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Performer")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
