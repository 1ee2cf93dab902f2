//! Losses of power at each point of a recording.

use std::path::PathBuf;

use dflat_sqlite::faults::{Event, PowerCut, Recording};

use super::passes::{Outcome, is_whole};
use crate::seeds;

/// The file of the cases that failed.
const SEEDS_FILE: &str = "tests/fault_seeds.txt";

/// The number of seeds for each point and kind of cut.
const SEEDS: u64 = 3;

/// The files after a loss of power.
#[derive(Debug)]
pub struct Image {
    /// The database.
    pub path: PathBuf,
    /// The number of the last commit that was acknowledged before the loss; 0 for none.
    pub acknowledged: u64,
    /// The treatment of data that was not synced.
    pub cut: PowerCut,
}

/// A case, in the form in which it is printed and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    point: usize,
    cut: PowerCut,
    seed: u64,
}

/// Cuts the power around each sync and, with one seed, at each event; cases that failed before come
/// first. `name` is the name of the recording's workload in `tests/fault_seeds.txt`; `None` if
/// failing cases are not stored, for example for a canary.
///
/// # Errors
/// The first case that fails, with the reason. The case is added to that file as a line.
pub fn cut_power(
    name: Option<&str>,
    recording: &Recording,
    check: impl Fn(&Image) -> Outcome,
) -> Outcome {
    // Files from before the recording exist at every point.
    let is_found = |event: &&Event| matches!(event, Event::Found { .. });
    let found = recording.events().iter().take_while(is_found).count();
    let between = (found..=recording.events().len()).map(|point| Case {
        point,
        cut: PowerCut::Random,
        seed: point as u64,
    });
    let cases = kept(name).into_iter().chain(around_syncs(recording, SEEDS));
    run(name, recording, cases.chain(between), check)
}

/// As [`cut_power`], but around syncs only and with one seed, for many recordings. If the
/// environment has `DFLAT_FAULTS_ALL`, at all points.
///
/// # Errors
/// As [`cut_power`].
pub fn cut_power_briefly(
    name: &str,
    recording: &Recording,
    check: impl Fn(&Image) -> Outcome,
) -> Outcome {
    let name = Some(name);
    if is_whole() {
        return cut_power(name, recording, check);
    }
    let cases = kept(name).into_iter().chain(around_syncs(recording, 1));
    run(name, recording, cases, check)
}

fn around_syncs(recording: &Recording, seeds: u64) -> impl Iterator<Item = Case> {
    recording.sync_points().into_iter().flat_map(move |point| {
        let certain = [PowerCut::Nothing, PowerCut::Everything];
        let certain = certain.map(|cut| Case {
            point,
            cut,
            seed: 0,
        });
        let random = (1..=seeds).flat_map(move |seed| {
            [PowerCut::Prefix, PowerCut::Random].map(|cut| Case { point, cut, seed })
        });
        certain.into_iter().chain(random)
    })
}

fn run(
    name: Option<&str>,
    recording: &Recording,
    cases: impl Iterator<Item = Case>,
    check: impl Fn(&Image) -> Outcome,
) -> Outcome {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("image.db");
    let end = recording.events().len();
    assert!(end > 0, "the workload makes no call on the device");
    for case in cases.filter(|case| case.point <= end) {
        recording
            .restore(case.point, case.cut, case.seed, &path)
            .unwrap();
        let image = Image {
            path: path.clone(),
            acknowledged: recording.mark_before(case.point).unwrap_or(0),
            cut: case.cut,
        };
        check(&image).map_err(|lost| match name {
            Some(name) => {
                let line = format!("{name} {}", case.line());
                format!("{line}: {lost} ({})", seeds::keep(SEEDS_FILE, &line))
            }
            None => format!("{}: {lost}", case.line()),
        })?;
    }
    Ok(())
}

impl Case {
    fn line(self) -> String {
        format!("{} {:?} {}", self.point, self.cut, self.seed)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let point = words.next()?.parse().ok()?;
        let cut = match words.next()? {
            "Nothing" => PowerCut::Nothing,
            "Everything" => PowerCut::Everything,
            "Prefix" => PowerCut::Prefix,
            "Random" => PowerCut::Random,
            _ => return None,
        };
        let seed = words.next()?.parse().ok()?;
        Some(Self { point, cut, seed })
    }
}

/// The cases of a workload that failed once.
fn kept(name: Option<&str>) -> Vec<Case> {
    let Some(name) = name else {
        return Vec::new();
    };
    let lines = seeds::kept(SEEDS_FILE);
    let of_name = lines
        .iter()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    of_name
        .map(|line| Case::parse(line).expect("a case is point, cut and seed"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_case_round_trips_as_text() {
        let case = Case {
            point: 17,
            cut: PowerCut::Random,
            seed: 5,
        };
        assert_eq!(Case::parse(&case.line()), Some(case));
    }
}
