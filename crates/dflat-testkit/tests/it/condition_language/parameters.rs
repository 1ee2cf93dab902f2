//! Placeholders mean the same as the methods of fields with the same values.

use dflat_condition::{Condition, ConditionErrorKind, Parameters, predicate};
use dflat_model::Value;
use dflat_testkit::schema::{Level, Sample, Scale};

fn same(text: &str, parameters: &Parameters, typed: &dflat::Predicate<Sample>) {
    let read = predicate(text, &Sample::TABLE, parameters).unwrap();
    assert_eq!(read.to_bytes(), typed.to_bytes().unwrap(), "{text}");
}

#[test]
fn placeholders_have_the_values_of_their_numbers_and_names() {
    let parameters = Parameters::new()
        .with(1, Value::Int(7))
        .with(2, Value::text("a"))
        .with("most", Value::Int(9))
        .with("level", Value::text("High"))
        .with("ids", vec![Value::Int(1), Value::Int(2)]);
    let rank = || Sample::RANK;
    same("rank > ?1", &parameters, &rank().gt(7));
    same(
        "?1 < rank && rank < :most",
        &parameters,
        &(rank().gt(7) & rank().lt(9)),
    );
    same(
        "rank > ? && name == ?",
        &parameters,
        &(rank().gt(7) & Sample::NAME.eq("a")),
    );
    same(
        "name.starts_with(?2)",
        &parameters,
        &Sample::NAME.starts_with("a"),
    );
    same(
        "level == :level",
        &parameters,
        &Sample::LEVEL.eq(Level::High),
    );
    same(
        "level == ?1",
        &Parameters::new().with(1, Value::Int(9)),
        &Sample::LEVEL.eq(Level::High),
    );
    same("rank in :ids", &parameters, &rank().in_([1, 2]));
    same("rank in [?1, 3]", &parameters, &rank().in_([7, 3]));
    same("weight < ?1", &parameters, &Sample::WEIGHT.lt(7.0));
    same(
        "flag == ?1",
        &Parameters::new().with(1, Value::Int(1)),
        &Sample::FLAG.eq(true),
    );
}

#[test]
fn number_is_rounded_to_the_type_of_the_field() {
    let parameters = Parameters::new().with(1, Value::Int((1 << 53) + 1));
    let rounded = Sample::MASS.eq(9_007_199_254_740_992.0);
    same("mass == 9007199254740993", &parameters, &rounded);
    same("mass == ?1", &parameters, &rounded);
    let read = predicate("weight == 16777217", &Scale::TABLE, &parameters).unwrap();
    let rounded = Scale::WEIGHT.eq(16_777_216.0);
    assert_eq!(read.to_bytes(), rounded.to_bytes().unwrap());
}

#[test]
fn missing_values_mean_what_none_means() {
    let parameters = Parameters::new()
        .with(1, Value::Null)
        .with("list", vec![Value::text("a"), Value::Null]);
    same("name == ?1", &parameters, &Sample::NAME.eq(None::<&str>));
    same("name != ?1", &parameters, &Sample::NAME.ne(None::<&str>));
    same("name < ?1", &parameters, &Sample::NAME.lt(None::<&str>));
    same(
        "name in :list",
        &parameters,
        &Sample::NAME.in_([Some("a"), None]),
    );
    same(
        "name in [?1]",
        &parameters,
        &Sample::NAME.in_([None::<&str>]),
    );
    let pattern = predicate("name.like(?1)", &Sample::TABLE, &parameters).unwrap_err();
    assert_eq!(pattern.kind(), ConditionErrorKind::WrongType);
}

#[test]
fn parsed_condition_is_used_with_several_values() {
    let condition = Condition::parse("rank > ?1").unwrap();
    for least in [1, 2] {
        let parameters = Parameters::new().with(1, Value::Int(least));
        let read = condition.resolve(&Sample::TABLE, &parameters).unwrap();
        assert_eq!(read.to_string(), format!("rank > {least}"));
    }
    let without = condition.resolve(&Sample::TABLE, &Parameters::new());
    assert_eq!(
        without.unwrap_err().kind(),
        ConditionErrorKind::MissingParameter
    );
}

#[test]
fn condition_on_a_string_key_is_read_from_its_bytes() {
    let typed = dflat_testkit::schema::Item::ID.eq("a");
    let bytes = typed.to_bytes().unwrap();
    let read = dflat::Predicate::<dflat_testkit::schema::Item>::from_bytes(&bytes).unwrap();
    assert_eq!(read.to_bytes().unwrap(), bytes);
}
