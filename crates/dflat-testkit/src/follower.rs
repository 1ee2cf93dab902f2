//! A subscriber to a query that compares each delivery with the one before.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dflat::{
    Cursor, Difference, Fetch, FetchedResult, Field, Object, RowId, Step, Subscription, Sure,
    Update, Workspace,
};

use crate::lower;
use crate::model::{Model, Question, same};
use crate::random::Random;
use crate::schema::{Sample, SampleData};

/// A live query and its deliveries.
pub struct Follower {
    /// The query.
    question: Question,
    /// The cursor position behind which the result begins.
    after: Option<Cursor>,
    deliveries: Arc<Mutex<Deliveries>>,
    subscriptions: [Subscription; 3],
}

/// The first and the latest result, and the difference between them.
#[derive(Default)]
struct Deliveries {
    first: Option<FetchedResult<Sample>>,
    latest: Option<FetchedResult<Sample>>,
    /// The composed differences, which lead from the first result to the latest.
    composed: Difference,
    count: Option<usize>,
    /// The latest projection.
    projected: Option<String>,
}

type Seen = (
    Field<Sample, str>,
    Field<Sample, i32, Sure>,
    Field<Sample, u64, Sure>,
);

/// The fields of the projection.
const SEEN: Seen = (Sample::NAME, Sample::SIZE, Sample::WIDE);

impl Follower {
    /// Follows a query, from its fetched result or from nothing. The deliveries are made by calls,
    /// or by jobs of an executor, which may merge several commits.
    #[must_use]
    pub fn new(
        workspace: &Workspace,
        question: Question,
        after: Option<Cursor>,
        random: &mut Random,
    ) -> Self {
        let deliveries: Arc<Mutex<Deliveries>> = Arc::default();
        let fetch = || fetch(workspace, &question, after.as_ref());
        let observation = if random.one_in(2) {
            workspace.observe(fetch()).unwrap()
        } else {
            let fetched = fetch().all().unwrap();
            let mut deliveries = lock(&deliveries);
            (deliveries.first, deliveries.latest) = (Some(fetched.clone()), Some(fetched.clone()));
            drop(deliveries);
            workspace.observe(&fetched).unwrap()
        };
        let observation = match random.one_in(3) {
            true => observation.on(|job| job()),
            false => observation,
        };
        let noted = Arc::clone(&deliveries);
        let results = observation.call(move |update| lock(&noted).note(&update.unwrap()));
        let noted = Arc::clone(&deliveries);
        let counts = workspace.subscribe(fetch().live_count(), move |count| {
            let before = lock(&noted).count.replace(count.clone().unwrap());
            assert_ne!(
                before,
                count.ok(),
                "a count is delivered only if it changes"
            );
        });
        let noted = Arc::clone(&deliveries);
        let projection = workspace.subscribe(fetch().live_select(SEEN), move |update| {
            let update = update.unwrap();
            let projected = format!("{:?}", update.result());
            let before = lock(&noted).projected.replace(projected);
            let is_due = before.is_none() || !update.difference().is_empty();
            assert!(is_due, "a projection is delivered only if it changes");
        });
        Self {
            question,
            after,
            deliveries,
            subscriptions: [results.unwrap(), counts.unwrap(), projection.unwrap()],
        }
    }

    /// Compares the latest result with the model. The model has no cursors.
    pub fn check(&self, model: &Model) {
        for subscription in &self.subscriptions {
            let error = subscription.error();
            assert!(error.is_none(), "{self:?}: {error:?}");
        }
        let deliveries = lock(&self.deliveries);
        let latest = deliveries.latest.as_ref().unwrap();
        assert_eq!(deliveries.count, Some(latest.len()), "{self:?}");
        let first = deliveries.first.as_ref().unwrap();
        let mut list = first.to_vec();
        deliveries
            .composed
            .apply(&mut list, |at| latest[at].clone());
        agree(&list, latest, "by all differences");
        if self.after.is_some() {
            return;
        }
        let expected = model.ask(&self.question);
        let ids = |data: &SampleData| data.id;
        let found: Vec<SampleData> = latest.iter().map(Object::to_data).collect();
        assert_eq!(
            found.iter().map(ids).collect::<Vec<_>>(),
            expected.iter().map(|data| data.id).collect::<Vec<_>>(),
            "{self:?}"
        );
        for (found, expected) in found.iter().zip(&expected) {
            assert!(same(found, expected), "{found:?} is not {expected:?}");
        }
    }

    /// Whether the latest result and the latest projection equal a fresh fetch.
    #[must_use]
    pub fn is_fresh(&self, workspace: &Workspace) -> bool {
        let fetch = || fetch(workspace, &self.question, self.after.as_ref());
        let (fresh, projected) = (fetch().all().unwrap(), fetch().select(SEEN).unwrap());
        let deliveries = lock(&self.deliveries);
        deliveries.latest.as_ref() == Some(&fresh)
            && deliveries.projected == Some(format!("{projected:?}"))
    }

    /// Compares the latest result and the latest projection with a fresh fetch.
    pub fn check_fresh(&self, workspace: &Workspace) {
        let fetch = || fetch(workspace, &self.question, self.after.as_ref());
        let deliveries = lock(&self.deliveries);
        let fresh = fetch().all().unwrap();
        agree(
            deliveries.latest.as_ref().unwrap(),
            &fresh,
            &format!("{self:?}"),
        );
        let fresh = format!("{:?}", fetch().select(SEEN).unwrap());
        assert_eq!(deliveries.projected.as_ref(), Some(&fresh), "{self:?}");
    }

    /// Ends the subscription.
    pub fn cancel(&self) {
        self.subscriptions.iter().for_each(Subscription::cancel);
    }
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} after {:?}", self.question, self.after)
    }
}

fn fetch<'w>(
    workspace: &'w Workspace,
    question: &Question,
    after: Option<&Cursor>,
) -> Fetch<'w, Sample> {
    let fetch = lower::fetch(workspace.fetch::<Sample>(), question);
    match after {
        Some(cursor) => fetch.after(cursor.clone()),
        None => fetch,
    }
}

impl Deliveries {
    fn note(&mut self, update: &Update<FetchedResult<Sample>>) {
        let result = update.result();
        let previous = update.previous().map(|previous| row_ids(previous));
        assert_eq!(previous, self.latest.as_ref().map(|latest| row_ids(latest)));
        let Some(before) = &self.latest else {
            assert_eq!(
                update.commits(),
                0,
                "the first delivery is the initial result"
            );
            (self.first, self.latest) = (Some(result.clone()), Some(result.clone()));
            return;
        };
        let difference = update.difference();
        assert!(
            !difference.is_empty(),
            "an unchanged result is not delivered"
        );
        let mut list = before.to_vec();
        difference.apply(&mut list, |at| result[at].clone());
        agree(&list, result, "by its difference");
        let mut list = before.to_vec();
        for step in difference.steps() {
            match step {
                Step::Remove(at) => drop(list.remove(at)),
                Step::Insert(at) => list.insert(at, result[at].clone()),
                Step::Update(at) => {
                    let before = std::mem::replace(&mut list[at], result[at].clone());
                    assert_eq!(before.row_id(), result[at].row_id());
                }
            }
        }
        agree(&list, result, "by its steps");
        let at = |list: &[Sample], at: usize| list[at].row_id();
        for moved in difference.moved() {
            assert_eq!(at(before, moved.from), at(result, moved.to), "moved");
        }
        for inserted in difference.inserted() {
            let id = at(result, inserted);
            assert!(before.iter().all(|other| other.row_id() != id), "it is new");
        }
        for updated in difference.updated() {
            let id = at(result, updated);
            let was = before.iter().find(|other| other.row_id() == id).unwrap();
            assert!(
                !same(&was.to_data(), &result[updated].to_data()),
                "it has new values"
            );
        }
        self.composed = self.composed.compose(difference);
        self.latest = Some(result.clone());
    }
}

fn lock(deliveries: &Mutex<Deliveries>) -> MutexGuard<'_, Deliveries> {
    // A failed check is the error of the subscription.
    deliveries.lock().unwrap_or_else(PoisonError::into_inner)
}

fn row_ids(samples: &[Sample]) -> Vec<RowId> {
    samples.iter().map(Object::row_id).collect()
}

/// Checks that the list made from a difference equals the result.
fn agree(list: &[Sample], result: &[Sample], how: &str) {
    assert_eq!(row_ids(list), row_ids(result), "{how}");
    for (made, expected) in list.iter().zip(result) {
        assert!(same(&made.to_data(), &expected.to_data()), "{how}");
    }
}
