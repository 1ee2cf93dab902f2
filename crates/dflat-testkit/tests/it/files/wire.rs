//! Every schema of the repository, compared with Google's `flatc` in both directions: `flatc` reads
//! payloads of this library as the same JSON, and this library reads payloads that `flatc` makes of
//! its JSON as the same values.
//!
//! Skipped without `flatc`, unless the environment says `DFLAT_REQUIRE_FLATC=1`.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::original::bench::BenchDoc;
use crate::files::original::dictionary::DictItem;
use crate::files::original::monsters;
use dflat::codegen::json;
use dflat::{Object, Payload};
use dflat_model::{
    Element, EnumLayout, ROOT_TYPE, Scalar, Shape, TypeDescriptor, TypeId, Value as Plain,
};
use dflat_schema::{MemoryLoader, Schema, compile, describe};
use dflat_testkit::random::Random;
use dflat_testkit::schema as conformance;
use serde_json::{Map, Value, json};

/// The number of payloads of each schema.
const PAYLOADS: usize = 24;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas")
}

/// The paths of all schemas, relative to their folder.
fn paths() -> Vec<String> {
    let mut paths = Vec::new();
    for below in ["", "conformance/"] {
        for entry in fs::read_dir(folder().join(below)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".fbs") {
                paths.push(format!("{below}{name}"));
            }
        }
    }
    paths.sort();
    paths
}

fn compiled(path: &str) -> Schema {
    let loader = paths().iter().fold(MemoryLoader::new(), |loader, path| {
        let text = fs::read_to_string(folder().join(path)).unwrap();
        loader.with_file(path, &text)
    });
    compile(&[path.to_owned()], &loader, &Default::default())
        .schema
        .unwrap()
}

/// Random JSON of a table.
struct Values<'a> {
    types: &'a [TypeDescriptor],
    random: &'a mut Random,
}

impl Values<'_> {
    fn table(&mut self, id: TypeId, depth: usize) -> Value {
        let types = self.types;
        let TypeDescriptor::Table(layout) = &types[usize::from(id.0)] else {
            panic!("no table")
        };
        let mut object = Map::new();
        for field in layout.fields.iter() {
            if !field.required && self.random.one_in(4) {
                continue;
            }
            let name = field.name.to_string();
            let len = if depth < 3 { self.random.below(4) } else { 0 };
            match field.shape {
                Shape::Single(Element::Table(_) | Element::Union(_)) if depth == 3 => {}
                Shape::Single(Element::Union(id)) => {
                    let (tag, value) = self.union(id, depth);
                    object.insert(format!("{name}_type"), tag);
                    object.insert(name, value);
                }
                Shape::Single(element) => {
                    object.insert(name, self.element(element, depth));
                }
                Shape::Vector(Element::Union(id)) => {
                    let (tags, values): (Vec<_>, Vec<_>) =
                        (0..len).map(|_| self.union(id, depth)).unzip();
                    object.insert(format!("{name}_type"), tags.into());
                    object.insert(name, values.into());
                }
                Shape::Vector(element) => {
                    let values = (0..len).map(|_| self.element(element, depth));
                    object.insert(name, values.collect());
                }
            }
        }
        object.into()
    }

    fn union(&mut self, id: TypeId, depth: usize) -> (Value, Value) {
        let types = self.types;
        let TypeDescriptor::Union(layout) = &types[usize::from(id.0)] else {
            panic!("no union")
        };
        let member = self.random.pick(&layout.members);
        (
            member.name.as_ref().into(),
            self.element(member.element, depth),
        )
    }

    fn element(&mut self, element: Element, depth: usize) -> Value {
        let types = self.types;
        let ty = |id: TypeId| &types[usize::from(id.0)];
        match element {
            Element::Scalar(scalar) => self.number(scalar),
            Element::Text => {
                let texts = ["", "text", "naïve 🐉", "\"quoted\" \\ and\nbroken\t\u{1}"];
                (*self.random.pick(&texts)).into()
            }
            Element::Table(id) => self.table(id, depth + 1),
            Element::Enum(id) | Element::Struct(id) => match ty(id) {
                TypeDescriptor::Enum(layout) => self.enumeration(layout),
                TypeDescriptor::Struct(layout) => {
                    let fields = layout.fields.iter();
                    let fields = fields
                        .map(|field| (field.name.to_string(), self.element(field.element, depth)));
                    Value::Object(fields.collect())
                }
                other => panic!("{other:?}"),
            },
            Element::Union(_) => panic!("a union has two fields"),
        }
    }

    fn enumeration(&mut self, layout: &EnumLayout) -> Value {
        let first = self.random.pick(&layout.values);
        let second = self.random.pick(&layout.values);
        if layout.bit_flags && first != second {
            return format!("{} {}", first.name, second.name).into();
        }
        match &first.value {
            Plain::Int(number) if self.random.one_in(3) => (*number).into(),
            _ => first.name.as_ref().into(),
        }
    }

    fn number(&mut self, scalar: Scalar) -> Value {
        let bits = self.random.number();
        match scalar {
            Scalar::Bool => (bits % 2 == 1).into(),
            Scalar::I8 => (bits as i8).into(),
            Scalar::U8 => (bits as u8).into(),
            Scalar::I16 => (bits as i16).into(),
            Scalar::U16 => (bits as u16).into(),
            Scalar::I32 => (bits as i32).into(),
            Scalar::U32 => (bits as u32).into(),
            Scalar::I64 => (bits as i64).into(),
            Scalar::U64 => bits.into(),
            // `flatc` writes six digits of a float, twelve of a double.
            Scalar::F32 => (f64::from(bits as i16) / 4.0).into(),
            Scalar::F64 => (f64::from(bits as i32) / 8.0).into(),
        }
    }
}

/// A way to write and read payloads of a type.
struct Side<'a> {
    types: &'a [TypeDescriptor],
    to_bytes: &'a dyn Fn(&Value) -> Vec<u8>,
    to_text: &'a dyn Fn(&[u8]) -> String,
}

impl Side<'_> {
    fn to_json(&self, bytes: &[u8]) -> Value {
        serde_json::from_str(&(self.to_text)(bytes)).unwrap()
    }
}

/// The schemas in a form that `flatc` accepts: with Dflat's attributes declared.
fn prepared() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("conformance")).unwrap();
    let names = ["primary", "indexed", "unique", "v"];
    let attributes = names
        .map(|name| format!("attribute \"{name}\";\n"))
        .concat();
    fs::write(directory.path().join("dflat_attributes.fbs"), attributes).unwrap();
    for path in paths() {
        let text = fs::read_to_string(folder().join(&path)).unwrap();
        let text = format!("include \"dflat_attributes.fbs\";\n{text}");
        fs::write(directory.path().join(path), text).unwrap();
    }
    directory
}

fn flatc(directory: &Path, arguments: &[&str], files: &[String]) {
    let mut command = Command::new("flatc");
    let command = command
        .args(["-I", ".", "-o", "out"])
        .args(arguments)
        .args(files);
    let output = command.current_dir(directory).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}{complained}");
}

/// Checks random payloads of the root of a schema. Returns their number.
fn check(directory: &Path, path: &str, side: &Side<'_>, seed: u64) -> usize {
    let mut random = Random::new(seed);
    let mut expected = Vec::new();
    for number in 0..PAYLOADS {
        let types = side.types;
        let value = Values {
            types,
            random: &mut random,
        }
        .table(ROOT_TYPE, 0);
        let payload = (side.to_bytes)(&value);
        let value = side.to_json(&payload);
        assert_eq!(side.to_json(&(side.to_bytes)(&value)), value, "{path}");
        fs::write(directory.join(format!("ours{number}.bin")), &payload).unwrap();
        fs::write(
            directory.join(format!("back{number}.json")),
            (side.to_text)(&payload),
        )
        .unwrap();
        expected.push(value);
    }
    let files = |stem: &str, extension: &str| -> Vec<String> {
        (0..PAYLOADS)
            .map(|number| format!("{stem}{number}.{extension}"))
            .collect()
    };
    // `flatc` writes vectors of unions as JSON only with a compiled schema.
    flatc(directory, &["--binary", "--schema", path], &[]);
    let compiled = Path::new("out").join(Path::new(path).file_name().unwrap());
    let compiled = compiled.with_extension("bfbs");
    let compiled = compiled.to_str().unwrap();
    let read = ["--json", "--strict-json", "--raw-binary", compiled, "--"];
    flatc(directory, &read, &files("ours", "bin"));
    flatc(directory, &["--binary", path], &files("back", "json"));
    for (number, expected) in expected.iter().enumerate() {
        let text = fs::read_to_string(directory.join(format!("out/ours{number}.json"))).unwrap();
        let theirs: Value = serde_json::from_str(&text).unwrap();
        let same = side.to_json(&(side.to_bytes)(&theirs));
        assert_eq!(&same, expected, "{path}: flatc read {text}");
        let bytes = fs::read(directory.join(format!("out/back{number}.bin"))).unwrap();
        assert_eq!(&side.to_json(&bytes), expected, "{path}: flatc wrote this");
    }
    PAYLOADS
}

fn untyped(directory: &Path, path: &str) -> usize {
    let schema = compiled(path);
    let Some(root) = schema
        .files
        .iter()
        .find(|file| file.requested)
        .unwrap()
        .root
    else {
        return 0;
    };
    let types = describe(&schema, root).types;
    let side = Side {
        types: &types,
        to_bytes: &|value| json::deserialize(&types, ROOT_TYPE, value).unwrap(),
        to_text: &|bytes| {
            let mut text = Vec::new();
            let mut serializer = serde_json::Serializer::new(&mut text);
            json::serialize(&types, ROOT_TYPE, bytes, &mut serializer).unwrap();
            String::from_utf8(text).unwrap()
        },
    };
    check(directory, path, &side, 1)
}

/// Checks payloads with the generated types.
fn typed<T: Object>(directory: &Path, path: &str) -> usize
where
    T::Data: Payload + serde::Serialize + serde::de::DeserializeOwned,
{
    let types = <T::Data as Payload>::types();
    let side = Side {
        types: &types,
        to_bytes: &|value| T::Data::deserialize_value(value).to_bytes().unwrap(),
        to_text: &|bytes| serde_json::to_string(&T::Data::from_bytes(bytes).unwrap()).unwrap(),
    };
    check(directory, path, &side, 2)
}

/// `serde_json::from_value`, with the error as text.
trait FromJson: serde::de::DeserializeOwned {
    fn deserialize_value(value: &Value) -> Self {
        serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"))
    }
}

impl<T: serde::de::DeserializeOwned> FromJson for T {}

// Promise: compatibility#P63
#[test]
fn flatc_reads_and_writes_equal_values() {
    if Command::new("flatc").arg("--version").output().is_err() {
        let required = std::env::var_os("DFLAT_REQUIRE_FLATC").is_some_and(|value| value == "1");
        assert!(!required, "flatc is required but absent");
        writeln!(io::stderr(), "flatc is absent: payloads are not compared").unwrap();
        return;
    }
    let directory = prepared();
    let folder = directory.path();
    let schemas = paths();
    let compared: usize = schemas.iter().map(|path| untyped(folder, path)).sum();
    let rootless = ["conformance/types.fbs", "equipment.fbs"];
    assert_eq!(compared, (schemas.len() - rootless.len()) * PAYLOADS);

    typed::<monsters::my_game::sample::Monster>(folder, "monster.fbs");
    typed::<BenchDoc>(folder, "bench_doc.fbs");
    typed::<DictItem>(folder, "dict.fbs");
    typed::<conformance::Sample>(folder, "conformance/conformance.fbs");
    typed::<conformance::Bag>(folder, "conformance/bag.fbs");
    typed::<conformance::Nested>(folder, "conformance/nested.fbs");
    typed::<conformance::Twin>(folder, "conformance/twin.fbs");
    typed::<conformance::Wide>(folder, "conformance/wide.fbs");
}

#[test]
fn json_of_another_type_is_refused_with_its_field() {
    use conformance::BagData;
    let no_int = "id: expected a number of type `int`";
    for (value, error) in [
        (json!([]), "expected an object for a Bag"),
        (json!({ "what": 1 }), "Bag has no field `what`"),
        (json!({ "id": 1.5 }), no_int),
        (json!({ "id": 3_000_000_000_u64 }), no_int),
        (json!({ "id": "text" }), no_int),
        (
            json!({ "levels": ["Lowest"] }),
            "levels: [0]: Level has no value `Lowest`",
        ),
        (json!({ "levels": 5 }), "levels: expected an array"),
        (json!({ "texts": [1] }), "texts: [0]: expected a string"),
        (
            json!({ "points": [{ "z": 1 }] }),
            "points: [0]: Point has no field `z`",
        ),
        (
            json!({ "bodies": [{}] }),
            "bodies: expected arrays of values and of their `_type`s",
        ),
        (
            json!({ "bodies": [{}], "bodies_type": ["None"] }),
            "bodies: Body has no member `None`",
        ),
        (
            json!({ "notes": [{ "stars": [] }] }),
            "notes: [0]: stars: expected a number of type `int`",
        ),
    ] {
        let found = serde_json::from_value::<BagData>(value.clone()).unwrap_err();
        assert_eq!(found.to_string(), error, "{value}");
    }
    let deep = |depth| (0..depth).fold(json!({}), |inner, _| json!({ "left": inner }));
    let tree = |depth| serde_json::from_value::<BagData>(json!({ "tree": deep(depth) }));
    assert!(tree(62).is_ok());
    let error = tree(100).unwrap_err().to_string();
    assert!(
        error.ends_with("tables are nested more than 64 deep"),
        "{error}"
    );
}

#[test]
fn json_accepts_names_numbers_and_text_as_flatc_does() {
    use conformance::{BagData, Level};
    let bag: BagData = serde_json::from_value(json!({
        "id": "7", "maybe": null, "ratio": "-inf", "levels": ["Level.Mid", 9],
    }))
    .unwrap();
    assert_eq!((bag.id, bag.maybe, bag.ratio), (7, None, f64::NEG_INFINITY));
    assert_eq!(bag.levels, [Level::Mid, Level::High]);
    let text = serde_json::to_string(&bag).unwrap();
    assert_eq!(text, r#"{"id":7,"levels":["Mid","High"],"ratio":"-inf"}"#);
    let bag = BagData {
        ratio: 0.5,
        maybe: Some(f64::NAN),
        ..BagData::default()
    };
    assert_eq!(
        serde_json::to_string(&bag).unwrap(),
        r#"{"ratio":0.5,"maybe":"nan"}"#
    );
}
