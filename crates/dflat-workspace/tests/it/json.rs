//! JSON by descriptor, without generated code.

use dflat_model::{Table, TableDescriptor};
use dflat_schema::{MemoryLoader, compile, describe};
use dflat_workspace::JsonType;
use serde::de::DeserializeSeed;

use crate::posts::{payload, table};

fn read(table: &Table, json: &str) -> Result<Vec<u8>, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    JsonType::of(table).deserialize(&mut deserializer)
}

fn write(table: &Table, payload: &[u8]) -> String {
    serde_json::to_string(&JsonType::of(table).value(payload)).unwrap()
}

#[test]
fn json_is_written_and_read_by_a_descriptor_that_was_stored() {
    let table = table("1");
    let stored = Table::new(TableDescriptor::from_bytes(&table.to_bytes()).unwrap());
    for json in [
        r#"{"title":"a","priority":7}"#,
        r#"{"title":"b","color":"Blue","content_type":"TextContent","content":{"text":"c"}}"#,
        r#"{"title":"d","content_type":"ImageContent","content":{"images":["e","f"]}}"#,
    ] {
        let payload = read(&stored, json).unwrap();
        assert_eq!(write(&stored, &payload), json);
        assert_eq!(write(&table, &payload), json);
    }
    assert_eq!(
        read(&stored, r#"{"title":"a","priority":7}"#).unwrap(),
        payload("a", 7)
    );
}

#[test]
fn json_of_another_type_is_refused_with_the_field_that_is_wrong() {
    let table = table("1");
    for (json, reason) in [
        (r#"{"title":"a","colour":"Red"}"#, "has no field `colour`"),
        (
            r#"{"title":"a","color":"Pink"}"#,
            "color: Color has no value `Pink`",
        ),
        (
            r#"{"title":"a","priority":"b"}"#,
            "priority: expected a number of type `int`",
        ),
    ] {
        let error = read(&table, json).unwrap_err().to_string();
        assert!(error.contains(reason), "{json}: {error}");
    }
}

#[test]
fn json_of_an_invalid_value_is_refused_with_its_path() {
    let text = "table Part { name: string (required); weight: int; }
         struct Place { x: int; y: int; }
         table Whole { id: string (primary); first: Part; parts: [Part]; place: Place;
                       near: float; far: double; done: bool; }
         root_type Whole;";
    let loader = MemoryLoader::new().with_file("whole.fbs", text);
    let compiled = compile(&["whole.fbs".to_owned()], &loader, &Default::default());
    let schema = compiled.schema.unwrap();
    let root = schema.files.iter().find_map(|file| file.root).unwrap();
    let table = Table::new(describe(&schema, root));
    for (json, reason) in [
        (
            r#"{"id":"a","first":{"weight":1}}"#,
            "first: name: a value is required, and Part has none",
        ),
        (
            r#"{"id":"a","parts":[{"name":"b"},{"weight":1}]}"#,
            "parts: [1]: name: a value is required, and Part has none",
        ),
        (
            r#"{"id":"a","parts":[{"name":null}]}"#,
            "parts: [0]: name: a value is required, and Part has none",
        ),
        (
            r#"{"id":"a","parts":[{"name":"b","weight":"c"}]}"#,
            "parts: [0]: weight: expected a number of type `int`",
        ),
        (
            r#"{"id":"a","first":{"name":"b","name":"c"}}"#,
            "first: the field `name` occurs twice",
        ),
        (
            r#"{"id":"a","place":{"x":1,"y":2,"x":3}}"#,
            "place: the field `x` occurs twice",
        ),
        (r#"{"id":"a","done":"yes"}"#, "done: expected true or false"),
        (
            r#"{"id":"a","near":1e300}"#,
            "near: expected a number of type `float`",
        ),
        (
            r#"{"id":"a","far":"1e400"}"#,
            "far: expected a number of type `double`",
        ),
    ] {
        let error = read(&table, json).unwrap_err().to_string();
        assert!(error.contains(reason), "{json}: {error}");
    }
}

#[test]
fn malformed_payloads_are_refused_as_json() {
    let table = table("1");
    let cut = &payload("a", 7)[..10];
    assert!(serde_json::to_string(&JsonType::of(&table).value(cut)).is_err());
}
