//! Running a model in many orders of its threads.

/// Runs a model in many orders: half of them at random; in the other half the thread changes
/// rarely, at places chosen at random. The second half finds faults that need few changes at the
/// right places.
pub(crate) fn explore(model: fn()) {
    const CHANGES: usize = 3;
    let runs = std::env::var("DFLAT_MODEL_RUNS").ok();
    let runs: usize = runs.map_or(crate::RUNS, |runs| runs.parse().unwrap());
    shuttle::check_random(model, runs / 2);
    shuttle::check_pct(model, runs / 2, CHANGES);
}
