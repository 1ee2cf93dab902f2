//! Random queries as text: they become the same data as typed queries, and find what the model
//! finds. Damaged text is refused at a place in the text, and never panics.

use dflat::{ChangeRequest, Predicate};
use dflat_condition::{Condition, ConditionError, Parameters, fields, orders, predicate};
use dflat_model::Value;

use super::question::{question, sample};
use crate::fixture::{Fixture, bounded};
use crate::lower;
use crate::model::{Model, Question};
use crate::random::Random;
use crate::schema::{Sample, SampleData};

/// The number of objects.
const OBJECTS: usize = 30;
/// The number of queries of a seed.
const QUESTIONS: usize = 30;
/// The number of texts that a seed damages.
const TEXTS: usize = 20;

/// Tokens that have a meaning in conditions.
const WORDS: &str = "rank name level body point tags notes marks spots it true false in asc desc \
    nulls first last any all len is_null as_ matches tag between has_all ignore_case starts_with \
    Note Low Level::Mid f64::NAN i32::MAX 0 -1 1_0 0xFF 1e999 1. .5 99999999999999999999 \"a\" \" \
    \"\\u{110000}\" r#\"a\"# r\" ? ?1 ?0 ?70000 :a :: && || == != <= < > ! - + * / % & | . , .. \
    ( ) [ ] { } ' = <> \u{0} \u{202E} \u{1F600} \u{130} r#type nulls null and like";

/// Runs a seed: queries as text, compared with typed queries and the model.
pub fn run_seed(seed: u64) {
    bounded(move || {
        let mut random = Random::new(seed);
        let fixture = Fixture::memory();
        let model = filled(&fixture, &mut random);
        for _ in 0..QUESTIONS {
            let question = question(&mut random);
            compare(&fixture, &model, &question);
        }
        fixture.shutdown().unwrap();
    });
}

fn filled(fixture: &Fixture, random: &mut Random) -> Model {
    let mut model = Model::default();
    let mut objects: Vec<SampleData> = Vec::new();
    for _ in 0..OBJECTS {
        let data = sample(random);
        if model.insert(data.clone()).is_ok() {
            objects.push(data);
        }
    }
    fixture.perform([Sample::TABLE], move |tx| {
        for data in objects {
            tx.submit::<Sample>(ChangeRequest::creation(data))?;
        }
        Ok(())
    });
    model
}

/// The values of the placeholders that the model's queries have: sets of flags.
fn parameters() -> Parameters {
    let values = (0..8_u8).map(|bits| (usize::from(bits) + 1, Value::Int(bits.into())));
    values.fold(Parameters::new(), |all, (number, bits)| {
        all.with(number, bits)
    })
}

fn compare(fixture: &Fixture, model: &Model, question: &Question) {
    let typed: Vec<String> = question.order.iter().map(lower::typed_order).collect();
    let text = lower::text::order(&question.order);
    let read = orders(&text, &Sample::TABLE, &parameters()).unwrap_or_else(|e| fail(&text, &e));
    let read: Vec<String> = read.iter().map(|order| format!("Order({order})")).collect();
    assert_eq!(read, typed, "{text}");
    let Some(condition) = &question.condition else {
        return;
    };
    let text = lower::text::condition(condition);
    let read = predicate(&text, &Sample::TABLE, &parameters());
    let read = read.unwrap_or_else(|e| fail(&text, &e)).to_bytes();
    let typed = lower::condition(condition);
    let read = Predicate::<Sample>::from_bytes(&read).unwrap();
    assert_eq!(
        read.to_bytes().unwrap(),
        typed.to_bytes().unwrap(),
        "{text}"
    );
    let found = fixture.fetch::<Sample>().filter(read).all().unwrap();
    let ids: Vec<i32> = found.iter().map(Sample::id).collect();
    let alone = Question {
        condition: Some(condition.clone()),
        ..Question::default()
    };
    let expected: Vec<i32> = model.ask(&alone).iter().map(|data| data.id).collect();
    assert_eq!(ids, expected, "{text}");
}

fn fail<T>(text: &str, error: &ConditionError) -> T {
    panic!("{}", error.render(text))
}

/// Runs a seed: damaged text.
pub fn run_damaged_seed(seed: u64) {
    bounded(move || {
        let mut random = Random::new(seed);
        for _ in 0..TEXTS {
            check_text(&damaged(&mut random));
        }
    });
}

/// Checks an arbitrary text as a condition, an order and a list of fields.
pub fn check_text(text: &str) {
    let parameters = parameters();
    check(text, predicate(text, &Sample::TABLE, &parameters));
    check(text, orders(text, &Sample::TABLE, &parameters));
    check(text, fields(text, &Sample::TABLE, &parameters));
    if let Ok(condition) = Condition::parse(text) {
        let resolved = condition.resolve(&Sample::TABLE, &parameters);
        // A resolved condition is about the type, and its bytes can be read.
        if let Ok(resolved) = &resolved {
            let bytes = resolved.to_bytes();
            let read = dflat_model::Predicate::from_bytes(&bytes);
            if bytes.len() <= dflat_model::BYTES_MAX {
                assert_eq!(read.as_ref(), Ok(resolved), "{text}");
            }
            assert!(resolved.is_about(&Sample::TABLE), "{text}");
        }
        check(text, resolved);
    }
}

fn check<T>(text: &str, found: Result<T, ConditionError>) {
    let Err(error) = found else {
        return;
    };
    let (start, end) = (error.start(), error.end());
    assert!(start <= end && text.get(start..end).is_some(), "{text}");
    assert!(error.line() >= 1 && error.column() >= 1, "{text}");
    let lines = error.render(text);
    let is_shown = |c: char| c == '\n' || !c.is_control();
    assert!(lines.chars().all(is_shown), "{lines:?}");
    assert!(error.to_string().chars().all(is_shown), "{error:?}");
}

/// The text of a random query with some tokens changed.
fn damaged(random: &mut Random) -> String {
    let one = |random: &mut Random| {
        let question = question(random);
        match &question.condition {
            Some(condition) => lower::text::condition(condition),
            None => lower::text::order(&question.order),
        }
    };
    let mut text: Vec<String> = tokens(&one(random));
    let words: Vec<&str> = WORDS.split(' ').collect();
    for _ in 0..1 + random.below(5) {
        let at = random.below(text.len().max(1));
        match random.below(6) {
            0 if at < text.len() => {
                text.remove(at);
            }
            1 | 2 => text.insert(at.min(text.len()), (*random.pick(&words)).to_owned()),
            3 if at < text.len() => text[at] = (*random.pick(&words)).to_owned(),
            4 if at < text.len() => {
                let to = random.below(text.len());
                text.swap(at, to);
            }
            _ if at < text.len() => {
                let times = *random.pick(&[1, 2, 70, 3_000]);
                text[at] = text[at].repeat(times);
            }
            _ => {}
        }
    }
    text.concat()
}

/// The words, signs and blanks of a text.
fn tokens(text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens: Vec<String> = Vec::new();
    let mut in_word = false;
    for c in text.chars() {
        match tokens.last_mut() {
            Some(token) if in_word && is_word(c) => token.push(c),
            _ => tokens.push(c.to_string()),
        }
        in_word = is_word(c);
    }
    tokens
}
