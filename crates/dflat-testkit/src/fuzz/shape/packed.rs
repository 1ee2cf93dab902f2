//! Random schemas, and random queries on packs of their objects: with the indexes that the program
//! declares, and with other ones.

use dflat_engine::engine::{Engine, EngineOptions};
use dflat_model::{IndexDescriptor, Table, Value};
use dflat_pack::{BuildOptions, OpenOptions, Pack, PackBackend, PackBuilder};

use super::side::Side;
use super::tree::Types;
use super::{Run, declared, table, text};
use crate::fixture::bounded;
use crate::packed::layered;
use crate::random::Random;

/// Runs a seed.
pub fn run_seed(seed: u64) {
    bounded(move || {
        let mut random = Random::new(seed);
        let text = text::schema(&mut random);
        // The output is shown if the test fails.
        eprintln!("{text}");
        let mut table = (*table(&text)).clone();
        let declared = declared::indexes(&Types(&table.types).paths(), &mut random);
        table.indexes.to_mut().extend(declared);
        let mut run = Run::new(Table::new(table), random);
        run.sides.iter().for_each(Side::close);
        run.sides = Vec::new();
        let count = if run.random.one_in(4) { 400 } else { 50 };
        run.fill(count, true);
        run.pack();
        run.ask("packed");
    });
}

impl Run {
    /// Continues with packs of the objects, which have other row ids there.
    fn pack(&mut self) {
        let mut objects = self.objects.clone();
        objects.sort_by(|a, b| {
            let (a, b): (Vec<Value>, Vec<Value>) = (self.key(a), self.key(b));
            let parts = a.iter().zip(&b);
            let unequal = parts.map(|(a, b)| a.as_ref().order(b.as_ref()));
            unequal.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        // The pack is built in another order.
        let payloads: Vec<Vec<u8>> = self
            .objects
            .iter()
            .map(|object| Types(&self.table.types).encode(object))
            .collect();
        self.objects = objects;
        let mut stored = (*self.table).clone();
        let random = &mut self.random;
        stored.indexes.to_mut().retain(|_| !random.one_in(3));
        if random.one_in(2) {
            let more = declared::indexes(&Types(&stored.types).paths(), random);
            let is_new = |index: &IndexDescriptor| {
                let key = index.storage_key();
                stored
                    .indexes
                    .iter()
                    .all(|other| other.storage_key() != key)
            };
            let more: Vec<_> = more.into_iter().filter(is_new).collect();
            stored.indexes.to_mut().extend(more);
        }
        for (table, check) in [(self.table.clone(), true), (Table::new(stored), false)] {
            let memory = self.random.below(20_000);
            let layers = [0, 0, 1, 4][self.random.below(4)];
            let pack = match layers {
                0 => packed(&table, &payloads, memory, check),
                _ => layered_pack(&table, &payloads, layers),
            };
            let engine = Engine::new(PackBackend::new(pack), EngineOptions::default());
            self.sides.push(Side::of(engine, &self.table));
        }
    }
}

/// A pack whose file has no name any more.
fn packed(table: &Table, payloads: &[Vec<u8>], memory: usize, check: bool) -> Pack {
    let directory = tempfile::tempdir().unwrap();
    let options = BuildOptions::default().memory_max(memory);
    let mut builder = PackBuilder::new(directory.path(), [table.clone()], options).unwrap();
    for payload in payloads {
        builder.add(table, payload).unwrap();
    }
    let pack = builder.finish().unwrap();
    pack.verify().unwrap();
    pack.verify_objects().unwrap();
    Pack::open_with(pack.path(), OpenOptions::default().check_blocks(check)).unwrap()
}

/// A pack with layers, whose files have no names any more.
fn layered_pack(table: &Table, payloads: &[Vec<u8>], layers: usize) -> Pack {
    let directory = tempfile::tempdir().unwrap();
    let objects: Vec<_> = payloads
        .iter()
        .map(|payload| (table.clone(), payload.clone()))
        .collect();
    let tables = [table.clone()];
    let pack = layered(directory.path(), &tables, &objects, layers).unwrap();
    pack.verify().unwrap();
    pack.verify_objects().unwrap();
    pack
}
