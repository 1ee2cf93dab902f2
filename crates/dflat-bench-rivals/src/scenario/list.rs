//! The list of all scenarios.

use super::{Scenario, Subscriptions, Unit, Work};
use crate::record::Shape;

/// The objects of most scenarios, and the bytes of each.
const COUNT: usize = 10_000;
const BYTES: usize = 1024;

const THOUSAND: usize = 1_000;
const HUNDRED_THOUSAND: usize = 100_000;
const MILLION: usize = 1_000_000;

const fn new(group: &'static str, name: &'static str, work: Work, about: &'static str) -> Scenario {
    Scenario {
        name,
        group,
        about,
        unit: Unit::Time,
        shape: Shape::Plain,
        count: COUNT,
        bytes: BYTES,
        work,
    }
}

const fn objects(name: &'static str, work: Work, about: &'static str) -> Scenario {
    new("objects", name, work, about)
}

const fn threads(name: &'static str, work: Work, about: &'static str) -> Scenario {
    new("threads", name, work, about)
}

const fn indexes(name: &'static str, shape: Shape, work: Work, about: &'static str) -> Scenario {
    new("indexes", name, work, about).of(shape)
}

const fn sized(name: &'static str, bytes: usize, work: Work, about: &'static str) -> Scenario {
    Scenario {
        bytes,
        ..new("sizes", name, work, about)
    }
}

const fn counted(name: &'static str, count: usize, work: Work, about: &'static str) -> Scenario {
    new("counts", name, work, about).times(count)
}

const fn nested(name: &'static str, work: Work, about: &'static str) -> Scenario {
    new("nested", name, work, about).of(Shape::Nested)
}

const fn mixed(name: &'static str, reads: usize, threads: usize, about: &'static str) -> Scenario {
    new("mixed", name, Work::Mixed { reads, threads }, about)
}

const fn opened(name: &'static str, count: usize, about: &'static str) -> Scenario {
    new("files", name, Work::Open, about)
        .of(Shape::Ranked)
        .times(count)
}

const fn delivered(name: &'static str, kind: Subscriptions, about: &'static str) -> Scenario {
    new("subscriptions", name, Work::Subscriptions(kind), about).of(Shape::Ranked)
}

const fn dictionary(name: &'static str, work: usize, about: &'static str) -> Scenario {
    new("dictionary", name, Work::Dictionary(work), about).times(40_000)
}

impl Scenario {
    const fn of(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    const fn times(self, count: usize) -> Self {
        Self { count, ..self }
    }

    const fn in_unit(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }
}

const UPDATE: Work = Work::UpdateAll { indexed: false };
const UPDATE_INDEXED: Work = Work::UpdateAll { indexed: true };

/// All scenarios.
pub const ALL: &[Scenario] = &[
    objects(
        "insert",
        Work::Insert,
        "insert 10,000 objects of 1 KiB in one transaction",
    ),
    objects(
        "scan",
        Work::Scan,
        "fetch the 1,667 of 10,000 objects that a field without an index selects",
    ),
    objects("fetch_all", Work::FetchAll, "fetch all 10,000 objects"),
    objects(
        "update",
        UPDATE,
        "change a number of each of 10,000 objects in one transaction",
    ),
    objects(
        "update_each",
        Work::UpdateEach,
        "change each of 10,000 objects in a transaction of its own; Dflat's are queued, and share commits",
    ),
    objects(
        "update_waited",
        Work::UpdateWaited,
        "the same, where the program waits for each commit",
    ),
    objects(
        "fetch_by_key",
        Work::FetchByKey,
        "read each of 10,000 objects by its key, in a read of its own",
    ),
    objects(
        "delete",
        Work::Delete,
        "delete 10,000 objects by their keys in one transaction",
    ),
    threads(
        "insert_4_threads",
        Work::InsertByThreads,
        "four threads insert 10,000 objects each, into four tables",
    ),
    threads(
        "delete_4_threads",
        Work::DeleteByThreads,
        "four threads delete 10,000 objects each, from four tables",
    ),
    indexes(
        "insert_1_index",
        Shape::Ranked,
        Work::Insert,
        "insert 10,000 objects with an index of a number",
    ),
    indexes(
        "insert_3_indexes",
        Shape::Listed,
        Work::Insert,
        "insert 10,000 objects with indexes of a number and a string, and a unique one",
    ),
    indexes(
        "update_1_index",
        Shape::Ranked,
        UPDATE_INDEXED,
        "change the indexed value of each object in one transaction",
    ),
    indexes(
        "update_3_indexes",
        Shape::Listed,
        UPDATE_INDEXED,
        "change the three indexed values of each object in one transaction",
    ),
    indexes(
        "delete_3_indexes",
        Shape::Listed,
        Work::Delete,
        "delete 10,000 objects with three indexes in one transaction",
    ),
    indexes(
        "fetch_by_index",
        Shape::Ranked,
        Work::ScanByIndex,
        "100 fetches of 100 objects each by a range of an index",
    ),
    sized(
        "insert_100b",
        100,
        Work::Insert,
        "insert 10,000 objects of 100 bytes",
    ),
    sized(
        "insert_16kib",
        16_384,
        Work::Insert,
        "insert 10,000 objects of 16 KiB",
    ),
    sized(
        "fetch_all_100b",
        100,
        Work::FetchAll,
        "fetch all 10,000 objects of 100 bytes",
    ),
    sized(
        "fetch_all_16kib",
        16_384,
        Work::FetchAll,
        "fetch all 10,000 objects of 16 KiB",
    ),
    sized(
        "fetch_by_key_100b",
        100,
        Work::FetchByKey,
        "read each of 10,000 objects of 100 bytes by its key",
    ),
    sized(
        "fetch_by_key_16kib",
        16_384,
        Work::FetchByKey,
        "read each of 10,000 objects of 16 KiB by its key",
    ),
    counted("insert_1k", THOUSAND, Work::Insert, "insert 1,000 objects"),
    counted(
        "insert_100k",
        HUNDRED_THOUSAND,
        Work::Insert,
        "insert 100,000 objects",
    ),
    counted(
        "insert_1m",
        MILLION,
        Work::Insert,
        "insert 1,000,000 objects",
    ),
    counted(
        "scan_1k",
        THOUSAND,
        Work::Scan,
        "fetch a sixth of 1,000 objects by a field without an index",
    ),
    counted(
        "scan_100k",
        HUNDRED_THOUSAND,
        Work::Scan,
        "fetch a sixth of 100,000 objects by a field without an index",
    ),
    counted(
        "scan_1m",
        MILLION,
        Work::Scan,
        "fetch a sixth of 1,000,000 objects by a field without an index",
    ),
    counted(
        "fetch_by_key_1k",
        THOUSAND,
        Work::FetchByKey,
        "read each of 1,000 objects by its key",
    ),
    counted(
        "fetch_by_key_100k",
        HUNDRED_THOUSAND,
        Work::FetchByKey,
        "read each of 100,000 objects by its key",
    ),
    counted(
        "fetch_by_key_1m",
        MILLION,
        Work::FetchByKey,
        "read each of 1,000,000 objects by its key",
    ),
    counted(
        "update_1k",
        THOUSAND,
        UPDATE,
        "change a number of each of 1,000 objects in one transaction",
    ),
    counted(
        "update_100k",
        HUNDRED_THOUSAND,
        UPDATE,
        "change a number of each of 100,000 objects in one transaction",
    ),
    counted(
        "update_1m",
        MILLION,
        UPDATE,
        "change a number of each of 1,000,000 objects in one transaction",
    ),
    nested(
        "insert_nested",
        Work::Insert,
        "insert 10,000 objects with a union and four tables in a vector",
    ),
    nested(
        "fetch_all_nested",
        Work::FetchAll,
        "fetch all of them, and read every part",
    ),
    nested(
        "fetch_by_key_nested",
        Work::FetchByKey,
        "read each of them by its key, with every part",
    ),
    mixed("reads_100_1", 100, 1, "random reads by key, 1 thread"),
    mixed("reads_100_2", 100, 2, "random reads by key, 2 threads"),
    mixed("reads_100_4", 100, 4, "random reads by key, 4 threads"),
    mixed(
        "reads_95_1",
        95,
        1,
        "95 reads to 5 updates, each waited for, 1 thread",
    ),
    mixed(
        "reads_95_2",
        95,
        2,
        "95 reads to 5 updates, each waited for, 2 threads",
    ),
    mixed(
        "reads_95_4",
        95,
        4,
        "95 reads to 5 updates, each waited for, 4 threads",
    ),
    mixed(
        "reads_50_1",
        50,
        1,
        "as many reads as updates, each waited for, 1 thread",
    ),
    mixed(
        "reads_50_2",
        50,
        2,
        "as many reads as updates, each waited for, 2 threads",
    ),
    mixed(
        "reads_50_4",
        50,
        4,
        "as many reads as updates, each waited for, 4 threads",
    ),
    new(
        "files",
        "first_commit",
        Work::FirstCommit,
        "make a store and its tables, and commit the first object",
    )
    .of(Shape::Ranked),
    new(
        "files",
        "import_100k",
        Work::Import,
        "insert 100,000 objects and close the store",
    )
    .times(HUNDRED_THOUSAND),
    opened(
        "open_100k",
        HUNDRED_THOUSAND,
        "open a store of 100,000 objects that is not in memory, and fetch 100 by an index",
    ),
    opened(
        "open_1m",
        MILLION,
        "open a store of 1,000,000 objects that is not in memory, and fetch 100 by an index",
    ),
    new(
        "files",
        "file_size",
        Work::FileBytes,
        "bytes on disk of the closed store, for each byte of its objects",
    )
    .in_unit(Unit::Number),
    new(
        "files",
        "written_insert",
        Work::WrittenBytes,
        "bytes that an import of 10,000 objects writes, for each byte of the objects",
    )
    .in_unit(Unit::Number),
    new(
        "files",
        "written_commit",
        Work::WrittenByCommits,
        "bytes that a commit writes, which changes a number of one object",
    )
    .in_unit(Unit::Bytes),
    new(
        "files",
        "syncs_commit",
        Work::Syncs,
        "calls that sync a file (`fsync`, `fdatasync`, `msync`), for each of 1,000 commits",
    )
    .times(THOUSAND)
    .in_unit(Unit::Number),
    new(
        "memory",
        "memory_result",
        Work::ResultBytes,
        "bytes of memory for each object of 1 KiB in a fetched result",
    )
    .in_unit(Unit::Bytes),
    new(
        "memory",
        "memory_subscription",
        Work::SubscriptionBytes,
        "bytes of memory for each of 1,000 subscriptions to an object by its key",
    )
    .of(Shape::Ranked)
    .in_unit(Unit::Bytes),
    delivered(
        "deliver_results",
        Subscriptions::Results,
        "1,000 results of one object each, by its key: from the commit of 10,000 updates to the last delivery",
    ),
    delivered(
        "deliver_objects",
        Subscriptions::Objects,
        "1,000 objects: from the commit of 10,000 updates to the last delivery",
    ),
    delivered(
        "deliver_ranges",
        Subscriptions::Ranges,
        "1,000 results of 1,000 objects each, all of which change: from the commit to the last delivery",
    ),
    dictionary(
        "dictionary_insert",
        0,
        "insert 40,000 numbers into the dictionary",
    ),
    dictionary("dictionary_insert_4", 2, "insert them by 4 threads"),
    dictionary("dictionary_records", 3, "insert 40,000 records of serde"),
    dictionary(
        "dictionary_messages",
        4,
        "insert 40,000 messages of FlatBuffers",
    ),
    dictionary(
        "dictionary_cold",
        5,
        "read 400 of them 100 times, after opening",
    ),
    dictionary("dictionary_hot", 6, "read 400 of them 100 times"),
    dictionary(
        "dictionary_hot_4",
        8,
        "read 400 of them 100 times by 4 threads",
    ),
    dictionary(
        "dictionary_update",
        11,
        "write one key 40,000 times, and make the last value durable",
    ),
    dictionary("dictionary_save", 12, "save one of 40,000 keys, 20 times"),
];
