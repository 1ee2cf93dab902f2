//! The texts about scenarios in which a rival is ahead.

use serde::Deserialize;

use crate::figures::{Figures, Scenario};
use crate::{OURS, Result};

/// A rival is ahead if its median is below this share of ours; nearer ones differ by noise.
const AHEAD: f64 = 0.95;

/// The texts, written by hand.
const TEXTS: &str = include_str!("../losses.toml");

/// Why rivals are ahead in some scenarios, and how Dflat could win.
#[derive(Clone, Debug, Deserialize)]
pub struct Loss {
    /// The scenarios.
    pub scenarios: Vec<String>,
    /// Why a rival is ahead: one sentence.
    pub why: String,
    /// How Dflat could win: one sentence.
    pub win: String,
}

#[derive(Deserialize)]
struct Losses {
    loss: Vec<Loss>,
}

/// All texts.
///
/// # Errors
/// If the file of the texts is malformed.
pub fn all() -> Result<Vec<Loss>> {
    Ok(toml::from_str::<Losses>(TEXTS)?.loss)
}

/// The stores that are ahead of Dflat in a scenario, with their ratios, the best first.
#[must_use]
pub fn ahead(scenario: &Scenario) -> Vec<(&str, f64)> {
    let rivals = scenario
        .figures
        .iter()
        .filter(|figure| figure.store != OURS);
    let ratio = |store| Some((store, scenario.ratio(store)?));
    let mut ahead: Vec<_> = rivals
        .filter_map(|figure| ratio(figure.store.as_str()))
        .collect();
    ahead.retain(|(_, ratio)| *ratio < AHEAD);
    ahead.sort_by(|a, b| a.1.total_cmp(&b.1));
    ahead
}

/// Problems of the texts: a scenario in which a rival is ahead has none.
#[must_use]
pub fn missing(figures: &Figures, losses: &[Loss]) -> Vec<String> {
    let has_text = |name: &String| losses.iter().any(|loss| loss.scenarios.contains(name));
    let lost = figures
        .scenarios
        .iter()
        .filter(|scenario| !ahead(scenario).is_empty());
    let lacking = lost.filter(|scenario| !has_text(&scenario.scenario));
    let name = |scenario: &Scenario| format!("losses.toml has no text about {}", scenario.scenario);
    lacking.map(name).collect()
}
