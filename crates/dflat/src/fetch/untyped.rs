//! A query without its static type: a program has one copy of this code, whatever its types are.

use dflat_engine::engine::Engine;
use dflat_engine::fetch::{Cancellation, Control, Fetched, PREDICATE_DEPTH_MAX};
use dflat_engine::observe::ShapedQuery;
use dflat_model::{Expression, Order, Predicate, Query, Table};
use dflat_workspace::{OwnedSource, Source};

use crate::query::Nested;
use crate::{Error, ErrorKind, Result};

/// A query without the state that it reads.
pub(super) struct Detached {
    table: Table,
    query: Query,
    control: Control,
    too_deep: bool,
}

impl Detached {
    /// The query of a state, which ends when its caller no longer waits.
    pub(super) fn attach(self, source: Source<'_>, abandonment: Cancellation) -> Untyped<'_> {
        let mut control = self.control;
        control.abandonment = Some(abandonment);
        Untyped {
            fetch: dflat_workspace::Fetch {
                source,
                table: self.table,
                query: self.query,
                control,
            },
            too_deep: self.too_deep,
        }
    }
}

/// A query that is being built.
pub(super) struct Untyped<'w> {
    pub(super) fetch: dflat_workspace::Fetch<'w>,
    /// Whether a condition was dropped because it was too deep.
    pub(super) too_deep: bool,
}

impl<'w> Untyped<'w> {
    // Not inlined: that would copy the code into the program for each of its types.
    #[inline(never)]
    pub(super) fn new(source: Source<'w>, table: &Table) -> Self {
        Self {
            fetch: dflat_workspace::Fetch::new(source, table.clone()),
            too_deep: false,
        }
    }

    pub(super) fn filter(&mut self, predicate: Nested<Predicate>) {
        self.too_deep |= predicate.is_too_deep();
        let query = &mut self.fetch.query;
        query.predicate = Some(match query.predicate.take() {
            None => predicate.inner,
            Some(before) => before.and(predicate.inner),
        });
    }

    /// Adds an order; `too_deep` says whether its value was dropped.
    pub(super) fn order_by(&mut self, (order, too_deep): (Order, bool)) {
        self.too_deep |= too_deep;
        self.fetch.query.order.push(order);
    }

    /// Refuses a query if one of its conditions was dropped because it was too deep.
    pub(super) fn check(&self) -> Result<()> {
        if !self.too_deep {
            return Ok(());
        }
        let message = format!(
            "cannot query {}: a condition or a value is nested more than {PREDICATE_DEPTH_MAX} deep",
            self.fetch.table.type_name
        );
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }

    /// A value to compute from the objects, unless it or the query's condition is too deep.
    pub(super) fn keep(&mut self, (value, depth): (Expression, usize)) -> Result<Expression> {
        self.too_deep |= depth > PREDICATE_DEPTH_MAX;
        self.check()?;
        Ok(value)
    }

    pub(super) fn all(self) -> Result<(Fetched, ShapedQuery)> {
        self.check()?;
        Ok((self.fetch.all()?, self.fetch.query.into()))
    }

    /// Runs the query with a limit of one object at most.
    pub(super) fn first(mut self) -> Result<(Fetched, ShapedQuery)> {
        let limit = self.fetch.query.limit.map_or(1, |limit| limit.min(1));
        self.fetch.query.limit = Some(limit);
        self.all()
    }

    /// The state that the query reads, if it can be read later, and the rest of the query.
    pub(super) fn detach(self) -> (Option<OwnedSource>, Detached) {
        let detached = Detached {
            table: self.fetch.table,
            query: self.fetch.query,
            control: self.fetch.control,
            too_deep: self.too_deep,
        };
        (self.fetch.source.to_owned(), detached)
    }

    /// The query, if its workspace is that of an engine.
    pub(super) fn query_of(self, engine: &Engine) -> Result<Query> {
        self.check()?;
        if matches!(self.fetch.source, Source::Workspace(source) if source.is_same(engine)) {
            return Ok(self.fetch.query);
        }
        let message = format!(
            "cannot subscribe to a query of {} that was not started from this workspace",
            self.fetch.table.type_name
        );
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }
}
