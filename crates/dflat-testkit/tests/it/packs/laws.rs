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
