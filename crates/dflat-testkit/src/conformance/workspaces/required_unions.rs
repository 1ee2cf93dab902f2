//! Laws of required unions whose member only newer code knows.

use dflat::{ChangeRequest, ErrorKind, Object as _, Result, UpdatedObject};

use crate::fixture::{Fixture, Open};
use crate::parcel::v1::post as v1;
use crate::parcel::v2::post as v2;

fn toy(age: i32) -> v2::Content {
    v2::Content::Toy(v2::Toy { age })
}

fn book(title: &str) -> v2::Content {
    v2::Content::Book(v2::Book {
        title: Some(title.to_owned()),
    })
}

fn part(content: v2::Content, count: i32) -> v2::Part {
    v2::Part {
        content: Some(content),
        count,
    }
}

fn parcel(id: i32, content: v2::Content) -> v2::ParcelData {
    let mut parcel = v2::ParcelData::new(content);
    parcel.id = id;
    parcel
}

fn stored(w: &Fixture, id: i32) -> v2::ParcelData {
    w.get::<v2::Parcel>(id).unwrap().unwrap().to_data()
}

/// Older code changes the parcel with this key.
fn change_by_v1(
    w: &Fixture,
    id: i32,
    change: impl FnOnce(&mut v1::ParcelData) + Send + 'static,
) -> Result<UpdatedObject<v1::Parcel>> {
    let done = w.perform_changes([v1::Parcel::TABLE], move |tx| {
        let object = tx.get::<v1::Parcel>(id)?.unwrap();
        let mut request = ChangeRequest::change(tx, &object)?.unwrap();
        change(&mut request);
        tx.submit(request)
    });
    done.wait()
}

pub fn update_by_older_code_keeps_a_required_member_of_newer_code(open: Open) {
    let w = open();
    w.create::<v2::Parcel>([parcel(1, toy(3)), parcel(2, book("a"))]);
    let outcome = change_by_v1(&w, 1, |_| {}).unwrap();
    assert!(matches!(outcome, UpdatedObject::Identity(_)));
    change_by_v1(&w, 1, |parcel| parcel.rank = 7).unwrap();
    let wanted = v2::ParcelData {
        rank: 7,
        ..parcel(1, toy(3))
    };
    assert_eq!(stored(&w, 1), wanted);
    let changed = w.perform([v1::Parcel::TABLE], |tx| {
        tx.update_where(v1::Parcel::ID.gt(0), |parcel| parcel.rank += 1)
    });
    assert_eq!(changed, 2);
    assert_eq!((stored(&w, 1).rank, stored(&w, 2).rank), (8, 1));
    assert_eq!(stored(&w, 1).content, Some(toy(3)));
    // Older code may replace the member by one that it knows.
    let content = Some(v1::Content::Book(v1::Book::default()));
    change_by_v1(&w, 1, |parcel| parcel.content = content).unwrap();
    let content = stored(&w, 1).content;
    assert_eq!(content, Some(v2::Content::Book(v2::Book::default())));
}

pub fn update_by_older_code_keeps_required_members_in_parts(open: Open) {
    let w = open();
    let mut wanted = parcel(1, book("a"));
    wanted.part = Some(part(toy(1), 10));
    wanted.parts = vec![part(toy(2), 20), part(book("b"), 30), part(toy(3), 40)];
    w.create::<v2::Parcel>([wanted.clone()]);
    change_by_v1(&w, 1, |parcel| {
        parcel.rank = 7;
        parcel.part.as_mut().unwrap().count = 11;
        parcel.parts[2].count = 41;
    })
    .unwrap();
    wanted.rank = 7;
    wanted.part = Some(part(toy(1), 11));
    wanted.parts[2].count = 41;
    assert_eq!(stored(&w, 1), wanted);
}

pub fn update_that_takes_away_a_required_member_is_refused_and_the_transaction_goes_on(open: Open) {
    let w = open();
    let mut before = parcel(1, book("a"));
    before.part = Some(part(toy(1), 10));
    w.create::<v2::Parcel>([before.clone()]);
    w.perform([v1::Parcel::TABLE], |tx| {
        let changes: [fn(&mut v1::ParcelData); 3] = [
            |parcel| parcel.content = None,
            |parcel| {
                parcel.content = None;
                parcel.rank = 2;
            },
            |parcel| parcel.parts = vec![v1::Part { content: None, count: 1 }],
        ];
        for change in changes {
            let object = tx.get::<v1::Parcel>(1)?.unwrap();
            let mut request = ChangeRequest::change(tx, &object)?.unwrap();
            change(&mut request);
            let error = tx.submit(request).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error:?}");
            assert!(error.to_string().contains("the field content is required"), "{error}");
        }
        let upserted = ChangeRequest::<v1::Parcel>::upsert(v1::ParcelData {
            id: 1,
            content: None,
            rank: 0,
            part: None,
            parts: Vec::new(),
        });
        let error = tx.submit(upserted).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error:?}");
        Ok(())
    });
    assert_eq!(stored(&w, 1), before);
}
