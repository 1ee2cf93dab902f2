//! A view of a workspace that performs changes with options.

use std::fmt;
use std::sync::Arc;

use dflat_engine::engine::PerformOptions;
use dflat_model::Table;

use crate::transaction::{Shared, channel};
use crate::{Result, TransactionContext, TransactionHandle, Workspace};

/// A view of a workspace that performs changes with options, such as those of
/// [`Workspace::write_first`]. It has all forms that the workspace has.
#[derive(Clone, Copy)]
#[must_use = "nothing is changed until changes are performed"]
pub struct Performer<'w> {
    workspace: &'w Workspace,
    options: PerformOptions,
}

impl<'w> Performer<'w> {
    pub(super) fn new(workspace: &'w Workspace) -> Self {
        Self {
            workspace,
            options: PerformOptions::default(),
        }
    }

    /// Has transactions take write access before their handlers run; see
    /// [`Workspace::write_first`].
    pub(super) fn write_first(mut self) -> Self {
        self.options.write_first = true;
        self
    }

    /// As [`Workspace::perform_changes`], with the options of this view.
    ///
    /// # Errors
    /// The call itself does not fail; see [`TransactionHandle::wait`].
    pub fn perform_changes<R: Send + 'static>(
        &self,
        types: impl IntoIterator<Item = Table>,
        handler: impl FnOnce(&TransactionContext) -> Result<R> + Send + 'static,
    ) -> TransactionHandle<R> {
        let (shared, handle) = channel();
        let handler = move |context, shared: &Shared<R>| {
            shared.give(handler(&TransactionContext::new(context))?);
            Ok(())
        };
        let completion = |shared: Arc<Shared<R>>, outcome| shared.complete(outcome);
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
        mut handler: impl FnMut(&TransactionContext) -> Result<R> + Send + 'static,
    ) -> TransactionHandle<R> {
        let (shared, handle) = channel();
        let handler = move |context, shared: &Shared<R>| {
            shared.give(handler(&TransactionContext::new(context))?);
            Ok(())
        };
        let completion = |shared: Arc<Shared<R>>, outcome| shared.complete(outcome);
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
        handler: impl FnOnce(&TransactionContext) -> Result<R>,
    ) -> Result<R> {
        let handler = |context| handler(&TransactionContext::new(context));
        let untyped = self.workspace.untyped();
        untyped.perform_blocking(types, self.options, handler)
    }

    /// As [`Workspace::perform_changes_blocking_retrying`], with the options of this view.
    ///
    /// # Errors
    /// As [`Workspace::perform_changes_blocking_retrying`].
    pub fn perform_changes_blocking_retrying<R>(
        &self,
        types: impl IntoIterator<Item = Table>,
        mut handler: impl FnMut(&TransactionContext) -> Result<R>,
    ) -> Result<R> {
        let handler = |context| handler(&TransactionContext::new(context));
        let untyped = self.workspace.untyped();
        untyped.perform_blocking_retrying(types, self.options, handler)
    }
}

impl fmt::Debug for Performer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Performer")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
