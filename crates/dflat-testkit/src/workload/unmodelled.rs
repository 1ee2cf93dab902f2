//! Random changes without a model, for processes that write to one file at the same time.

use dflat::{ChangeRequest, Error, ErrorKind, Result, TransactionContext};

use super::generate::{condition, sample, step};
use super::{Step, widen};
use crate::lower;
use crate::model::Question;
use crate::random::Random;
use crate::schema::{Sample, SampleData};

/// A random query.
pub fn random_question(random: &mut Random) -> Question {
    super::generate::question(random)
}

/// A random object.
pub fn random_sample(random: &mut Random) -> SampleData {
    sample(random)
}

/// Makes random changes in a transaction, behind savepoints too. A change that conflicts with
/// another object, or whose object is missing, changes nothing.
///
/// # Errors
/// An error that ends the transaction.
pub fn change_at_random(tx: &TransactionContext, random: &mut Random) -> Result<()> {
    let mut steps: Vec<Step> = (0..random.below(6)).map(|_| step(random)).collect();
    if !steps.is_empty() {
        widen(random, &mut steps);
    }
    if random.one_in(12) {
        steps.push(Step::DeleteWhere(condition(random, 3)));
    }
    steps.into_iter().try_for_each(|step| make(tx, step))
}

fn make(tx: &TransactionContext, step: Step) -> Result<()> {
    let found = |id| tx.get::<Sample>(id);
    let request = match step {
        Step::Insert(data) => Some(ChangeRequest::creation(data)),
        Step::Upsert(data) => Some(ChangeRequest::upsert(data)),
        Step::Update(id, data) => match found(id)? {
            Some(object) => ChangeRequest::change(tx, &object)?.map(|mut request| {
                *request = data;
                request
            }),
            None => None,
        },
        Step::Delete(id) => match found(id)? {
            Some(object) => ChangeRequest::deletion(tx, &object)?,
            None => None,
        },
        Step::UpdateWhere(condition) => {
            let change = |data: &mut SampleData| data.size = data.size.wrapping_add(1);
            return tx
                .update_where(lower::condition(&condition), change)
                .map(drop);
        }
        Step::DeleteWhere(condition) => {
            return tx.delete_where(lower::condition(&condition)).map(drop);
        }
        Step::Nested(steps, fails) => {
            let undone = || Error::new(ErrorKind::User, "undone");
            let nested = tx.nested(|tx| {
                steps.into_iter().try_for_each(|step| make(tx, step))?;
                if fails { Err(undone()) } else { Ok(()) }
            });
            return nested.or_else(|error| match error.kind() {
                ErrorKind::User => Ok(()),
                _ => Err(error),
            });
        }
    };
    match request.map_or(Ok(()), |request| tx.submit::<Sample>(request).map(drop)) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        changed => changed,
    }
}
