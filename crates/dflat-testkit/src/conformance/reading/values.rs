//! Laws of values: each type compares, orders and is found the same with and without an index.

use dflat::{Field, FieldType, FetchedResult, Operand, Predicate};

use crate::fixture::{Fixture, Open};
use crate::letter::v2::mail;
use crate::schema::{
    Item, ItemData, Keyed, KeyedData, Level, Note, Sample, SampleData, Twin, TwinData, Wide,
    WideData,
};

fn keys(found: &FetchedResult<Twin>) -> Vec<i32> {
    found.iter().map(Twin::id).collect()
}

/// Checks that queries by both fields of a pair find the objects for whose value `expected` is
/// true.
fn alike<T, P, V>(w: &Fixture, pair: [Field<Twin, T, P>; 2], values: &[Option<V>])
where
    T: FieldType + ?Sized,
    V: Operand<Twin, T> + Clone + PartialOrd + std::fmt::Debug,
{
    for probe in values.iter().flatten() {
        let holds = |accepts: &dyn Fn(&V) -> bool| -> Vec<i32> {
            let at = |(n, value): (usize, &Option<V>)| {
                value.as_ref().is_some_and(accepts).then(|| i32::try_from(n).unwrap())
            };
            values.iter().enumerate().filter_map(at).collect()
        };
        for field in &pair {
            let check = |predicate: Predicate<Twin>, expected: Vec<i32>| {
                let query = || w.fetch::<Twin>().filter(predicate.clone());
                let found = query().all().unwrap();
                let counted = query().count().unwrap();
                assert_eq!(keys(&found), expected, "{field:?} {probe:?}");
                assert_eq!(counted, expected.len(), "{field:?} {probe:?}");
            };
            let (f, p) = (|| field.clone(), || probe.clone());
            check(f().eq(p()), holds(&|v| v == probe));
            check(f().lt(p()), holds(&|v| v < probe));
            check(f().le(p()), holds(&|v| v <= probe));
            check(f().gt(p()), holds(&|v| v > probe));
            check(f().ge(p()), holds(&|v| v >= probe));
            check(f().ne(p()), holds(&|v| v != probe));
            check(f().in_([p()]), holds(&|v| v == probe));
        }
    }
    in_order(w, pair.clone(), values);
    in_groups(w, pair, values);
}

/// Checks that both fields of a pair give the same groups: missing values first.
fn in_groups<T, P, V>(w: &Fixture, pair: [Field<Twin, T, P>; 2], values: &[Option<V>])
where
    T: FieldType + ?Sized,
    V: PartialOrd,
{
    let mut sorted: Vec<&Option<V>> = values.iter().collect();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
    let groups: Vec<(bool, usize)> = sorted
        .chunk_by(|a, b| a == b)
        .map(|group| (group[0].is_some(), group.len()))
        .collect();
    for field in pair {
        let summed = w.fetch::<Twin>().group_by(field.clone()).sum(Twin::ID).all().unwrap();
        let ids: i64 = summed.iter().filter_map(|group| group.sum).sum();
        assert_eq!(ids, (0_i64..).take(values.len()).sum(), "{field:?}");
        let summed = summed.iter().map(|group| (group.key.is_some(), group.count));
        assert!(summed.eq(groups.iter().copied()), "{field:?}");
        let counts = w.fetch::<Twin>().group_by(field.clone()).all().unwrap();
        let counts = counts.iter().map(|group| (group.key.is_some(), group.count));
        assert!(counts.eq(groups.iter().copied()), "{field:?}");
    }
}

/// Checks that both fields of a pair give the same order: missing values first, ties by row id.
fn in_order<T, P, V>(w: &Fixture, pair: [Field<Twin, T, P>; 2], values: &[Option<V>])
where
    T: FieldType + ?Sized,
    V: PartialOrd,
{
    let mut sorted: Vec<usize> = (0..values.len()).collect();
    sorted.sort_by(|a, b| values[*a].partial_cmp(&values[*b]).unwrap());
    let mut reversed: Vec<usize> = (0..values.len()).collect();
    reversed.sort_by(|a, b| values[*b].partial_cmp(&values[*a]).unwrap());
    for field in pair {
        for limit in [values.len(), 3] {
            for (order, expected) in [
                (field.clone().ascending(), &sorted),
                (field.clone().descending(), &reversed),
            ] {
                let found = w.fetch::<Twin>().order_by(order).limit(limit).all().unwrap();
                let expected = expected[..limit.min(values.len())].iter();
                let expected = expected.map(|place| i32::try_from(*place).unwrap());
                assert_eq!(keys(&found), expected.collect::<Vec<_>>(), "{field:?}");
            }
        }
    }
}

macro_rules! pair_laws {
    ($($law:ident: $a:ident $b:ident $A:ident $B:ident [$($value:expr),* $(,)?];)*) => {$(
        pub fn $law(open: Open) {
            let w = open();
            let values = [$($value),*];
            w.create::<Twin>(values.iter().enumerate().map(|(id, value)| TwinData {
                id: i32::try_from(id).unwrap(),
                $a: *value,
                $b: *value,
                ..TwinData::default()
            }));
            let values = values.map(Some);
            alike(&w, [Twin::$A, Twin::$B], &values);
        }
    )*};
}

pair_laws! {
    booleans_compare: bool_a bool_b BOOL_A BOOL_B [true, false, true, false];
    bytes_compare: i8_a i8_b I8_A I8_B [0, i8::MAX, i8::MIN, -1, 1, 0];
    unsigned_bytes_compare: u8_a u8_b U8_A U8_B [0, u8::MAX, 127, 128, 0];
    shorts_compare: i16_a i16_b I16_A I16_B [0, i16::MAX, i16::MIN, -1, 0];
    unsigned_shorts_compare: u16_a u16_b U16_A U16_B [0, u16::MAX, 32767, 32768];
    ints_compare: i32_a i32_b I32_A I32_B [0, i32::MAX, i32::MIN, -1, 7, 7];
    unsigned_ints_compare: u32_a u32_b U32_A U32_B [0, u32::MAX, 1 << 31, (1 << 31) - 1];
    longs_compare: i64_a i64_b I64_A I64_B [
        0, i64::MAX, i64::MIN, i64::MAX - 1, (1 << 53) + 1, 1 << 53, -1,
    ];
    unsigned_longs_compare: u64_a u64_b U64_A U64_B [
        0, u64::MAX, 1 << 63, (1 << 63) - 1, u64::MAX - 1, (1 << 63) + 1, 255, 1,
    ];
    floats_compare: f32_a f32_b F32_A F32_B [
        0.0, -0.0, 0.1, -1.5, f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY,
        f32::MIN_POSITIVE,
    ];
    doubles_compare: f64_a f64_b F64_A F64_B [
        0.0, -0.0, 0.1, -1.5, f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY,
        f64::MIN_POSITIVE, 9_007_199_254_740_993.0, 9_223_372_036_854_775_808.0,
    ];
}

pub fn enums_compare_by_their_numbers(open: Open) {
    let w = open();
    let levels = [Level::High, Level::Low, Level::Mid, Level::Low];
    w.create::<Twin>(levels.iter().zip(0..).map(|(level, id)| TwinData {
        id,
        level_a: *level,
        level_b: *level,
        ..TwinData::default()
    }));
    alike(&w, [Twin::LEVEL_A, Twin::LEVEL_B], &levels.map(Some));
}

pub fn optional_scalars_are_missing_values(open: Open) {
    let w = open();
    let values = [Some(0), None, Some(-5), Some(5), None, Some(0)];
    w.create::<Twin>(values.iter().zip(0..).map(|(value, id)| TwinData {
        id,
        maybe_a: *value,
        maybe_b: *value,
        ..TwinData::default()
    }));
    alike(&w, [Twin::MAYBE_A, Twin::MAYBE_B], &values);
    for field in [Twin::MAYBE_A, Twin::MAYBE_B] {
        let missing = w.fetch::<Twin>().filter(field.is_null()).all().unwrap();
        assert_eq!(keys(&missing), [1, 4]);
    }
    assert_eq!(w.get::<Twin>(1).unwrap().unwrap().maybe_a(), None);
    assert_eq!(w.get::<Twin>(0).unwrap().unwrap().maybe_a(), Some(0));
}

pub fn strings_compare_by_their_bytes(open: Open) {
    let w = open();
    let values = [
        Some("b"), None, Some(""), Some("B"), Some("a\0"), Some("a"), Some("a\0b"), Some("é"),
        Some("e\u{301}"), Some("文字"), Some("🐉"), Some("\u{ffff}"), Some("\0"), Some("' OR 1=1 --"),
        Some("1"), Some("01"), Some("1.0"), None,
    ];
    w.create::<Twin>(values.iter().zip(0..).map(|(value, id)| TwinData {
        id,
        text_a: value.map(str::to_owned),
        text_b: value.map(str::to_owned),
        ..TwinData::default()
    }));
    alike(&w, [Twin::TEXT_A, Twin::TEXT_B], &values);
}

pub fn strings_with_nul_are_keys_of_their_own(open: Open) {
    let w = open();
    let text = |id: &str| ItemData {
        id: id.into(),
        code: Some(id.into()),
        ..ItemData::default()
    };
    w.create::<Item>(["a", "a\0", "a\0b", "", "\0", "é", "e\u{301}"].map(text));
    for id in ["a", "a\0", "a\0b", "", "\0", "é", "e\u{301}"] {
        assert_eq!(w.get::<Item>(id).unwrap().unwrap().id(), id);
        let found = w.fetch::<Item>().filter(Item::CODE.eq(id)).all().unwrap();
        assert_eq!(found.len(), 1, "{id:?}");
        assert_eq!(found[0].id(), id);
    }
    assert!(w.get::<Item>("a\0c").unwrap().is_none());
}

pub fn nan_is_a_missing_value(open: Open) {
    let w = open();
    let values = [1.0, f64::NAN, 2.0, -f64::NAN];
    w.create::<Twin>(values.iter().zip(0..).map(|(value, id)| TwinData {
        id,
        f64_a: *value,
        f64_b: *value,
        f32_a: *value as f32,
        f32_b: *value as f32,
        ..TwinData::default()
    }));
    for field in [Twin::F64_A, Twin::F64_B] {
        let found = |predicate| keys(&w.fetch::<Twin>().filter(predicate).all().unwrap());
        let f = || field.clone();
        assert_eq!(found(f().is_null()), [1, 3]);
        assert_eq!(found(f().ne(1.0)), [2]);
        assert_eq!(found(f().lt(9.0)), [0, 2]);
        assert!(found(f().eq(f64::NAN)).is_empty());
        assert!(found(f().ne(f64::NAN)).is_empty());
        assert!(found(!f().eq(f64::NAN)).is_empty());
        assert!(found(f().gt(f64::NAN) | f().le(f64::NAN)).is_empty());
        assert_eq!(found(f().in_([f64::NAN, 2.0])), [2]);
        assert!(found(!f().in_([f64::NAN, 2.0])).is_empty());
        let ordered = w.fetch::<Twin>().order_by(f().descending()).all().unwrap();
        assert_eq!(keys(&ordered), [2, 0, 1, 3]);
    }
    for field in [Twin::F32_A, Twin::F32_B] {
        let found = w.fetch::<Twin>().filter(field.is_null()).all().unwrap();
        assert_eq!(keys(&found), [1, 3]);
    }
    assert!(w.get::<Twin>(1).unwrap().unwrap().f64_a().is_nan());
}

pub fn identity_compares_floats_by_their_bits(open: Open) {
    let w = open();
    let object = w.create::<Twin>([TwinData::default()]).remove(0);
    let zero = w.change(&object, |data| data.f64_b = -0.0);
    assert!(zero.f64_b().is_sign_negative());
    let nan = w.change(&object, |data| data.f64_b = f64::NAN);
    assert!(nan.f64_b().is_nan());
    w.perform([Twin::TABLE], move |tx| {
        let same = dflat::ChangeRequest::change(tx, &object)?.unwrap();
        let outcome = tx.submit::<Twin>(same)?;
        assert!(matches!(outcome, dflat::UpdatedObject::Identity(_)));
        Ok(())
    });
}

pub fn unsigned_numbers_above_the_signed_range_are_keys(open: Open) {
    let w = open();
    let values = [u64::MAX, 5, 1 << 63, 0, (1 << 63) - 1, u64::MAX - 1];
    w.create::<Wide>(values.map(|id| WideData {
        id,
        rank: id,
        size: id,
    }));
    let mut sorted = values;
    sorted.sort_unstable();
    for id in values {
        assert_eq!(w.get::<Wide>(id).unwrap().unwrap().id(), id);
    }
    assert!(w.get::<Wide>((1 << 63) + 1).unwrap().is_none());
    for order in [Wide::ID.ascending(), Wide::RANK.ascending(), Wide::SIZE.ascending()] {
        let found = w.fetch::<Wide>().order_by(order).all().unwrap();
        assert!(found.iter().map(Wide::id).eq(sorted));
    }
    for predicate in [Wide::ID.gt(5_u64), Wide::RANK.gt(5_u64), Wide::SIZE.gt(5_u64)] {
        assert_eq!(w.fetch::<Wide>().filter(predicate).all().unwrap().len(), 4);
    }
    let edge = 1_u64 << 63;
    for predicate in [Wide::ID.lt(edge), Wide::RANK.lt(edge), Wide::SIZE.lt(edge)] {
        assert_eq!(w.fetch::<Wide>().filter(predicate).all().unwrap().len(), 3);
    }
}

pub fn parts_of_a_composite_key_are_queried_like_fields(open: Open) {
    let w = open();
    let zones = ["b", "a", "b", "a"];
    w.create::<Keyed>(zones.iter().zip([9, 1, u64::MAX, 9]).map(|(zone, number)| KeyedData {
        zone: (*zone).into(),
        number,
        open: number == 9,
        text: None,
    }));
    let found = |predicate| -> Vec<(String, u64)> {
        let found = w.fetch::<Keyed>().filter(predicate).all().unwrap();
        found.iter().map(|o| (o.zone().to_owned(), o.number())).collect()
    };
    let pair = |zone: &str, number| (zone.to_owned(), number);
    assert_eq!(found(Keyed::ZONE.eq("b")), [pair("b", 9), pair("b", u64::MAX)]);
    assert_eq!(found(Keyed::NUMBER.eq(9_u64)), [pair("b", 9), pair("a", 9)]);
    assert_eq!(found(Keyed::OPEN.eq(false)), [pair("a", 1), pair("b", u64::MAX)]);
    assert_eq!(found(Keyed::ZONE.ge("b") & Keyed::NUMBER.gt(9_u64)), [pair("b", u64::MAX)]);
    let ordered = w.fetch::<Keyed>().order_by(Keyed::ZONE.ascending());
    let ordered = ordered.order_by(Keyed::NUMBER.descending()).all().unwrap();
    assert!(ordered.iter().map(Keyed::number).eq([9, 1, u64::MAX, 9]));
    let by_zone = w.fetch::<Keyed>().order_by(Keyed::ZONE.descending()).limit(3).all().unwrap();
    assert!(by_zone.iter().map(Keyed::number).eq([9, u64::MAX, 1]));
}

pub fn values_that_every_object_has_are_selected_plain(open: Open) {
    let w = open();
    w.create::<Twin>([TwinData { id: 7, i8_b: -1, level_b: Level::High, ..TwinData::default() }]);
    let twins = || w.fetch::<Twin>();
    let rows: Vec<(i32, bool, i8, u64, Level)> = twins()
        .select((Twin::ID, Twin::BOOL_A, Twin::I8_B, Twin::U64_A, Twin::LEVEL_B))
        .unwrap();
    assert_eq!(rows, [(7, false, -1, 0, Level::High)]);
    // NaN counts as missing, and a computed value may be missing too.
    let rows: Vec<(Option<f64>, Option<i64>)> =
        twins().select((Twin::F64_A, Twin::I8_B * 2)).unwrap();
    assert_eq!(rows, [(Some(0.0), Some(-2))]);
    let rows: Vec<(Option<i32>, Option<String>)> =
        twins().select((Twin::MAYBE_A, Twin::TEXT_A)).unwrap();
    assert_eq!(rows, [(None, None)]);
}

pub fn values_inside_required_tables_are_selected_plain(open: Open) {
    let w = open();
    let sender = mail::Person::new("Ada");
    let letter = mail::LetterData::new("hi", sender, []);
    w.create::<mail::Letter>([mail::LetterData { id: 1, ..letter }]);
    let rows: Vec<(String, String)> = w
        .fetch::<mail::Letter>()
        .select((mail::Letter::TITLE, mail::Letter::SENDER.name()))
        .unwrap();
    assert_eq!(rows, [("hi".to_owned(), "Ada".to_owned())]);
}

pub fn values_inside_structs_and_unions_may_be_missing(open: Open) {
    let w = open();
    w.create::<Sample>([SampleData { id: 1, ..SampleData::default() }]);
    let samples = || w.fetch::<Sample>();
    let rows: Vec<(Option<i32>, Option<i32>, u8)> = samples()
        .select((
            Sample::POINT.x(),
            Sample::BODY.as_::<Note>().stars(),
            Sample::BODY.tag(),
        ))
        .unwrap();
    assert_eq!(rows, [(None, None, 0)]);
}
