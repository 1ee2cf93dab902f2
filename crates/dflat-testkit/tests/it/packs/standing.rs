//! Files that stand on a pack: random programs beside one workspace with all objects.

use std::path::Path;
use std::sync::Arc;

use dflat::{ChangeRequest, ErrorKind, Object, Workspace};
use dflat_engine::engine::EngineOptions;
use dflat_engine::storage::{Backend, MemoryBackend};
use dflat_pack::{Pack, StandingBackend};
use dflat_sqlite::{SqliteBackend, SqliteOptions};
use dflat_testkit::follower::Follower;
use dflat_testkit::lower;
use dflat_testkit::model::Model;
use dflat_testkit::random::Random;
use dflat_testkit::schema::{Item, ItemData, Other, OtherData, Sample, SampleData};
use dflat_testkit::watcher::Watcher;
use dflat_testkit::workload::{change_at_random, random_question, random_sample};
use tempfile::TempDir;

/// A workspace on a backend.
pub(super) fn on(backend: Arc<dyn Backend>) -> Workspace {
    Workspace::on_backend(backend, EngineOptions::default())
}

/// The backend of a file that stands on a pack.
pub(super) fn file(path: &Path) -> Arc<SqliteBackend> {
    let options = SqliteOptions {
        stands_on_pack: true,
        ..SqliteOptions::default()
    };
    SqliteBackend::open(path, options).unwrap()
}

/// A workspace that stands on a pack, a workspace with the same objects, and the changes of both.
struct Pair {
    directory: TempDir,
    pack: Pack,
    /// The backend that keeps the changes in memory; `None` if they are in a file.
    memory: Option<Arc<MemoryBackend>>,
    standing: Workspace,
    plain: Workspace,
    live: Vec<Follower>,
    watched: Vec<Watcher>,
}

impl Pair {
    fn new(random: &mut Random) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let plain = Workspace::in_memory();
        let count = *random.pick(&[0, 1, 30, 200]);
        for _ in 0..count {
            let sample = random_sample(random);
            let created = plain.perform_changes_blocking([Sample::TABLE], |tx| {
                tx.submit(ChangeRequest::<Sample>::creation(sample))
                    .map(drop)
            });
            // Another object may have the key, or a unique value.
            drop(created);
        }
        let mut pack = plain.fetch::<Sample>().pack(directory.path()).unwrap();
        if random.one_in(3) {
            // The last object comes by a layer.
            let last = plain.fetch::<Sample>().all().unwrap().last().cloned();
            if let Some(last) = last {
                let below = pack.edit().remove::<Sample>(last.id()).finish().unwrap();
                pack = below.edit().upsert_object(&last).finish().unwrap();
            }
        }
        let pack = pack.untyped().clone();
        let memory = random.one_in(2).then(MemoryBackend::new);
        let path = directory.path().join("changes.db");
        let below: Arc<dyn Backend> = match &memory {
            Some(memory) => Arc::clone(memory) as Arc<dyn Backend>,
            None => file(&path),
        };
        Self {
            standing: on(StandingBackend::new(below, pack.clone())),
            directory,
            pack,
            memory,
            plain,
            live: Vec::new(),
            watched: Vec::new(),
        }
    }

    /// Opens the file again.
    fn reopen(&mut self) {
        if self.memory.is_some() {
            return;
        }
        self.live.clear();
        self.watched.clear();
        self.standing.shutdown().unwrap();
        let path = self.directory.path().join("changes.db");
        self.standing = on(StandingBackend::new(file(&path), self.pack.clone()));
    }

    fn subscribe(&mut self, random: &mut Random) {
        if self.live.len() < 4 {
            let question = random_question(random);
            let follower = Follower::new(&self.standing, question, None, random);
            self.live.push(follower);
        }
        let objects = self.standing.fetch::<Sample>().all().unwrap();
        if self.watched.len() < 4 && !objects.is_empty() {
            self.watched
                .push(Watcher::new(random.pick(&objects).clone()));
        }
        for watcher in &mut self.watched {
            watcher.subscribe(&self.standing);
        }
    }

    fn change(&self, random: &mut Random) {
        let seed = random.number();
        for workspace in [&self.standing, &self.plain] {
            let handler = |tx: &_| change_at_random(tx, &mut Random::new(seed));
            let changed = workspace.perform_changes_blocking([Sample::TABLE], handler);
            changed.unwrap();
        }
    }

    fn check(&self, random: &mut Random) {
        self.standing.settle().unwrap();
        let shown = |objects: &[Sample]| -> Vec<String> {
            let data = objects
                .iter()
                .map(|object| format!("{:?}", object.to_data()));
            data.collect()
        };
        let sorted = |workspace: &Workspace| {
            let all = workspace.fetch::<Sample>().all().unwrap();
            let mut all = shown(&all);
            all.sort();
            all
        };
        assert_eq!(sorted(&self.standing), sorted(&self.plain));
        let objects = self.standing.fetch::<Sample>().all().unwrap();
        assert!(
            objects
                .windows(2)
                .all(|pair| pair[0].row_id() < pair[1].row_id())
        );
        let mut model = Model::default();
        for object in objects.iter() {
            model.insert(object.to_data()).unwrap();
            let found = self.standing.get::<Sample>(object.id()).unwrap();
            assert_eq!(found.map(|found| found.row_id()), Some(object.row_id()));
        }
        for _ in 0..6 {
            let question = random_question(random);
            let fetch = || lower::fetch(self.standing.fetch(), &question);
            let explained = fetch().explain().unwrap();
            let answer: Vec<SampleData> =
                fetch().all().unwrap().iter().map(Object::to_data).collect();
            let expected = model.ask(&question);
            let is_same = answer.len() == expected.len()
                && answer
                    .iter()
                    .zip(&expected)
                    .all(|(a, b)| dflat_testkit::model::same(a, b));
            assert!(
                is_same,
                "{question:?}\n{explained}\n{answer:#?}\n{expected:#?}"
            );
        }
        for live in &self.live {
            live.check(&model);
            live.check_fresh(&self.standing);
        }
        let objects: Vec<Sample> = objects.iter().cloned().collect();
        self.watched
            .iter()
            .for_each(|watcher| watcher.check(&objects));
    }
}

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let random = &mut random;
    let mut pair = Pair::new(random);
    pair.check(random);
    for _ in 0..12 {
        pair.subscribe(random);
        pair.change(random);
        pair.check(random);
        if random.one_in(6) {
            pair.reopen();
        }
    }
}

#[test]
fn random_programs_on_a_pack_and_its_changes_equal_those_on_one_workspace() {
    for seed in 0..20 {
        eprintln!("seed {seed}");
        run(seed);
    }
}

/// A pack of items with the ranks from 0 to 9.
pub(super) fn items(directory: &Path) -> dflat::pack::Pack {
    let items = (0..10).map(|rank| item(&format!("i{rank}"), rank));
    dflat::pack::Pack::build::<Item>(directory, items).unwrap()
}

pub(super) fn item(id: &str, rank: i32) -> ItemData {
    ItemData {
        id: id.to_owned(),
        rank,
        ..ItemData::default()
    }
}

pub(super) fn put(workspace: &Workspace, id: &str, rank: i32) -> dflat::Result<()> {
    let request = ChangeRequest::<Item>::upsert(item(id, rank));
    workspace.perform_changes_blocking([Item::TABLE], |tx| tx.submit(request).map(drop))
}

pub(super) fn ranks(workspace: &Workspace) -> Vec<i32> {
    let items = workspace.fetch::<Item>().order_by(Item::ID.ascending());
    items.all().unwrap().iter().map(Item::rank).collect()
}

#[test]
fn file_stands_on_its_pack_and_on_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.db");
    let pack = items(directory.path());
    let open = |pack: &dflat::pack::Pack| Workspace::builder(&path).standing_on(pack).open();
    let other = pack.edit().remove::<Item>("i3").finish().unwrap();

    // Until the first change, the file names no pack.
    let workspace = open(&other).unwrap();
    assert_eq!(workspace.fetch::<Item>().count().unwrap(), 9);
    workspace.shutdown().unwrap();
    assert!(!path.exists());

    let workspace = open(&pack).unwrap();
    put(&workspace, "i3", 33).unwrap();
    put(&workspace, "j", 10).unwrap();
    let error = open(&other).unwrap_err();
    assert!(error.to_string().contains("option `base`"), "{error}");
    workspace.shutdown().unwrap();

    let refused = |workspace: Workspace| {
        let read = workspace.fetch::<Item>().count().unwrap_err();
        let written = put(&workspace, "k", 1).unwrap_err();
        let kinds = [read.kind(), written.kind()];
        assert_eq!(kinds, [ErrorKind::InvalidArgument; 2], "{read} {written}");
        workspace.shutdown().unwrap();
        read.to_string()
    };
    let message = refused(open(&other).unwrap());
    assert!(message.contains(&pack.digest().to_string()), "{message}");
    assert!(message.contains(&other.digest().to_string()), "{message}");
    let message = refused(Workspace::open(&path).unwrap());
    assert!(message.contains("the file stands on a pack"), "{message}");

    let workspace = open(&pack).unwrap();
    assert_eq!(ranks(&workspace), [0, 1, 2, 33, 4, 5, 6, 7, 8, 9, 10]);
    // A type that the pack lacks is in the file alone.
    let request = ChangeRequest::<Other>::creation(OtherData::default());
    let created = workspace.perform_changes_blocking([Other::TABLE], |tx| tx.submit(request));
    created.unwrap();
    assert_eq!(workspace.fetch::<Other>().count().unwrap(), 1);
    let report = workspace.check([Item::TABLE]).unwrap();
    assert_eq!((report.problems.len(), report.rows), (0, 2));
}

#[test]
fn file_with_objects_of_its_own_does_not_stand_on_a_pack() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.db");
    let pack = items(directory.path());
    let workspace = Workspace::open(&path).unwrap();
    put(&workspace, "old", 1).unwrap();
    workspace.shutdown().unwrap();
    let workspace = Workspace::builder(&path).standing_on(&pack).open().unwrap();
    let error = workspace.fetch::<Item>().count().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("import the pack"), "{error}");
}

/// Each commit of one backend is read by the other, as by another process.
#[test]
fn two_backends_on_one_file_see_the_hidden_objects_of_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.db");
    let pack = items(directory.path());
    let open = || on(StandingBackend::new(file(&path), pack.untyped().clone()));
    let pair = [open(), open()];
    let mut expected: Vec<i32> = (0..10).collect();
    for round in 0..20 {
        let (id, writer) = (round * 7 % 10, &pair[round % 2]);
        put(writer, &format!("i{id}"), 100 + round as i32).unwrap();
        expected[id] = 100 + round as i32;
        // An old snapshot keeps its state, and does not disturb later ones.
        let old = pair[1].snapshot().unwrap();
        let before = old.fetch::<Item>().all().unwrap();
        put(writer, "i0", round as i32).unwrap();
        expected[0] = round as i32;
        for workspace in &pair {
            assert_eq!(ranks(workspace), expected);
        }
        let again = old.fetch::<Item>().all().unwrap();
        assert!(
            before
                .iter()
                .zip(again.iter())
                .all(|(a, b)| a.rank() == b.rank())
        );
    }
}

/// `docs/storage-format.md` shows the table.
#[test]
fn table_of_hidden_objects_is_that_of_the_page() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.db");
    let pack = items(directory.path());
    let workspace = Workspace::builder(&path).standing_on(&pack).open().unwrap();
    put(&workspace, "i3", 33).unwrap();
    workspace.shutdown().unwrap();
    let shell = rusqlite::Connection::open(&path).unwrap();
    let sql = "SELECT sql FROM sqlite_schema WHERE name = 'dflat__base'";
    let sql: String = shell.query_row(sql, [], |row| row.get(0)).unwrap();
    let page = include_str!("../../../../../docs/storage-format.md");
    assert!(page.contains(&sql), "{sql}");
    // Item 3 has row id 4, and bit 0 says that later row ids begin behind those of the pack.
    let sql = "SELECT p FROM dflat__base WHERE __pk0 = 'item' AND __pk1 = 0";
    let row: Vec<u8> = shell.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(row, b"\x04\0\0\0item\0\0\0\0\0\0\0\0\x11");
}
