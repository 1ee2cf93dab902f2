//! A short run of the soak.

use std::time::Duration;

use dflat_bench::soak::{Settings, run};

#[test]
fn short_soak_succeeds() {
    let directory = tempfile::tempdir().unwrap();
    let settings = Settings {
        duration: Duration::from_secs(2),
        directory: directory.path().to_owned(),
    };
    let report = run(&settings).unwrap();
    assert!(report.alone.count > 0 && report.loaded.count > 0);
    assert!(report.alone.p50 <= report.alone.p99);
    assert!(report.stats.transactions > 0 && report.stats.failed_transactions > 0);
    assert!(report.stats.deliveries > 0);
    assert!(report.late.file > 0);
}
