//! The parts of a build, by the report that `cargo build --timings` writes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::Result;

/// The text before the list of units in Cargo's report.
const UNITS: &str = "const UNIT_DATA = ";

/// The seconds of each crate, build scripts included.
pub(super) type Seconds = BTreeMap<String, f64>;

/// Reads the report of the last build into a target folder.
///
/// # Errors
/// An error if there is no report, or if it has another form.
pub(super) fn read(target: &Path) -> Result<Seconds> {
    let report = fs::read_to_string(target.join("cargo-timings/cargo-timing.html"))?;
    of_report(&report)
}

fn of_report(report: &str) -> Result<Seconds> {
    let start = report.find(UNITS).ok_or("Cargo's report has no units")? + UNITS.len();
    let mut units = serde_json::Deserializer::from_str(&report[start..]).into_iter();
    let units: Vec<serde_json::Value> = units
        .next()
        .ok_or("Cargo's report has an empty list of units")??;
    let mut seconds = Seconds::new();
    for unit in units {
        let name = unit["name"].as_str().unwrap_or_default().to_owned();
        *seconds.entry(name).or_default() += unit["duration"].as_f64().unwrap_or_default();
    }
    Ok(seconds)
}

/// The sentence that says where the time goes.
pub(super) fn sentence(seconds: &Seconds) -> String {
    let total: f64 = seconds.values().sum();
    let share = |belongs: &dyn Fn(&str) -> bool| {
        let part = seconds.iter().filter(|(name, _)| belongs(name));
        let part: f64 = part.map(|(_, seconds)| seconds).sum();
        format!("{:.0} %", 100.0 * part / total.max(f64::MIN_POSITIVE))
    };
    let compiler = |name: &str| matches!(name, "dflat-schema" | "dflat-codegen" | "dflat-build");
    let sqlite = |name: &str| name == "libsqlite3-sys";
    let own = |name: &str| name.starts_with("dflat") && !compiler(name);
    let other = |name: &str| !own(name) && !compiler(name) && !sqlite(name);
    format!(
        "In the profile `dev`, Dflat's own crates take {} of the time, the schema compiler {}, \
         SQLite's C code {}, and all other crates {}.",
        share(&own),
        share(&compiler),
        share(&sqlite),
        share(&other)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_gives_the_share_of_each_part() -> Result<()> {
        let report = "<script>\nconst UNIT_DATA = [\n\
            {\"i\": 0, \"name\": \"dflat\", \"duration\": 4.0},\n\
            {\"i\": 1, \"name\": \"dflat-schema\", \"duration\": 2.0},\n\
            {\"i\": 2, \"name\": \"libsqlite3-sys\", \"duration\": 0.5},\n\
            {\"i\": 3, \"name\": \"libsqlite3-sys\", \"duration\": 2.5},\n\
            {\"i\": 4, \"name\": \"libc\", \"duration\": 1.0}\n];\nconst X = 1;";
        let seconds = of_report(report)?;
        assert_eq!(seconds.len(), 4);
        assert!((seconds["libsqlite3-sys"] - 3.0).abs() < 1e-9);
        let sentence = sentence(&seconds);
        assert!(sentence.contains("own crates take 40 %"), "{sentence}");
        assert!(sentence.contains("compiler 20 %"), "{sentence}");
        assert!(sentence.contains("C code 30 %"), "{sentence}");
        assert!(sentence.contains("other crates 10 %"), "{sentence}");
        Ok(())
    }
}
