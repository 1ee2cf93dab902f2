//! Groups as a subject of subscriptions.

use std::sync::Arc;

use dflat_engine::engine::{Engine, Subject};
use dflat_engine::observe::Event;

use super::Observable;
use super::observable::Observed;
use crate::fetch::read_groups;
use crate::{FieldType, Group, GroupBy, Object, Result};

impl<T, K, S> Observable for GroupBy<'_, T, K, S>
where
    T: Object,
    K: FieldType + ?Sized,
    S: Send + Sync + 'static,
{
    type Delivery = Result<Arc<[Group<K::Owned, S>]>>;

    fn observed(self, engine: &Engine) -> Result<Observed<Self::Delivery>> {
        let (grouping, reader) = (self.grouping(), self.reader);
        let query = self.fetch.query_of(engine)?;
        // The last delivered groups, unless an error was delivered since.
        let mut last = None;
        Ok(Observed {
            table: T::TABLE,
            subject: Subject::Groups(query.into(), grouping),
            convert: Box::new(move |event, initial| {
                let Event::Groups(groups, commits) = event else {
                    return None;
                };
                let before = std::mem::replace(&mut last, groups.as_ref().ok().cloned());
                let silent = match (&before, &last) {
                    (None, Some(_)) => commits == 0 && !initial,
                    // Several changes can cancel each other out.
                    (before, groups) => groups.is_some() && before == groups,
                };
                let read = groups.and_then(|groups| read_groups::<T, K, S>(&groups, reader));
                (!silent).then(|| read.map(Arc::from))
            }),
            is_last: |_| false,
            failed: |error| Some(Err(error)),
        })
    }
}
