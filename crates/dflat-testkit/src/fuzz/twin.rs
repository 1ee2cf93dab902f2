//! Random queries by indexed fields, and by their twins without an index: each type of number, with
//! values at its limits. Both must give the same result in every state of the indexes.

use dflat::{Field, FieldType, Operand, Order, Predicate};

use super::predicate::{STATES, lose};
use crate::fixture::{Fixture, bounded};
use crate::random::Random;
use crate::schema::{Level, Twin, TwinData};

/// The number of queries in each state.
const QUESTIONS: usize = 40;

/// A condition or order on the indexed field and on its twin.
type Pair<P> = [P; 2];

/// Runs a seed.
pub fn run_seed(seed: u64) {
    bounded(move || {
        let mut random = Random::new(seed);
        let (memory, file) = (Fixture::memory(), Fixture::sqlite());
        // Sometimes so many objects that a plan has a choice.
        let count = if random.one_in(4) { 600 } else { 60 };
        let data: Vec<TwinData> = (0..count).map(|id| twin(id, &mut random)).collect();
        memory.create::<Twin>(data.clone());
        file.create::<Twin>(data);
        for state in STATES {
            lose(&file, "twin", state, &mut random);
            for _ in 0..QUESTIONS {
                ask(&[&memory, &file], &mut random);
            }
        }
    });
}

fn ask(workspaces: &[&Fixture], random: &mut Random) {
    let field = random.below(FIELDS);
    let mut filters = [None, None];
    for _ in 0..1 + random.below(3) {
        let other = random.below(FIELDS);
        let of = if random.one_in(3) { other } else { field };
        let either = random.one_in(3);
        let parts = leaf(of, random).0;
        for (filter, part) in filters.iter_mut().zip(parts) {
            *filter = Some(match filter.take() {
                Some(filter) if either => filter | part,
                Some(filter) => filter & part,
                None => part,
            });
        }
    }
    let order = random.one_in(2).then(|| leaf(field, random).1);
    let limit = random.one_in(3).then(|| 1 + random.below(5));
    let shown = format!("{filters:?} {order:?} {limit:?}");
    let mut orders = order.map_or([None, None], |order| order.map(Some));
    let mut found = Vec::new();
    for workspace in workspaces {
        for (filter, order) in filters.iter().zip(&mut orders) {
            let mut fetch = workspace.fetch::<Twin>();
            if let Some(filter) = filter {
                fetch = fetch.filter(filter.clone());
            }
            if let Some(order) = order {
                fetch = fetch.order_by(order.clone());
            }
            if let Some(limit) = limit {
                fetch = fetch.limit(limit);
            }
            let all = fetch.all().unwrap();
            found.push(all.iter().map(Twin::id).collect::<Vec<i32>>());
        }
    }
    assert!(
        found.iter().all(|ids| *ids == found[0]),
        "{found:?} {shown}"
    );
}

const I64S: [i64; 7] = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
const U64S: [u64; 6] = [0, 1, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX];
const I32S: [i32; 5] = [i32::MIN, -1, 0, 1, i32::MAX];
const F32S: [f32; 9] = [
    0.0,
    -0.0,
    0.1,
    1e-45,
    f32::MAX,
    16_777_216.0,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];
const F64S: [f64; 10] = [
    0.0,
    -0.0,
    0.1,
    5e-324,
    f64::MAX,
    9_223_372_036_854_775_808.0,
    -9_223_372_036_854_775_808.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];
const TEXTS: [&str; 8] = ["", "\0", "a", "a\0", "ab", "1", "é", "\u{10FFFF}"];

/// The number of fields.
const FIELDS: usize = 14;

fn leaf(field: usize, r: &mut Random) -> (Pair<Predicate<Twin>>, Pair<Order<Twin>>) {
    match field {
        0 => pair([Twin::BOOL_A, Twin::BOOL_B], &[false, true], r),
        1 => pair([Twin::I8_A, Twin::I8_B], &[i8::MIN, -1, 0, i8::MAX], r),
        2 => pair([Twin::U8_A, Twin::U8_B], &[0, 1, 128, u8::MAX], r),
        3 => pair([Twin::I16_A, Twin::I16_B], &[i16::MIN, 0, i16::MAX], r),
        4 => pair([Twin::U16_A, Twin::U16_B], &[0, 1, u16::MAX], r),
        5 => pair([Twin::I32_A, Twin::I32_B], &I32S, r),
        6 => pair([Twin::U32_A, Twin::U32_B], &[0, 1 << 31, u32::MAX], r),
        7 => pair([Twin::I64_A, Twin::I64_B], &I64S, r),
        8 => pair([Twin::U64_A, Twin::U64_B], &U64S, r),
        9 => pair([Twin::F32_A, Twin::F32_B], &F32S, r),
        10 => pair([Twin::F64_A, Twin::F64_B], &F64S, r),
        11 => pair([Twin::LEVEL_A, Twin::LEVEL_B], &Level::ALL, r),
        12 => pair([Twin::MAYBE_A, Twin::MAYBE_B], &I32S, r),
        _ => pair([Twin::TEXT_A, Twin::TEXT_B], &TEXTS, r),
    }
}

fn pair<T: FieldType + ?Sized, P, V: Operand<Twin, T> + Copy>(
    fields: [Field<Twin, T, P>; 2],
    values: &[V],
    random: &mut Random,
) -> (Pair<Predicate<Twin>>, Pair<Order<Twin>>) {
    let value = *random.pick(values);
    let several: Vec<V> = (0..random.below(5)).map(|_| *random.pick(values)).collect();
    let (kind, not, descending) = (random.below(9), random.one_in(6), random.one_in(2));
    let predicates = fields.clone().map(|field| {
        let predicate = match kind {
            0 => field.eq(value),
            1 => field.ne(value),
            2 => field.lt(value),
            3 => field.le(value),
            4 => field.gt(value),
            5 => field.ge(value),
            6 => field.is_null(),
            _ => field.in_(several.iter().copied()),
        };
        if not { !predicate } else { predicate }
    });
    let orders = fields.map(|field| match descending {
        true => field.descending(),
        false => field.ascending(),
    });
    (predicates, orders)
}

/// An object whose fields equal their twins.
fn twin(id: i32, r: &mut Random) -> TwinData {
    let (b, i8, u8) = (
        r.one_in(2),
        *r.pick(&[i8::MIN, -1, 0, i8::MAX]),
        *r.pick(&[0, 128, 255]),
    );
    let (i16, u16) = (
        *r.pick(&[i16::MIN, 0, i16::MAX]),
        *r.pick(&[0, 1, u16::MAX]),
    );
    let (i32, u32) = (*r.pick(&I32S), *r.pick(&[0, 1 << 31, u32::MAX]));
    let (i64, u64) = (*r.pick(&I64S), *r.pick(&U64S));
    let (f32, f64, level) = (*r.pick(&F32S), *r.pick(&F64S), *r.pick(&Level::ALL));
    let maybe = (!r.one_in(4)).then(|| *r.pick(&I32S));
    let text = (!r.one_in(4)).then(|| (*r.pick(&TEXTS)).to_owned());
    TwinData {
        id,
        bool_a: b,
        bool_b: b,
        i8_a: i8,
        i8_b: i8,
        u8_a: u8,
        u8_b: u8,
        i16_a: i16,
        i16_b: i16,
        u16_a: u16,
        u16_b: u16,
        i32_a: i32,
        i32_b: i32,
        u32_a: u32,
        u32_b: u32,
        i64_a: i64,
        i64_b: i64,
        u64_a: u64,
        u64_b: u64,
        f32_a: f32,
        f32_b: f32,
        f64_a: f64,
        f64_b: f64,
        level_a: level,
        level_b: level,
        maybe_a: maybe,
        maybe_b: maybe,
        text_a: text.clone(),
        text_b: text,
    }
}
