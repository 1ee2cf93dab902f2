//! The macro `query!` and text accept the same conditions, and make the same data of them.

use std::path::Path;

use dflat::{Object, query};
use dflat_condition::{Condition, Parameters, predicate};
use dflat_testkit::diary;
use dflat_testkit::schema::{
    Bag, BodySpot, Gauge, Item, Keyed, Level, Mark, Nested, Note, Photo, Sample, State, Task, Twin,
    Wide,
};

/// Reads each condition twice: by the macro, and as the text of its tokens.
macro_rules! both {
    ($($ty:ident: $(($($condition:tt)+))+)*) => {$($(
        check::<$ty>(stringify!($($condition)+), &query!($ty: $($condition)+));
    )+)*};
}

fn check<T: Object>(text: &str, typed: &dflat::Predicate<T>) {
    let read = predicate(text, &T::TABLE, &Parameters::new());
    let read = read.unwrap_or_else(|error| panic!("{}", error.render(text)));
    assert_eq!(read.to_string(), typed.to_string(), "{text}");
    assert_eq!(read.to_bytes(), typed.to_bytes().unwrap(), "{text}");
}

#[test]
fn comparisons_and_logic_are_the_same() {
    both! {
        Sample:
            (rank == 1) (rank != -1) (100 < rank) (100 >= rank) (rank < i32::MAX) (rank > i32::MIN)
            (rank == 0x10) (rank == 1_000) (rank == 1i32) (rank == 2 + 3 * 4 % 5 - 6 / 2)
            (rank == -(1 + 2)) (wide == 18446744073709551615) (wide == u64::MAX)
            (weight > 1.5) (weight == -0.0) (weight < 1e300) (weight == f64::INFINITY)
            (weight == f64::NAN) (weight != 1.5f64) (weight <= 2.5 / 0.5)
            (flag == true) (flag != false) (false == flag)
            (name == "a") (name == "a\"\\\n\u{e9}\x41") (name == r#"a"b\c"#) ("a" < name)
            (level == Level::Low) (Level::High >= level)
            (marks == Mark::RED)
            (name == nick) (rank < size) (wide == body.as_::<Photo>().bytes) (weight > point.y)
            (maybe.is_null) (maybe.is_null()) (maybe.is_not_null) (!(rank >= 3)) (!maybe.is_null)
            (!!(rank == 1))
            (rank > 1 && rank < 9 || name == "a") (name == "a" || rank > 1 && rank < 9)
            (rank > 1 && (rank < 9 || name == "a")) ((rank > 1 && rank < 9) && size == 2)
            (rank > 1 && (rank < 9 && (size == 2 && flag == true)))
            (rank in [1, 2, 3]) (name in ["a", "b",]) (level in [Level::Low, Level::Mid])
            (!(rank in [1, 2])) (rank.not_in([1, -2])) (rank.in_([3])) (rank.between(1, 5))
            (rank.eq(1)) (rank.ne(2)) (rank.lt(3)) (rank.le(4)) (rank.gt(5)) (rank.ge(6))
        Keyed: (zone == "a" && number < 5 && open == true)
        Gauge: (at >= 0.5) (note.is_null)
        Wide: (id == 1 || rank > 9223372036854775808)
        Item: (id == "a" && level == Level::Mid)
    }
}

#[test]
fn computations_are_the_same() {
    both! {
        Sample:
            (rank + 2 * rank % 3 <= 9) ((rank + 2) * 3 > 9 - rank) (10 % rank == 1)
            ((rank - 1) / 2 == 3) (rank + 9223372036854775807 > 0) (wide * 2 + 1 == 7)
            (weight * 2.0 > mass) (point.y + 0.1 == 0.3) (rank - size == maybe)
            (name.len > 2) (name.len() + 1 == nick.len) (tags.len == 0) (2 < scores.len())
            (level.position_in(&[Level::High, Level::Low]) == 1) (rank.position_in(&[3, 1]) < 2)
            (rank - 1 - 2 == 3) (rank + 1 < size * 2 && weight / mass >= 0.5)
    }
}

#[test]
fn strings_flags_and_paths_are_the_same() {
    both! {
        Sample:
            (name.starts_with("a")) (name.ends_with("a") || nick.contains("b")) (code.like("a%_"))
            (name.ignore_case() == "A") (name.ignore_case().eq("A"))
            (name.ignore_case().like("a%")) (name.ignore_case().starts_with("a"))
            (name.ignore_case().ends_with("a")) (name.ignore_case.contains("a"))
            (marks.has_all(Mark::RED)) (marks.has_any(Mark::RED | Mark::BLUE))
            (body.as_::<Note>().text == "a") (body.as_::<Note>().text.is_null)
            (body.as_::<Photo>().bytes > 7)
            (body.as_::<BodySpot>().x == 1) (body.matches::<Note>()) (body.matches::<BodySpot>())
            (body.tag == 1) (body.tag in [1, 2]) (body.tag() != 0) (point.x > 1) (point.y() < 0.5)
            (point.x.is_null)
        Nested:
            (profile.url == "a") (profile.age >= 18) (profile.point.x == 1) (plain.tag == 0)
            (plain.as_::<BodySpot>().y > 1.5)
        Task: (state == State::Doing && place.street.starts_with("a")) (due.is_null)
    }
}

#[test]
fn conditions_on_members_are_the_same() {
    both! {
        Sample:
            (tags.any(it == "a")) (tags.all(it.ends_with(".png"))) (tags.contains("a"))
            (tags.any(len > 2)) (tags.any(it.len > 3 && !it.is_null())) (tags.is_empty)
            (scores.any(it > 1 && it < 9)) (scores.contains(-1)) (scores.all(it in [1, 2]))
            (notes.any(stars == 3 && text == "a")) (notes.all(it.text.is_null))
            (spots.any(x > 1 && it.y < 2.0))
            (bodies.any(it.as_::<Note>().stars == 3)) (bodies.any(tag == 2))
            (bodies.all(it.matches::<Photo>()))
        Bag:
            (bools.contains(true)) (bytes.any(it + 1 == 2)) (shorts.contains(-1)) (longs.len == 1)
            (wides.any(it == 18446744073709551615)) (floats.any(it > 0.1)) (doubles.contains(1.5))
            (levels.contains(Level::Low)) (levels.any(it in [Level::Low, Level::High]))
            (points.any(it.x == 1 && it.y < 2.5)) (notes.any(text.starts_with("a")))
            (bodies.is_empty()) (tree.name == "a") (tree.left.left.name == "a")
            (tree.children.any(name == "a" || children.any(it.name == "b"))) (limit == 1)
            (ratio.is_null) (maybe == 0.5)
    }
}

#[test]
fn every_scalar_is_the_same() {
    both! {
        Twin:
            (bool_a == true) (i8_a == -128) (i8_a == i8::MIN) (u8_a == 255) (i16_a > -32768)
            (u16_b <= 65535) (i32_a == 2147483647) (u32_a == 4294967295) (u32_b == u32::MAX)
            (i64_a == 9223372036854775807) (i64_b == -9223372036854775808)
            (u64_a == 18446744073709551615) (f32_a == 0.1) (f32_b == 3.4e38) (f32_a == f32::NAN)
            (f64_a == 0.1) (f64_b == f64::NEG_INFINITY) (f64_b == f64::MAX) (f32_b == f32::MIN)
            (level_a == Level::Low) (maybe_a == 1) (text_a > "a") (i8_a == i16_a) (u8_b < u64_b)
            (f32_a == f64_a) (i8_a + i32_b == 2) (bool_a == bool_b) (level_a == level_b)
    }
}

#[test]
fn text_refuses_the_conditions_that_the_macro_refuses() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dflat/tests/ui");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let program = match path.extension() {
            Some(extension) if extension == "rs" => std::fs::read_to_string(&path).unwrap(),
            _ => continue,
        };
        for (_, rest) in program.match_indices("query!(Post: ").map(|(at, start)| {
            let rest = &program[at + start.len()..];
            (at, rest)
        }) {
            let text = rest.split(");").next().unwrap();
            let post = dflat_testkit::post::Post::TABLE;
            let found = predicate(text, &post, &Parameters::new());
            assert!(found.is_err(), "{}: {text}", path.display());
            count += 1;
        }
    }
    assert!(count >= 5, "{count} conditions");
}

#[test]
fn times_and_uuids_are_compared_by_their_numbers() {
    let entry = diary::Entry::TABLE;
    for text in ["created > 5", "author.high == 1 && author.low == 2"] {
        let condition = Condition::parse(text).unwrap();
        let read = condition.resolve(&entry, &Parameters::new()).unwrap();
        assert!(read.is_about(&entry), "{text}");
    }
}
