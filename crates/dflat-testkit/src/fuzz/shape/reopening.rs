//! Random schemas that change between openings of a file: indexes come and go, become unique or
//! not, have other columns or conditions; fields are renamed, deprecated or new, and even their
//! defaults change. Other programs write meanwhile, and damage indexes. In each state of an index
//! (ready, half built, missing, or with another definition), each query gives the result of the
//! naive model.

use super::side::Side;
use super::tree::{Node, Types};
use super::versions::{Fields, Version};
use super::{Run, text};
use crate::fixture::bounded;
use crate::fuzz::predicate::STATES;
use crate::random::Random;

/// The number of times that the schema changes.
const OPENINGS: usize = 5;

/// The number of queries in each state.
const QUERIES: usize = 8;

/// Runs a seed.
pub fn run_seed(seed: u64) {
    bounded(move || {
        let mut random = Random::new(seed);
        let text = text::schema(&mut random);
        let version = Version::new(text, &mut random);
        let run = Run {
            queries: QUERIES,
            ..Run::new(version.table(), random)
        };
        Reopening {
            run,
            version,
            before: None,
        }
        .all();
    });
}

struct Reopening {
    run: Run,
    version: Version,
    /// The previous version, which may come back as long as objects have the same fields.
    before: Option<Version>,
}

impl Reopening {
    fn all(mut self) {
        // Sometimes more than one batch of index building.
        let count = if self.run.random.one_in(6) { 530 } else { 50 };
        self.run.fill(count, true);
        for _ in 0..OPENINGS {
            if self.run.random.one_in(2) {
                self.settle();
            }
            self.change();
            if self.run.random.one_in(4) {
                // The program continues while a newer version of it runs.
                self.run.sides[1].set_table(&self.run.table);
            } else {
                self.open();
            }
            self.run.ask("opened");
            self.run.interfere();
            self.run.ask("written to by another");
            self.run.fill(6, false);
            if self.run.random.one_in(2) {
                // The file is opened while indexes may be half built.
                self.open();
            }
            self.run.ask("written to");
        }
        self.settle();
        self.run.ask("built");
    }

    /// Waits until indexes are built. Then another program may damage some.
    fn settle(&mut self) {
        self.run.sides.iter().for_each(Side::build);
        assert!(self.run.sides.iter().all(Side::is_indexed));
        self.run.ask("settled");
        let state = *self.run.random.pick(&STATES);
        let (table, random) = (&self.run.table, &mut self.run.random);
        self.run.file.lose(table, state, random);
        self.run.ask(state);
    }

    /// Opens the file anew.
    fn open(&mut self) {
        let run = &mut self.run;
        // Order: the background work of the old engine ends before the new one starts.
        run.sides[1].close();
        run.sides[1] = Side::on(&run.file, &run.table);
    }

    /// Changes the schema.
    fn change(&mut self) {
        let random = &mut self.run.random;
        let before = self.before.take_if(|_| random.one_in(3));
        let before = before.filter(|before| before.shape == self.version.shape);
        let (version, changes) = match before {
            Some(before) => (before, Vec::new()),
            None => self.version.next(random),
        };
        self.before = Some(std::mem::replace(&mut self.version, version));
        let table = self.version.table();
        // The output is shown if the test fails.
        eprintln!("{}", self.version);
        for object in &mut self.run.objects {
            let Node::Table(fields) = object else {
                panic!("an object is no table")
            };
            for change in &changes {
                match change {
                    Fields::Same => {}
                    Fields::Appended => fields.push(None),
                    Fields::Gone(place) => drop(fields.remove(*place)),
                }
            }
        }
        self.run.paths = Types(&table.types).all_paths();
        self.run.sides[0].set_table(&table);
        self.run.table = table;
    }
}
