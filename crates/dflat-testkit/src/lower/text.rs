//! From the model's questions to conditions and orders as text.

use std::fmt::Write as _;

use crate::model::{Case, Cell, Condition, Each, Key, Operator, Path, Share, Term, Test, Vector};

/// A condition of the model in the condition language.
#[must_use]
pub fn condition(of: &Condition) -> String {
    match of {
        Condition::Compare(path, operator, value) => {
            format!(
                "{} {} {}",
                field(*path),
                sign(*operator),
                value_of(*path, value)
            )
        }
        Condition::In(path, values) => format!("{} in {}", field(*path), list(*path, values)),
        Condition::NotIn(path, values) => {
            format!("{}.not_in({})", field(*path), list(*path, values))
        }
        Condition::IsNull(path) => format!("{}.is_null", field(*path)),
        Condition::And(a, b) => format!("({} && {})", condition(a), condition(b)),
        Condition::Or(a, b) => format!("({} || {})", condition(a), condition(b)),
        Condition::Not(inner) => format!("!({})", condition(inner)),
        Condition::Between(path, first, last) => {
            let (first, last) = (value_of(*path, first), value_of(*path, last));
            format!("{}.between({first}, {last})", field(*path))
        }
        Condition::Weigh(left, operator, right) => {
            format!("{} {} {}", term(left), sign(*operator), term(right))
        }
        Condition::Text(path, test, pattern, case) => tested(*path, *test, pattern, *case),
        Condition::Marks(share, bits) => {
            let method = match share {
                Share::All => "has_all",
                Share::Any => "has_any",
            };
            format!("marks.{method}({})", marks(*bits))
        }
        Condition::Members(share, each) => members(*share, each),
    }
}

/// The keys of an order in the condition language.
#[must_use]
pub fn order(keys: &[Key]) -> String {
    let keys = keys.iter().map(|key| {
        let direction = if key.descending { " desc" } else { "" };
        let nulls = match key.missing_first {
            None => "",
            Some(true) => " nulls first",
            Some(false) => " nulls last",
        };
        format!("{}{direction}{nulls}", term(&key.term))
    });
    keys.collect::<Vec<_>>().join(", ")
}

const fn field(path: Path) -> &'static str {
    match path {
        Path::Id => "id",
        Path::Rank => "rank",
        Path::Size => "size",
        Path::Name => "name",
        Path::Nick => "nick",
        Path::Code => "code",
        Path::Weight => "weight",
        Path::Mass => "mass",
        Path::Wide => "wide",
        Path::Flag => "flag",
        Path::Level => "level",
        Path::Maybe => "maybe",
        Path::BodyTag => "body.tag",
        Path::NoteText => "body.as_::<Note>().text",
        Path::NoteStars => "body.as_::<Note>().stars",
        Path::PhotoUrl => "body.as_::<Photo>().url",
        Path::PhotoBytes => "body.as_::<Photo>().bytes",
        Path::SpotX => "body.as_::<BodySpot>().x",
        Path::PointX => "point.x",
        Path::PointY => "point.y",
        Path::Marks => "marks",
    }
}

const fn sign(operator: Operator) -> &'static str {
    match operator {
        Operator::Equal => "==",
        Operator::NotEqual => "!=",
        Operator::Less => "<",
        Operator::LessOrEqual => "<=",
        Operator::Greater => ">",
        Operator::GreaterOrEqual => ">=",
    }
}

fn list(path: Path, values: &[Cell]) -> String {
    let values: Vec<String> = values.iter().map(|value| value_of(path, value)).collect();
    format!("[{}]", values.join(", "))
}

fn value_of(path: Path, value: &Cell) -> String {
    match (path, value) {
        (Path::Flag, Cell::Whole(flag)) => (*flag == 1).to_string(),
        (Path::Level, Cell::Whole(level)) => match level {
            1 => "Level::Low".to_owned(),
            5 => "Mid".to_owned(),
            _ => "Level::High".to_owned(),
        },
        (Path::Marks, Cell::Whole(bits)) => format!("?{}", bits + 1),
        // A constant of Rust has its own type.
        (Path::PointY, value) => literal(value).replace("f64", "f32"),
        (_, value) => literal(value),
    }
}

/// A set of flags: no literal stands for an empty one, so it is a placeholder.
fn marks(bits: u8) -> String {
    let named = [("Mark::Red", 1), ("Green", 2), ("Mark::BLUE", 4)];
    let set: Vec<&str> = named
        .iter()
        .filter(|(_, bit)| bits & bit > 0)
        .map(|(name, _)| *name)
        .collect();
    match set.as_slice() {
        [] => "?1".to_owned(),
        set => set.join(" | "),
    }
}

fn literal(value: &Cell) -> String {
    match value {
        Cell::Missing => "f64::NAN".to_owned(),
        Cell::Whole(number) => number.to_string(),
        Cell::Real(number) if *number == f64::INFINITY => "f64::INFINITY".to_owned(),
        Cell::Real(number) if *number == f64::NEG_INFINITY => "f64::NEG_INFINITY".to_owned(),
        Cell::Real(number) => format!("{number:?}"),
        Cell::Text(text) => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\0' => out.push_str("\\0"),
            'a' => out.push_str("\\x61"),
            c if u32::from(c) > 0xFFF => write!(out, "\\u{{{:x}}}", u32::from(c)).unwrap(),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn term(of: &Term) -> String {
    match of {
        Term::Path(path) => field(*path).to_owned(),
        Term::Number(number) => literal(number),
        Term::Computed(left, operator, right) => {
            format!("({} {operator} {})", term(left), term(right))
        }
        Term::Length(path) => format!("{}.len", field(*path)),
        Term::Count(vector) => format!("{}.len()", vector_name(*vector)),
        Term::Position(path, values) => {
            format!("{}.position_in({})", field(*path), list(*path, values))
        }
    }
}

const fn vector_name(vector: Vector) -> &'static str {
    match vector {
        Vector::Tags => "tags",
        Vector::Scores => "scores",
        Vector::Notes => "notes",
        Vector::Spots => "spots",
        Vector::Bodies => "bodies",
    }
}

fn tested(path: Path, test: Test, pattern: &str, case: Case) -> String {
    let pattern = quoted(pattern);
    let ignore = match case {
        Case::Exact => "",
        Case::Ignored => ".ignore_case()",
    };
    let method = match test {
        Test::Equals => return format!("{}{ignore} == {pattern}", field(path)),
        Test::Begins => "starts_with",
        Test::Ends => "ends_with",
        Test::Has => "contains",
        Test::Like => "like",
    };
    format!("{}{ignore}.{method}({pattern})", field(path))
}

fn members(share: Share, each: &Each) -> String {
    let method = match share {
        Share::All => "all",
        Share::Any => "any",
    };
    let (vector, condition) = match each {
        Each::Tag(Operator::Equal, tag) if share == Share::Any => {
            return format!("tags.contains({})", quoted(tag));
        }
        Each::Tag(operator, tag) => ("tags", format!("it {} {}", sign(*operator), quoted(tag))),
        Each::Score(operator, score) => ("scores", format!("it {} {score}", sign(*operator))),
        Each::Note(operator, stars, text) => {
            let starred = format!("stars {} {stars}", sign(*operator));
            let condition = match text {
                None => starred,
                Some(text) => format!("{starred} && it.text == {}", quoted(text)),
            };
            ("notes", condition)
        }
        Each::SpotX(operator, x) => ("spots", format!("x {} {x}", sign(*operator))),
        Each::SpotY(operator, y) => {
            let y = literal(&match f64::from(*y) {
                y if y.is_nan() => Cell::Missing,
                y => Cell::Real(y),
            });
            let y = y.replace("f64", "f32");
            ("spots", format!("it.y {} {y}", sign(*operator)))
        }
        Each::BodyTag(code) => {
            let condition = match code {
                1 => "it.matches::<Note>()".to_owned(),
                2 => "it.matches::<Photo>()".to_owned(),
                code => format!("tag == {code}"),
            };
            ("bodies", condition)
        }
        Each::BodyStars(operator, stars) => {
            let operator = sign(*operator);
            (
                "bodies",
                format!("it.as_::<Note>().stars {operator} {stars}"),
            )
        }
    };
    format!("{vector}.{method}({condition})")
}
