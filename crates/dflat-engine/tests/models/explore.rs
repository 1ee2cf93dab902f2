//! How models are run.

/// Runs a model in many orders: half of them at random, half by changing threads rarely, at places
/// chosen at random, which finds what needs few changes in the right places.
pub(crate) fn explore(model: fn()) {
    const CHANGES: usize = 3;
    let runs = std::env::var("DFLAT_MODEL_RUNS").ok();
    let runs: usize = runs.map_or(crate::RUNS, |runs| runs.parse().unwrap());
    shuttle::check_random(model, runs / 2);
    shuttle::check_pct(model, runs / 2, CHANGES);
}
