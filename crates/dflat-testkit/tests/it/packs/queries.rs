//! Queries on a pack equal those on a workspace with the same objects, and writes are refused.

use std::thread;

use dflat::pack::{BuildOptions, OpenOptions, Pack, PackBuilder};
use dflat::{ErrorKind, Object, Predicate, Workspace};
use dflat_engine::object::canonical;
use dflat_testkit::schema::{
    Bag, BagData, Item, ItemChangeRequest, ItemData, Other, OtherData, Task, TaskChangeRequest,
    TaskData,
};
use tempfile::TempDir;

fn item(id: &str, rank: i32) -> ItemData {
    ItemData {
        id: id.into(),
        rank,
        size: rank,
        ..ItemData::default()
    }
}

pub(super) fn task(id: i32) -> TaskData {
    TaskData {
        id,
        list: id % 3,
        title: Some(format!("title{id}")),
        due: (id % 2 == 0).then_some(i64::from(id)),
        rank: id % 5,
        slug: Some(format!("slug{id}")),
        ..TaskData::default()
    }
}

/// A workspace with tasks in the order of their keys, and a pack of them.
fn tasks() -> (Workspace, Pack, TempDir) {
    let workspace = Workspace::in_memory();
    let created = workspace.perform_changes([Task::TABLE], |tx| {
        (0..500).try_for_each(|id| tx.submit(TaskChangeRequest::creation(task(id))).map(drop))
    });
    created.wait().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let pack = workspace.fetch::<Task>().pack(directory.path()).unwrap();
    (workspace, pack, directory)
}

#[test]
fn query_on_a_pack_gives_the_result_of_the_workspace() {
    let (workspace, pack, _directory) = tasks();
    pack.verify().unwrap();
    pack.verify_objects().unwrap();
    let ids = |workspace: &Workspace| {
        let fetch = || {
            workspace
                .fetch::<Task>()
                .filter(Task::LIST.eq(1) & Task::DUE.gt(20))
        };
        let ordered = || fetch().order_by(Task::RANK.descending()).limit(40);
        let ids = |tasks: &[Task]| tasks.iter().map(Task::id).collect::<Vec<_>>();
        let (all, page) = (fetch().all().unwrap(), ordered().all().unwrap());
        let rest = fetch()
            .order_by(Task::RANK.descending())
            .after(page.end().unwrap());
        let explained = fetch().explain().unwrap().to_string();
        let streamed = fetch().iter().unwrap().map(|task| task.unwrap().id());
        assert_eq!(streamed.collect::<Vec<_>>(), ids(&all));
        (
            ids(&all),
            ids(&page),
            ids(&rest.all().unwrap()),
            fetch().count().unwrap(),
            explained,
        )
    };
    let expected = ids(&workspace);
    assert!(
        expected.0.len() > 40 && expected.4.contains("index"),
        "{expected:?}"
    );
    assert_eq!(ids(pack.workspace()), expected);
    let snapshot = pack.snapshot().unwrap();
    let slug = snapshot
        .fetch::<Task>()
        .filter(Task::SLUG.eq("slug7"))
        .all()
        .unwrap();
    assert_eq!((slug.len(), slug[0].id()), (1, 7));
    assert_eq!(
        pack.get::<Task>(7).unwrap().unwrap().title(),
        Some("title7")
    );
    let many = pack.get_many::<Task>([499, 500, 0]).unwrap();
    let many: Vec<_> = many
        .iter()
        .map(|task| task.as_ref().map(Task::id))
        .collect();
    assert_eq!(many, [Some(499), None, Some(0)]);
    thread::scope(|scope| {
        for id in 0..4 {
            let pack = &pack;
            scope.spawn(move || {
                let found = pack.fetch::<Task>().filter(Task::RANK.eq(id)).count();
                assert_eq!(found.unwrap(), 100);
            });
        }
    });
}

#[test]
fn count_of_a_range_equals_the_number_of_its_objects() {
    let (_workspace, pack, _directory) = tasks();
    let edited = pack
        .edit()
        .remove::<Task>(7)
        .upsert::<Task>(&task(1001))
        .finish()
        .unwrap();
    for pack in [&pack, &edited] {
        let check = |predicate: Option<Predicate<Task>>| {
            let fetch = || match &predicate {
                Some(predicate) => pack.fetch::<Task>().filter(predicate.clone()),
                None => pack.fetch::<Task>(),
            };
            let found = fetch().all().unwrap();
            assert_eq!(fetch().count().unwrap(), found.len(), "{predicate:?}");
            let groups = fetch().group_by(Task::RANK).all().unwrap();
            let counts: usize = groups.iter().map(|group| group.count).sum();
            assert_eq!(counts, found.len(), "{predicate:?}");
        };
        check(None);
        for bound in [-1, 0, 7, 100, 499, 1001, 5000] {
            check(Some(Task::ID.lt(bound)));
            check(Some(Task::ID.ge(bound)));
            check(Some(Task::RANK.gt(bound)));
            check(Some(Task::RANK.eq(bound)));
            check(Some(Task::LIST.eq(1) & Task::DUE.le(i64::from(bound))));
            check(Some(
                Task::LIST.in_([0, 2]) & Task::DUE.gt(i64::from(bound)),
            ));
        }
        check(Some(Task::DUE.is_null()));
        // Ranges and single keys, in one order and the other.
        check(Some(Task::ID.lt(3) | Task::ID.eq(7)));
        check(Some(Task::ID.in_([1, 7, 8]) | Task::ID.gt(490)));
    }
}

#[test]
fn write_to_a_pack_is_refused_as_on_a_file_that_is_read_only() {
    let (_workspace, pack, _directory) = tasks();
    let changed = pack.workspace().perform_changes([Task::TABLE], |tx| {
        assert_eq!(tx.fetch::<Task>().count()?, 500);
        tx.submit(TaskChangeRequest::creation(task(1000))).map(drop)
    });
    let error = changed.wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
    let name = pack.path().display().to_string();
    assert!(error.to_string().contains(&name), "{error}");
    assert_eq!(pack.fetch::<Task>().count().unwrap(), 500);
    // A type that the pack lacks is empty.
    assert_eq!(pack.fetch::<Other>().count().unwrap(), 0);
    assert_eq!(
        pack.objects::<Other>().unwrap_err().kind(),
        ErrorKind::NotFound
    );
}

#[test]
fn subscription_to_a_pack_delivers_its_first_result() {
    let (_workspace, pack, _directory) = tasks();
    let query = pack.fetch::<Task>().filter(Task::RANK.eq(2));
    let mut stream = pack.workspace().stream(query).unwrap();
    assert_eq!(stream.wait().unwrap().unwrap().unwrap().len(), 100);
    pack.workspace().shutdown().unwrap();
    assert_eq!(
        pack.fetch::<Task>().all().unwrap_err().kind(),
        ErrorKind::ShutDown
    );
    assert_eq!(pack.objects::<Task>().unwrap().len(), 500);
}

#[test]
fn pack_of_several_types_is_read_by_each_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let tables = [Item::TABLE, Other::TABLE, Task::TABLE];
    let mut builder = PackBuilder::new(directory.path(), tables, BuildOptions::default()).unwrap();
    for id in ["b", "c", "a"] {
        builder.add::<Item>(&item(id, 3)).unwrap();
        let data = OtherData {
            id: i32::from(id.as_bytes()[0]),
            note: None,
        };
        builder.add::<Other>(&data).unwrap();
    }
    let error = builder.add::<Bag>(&BagData::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let pack = builder.finish().unwrap();
    let items = pack.objects::<Item>().unwrap();
    let ids: Vec<_> = items
        .iter()
        .map(|item| item.unwrap().id().to_owned())
        .collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert_eq!(
        pack.objects::<Other>()
            .unwrap()
            .range(98..)
            .unwrap()
            .count(),
        2
    );
    assert!(pack.objects::<Task>().unwrap().is_empty());
    let unchecked = OpenOptions::default().check_blocks(false);
    let again = Pack::open_with(pack.path(), unchecked).unwrap();
    assert_eq!(
        again
            .fetch::<Item>()
            .filter(Item::RANK.eq(3))
            .count()
            .unwrap(),
        3
    );
}

#[test]
fn pack_of_objects_equals_the_pack_of_their_values() {
    let workspace = Workspace::in_memory();
    let items = ["z", "a", "m"].map(|id| item(id, 1));
    let data = items.clone();
    let created = workspace.perform_changes([Item::TABLE], |tx| {
        data.into_iter()
            .try_for_each(|data| tx.submit(ItemChangeRequest::creation(data)).map(drop))
    });
    created.wait().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let one = workspace.fetch::<Item>().pack(directory.path()).unwrap();
    let other = Pack::build::<Item>(directory.path(), items).unwrap();
    assert_eq!(one.digest(), other.digest());
}

#[test]
fn generated_code_writes_canonical_payloads() {
    fn check<T: Object>(data: T::Data) {
        let directory = tempfile::tempdir().unwrap();
        let pack = Pack::build::<T>(directory.path(), [data]).unwrap();
        let object = pack.fetch::<T>().first().unwrap().unwrap();
        let again = Workspace::in_memory();
        let created = again.perform_changes([T::TABLE], move |tx| {
            let data = object.to_data();
            let created = tx.submit(dflat::ChangeRequest::<T>::creation(data))?;
            Ok((object, created.into_object().unwrap()))
        });
        let (packed, written) = created.wait().unwrap();
        assert_eq!(packed.to_bytes(), written.to_bytes());
        let bytes = canonical(&T::TABLE, &written.to_bytes()).unwrap();
        assert_eq!(bytes, written.to_bytes());
    }
    check::<Item>(item("", 0));
    check::<Task>(task(4));
    check::<Other>(OtherData {
        id: 0,
        note: Some(String::new()),
    });
    check::<Bag>(BagData::default());
    check::<Bag>(BagData {
        id: 3,
        bools: vec![true, false],
        doubles: vec![f64::NAN],
        texts: vec![String::new(), "a".into()],
        maybe: Some(0.0),
        ratio: -0.0,
        ..BagData::default()
    });
}
