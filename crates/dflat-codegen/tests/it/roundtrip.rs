//! Values through generated code: an owned struct is encoded, verified, viewed, and decoded to an
//! owned struct again.

use dflat::Object;
use dflat::codegen::{Encoder, Message, TableReader, ValueRef};
use dflat_engine::object::{TableView, Writer, verify};

macro_rules! case {
    ($case:ident) => {
        #[allow(clippy::use_self, reason = "asked for in this workspace only")]
        mod $case {
            include!(concat!("../data/", stringify!($case), "/rust.rs"));
        }
    };
}

case!(keys);
case!(monster);
case!(recursive);
case!(required);
case!(scalars);
case!(structs);
case!(unions);

/// The value's payload, which must verify and decode to the same value.
#[track_caller]
fn check<T: Object>(data: &T::Data) -> Vec<u8>
where
    T::Data: PartialEq + std::fmt::Debug,
{
    let mut writer = Writer::default();
    Encoder::encode_root(&mut writer, data);
    let payload = writer.finish().unwrap().to_vec();
    verify(&T::TABLE.types, &payload).unwrap();
    let view = T::Data::view(TableReader::new(TableView::root(&payload).unwrap()));
    assert_eq!(&T::Data::decode(view), data);
    payload
}

#[test]
fn defaults_take_no_space_and_come_back() {
    use scalars::{Level, Scalars, ScalarsData};
    let mut data = ScalarsData::new("", []);
    assert!(data.l.is_nan() && data.m == f64::NEG_INFINITY && data.i == u64::MAX);
    assert_eq!(
        (data.text.as_str(), data.level),
        ("a \"quoted\"\n\u{e9} text", Level::Mid)
    );
    data.l = 1.5;
    let small = check::<Scalars>(&data).len();
    data.maybe_bool = Some(false);
    data.maybe_int = Some(0);
    data.maybe_level = Some(Level::High);
    data.text = String::new();
    data.a = false;
    data.bytes = vec![0, 255];
    data.bools = vec![true, false];
    data.levels = vec![Level::Low, Level::High];
    data.floats = vec![-0.0, 1e300];
    assert!(check::<Scalars>(&data).len() > small);
}

// Promise: compatibility#P8
#[test]
fn structs_with_arrays_round_trip() {
    use structs::{Box, Grid, Place, PlaceData, Side, Tiny, Vec3};
    let corner = |x| Vec3 { x, y: -x, z: 0.5 };
    let mut grid = Grid {
        weight: 2.0,
        sides: [Side::Right; 3],
        ..Grid::default()
    };
    grid.cells[63] = 7;
    grid.corners[3] = corner(9.0);
    let room = Box {
        min: corner(0.0),
        max: corner(1.0),
        side: Side::Right,
        solid: true,
    };
    let data = PlaceData {
        id: 1,
        r#box: Some(room),
        grid: Some(grid),
        tiny: Some(Tiny { a: -1 }),
        boxes: vec![room, Box::default()],
        tinies: vec![Tiny { a: 1 }, Tiny { a: 2 }],
    };
    check::<Place>(&data);
}

// Promise: compatibility#P8
#[test]
fn unions_of_every_kind_round_trip() {
    use unions::{
        Body, Far, Holder, Message as Mail, MessageData, Note, Point, Ref, Shape, Single,
    };
    let note = Note {
        text: Some("note".to_owned()),
        at: Some(Point { x: 1, y: 2 }),
    };
    let bodies = vec![
        Some(Body::Note(note.clone())),
        None,
        Some(Body::Second(note.clone())),
        Some(Body::Point(Point { x: 3, y: 4 })),
        Some(Body::Words("words".to_owned())),
        Some(Body::Ref(Ref { x: 5 })),
    ];
    for body in bodies.clone() {
        let far = Far {
            place: Point { x: 6, y: 7 },
            distance: 8.5,
        };
        check::<Mail>(&MessageData {
            id: "id".to_owned(),
            body: body.clone(),
            bodies: bodies.clone(),
            shape: Some(Shape::Far(far)),
            shapes: vec![Some(Shape::Point(far.place)), None],
            single: Some(Single::Note(note.clone())),
            nested: Some(Holder {
                body,
                shape: None,
                note: Some(note.clone()),
            }),
        });
    }
    let words = Mail::BODY.as_::<unions::BodyWords>().eq("words") & Mail::BODY.matches::<Point>();
    assert_eq!(
        words.to_string(),
        "(body.Words == \"words\" && body.type == 3)",
    );
}

#[test]
fn an_object_without_a_required_member_is_refused_and_the_transaction_goes_on() {
    use dflat::{ErrorKind, Workspace};
    use unions::{Message as Mail, MessageChangeRequest, MessageData, Note, Single};

    let workspace = Workspace::in_memory();
    let stored = workspace.perform_changes([Mail::TABLE], |tx| {
        let incomplete = MessageData {
            id: "a".to_owned(),
            single: None,
            ..MessageData::new(Single::Note(Note::default()))
        };
        let refused = tx
            .submit(MessageChangeRequest::creation(incomplete.clone()))
            .unwrap_err();
        let single = Some(Single::Note(Note::default()));
        tx.submit(MessageChangeRequest::creation(MessageData {
            single,
            ..incomplete
        }))?;
        Ok(refused)
    });
    let refused = stored.wait().unwrap();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    assert!(
        refused.to_string().contains("the field single is required"),
        "{refused}"
    );
    assert_eq!(workspace.fetch::<Mail>().all().unwrap().len(), 1);
}

fn post() -> required::PostData {
    use required::{Author, Content, Link, Note, Point, Quote, Reply};
    let quote = |text: &str| {
        Quote::new(Reply {
            text: Some(text.to_owned()),
            quote: None,
        })
    };
    let mut post = required::PostData::new(
        Author::new("Ada", Link::new("home")),
        Point { x: 1, y: 2 },
        Content::Note(Note::default()),
        ["tag".to_owned()],
        quote("first"),
        [],
        [Some(Content::Link(Link::new("cited")))],
        [],
        "title",
    );
    post.quote.reply.quote = Some(Box::new(quote("second")));
    post
}

// Issue 27, line 10.
#[test]
fn a_required_table_is_no_option() {
    use required::{Post, PostRef};
    let data = post();
    assert_eq!((data.id, data.author.link.stars), (0, 3));
    let payload = check::<Post>(&data);
    let table = TableReader::new(TableView::root(&payload).unwrap());
    let view: PostRef<'_> = required::PostData::view(table);
    assert_eq!(view.author().link().title(), "home");
    let inner = view.quote().reply().quote().unwrap();
    assert_eq!(inner.reply().text(), Some("second"));
    assert!(view.editor().is_none());
}

// Issue 27, line 10.
#[test]
fn a_view_of_bytes_without_required_values_reads_defaults() {
    let view = required::PostData::view(TableReader::default());
    assert_eq!(view.author().link().title(), "");
    assert!(view.content().is_none() && view.tags().is_empty());
    let decoded = required::PostData::decode(view);
    assert_eq!((decoded.author.name.as_str(), decoded.place), ("", None));
}

#[test]
fn recursive_tables_round_trip() {
    use recursive::{Any, Document, DocumentData, Even, Leaf, Odd, Tree};
    let leaf = || Tree {
        leaf: Some(Leaf { size: 1 }),
        ..Tree::default()
    };
    let tree = Tree {
        name: Some("root".to_owned()),
        left: Some(Box::new(leaf())),
        children: vec![leaf(), leaf()],
        ..Tree::default()
    };
    let odd = Odd {
        even: None,
        any: Some(Any::Leaf(Leaf { size: 2 })),
    };
    let even = Even {
        odd: Some(Box::new(odd)),
    };
    let parent = DocumentData {
        any: Some(Any::Even(Box::new(even))),
        ..Default::default()
    };
    let data = DocumentData {
        id: 1,
        any: Some(Any::Document(Box::new(parent.clone()))),
        copies: vec![parent.clone()],
        parent: Some(Box::new(parent)),
        tree: Some(tree),
    };
    check::<Document>(&data);
}

// Promise: compatibility#P14
#[test]
fn monster_schema_with_its_includes_round_trips() {
    use monster::my_game::sample::{Color, Equipment, Monster, MonsterData, Orb, Vec3, Weapon};
    let sword = Weapon {
        name: Some("Sword".to_owned()),
        damage: 3,
    };
    let orb = Orb {
        name: Some("Orb".to_owned()),
        color: Color::Green,
    };
    let data = MonsterData {
        name: "Orc".to_owned(),
        pos: Some(Vec3 {
            x: 1.0,
            y: 2.0,
            z: 3.0,
        }),
        bag: vec![
            Some(Equipment::Weapon(sword.clone())),
            Some(Equipment::Orb(orb)),
        ],
        weapons: vec![sword],
        colors: vec![Color::Red, Color::Blue],
        path: vec![Vec3::default(); 2],
        ..MonsterData::default()
    };
    assert_eq!(
        (data.mana, data.hp, data.color, data.truth),
        (150, 100, Color::Blue, true)
    );
    check::<Monster>(&data);
    assert_eq!(Monster::TABLE.name, "mygame__sample__monster_v1_1");
    let key = Monster::key_values(("Orc", Color::Red));
    assert_eq!(key.as_slice(), [ValueRef::Text("Orc"), ValueRef::Int(0)]);
}

#[test]
fn composite_keys_are_read_as_tuples() {
    let key = keys::Entry::key_values((true, keys::Zone::North, 0.5, "name"));
    assert_eq!(key.len(), 4);
    assert_eq!(keys::EntryData::default().name, "none");
    check::<keys::Entry>(&keys::EntryData::default());
}
