//! Damaged payloads: each is refused, or all ways to read it give the same values.

use std::fmt::Debug;
use std::sync::OnceLock;

use dflat::Object;
use dflat::codegen::{Encoder, FieldPath, Handle, Message};
use dflat_engine::object::{Origin, Writer, equal, field_value, verify};
use dflat_engine::query::{compare_rows, evaluate};
use dflat_model::{
    Direction, Nulls, Order, Predicate, RowId, Scalar, Step, VectorField, VectorMember,
};
use rusqlite::Connection;

use super::original::{BenchDoc, DictItem, Monster, folder};
use super::{mutate, question};
use crate::random::Random;
use crate::schema::{Bag, BagData, Body, Nested, NestedData, Note, Point, Profile, Sample, Tree};

/// How many payloads a seed damages.
const PAYLOADS: usize = 40;

/// A payload, and the check for its type.
type Source = (Vec<u8>, fn(&[u8]) -> bool);

/// Runs a seed.
pub fn run_seed(seed: u64) {
    let mut random = Random::new(seed);
    for _ in 0..PAYLOADS {
        let (mut payload, check) = source(&mut random);
        assert!(check(&payload), "a sound payload is refused: {payload:?}");
        for _ in 0..1 + random.below(4) {
            mutate::payload(&mut payload, &mut random);
            check(&payload);
        }
    }
}

/// Checks any bytes as an object of any of the types.
pub fn check_bytes(payload: &[u8]) {
    check::<Bag>(payload);
    check::<Sample>(payload);
    check::<Nested>(payload);
    check::<Monster>(payload);
    check::<BenchDoc>(payload);
    check::<DictItem>(payload);
}

fn source(random: &mut Random) -> Source {
    match random.below(6) {
        0 | 1 => (encoded(&bag()), check::<Bag>),
        2 => (encoded(&question::sample(random)), check::<Sample>),
        3 => (encoded(&nested(random)), check::<Nested>),
        _ => random.pick(originals()).clone(),
    }
}

/// Payloads of a file that Dflat for Swift wrote, some of each type.
fn originals() -> &'static [Source] {
    static ORIGINALS: OnceLock<Vec<Source>> = OnceLock::new();
    ORIGINALS.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("copy.db");
        std::fs::copy(folder().join("checkpointed.db"), &path).unwrap();
        let sql = Connection::open(path).unwrap();
        let mut found = Vec::new();
        let mut add = |table: &str, check: fn(&[u8]) -> bool| {
            let query = format!("SELECT p FROM {table} ORDER BY rowid LIMIT 40");
            let mut statement = sql.prepare(&query).unwrap();
            let payloads = statement.query_map([], |row| row.get(0)).unwrap();
            found.extend(payloads.map(|payload| (payload.unwrap(), check)));
        };
        add(&Monster::TABLE.name, check::<Monster>);
        add(&BenchDoc::TABLE.name, check::<BenchDoc>);
        add(&DictItem::TABLE.name, check::<DictItem>);
        found
    })
}

fn encoded<M: Message>(data: &M) -> Vec<u8> {
    let mut writer = Writer::new();
    Encoder::encode_root(&mut writer, data);
    writer.finish().unwrap().to_vec()
}

/// Reads the members of a vector at a path where there may be none, and their members.
fn ask_for_members(payload: &[u8], field: &FieldPath) {
    for member in [
        VectorMember::Scalar(Scalar::F64),
        VectorMember::Text,
        VectorMember::Struct(12),
        VectorMember::Table,
        VectorMember::Union,
    ] {
        let of = |steps: &[Step], inner| Predicate::Any {
            vector: VectorField {
                name: field.name.clone(),
                steps: steps.to_vec().into(),
                member,
            },
            condition: Box::new(inner),
        };
        let null = Predicate::IsNull(field.clone().into());
        let inner = of(&field.steps, null.clone()).or(of(&[], null));
        let _ = evaluate(&of(&field.steps, inner), payload);
    }
}

/// Returns whether bytes are an object of a type. All operations on them must succeed or fail
/// without a panic.
fn check<T: Object + Debug>(payload: &[u8]) -> bool {
    let table = T::TABLE;
    let fields = table.primary_key.iter();
    let mut fields: Vec<_> = fields
        .chain(table.indexes.iter().flat_map(|i| i.fields.iter()))
        .collect();
    let steps = |step: &Step| FieldPath {
        steps: vec![*step].into(),
        ..fields[0].clone()
    };
    // The first step of each path alone, read with a wrong type.
    let odd: Vec<_> = fields
        .iter()
        .flat_map(|f| f.steps.first())
        .map(steps)
        .collect();
    fields.extend(&odd);
    let read: Vec<_> = fields
        .iter()
        .map(|field| field_value(payload, field))
        .collect();
    for field in &fields {
        ask_for_members(payload, field);
        let order = Order {
            key: (*field).clone().into(),
            nulls: Nulls::Smallest,
            direction: Direction::Descending,
        };
        let _ = compare_rows(&[order], (RowId(1), payload), (RowId(2), payload));
    }
    let Ok(handle) = Handle::new(&table, RowId(1), Origin::default(), payload) else {
        return false;
    };
    let sound = fields.len() - odd.len();
    assert!(read[..sound].iter().all(Result::is_ok), "{payload:?}");
    let object = T::from_handle(handle);
    let shown = format!("{object:?}");
    let data = object.to_data();
    let mut longer = payload.to_vec();
    longer.extend([0; 4]);
    assert!(equal(&table.types, payload, &longer), "{payload:?}");
    let mut writer = Writer::new();
    Encoder::encode_root(&mut writer, &data);
    let Ok(again) = writer.finish() else {
        return true;
    };
    check_again::<T>(payload, &shown, again);
    true
}

/// A payload that was read and written again is valid, and writing it once more changes nothing.
fn check_again<T: Object + Debug>(payload: &[u8], shown: &str, again: &[u8]) {
    let table = T::TABLE;
    assert!(verify(&table.types, again).is_ok(), "{payload:?}");
    let handle = Handle::new(&table, RowId(1), Origin::default(), again).unwrap();
    let object = T::from_handle(handle);
    if equal(&table.types, payload, again) {
        assert_eq!(format!("{object:?}"), shown, "{payload:?}");
    }
    let mut writer = Writer::new();
    Encoder::encode_root(&mut writer, &object.to_data());
    let third = writer.finish().unwrap();
    assert!(equal(&table.types, again, third), "{payload:?}");
    assert_eq!(again, third, "{payload:?}");
}

fn note(stars: i32) -> Note {
    Note {
        text: Some("note".into()),
        stars,
    }
}

/// An object with a value of each kind whose bytes can be wrong.
fn bag() -> BagData {
    let tree = |name: &str| Tree {
        name: Some(name.into()),
        ..Tree::default()
    };
    BagData {
        id: 1,
        bools: vec![true, false],
        longs: vec![i64::MIN, -1],
        wides: vec![u64::MAX],
        floats: vec![f32::NAN, -0.0],
        texts: vec!["文".into(), String::new()],
        levels: crate::schema::Level::ALL.to_vec(),
        points: vec![Point { x: 1, y: 2.0 }],
        notes: vec![note(4), Note::default()],
        bodies: vec![
            Some(Body::Note(note(3))),
            None,
            Some(Body::Spot(Point::default())),
        ],
        tree: Some(Tree {
            left: Some(Box::new(tree("left"))),
            children: vec![tree("child"), Tree::default()],
            ..tree("root")
        }),
        maybe: Some(1.5),
        ..BagData::default()
    }
}

fn nested(random: &mut Random) -> NestedData {
    let sample = question::sample(random);
    NestedData {
        id: sample.id,
        point: sample.point,
        profile: Some(Profile {
            url: sample.name,
            age: sample.rank,
            point: sample.point,
        }),
        body: sample.body,
        plain: question::sample(random).body,
    }
}
