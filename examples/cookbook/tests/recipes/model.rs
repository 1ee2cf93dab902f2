//! Recipes for the layout of objects.

use cookbook::{
    Circle, Drawing, DrawingChangeRequest, DrawingData, Membership, MembershipChangeRequest,
    MembershipData, Note, Person, PersonChangeRequest, PersonData, Rectangle, Shape, ShapeRef,
};
use dflat::{Result, Workspace};

use crate::{some_notes, titles};

fn authors(workspace: &Workspace, names: &[&str]) -> Result<Vec<Option<Person>>> {
    workspace.get_many::<Person>(names.iter().copied())
}

fn join(workspace: &Workspace, person: &str, team: &str) -> Result<()> {
    workspace.perform_changes_blocking([Membership::TABLE], |tx| {
        tx.submit(MembershipChangeRequest::upsert(MembershipData {
            person: person.to_owned(),
            team: team.to_owned(),
        }))
        .map(drop)
    })
}

fn members(workspace: &Workspace, team: &str) -> Result<Vec<Person>> {
    workspace.fetch_within_a_snapshot(|snapshot| {
        let names = snapshot
            .fetch::<Membership>()
            .filter(Membership::TEAM.eq(team))
            .order_by(Membership::PERSON.ascending())
            .all()?;
        let people = snapshot.get_many::<Person>(names.iter().map(Membership::person))?;
        Ok(people.into_iter().flatten().collect())
    })
}

#[test]
fn members_of_a_team_are_found() -> Result<()> {
    let workspace = Workspace::in_memory();
    workspace.perform_changes_blocking([Person::TABLE], |tx| {
        for name in ["Ada", "Bob"] {
            tx.submit(PersonChangeRequest::creation(PersonData {
                name: name.into(),
                ..PersonData::default()
            }))?;
        }
        Ok(())
    })?;
    for (person, team) in [
        ("Ada", "red"),
        ("Bob", "blue"),
        ("Ada", "blue"),
        ("Ada", "blue"),
    ] {
        join(&workspace, person, team)?;
    }
    let names: Vec<_> = members(&workspace, "blue")?
        .iter()
        .map(|p| p.name().to_owned())
        .collect();
    assert_eq!(names, ["Ada", "Bob"]);
    let found = authors(&workspace, &["Bob", "Eve"])?;
    assert_eq!(
        found.iter().map(Option::is_some).collect::<Vec<_>>(),
        [true, false]
    );
    Ok(())
}

fn tagged(workspace: &Workspace, tag: &str) -> Result<Vec<Note>> {
    let notes = workspace.fetch::<Note>().filter(Note::TAGS.contains(tag));
    Ok(notes.all()?.to_vec())
}

fn add_tag(workspace: &Workspace, id: u64, tag: &str) -> Result<usize> {
    workspace.perform_changes_blocking_retrying([Note::TABLE], |tx| {
        tx.update_where(Note::ID.eq(id), |note| {
            if !note.tags.iter().any(|old| old == tag) {
                note.tags.push(tag.to_owned());
            }
        })
    })
}

#[test]
fn tagged_notes_are_found() -> Result<()> {
    let workspace = some_notes()?;
    add_tag(&workspace, 2, "urgent")?;
    add_tag(&workspace, 2, "urgent")?;
    assert_eq!(titles(&tagged(&workspace, "urgent")?), ["report"]);
    assert_eq!(workspace.get::<Note>(2)?.unwrap().tags().len(), 1);
    Ok(())
}

fn area(drawing: &Drawing) -> f64 {
    match drawing.shape() {
        Some(ShapeRef::Circle(circle)) => circle.radius().powi(2) * std::f64::consts::PI,
        Some(ShapeRef::Rectangle(rectangle)) => rectangle.width() * rectangle.height(),
        _ => 0.0,
    }
}

fn draw(workspace: &Workspace) -> Result<(usize, usize)> {
    let shapes = [
        Shape::Circle(Circle { radius: 2.0 }),
        Shape::Rectangle(Rectangle {
            width: 3.0,
            height: 4.0,
        }),
    ];
    workspace.perform_changes_blocking([Drawing::TABLE], |tx| {
        for (id, shape) in (1..).zip(shapes) {
            tx.submit(DrawingChangeRequest::creation(DrawingData {
                id,
                shape: Some(shape),
            }))?;
        }
        Ok(())
    })?;
    let circles = workspace
        .fetch::<Drawing>()
        .filter(Drawing::SHAPE.matches::<Circle>());
    let wide = Drawing::SHAPE.as_::<Rectangle>().width().gt(2.0);
    Ok((
        circles.count()?,
        workspace.fetch::<Drawing>().filter(wide).count()?,
    ))
}

#[test]
fn drawings_are_found_by_their_shapes() -> Result<()> {
    let workspace = Workspace::in_memory();
    assert_eq!(draw(&workspace)?, (1, 1));
    let areas: Vec<_> = workspace
        .fetch::<Drawing>()
        .all()?
        .iter()
        .map(area)
        .collect();
    assert!((areas[0] - 12.566).abs() < 0.001 && (areas[1] - 12.0).abs() < 0.001);
    Ok(())
}
