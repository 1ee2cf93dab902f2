//! Subjects of subscriptions.

use std::marker::PhantomData;
use std::sync::Arc;

use dflat_engine::engine::{Engine, Subject};
use dflat_engine::fetch::{Fetched, PREDICATE_DEPTH_MAX};
use dflat_engine::observe::{Event, Interest, ObjectEvent, ResultUpdate, ShapedQuery};
use dflat_model::{Expression, Table};
use dflat_workspace::{is_silent_count, is_silent_result};

use super::Update;
use super::reading::{Reading, Selected, Whole};
use crate::{Error, Fetch, FetchedResult, Object, Result, Selection};

/// A change of an observed object.
#[derive(Clone, Debug, PartialEq)]
pub enum SubscribedObject<T> {
    /// The object has new values.
    Updated(T),
    /// The object was deleted. No delivery follows: an object created later with the same key is
    /// another object.
    Deleted,
}

/// A subject of subscriptions: `&T` for an object, `&FetchedResult<T>` for a fetched result, a
/// [`Fetch`] of a workspace for a query, its [`live_count`](Fetch::live_count) for the number of
/// its objects, its [`group_by`](Fetch::group_by) for their numbers and sums by group, and its
/// [`live_select`](Fetch::live_select) for some of their values.
pub trait Observable: Sized {
    /// The deliveries that a subscriber gets.
    type Delivery: Send + 'static;

    /// The subject for the engine.
    #[doc(hidden)]
    fn observed(self, engine: &Engine) -> Result<Observed<Self::Delivery>>;
}

/// A subject for the engine, and how its events become deliveries.
#[doc(hidden)]
pub struct Observed<D> {
    pub(super) table: Table,
    pub(super) subject: Subject,
    pub(super) convert: Convert<D>,
    /// Whether a delivery is the last.
    pub(super) is_last: fn(&D) -> bool,
    /// A delivery with an error, if there are such.
    pub(super) failed: fn(Error) -> Option<D>,
}

/// Makes a delivery of an event; `None` if the event needs none. The flag says whether the initial
/// state is delivered too.
pub(super) type Convert<D> = Box<dyn FnMut(Event, bool) -> Option<D> + Send>;

impl<T: Object> Observable for &T {
    type Delivery = SubscribedObject<T>;

    fn observed(self, _: &Engine) -> Result<Observed<SubscribedObject<T>>> {
        Ok(Observed {
            table: T::TABLE,
            subject: Subject::Object(self.handle().clone()),
            convert: Box::new(|event, _| match event {
                Event::Object(ObjectEvent::Updated(object)) => {
                    Some(SubscribedObject::Updated(T::from_handle(object)))
                }
                Event::Object(ObjectEvent::Deleted) => Some(SubscribedObject::Deleted),
                Event::Result(_) | Event::Count(..) | Event::Groups(..) => None,
            }),
            is_last: |delivery| matches!(delivery, SubscribedObject::Deleted),
            failed: |_| None,
        })
    }
}

impl<T: Object> Observable for &FetchedResult<T> {
    type Delivery = Result<Update<FetchedResult<T>>>;

    fn observed(self, _: &Engine) -> Result<Observed<Self::Delivery>> {
        let known = Some(self.to_fetched());
        Ok(results(self.to_query(), known))
    }
}

impl<T: Object> Observable for Fetch<'_, T> {
    type Delivery = Result<Update<FetchedResult<T>>>;

    fn observed(self, engine: &Engine) -> Result<Observed<Self::Delivery>> {
        let query = self.query_of(engine)?;
        Ok(results(query.into(), None))
    }
}

/// A subscribable count of the objects of a query.
#[must_use = "a count does nothing until it is subscribed to"]
#[derive(Debug)]
pub struct LiveCount<'w, T>(Fetch<'w, T>);

impl<T: Object> Observable for LiveCount<'_, T> {
    type Delivery = Result<usize>;

    fn observed(self, engine: &Engine) -> Result<Observed<Result<usize>>> {
        let query = self.0.query_of(engine)?;
        // The last delivered count, unless an error was delivered since.
        let mut last = None;
        Ok(Observed {
            table: T::TABLE,
            subject: Subject::Count(query.into()),
            convert: Box::new(move |event, initial| match event {
                Event::Count(count, commits) => {
                    let before = std::mem::replace(&mut last, count.as_ref().ok().copied());
                    let silent = is_silent_count(before, last, commits, initial);
                    (!silent).then_some(count)
                }
                Event::Object(_) | Event::Result(_) | Event::Groups(..) => None,
            }),
            is_last: |_| false,
            failed: |error| Some(Err(error)),
        })
    }
}

/// Some values of the objects of a query, to be subscribed to.
#[must_use = "a projection does nothing until it is subscribed to"]
#[derive(Debug)]
pub struct Projection<'w, T, S> {
    fetch: Fetch<'w, T>,
    expressions: Arc<[Expression]>,
    selection: PhantomData<fn() -> S>,
}

impl<T: Object, S: Selection<T>> Observable for Projection<'_, T, S> {
    type Delivery = Result<Update<Arc<[S::Output]>>>;

    fn observed(self, engine: &Engine) -> Result<Observed<Self::Delivery>> {
        let query = self.fetch.query_of(engine)?;
        let interest = Interest::Values(self.expressions);
        let query = ShapedQuery::new(query, interest);
        Ok(observed::<T, _>((query, None), Selected(S::read)))
    }
}

impl<'w, T: Object> Fetch<'w, T> {
    /// A subscribable count of the query's objects: each change of it is delivered.
    ///
    /// The count keeps no object, and reads nothing after the first count.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::Post;
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let urgent = workspace.fetch::<Post>().filter(Post::PRIORITY.gt(100));
    /// let count = workspace.observe(urgent.live_count())?.watch()?;
    /// workspace.settle()?;
    /// assert_eq!(count.latest().expect("the count as it is")?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn live_count(self) -> LiveCount<'w, T> {
        LiveCount(self)
    }

    /// Some values of the query's objects, to be subscribed to: a delivery is made if one of the
    /// values changes, or if the objects of the result or their order change. Changes to other
    /// fields of the objects make none.
    ///
    /// # Examples
    /// ```
    /// # mod post {
    /// #     include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/post.rs"));
    /// # }
    /// use dflat::Workspace;
    /// use post::Post;
    /// # fn main() -> dflat::Result<()> {
    /// let workspace = Workspace::in_memory();
    /// let titles = workspace.fetch::<Post>().live_select(Post::TITLE);
    /// let titles = workspace.observe(titles)?.watch()?;
    /// workspace.settle()?;
    /// assert!(titles.latest().expect("the titles as they are")?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub fn live_select<S: Selection<T>>(mut self, selection: S) -> Projection<'w, T, S> {
        let expressions = selection.expressions().into_iter();
        let expressions = expressions.map(|(expression, depth)| {
            if depth > PREDICATE_DEPTH_MAX {
                self.refuse_as_too_deep();
            }
            expression
        });
        let expressions = expressions.collect();
        Projection {
            fetch: self,
            expressions,
            selection: PhantomData,
        }
    }
}

/// The deliveries of a query for whole objects.
fn results<T: Object>(
    query: ShapedQuery,
    known: Option<Fetched>,
) -> Observed<Result<Update<FetchedResult<T>>>> {
    observed::<T, _>((query, known), Whole(PhantomData))
}

/// The deliveries of a query for some values of its objects.
fn observed<T: Object, R: Reading>(
    (query, known): (ShapedQuery, Option<Fetched>),
    reading: R,
) -> Observed<Result<Update<R::Read>>> {
    // The last delivered values.
    let mut last = known.clone().map(|known| reading.read(known, &query).1);
    let convert = move |event: Event, initial: bool| {
        let ResultUpdate {
            query,
            fetched,
            difference,
            commits,
        } = match event {
            Event::Result(Ok(update)) => *update,
            Event::Result(Err(error)) => return Some(Err(error)),
            Event::Object(_) | Event::Count(..) | Event::Groups(..) => return None,
        };
        let commit = fetched.seq.0;
        let (result, kept) = reading.read(fetched, &query);
        let previous = last.replace(kept);
        let before = previous.as_ref().map(|kept| R::objects(kept).as_slice());
        let after = last.as_ref().map_or(&[][..], |kept| R::objects(kept));
        let live = (&T::TABLE, &query);
        let silent = is_silent_result(live, before, after, commits, initial);
        let previous = previous.map(|kept| reading.read_again(kept, &query));
        (!silent).then_some(Ok(Update {
            result,
            previous,
            difference,
            commit,
            commits,
        }))
    };
    Observed {
        table: T::TABLE,
        subject: Subject::Result { query, known },
        convert: Box::new(convert),
        is_last: |_| false,
        failed: |error| Some(Err(error)),
    }
}
