//! Keys of one integer in mapped packs, which are looked up by a shorter way.

use std::collections::BTreeMap;

use dflat_engine::object::{Object, canonical};
use dflat_model::{Table, ValueRef};
use dflat_pack::{BuildOptions, Pack};

use crate::mapped::mapped;
use crate::words::{Random, build, table_of, written};

/// The types of keys, with the smallest and the largest number of each.
const TYPES: [(&str, i128, i128); 9] = [
    ("bool", 0, 1),
    ("byte", i8::MIN as i128, i8::MAX as i128),
    ("ubyte", 0, u8::MAX as i128),
    ("short", i16::MIN as i128, i16::MAX as i128),
    ("ushort", 0, u16::MAX as i128),
    ("int", i32::MIN as i128, i32::MAX as i128),
    ("uint", 0, u32::MAX as i128),
    ("long", i64::MIN as i128, i64::MAX as i128),
    ("ulong", 0, u64::MAX as i128),
];

const DEFAULT: i128 = 1;

fn value(number: i128) -> ValueRef<'static> {
    match i64::try_from(number) {
        Ok(number) => ValueRef::Int(number),
        Err(_) => ValueRef::UInt(number as u64),
    }
}

fn object(table: &Table, ty: &str, number: i128, note: &str) -> Vec<u8> {
    let payload = written(|writer| {
        let note_at = writer.slot(4);
        if number != DEFAULT {
            // The lowest bytes of a number are those of each narrower type.
            match ty {
                "bool" | "byte" | "ubyte" => writer.scalar(6, number as u8),
                "short" | "ushort" => writer.scalar(6, number as u16),
                "int" | "uint" => writer.scalar(6, number as u32),
                _ => writer.scalar(6, number as u64),
            }
        }
        writer.end_table();
        writer.text(note_at, note);
    });
    canonical(table, &payload).unwrap()
}

/// Numbers of all sizes between two.
fn numbers(random: &mut Random, low: i128, high: i128) -> Vec<i128> {
    let mut numbers = vec![low, high, 0, 1];
    for _ in 0..2000 {
        let size = i128::from(random.next() >> random.below(64));
        let number = if random.below(2) == 0 { size } else { -size };
        numbers.push(number.clamp(low, high));
    }
    numbers
}

/// Compares all ways to look up each number with a model.
fn check(pack: &Pack, table: &Table, model: &BTreeMap<i128, Vec<u8>>, asked: &[i128]) {
    let objects = pack.objects(table).unwrap();
    let expected = |number: i128| model.get(&number).map(Vec::as_slice);
    let keys: Vec<[ValueRef<'_>; 1]> = asked.iter().map(|number| [value(*number)]).collect();
    let mut reader = objects.reader();
    for (number, key) in asked.iter().zip(&keys) {
        let found = objects.get(key).unwrap();
        assert_eq!(
            found.as_ref().map(Object::payload),
            expected(*number),
            "{number}"
        );
        let position = model.range(..number).count() as u64;
        let row = found.map(|object| object.row_id().0);
        let expected_row = model.get(number).map(|_| position as i64 + 1);
        assert_eq!(row, expected_row, "{number}");
        assert_eq!(reader.payload(key).unwrap(), expected(*number), "{number}");
        let index = objects.index_of(key).unwrap();
        assert_eq!(index, model.get(number).map(|_| position), "{number}");
        // The same number in the other kind of value.
        if let Ok(number) = u64::try_from(*number) {
            let other = reader.payload(&[ValueRef::UInt(number)]).unwrap();
            let number = i128::from(number);
            assert_eq!(other, expected(number), "{number}");
        }
    }
    let many = objects.get_many(&keys).unwrap();
    let mut read = 0;
    let take = |place: usize, payload: Option<&[u8]>| {
        assert_eq!(payload, expected(asked[place]), "{}", asked[place]);
        assert_eq!(many[place].as_ref().map(Object::payload), payload);
        read += 1;
    };
    reader.payloads(&keys, take).unwrap();
    assert_eq!(read, asked.len());
}

#[test]
fn integer_keys_of_each_type_are_found_in_a_map() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::new(7);
    for (ty, low, high) in TYPES {
        let default = if ty == "bool" { "true" } else { "1" };
        let table = table_of(&format!(
            "table Number {{ note: string; n: {ty} = {default} (primary); }} root_type Number;"
        ));
        let mut model = BTreeMap::new();
        for number in numbers(&mut random, low, high) {
            if random.below(3) > 0 {
                let note = "n".repeat(random.below(40) as usize);
                model.insert(number, object(&table, ty, number, &note));
            }
        }
        let all: Vec<_> = model
            .values()
            .map(|payload| (table.clone(), payload.clone()))
            .collect();
        let built = build(
            directory.path(),
            std::slice::from_ref(&table),
            &all,
            BuildOptions::default(),
        );
        let built = built.unwrap();
        let mut asked = numbers(&mut random, i64::MIN.into(), u64::MAX.into());
        asked.extend(numbers(&mut random, low, high));
        asked.extend(model.keys().copied());
        for check_blocks in [false, true] {
            let pack = mapped(built.path(), check_blocks).unwrap();
            check(&pack, &table, &model, &asked);
            let mut model = model.clone();
            let mut edit = pack.edit();
            for number in asked
                .iter()
                .filter(|number| (low..=high).contains(number))
                .take(40)
            {
                if number % 2 == 0 {
                    edit = edit.remove(&table, &[value(*number)]);
                    model.remove(number);
                } else {
                    let changed = object(&table, ty, *number, "changed");
                    edit = edit.upsert(&table, &changed);
                    model.insert(*number, changed);
                }
            }
            check(&edit.finish().unwrap(), &table, &model, &asked);
        }
    }
}
