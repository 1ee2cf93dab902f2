//! Every scenario runs with every store, on few objects, and passes its checks.

use std::collections::BTreeSet;

use super::{ALL, Unit};
use crate::store::STORES;

#[test]
fn names_are_unique() {
    let names: BTreeSet<_> = ALL.iter().map(|scenario| scenario.name).collect();
    assert_eq!(names.len(), ALL.len());
}

#[test]
fn every_scenario_runs_with_every_store() {
    // `syncs_commit` traces the program itself, which a test is not.
    for scenario in ALL
        .iter()
        .filter(|scenario| scenario.name != "syncs_commit")
    {
        let mut figures = 0;
        for entry in &STORES {
            if scenario.reason_against(entry.name).is_some() {
                continue;
            }
            let folder = tempfile::tempdir().unwrap();
            let outcome = scenario.reduced(100).run(entry, folder.path()).unwrap();
            assert!(!outcome.values.is_empty(), "{}", scenario.name);
            if scenario.unit == Unit::Time {
                assert!(
                    outcome.values.iter().all(|&value| value > 0.0),
                    "{}",
                    scenario.name
                );
            }
            figures += 1;
        }
        assert!(figures >= 2, "{} has no rival", scenario.name);
    }
}
