//! Random schemas: random objects of them and random queries, on each backend, with each index
//! ready, half built, missing, or stale because another program has written to the file. The naive
//! model, which has no plans, must give the same results.

mod ask;
mod bytes;
mod compute;
mod declared;
mod ending;
mod literal;
mod members;
mod packed;
mod reopening;
mod side;
mod text;
mod tree;
mod versions;

use dflat_engine::fetch::{cursor_of, key_of};
use dflat_engine::object::{Object, equal};
use dflat_model::{Expression, Field, IndexCondition, IndexDescriptor, Query, RowId, Table, Value};
use dflat_schema::{MemoryLoader, Options, compile, describe};

use self::ask::{answer, query, truth};
use self::compute::{computing, term};
use self::declared::serve;
use self::members::Paths;
use self::side::{Change, File, Side};
use self::tree::{Node, Types, value};
use super::predicate::STATES;
use crate::fixture::bounded;
use crate::model::Cell;
use crate::random::Random;

pub use self::packed::run_seed as run_packed_seed;
pub use self::reopening::run_seed as run_reopening_seed;

/// The number of queries in each state of a schema that does not change.
const QUERIES: usize = 16;

/// Runs a seed.
pub fn run_seed(seed: u64) {
    bounded(move || {
        let mut random = Random::new(seed);
        let text = text::schema(&mut random);
        // The output is shown if the test fails.
        eprintln!("{text}");
        let mut table = (*table(&text)).clone();
        let declared = declared::indexes(&Types(&table.types).paths(), &mut random);
        for index in &declared {
            eprintln!("unique: {}, {index}", index.unique);
        }
        table.indexes.to_mut().extend(declared);
        Run::new(Table::new(table), random).all();
    });
}

fn table(text: &str) -> Table {
    let loader = MemoryLoader::new().with_file("random.fbs", text);
    let compiled = compile(&["random.fbs".to_owned()], &loader, &Options::default());
    let diagnostics = &compiled.diagnostics;
    let schema = compiled.schema.unwrap_or_else(|| panic!("{diagnostics:?}"));
    Table::new(describe(&schema, schema.files[0].root.unwrap()))
}

struct Run {
    random: Random,
    table: Table,
    paths: Paths,
    objects: Vec<Node>,
    /// A workspace in memory and one on the file, or packs.
    sides: Vec<Side>,
    file: File,
    /// The number of queries in each state.
    queries: usize,
}

impl Run {
    fn new(table: Table, random: Random) -> Self {
        let paths = Types(&table.types).all_paths();
        for field in table.indexes.iter().flat_map(|index| index.fields.iter()) {
            let is_it = |path: &&Field| path.steps == field.steps;
            let path = paths.fields.iter().find(is_it).unwrap();
            assert_eq!((path.kind, &path.default), (field.kind, &field.default));
        }
        let file = File::new();
        Self {
            random,
            paths,
            objects: Vec::new(),
            sides: vec![Side::memory(&table), Side::on(&file, &table)],
            file,
            table,
            queries: QUERIES,
        }
    }

    fn all(mut self) {
        // Sometimes so many objects that a plan has a choice.
        let count = if self.random.one_in(4) { 400 } else { 50 };
        self.fill(count, true);
        for state in STATES {
            self.file.lose(&self.table, state, &mut self.random);
            self.ask(state);
            self.interfere();
            self.ask("SELECT 'stale'");
            self.fill(8, false);
            self.ask("SELECT 'mended'");
        }
        self.sides.iter().for_each(Side::settle);
        self.ask("SELECT 'built'");
    }

    fn key(&self, object: &Node) -> Vec<Value> {
        let parts = self.table.primary_key.iter();
        let types = Types(&self.table.types);
        parts
            .map(|part| value(&zero(types.read(object, part))))
            .collect()
    }

    /// A random object, its bytes, the position of the object with the same key, and whether
    /// another object has one of its unique values.
    fn made(&mut self) -> (Node, Vec<u8>, Option<usize>, bool) {
        let types = Types(&self.table.types);
        let object = types.object(&self.table, &mut self.random);
        let key = self.key(&object);
        let at = self.objects.iter().position(|other| self.key(other) == key);
        let uniques = self.table.indexes.iter().filter(|index| index.unique);
        let taken = uniques.into_iter().any(|index| {
            let condition = index.condition.as_ref();
            let condition = condition.map(IndexCondition::to_predicate);
            // The values that must be unique, if the object is in the index.
            let of = |object: &Node| -> Option<Vec<Cell>> {
                let mut is_in = condition.iter().map(|part| truth(types, object, part));
                let fields = index.fields.iter();
                let values = fields.map(|field| zero(types.read(object, field)));
                let values: Vec<Cell> = values.collect();
                let is_in = is_in.all(|is_in| is_in == Some(true));
                (is_in && !values.contains(&Cell::Missing)).then_some(values)
            };
            let mut others = self.objects.iter().enumerate();
            of(&object).is_some_and(|values| {
                let same = |other: &Node| of(other).as_ref() == Some(&values);
                others.any(|(place, other)| Some(place) != at && same(other))
            })
        });
        let payload = types.encode(&object);
        (object, payload, at, taken)
    }

    /// Whether the object at a position has these values, so that an update writes nothing. The
    /// bytes are compared: bytes that leave a default out have another value if the default has
    /// changed.
    fn is_stored(&self, at: usize, payload: &[u8]) -> bool {
        let stored = Types(&self.table.types).encode(&self.objects[at]);
        equal(&self.table.types, &stored, payload)
    }

    /// Writes objects through the engines. A unique value is refused only while all indexes are
    /// ready. So without them, no taken value is written.
    fn fill(&mut self, count: usize, refused: bool) {
        let mut changes = Vec::new();
        for _ in 0..count {
            let (object, payload, at, taken) = self.made();
            match at {
                _ if taken && !refused => continue,
                _ if taken => {}
                Some(at) if self.is_stored(at, &payload) => {}
                Some(at) => self.objects[at] = object,
                None => self.objects.push(object),
            }
            changes.push(Change { payload, taken });
        }
        self.sides.iter().for_each(|side| side.write(&changes));
    }

    /// Another program writes to the file; the same is done in memory.
    fn interfere(&mut self) {
        for _ in 0..self.random.below(6) {
            let memory = &self.sides[0];
            if self.random.one_in(3) && !self.objects.is_empty() {
                let at = self.random.below(self.objects.len());
                let gone = self.objects.remove(at);
                let key = self.key(&gone);
                memory.delete(&key);
                self.file.delete(&self.table, self.row_id(at));
                continue;
            }
            let (object, payload, at, taken) = self.made();
            if taken || at.is_some_and(|at| self.is_stored(at, &payload)) {
                continue;
            }
            let memory = &self.sides[0];
            match at {
                Some(at) => {
                    self.file.replace(&self.table, self.row_id(at), &payload);
                    self.objects[at] = object;
                }
                None => {
                    let gap = 1_i64 << self.random.below(57);
                    self.file
                        .insert(&self.table, &self.key(&object), &payload, gap);
                    self.objects.push(object);
                }
            }
            memory.write(&[Change { payload, taken }]);
        }
    }

    /// The row id of the object at a position.
    fn row_id(&self, at: usize) -> RowId {
        self.sides[1].fetch(&Query::default())[at].row_id()
    }

    fn ask(&mut self, state: &str) {
        let mut random = self.random.clone();
        for _ in 0..self.queries {
            let mut query = query(&self.paths.fields, &mut random);
            let declared = self.table.indexes.iter().filter(|index| !index.is_plain());
            let declared: Vec<&IndexDescriptor> = declared.collect();
            if !declared.is_empty() && random.one_in(2) {
                let index = *random.pick(&declared);
                serve(&mut query, index, &mut random);
            }
            self.put(&query, &mut random, state);
            // With a separate generator, so that older failing seeds still make the same queries.
            let mut own = Random::new(!random.clone().number());
            if own.one_in(3) {
                let computing = computing(query, &self.paths, &mut own);
                self.put(&computing, &mut own, state);
                self.end_early(&computing, &mut own);
            } else {
                self.end_early(&query, &mut own);
            }
        }
        self.random = random;
    }

    /// Runs a query in all ways.
    fn put(&mut self, query: &Query, random: &mut Random, state: &str) {
        let fields = self.chosen(query, random);
        let expected = answer(Types(&self.table.types), &self.objects, query);
        let place = random.below(expected.len().max(1));
        // Small values, so that a plan may be given up even in a small table.
        let patience = *random.pick(&[1, 1, 5, 25, 512]);
        let sides = self.sides.iter_mut();
        sides.for_each(|side| side.set_patience(patience));
        for side in &self.sides {
            let found = side.fetch(query);
            self.check(&found, &expected, query, state);
            assert_eq!(side.count(query), expected.len(), "{state}: {query}");
            self.check_values(side, query, &fields, &expected);
            let Some(object) = found.get(place) else {
                continue;
            };
            let behind = Query {
                after: Some(cursor_of(&self.table, query, object).unwrap()),
                offset: 0,
                limit: Some(expected.len() - place - 1),
                ..query.clone()
            };
            self.check(&side.fetch(&behind), &expected[place + 1..], &behind, state);
        }
    }

    /// At least one field to read: the fields of an index, a field of the query, or any field.
    fn chosen(&self, query: &Query, random: &mut Random) -> Vec<Expression> {
        let mut fields: Vec<Expression> = match query.order.first() {
            _ if !self.table.indexes.is_empty() && random.one_in(3) => {
                let index = random.pick(&self.table.indexes);
                index.fields.iter().rev().cloned().map(Into::into).collect()
            }
            Some(order) if random.one_in(2) => vec![order.key.clone()],
            _ => Vec::new(),
        };
        if fields.is_empty() || random.one_in(4) {
            fields.push(random.pick(&self.paths.fields).clone().into());
        }
        fields
    }

    fn check_values(&self, side: &Side, query: &Query, fields: &[Expression], expected: &[&Node]) {
        let types = Types(&self.table.types);
        let of = |object: &&Node, field| value(&term(types, object, field));
        let wanted = expected
            .iter()
            .map(|object| fields.iter().map(|field| of(object, field)).collect());
        let wanted: Vec<Vec<Value>> = wanted.collect();
        // The text of a value distinguishes zeros by their sign.
        let text = |values: &[Vec<Value>]| format!("{values:?}");
        assert_eq!(
            text(&side.select(query, fields)),
            text(&wanted),
            "{fields:?} of {query}"
        );
        let field = &fields[0];
        let wanted = expected.iter().map(|object| of(object, field)).collect();
        let whole = |mut values: Vec<Value>| {
            values.sort_by(|a, b| a.as_ref().order(b.as_ref()));
            let values = values.iter().map(value_text);
            values.collect::<Vec<String>>()
        };
        let found = side.aggregate(query, field);
        assert_eq!(whole(found), whole(wanted), "{field} of {query}");
    }

    fn check(&self, found: &[Object], expected: &[&Node], query: &Query, state: &str) {
        let types = Types(&self.table.types);
        let keys: Vec<_> = found
            .iter()
            .map(|object| key_of(&self.table, object).unwrap())
            .collect();
        let wanted: Vec<_> = expected.iter().map(|object| self.key(object)).collect();
        assert!(
            is_same(&keys, &wanted),
            "{state}: {query}\n{keys:?}\n{wanted:?}"
        );
        for (found, expected) in found.iter().zip(expected) {
            let payload = types.encode(expected);
            assert!(
                equal(&self.table.types, found.payload(), &payload),
                "{expected:?}"
            );
        }
    }
}

/// A value as text, zero without its sign.
fn value_text(of: &Value) -> String {
    format!("{:?}", value(&zero(tree::cell(of))))
}

/// Zeros are equal, whatever their sign.
fn zero(cell: Cell) -> Cell {
    match cell {
        Cell::Real(number) => Cell::Real(number + 0.0),
        cell => cell,
    }
}

fn is_same(a: &[Vec<Value>], b: &[Vec<Value>]) -> bool {
    let parts = |keys: &[Vec<Value>]| keys.concat();
    let (a, b) = (parts(a), parts(b));
    a.len() == b.len()
        && a.iter()
            .zip(&b)
            .all(|(a, b)| a.as_ref().order(b.as_ref()).is_eq())
}
