//! The types of the files that Dflat for Swift wrote.

#[allow(clippy::use_self, reason = "generated")]
pub(super) mod bench {
    include!(concat!(env!("OUT_DIR"), "/bench_doc.rs"));
}

#[allow(clippy::use_self, reason = "generated")]
pub(super) mod monsters {
    include!(concat!(env!("OUT_DIR"), "/monster.rs"));
}

#[allow(clippy::use_self, reason = "generated")]
pub(super) mod dictionary {
    include!(concat!(env!("OUT_DIR"), "/dict.rs"));
}

pub(super) use bench::BenchDoc;
pub(super) use dictionary::DictItem;
pub(super) use monsters::my_game::sample::Monster;

use std::path::{Path, PathBuf};

/// The folder of the files.
pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../dflat-sqlite/tests/data")
}
