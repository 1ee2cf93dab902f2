//! The laws of reading, on packs and on packs with layers, but those that are `not_on_packs`.

use dflat::Workspace;
use dflat_engine::engine::EngineOptions;
use dflat_testkit::fixture::Fixture;
use dflat_testkit::packed::PackedBackend;

fn open() -> Fixture {
    let backend = PackedBackend::new();
    Fixture::of(Workspace::on_backend(backend, EngineOptions::default()))
}

dflat_testkit::reading_laws!(super::open, on packs);

mod layered {
    use dflat::Workspace;
    use dflat_engine::engine::EngineOptions;
    use dflat_testkit::fixture::Fixture;
    use dflat_testkit::packed::PackedBackend;

    fn open() -> Fixture {
        let backend = PackedBackend::layered(3);
        Fixture::of(Workspace::on_backend(backend, EngineOptions::default()))
    }

    dflat_testkit::reading_laws!(super::open, on packs);
}

/// A file that stands on a pack has all laws but those of row ids.
mod standing {
    use dflat::Workspace;
    use dflat_engine::engine::EngineOptions;
    use dflat_engine::storage::MemoryBackend;
    use dflat_pack::{Pack, StandingBackend};
    use dflat_testkit::fixture::Fixture;
    use dflat_testkit::schema::{Item, Other, Sample, Task};

    pub(crate) fn open() -> Fixture {
        let directory = tempfile::tempdir().unwrap();
        let tables = [Item::TABLE, Other::TABLE, Sample::TABLE, Task::TABLE];
        let pack = Pack::build(
            directory.path(),
            tables,
            std::iter::empty::<(dflat_model::Table, Vec<u8>)>(),
        )
        .unwrap();
        let backend = StandingBackend::new(MemoryBackend::new(), pack);
        Fixture::of(Workspace::on_backend(backend, EngineOptions::default()))
    }

    dflat_testkit::conformance!(memory, crate::packs::laws::standing::open);
}
