//! Field paths: defaults, absent containers, union members, structs.

use dflat_engine::object::{Writer, field_value};
use dflat_model::{Field, ValueRef};

use crate::table;

const SCHEMA: &str = "
    struct Vec3 { x: float; y: float; n: byte (indexed); }
    table Profile { url: string (indexed); age: ubyte = 30 (indexed); }
    table Orb { power: ulong (indexed); }
    union Gear { Orb, Vec3, Note: string }
    table Monster {
        name: string (primary);
        pos: Vec3;
        profile: Profile;
        gear: Gear (indexed);
        mood: short = -5 (indexed);
        ratio: double = nan (indexed);
        luck: int = null (indexed);
    }
    root_type Monster;";

fn fields() -> Vec<Field> {
    table(SCHEMA)
        .indexes
        .iter()
        .flat_map(|index| index.fields.iter().cloned())
        .collect()
}

fn value<'a>(fields: &'a [Field], payload: &'a [u8], name: &str) -> ValueRef<'a> {
    let field = fields
        .iter()
        .find(|field| field.name == name)
        .unwrap_or_else(|| {
            let names: Vec<_> = fields.iter().map(|field| &field.name).collect();
            panic!("{name} is not among {names:?}")
        });
    field_value(payload, field).unwrap()
}

#[test]
fn absent_scalars_have_defaults_and_absent_containers_have_null() {
    let mut writer = Writer::new();
    let root = writer.begin();
    assert!(writer.begin_table(root));
    let name = writer.slot(4);
    writer.end_table();
    writer.text(name, "bare");
    writer.leave();
    let payload = writer.finish().unwrap();
    let fields = fields();
    assert_eq!(value(&fields, payload, "mood"), ValueRef::Int(-5));
    assert_eq!(
        value(&fields, payload, "ratio"),
        ValueRef::Null,
        "NaN is NULL"
    );
    assert_eq!(value(&fields, payload, "luck"), ValueRef::Null);
    assert_eq!(value(&fields, payload, "pos.n"), ValueRef::Null);
    assert_eq!(value(&fields, payload, "profile.age"), ValueRef::Null);
    assert_eq!(value(&fields, payload, "gear.Orb.power"), ValueRef::Null);
    assert_eq!(value(&fields, payload, "gear_type"), ValueRef::Int(0));
}

#[test]
fn nested_values_are_read_through_tables_structs_and_union_members() {
    let mut writer = Writer::new();
    let root = writer.begin();
    assert!(writer.begin_table(root));
    let name = writer.slot(4);
    writer.structure(6, 12, 4)[8] = 250;
    let profile = writer.slot(8);
    let gear = writer.slot(12);
    writer.scalar(18, 0_i32);
    writer.scalar(10, 1_u8);
    writer.end_table();
    writer.text(name, "full");
    assert!(writer.begin_table(profile));
    let url = writer.slot(4);
    writer.end_table();
    writer.text(url, "https://example.com");
    writer.leave();
    assert!(writer.begin_table(gear));
    writer.scalar(4, u64::MAX);
    writer.end_table();
    writer.leave();
    writer.leave();
    let payload = writer.finish().unwrap();
    let fields = fields();
    assert_eq!(value(&fields, payload, "pos.n"), ValueRef::Int(-6));
    assert_eq!(
        value(&fields, payload, "profile.url"),
        ValueRef::Text("https://example.com")
    );
    assert_eq!(value(&fields, payload, "profile.age"), ValueRef::Int(30));
    assert_eq!(
        value(&fields, payload, "gear.Orb.power"),
        ValueRef::UInt(u64::MAX)
    );
    assert_eq!(value(&fields, payload, "gear_type"), ValueRef::Int(1));
    assert_eq!(
        value(&fields, payload, "gear.Vec3.n"),
        ValueRef::Null,
        "another member"
    );
    assert_eq!(value(&fields, payload, "luck"), ValueRef::Int(0));
}
