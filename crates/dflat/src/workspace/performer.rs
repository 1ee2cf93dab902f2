//! A view of a workspace that performs changes with options.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use dflat_engine::engine::PerformOptions;
use dflat_model::Table;

use crate::transaction::{Returned, Shared, own_error};
use crate::{Error, Result, TransactionContext, TransactionHandle, Workspace};

type Handler = Box<dyn FnOnce(&TransactionContext) -> Returned + Send>;
type Retried = Box<dyn FnMut(&TransactionContext) -> Returned + Send>;

/// A view of a workspace that performs changes with options, such as those of
/// [`Workspace::write_first`], or with errors of the caller's own type `E`, as
/// [`Workspace::with_error`] describes. It has all forms that the workspace has.
#[must_use = "nothing is changed until changes are performed"]
pub struct Performer<'w, E = Error> {
    base: Base<'w>,
    error: PhantomData<fn() -> E>,
}

/// The part of a view that does not depend on the type of its errors.
#[derive(Clone, Copy)]
struct Base<'w> {
    workspace: &'w Workspace,
    options: PerformOptions,
}

impl<'w> Performer<'w> {
    pub(super) fn new(workspace: &'w Workspace) -> Self {
        let options = PerformOptions::default();
        let base = Base { workspace, options };
        let error = PhantomData;
        Self { base, error }
    }
}

impl<'w, E: From<Error> + Send + 'static> Performer<'w, E> {
    /// The same view, whose transactions take write access before their handlers run; see
    /// [`Workspace::write_first`].
    pub fn write_first(mut self) -> Self {
        self.base.options.write_first = true;
        self
    }

    /// The same view, whose handlers and handles have errors of type `F`; see
    /// [`Workspace::with_error`].
    pub fn with_error<F: From<Error> + Send + 'static>(self) -> Performer<'w, F> {
        let (base, error) = (self.base, PhantomData);
        Performer { base, error }
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
        let handler = Box::new(|tx: &TransactionContext| Returned::new(handler(tx)));
        let shared = self.base.queue(&mut types.into_iter(), handler);
        TransactionHandle::new(shared)
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
        let handler = Box::new(move |tx: &TransactionContext| Returned::new(handler(tx)));
        let shared = self.base.queue_retrying(&mut types.into_iter(), handler);
        TransactionHandle::new(shared)
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
        let Base { workspace, options } = self.base;
        let outcome = workspace
            .untyped()
            .perform_blocking(types, options, |context| {
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
        let Base { workspace, options } = self.base;
        let untyped = workspace.untyped();
        let outcome = untyped.perform_blocking_retrying(types, options, |context| {
            let returned = handler(&TransactionContext::new(context));
            returned.map_err(|error| own_error::keep(error, &mut own))
        });
        outcome.map_err(|error| own_error::join(error, own))
    }
}

/// The methods with type parameters only make these parameters untyped: a program has a copy of
/// them for each of its handlers, and one copy of these functions.
impl Base<'_> {
    fn queue(self, types: &mut dyn Iterator<Item = Table>, handler: Handler) -> Arc<Shared> {
        let shared = Shared::new();
        let handler =
            move |context, shared: &Shared| shared.give(handler(&TransactionContext::new(context)));
        let completion = |shared: Arc<Shared>, outcome| shared.complete(outcome);
        let held = Arc::clone(&shared);
        let untyped = self.workspace.untyped();
        untyped.perform(types, self.options, held, handler, completion);
        shared
    }

    fn queue_retrying(
        self,
        types: &mut dyn Iterator<Item = Table>,
        mut handler: Retried,
    ) -> Arc<Shared> {
        let shared = Shared::new();
        let handler =
            move |context, shared: &Shared| shared.give(handler(&TransactionContext::new(context)));
        let completion = |shared: Arc<Shared>, outcome| shared.complete(outcome);
        let held = Arc::clone(&shared);
        let untyped = self.workspace.untyped();
        untyped.perform_retrying(types, self.options, held, handler, completion);
        shared
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
            .field("options", &self.base.options)
            .finish_non_exhaustive()
    }
}
