//! Recipes for keys that the library assigns, for dates and for UUIDs.

use cookbook::{
    PersonId, Ticket, TicketChangeRequest, TicketData, Visit, VisitChangeRequest, VisitData,
};
use dflat::{Milliseconds, Result, UpdatedObject, Workspace};
use jiff::{Timestamp, ToSpan};
use uuid::Uuid;

/// Adds a visit, and returns its key.
fn begin_visit(workspace: &Workspace, person: Uuid) -> Result<u64> {
    workspace.perform_changes_blocking([Visit::TABLE], |tx| {
        let added = tx.submit(VisitChangeRequest::creation(VisitData {
            person: Some(PersonId::from(person)),
            begun: Milliseconds::now(),
            ..VisitData::default()
        }))?;
        Ok(added.into_object().map_or(0, |visit| visit.id()))
    })
}

#[test]
fn visits_have_consecutive_keys() -> Result<()> {
    let workspace = Workspace::in_memory();
    let person = Uuid::from_u128(7);
    assert_eq!(begin_visit(&workspace, person)?, 1);
    assert_eq!(begin_visit(&workspace, person)?, 2);
    let begun = workspace.get::<Visit>(2)?.unwrap().begun();
    assert!(begun <= Milliseconds::now());
    Ok(())
}

/// Adds a ticket, and returns its key, for instance for a link.
fn open_ticket(workspace: &Workspace, subject: &str) -> Result<String> {
    workspace.perform_changes_blocking([Ticket::TABLE], |tx| {
        match tx.submit(TicketChangeRequest::creation(TicketData::new(subject)))? {
            UpdatedObject::Inserted(ticket) => Ok(ticket.id().to_owned()),
            _ => Ok(String::new()),
        }
    })
}

#[test]
fn tickets_have_uuids_in_the_order_of_their_creation() -> Result<()> {
    let workspace = Workspace::in_memory();
    let first = open_ticket(&workspace, "a")?;
    let second = open_ticket(&workspace, "b")?;
    assert!(first < second);
    assert_eq!(Uuid::parse_str(&first).unwrap().get_version_num(), 7);
    assert_eq!(workspace.get::<Ticket>(&second)?.unwrap().subject(), "b");
    Ok(())
}

/// The visits of the last `days` days, the newest first, with their times in UTC.
fn recent_visits(workspace: &Workspace, days: i64) -> Result<Vec<(u64, String)>> {
    let since = Timestamp::now() - (24 * days).hours();
    let visits = workspace
        .fetch::<Visit>()
        .filter(Visit::BEGUN.ge(since))
        .order_by(Visit::BEGUN.descending())
        .all()?;
    let begun = |visit: &Visit| visit.begun().timestamp().to_string();
    Ok(visits
        .iter()
        .map(|visit| (visit.id(), begun(visit)))
        .collect())
}

#[test]
fn visits_of_the_last_days_are_found() -> Result<()> {
    let workspace = Workspace::in_memory();
    workspace.perform_changes_blocking([Visit::TABLE], |tx| {
        for hours in [1, 30, 80_i64] {
            let begun = (Timestamp::now() - hours.hours()).into();
            let visit = VisitData {
                begun,
                ..VisitData::default()
            };
            tx.submit(VisitChangeRequest::creation(visit))?;
        }
        Ok(())
    })?;
    let visits = recent_visits(&workspace, 2)?;
    assert_eq!(visits.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 2]);
    assert!(visits[0].1.ends_with('Z'), "{visits:?}");
    Ok(())
}

fn visits_of(workspace: &Workspace, person: Uuid) -> Result<Vec<Visit>> {
    let visits = workspace.fetch::<Visit>().filter(Visit::PERSON.eq(person));
    Ok(visits.all()?.to_vec())
}

#[test]
fn visits_of_a_person_are_found_by_uuid() -> Result<()> {
    let workspace = Workspace::in_memory();
    let (ada, bob) = (Uuid::from_u128(1 << 100), Uuid::from_u128(2));
    begin_visit(&workspace, ada)?;
    begin_visit(&workspace, bob)?;
    let visits = visits_of(&workspace, ada)?;
    assert_eq!(visits.len(), 1);
    assert_eq!(visits[0].person().map(Uuid::from), Some(ada));
    Ok(())
}
